"""The default engine: tables of a dataset in memory, by the kernel.

A batch is counted with bit masks and popcounts where columns have few levels, directly otherwise,
and over weighted distinct rows where many rows are equal, in chunks over threads without the GIL.
Tables too large to hold every possible configuration are counted over the observed ones. x and y
are put in the order of their names, and so is the conditioning set, so that the order of columns or
arguments does not change even the last bit of a statistic.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.answers import (
    Counts,
    MissingTreatment,
    Moments,
    StratifiedMoments,
    counts_of_cells,
    every_configuration,
    statistics_of,
)
from gml.counts.coded_rows import CodedRows
from gml.counts.counter import Counter, Family, FamilyArray
from gml.counts.exact_moments import many_moments_of, moments_of, moments_within
from gml.counts.expanded_moments import ExpandedMoments, expanded_moments_of
from gml.counts.questions import Question, TableSet, Triple, TripleArray, tables_of
from gml.counts.residuals import GroupedRows, Residuals, residuals_from_moments
from gml.counts.sparse_tables import sparse_table
from gml.data.alignment import Recoding, recoded
from gml.data.column_kinds import require_labels
from gml.data.dataset import Dataset, Variable
from gml.errors import UsageError, kind_of
from gml.kernel.interface import CodedData
from gml.kernel.layout import DENSE_CELLS, FamilyRule, FamilyWorths, GroupResiduals, TableStatistics
from gml.kernel.pool import in_order
from gml.progress import reporter
from gml.resources import available_threads, budget_in_force

_MIN_CHUNK = 16
# Families per column from which counting all pairs first pays off.
_FAMILIES_PER_COLUMN = 4
_TABLES_AHEAD = 256

Part = TypeVar("Part")
Worths = tuple[NDArray[np.float64], ...]
"""Values of families, alone or with ceilings."""


class MemoryCounter(Counter):
    """Counts a dataset in memory.

    Examples
    --------
    >>> import gml
    >>> counter = MemoryCounter(gml.read("sample_data/asia.csv", columns=("smoke", "lung")))
    >>> [counts.table.tolist() for counts in counter.tables([TableSet((0, 1))])]
    [[[[2475, 26], [2268, 231]]]]
    """

    can_fork = True

    def __init__(
        self, dataset: Dataset, *, threads: int | None = None, max_memory: int | None = None
    ) -> None:
        if not isinstance(dataset, Dataset):
            raise UsageError(f"a Dataset is needed, as gml.read makes it, not {kind_of(dataset)}")
        self._dataset = dataset
        self._threads = threads or available_threads()
        self._budget = budget_in_force(max_memory)
        self.coded = CodedRows(dataset, self.n_levels, self._budget)
        self._families_asked = 0

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The columns that can be counted."""
        return self._dataset.variables

    @property
    def n(self) -> int:
        """Number of rows, weighted."""
        return self._dataset.n

    @property
    def unit(self) -> float:
        """How many rows a count of 1 stands for; 1 unless rows have fractional weights."""
        return self._dataset.unit

    @property
    def missing(self) -> bool:
        """Whether some tables leave rows out because a value is missing."""
        return self._dataset.missing

    @property
    def digest(self) -> str | None:
        """SHA-256 of the data, if it was asked for when they were read."""
        return self._dataset.digest

    @functools.cached_property
    def missing_treatment(self) -> MissingTreatment | None:
        """How missing values were treated when the data were read, if they were read."""
        return MissingTreatment.of_rows(self._dataset)

    @property
    def decimal(self) -> str | None:
        """The decimal mark of numbers among the labels, if the data were read."""
        return None if self._dataset.origin is None else self._dataset.decimal

    @property
    def by_rule(self) -> tuple[str, ...]:
        """The columns that are numeric by their values alone, if the data were read."""
        return () if self._dataset.origin is None else self._dataset.origin.by_rule

    @property
    def budget(self) -> int:
        """The most bytes that a table may take."""
        return self._budget

    @property
    def threads(self) -> int:
        """How many threads may count."""
        return self._threads

    def rows(self) -> Dataset:
        """Return the rows that are counted."""
        return self._dataset

    def recoded(self, recodings: Mapping[str, Recoding]) -> MemoryCounter:
        """Give columns other levels, in which some of their own may be joined."""
        data = recoded(self._dataset, recodings)
        return MemoryCounter(data, threads=self._threads, max_memory=self._budget)

    def select(self, names: Sequence[str]) -> MemoryCounter:
        """Return the engine over some of the columns, in the order given."""
        data = self._dataset.select(names)
        return MemoryCounter(data, threads=self._threads, max_memory=self._budget)

    # ------------------------------------------------------------------ tables

    def tables(self, sets: Iterable[TableSet]) -> Iterator[Counts]:
        """Count a batch of tables; answers come in the order of the questions."""
        sets = list(sets)
        data = self.coded.for_batch(len(sets))
        largest = max((self._bytes(wanted) for wanted in sets), default=0)
        # Tables wait for the caller, so only as many at a time as the budget allows.
        waiting = min(_TABLES_AHEAD, self._budget // max(largest, 1))
        threads = self._threads if waiting > 1 else 1
        yield from in_order(
            lambda wanted: self._table(data, wanted), sets, threads, ahead=waiting - 1
        )

    def family_tables(self, families: Sequence[Family]) -> Iterator[NDArray[np.int64]]:
        """Count each child given its parents, with one row per configuration, seen or not."""
        data = self.coded.for_batch(len(families))
        for child, parents in families:
            members = [*parents, child]
            shape = [self.n_levels[j] for j in members]
            cells = math.prod(shape)
            self._require_levels(members)
            self._require(8 * cells, members)
            if cells <= DENSE_CELLS:
                yield data.count(np.array(members, dtype=np.int32)).reshape(-1, shape[-1])
            else:
                counts = self._table(data, TableSet((child,), tuple(parents)))
                yield every_configuration(counts, shape)

    def _bytes(self, wanted: TableSet) -> int:
        """Return the most bytes of a table: all configurations, or as many as n rows can have."""
        configs = math.prod(self.n_levels[j] for j in wanted.given)
        cells = math.prod(self.n_levels[j] for j in wanted.axes)
        return 8 * cells * min(configs, max(DENSE_CELLS, self._dataset.n_rows))

    def _table(self, data: CodedData, wanted: TableSet) -> Counts:
        members = [*wanted.given, *wanted.axes]
        self._require_levels(members)
        given = [self.n_levels[j] for j in wanted.given]
        axes = [self.n_levels[j] for j in wanted.axes]
        cells, n_configs = math.prod(axes), math.prod(given)
        if cells * n_configs > DENSE_CELLS and wanted.given:
            return sparse_table(
                self._dataset,
                wanted,
                self.n_levels,
                lambda n_bytes: self._require(n_bytes, members),
            )
        self._require(8 * cells * n_configs, members)
        return counts_of_cells(data.count(np.array(members, dtype=np.int32)), given, axes)

    # ------------------------------------------------------------------ families

    def family_values(self, families: Sequence[Family], rule: FamilyRule) -> NDArray[np.float64]:
        """Return the value of each child given its parents."""
        rule = rule._replace(unit=self.unit)

        def values(data: CodedData, flat: NDArray[np.int32], starts: NDArray[np.int64]) -> Worths:
            return (data.family_values(flat, starts, rule),)

        def of_table(table: NDArray[np.int64], cells: float) -> tuple[float, ...]:
            return (kernel.active().family_value(table, cells, rule),)

        (found,) = self._ask_of_families(families, values, of_table, 1)
        return found

    def family_ceilings(
        self, families: Sequence[Family], rule: FamilyRule, cell_prior: float
    ) -> FamilyWorths:
        """The same, and each value if every cell were a configuration of its own."""
        rule = rule._replace(unit=self.unit)

        def values(data: CodedData, flat: NDArray[np.int32], starts: NDArray[np.int64]) -> Worths:
            return data.family_ceilings(flat, starts, rule, cell_prior)

        def of_table(table: NDArray[np.int64], cells: float) -> tuple[float, ...]:
            return kernel.active().family_ceiling(table, cells, rule, cell_prior)

        return FamilyWorths(*self._ask_of_families(families, values, of_table, 2))

    def _ask_of_families(
        self,
        families: Sequence[Family],
        values: Callable[[CodedData, NDArray[np.int32], NDArray[np.int64]], Worths],
        of_table: Callable[[NDArray[np.int64], float], tuple[float, ...]],
        n_columns: int,
    ) -> Worths:
        """Ask the kernel in chunks, and table by table for those that it found too large."""
        flat, starts = self._in_family_order(families)
        n_families = len(starts) - 1
        self._require_levels(np.flatnonzero(np.bincount(flat)).tolist())
        self.prepare(n_families, largest_batch=n_families)
        data = self.coded.for_batch(n_families)

        def chunk(start: int, stop: int) -> Worths:
            first, last = int(starts[start]), int(starts[stop])
            found = values(data, flat[first:last], starts[start : stop + 1] - first)
            for k in np.flatnonzero(np.isnan(found[0])).tolist():
                *parents, child = flat[starts[start + k] : starts[start + k + 1]].tolist()
                wanted = TableSet((child,), tuple(parents))
                worth = of_table(self._table(data, wanted).table, self._cells(wanted))
                for column, number in zip(found, worth, strict=True):
                    column[k] = number
            return found

        parts = self._in_chunks(chunk, n_families, self._threads)
        return tuple(
            np.concatenate([np.empty(0), *(part[i] for part in parts)]) for i in range(n_columns)
        )

    def prepare(self, n_families: int, *, largest_batch: int) -> None:
        """Code the rows as for so many families, and count all pairs first if that will pay off."""
        self._families_asked += n_families
        data = self.coded.for_batch(largest_batch)
        if self._families_asked >= _FAMILIES_PER_COLUMN * len(self.order):
            self.coded.remember_pairs(data)

    def _in_family_order(
        self, families: Sequence[Family]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return (*parents, child) of all families end to end, parents by name, and the starts."""
        if isinstance(families, FamilyArray):
            rows = families.rows
            ordered = np.hstack([self.order.rows(rows[:, 1:]), rows[:, :1]])
            flat = ordered.astype(np.int32).reshape(-1)
            return flat, np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1]
        sets = [[*self.order.sorted(parents), child] for child, parents in families]
        flat = np.array([j for members in sets for j in members], dtype=np.int32)
        return flat, np.cumsum([0, *map(len, sets)], dtype=np.int64)

    # ------------------------------------------------------------------ statistics

    def statistics(self, triples: Sequence[Triple]) -> TableStatistics:
        """Count a batch of tests and return their statistics without handing out the tables."""
        if isinstance(triples, TripleArray):
            rows, order = triples.rows, self.order
            sizes = np.full(len(rows), rows.shape[1])
            flat = np.hstack([order.rows(rows[:, 2:]), order.rows(rows[:, :2])]).reshape(-1)
        else:
            sets = [[*t.given, *t.axes] for t in tables_of(self.order, triples)]
            sizes = np.array([len(members) for members in sets], dtype=np.int64)
            flat = np.array([j for members in sets for j in members], dtype=np.int32)
        if np.all(sizes == 2):
            return self._of_ordered_pairs(flat.reshape(-1, 2))
        self._require_levels(np.flatnonzero(np.bincount(flat)).tolist())
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        data = self.coded.for_batch(len(sizes))
        if len(sizes) >= len(self.order):
            self.coded.remember_pairs(data)

        def chunk(start: int, stop: int) -> TableStatistics:
            first, last = int(starts[start]), int(starts[stop])
            found = data.set_statistics(flat[first:last], starts[start : stop + 1] - first)
            for k in np.flatnonzero(found.n < 0).tolist():
                # The kernel left this one out because of its size.
                *given, x, y = flat[starts[start + k] : starts[start + k + 1]].tolist()
                one = statistics_of(self._table(data, TableSet((x, y), tuple(given))))
                found.floats[k], found.ints[k] = one.floats[0], one.ints[0]
            return found

        return TableStatistics.concatenate(self._in_chunks(chunk, len(sizes), self._threads))

    def pair_statistics(self, pairs: NDArray[np.int32]) -> TableStatistics:
        """Statistics of many pairs (pairs × 2 column positions)."""
        return self._of_ordered_pairs(
            self.order.rows(np.asarray(pairs, dtype=np.int32).reshape(-1, 2))
        )

    def _of_ordered_pairs(self, pairs: NDArray[np.int32]) -> TableStatistics:
        self._require_levels(np.flatnonzero(np.bincount(pairs.reshape(-1))).tolist())
        levels = np.array(self.n_levels, dtype=np.int64)
        threads = self._threads
        if len(pairs):
            cells = levels[pairs[:, 0]] * levels[pairs[:, 1]]
            largest = int(np.argmax(cells))
            size = 8 * int(cells[largest])
            self._require(size, pairs[largest].tolist())
            # Every thread holds its own table.
            threads = max(1, min(threads, self._budget // max(size, 1)))
        data = self.coded.for_batch(len(pairs))

        def chunk(start: int, stop: int) -> TableStatistics:
            return data.pair_statistics(np.ascontiguousarray(pairs[start:stop], dtype=np.int32))

        return TableStatistics.concatenate(self._in_chunks(chunk, len(pairs), threads))

    def _in_chunks(self, chunk: Callable[[int, int], Part], size: int, threads: int) -> list[Part]:
        # Neighbouring tables are counted together, so chunks are no smaller than they must be.
        step = 2048 if threads == 1 else max(_MIN_CHUNK, min(2048, -(-size // (4 * threads))))
        bounds = [(start, min(start + step, size)) for start in range(0, size, step)]
        parts = []
        for part in in_order(lambda bound: chunk(*bound), bounds, threads):
            parts.append(part)
            reporter().advance("counting", bounds[len(parts) - 1][1], size)
        return parts

    def _require_levels(self, members: Iterable[int]) -> None:
        require_labels(self.variables[j] for j in members)

    # ------------------------------------------------------------------ moments

    @overload
    def moments(self, columns: Sequence[int], given: tuple[()] = ()) -> Moments: ...  # type: ignore[overload-overlap]

    @overload
    def moments(self, columns: Sequence[int], given: Sequence[int]) -> StratifiedMoments: ...

    def moments(
        self, columns: Sequence[int], given: Sequence[int] = ()
    ) -> Moments | StratifiedMoments:
        """Moments of numeric columns over the rows complete in all of them and in those given."""
        self.check_moments(columns, given)
        if given:
            return moments_within(self._dataset, columns, given)
        return moments_of(self._dataset, columns, threads=self._threads)

    def many_moments(self, questions: Sequence[Question]) -> list[Moments | StratifiedMoments]:
        """Answer several questions, the groups of rows that they share being made once."""
        for question in questions:
            self.check_moments(*question)
        return many_moments_of(self._dataset, questions, threads=self._threads)

    def expanded_moments(self, columns: Sequence[int]) -> ExpandedMoments:
        """Moments of numbers and of indicators of levels, in the order of names."""
        return expanded_moments_of(
            self._dataset,
            self.order.sorted(columns),
            threads=self._threads,
            budget=self._budget,
        )

    def residuals(self, families: Sequence[Family]) -> Residuals:
        """Regress numbers on numbers within configurations of labels."""
        split = [(child, *self.regressors(child, parents)) for child, parents in families]

        def chunk(start: int, stop: int) -> list[GroupResiduals]:
            return [self._residuals(*family) for family in split[start:stop]]

        parts = self._in_chunks(chunk, len(split), self._threads)
        return Residuals.of(
            [one for part in parts for one in part],
            [len(numbers) for _, numbers, _ in split],
            self.unit,
        )

    def _residuals(
        self, child: int, numbers: Sequence[int], labels: Sequence[int]
    ) -> GroupResiduals:
        found = None
        if self._grouped_rows.is_exact:
            found = self._grouped_rows.residuals(child, numbers, labels)
        if found is None:
            found = residuals_from_moments(self.moments([*numbers, child], labels))
        return found

    @functools.cached_property
    def _grouped_rows(self) -> GroupedRows:
        return GroupedRows(self._dataset, self.n_levels)
