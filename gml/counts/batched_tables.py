"""Batches of tables that are counted by passes over the rows, as few as the budget allows.

A batch is one pass as long as an eighth of the budget holds its tables. Small tables are kept in as
much (`gml.counts.known_tables`), so that what is known needs no pass; and a pass that is needed
counts what is expected to be asked for as well, in half of that.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.counts.answers import Counts
from gml.counts.known_tables import KnownTables, answered, bits_of_columns, n_bytes
from gml.counts.pass_tables import VECTOR_CELLS, Cells, Tables, configurations_seen, counts_of
from gml.counts.questions import TableSet
from gml.data.column_kinds import require_labels
from gml.data.dataset import Variable

# What a table costs besides its cells.
_BYTES_PER_TABLE = 512
# Tables are held by the total, by the chunk that is added, and by those that are being counted.
_SHARE_OF_BUDGET = 8
_MOST_LARGE_TABLES = 256
# Expectations that are looked at for one pass.
_MOST_EXPECTED = 1 << 15


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
        self._n_levels = [max(1, len(variable.levels or ())) for variable in variables]
        self._budget = budget
        self._over_chunks = over_chunks
        self._require = require
        self._known = KnownTables(gaps, budget // _SHARE_OF_BUDGET)
        self.likely: Callable[[], Iterable[TableSet]] | None = None
        """Tables that are expected to be asked for, the likeliest first."""

    def tables(self, sets: Iterable[TableSet]) -> Iterator[Counts]:
        """Count a batch of tables; answers come in the order of the questions."""
        for batch in self._batches(list(sets)):
            while batch:
                n_answered = 0
                for answer in self._answers(batch):
                    if answer is None:
                        break
                    yield answer
                    n_answered += 1
                batch = batch[n_answered:]

    def _batches(self, sets: Sequence[TableSet]) -> Iterator[list[TableSet]]:
        """Yield tables by as many as are counted together."""
        batch: list[TableSet] = []
        n_bytes = n_large = 0
        for wanted in sets:
            members = (*wanted.given, *wanted.axes)
            require_labels(self._variables[j] for j in members)
            cells = math.prod(self._n_levels[j] for j in members)
            if cells <= VECTOR_CELLS or not wanted.given:
                self._require(8 * cells, members)
            is_large = cells > VECTOR_CELLS
            own = _BYTES_PER_TABLE + (0 if is_large else 8 * cells)
            full = n_bytes + own > self._budget // _SHARE_OF_BUDGET
            if batch and (full or n_large + is_large > _MOST_LARGE_TABLES):
                yield batch
                batch, n_bytes, n_large = [], 0, 0
            batch.append(wanted)
            n_bytes, n_large = n_bytes + own, n_large + is_large
        if batch:
            yield batch

    def _answers(self, batch: Sequence[TableSet]) -> Iterator[Counts | None]:
        """Yield the tables of a batch, by one pass if some are not known; None for one given up."""
        known: dict[int, NDArray[np.int64]] = {}
        keys = [bits_of_columns((*wanted.given, *wanted.axes)) for wanted in batch]
        is_small = [self._is_small((*wanted.given, *wanted.axes)) for wanted in batch]
        unknown: dict[int, TableSet] = {}
        for key, wanted, small in zip(keys, batch, is_small, strict=True):
            if small and key not in known and key not in unknown:
                table = self._known.get(key)
                if table is None:
                    unknown[key] = TableSet(tuple(sorted((*wanted.given, *wanted.axes))))
                else:
                    known[key] = table
        large = [wanted for wanted, small in zip(batch, is_small, strict=True) if not small]
        cells: Iterator[Cells | None] = iter(())
        if unknown or large:
            ahead = self._ahead(unknown)
            counted, of_large = self._counted([*unknown.values(), *ahead.values()], large)
            known |= zip(unknown, counted, strict=False)
            for key, table in zip((*unknown, *ahead), counted, strict=True):
                self._known.keep(key, table)
            cells = iter(of_large)
        for key, wanted, small in zip(keys, batch, is_small, strict=True):
            if small:
                yield answered(known[key], wanted)
                continue
            found = next(cells)
            yield None if found is None else self._unpacked(wanted, found)

    def _ahead(self, unknown: Mapping[int, TableSet]) -> dict[int, TableSet]:
        """Tables that are expected to be asked for, beyond those that are."""
        if self.likely is None:
            return {}
        likely, self.likely = self.likely, None
        room = self._known.most_bytes // 2 - sum(map(self._table_bytes, unknown.values()))
        ahead: dict[int, TableSet] = {}
        for wanted in itertools.islice(likely(), _MOST_EXPECTED):
            members = (*wanted.given, *wanted.axes)
            key = bits_of_columns(members)
            if key in unknown or key in ahead or not self._is_small(members):
                continue
            if any(self._variables[j].is_continuous for j in members):
                continue
            if self._known.get(key) is not None:
                continue
            one = TableSet(tuple(sorted(members)))
            room -= self._table_bytes(one)
            if room < 0:
                break
            ahead[key] = one
        return ahead

    def _is_small(self, members: Sequence[int]) -> bool:
        return math.prod(self._n_levels[j] for j in members) <= VECTOR_CELLS

    def _table_bytes(self, wanted: TableSet) -> int:
        return n_bytes(math.prod(self._n_levels[j] for j in wanted.axes))

    def _counted(
        self, small: Sequence[TableSet], large: Sequence[TableSet]
    ) -> tuple[list[NDArray[np.int64]], list[Cells | None]]:
        """Count small and large tables in one pass; small ones have an axis per column."""
        batch = [*small, *large]
        columns = sorted({j for wanted in batch for j in (*wanted.given, *wanted.axes)})
        place = {j: k for k, j in enumerate(columns)}
        sets = [
            TableSet(tuple(place[j] for j in axes), tuple(place[j] for j in given))
            for axes, given in batch
        ]
        levels = [self._n_levels[j] for j in columns]
        work = Tables(sets, levels, self._budget // _SHARE_OF_BUDGET)
        parts = self._over_chunks(columns, work)
        tables = [
            flat.reshape([self._n_levels[j] for j in wanted.axes])
            for wanted, flat in zip(small, work.small_tables(parts), strict=True)
        ]
        return tables, parts.large

    def _unpacked(self, wanted: TableSet, found: Cells) -> Counts:
        given = [self._n_levels[j] for j in wanted.given]
        axes = [self._n_levels[j] for j in wanted.axes]
        configs = max(1, configurations_seen(found, given, axes))
        self._require(8 * math.prod(axes) * configs, (*wanted.given, *wanted.axes))
        return counts_of(found, given, axes)
