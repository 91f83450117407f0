"""What is known of the columns of a piece of a table as it was read, and how pieces add up.

A table that is read in pieces, by several machines perhaps, has levels, gaps and weights that only
all pieces together tell. What a piece knows of them is small, can be pickled, and adds up to the
same in whatever order the pieces come. `gml.data.settled_columns` makes of it what columns are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import missing_mask
from gml.data.discretize import cuts_of_levels
from gml.data.number_summary import numbers_of_labels
from gml.data.options import ReadOptions
from gml.data.problems import GIVE_WEIGHTS, weights_must_be
from gml.data.row_groups import group_sums
from gml.errors import DataError, quote
from gml.kernel.layout import CODES8, NUMBERS, OVERFLOW, ColumnSpec, CsvColumn

# Numbers with 2^26 in each half of their digits add up exactly in 64 bits for 2^36 rows.
_HALF_BITS = 26
_DIGITS = 53


@dataclass(frozen=True)
class PieceColumns:
    """Columns of some rows as the kernel reads them, and the numbers that say how rows count."""

    columns: Sequence[CsvColumn]
    weights: NDArray[np.float64] | None
    n_rows: int


@dataclass
class ColumnFacts:
    """What is known of a column.

    `labels` has the weight of the rows with each label, in units, and `seen` those that some row
    has, be its weight 0; `values` and `counts` are the
    different numbers of a column that is to be cut, and their weights. `gaps` counts rows without a
    value, `gap_weight` in units, among those that count.
    """

    kind: int
    labels: dict[str, int] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    values: NDArray[np.float64] | None = None
    counts: NDArray[np.int64] | None = None
    gaps: int = 0
    gap_weight: int = 0


@dataclass
class TableFacts:
    """What is known of rows: how many, how many are complete, and each column.

    `n_rows` counts those with a weight, or that are to be dropped for lack of one (`unweighed`).
    """

    columns: list[ColumnFacts]
    n_rows: int = 0
    n: int = 0
    complete_rows: int = 0
    complete_n: int = 0
    unweighed: int = 0
    weightless: bool = False
    """Whether rows weigh nothing, and so are left out."""


def exact_sum(numbers: NDArray[np.float64]) -> Fraction:
    """The sum of finite numbers, exactly.

    Examples
    --------
    >>> exact_sum(np.array([1e16, 1.0, -1e16])), float(exact_sum(np.full(10, 0.1)))
    (Fraction(1, 1), 1.0)
    """
    mantissas, exponents = np.frexp(numbers)
    digits = np.ldexp(mantissas, _DIGITS).astype(np.int64)
    total = Fraction(0)
    for exponent in np.unique(exponents).tolist():
        some = digits[exponents == exponent]
        high, low = some >> _HALF_BITS, some & ((1 << _HALF_BITS) - 1)
        whole = (int(high.sum()) << _HALF_BITS) + int(low.sum())
        total += whole * Fraction(2) ** (exponent - _DIGITS)
    return total


def sum_of_weights(piece: PieceColumns, options: ReadOptions, where: str) -> Fraction:
    """Check the weights of a piece, and add them up."""
    numbers = piece.weights
    assert numbers is not None
    gaps = np.isnan(numbers)
    column = f"{where}: column {quote(options.weights_column)}"
    if gaps.any() and options.missing != "drop":
        raise DataError(f"{column}: the weight is missing; {GIVE_WEIGHTS}")
    known = numbers[~gaps]
    if options.weights is not None:
        bad = ~((known >= 0) & (known == np.floor(known)) & (known < 2.0**53))
    else:
        bad = ~((known >= 0) & np.isfinite(known))
    if bad.any():
        number = float(known[np.argmax(bad)])
        if options.weights is not None:
            raise DataError(f"{column}: {number:g}, but {weights_must_be(number)}")
        wrong = "be finite" if number > 0 else "not be negative"
        raise DataError(f"{column}: weights must {wrong}, and one is {number:g}")
    return exact_sum(known)


def bits_of_weights(total: Fraction, options: ReadOptions, where: str) -> int:
    """How many bits weights of this sum are shifted by to become whole."""
    if options.weights_column is None:
        return 0
    if options.weights is not None:
        if total >= 2**53:
            raise DataError(
                f"{where}: the weights add up to 2^53 or more, which float64 cannot count exactly"
            )
        return 0
    try:
        rounded = float(total)
    except OverflowError:
        rounded = math.inf
    if not math.isfinite(rounded) or 0 < rounded < 1e-290:
        raise DataError(f"{where}: the weights add up to {rounded:g}")
    return 61 - math.frexp(rounded)[1] if rounded else 0


def whole_weights(numbers: NDArray[np.float64], bits: int) -> NDArray[np.int64]:
    """Weights in units; those that are missing are 0."""
    known = np.where(np.isnan(numbers), 0.0, numbers)
    return np.rint(np.ldexp(known, bits)).astype(np.int64)


@dataclass(frozen=True)
class Survey:
    """Finds the facts of pieces, and adds them up; `columns` are the names of those that are used.

    `bits` is the shift that makes weights whole.
    """

    columns: Sequence[str]
    specs: Sequence[ColumnSpec]
    options: ReadOptions
    bits: int
    most_values: int
    """The most different numbers of a column that is to be cut by them."""

    def of(self, piece: PieceColumns) -> TableFacts:
        """Return the facts of a piece."""
        rows = np.arange(piece.n_rows)
        weights, unweighed = None, np.zeros(piece.n_rows, dtype=bool)
        all_weights = None
        if piece.weights is not None:
            all_weights = weights = whole_weights(piece.weights, self.bits)
            if self.options.missing == "drop":
                unweighed = np.isnan(piece.weights)
            rows = np.flatnonzero((weights > 0) | unweighed)
            weights, unweighed = weights[rows], unweighed[rows]
        found = TableFacts(
            [],
            len(rows),
            len(rows) if weights is None else int(weights.sum()),
            unweighed=int(unweighed.sum()),
            weightless=len(rows) < piece.n_rows,
        )
        complete = ~unweighed
        for name, column in zip(self.columns, piece.columns, strict=True):
            facts = self._of_column(name, column, all_weights)
            if column.cells is not None:
                gaps = missing_mask(column.cells[rows])
                facts.gaps = int(np.count_nonzero(gaps))
                facts.gap_weight = facts.gaps if weights is None else int(weights[gaps].sum())
                complete &= ~gaps
            found.columns.append(facts)
        found.complete_rows = int(np.count_nonzero(complete))
        found.complete_n = found.complete_rows
        if weights is not None:
            found.complete_n = int(weights[complete].sum())
        return found

    def _of_column(
        self, name: str, column: CsvColumn, weights: NDArray[np.int64] | None
    ) -> ColumnFacts:
        kind, cells = column.kind, column.cells
        if kind == OVERFLOW or cells is None:
            return ColumnFacts(OVERFLOW, dict.fromkeys(column.labels, 0))
        if kind == NUMBERS:
            facts = ColumnFacts(NUMBERS)
            if not self._keeps_numbers(name):
                present = ~np.isnan(cells)
                values, at = np.unique(cells[present], return_inverse=True)
                times = None if weights is None else weights[present]
                self._set_values(
                    name, facts, values, group_sums(at.reshape(-1), len(values), times)
                )
            return facts
        size, n_labels = int(np.iinfo(cells.dtype).max) + 1, len(column.labels)
        rows = group_sums(cells, size, None)[:n_labels]
        counts = rows if weights is None else group_sums(cells, size, weights)[:n_labels]
        labels = dict(zip(column.labels, counts.tolist(), strict=True))
        return ColumnFacts(CODES8, labels, {column.labels[k] for k in np.flatnonzero(rows)})

    def _keeps_numbers(self, name: str) -> bool:
        return name in self.options.maybe_numbers or self.options.is_numeric(name)

    def _set_values(
        self, name: str, facts: ColumnFacts, values: NDArray[np.float64], counts: NDArray[np.int64]
    ) -> None:
        edges = self._given_edges(name)
        if edges is not None:
            # Which intervals have numbers is all that is asked: one number stands for each.
            _, first = np.unique(np.searchsorted(edges, values, side="right"), return_index=True)
            values, counts = values[first], counts[first]
        if len(values) > self.most_values:
            # One more than there may be says that there are too many.
            values, counts = values[: self.most_values + 1], counts[: self.most_values + 1]
        facts.values, facts.counts = values, counts

    def _given_edges(self, name: str) -> NDArray[np.float64] | None:
        """Where a column is cut, if that does not depend on its numbers."""
        intervals, binning = self.options.declared_intervals(name), self.options.binning(name)
        if intervals is not None:
            return np.array(cuts_of_levels(intervals))
        return np.array(binning.cuts) if binning is not None and binning.method == "cuts" else None

    def add(self, first: TableFacts, second: TableFacts) -> TableFacts:
        """Return the facts of the rows of both."""
        for name, spec, mine, theirs in zip(
            self.columns, self.specs, first.columns, second.columns, strict=True
        ):
            mine.gaps += theirs.gaps
            mine.gap_weight += theirs.gap_weight
            self._add_values(name, spec, mine, theirs)
        first.n_rows += second.n_rows
        first.n += second.n
        first.complete_rows += second.complete_rows
        first.complete_n += second.complete_n
        first.unweighed += second.unweighed
        first.weightless |= second.weightless
        return first

    def _add_values(
        self, name: str, spec: ColumnSpec, mine: ColumnFacts, theirs: ColumnFacts
    ) -> None:
        if OVERFLOW in (mine.kind, theirs.kind):
            mine.labels = _first_labels({**mine.labels, **theirs.labels}, spec.max_levels)
            mine.kind, mine.values, mine.counts = OVERFLOW, None, None
            return
        if mine.kind == NUMBERS or theirs.kind == NUMBERS:
            for one in (mine, theirs):
                self._become_numbers(name, spec, one)
            if OVERFLOW in (mine.kind, theirs.kind):
                self._add_values(name, spec, mine, theirs)
            elif not self._keeps_numbers(name):
                self._merge_values(name, mine, theirs)
            return
        mine.seen |= theirs.seen
        for label, weight in theirs.labels.items():
            mine.labels[label] = mine.labels.get(label, 0) + weight
        if spec.declared is None and len(mine.labels) > spec.max_levels:
            self._become_numbers(name, spec, mine)
            mine.labels = _first_labels(mine.labels, spec.max_levels)

    def _become_numbers(self, name: str, spec: ColumnSpec, facts: ColumnFacts) -> None:
        """Take labels for the numbers that they spell, if all do and that is wanted."""
        if facts.kind == NUMBERS:
            return
        numbers = numbers_of_labels(list(facts.labels), self.options.decimal)[:-1]
        if not spec.numbers_on_overflow or np.isnan(numbers).any():
            facts.kind = OVERFLOW
            return
        weights = np.array(list(facts.labels.values()), dtype=np.int64)
        facts.kind, facts.labels = NUMBERS, {}
        if not self._keeps_numbers(name):
            values, at = np.unique(numbers, return_inverse=True)
            self._set_values(name, facts, values, group_sums(at.reshape(-1), len(values), weights))

    def _merge_values(self, name: str, mine: ColumnFacts, theirs: ColumnFacts) -> None:
        assert mine.values is not None and mine.counts is not None
        assert theirs.values is not None and theirs.counts is not None
        both = np.concatenate([mine.values, theirs.values])
        values, at = np.unique(both, return_inverse=True)
        weights = np.concatenate([mine.counts, theirs.counts])
        self._set_values(name, mine, values, group_sums(at.reshape(-1), len(values), weights))


def _first_labels(labels: Mapping[str, int], most: int) -> dict[str, int]:
    """So many that it can be told what they are like, whatever the order of the pieces."""
    return {label: labels[label] for label in sorted(labels)[: most + 1]}
