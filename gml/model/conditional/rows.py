"""The rows behind a field: distinct ones with their counts, and what each part of it sees of them.

Rows are sorted by their cells in the order of the names of the columns, so that sums over them do
not depend on the order in which they were read. A part of a field sees only its own targets and
inputs: inference runs once per distinct row of the inputs, and all that the likelihood needs of the
targets is how often each feature was seen.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter, TableSet
from gml.data.dataset import Dataset
from gml.data.resampling import distinct_codes, fold_counts, sorted_equal_rows
from gml.data.row_groups import configurations_at
from gml.model.conditional.terms import FieldTerms, Scope, Table, Vector
from gml.name_order import NameOrder
from gml.resources import require_memory

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FieldRows:
    """Distinct rows of all targets and inputs, and how often each counts.

    Examples
    --------
    >>> import gml
    >>> data = gml.read("sample_data/asia.csv", columns=["lung", "smoke"])
    >>> lung, smoke = data.variables
    >>> rows = FieldRows.of(FieldTerms.complete([lung], [smoke]), data)
    >>> rows.counts.tolist(), rows.n
    ([2475, 2268, 26, 231], 5000.0)
    """

    terms: FieldTerms
    targets: Codes
    """Rows × targets, in the order of the terms."""
    inputs: NDArray[Any]
    """Rows × inputs: codes, or float64 where some are numbers."""
    counts: NDArray[np.int64]
    unit: float = 1.0
    """What a count stands for: 1, unless rows count in part."""

    @classmethod
    def of(cls, terms: FieldTerms, data: Dataset) -> FieldRows:
        """Take the columns of a table, which must have the levels of the terms."""
        columns = [*terms.targets, *terms.inputs]
        used = data.select([variable.name for variable in columns])
        require_memory(16 * used.n_rows * len(columns), None, "the distinct rows")
        rows, counts = sorted_equal_rows(used)
        n_targets = len(terms.targets)
        targets = np.empty((len(rows), n_targets), dtype=np.int64)
        inputs = np.empty(
            (len(rows), len(terms.inputs)), dtype=np.float64 if terms.scales else np.int64
        )
        for k, column in enumerate(used.columns[:n_targets]):
            targets[:, k] = column[rows]
        for k, column in enumerate(used.columns[n_targets:]):
            inputs[:, k] = column[rows]
        return cls(terms, targets, inputs, counts, data.unit)

    @classmethod
    def of_counter(cls, terms: FieldTerms, counter: Counter) -> FieldRows:
        """Take the rows of an engine, or its table over all columns, which stands for them."""
        data = counter.rows()
        if data is None and terms.scales:
            data = counter.require_rows("a conditional random field with numeric inputs")
        if data is not None:
            return cls.of(terms, data)
        columns = [variable.name for variable in (*terms.targets, *terms.inputs)]
        position = {variable.name: j for j, variable in enumerate(counter.variables)}
        order = NameOrder(columns)
        *given, last = (position[name] for name in order.names)
        (counts,) = counter.tables([TableSet((last,), tuple(given))])
        rows, levels = np.nonzero(counts.table)
        by_name = np.column_stack([counts.configs[rows], levels]).astype(np.int64)
        codes = by_name[:, order.ranks]
        n_targets = len(terms.targets)
        return cls(
            terms,
            codes[:, :n_targets],
            codes[:, n_targets:],
            counts.table[rows, levels],
            counter.unit,
        )

    @property
    def n(self) -> float:
        """The number of rows."""
        return int(self.counts.sum()) * self.unit

    def present(self) -> FieldRows:
        """Return the rows that count at all."""
        kept = self.counts > 0
        return replace(
            self, targets=self.targets[kept], inputs=self.inputs[kept], counts=self.counts[kept]
        )

    def folds(self, k: int, *, seed: int) -> Iterator[tuple[FieldRows, FieldRows]]:
        """Yield the rest and the fold for each of k folds, as counts of the same distinct rows."""
        for chosen in fold_counts(self.counts, k, seed=seed):
            yield replace(self, counts=self.counts - chosen), replace(self, counts=chosen)

    def seen_by(self, part: FieldTerms) -> PartRows:
        """Return what a part of the field sees."""
        names = [variable.name for variable in self.terms.inputs]
        places = [names.index(variable.name) for variable in part.inputs]
        of_target = [variable.name for variable in self.terms.targets]
        ours = [of_target.index(variable.name) for variable in part.targets]
        inputs, of_row = distinct_codes(self.inputs[:, places])
        return PartRows(part, part.columns(inputs), of_row, self.targets[:, ours])


@dataclass(frozen=True, eq=False)
class PartRows:
    """What a part of a field sees of rows, however often each of them counts."""

    terms: FieldTerms
    inputs: NDArray[Any]
    """Inputs × distinct rows of them: codes, or float64 where some are numbers, standardised."""
    of_row: Codes
    """Which of these each row has."""
    targets: Codes
    """Rows × targets."""

    @functools.cached_property
    def n_distinct(self) -> int:
        """The number of distinct rows of the inputs."""
        return int(self.of_row.max(initial=-1)) + 1

    def counted(self, rows: FieldRows) -> Statistics:
        """Return what the likelihood needs to know of rows with these counts."""
        counts = rows.counts.astype(np.float64) * rows.unit
        times: Vector = np.bincount(self.of_row, weights=counts, minlength=self.n_distinct).astype(
            np.float64
        )
        observed = {
            scope: self._observed(scope, shape, counts)
            for scope, shape in zip(self.terms.scopes, self.terms.shapes, strict=True)
        }
        return Statistics(rows.n, times, self.terms.vector(observed))

    def _observed(self, scope: Scope, shape: tuple[int, ...], counts: Vector) -> Table:
        """How often each cell of a term was seen, or the sum of the numbers that it met."""
        sizes = shape
        if scope[-1] in self.terms.scales:
            counts = counts * self._column(scope[-1])
            scope, sizes = scope[:-1], shape[:-1]
        columns = [self._column(name).astype(np.int64) for name in scope]
        cells = configurations_at(sizes, columns, len(counts))
        table = np.bincount(cells, weights=counts, minlength=int(np.prod(shape)))
        return table.astype(np.float64).reshape(shape)

    def _column(self, name: str) -> NDArray[Any]:
        for k, target in enumerate(self.terms.targets):
            if target.name == name:
                return self.targets[:, k]
        names = [variable.name for variable in self.terms.inputs]
        column: NDArray[Any] = self.inputs[names.index(name)][self.of_row]
        return column


@dataclass(frozen=True, eq=False)
class Statistics:
    """The number of rows, how often each distinct row of inputs occurs, and each feature."""

    n: float
    times: Vector
    observed: Vector
