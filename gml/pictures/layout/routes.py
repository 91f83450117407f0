"""Where ranks stand and how links run: straight down past nodes, in a bow between ranks.

Each rank has a band as high as its highest node, and nothing but its members is in it, each at its
own place. A link passes a band upright, so that it meets no node, and goes from one place to
another only between bands. All do so by the same curve, stretched to the side, so that two of them
cross once if their order changes, and never else. Bands are further apart where links go far to the
side.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from gml.pictures.layout.geometry import Point, Route, Size
from gml.pictures.layout.layers import Layers
from gml.pictures.layout.ports import Ports

_BEND = 0.45
"""How far along the gap the tangents of a curve reach."""
_STEEPNESS = 0.15
"""How high the gap is at least, by how far aside a link goes in it."""
_MOST_STRETCH = 2.5
"""How much higher than usual a gap may be for that."""


class Band(NamedTuple):
    """The room of a rank, from top to bottom."""

    top: float
    bottom: float


def bands_of(
    layers: Layers, sizes: Sequence[Size], x: Sequence[float], ports: Ports, rank_gap: float
) -> list[Band]:
    """Return the band of each rank."""
    bands, top = [], 0.0
    for rank in layers.ranks:
        height = max(sizes[member].height for member in rank if member < layers.n_nodes)
        bands.append(Band(top, top + height))
        aside = max(
            (
                abs(x[member] + ports[member][other] - x[other] - ports[other][member])
                for member in rank
                for other in layers.below[member]
            ),
            default=0.0,
        )
        stretch = min(max(rank_gap, _STEEPNESS * aside), _MOST_STRETCH * rank_gap)
        top += height + stretch
    return bands


def routes_of(
    layers: Layers,
    sizes: Sequence[Size],
    x: Sequence[float],
    ports: Ports,
    bands: Sequence[Band],
) -> list[Route]:
    """Return the route of each link from its upper to its lower end."""
    level = {member: r for r, rank in enumerate(layers.ranks) for member in rank}
    routes = []
    for chain in layers.chains:
        upper, lower = chain[0], chain[-1]
        line = _Line()
        for member, other in pairwise(chain):
            band, following = bands[level[member]], bands[level[other]]
            start, end = x[member] + ports[member][other], x[other] + ports[other][member]
            if member == upper:
                line.begin(Point(start, _middle(band) + sizes[upper].height / 2))
            line.down(Point(start, band.bottom))
            line.bow(Point(end, following.top))
        last = bands[level[lower]]
        line.down(Point(line.points[-1].x, _middle(last) - sizes[lower].height / 2))
        routes.append(line.finished())
    return routes


def _middle(band: Band) -> float:
    return (band.top + band.bottom) / 2


class _Line:
    """A route as it grows; upright pieces that follow each other become one."""

    def __init__(self) -> None:
        self.points: list[Point] = []
        self.upright: Point | None = None

    def begin(self, point: Point) -> None:
        self.points.append(point)

    def down(self, point: Point) -> None:
        """Go straight down to a point."""
        if point.y > self.points[-1].y:
            if self.upright is None:
                self.upright = self.points[-1]
            else:
                del self.points[-3:]
            self._straight(self.upright, point)

    def bow(self, point: Point) -> None:
        """Go down to a point that may be further left or right."""
        last = self.points[-1]
        if abs(point.x - last.x) < 1e-6:
            self.down(Point(last.x, point.y))
            return
        self.upright = None
        reach = _BEND * (point.y - last.y)
        self.points += [Point(last.x, last.y + reach), Point(point.x, point.y - reach), point]

    def _straight(self, start: Point, end: Point) -> None:
        third = (end.y - start.y) / 3
        self.points += [Point(end.x, start.y + third), Point(end.x, end.y - third), end]

    def finished(self) -> Route:
        return tuple(self.points)
