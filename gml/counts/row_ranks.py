"""The values at some ranks among what rows hold, found in passes: exact, and in bounded memory.

The range is divided into cells of equal width, and values are counted by the cell that they are in.
So the cell of a rank is known, and is divided again by the next pass, which also finds the least
and the greatest value in it: a rank is settled where these are equal, or where it is the first or
the last in its cell. Where all values of a cell would be in one of its parts, it is divided between
its least and greatest value instead.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.counts.number_rows import NumberRows
from gml.counts.row_sums import RowSums, Steps, Sums
from gml.data.row_groups import group_sums

Vector = NDArray[np.float64]

# Parts of the cells of all configurations together, of those of one, and the fewest of one cell.
_MOST_PARTS, _PARTS, _FEWEST_PARTS = 1 << 17, 1 << 13, 1 << 6


class Values(NamedTuple):
    """Values at the rows of one configuration, and how often each counts, if not once."""

    place: int
    values: Vector
    times: NDArray[np.int64] | None


@dataclass(frozen=True)
class RankedColumn(ABC):
    """What is ranked: how to make it of rows; it is pickled."""

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """The columns that it takes."""

    @property
    @abstractmethod
    def n_groups(self) -> int:
        """How many configurations there may be."""

    @abstractmethod
    def values(self, rows: NumberRows) -> Iterator[Values]:
        """Make the values of some rows, none of which is NaN."""


class _Cut(NamedTuple):
    """One of so many equal parts of a range."""

    low: float
    high: float
    parts: int
    chosen: int = -1

    def indices(self, values: Vector) -> NDArray[np.int64]:
        """The part that each value is in; values outside are in the first or the last one."""
        # The width may be beyond the largest float, and half of it below the least.
        unit = 1.0 if math.isfinite(self.high - self.low) else 0.5
        share = (values * unit - self.low * unit) / (self.high * unit - self.low * unit)
        found: NDArray[np.int64] = np.clip(share * self.parts, 0, self.parts - 1).astype(np.int64)
        return found

    def bounds(self) -> tuple[float, float]:
        """About where the part that was chosen begins and ends."""
        ends = [k / self.parts for k in (self.chosen, self.chosen + 1)]
        low, high = (self.low * (1 - share) + self.high * share for share in ends)
        return low, high


@dataclass(frozen=True)
class _Cell:
    """Values that several ranks may be among: the cuts that led there, and how it is divided."""

    path: tuple[_Cut, ...] = ()
    next: _Cut | None = None

    def within(self, found: Values) -> Values:
        """The values in the cell."""
        place, values, times = found
        for cut in self.path:
            inside = cut.indices(values) == cut.chosen
            values = values[inside]
            times = None if times is None else times[inside]
        return Values(place, values, times)


class _Looked(NamedTuple):
    """What a pass finds in a cell."""

    least: float
    greatest: float
    counts: NDArray[np.int64]
    """Of its parts."""


class _Wanted(NamedTuple):
    """A rank, from 0, among the values of a cell."""

    rank: int
    size: int
    cell: _Cell

    def value(self, looked: _Looked) -> float | None:
        """The value, if it follows from the least and the greatest of the cell."""
        if looked.least == looked.greatest or self.rank == 0:
            return looked.least
        return looked.greatest if self.rank == self.size - 1 else None

    def divided(self, looked: _Looked, parts: int) -> _Wanted:
        """The part of the cell that the rank is in."""
        cut = self.cell.next
        assert cut is not None
        upto = np.cumsum(looked.counts)
        k = int(np.searchsorted(upto, self.rank, side="right"))
        size = int(looked.counts[k])
        whole = looked.least, looked.greatest
        if size == self.size:
            return self._replace(cell=replace(self.cell, next=_Cut(*whole, parts)))
        cut = cut._replace(chosen=k)
        low, high = cut.bounds()
        ends = (low, high) if low < high else whole
        cell = _Cell((*self.cell.path, cut), _Cut(*ends, parts))
        return _Wanted(self.rank - int(upto[k]) + size, size, cell)


@dataclass(frozen=True)
class ColumnCounts(RowSums):
    """What is counted of a column, without sums."""

    column: RankedColumn

    @property
    def names(self) -> Sequence[str]:
        return self.column.names

    @property
    def n_sums(self) -> int:
        return 0

    @property
    def n_groups(self) -> int:
        return self.column.n_groups


@dataclass(frozen=True)
class _Cells(ColumnCounts):
    """The least and greatest value of each cell, and counts of its parts."""

    cells: Mapping[int, Sequence[_Cell]] | None = None
    """By configuration; all values together if there are none yet."""

    @property
    def n_counts(self) -> int:
        cells = () if self.cells is None else self.cells.values()
        return sum(0 if cell.next is None else cell.next.parts for some in cells for cell in some)

    def over(self, rows: NumberRows) -> Iterator[tuple[int, Sums]]:
        for found in self.column.values(rows):
            cells = (_Cell(),) if self.cells is None else self.cells.get(found.place, ())
            if not cells:
                continue
            counts, ends = [np.zeros(0, dtype=np.int64)], []
            for cell in cells:
                _, values, times = cell.within(found)
                ends += [(-values).max(initial=-math.inf), values.max(initial=-math.inf)]
                if cell.next is not None:
                    at = cell.next.indices(values)
                    counts.append(group_sums(at, cell.next.parts, times))
            n = len(found.values) if found.times is None else int(found.times.sum())
            yield found.place, Sums(n, counts=np.concatenate(counts), largest=np.array(ends))

    def looked(self, place: int, sums: Sums) -> dict[_Cell, _Looked]:
        """What was found in each cell of a configuration."""
        cells = (_Cell(),) if self.cells is None else self.cells[place]
        sizes = [0 if cell.next is None else cell.next.parts for cell in cells]
        counts = np.split(sums.counts, np.cumsum(sizes)[:-1])
        ends = (sums.largest * np.tile([-1.0, 1.0], len(cells))).reshape(-1, 2).tolist()
        return {
            cell: _Looked(of_cell[0], of_cell[1], some)
            for cell, of_cell, some in zip(cells, ends, counts, strict=True)
        }


def values_at(
    column: RankedColumn, ranks: Callable[[int], Sequence[int]]
) -> Steps[dict[int, list[float]]]:
    """The values at ranks (from 0), which depend on how many there are, of each configuration.

    Configurations without values, or with infinite ones, are left out.
    """
    look = _Cells(column)
    (found,) = yield [look]
    answers: dict[int, list[float]] = {}
    waiting: dict[int, dict[int, _Wanted]] = {}
    parts = min(_PARTS, _MOST_PARTS // max(1, len(found)))
    for place, sums in found.items():
        (whole,) = look.looked(place, sums).values()
        if sums.n and math.isfinite(whole.least) and math.isfinite(whole.greatest):
            wanted = ranks(sums.n)
            answers[place] = [0.0] * len(wanted)
            cell = _Cell((), _Cut(whole.least, whole.greatest, max(_FEWEST_PARTS, parts)))
            of_place = {k: _Wanted(rank, sums.n, cell) for k, rank in enumerate(wanted)}
            waiting[place] = _left(of_place, {cell: whole}, answers[place])
    while waiting := {place: wanted for place, wanted in waiting.items() if wanted}:
        cells = {
            place: tuple(dict.fromkeys(one.cell for one in wanted.values()))
            for place, wanted in waiting.items()
        }
        look = _Cells(column, cells)
        (found,) = yield [look]
        for place, of_place in waiting.items():
            looked = look.looked(place, found[place])
            left = _left(of_place, looked, answers[place])
            share = max(_FEWEST_PARTS, parts // max(1, len(left)))
            waiting[place] = {k: one.divided(looked[one.cell], share) for k, one in left.items()}
    return answers


def _left(
    wanted: Mapping[int, _Wanted], looked: Mapping[_Cell, _Looked], answers: list[float]
) -> dict[int, _Wanted]:
    """Answer what can be answered; returns the others."""
    left = {}
    for k, one in wanted.items():
        value = one.value(looked[one.cell])
        if value is None:
            left[k] = one
        else:
            # One zero, whichever comes first.
            answers[k] = value + 0.0
    return left
