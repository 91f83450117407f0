"""Exact moments of numbers: sums of fixed-point columns, independent of the order of rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.answers import Moments, StratifiedMoments
from gml.counts.integer_gram import IntegerColumn, integer_gram, limbs_needed
from gml.data.dataset import Dataset, missing_mask

_FIXED_POINT_BITS = 52
# From here on, all sums at once take less time than one after the other.
_MANY_COLUMNS = 8


def moments_of(dataset: Dataset, columns: Sequence[int], *, threads: int = 1) -> Moments:
    """Return the moments of columns over the rows complete in all of them.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> names = (Variable("A", None), Variable("B", ("x", "y")))
    >>> cells = (np.array([1.0, 3.0, 8.0]), np.array([0, 0, 1], dtype=np.uint8))
    >>> moments_of(Dataset(names, cells), [0]).means
    (4.0,)
    """
    return _moments(dataset, columns, complete_rows(dataset, columns), threads)


def moments_within(
    dataset: Dataset, columns: Sequence[int], given: Sequence[int]
) -> StratifiedMoments:
    """Return the moments of columns within each configuration of others that occurs.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> names = (Variable("A", None), Variable("B", ("x", "y")))
    >>> cells = (np.array([1.0, 3.0, 8.0]), np.array([0, 0, 1], dtype=np.uint8))
    >>> [part.means for part in moments_within(Dataset(names, cells), [0], [1]).moments]
    [(2.0,), (8.0,)]
    """
    rows = complete_rows(dataset, [*columns, *given])
    sizes = [max(1, len(dataset.variables[j].levels or ())) for j in given]
    codes = np.column_stack([dataset.columns[j][rows].astype(np.int64) for j in given])
    configs, stratum = np.unique(codes, axis=0, return_inverse=True)
    by_stratum = np.argsort(stratum.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(stratum.reshape(-1), minlength=len(configs)))
    strata = np.split(rows[by_stratum], ends[:-1]) if len(configs) else []
    found = tuple(_moments(dataset, columns, part) for part in strata)
    return StratifiedMoments(found, configs, math.prod(sizes))


def complete_rows(dataset: Dataset, columns: Sequence[int]) -> NDArray[np.int64]:
    """Return the rows that count and have a value in each of these columns."""
    complete = np.ones(dataset.n_rows, dtype=bool)
    for j in columns:
        complete &= ~missing_mask(dataset.columns[j])
    if dataset.weights is not None:
        complete &= dataset.weights > 0
    return np.flatnonzero(complete)


def _moments(
    dataset: Dataset, columns: Sequence[int], rows: NDArray[np.int64], threads: int = 1
) -> Moments:
    weights = None if dataset.weights is None else np.ascontiguousarray(dataset.weights[rows])
    n = len(rows) if weights is None else int(weights.sum())
    fixed = [fixed_point(dataset.columns[j][rows]) for j in columns]
    of_all = _all_sums if len(fixed) >= _MANY_COLUMNS else _single_sums
    sums, products = of_all([q for q, _, _ in fixed], weights, threads)
    cross = [[0] * len(fixed) for _ in fixed]
    for i in range(len(fixed)):
        for k in range(i, len(fixed)):
            cross[i][k] = cross[k][i] = n * products[i][k] - sums[i] * sums[k]
    means = tuple(
        centre + math.ldexp(total / n, -scale) if n else math.nan
        for total, (_, centre, scale) in zip(sums, fixed, strict=True)
    )
    scales = tuple(scale for _, _, scale in fixed)
    return Moments(n, means, tuple(tuple(row) for row in cross), scales)


Sums = tuple[list[int], list[list[int]]]


def _single_sums(
    columns: Sequence[NDArray[np.int64]], weights: NDArray[np.int64] | None, threads: int
) -> Sums:
    """The sums of columns, and of products of two of them from the diagonal on."""
    dot = kernel.active().exact_dot
    one = np.ones(len(columns[0]) if columns else 0, dtype=np.int64)
    sums = [dot(q, one, weights) for q in columns]
    products = [
        [0] * i + [dot(q, other, weights) for other in columns[i:]] for i, q in enumerate(columns)
    ]
    return sums, products


def _all_sums(
    columns: Sequence[NDArray[np.int64]], weights: NDArray[np.int64] | None, threads: int
) -> Sums:
    """The same of many columns, by products of matrices."""
    n_limbs = limbs_needed(1 << _FIXED_POINT_BITS)
    one = IntegerColumn(np.ones(len(columns[0]), dtype=np.int64))
    gram = integer_gram([*(IntegerColumn(q, n_limbs) for q in columns), one], weights, threads)
    found = gram.entries(range(len(columns) + 1)).tolist()
    return found[-1][:-1], found


class FixedPoint(NamedTuple):
    """A column as integers: values ≈ centre + q·2^-scale."""

    q: NDArray[np.int64]
    centre: float
    scale: int


def fixed_point(values: NDArray[np.float64], bits: int = _FIXED_POINT_BITS) -> FixedPoint:
    """Return a column in fixed point, to so many bits of its range.

    Examples
    --------
    >>> numbers = fixed_point(np.array([10.0, 11.0, 14.0]))
    >>> (numbers.centre + np.ldexp(numbers.q.astype(float), -numbers.scale)).tolist()
    [10.0, 11.0, 14.0]
    """
    if len(values) == 0:
        return FixedPoint(np.empty(0, dtype=np.int64), 0.0, 0)
    low, high = float(values.min()), float(values.max())
    centre = low / 2 + high / 2
    spread = max(high - centre, centre - low)
    scale = bits - math.frexp(spread)[1] if spread else 0
    q = np.rint(np.ldexp(values - centre, scale)).astype(np.int64)
    return FixedPoint(q, centre, scale)
