"""Where the words of an SVG picture are, by the widths of their letters."""

from __future__ import annotations

import re
from typing import NamedTuple
from xml.etree import ElementTree

from gml.pictures.text_width import text_width

SVG = "{http://www.w3.org/2000/svg}"


class Box(NamedTuple):
    """A line of text and the room that it takes."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other):
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


def boxes(svg):
    """The box of every text; groups may be moved, and text may go upwards."""
    return list(_boxes(ElementTree.fromstring(svg), 0.0, 0.0))


def _boxes(node, right, down):
    moved = re.fullmatch(r"translate\((\S+) (\S+)\)", node.get("transform", ""))
    if moved:
        right, down = right + float(moved[1]), down + float(moved[2])
    if node.tag == f"{SVG}text":
        yield _box(node, right, down)
    for child in node:
        yield from _boxes(child, right, down)


def _box(node, right, down):
    text, size = node.text or "", float(node.get("font-size"))
    wide = text_width(text, size, bold=node.get("font-weight") == "bold")
    x, y = float(node.get("x")) + right, float(node.get("y")) + down
    before = {"middle": wide / 2, "end": wide}.get(node.get("text-anchor", ""), 0.0)
    above, below = 0.72 * size, 0.2 * size
    if node.get("transform", "").startswith("rotate(-90"):
        return Box(text, x - above, y + before - wide, x + below, y + before)
    return Box(text, x - before, y - above, x - before + wide, y + below)


def collisions(picture):
    """Pairs of texts that meet, and texts that leave the picture."""
    found = boxes(picture.svg)
    outside = [
        box.text
        for box in found
        if box.left < 0 or box.top < 0 or box.right > picture.width or box.bottom > picture.height
    ]
    in_rows = sorted(found, key=lambda box: box.top)
    met = []
    for k, box in enumerate(in_rows):
        for other in in_rows[k + 1 :]:
            if other.top >= box.bottom:
                break
            if box.meets(other):
                met.append((box.text, other.text))
    return met + outside


def texts(svg):
    """All texts, in the order of the file."""
    return [box.text for box in boxes(svg)]


def elements(svg, tag):
    """All elements of a kind."""
    return ElementTree.fromstring(svg).findall(f".//{SVG}{tag}")


def told(svg):
    """What pointing at something says, and the description of the whole."""
    root = ElementTree.fromstring(svg)
    return [node.text for node in root.iter(f"{SVG}title")][1:], root.findtext(f"{SVG}desc")
