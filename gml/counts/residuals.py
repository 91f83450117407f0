"""Regressions of numbers on numbers within configurations of labels, many at a time.

A family is a column of numbers and its parents, of which the numbers are regressors and the labels
make groups of rows. Each group has its own intercept, coefficients and variance, the latter with
the rows of the group as its divisor: the maximum-likelihood estimates of a conditional Gaussian
distribution (Lauritzen 1996, section 6.1). A group with rows, but fewer than its coefficients (the
intercept counted) and two more, or without any variance left, has no such estimate that is worth
anything: the family is then insufficient. Groups without rows take no part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.answers import Moments, StratifiedMoments
from gml.counts.exact_algebra import SINGULAR_BITS, eliminate
from gml.counts.exact_moments import FixedPoint, complete_rows, fixed_point
from gml.data.dataset import Dataset, Variable
from gml.kernel.layout import GroupResiduals
from gml.name_order import NameOrder

SPARE_ROWS = 2
"""Rows that a group must have beyond its coefficients."""

# With less of a variance left than this, regressions are made again from exact sums.
_WELL_CONDITIONED = 1e-5
# Sums of products fit 126 bits if a number and the weights of all rows leave this many.
_PRODUCT_BITS = 126
_MOST_BITS = 52
_LEAST_BITS = 44
# Groups that may have no rows at all: beyond this they are numbered again.
_GROUPS_PER_ROW = 4
_MOST_GROUPINGS = 64


@dataclass(frozen=True, eq=False)
class Residuals:
    """What is left of the children of many families, one entry per family.

    `log_sum` is the sum over groups of the rows times ln of the residual variance, in the units of
    the child; it means nothing where the family is not `sufficient`. `n` counts the rows complete
    in the family, `groups` the configurations of labels that occur, `fewest` the rows of the
    smallest.
    """

    n: NDArray[np.int64]
    log_sum: NDArray[np.float64]
    sufficient: NDArray[np.bool_]
    groups: NDArray[np.int64]
    fewest: NDArray[np.int64]

    @classmethod
    def concatenate(cls, parts: Sequence[Residuals]) -> Residuals:
        """Join the entries of several."""
        return cls(*(np.concatenate([vars(part)[name] for part in parts]) for name in _FIELDS))

    @classmethod
    def of(
        cls, found: Sequence[GroupResiduals], n_numbers: Sequence[int], unit: float
    ) -> Residuals:
        """Return the entries of regressions on so many numbers each, a count of 1 being `unit`."""
        fewest = np.array([one.fewest_rows for one in found], dtype=np.int64)
        least = np.array([one.least_pivot for one in found], dtype=np.float64)
        needed = np.array(n_numbers, dtype=np.int64) + 1 + SPARE_ROWS
        return cls(
            np.array([one.n_rows for one in found], dtype=np.int64),
            np.array([one.log_sum for one in found], dtype=np.float64),
            (fewest * unit >= needed) & (least > 0),
            np.array([one.n_groups for one in found], dtype=np.int64),
            fewest,
        )


_FIELDS = tuple(field.name for field in fields(Residuals))


def split_parents(
    variables: Sequence[Variable], order: NameOrder, parents: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Return the parents that are numbers and those that are labels, each in order of names."""
    ordered = order.sorted(parents)
    numbers = [j for j in ordered if variables[j].is_continuous]
    return numbers, [j for j in ordered if not variables[j].is_continuous]


def residuals_from_moments(found: Moments | StratifiedMoments) -> GroupResiduals:
    """Regress the last column on the others within groups, from exact sums.

    Examples
    --------
    >>> found = residuals_from_moments(Moments(4, (0.0, 0.0), ((16, 8), (8, 16)), (0, 0)))
    >>> round(found.log_sum, 6), found.least_pivot, found.fewest_rows
    (-1.150728, 0.75, 4)
    """
    parts = [found] if isinstance(found, Moments) else found.moments
    log_sum, least, sizes = 0.0, 1.0, []
    for part in parts:
        if part.n == 0:
            continue
        sizes.append(part.n)
        share, log_left = _left(part)
        least = min(least, share)
        if share > 0:
            log_sum += part.n * log_left
    return GroupResiduals(log_sum, least, min(sizes, default=0), len(sizes), sum(sizes))


def _left(part: Moments) -> tuple[float, float]:
    """The least share of a variance left, and ln of the residual variance of the last column."""
    size = len(part.cross)
    least, before = 1.0, 1
    for k in range(size):
        matrix, _ = eliminate([row[: k + 1] for row in part.cross[: k + 1]], k)
        left, whole = matrix[k][k], before * part.cross[k][k]
        if whole == 0 or left << SINGULAR_BITS <= whole:
            return 0.0, 0.0
        least = min(least, left / whole)
        last, before = before, left
    log_left = math.log(left) - math.log(last)
    return least, log_left - 2 * math.log(part.n) - 2 * part.scales[-1] * math.log(2)


def bits_of_numbers(n: int) -> int:
    """How many bits numbers may have whose products are summed over so many rows by the kernel."""
    # About the mean of a group, a number may be twice as large as about its own centre.
    room = (_PRODUCT_BITS - max(1, n).bit_length()) // 2 - 1
    return min(_MOST_BITS, room)


def is_exact(bits: int) -> bool:
    """Whether so many bits of numbers are enough."""
    return bits >= _LEAST_BITS


def is_settled(found: GroupResiduals, n_columns: int, unit: float) -> bool:
    """Whether rounding cannot show in regressions of so many columns, the last on the others."""
    # Where rows are too few, there is no estimate, however precise it might be.
    too_few = found.fewest_rows * unit < n_columns + SPARE_ROWS
    return too_few or found.least_pivot >= _WELL_CONDITIONED


class GroupedRows:
    """The rows of a dataset for many regressions: numbers in fixed point, groups by number."""

    def __init__(self, dataset: Dataset, n_levels: Sequence[int]) -> None:
        weights = dataset.weights
        idle = weights is not None and not weights.all()
        self._dataset = dataset.rows(weights > 0) if weights is not None and idle else dataset
        self._n_levels = n_levels
        self._numbers: dict[int, FixedPoint] = {}
        self._groups: dict[tuple[int, ...], tuple[NDArray[np.int32], int]] = {}
        self._bits = bits_of_numbers(self._dataset.n)
        self._lock = Lock()

    @property
    def is_exact(self) -> bool:
        """Whether sums of products of enough digits fit the integers of the kernel."""
        return is_exact(self._bits)

    def residuals(
        self, child: int, numbers: Sequence[int], labels: Sequence[int]
    ) -> GroupResiduals | None:
        """Regress a child on numbers within groups of labels; None where rounding shows."""
        members = [*numbers, child]
        if self._dataset.missing:
            found = self._of_complete_rows(members, labels)
        else:
            group, n_groups = self._grouped(tuple(labels))
            columns = [self._number(j) for j in members]
            found = _within(group, n_groups, columns, self._dataset.weights)
        return found if is_settled(found, len(members), self._dataset.unit) else None

    def _of_complete_rows(self, members: Sequence[int], labels: Sequence[int]) -> GroupResiduals:
        rows = complete_rows(self._dataset, [*members, *labels])
        columns = [fixed_point(self._dataset.columns[j][rows], self._bits) for j in members]
        group, n_groups = self._number_groups(labels, rows)
        weights = self._dataset.weights
        return _within(
            group,
            n_groups,
            columns,
            None if weights is None else np.ascontiguousarray(weights[rows]),
        )

    def _number(self, j: int) -> FixedPoint:
        with self._lock:
            if j not in self._numbers:
                self._numbers[j] = fixed_point(self._dataset.columns[j], self._bits)
            return self._numbers[j]

    def _grouped(self, labels: tuple[int, ...]) -> tuple[NDArray[np.int32], int]:
        with self._lock:
            if labels not in self._groups:
                # Tests and families of a search come back to the same few sets of labels.
                if len(self._groups) >= _MOST_GROUPINGS:
                    self._groups.pop(next(iter(self._groups)))
                self._groups[labels] = self._number_groups(labels, slice(None))
            return self._groups[labels]

    def _number_groups(
        self, labels: Sequence[int], rows: slice | NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], int]:
        """The number of the group of each row, in lexicographic order of the configurations."""
        n_rows = self._dataset.n_rows if isinstance(rows, slice) else len(rows)
        group = np.zeros(n_rows, dtype=np.int64)
        n_groups = 1
        for j in labels:
            group = group * self._n_levels[j] + self._dataset.columns[j][rows]
            n_groups *= self._n_levels[j]
            if n_groups > _GROUPS_PER_ROW * n_rows:
                seen, group = np.unique(group, return_inverse=True)
                group, n_groups = group.reshape(-1), len(seen)
        return group.astype(np.int32), n_groups


def _within(
    group: NDArray[np.int32],
    n_groups: int,
    columns: Sequence[FixedPoint],
    weights: NDArray[np.int64] | None,
) -> GroupResiduals:
    return kernel.active().residuals_within(
        group, n_groups, [column.q for column in columns], weights, columns[-1].scale
    )
