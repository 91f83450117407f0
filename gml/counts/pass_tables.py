"""Tables that are counted chunk by chunk: small ones as vectors, large ones by the cells with rows.

A pass may find that large tables have more cells with rows than there is memory for. Then it gives
up the last of them, and they are counted by another pass.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.counts.answers import Counts
from gml.counts.coded_rows import CodedRows
from gml.counts.packed_keys import PackedKeys, summed_by_key
from gml.counts.pass_work import Work
from gml.counts.questions import TableSet
from gml.data.dataset import Dataset, missing_mask
from gml.kernel.interface import CodedData
from gml.kernel.layout import DENSE_CELLS

VECTOR_CELLS = 1 << 12
"""The largest table that is held with every cell."""

# Tables per column from which counting all pairs first pays off.
_SETS_PER_COLUMN = 4


class Cells(NamedTuple):
    """The cells of a table with rows: keys of configurations and levels, and counts."""

    keys: NDArray[np.int64]
    counts: NDArray[np.int64]

    @property
    def n_bytes(self) -> int:
        """What they take."""
        return self.keys.nbytes + self.counts.nbytes


class TableParts(NamedTuple):
    """Small tables end to end, and large ones; None in place of those that were given up."""

    small: NDArray[np.int64]
    large: list[Cells | None]


@dataclass(frozen=True)
class Tables(Work[TableParts]):
    """Counts tables of columns that have so many levels, within so many bytes.

    Small tables are rows of columns, of which each matrix has as many for each table.
    """

    small: Sequence[NDArray[np.int32]]
    large: Sequence[TableSet]
    n_levels: Sequence[int]
    most_bytes: int

    @property
    def n_tables(self) -> int:
        """How many tables are counted."""
        return sum(map(len, self.small)) + len(self.large)

    def of(self, chunk: Dataset) -> TableParts:
        """Count a chunk."""
        coded = CodedRows(chunk, self.n_levels, self.most_bytes)
        data = coded.for_batch(self.n_tables)
        # Tables of one pair are no faster when those of all pairs are known.
        wider = sum(len(rows) for rows in self.small if rows.shape[1] > 2) + len(self.large)
        if wider >= _SETS_PER_COLUMN * len(self.n_levels):
            coded.remember_pairs(data)
        small = [np.zeros(0, dtype=np.int64), *map(data.count_many, self.small)]
        large: list[Cells | None] = []
        for wanted in self.large:
            members = (*wanted.given, *wanted.axes)
            shape = [self.n_levels[j] for j in members]
            large.append(_cells(chunk, data, members, shape))
        return TableParts(np.concatenate(small), self._within_bounds(large))

    def add(self, first: TableParts, second: TableParts) -> TableParts:
        """Add the counts of equal cells."""
        small = first.small
        small += second.small
        large = [
            None
            if mine is None or theirs is None
            else Cells(
                *summed_by_key(
                    np.hstack([mine.keys, theirs.keys]),
                    np.concatenate([mine.counts, theirs.counts]),
                )
            )
            for mine, theirs in zip(first.large, second.large, strict=True)
        ]
        return TableParts(small, self._within_bounds(large))

    def _within_bounds(self, large: Sequence[Cells | None]) -> list[Cells | None]:
        """Give up the last tables, but not the first one."""
        ends = itertools.accumulate(0 if cells is None else cells.n_bytes for cells in large)
        return [
            cells if k == 0 or end <= self.most_bytes else None
            for k, (cells, end) in enumerate(zip(large, ends, strict=True))
        ]


def _cells(chunk: Dataset, data: CodedData, members: Sequence[int], shape: Sequence[int]) -> Cells:
    if math.prod(shape) <= DENSE_CELLS:
        flat = data.count(np.array(members, dtype=np.int32))
        seen = np.flatnonzero(flat)
        return Cells(seen[None, :], flat[seen])
    columns = [chunk.columns[j] for j in members]
    complete = np.ones(chunk.n_rows, dtype=bool)
    for column in columns:
        complete &= ~missing_mask(column)
    weights = chunk.weights
    if weights is not None:
        complete &= weights > 0
    rows = np.flatnonzero(complete)
    keys = PackedKeys(shape).keys([column[rows] for column in columns], len(rows))
    counts = np.ones(len(rows), dtype=np.int64) if weights is None else weights[rows]
    return Cells(*summed_by_key(keys, counts))


def configurations_seen(cells: Cells, given: Sequence[int], axes: Sequence[int]) -> int:
    """How many configurations have rows: of so many levels each, followed by so many of the axes.

    Examples
    --------
    >>> cells = Cells(np.array([[0, 1, 5]]), np.array([1, 1, 1]))
    >>> configurations_seen(cells, [2], [3])
    2
    """
    return len(_split(cells, given, axes)[0])


def counts_of(cells: Cells, given: Sequence[int], axes: Sequence[int]) -> Counts:
    """Return the table of cells, over the configurations that have rows."""
    configs, number, places = _split(cells, given, axes)
    flat = np.zeros(len(configs) * math.prod(axes), dtype=np.int64)
    flat[number * math.prod(axes) + places] = cells.counts
    table = flat.reshape(len(configs), *axes)
    return Counts(table, configs, math.prod(given), int(cells.counts.sum()))


def _split(
    cells: Cells, given: Sequence[int], axes: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The configurations, the number of the one of each cell, and its place among the axes."""
    codes = PackedKeys([*given, *axes]).codes(cells.keys)
    configs, levels = codes[:, : len(given)], codes[:, len(given) :]
    firsts = np.ones(len(codes), dtype=bool)
    firsts[1:] = (configs[1:] != configs[:-1]).any(axis=1)
    places = np.zeros(len(codes), dtype=np.int64)
    for level, size in zip(levels.T, axes, strict=True):
        places = places * size + level
    return np.ascontiguousarray(configs[firsts]), np.cumsum(firsts) - 1, places
