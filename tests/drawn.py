"""What a layout looks like when it is drawn: crossings, edges through nodes, nodes on nodes.

Curves are measured as fine polygons, whoever made them.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gml.pictures.layout.geometry import Layout, Link, Route, Size
from gml.pictures.text_width import text_width

Polygon = npt.NDArray[np.float64]
"""The corners of a line, one per row: x and y."""


def drawing_of(path: Path) -> tuple[list[str], list[Size], list[Link]]:
    """Return names, boxes for them and links of a network in BIF, whose tables are not read."""
    text = (gzip.decompress if path.suffix == ".gz" else bytes)(path.read_bytes()).decode()
    names = re.findall(r"^\s*variable\s+(\S+)", text, re.MULTILINE)
    number = {name: i for i, name in enumerate(names)}
    links = [
        Link(number[parent], number[child])
        for child, parents in re.findall(
            r"^\s*probability\s*\((.*?)(?:\|(.*?))?\)", text, re.MULTILINE
        )
        for parent, child in [(p.strip(), child.strip()) for p in parents.split(",") if p.strip()]
    ]
    return names, [Size(text_width(name, 13) + 24, 32) for name in names], links


def flattened(route: Route, pieces: int = 16) -> Polygon:
    """Return the corners of a polygon along a chain of Bézier curves."""
    points = np.array(route)
    steps = np.linspace(0, 1, pieces + 1)[1:, None]
    found = [points[:1]]
    for start in range(0, len(points) - 1, 3):
        p, q, r, s = points[start : start + 4]
        rest = 1 - steps
        found.append(rest**3 * p + 3 * rest**2 * steps * q + 3 * rest * steps**2 * r + steps**3 * s)
    return np.concatenate(found)


def overlapping_nodes(sizes: Sequence[Size], layout: Layout) -> list[tuple[int, int]]:
    """Return the pairs of nodes that share room."""
    return [
        (first, second)
        for first, second in combinations(range(len(sizes)), 2)
        if abs(layout.centres[first].x - layout.centres[second].x)
        < (sizes[first].width + sizes[second].width) / 2 - 1e-6
        and abs(layout.centres[first].y - layout.centres[second].y)
        < (sizes[first].height + sizes[second].height) / 2 - 1e-6
    ]


def edges_through_nodes(
    sizes: Sequence[Size], links: Sequence[Link], layout: Layout, *, spared: float = 1e-6
) -> list[tuple[int, int]]:
    """Return each link with each node that it enters further than is spared, its ends among them."""
    found = []
    centres = np.array(layout.centres)
    half = np.array(sizes) / 2 - spared
    for index in range(len(links)):
        line = flattened(layout.routes[index])
        start, step = line[:-1, None], np.diff(line, axis=0)[:, None]
        # Where each piece of the line enters and leaves the strip of each box, across and down.
        with np.errstate(divide="ignore", invalid="ignore"):
            one, other = (centres - half - start) / step, (centres + half - start) / step
        inside = np.abs(start - centres) < half
        enter = np.where(step == 0, np.where(inside, -np.inf, np.inf), np.minimum(one, other))
        leave = np.where(step == 0, np.where(inside, np.inf, -np.inf), np.maximum(one, other))
        hit = np.maximum(enter.max(axis=2), 0) < np.minimum(leave.min(axis=2), 1)
        found += [(index, int(node)) for node in np.flatnonzero(hit.any(axis=0))]
    return found


def crossings(sizes: Sequence[Size], links: Sequence[Link], layout: Layout) -> int:
    """Return how often edges cross; where two meet at a node that they share does not count."""
    lines = [flattened(route) for route in layout.routes]
    low = np.array([line.min(axis=0) for line in lines]).reshape(-1, 2)
    high = np.array([line.max(axis=0) for line in lines]).reshape(-1, 2)
    total = 0
    for first, link in enumerate(links):
        near = np.all((low[first + 1 :] <= high[first]) & (high[first + 1 :] >= low[first]), axis=1)
        for second in (np.flatnonzero(near) + first + 1).tolist():
            points = _meeting(lines[first], lines[second])
            for node in {*link[:2]} & {*links[second][:2]}:
                away = np.abs(points - layout.centres[node]) > np.array(sizes[node]) / 2 + 4
                points = points[away.any(axis=1)]
            total += len(points)
    return total


def _meeting(first: Polygon, second: Polygon) -> Polygon:
    """Return the points where two polygons cross properly."""
    p, r = first[:-1, None], np.diff(first, axis=0)[:, None]
    q, s = second[None, :-1], np.diff(second, axis=0)[None]
    across = r[..., 0] * s[..., 1] - r[..., 1] * s[..., 0]
    gap = q - p
    with np.errstate(divide="ignore", invalid="ignore"):
        along = (gap[..., 0] * s[..., 1] - gap[..., 1] * s[..., 0]) / across
        other = (gap[..., 0] * r[..., 1] - gap[..., 1] * r[..., 0]) / across
    hit = (along >= 0) & (along < 1) & (other >= 0) & (other < 1)
    return np.asarray(
        np.broadcast_to(p, gap.shape)[hit]
        + along[hit][:, None] * np.broadcast_to(r, gap.shape)[hit]
    )
