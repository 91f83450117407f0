"""Pictures as elements, and layouts that are known beforehand."""

from __future__ import annotations

from xml.etree import ElementTree

from gml.pictures.layout.geometry import Layout, Point

SVG = "{http://www.w3.org/2000/svg}"


def elements(picture):
    """The root of a picture, which thereby is well-formed XML."""
    return ElementTree.fromstring(picture.svg)


def shown(thing):
    """The element that a notebook gets."""
    return ElementTree.fromstring(thing._repr_html_())


def nodes_of(picture):
    """The group of each node, by its name as it is shown."""
    return {
        found.get("data-node"): found
        for found in elements(picture).iter(f"{SVG}g")
        if found.get("data-node") is not None
    }


def edges_of(picture):
    """The group of each edge, by its ends."""
    return {
        (found.get("data-source"), found.get("data-target")): found
        for found in elements(picture).iter(f"{SVG}g")
        if found.get("data-source") is not None
    }


def title_of(element):
    return element.find(f"{SVG}title").text


def texts_of(element):
    return [found.text or "" for found in element.iter(f"{SVG}text")]


def legend_of(picture):
    """What the legend says, if there is one."""
    for found in elements(picture).iter(f"{SVG}g"):
        if found.get("class") == "legend":
            return texts_of(found)
    return []


def in_a_column(sizes, links, *, names, tiers=None):
    """Nodes below each other, joined by straight lines between their borders."""
    centres, top = [], 0.0
    for size in sizes:
        centres.append(Point(max(s.width for s in sizes) / 2, top + size.height / 2))
        top += size.height + 40
    routes = []
    for link in links:
        down = 1 if link.source < link.target else -1
        ends = [
            centres[node].y + side * down * sizes[node].height / 2
            for node, side in ((link.source, 1), (link.target, -1))
        ]
        routes.append(
            tuple(Point(centres[0].x, ends[0] + (ends[1] - ends[0]) * k / 3) for k in range(4))
        )
    width = max((size.width for size in sizes), default=0.0)
    return Layout(tuple(centres), tuple(routes), width, max(top - 40, 0.0))
