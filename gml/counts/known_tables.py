"""Tables that a pass has counted, kept as long as there is room: the next question may need none.

A table is kept by its columns, in ascending order, with every cell; `held_tables` puts it in the
order of the question. The table of fewer columns is a margin of one of more, if the rows that count
are the same, that is, where the column summed over has no missing values.

All cells are in one vector, and what is known of tables of as many columns in arrays that are
sorted by a hash of the columns, as there may be a hundred thousand to look up at once. What a hash
finds is compared column by column.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml import kernel

Rows = NDArray[np.int32]
"""The columns of one table each, ascending."""
Keys = NDArray[np.uint64]
Places = NDArray[np.int64]

# What a table costs besides its cells.
_BYTES_PER_TABLE = 64
# Where room is made, so much of all of it is free afterwards: moving the cells takes a while.
_FREED = 8


class ColumnKeys:
    """A number for each set of columns, which hardly two of them share.

    It is the sum of numbers of the columns, so that leaving a column out is a subtraction.
    """

    def __init__(self, n_columns: int) -> None:
        # The finisher of SplitMix64, over multiples of the golden ratio; products wrap around.
        mixed = np.arange(1, n_columns + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        self.of_column: Keys = mixed ^ (mixed >> np.uint64(31))

    def of(self, rows: Rows) -> Keys:
        """The keys of some sets of as many columns each."""
        keys: Keys = self.of_column[rows].sum(axis=1, dtype=np.uint64)
        return keys


def distinct_rows(rows: Rows, keys: Keys) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where each different row comes first, and which of these each row is.

    Examples
    --------
    >>> rows = np.array([[1, 2], [0, 1], [1, 2]], dtype=np.int32)
    >>> firsts, which = distinct_rows(rows, ColumnKeys(3).of(rows))
    >>> rows[firsts][which].tolist(), len(firsts)
    ([[1, 2], [0, 1], [1, 2]], 2)
    """
    _, firsts, which = np.unique(keys, return_index=True, return_inverse=True)
    if not np.array_equal(rows[firsts][which], rows):
        _, firsts, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return firsts, which.reshape(-1)


def steps_of(levels: NDArray[np.int32]) -> Places:
    """How many cells apart the levels of each column are, the last one varying fastest.

    Examples
    --------
    >>> steps_of(np.array([[2, 3, 4]])).tolist()
    [[12, 4, 1]]
    """
    behind = np.ones(levels.shape, dtype=np.int64)
    behind[:, :-1] = np.cumprod(levels[:, :0:-1], axis=1, dtype=np.int64)[:, ::-1]
    return behind


def cells_of(levels: NDArray[np.int32]) -> Places:
    """How many cells each table has."""
    cells: Places = np.prod(levels, axis=1, dtype=np.int64)
    return cells


def unsummed(n_tables: int) -> Places:
    """What `turned_tables` is told where it is not to sum over a column."""
    return np.tile(np.array([[1, 0]], dtype=np.int64), (n_tables, 1))


@dataclass
class _Shelf:
    """Tables of as many columns each, by ascending key."""

    keys: Keys
    rows: Rows
    starts: Places
    used: Places
    """When each was last asked for."""

    def joined(self, more: _Shelf) -> _Shelf:
        """The tables of both."""
        places = np.searchsorted(self.keys, more.keys)
        return _Shelf(
            np.insert(self.keys, places, more.keys),
            np.insert(self.rows, places, more.rows, axis=0),
            np.insert(self.starts, places, more.starts),
            np.insert(self.used, places, more.used),
        )

    def at(self, places: NDArray[np.intp] | NDArray[np.bool_]) -> _Shelf:
        """Some of the tables."""
        return _Shelf(self.keys[places], self.rows[places], self.starts[places], self.used[places])

    def find(self, rows: Rows, keys: Keys) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
        """Which sets of columns have a table here, and where those are."""
        if not len(self.keys):
            return np.zeros(len(keys), dtype=bool), np.zeros(0, dtype=np.intp)
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        found = (self.keys[places] == keys) & (self.rows[places] == rows).all(axis=1)
        return found, places[found]


class KnownTables:
    """Keeps tables of columns with so many levels, and with gaps or not, in so many bytes."""

    def __init__(self, gaps: Sequence[bool], n_levels: NDArray[np.int32], most_bytes: int) -> None:
        self.keys = ColumnKeys(len(gaps))
        self.most_bytes = most_bytes
        """What all tables may take together."""
        self._whole = ~np.array(gaps, dtype=bool)
        self._n_levels = n_levels
        # By columns of a table. Each shelf has at least twice as many tables as the next, so that
        # adding some moves few of them, and there are few shelves to look through.
        self._shelves: dict[int, tuple[_Shelf, ...]] = {}
        self._cells = np.zeros(0, dtype=np.int64)
        self._end = self._held = self._clock = 0

    @property
    def cells(self) -> NDArray[np.int64]:
        """The cells of all tables, which the next table that is kept may move."""
        return self._cells

    def find(self, rows: Rows, keys: Keys) -> tuple[NDArray[np.bool_], Places]:
        """Which sets of columns have a table, and where the cells of those start."""
        known = np.zeros(len(keys), dtype=bool)
        starts = np.zeros(len(keys), dtype=np.int64)
        for shelf in self._shelves.get(rows.shape[1], ()):
            found, places = shelf.find(rows, keys)
            # The last ones asked for are the last ones to be forgotten.
            shelf.used[places] = self._clock + np.flatnonzero(found)
            starts[found] = shelf.starts[places]
            known |= found
        self._clock += len(keys)
        return known, starts[known]

    def margins(self, rows: Rows, keys: Keys) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Which sets of columns have a margin of a table of one more, and the cells of these."""
        size = rows.shape[1]
        wanted = np.zeros(len(keys), dtype=bool)
        larger = self._shelves.get(size + 1, ()) if len(keys) else ()
        order = np.argsort(keys)
        ascending, ends = keys[order], len(keys) - 1
        start_of, without = np.zeros((2, len(keys)), dtype=np.int64)
        levels = np.ones((len(keys), size + 1), dtype=np.int32)
        for shelf, extra in itertools.product(larger, range(size + 1)):
            left_out = shelf.rows[:, extra]
            remains = shelf.keys - self.keys.of_column[left_out]
            places = order[np.minimum(np.searchsorted(ascending, remains), ends)]
            tables = np.flatnonzero((keys[places] == remains) & self._whole[left_out])
            places = places[tables]
            same = (np.delete(shelf.rows[tables], extra, axis=1) == rows[places]).all(axis=1)
            places, tables = places[same], tables[same]
            wanted[places] = True
            start_of[places], without[places] = shelf.starts[tables], extra
            levels[places] = self._n_levels[shelf.rows[tables]]
        found = np.flatnonzero(wanted)
        levels, extra_of = levels[found], without[found, None]
        steps, kept = steps_of(levels), np.arange(size + 1) != extra_of
        summed = np.hstack([np.take_along_axis(part, extra_of, 1) for part in (levels, steps)])
        cells = kernel.active().turned_tables(
            self._cells,
            start_of[found],
            self._n_levels[rows[found]],
            np.ascontiguousarray(steps[kept].reshape(-1, size)),
            np.ascontiguousarray(summed, dtype=np.int64),
        )
        return found, cells

    def keep(self, rows: Rows, keys: Keys, cells: NDArray[np.int64]) -> None:
        """Keep tables that are not known, end to end in `cells`, the first ones that have room.

        Those that nobody asked for longest make room for them.
        """
        sizes = cells_of(self._n_levels[rows])
        n_kept = int(np.searchsorted(np.cumsum(_n_bytes(sizes)), self.most_bytes, side="right"))
        rows, keys, sizes = rows[:n_kept], keys[:n_kept], sizes[:n_kept]
        n_bytes, n_cells = int(_n_bytes(sizes).sum()), int(sizes.sum())
        self._make_room(n_bytes, n_cells)
        self._cells[self._end : self._end + n_cells] = cells[:n_cells]
        new = _Shelf(
            keys,
            rows,
            self._end + np.cumsum(sizes) - sizes,
            self._clock + np.arange(n_kept, dtype=np.int64),
        )
        some = [*self._shelves.get(rows.shape[1], ()), new.at(np.argsort(keys))]
        while len(some) > 1 and len(some[-2].keys) < 2 * len(some[-1].keys):
            last = some.pop()
            some[-1] = some[-1].joined(last)
        shelves = self._shelves | {rows.shape[1]: tuple(some)}
        end, held, clock = self._end + n_cells, self._held + n_bytes, self._clock + n_kept
        # At once, so that an interrupt comes before or after it.
        self._shelves, self._end, self._held, self._clock = shelves, end, held, clock

    def bytes_of(self, rows: Rows) -> Places:
        """What the table of each set of columns takes."""
        return _n_bytes(cells_of(self._n_levels[rows]))

    def _make_room(self, n_bytes: int, n_cells: int) -> None:
        if self._held + n_bytes > self.most_bytes:
            self._forget(self._held + n_bytes - self.most_bytes + self.most_bytes // _FREED)
        needed = self._end + n_cells
        if needed > len(self._cells):
            most = max(needed, self.most_bytes // 8)
            room = np.empty(min(2 * needed, most), dtype=np.int64)
            room[: self._end] = self._cells[: self._end]
            self._cells = room

    def _forget(self, n_bytes: int) -> None:
        """Forget tables of so many bytes, and move the others together."""
        all_shelves = [(size, one) for size, some in self._shelves.items() for one in some]
        sizes = [cells_of(self._n_levels[shelf.rows]) for _, shelf in all_shelves]
        taken = _n_bytes(np.concatenate(sizes))
        oldest = np.argsort(np.concatenate([shelf.used for _, shelf in all_shelves]))
        n_gone = int(np.searchsorted(np.cumsum(taken[oldest]), n_bytes)) + 1
        stays = np.ones(len(taken), dtype=bool)
        stays[oldest[:n_gone]] = False
        starts = np.concatenate([shelf.starts for _, shelf in all_shelves])[stays]
        left = np.concatenate(sizes)[stays]
        levels = left.astype(np.int32)[:, None]
        cells = kernel.active().turned_tables(
            self._cells, starts, levels, steps_of(levels), unsummed(len(left))
        )
        moved, held, first = np.cumsum(left) - left, int(taken[stays].sum()), 0
        shelves: dict[int, tuple[_Shelf, ...]] = {}
        of_shelf = np.split(stays, np.cumsum([len(one) for one in sizes])[:-1])
        for (size, shelf), here in zip(all_shelves, of_shelf, strict=True):
            some = shelf.at(here)
            some.starts = moved[first : first + len(some.keys)]
            first += len(some.keys)
            if len(some.keys):
                shelves[size] = (*shelves.get(size, ()), some)
        # At once, so that an interrupt comes before or after it.
        self._shelves, self._cells, self._end, self._held = shelves, cells, len(cells), held


def _n_bytes(cells: Places) -> Places:
    """What tables of so many cells take."""
    return _BYTES_PER_TABLE + 8 * cells
