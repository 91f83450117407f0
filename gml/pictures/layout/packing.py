"""Parts of a drawing side by side and below each other, so that the whole is small.

The largest part is placed first, each next one where it makes the drawing least larger: right of
all that is already there at its height, which need not be right of the widest part. Drawings that
are more than twice as wide as high count as larger than they are, so that another row costs nothing
then; those that are higher than wide do, too, by the root of how much, as height can be scrolled.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt
from typing import NamedTuple

from gml.pictures.layout.geometry import Point, Size

_ASPECT = 1.5
"""How much wider than high a grid is to be."""
_WIDEST = 2.0
_CLOSER = 0.75
"""How much closer parts may be above and below each other: they fit between ranks."""
_STRIP = 8.0
"""The height of the strips in which it is known how far right a drawing reaches."""


class Extent(NamedTuple):
    """How far right something reaches between two heights."""

    top: float
    bottom: float
    right: float


def packed(parts: Sequence[Sequence[Extent]], gap: float) -> list[Point]:
    """Return the upper left corner of each part, which is given by how far right it reaches.

    Examples
    --------
    >>> large, small = [Extent(0, 16, 30), Extent(16, 32, 10)], [Extent(0, 10, 10)]
    >>> packed([small, large], 2.0)
    [Point(x=12.0, y=24.0), Point(x=0.0, y=0.0)]
    """
    sizes = [_size(part) for part in parts]
    corners = [Point(0.0, 0.0)] * len(parts)
    reach: list[float] = []
    whole = Size(0.0, 0.0)
    for i in sorted(range(len(parts)), key=lambda i: -sizes[i].width * sizes[i].height):
        corner = _best_corner(sizes[i], whole, reach, gap)
        for extent in parts[i]:
            last = ceil((corner.y + extent.bottom) / _STRIP)
            reach += [-gap] * (last - len(reach))
            for strip in range(int((corner.y + extent.top) // _STRIP), last):
                reach[strip] = max(reach[strip], corner.x + extent.right)
        corners[i] = corner
        whole = _around(whole, corner, sizes[i])
    return corners


def _size(part: Sequence[Extent]) -> Size:
    return Size(max(extent.right for extent in part), max(extent.bottom for extent in part))


def _around(whole: Size, corner: Point, size: Size) -> Size:
    return Size(max(whole.width, corner.x + size.width), max(whole.height, corner.y + size.height))


def _best_corner(size: Size, whole: Size, reach: Sequence[float], gap: float) -> Point:
    """Return where a part makes a drawing least larger, the highest of such places."""
    beyond = ceil(_CLOSER * gap / _STRIP)
    best, least = Point(0.0, 0.0), None
    for strip in range(len(reach) + beyond + 1) if reach else range(1):
        top = strip * _STRIP
        last = ceil((top + size.height) / _STRIP) + beyond
        right = max(reach[max(strip - beyond, 0) : last], default=-gap)
        corner = Point(right + gap, top)
        cost = _cost(_around(whole, corner, size))
        if least is None or cost < least - 1e-6:
            best, least = corner, cost
    return best


def _cost(whole: Size) -> float:
    width, height = max(whole.width, 1.0), max(whole.height, 1.0)
    return width * height * max(1.0, width / height / _WIDEST, sqrt(height / width))


def gridded(sizes: Sequence[Size], gap: float) -> list[Point]:
    """Return the middles of boxes in a grid, row by row."""
    if not sizes:
        return []
    width, height = max(size.width for size in sizes), max(size.height for size in sizes)
    wanted = sqrt(_ASPECT * len(sizes) * (height + gap) / (width + gap))
    columns = min(len(sizes), max(1, ceil(wanted)))
    return [
        Point(
            (i % columns) * (width + gap) + width / 2, (i // columns) * (height + gap) + height / 2
        )
        for i in range(len(sizes))
    ]
