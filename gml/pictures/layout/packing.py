"""Parts of a drawing side by side: on shelves, so that the whole is somewhat wider than high."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt

from gml.pictures.layout.geometry import Point, Size

_ASPECT = 1.5
"""How much wider than high a drawing of many parts is to be."""


def shelved(sizes: Sequence[Size], gap: float) -> list[Point]:
    """Return the upper left corner of each part: the highest first, the first of equal ones.

    Examples
    --------
    >>> shelved([Size(10.0, 10.0), Size(30.0, 20.0), Size(10.0, 10.0)], 2.0)
    [Point(x=0.0, y=22.0), Point(x=0.0, y=0.0), Point(x=12.0, y=22.0)]
    """
    area = sum((size.width + gap) * (size.height + gap) for size in sizes)
    widest = max((size.width for size in sizes), default=0.0)
    limit = max(widest, sqrt(_ASPECT * area))
    corners = [Point(0.0, 0.0)] * len(sizes)
    x = top = 0.0
    bottom = 0.0
    for part in sorted(range(len(sizes)), key=lambda part: -sizes[part].height):
        if x and x + sizes[part].width > limit:
            x, top = 0.0, bottom + gap
        corners[part] = Point(x, top)
        x += sizes[part].width + gap
        bottom = max(bottom, top + sizes[part].height)
    return corners


def gridded(sizes: Sequence[Size], gap: float) -> tuple[list[Point], Size]:
    """Return the middles of boxes in a grid, row by row, and the room it takes."""
    if not sizes:
        return [], Size(0.0, 0.0)
    width, height = max(size.width for size in sizes), max(size.height for size in sizes)
    wanted = sqrt(_ASPECT * len(sizes) * (height + gap) / (width + gap))
    columns = min(len(sizes), max(1, ceil(wanted)))
    rows = ceil(len(sizes) / columns)
    middles = [
        Point(
            (i % columns) * (width + gap) + width / 2, (i // columns) * (height + gap) + height / 2
        )
        for i in range(len(sizes))
    ]
    return middles, Size(columns * (width + gap) - gap, rows * (height + gap) - gap)
