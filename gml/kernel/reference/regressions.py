"""Regressions from correlations, and within groups of rows, in NumPy (regressions.h says how)."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.kernel.layout import GroupResiduals
from gml.stopping import check_stopped

Numbers = NDArray[np.float64]

_DIGIT_BITS = 42


def cholesky_pivots(
    correlation: Numbers, members: NDArray[np.int32], starts: NDArray[np.int64], floor: float
) -> Numbers:
    """The share of each member's variance that is left given those before it in its set."""
    found = np.empty(len(members))
    for start, stop in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        check_stopped()
        _, found[start:stop] = _factor(correlation, members[start:stop], floor)
    return found


def family_pivots(
    correlation: Numbers, blocks: NDArray[np.int32], families: NDArray[np.int32]
) -> tuple[Numbers, NDArray[np.int32], Numbers]:
    """Shares left of the variances of the rows of children, these rows, and the least shares."""
    first, width, ranks = blocks.tolist()
    n_rows = sum(width[child] for child in families[:, 0].tolist())
    shares, rows, least = np.empty(n_rows), np.empty(n_rows, dtype=np.int32), []
    end = 0
    for child, *parents in families.tolist():
        check_stopped()
        ordered = [*sorted(parents, key=ranks.__getitem__), child]
        members = [row for j in ordered for row in range(first[j], first[j] + width[j])]
        pivots = _factor(correlation, np.array(members, dtype=np.int32), 0.0)[1]
        own = slice(len(members) - width[child], len(members))
        start, end = end, end + width[child]
        shares[start:end], rows[start:end] = pivots[own], members[own]
        least.append(min(1.0, pivots.min(initial=1.0)))
    return shares, rows, np.array(least, dtype=np.float64)


def partial_slopes(correlation: Numbers, sets: NDArray[np.int32]) -> tuple[Numbers, Numbers]:
    """r/√(1−r²) of the partial correlations of the last two of each set, and the least pivots."""
    slopes, least = np.empty(len(sets)), np.empty(len(sets))
    for s, members in enumerate(sets):
        check_stopped()
        factor, pivots = _factor(correlation, members, 0.0)
        slopes[s] = factor[-1, -2] / math.sqrt(pivots[-1]) if pivots[-1] > 0 else 0.0
        least[s] = min(1.0, pivots.min())
    return slopes, least


def _factor(
    correlation: Numbers, members: NDArray[np.int32], floor: float
) -> tuple[Numbers, Numbers]:
    """The factor of the correlations of a set, and its pivots; what has none is left out of it."""
    matrix = correlation[np.ix_(members, members)].copy()
    size = len(members)
    factor, pivots = np.zeros((size, size)), np.empty(size)
    for k in range(size):
        pivots[k] = max(float(matrix[k, k]), 0.0)
        if matrix[k, k] < floor or matrix[k, k] <= 0:
            continue
        factor[k:, k] = matrix[k:, k] / math.sqrt(pivots[k])
        matrix[k:, k:] -= np.outer(factor[k:, k], factor[k:, k])
    return factor, pivots


def residuals_within(
    group: NDArray[np.int32],
    n_groups: int,
    columns: list[NDArray[np.int64]],
    weights: NDArray[np.int64] | None,
    scale: int,
) -> GroupResiduals:
    """Regress the last column on the others within groups of rows."""
    counts, digits = sums_within(group, n_groups, columns, weights)
    return residuals_of_sums(counts, digits, len(columns), scale)


def sums_within(
    group: NDArray[np.int32],
    n_groups: int,
    columns: list[NDArray[np.int64]],
    weights: NDArray[np.int64] | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Weights of groups of rows, and sums and products of columns, in digits of 42 bits."""
    size = len(columns)
    found = np.zeros(n_groups, dtype=np.int64)
    digits = np.zeros((n_groups, size * (size + 3) // 2, 3), dtype=np.int64)
    cells: NDArray[Any] = np.column_stack([column.astype(object) for column in columns])
    counts = np.ones(len(group), dtype=object) if weights is None else weights.astype(object)
    lower = np.tril_indices(size)
    mask = (1 << _DIGIT_BITS) - 1
    for g in range(n_groups):
        check_stopped()
        rows = np.flatnonzero(group == g)
        if len(rows) == 0:
            continue
        found[g] = int(counts[rows].sum())
        weighted = cells[rows] * counts[rows, None]
        sums = [*weighted.sum(axis=0), *(cells[rows].T @ weighted)[lower]]
        for k, value in enumerate(sums):
            low, middle = value & mask, (value >> _DIGIT_BITS) & mask
            digits[g, k] = low, middle, value >> (2 * _DIGIT_BITS)
    return found, digits


def residuals_of_sums(
    counts: NDArray[np.int64], digits: NDArray[np.int64], n_columns: int, scale: int
) -> GroupResiduals:
    """Regress the last column on the others within groups, from their sums."""
    log_sum, least, sizes = 0.0, 1.0, []
    powers = [1, 1 << _DIGIT_BITS, 1 << (2 * _DIGIT_BITS)]
    for n, of_group in zip(counts.tolist(), digits.tolist(), strict=True):
        if n == 0:
            continue
        sizes.append(n)
        values = [sum(map(operator.mul, some, powers)) for some in of_group]
        share, left = _least_share(values[:n_columns], values[n_columns:], n)
        least = min(least, share)
        if share > 0:
            log_sum += n * (math.log(left / n) - 2 * scale * math.log(2))
    return GroupResiduals(log_sum, least, min(sizes, default=0), len(sizes), sum(sizes))


def _least_share(of_columns: list[int], triangle: list[int], n: int) -> tuple[float, float]:
    """The least share of a variance left given the columns before, and what is left of the last."""
    sums = np.array(of_columns, dtype=object)
    whole = np.zeros((len(sums), len(sums)), dtype=object)
    rows, columns = np.tril_indices(len(sums))
    whole[rows, columns] = whole[columns, rows] = np.array(triangle, dtype=object)
    products = n * whole - np.outer(sums, sums)
    matrix = np.array([[value / n for value in row] for row in products.tolist()], dtype=np.float64)
    own, least = np.diag(matrix).copy(), 1.0
    for k in range(len(matrix)):
        if not matrix[k, k] > 0:
            return 0.0, 0.0
        least = min(least, float(matrix[k, k] / own[k]))
        row = matrix[k, k:] / math.sqrt(matrix[k, k])
        if k < len(matrix) - 1:
            matrix[k:, k:] -= np.outer(row, row)
    return least, float(matrix[-1, -1])
