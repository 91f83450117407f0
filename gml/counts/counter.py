"""What an engine promises, and what follows from its tables.

An engine is a subclass of `Counter` that gives `variables`, `n` and `tables`. Everything else has a
default: the kernel computes the statistics of tests and the values of families from tables, with
the same numbers as the engine over data in memory. An engine overrides what it can do faster.
"""

from __future__ import annotations

import functools
import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.answers import (
    Counts,
    MissingTreatment,
    Moments,
    StratifiedMoments,
    every_configuration,
    statistics_of,
)
from gml.counts.expanded_moments import ExpandedMoments, expanded_labels
from gml.counts.gaps import Gaps
from gml.counts.number_questions import NumberQuestions, RowsBehind
from gml.counts.questions import (
    Family,
    FamilyArray,
    TableSet,
    Triple,
    TripleArray,
    family_sets,
    pair_block,
    tables_of,
)
from gml.counts.residuals import Residuals
from gml.data.alignment import Recoding, recoded, recodings_to
from gml.data.dataset import Dataset, Variable
from gml.errors import CannotAnswer, UsageError, counted, listing, quote, unknown_name
from gml.kernel.layout import FamilyRule, FamilyWorths, TableStatistics
from gml.resources import require_memory

__all__ = [
    "Counter",
    "Counts",
    "ExpandedMoments",
    "Family",
    "FamilyArray",
    "FamilyRule",
    "FamilyWorths",
    "MissingTreatment",
    "Moments",
    "Residuals",
    "StratifiedMoments",
    "TableSet",
    "TableStatistics",
    "Triple",
    "TripleArray",
    "pair_block",
    "rows_counted",
    "tables_of",
]


class Counter(NumberQuestions):
    """An engine: what scans rows.

    Examples
    --------
    >>> import gml
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv", columns=["smoke", "lung"]))
    >>> counter
    <MemoryCounter: 5000 rows, 2 columns: 'smoke', 'lung'>
    >>> next(iter(counter.tables([gml.TableSet((0, 1))]))).table[0].tolist()
    [[2475, 26], [2268, 231]]
    """

    def __repr__(self) -> str:
        names = [variable.name for variable in self.variables]
        rows, columns = counted(self.n, "row"), counted(len(names), "column")
        return f"<{type(self).__name__}: {rows}, {columns}: {listing(names)}>"

    # ------------------------------------------------------------------ what an engine must give

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of rows, weighted."""

    @abstractmethod
    def tables(self, sets: Iterable[TableSet]) -> Iterator[Counts]:
        """Count a batch of tables; answers come in the order of the questions."""

    # ------------------------------------------------------------------ what it may know besides

    @property
    def missing(self) -> bool:
        """Whether some tables leave rows out because a value is missing."""
        return False

    @property
    def digest(self) -> str | None:
        """SHA-256 of the input, if it was asked for."""
        return None

    @property
    def missing_treatment(self) -> MissingTreatment | None:
        """How missing values were treated when the input was read, if that is known."""
        return None

    @property
    def decimal(self) -> str | None:
        """The decimal mark of numbers among the labels, if the input says so itself."""
        return None

    @property
    def by_rule(self) -> tuple[str, ...]:
        """The columns that are numeric by their values alone, if the input says so itself."""
        return ()

    @property
    def pass_rows(self) -> int:
        """Rows that every batch of questions reads again; where it is 0, small batches are fine."""
        return 0

    def expect(self, likely: Callable[[], Iterable[TableSet]]) -> None:
        """Hear of tables that may be asked for soon, which the next pass may count too."""

    # ------------------------------------------------------------------ what follows

    @functools.cached_property
    def n_levels(self) -> tuple[int, ...]:
        """The number of levels of each column; 1 if it has none, which keeps shapes simple."""
        return tuple(max(1, len(variable.levels or ())) for variable in self.variables)

    def in_rows(self, units: int) -> int | float:
        """Return a count as a number of rows, whole unless they have fractional weights."""
        return units if self.unit == 1 else units * self.unit

    def require_rows(self, what: str) -> Dataset:
        """Return the rows that are counted, which `what` needs."""
        rows = self.rows()
        if rows is None:
            raise CannotAnswer(f"{self.where}: {what} needs rows, which {self.kind} does not have")
        return rows

    def with_levels(self, levels: Mapping[str, tuple[str, ...]]) -> Counter:
        """Give columns other levels, which include their own."""
        return self.recoded(recodings_to(self.variables, levels)) if levels else self

    def recoded(self, recodings: Mapping[str, Recoding]) -> Counter:
        """Give columns other levels, in which some of their own may be joined."""
        return _Recoded(self, recodings)

    def select(self, names: Sequence[str]) -> Counter:
        """Return the engine over some of the columns, in the order given."""
        return _Selected(self, names)

    def family_tables(self, families: Sequence[Family]) -> Iterator[NDArray[np.int64]]:
        """Count each child given its parents, with one row per configuration, seen or not."""
        for child, parents in families:
            shape = [self.n_levels[j] for j in (*parents, child)]
            self._require(8 * math.prod(shape), (*parents, child))
            for counts in self.tables([TableSet((child,), tuple(parents))]):
                yield every_configuration(counts, shape)

    def family_values(self, families: Sequence[Family], rule: FamilyRule) -> NDArray[np.float64]:
        """Return the value of each child given its parents (`FamilyRule`)."""
        value, rule = kernel.active().family_value, rule._replace(unit=self.unit)
        found = [value(table, cells, rule) for table, cells in self._worth_tables(families)]
        return np.array(found, dtype=np.float64)

    def family_ceilings(
        self, families: Sequence[Family], rule: FamilyRule, cell_prior: float
    ) -> FamilyWorths:
        """The same, and what each value would be if every cell were a configuration of its own.

        This is for DIRICHLET, with a prior of `cell_prior` per cell for these configurations; with
        0, each has the value −ln r, which is the limit.
        """
        ceiling, rule = kernel.active().family_ceiling, rule._replace(unit=self.unit)
        found = [
            ceiling(table, cells, rule, cell_prior) for table, cells in self._worth_tables(families)
        ]
        return FamilyWorths(
            np.array([worth.value for worth in found], dtype=np.float64),
            np.array([worth.ceiling for worth in found], dtype=np.float64),
        )

    def complete_rows(self, sets: Sequence[Sequence[int]]) -> NDArray[np.int64]:
        """Return how many rows, weighted, have a value in each column of a set."""
        if not self.missing:
            return np.full(len(sets), self.n, dtype=np.int64)
        if self._gaps is not None:
            return self._gaps.complete_rows(sets)
        asked = [TableSet((columns[0],), tuple(columns[1:])) for columns in sets]
        return np.array([counts.n for counts in self.tables(asked)], dtype=np.int64)

    @functools.cached_property
    def _gaps(self) -> Gaps | None:
        rows = self.rows()
        return None if rows is None else Gaps(rows)

    def statistics(self, triples: Sequence[Triple]) -> TableStatistics:
        """Count a batch of tests and return their statistics without handing out the tables."""
        sets = tables_of(self.order, triples)
        return TableStatistics.concatenate([statistics_of(counts) for counts in self.tables(sets)])

    def pair_statistics(self, pairs: NDArray[np.int32]) -> TableStatistics:
        """Statistics of many pairs (pairs × 2 column positions)."""
        return self.statistics(TripleArray(np.asarray(pairs, dtype=np.int32).reshape(-1, 2)))

    def expanded_moments(self, columns: Sequence[int]) -> ExpandedMoments:
        """Moments of numbers and of indicators of levels; of labels alone from their tables."""
        labels = all(not self.variables[j].is_continuous for j in columns)
        if self.rows() is not None or self.missing or not labels:
            return super().expanded_moments(columns)
        ordered = self.order.sorted(columns)
        pairs = list(itertools.combinations(ordered, 2))
        single = self.tables([TableSet((j,)) for j in ordered])
        return expanded_labels(
            self.n,
            {j: counts.table[0] for j, counts in zip(ordered, single, strict=True)},
            zip(pairs, (c.table[0] for c in self.tables(map(TableSet, pairs))), strict=True),
        )

    def _worth_tables(
        self, families: Sequence[Family]
    ) -> Iterator[tuple[NDArray[np.int64], float]]:
        """Yield the table of each family, and its number of cells, all configurations included."""
        sets = family_sets(self.order, families)
        for wanted, counts in zip(sets, self.tables(sets), strict=True):
            yield np.ascontiguousarray(counts.table), self._cells(wanted)

    def _cells(self, wanted: TableSet) -> float:
        """The number of cells of a table, rounded as the kernel does it if it is very large."""
        return math.prod(float(self.n_levels[j]) for j in (*wanted.given, *wanted.axes))

    def _require(self, n_bytes: int, members: Iterable[int]) -> None:
        """Refuse a table that would take more memory than there is for it."""
        if n_bytes > self.budget:
            names = ", ".join(quote(self.variables[j].name) for j in members)
            require_memory(n_bytes, self.budget, f"the table of {names}")


def rows_counted(counter: Counter) -> int | float:
    """Return the weighted number of rows, whole unless the weights are fractions."""
    return counter.in_rows(counter.n)


class Wrapped(RowsBehind, Counter):
    """An engine over another, of which it knows whatever the other knows."""

    def __init__(self, counter: Counter) -> None:
        self._counter = self._rows_behind = counter
        self.kind = counter.kind
        self.can_fork = counter.can_fork

    @property
    def n(self) -> int:
        return self._counter.n

    @property
    def pass_rows(self) -> int:
        return self._counter.pass_rows

    @property
    def unit(self) -> float:
        return self._counter.unit

    @property
    def missing(self) -> bool:
        return self._counter.missing

    @property
    def digest(self) -> str | None:
        return self._counter.digest

    @property
    def missing_treatment(self) -> MissingTreatment | None:
        return self._counter.missing_treatment

    @property
    def decimal(self) -> str | None:
        return self._counter.decimal

    @property
    def by_rule(self) -> tuple[str, ...]:
        return self._counter.by_rule

    @property
    def where(self) -> str:
        return self._counter.where

    @property
    def budget(self) -> int:
        return self._counter.budget


class _Recoded(Wrapped):
    """An engine whose columns have other levels."""

    def __init__(self, counter: Counter, recodings: Mapping[str, Recoding]) -> None:
        super().__init__(counter)
        self._recodings = recodings
        new = [
            recodings.get(v.name, (v.levels, np.arange(len(v.levels or ()))))
            for v in counter.variables
        ]
        self._variables = tuple(
            Variable(v.name, levels) for v, (levels, _) in zip(counter.variables, new, strict=True)
        )
        # A column without levels has tables with room for one.
        self._codes = [codes if len(codes) else np.zeros(1, dtype=np.int64) for _, codes in new]

    @property
    def variables(self) -> tuple[Variable, ...]:
        return self._variables

    def rows(self) -> Dataset | None:
        rows = self._counter.rows()
        return None if rows is None else recoded(rows, self._recodings)

    def expect(self, likely: Callable[[], Iterable[TableSet]]) -> None:
        self._counter.expect(likely)

    def moments(self, columns: Sequence[int], given: Sequence[int] = ()) -> Any:
        found = self._counter.moments(columns, given)
        if isinstance(found, Moments):
            return found
        configs, place = self._configs(found.configs, given)
        if len(configs) < len(found.moments):
            names = listing([self.variables[j].name for j in given])
            raise CannotAnswer(f"{self.where}: no moments within joined levels of {names}")
        moments = tuple(found.moments[k] for k in np.argsort(place))
        return StratifiedMoments(moments, configs, math.prod(self.n_levels[j] for j in given))

    def tables(self, sets: Iterable[TableSet]) -> Iterator[Counts]:
        sets = list(sets)
        for wanted, counts in zip(sets, self._counter.tables(sets), strict=True):
            configs, place = self._configs(counts.configs, wanted.given)
            shape = [len(configs), *(self.n_levels[j] for j in wanted.axes)]
            table = np.zeros(shape, dtype=np.int64)
            axes = [self._codes[j] for j in wanted.axes]
            np.add.at(table, np.ix_(place, *axes), counts.table)
            n_configs = math.prod(self.n_levels[j] for j in wanted.given)
            yield Counts(table, configs, n_configs, counts.n)

    def _configs(
        self, configs: NDArray[np.int64], given: Sequence[int]
    ) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """Return configurations in the new codes, in order, and the place of each old one."""
        if not given:
            return configs, np.arange(len(configs))
        new = np.array([self._codes[j][configs[:, i]] for i, j in enumerate(given)]).T
        found, place = np.unique(new, axis=0, return_inverse=True)
        return found, place.reshape(-1)


class _Selected(Wrapped):
    """An engine over some of the columns of another."""

    def __init__(self, counter: Counter, names: Sequence[str]) -> None:
        super().__init__(counter)
        at = {variable.name: j for j, variable in enumerate(counter.variables)}
        for name in names:
            if name not in at:
                raise UsageError(unknown_name("column", name, list(at)))
        self._at = [at[name] for name in names]

    @property
    def variables(self) -> tuple[Variable, ...]:
        return tuple(self._counter.variables[j] for j in self._at)

    def rows(self) -> Dataset | None:
        rows = self._counter.rows()
        return None if rows is None else rows.select(v.name for v in self.variables)

    def moments(self, columns: Sequence[int], given: Sequence[int] = ()) -> Any:
        return self._counter.moments(self._inner(columns), self._inner(given))

    def expanded_moments(self, columns: Sequence[int]) -> ExpandedMoments:
        found = self._counter.expanded_moments(self._inner(columns))
        return found.moved({self._at[j]: j for j in columns})

    def residuals(self, families: Sequence[Family]) -> Residuals:
        return self._counter.residuals(
            [(self._at[child], self._inner(parents)) for child, parents in families]
        )

    def tables(self, sets: Iterable[TableSet]) -> Iterator[Counts]:
        return self._counter.tables(map(self._inside, sets))

    def expect(self, likely: Callable[[], Iterable[TableSet]]) -> None:
        self._counter.expect(lambda: map(self._inside, likely()))

    def _inside(self, wanted: TableSet) -> TableSet:
        """A question as the engine inside understands it."""
        return TableSet(self._inner(wanted.axes), self._inner(wanted.given))

    def _inner(self, columns: Sequence[int]) -> tuple[int, ...]:
        """The positions of columns in the engine inside."""
        return tuple(self._at[j] for j in columns)
