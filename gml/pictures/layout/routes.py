"""Where ranks stand and how links run: straight down past nodes, in a bow between ranks.

Each rank has a band as high as its highest node, and nothing but its members is in it, each at its
own place. A link passes a band upright, so that it meets no node, and goes from one place to
another only between bands. All do so by the same curve, stretched to the side, so that two of them
cross once if their order changes, and never else. Before the curve and after it there is room for
marks, so that they are upright, each above its own port. Bands are further apart where links go far
to the side, and more so where several go side by side, which are closer the flatter they run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import ceil, sqrt
from typing import NamedTuple

from gml.pictures.layout.geometry import Link, Point, Route, Size
from gml.pictures.layout.layers import Layers
from gml.pictures.layout.packing import Extent
from gml.pictures.layout.ports import Ports

_BEND = 0.45
"""How far along the gap the tangents of a curve reach."""
_STEEPNESS = 0.15
"""How high the gap is at least, by how far aside a link goes in it."""
_MOST_STRETCH = 2.5
"""How much higher than usual a gap may be for that."""
_BETWEEN_LINES = 2.0
"""Between links that go side by side, where such a gap is enough for it."""
_FAR, _PIECES = 24.0, 8
"""How far aside a curve goes whose extent is measured by pieces, and of how many."""
_FLATTEST = 1 - _BEND
"""How steep the curve is in its middle, as a part of the gap by how far aside it goes."""


class Band(NamedTuple):
    """The room of a rank, from top to bottom, and of marks that are above and below it."""

    top: float
    bottom: float
    above: float = 0.0
    below: float = 0.0


class _Piece(NamedTuple):
    """A link between two neighbouring ranks."""

    start: float
    end: float
    width: float


def bands_of(
    layers: Layers,
    links: Sequence[Link],
    sizes: Sequence[Size],
    x: Sequence[float],
    ports: Ports,
    rank_gap: float,
) -> list[Band]:
    """Return the band of each rank; the links go down as their chains do."""
    level = {member: r for r, rank in enumerate(layers.ranks) for member in rank}
    pieces: list[list[_Piece]] = [[] for _ in layers.ranks]
    above, below = ([0] * len(layers.ranks) for _ in range(2))
    for link, chain in zip(links, layers.chains, strict=True):
        upper, lower = level[chain[0]], level[chain[-1]]
        below[upper] = max(below[upper], ceil(link.source_mark.height))
        above[lower] = max(above[lower], ceil(link.target_mark.height))
        for member, other in pairwise(chain):
            start, end = x[member] + ports[member][other], x[other] + ports[other][member]
            pieces[level[member]].append(_Piece(start, end, link.width))
    bands, top = [], 0.0
    for r, rank in enumerate(layers.ranks):
        top += above[r]
        height = max(sizes[member].height for member in rank if member < layers.n_nodes)
        bands.append(Band(top, top + height, above[r], below[r]))
        wanted = max(rank_gap, _height_for(pieces[r]))
        top += height + below[r] + ceil(min(wanted, _MOST_STRETCH * rank_gap))
    return bands


def _height_for(pieces: Sequence[_Piece]) -> float:
    """Return how high a gap must be for links to be seen apart in it."""
    height = max((_STEEPNESS * abs(piece.end - piece.start) for piece in pieces), default=0.0)
    for left, right in pairwise(sorted(pieces)):
        aside, other = left.end - left.start, right.end - right.start
        apart = (right.start - left.start + right.end - left.end) / 2
        needed = (left.width + right.width) / 2 + _BETWEEN_LINES
        if left.end < right.end and aside * other > 0 and apart > needed:
            # What is between two lines, by how far apart they are at the same height.
            sine = needed / apart
            slope = sine / sqrt(1 - sine * sine)
            height = max(height, slope * min(abs(aside), abs(other)) / _FLATTEST)
    return height


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
            line.down(Point(start, band.bottom + band.below))
            line.bow(Point(end, following.top - following.above))
        last = bands[level[lower]]
        line.down(Point(line.points[-1].x, _middle(last) - sizes[lower].height / 2))
        routes.append(line.finished())
    return routes


def extents_of(route: Route) -> Iterator[Extent]:
    """Yield how far right each piece of a route reaches, which never turns back to a side."""
    for first in range(0, len(route) - 1, 3):
        curve = route[first : first + 4]
        n_pieces = _PIECES if abs(curve[3].x - curve[0].x) > _FAR else 1
        before = curve[0]
        for piece in range(1, n_pieces + 1):
            after = _point_of(curve, piece / n_pieces)
            low, high = sorted((before.y, after.y))
            yield Extent(low, high, max(before.x, after.x))
            before = after


def _point_of(curve: Route, at: float) -> Point:
    rest = 1 - at
    weights = rest**3, 3 * rest * rest * at, 3 * rest * at * at, at**3
    x, y = (sum(w * point[k] for w, point in zip(weights, curve, strict=True)) for k in (0, 1))
    return Point(x, y)


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
