"""Batches of tables that are counted by passes over the rows, as few as the budget allows.

A batch is one pass as long as an eighth of the budget holds its tables. Small tables are kept in as
much (`gml.counts.known_tables`), so that what is known needs no pass; and a pass that is needed
counts what is expected to be asked for as well, in half of that. Tables of as many columns each are
looked up, counted and put in order together, by a call of the kernel, as they may be very many.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.counts.answered_tables import AnsweredTables, HeldTables, turned
from gml.counts.answers import Counts
from gml.counts.known_tables import Keys, KnownTables, Rows, cells_of, distinct_rows
from gml.counts.pass_tables import VECTOR_CELLS, Cells, Tables, configurations_seen, counts_of
from gml.counts.questions import TableSet
from gml.counts.table_batch import TableBatch
from gml.data.column_kinds import require_labels
from gml.data.dataset import Variable

# What a table costs besides its cells, while it is asked for.
_BYTES_PER_TABLE = 256
# Tables are held by the total, by the chunk that is added, and by those that are being counted.
_SHARE_OF_BUDGET = 8
_MOST_LARGE_TABLES = 256
# Expectations that are looked at for one pass.
_MOST_EXPECTED = 1 << 15
# To look at one takes some three microseconds, which pays where ten passes less take as long to
# read, at a nanosecond per cell.
_CELLS_PER_EXPECTATION = 300


def ahead_pays(n_rows: int, n_columns: int) -> bool:
    """Whether to look at what is expected, about a table of each pair, is faster than more passes.

    Examples
    --------
    >>> ahead_pays(5000, 8), ahead_pays(60, 500), ahead_pays(1_000_000, 500)
    (True, False, True)
    """
    looked_at = min(_MOST_EXPECTED, n_columns**2)
    return n_rows * n_columns >= _CELLS_PER_EXPECTATION * looked_at


class _Asked(NamedTuple):
    """Small tables of as many columns each: their questions, and the different ones."""

    places: NDArray[np.intp]
    rows: Rows
    which: NDArray[np.intp]
    """Which of the different tables each question is about."""
    distinct: Rows
    keys: Keys

    def turned_of(
        self,
        chosen: NDArray[np.intp],
        n_levels: NDArray[np.int32],
        cells: NDArray[np.int64],
        starts: NDArray[np.int64],
    ) -> HeldTables:
        """Answer the questions about the chosen tables, which are at `starts`."""
        start_of = np.full(len(self.distinct), -1, dtype=np.int64)
        start_of[chosen] = starts
        of_question = start_of[self.which]
        here = np.flatnonzero(of_question >= 0)
        return turned(self.places[here], self.rows[here], n_levels, cells, of_question[here])


class _New(NamedTuple):
    """Different tables of as many columns each that are not known."""

    rows: Rows
    keys: Keys


class BatchedTables:
    """The tables of an engine; `over_chunks` makes a pass, `require` refuses large tables."""

    def __init__(
        self,
        variables: Sequence[Variable],
        gaps: Sequence[bool],
        budget: int,
        over_chunks: Callable[[Sequence[int], Tables], Any],
        require: Callable[[int, Iterable[int]], None],
    ) -> None:
        self._variables = variables
        levels = [max(1, len(variable.levels or ())) for variable in variables]
        self._n_levels = np.array(levels, dtype=np.int32)
        self._is_number = np.array([v.is_continuous for v in variables], dtype=bool)
        self._budget = budget
        self._over_chunks = over_chunks
        self._require = require
        self._known = KnownTables(gaps, self._n_levels, budget // _SHARE_OF_BUDGET)
        # Keeping a table may move the others.
        self._lock = threading.Lock()
        self.likely: Callable[[], Iterable[TableSet]] | None = None
        """Tables that are expected to be asked for, the likeliest first."""

    def answers(self, batch: TableBatch) -> Iterator[AnsweredTables]:
        """Count a batch of tables; answers come in the order of the questions."""
        cells = batch.cells(self._n_levels)
        self._require_tables(batch, cells)
        for part in self._parts(batch, cells):
            while part.n_tables:
                found = self._answered(part)
                yield found
                part = part.part(found.n_tables, part.n_tables)

    def _require_tables(self, batch: TableBatch, cells: NDArray[np.float64]) -> None:
        """Refuse tables of numbers, and those with more cells than there is memory for."""
        numbers = np.flatnonzero(self._is_number[batch.members])
        if len(numbers):
            first = int(np.searchsorted(batch.starts, numbers[0], side="right")) - 1
            members = batch.members[batch.starts[first] : batch.starts[first + 1]].tolist()
            require_labels(self._variables[j] for j in members)
        held = (cells <= VECTOR_CELLS) | (batch.sizes == batch.n_axes)
        for k in np.flatnonzero(held & (8 * cells > self._budget)).tolist():
            members = batch.members[batch.starts[k] : batch.starts[k + 1]].tolist()
            self._require(8 * math.prod(self._n_levels[members].tolist()), members)

    def _parts(self, batch: TableBatch, cells: NDArray[np.float64]) -> Iterator[TableBatch]:
        """Yield tables by as many as are counted together."""
        is_large = cells > VECTOR_CELLS
        own = _BYTES_PER_TABLE + np.where(is_large, 0, 8 * cells)
        n_bytes, n_large = np.cumsum(own), np.cumsum(is_large)
        start = 0
        while start < batch.n_tables:
            bytes_before = n_bytes[start] - own[start]
            large_before = n_large[start] - is_large[start]
            room = bytes_before + self._budget // _SHARE_OF_BUDGET
            stop = min(
                int(np.searchsorted(n_bytes, room, side="right")),
                int(np.searchsorted(n_large, large_before + _MOST_LARGE_TABLES, side="right")),
            )
            stop = max(stop, start + 1)
            yield batch.part(start, stop)
            start = stop

    def _answered(self, batch: TableBatch) -> AnsweredTables:
        """Answer a batch up to the first table that is given up, by a pass if some are unknown."""
        is_small = batch.cells(self._n_levels) <= VECTOR_CELLS
        held: list[HeldTables] = []
        unknown: list[tuple[_Asked, NDArray[np.intp]]] = []
        for places, rows in batch.by_size(is_small):
            asked = self._asked(places, rows)
            with self._lock:
                found, left = self._looked_up(asked)
            held += found
            if len(left):
                unknown.append((asked, left))
        large = {int(place): batch.table_set(int(place)) for place in np.flatnonzero(~is_small)}
        of_large: list[Cells | None] = []
        if unknown or large:
            wanted = [self._new(*one) for one in unknown]
            ahead = self._ahead(wanted)
            counted, of_large = self._counted([*wanted, *ahead], list(large.values()))
            held += [
                self._turned(asked, left, cells)
                for (asked, left), cells in zip(unknown, counted, strict=False)
            ]
            with self._lock:
                for new, cells in zip([*wanted, *ahead], counted, strict=True):
                    self._keep(new, cells)
        return AnsweredTables(
            batch,
            self._n_levels,
            held,
            {
                place: None if cells is None else self._unpack(wanted, cells)
                for (place, wanted), cells in zip(large.items(), of_large, strict=True)
            },
        )

    def _looked_up(self, asked: _Asked) -> tuple[list[HeldTables], NDArray[np.intp]]:
        """The tables that are known, or margins of such, and which are neither."""
        held: list[HeldTables] = []
        known, starts = self._known.find(asked.distinct, asked.keys)
        chosen, left = np.flatnonzero(known), np.flatnonzero(~known)
        if len(chosen):
            held.append(asked.turned_of(chosen, self._n_levels, self._known.cells, starts))
        some, cells = self._known.margins(asked.distinct[left], asked.keys[left])
        if len(some):
            held.append(self._turned(asked, left[some], cells))
            self._keep(self._new(asked, left[some]), cells)
        return held, np.delete(left, some)

    def _keep(self, new: _New, cells: NDArray[np.int64]) -> None:
        """Keep tables; another thread may have counted them in the meantime."""
        known, _ = self._known.find(new.rows, new.keys)
        if known.any():
            sizes = cells_of(self._n_levels[new.rows])
            cells = cells[np.repeat(~known, sizes)]
            new = _New(new.rows[~known], new.keys[~known])
        self._known.keep(new.rows, new.keys, cells)

    def _asked(self, places: NDArray[np.intp], rows: Rows) -> _Asked:
        ascending = np.sort(rows, axis=1)
        keys = self._known.keys.of(ascending)
        firsts, which = distinct_rows(ascending, keys)
        return _Asked(places, rows, which, ascending[firsts], keys[firsts])

    def _new(self, asked: _Asked, chosen: NDArray[np.intp]) -> _New:
        return _New(asked.distinct[chosen], asked.keys[chosen])

    def _turned(
        self, asked: _Asked, chosen: NDArray[np.intp], cells: NDArray[np.int64]
    ) -> HeldTables:
        """Answer the questions about the chosen tables, which are end to end."""
        sizes = cells_of(self._n_levels[asked.distinct[chosen]])
        return asked.turned_of(chosen, self._n_levels, cells, np.cumsum(sizes) - sizes)

    def _ahead(self, unknown: Sequence[_New]) -> list[_New]:
        """Tables that are expected to be asked for, beyond those that are."""
        if self.likely is None:
            return []
        likely, self.likely = self.likely, None
        batch = TableBatch.of_sets(list(itertools.islice(likely(), _MOST_EXPECTED)))
        asked_for = {new.rows.shape[1]: new for new in unknown}
        n_bytes = np.zeros(batch.n_tables, dtype=np.int64)
        candidates: list[tuple[NDArray[np.intp], _New]] = []
        for places, rows in batch.by_size(self._is_countable(batch)):
            rows = np.sort(rows, axis=1)
            keys = self._known.keys.of(rows)
            firsts = np.sort(distinct_rows(rows, keys)[0])
            places, rows, keys = places[firsts], rows[firsts], keys[firsts]
            with self._lock:
                is_new = ~self._known.find(rows, keys)[0]
                is_new[self._known.margins(rows, keys)[0]] = False
            if rows.shape[1] in asked_for:
                # Those that are asked for come first, and so those expected too do not.
                first = asked_for[rows.shape[1]]
                both = np.concatenate([first.rows, rows])
                distinct = distinct_rows(both, np.concatenate([first.keys, keys]))[0]
                beyond = np.zeros(len(both), dtype=bool)
                beyond[distinct] = True
                is_new &= beyond[len(first.rows) :]
            new = _New(rows[is_new], keys[is_new])
            candidates.append((places[is_new], new))
            n_bytes[places[is_new]] = self._known.bytes_of(new.rows)
        room = self._known.most_bytes // 2
        room -= sum(int(self._known.bytes_of(new.rows).sum()) for new in unknown)
        end = int(np.searchsorted(np.cumsum(n_bytes), room, side="right"))
        some = [_New(new.rows[places < end], new.keys[places < end]) for places, new in candidates]
        return [new for new in some if len(new.rows)]

    def _is_countable(self, batch: TableBatch) -> NDArray[np.bool_]:
        """Whether each table is of labels, and small."""
        is_small = batch.cells(self._n_levels) <= VECTOR_CELLS
        if batch.n_tables:
            numbers = np.add.reduceat(self._is_number[batch.members], batch.starts[:-1])
            is_small &= ~numbers.astype(bool)
        return is_small

    def _counted(
        self, small: Sequence[_New], large: Sequence[TableSet]
    ) -> tuple[list[NDArray[np.int64]], list[Cells | None]]:
        """Count small and large tables in one pass; small ones come end to end."""
        of_large = {j for wanted in large for j in (*wanted.given, *wanted.axes)}
        used = np.zeros(len(self._n_levels), dtype=bool)
        used[list(of_large)] = True
        for new in small:
            used[new.rows] = True
        columns = np.flatnonzero(used)
        place = np.cumsum(used, dtype=np.int32) - 1
        sets = [
            TableSet(tuple(place[list(axes)].tolist()), tuple(place[list(given)].tolist()))
            for axes, given in large
        ]
        work = Tables(
            [np.ascontiguousarray(place[new.rows], dtype=np.int32) for new in small],
            sets,
            self._n_levels[columns].tolist(),
            self._budget // _SHARE_OF_BUDGET,
        )
        parts = self._over_chunks(columns.tolist(), work)
        ends = np.cumsum([cells_of(self._n_levels[new.rows]).sum() for new in small])
        return np.split(parts.small, ends[:-1]) if small else [], parts.large

    def _unpack(self, wanted: TableSet, found: Cells) -> Callable[[], Counts]:
        def unpacked() -> Counts:
            given = [int(self._n_levels[j]) for j in wanted.given]
            axes = [int(self._n_levels[j]) for j in wanted.axes]
            configs = max(1, configurations_seen(found, given, axes))
            self._require(8 * math.prod(axes) * configs, (*wanted.given, *wanted.axes))
            return counts_of(found, given, axes)

        return unpacked
