"""Exact moments of numbers: sums of fixed-point columns, independent of the order of rows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.answers import Moments, StratifiedMoments
from gml.data.dataset import Dataset, missing_mask

_FIXED_POINT_BITS = 52


def moments_of(dataset: Dataset, columns: Sequence[int]) -> Moments:
    """Return the moments of columns over the rows complete in all of them.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> names = (Variable("A", None), Variable("B", ("x", "y")))
    >>> cells = (np.array([1.0, 3.0, 8.0]), np.array([0, 0, 1], dtype=np.uint8))
    >>> moments_of(Dataset(names, cells), [0]).means
    (4.0,)
    """
    return _moments(dataset, columns, _complete(dataset, columns))


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
    rows = _complete(dataset, [*columns, *given])
    sizes = [max(1, len(dataset.variables[j].levels or ())) for j in given]
    codes = np.column_stack([dataset.columns[j][rows].astype(np.int64) for j in given])
    configs, stratum = np.unique(codes, axis=0, return_inverse=True)
    by_stratum = np.argsort(stratum.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(stratum.reshape(-1), minlength=len(configs)))
    strata = np.split(rows[by_stratum], ends[:-1]) if len(configs) else []
    found = tuple(_moments(dataset, columns, part) for part in strata)
    return StratifiedMoments(found, configs, math.prod(sizes))


def _complete(dataset: Dataset, columns: Sequence[int]) -> NDArray[np.int64]:
    """The rows that count and have a value in each of these columns."""
    complete = np.ones(dataset.n_rows, dtype=bool)
    for j in columns:
        complete &= ~missing_mask(dataset.columns[j])
    if dataset.weights is not None:
        complete &= dataset.weights > 0
    return np.flatnonzero(complete)


def _moments(dataset: Dataset, columns: Sequence[int], rows: NDArray[np.int64]) -> Moments:
    weights = None if dataset.weights is None else np.ascontiguousarray(dataset.weights[rows])
    n = len(rows) if weights is None else int(weights.sum())
    fixed = [_fixed_point(dataset.columns[j][rows]) for j in columns]
    dot = kernel.active().exact_dot
    one = np.ones(len(rows), dtype=np.int64)
    sums = [dot(q, one, weights) for q, _, _ in fixed]
    cross = [[0] * len(fixed) for _ in fixed]
    for i, (q, _, _) in enumerate(fixed):
        for k in range(i, len(fixed)):
            value = n * dot(q, fixed[k][0], weights) - sums[i] * sums[k]
            cross[i][k] = cross[k][i] = value
    means = tuple(
        centre + math.ldexp(total / n, -scale) if n else math.nan
        for total, (_, centre, scale) in zip(sums, fixed, strict=True)
    )
    scales = tuple(scale for _, _, scale in fixed)
    return Moments(n, means, tuple(tuple(row) for row in cross), scales)


def _fixed_point(values: NDArray[np.float64]) -> tuple[NDArray[np.int64], float, int]:
    """Integers q with values ≈ centre + q·2^-scale, to 52 bits of the range."""
    if len(values) == 0:
        return np.empty(0, dtype=np.int64), 0.0, 0
    low, high = float(values.min()), float(values.max())
    centre = low / 2 + high / 2
    spread = max(high - centre, centre - low)
    scale = _FIXED_POINT_BITS - math.frexp(spread)[1] if spread else 0
    return np.rint(np.ldexp(values - centre, scale)).astype(np.int64), centre, scale
