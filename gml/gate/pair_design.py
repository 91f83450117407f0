"""Regressions of a number and of another column on given numbers, within configurations of labels.

The other column is a number, or a label as the indicators of its levels but one. Which rows,
columns and levels take part follows from one pass over the rows. Numbers are scaled to at most 1
about their mean over all rows that have all columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml.counts.float_sums import FloatSums
from gml.counts.number_rows import NumberRows
from gml.counts.orthogonal_terms import Basis, Design, Group, basis_of_mean
from gml.counts.row_sums import Found, RowSums, Sums
from gml.data.row_groups import group_sums
from gml.gate.enough_rows import enough_rows
from gml.gate.level_columns import LevelColumns
from gml.model.regression_rows import Vector

# A row that has more leverage than this alone can hide a dependence, or make one.
_MOST_LEVERAGE = 0.2
_TIMES_AVERAGE = 10
# What rounding may add to a leverage.
_SLACK = 1e-9
PER_TERM = 10
"""Rows of a configuration per coefficient, where numbers are given."""
NOTHING_LEFT = 1e-9
"""Below this share of a column's own size, what a regression leaves of it is rounding."""
MOST_PAIRED = 8
"""Columns of a label whose products are added up pair by pair."""
# Columns of errors that keep less than this in some direction follow from each other.
_FOLLOWS = 1e-12


@dataclass(frozen=True)
class Pair:
    """A number and another column given others: `sizes` are the levels of labels among these.

    `n_levels` are those of the other column, 0 if it is a number.
    """

    number: str
    other: str
    n_levels: int
    sizes: Mapping[str, int]
    given: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All columns."""
        return (self.number, self.other, *self.sizes, *self.given)

    @property
    def numbers(self) -> tuple[str, ...]:
        """Those that are numbers."""
        pair = (self.number,) if self.n_levels else (self.number, self.other)
        return (*pair, *self.given)

    @property
    def n_configurations(self) -> int:
        """How many configurations of the given labels there may be."""
        return math.prod(self.sizes.values())


@dataclass(frozen=True)
class PairRanges(RowSums):
    """Rows, sums and ranges of numbers and counts of levels, by configuration."""

    pair: Pair

    @property
    def names(self) -> Sequence[str]:
        return self.pair.names

    @property
    def n_sums(self) -> int:
        return len(self.pair.numbers) * self.n_groups

    @property
    def n_counts(self) -> int:
        return self.pair.n_levels * self.n_groups

    @property
    def n_groups(self) -> int:
        return self.pair.n_configurations

    def over(self, rows: NumberRows) -> Iterator[tuple[int, Sums]]:
        pair = self.pair
        complete = rows.complete(pair.names)
        for place, group in complete.by_configuration(pair.sizes):
            columns = [group.columns[name] for name in pair.numbers]
            most = [column.max(initial=-math.inf) for column in columns]
            least = [column.min(initial=math.inf) for column in columns]
            counts = np.zeros(0, dtype=np.int64)
            if pair.n_levels:
                codes = group.columns[pair.other].astype(np.int64)
                counts = group_sums(codes, pair.n_levels, group.times)
            sums = FloatSums.of(columns, group.times)
            yield place, Sums(group.n, sums, counts, np.array([*most, *least]) * _signs(columns))


def _signs(columns: Sequence[Vector]) -> Vector:
    """What makes the least of columns the largest of what they are not."""
    return np.repeat([1.0, -1.0], len(columns))


@dataclass(frozen=True)
class Scale:
    """What makes a column have the mean 0 and be at most 1."""

    mean: float
    size: float

    def of(self, column: Vector) -> Vector:
        """The column scaled."""
        found: Vector = (column - self.mean) / self.size
        return found


@dataclass(frozen=True)
class PairDesign(Design):
    """The regressions of both columns in the configurations that have enough rows.

    `scales` has the numbers that vary; `levels` says which column of indicators each level of a
    label is. The number is the first target; the columns follow unless they are too many.
    """

    pair: Pair
    scales: Mapping[str, Scale]
    used: frozenset[int]
    levels: LevelColumns | None

    @property
    def names(self) -> Sequence[str]:
        return self.pair.names

    @property
    def given(self) -> list[str]:
        """The given numbers that vary."""
        return [name for name in self.pair.given if name in self.scales]

    @property
    def targets(self) -> tuple[str, ...]:
        """The numbers among the two columns."""
        return self.pair.numbers[: 1 if self.pair.n_levels else 2]

    @property
    def size(self) -> int:
        """The number of columns beside that of the number."""
        return 1 if self.levels is None else self.levels.size

    @property
    def by_level(self) -> bool:
        """Whether errors of the other column are not added up pair by pair."""
        return self.size > MOST_PAIRED

    @property
    def n_terms(self) -> int:
        return len(self.given) + 1

    @property
    def n_targets(self) -> int:
        return 1 if self.by_level else 1 + self.size

    @property
    def n_groups(self) -> int:
        return len(self.used)

    def groups(self, rows: NumberRows) -> Iterator[Group]:
        pair, scales = self.pair, self.scales
        complete = rows.complete(pair.names)
        for place, group in complete.by_configuration(pair.sizes):
            if place not in self.used:
                continue
            columns = group.columns
            terms = [np.ones(len(group.numbers))]
            terms += [scales[name].of(columns[name]) for name in self.given]
            targets = [scales[name].of(columns[name]) for name in self.targets]
            if self.levels is not None and not self.by_level:
                targets += self.levels.indicators(columns[pair.other])
            yield Group(place, terms, targets, group)

    def excess(self, basis: Basis, leverage: Vector) -> float:
        """How far the largest leverage of rows of a configuration is above what may be."""
        if self.n_terms == 1:
            return -math.inf
        return float(leverage.max(initial=-math.inf)) - most_leverage(len(basis.kept), basis.n)


def most_leverage(n_terms: int, n: int) -> float:
    """The most leverage that a row may have among so many."""
    return max(_MOST_LEVERAGE, _TIMES_AVERAGE * n_terms / n) * (1 + _SLACK)


def design_of(pair: Pair, found: Found, all_rows: Sums) -> PairDesign | None:
    """How to find errors, by what `PairRanges` found; None if the rows cannot tell."""
    scales = _scales(pair, all_rows)
    if pair.number not in scales or not (pair.n_levels or pair.other in scales):
        return None
    n_given = sum(name in scales for name in pair.given)
    least = PER_TERM * (n_given + 1) if n_given else 2
    used = [place for place, sums in found.items() if sums.n >= least]
    if not used:
        return None
    levels = None
    if pair.n_levels:
        levels = LevelColumns.of(np.sum([found[place].counts for place in used], axis=0))
        if levels is None:
            return None
    design = PairDesign(pair, scales, frozenset(used), levels)
    n_used = sum(found[place].n for place in used)
    return design if enough_rows(n_used, design.size + n_given + 1) else None


def _scales(pair: Pair, all_rows: Sums) -> dict[str, Scale]:
    """How to scale the numbers that vary."""
    size = len(pair.numbers)
    means = _means(all_rows).tolist()
    most, least = all_rows.largest[:size].tolist(), (-all_rows.largest[size:]).tolist()
    found = {}
    for name, mean, low, high in zip(pair.numbers, means, least, most, strict=True):
        if low < high and math.isfinite(high - low):
            found[name] = Scale(mean, max(mean - low, high - mean))
    return found


@dataclass(frozen=True)
class ErrorProducts:
    """Of errors e of a number and E of the other column: Σ e², Σ Ee, Σ EE′, Σ EE′(e/(1−h))².

    `freedom` are the rows less the coefficients of all regressions.
    """

    square: float
    sums: Vector
    shared: Vector
    spread: Vector
    freedom: int

    @property
    def size(self) -> int:
        """The number of columns beside that of the number."""
        return len(self.sums)

    @property
    def explained(self) -> float:
        """The share of Σ e² that the other column explains.

        Directions in which its columns have no errors, as they follow from each other, say nothing.
        """
        scale = np.sqrt(np.diag(self.shared))
        values, vectors = np.linalg.eigh(self.shared / np.outer(scale, scale))
        seen = values > _FOLLOWS
        parts = (vectors.T @ (self.sums / scale))[seen]
        return float(np.sum(parts**2 / values[seen])) / self.square

    def of(self, columns: NDArray[np.bool_]) -> ErrorProducts:
        """Those of some columns."""
        both = np.ix_(columns, columns)
        found = self.sums[columns], self.shared[both], self.spread[both]
        return ErrorProducts(self.square, *found, self.freedom)


def freedom_of(bases: Mapping[int, Basis]) -> int:
    """The rows less the coefficients of all regressions."""
    return sum(basis.n - len(basis.kept) for basis in bases.values())


def mean_bases(design: PairDesign, found: Found) -> dict[int, Basis]:
    """The bases where nothing but labels is given: there is the term 1 alone."""
    bases = {}
    scales = [design.scales[name] for name in design.targets]
    for place in sorted(design.used):
        sums = found[place]
        away = _means(sums, [scale.mean for scale in scales]).tolist()
        means = [mean / scale.size for mean, scale in zip(away, scales, strict=True)]
        if design.levels is not None and not design.by_level:
            means += (design.levels.counts(sums.counts) / sums.n).tolist()
        bases[place] = basis_of_mean(sums.n, means)
    return bases


def _means(sums: Sums, about: Sequence[float] | None = None) -> Vector:
    """The means of numbers, or of the first ones less others; rounded once."""
    n, floats = sums.n * sums.times, sums.floats
    if about is not None:
        less = FloatSums.of([np.array([-mean]) for mean in about], np.array([n]))
        floats = FloatSums(floats.words[: len(about)]).plus(less)
    return floats.rounded(n)
