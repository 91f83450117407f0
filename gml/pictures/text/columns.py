"""Which columns of characters the items of layers take, and where lines enter and leave them.

Layers are moved towards the middle of their neighbours, the order within them kept; then columns
are fixed from top to bottom. No line leaves a layer in a column in which another line enters the
next one, so lines between layers never lie on one another, whatever the rows of their turns. And a
line that forks into three or more never goes straight on, so a cross of lines is always a crossing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gml.pictures.text.layers import Layers
from gml.printable_text import cell_width

_GAP = 2
_SWEEPS = 6
# How far a line may be from its place to go straight on.
_DETOUR = 4


@dataclass
class Box:
    """The columns that an item takes, and those of its lines; one that is no node is one line."""

    left: int
    width: int
    entering: dict[int, int] = field(default_factory=dict)
    """The column in which a strand of the layer above ends, by the number of the strand."""
    leaving: dict[int, int] = field(default_factory=dict)
    """The column in which a strand to the layer below starts."""

    @property
    def right(self) -> int:
        """The last column."""
        return self.left + self.width - 1


def place_in_columns(layers: Layers, names: Sequence[str]) -> dict[int, Box]:
    """Return the columns of every item."""
    into, out_of = _strands_by_item(layers)
    widths = {
        item: _width(names[item], len(into.get(item, ())), len(out_of.get(item, ())))
        if item < len(names)
        else 1
        for items in layers.ranks
        for item in items
    }
    middles = _middles(layers, widths)
    boxes: dict[int, Box] = {}
    for level, items in enumerate(layers.ranks):
        above = layers.strands[level - 1] if level else []
        taken = {boxes[strand.upper].leaving[k]: k for k, strand in enumerate(above)}
        start = {k: column for column, k in taken.items()}
        limit = round(min(middles[item] - widths[item] / 2 for item in items))
        for item in items:
            wanted = round(middles[item] - (widths[item] - 1) / 2)
            entering = sorted(into.get(item, ()), key=start.__getitem__)
            barred = {
                k: {c for c, other in taken.items() if other != k or len(above[k].lower) > 2}
                for k in entering
            }
            if item < len(names):
                box = _place_node(wanted, limit, widths[item], entering, start, barred)
            else:
                box = _place_line(wanted, limit, entering[0], start, barred)
            _leave(box, out_of.get(item, ()), layers, level, middles)
            boxes[item] = box
            limit = box.right + 1 + _GAP
    leftmost = min(box.left for box in boxes.values())
    return {item: _moved(box, -leftmost) for item, box in boxes.items()}


def _strands_by_item(layers: Layers) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """The numbers of the strands that end and that start at each item."""
    into: dict[int, list[int]] = {}
    out_of: dict[int, list[int]] = {}
    for between in layers.strands:
        for k, strand in enumerate(between):
            out_of.setdefault(strand.upper, []).append(k)
            for item in strand.lower:
                into.setdefault(item, []).append(k)
    return into, out_of


def _width(name: str, n_into: int, n_out_of: int) -> int:
    inner = max(cell_width(name) + 2, 2 * n_into - 1, 2 * n_out_of - 1)
    return inner + 2


def _middles(layers: Layers, widths: Mapping[int, int]) -> dict[int, float]:
    """Where the middle of each item should be, neighbours apart."""
    middles: dict[int, float] = {}
    for items in layers.ranks:
        middles |= _apart(items, dict.fromkeys(items, 0.0), widths)
    links = [
        [(strand.upper, item) for strand in between for item in strand.lower]
        for between in layers.strands
    ]
    for sweep in range(_SWEEPS):
        downwards = sweep % 2 == 0
        levels = range(1, len(layers.ranks)) if downwards else range(len(links) - 1, -1, -1)
        for level in levels:
            items = layers.ranks[level]
            around: dict[int, list[float]] = {item: [] for item in items}
            for upper, lower in links[level - 1] if downwards else links[level]:
                item, other = (lower, upper) if downwards else (upper, lower)
                around[item].append(middles[other])
            wanted = {
                item: sum(near) / len(near) if near else middles[item]
                for item, near in around.items()
            }
            middles |= _apart(items, wanted, widths)
    return middles


def _apart(
    items: Sequence[int], wanted: Mapping[int, float], widths: Mapping[int, int]
) -> dict[int, float]:
    """The places nearest to those wanted, by least squares, at which neighbours are apart.

    With the room of those before it taken off each place, they must not fall from left to right:
    neighbours that do are pooled at their mean.
    """
    room, offsets = 0.0, []
    for item in items:
        offsets.append(room + widths[item] / 2)
        room += widths[item] + _GAP
    pools: list[tuple[float, int]] = []
    for item, offset in zip(items, offsets, strict=True):
        pools.append((wanted[item] - offset, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (left, m), (right, n) = pools[-2:]
            pools[-2:] = [((m * left + n * right) / (m + n), m + n)]
    starts = [mean for mean, n in pools for _ in range(n)]
    return {
        item: start + offset for item, start, offset in zip(items, starts, offsets, strict=True)
    }


def _place_node(
    wanted: int,
    limit: int,
    width: int,
    entering: Sequence[int],
    start: Mapping[int, int],
    barred: Mapping[int, set[int]],
) -> Box:
    """The box nearest to the place that is wanted in which all lines can enter."""
    left = max(wanted, limit)
    while True:
        for shift in (0, 1, -1, 2, -2):
            if left + shift >= limit:
                columns = _enter(left + shift, width, entering, start, barred)
                if columns is not None:
                    return Box(left + shift, width, dict(zip(entering, columns, strict=True)))
        width += 1


def _enter(
    left: int,
    width: int,
    entering: Sequence[int],
    start: Mapping[int, int],
    barred: Mapping[int, set[int]],
) -> list[int] | None:
    """A column for each line, from left to right and never side by side, near where it starts."""
    first, last = left + 1, left + width - 2
    # The last column that leaves room for the lines further to the right.
    latest: list[int] = []
    for k in reversed(entering):
        column = latest[-1] - 2 if latest else last
        while column in barred[k] and column >= first:
            column -= 1
        latest.append(column)
    columns: list[int] = []
    inner = last - first + 1
    for place, (k, bound) in enumerate(zip(entering, reversed(latest), strict=True)):
        lowest = columns[-1] + 2 if columns else first
        open_ = [c for c in range(lowest, bound + 1) if c not in barred[k]]
        if not open_:
            return None
        spread = first + (2 * place + 1) * inner // (2 * len(entering))
        aim = start[k] if first <= start[k] <= last else spread
        columns.append(min(open_, key=lambda c: (abs(c - aim), c)))
    return columns


def _place_line(
    wanted: int,
    limit: int,
    strand: int,
    start: Mapping[int, int],
    barred: Mapping[int, set[int]],
) -> Box:
    """The column of a line that passes a layer."""
    straight = start[strand]
    if straight >= limit and abs(straight - wanted) <= _DETOUR and straight not in barred[strand]:
        return Box(straight, 1, {strand: straight})
    column = max(wanted, limit)
    while column in barred[strand]:
        column += 1
    return Box(column, 1, {strand: column})


def _leave(
    box: Box, strands: Iterable[int], layers: Layers, level: int, middles: Mapping[int, float]
) -> None:
    """Spread the lines that leave an item over it, as those that they lead to are spread."""

    def aim(k: int) -> float:
        lower = layers.strands[level][k].lower
        return sum(middles[item] for item in lower) / len(lower)

    ordered = sorted(strands, key=aim)
    inner = max(box.width - 2, 1)
    first = box.left if box.width == 1 else box.left + 1
    for place, k in enumerate(ordered):
        box.leaving[k] = first + (2 * place + 1) * inner // (2 * len(ordered))


def _moved(box: Box, by: int) -> Box:
    return Box(
        box.left + by,
        box.width,
        {k: column + by for k, column in box.entering.items()},
        {k: column + by for k, column in box.leaving.items()},
    )
