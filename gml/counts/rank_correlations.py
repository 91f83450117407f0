"""Ranks in place of numbers: correlations that no monotone change of a column's scale changes.

The nonparanormal (Liu, Lafferty & Wasserman 2009, JMLR 10:2295) is a normal distribution after an
unknown increasing function of each column. Its correlations are

    2·sin(π·ρ_S/6), ρ_S being Spearman's (Liu et al. 2012, Ann. Stat. 40:2293, equation 3.2),

or those of normal scores Φ⁻¹(rank/(n + 1)) (van der Waerden 1952). Tied values share the mean of
their ranks; a row that counts w times takes w ranks, and one without a value none. Ranks are
halves, so Spearman's ρ is exact up to one rounding, and no order of rows shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.correlations import correlations_of
from gml.counts.exact_moments import moments_of
from gml.data.dataset import Dataset
from gml.data.row_groups import group_sums

_ROUNDING = 1e-12

Numbers = NDArray[np.float64]


def midranks(values: NDArray[Any], weights: NDArray[np.int64] | None = None) -> Numbers:
    """Return the ranks of values, from 1 on; equal values share the mean of theirs, NaN stays.

    Examples
    --------
    >>> midranks(np.array([7.0, 1.0, np.nan, 7.0, 3.0])).tolist()
    [3.5, 1.0, nan, 3.5, 2.0]
    >>> midranks(np.array([7.0, 1.0]), np.array([1, 3])).tolist()
    [4.0, 2.0]
    """
    ranks = np.full(len(values), np.nan)
    there = ~np.isnan(values)
    seen, which = np.unique(values[there], return_inverse=True)
    which = which.reshape(-1)
    counts = group_sums(which, len(seen), None if weights is None else weights[there])
    ranks[there] = (np.cumsum(counts) - counts + (counts + 1) / 2)[which]
    return ranks


def normal_scores(values: NDArray[Any], weights: NDArray[np.int64] | None = None) -> Numbers:
    """Return the quantiles of the standard normal distribution at rank/(n + 1).

    Examples
    --------
    >>> normal_scores(np.array([20.0, 10.0, 30.0])).round(4).tolist()
    [0.0, -0.6745, 0.6745]
    """
    ranks = midranks(values, weights)
    there = ~np.isnan(ranks)
    n = np.count_nonzero(there) if weights is None else int(weights[there].sum())
    if n:
        ranks[there] = kernel.active().normal_quantile(np.ascontiguousarray(ranks[there] / (n + 1)))
    return ranks


def rank_transformed(dataset: Dataset, columns: Sequence[int], transform: str) -> Dataset:
    """Return the dataset with ranks (`rank`) or normal scores (`normal`) in place of numbers.

    With `none` the dataset stays as it is.
    """
    if transform == "none":
        return dataset
    change = midranks if transform == "rank" else normal_scores
    changed = list(dataset.columns)
    for j in columns:
        changed[j] = change(dataset.columns[j], dataset.weights)
    return replace(dataset, columns=tuple(changed))


def rank_correlations(dataset: Dataset, columns: Sequence[int]) -> Numbers:
    """Return 2·sin(π·ρ_S/6) of columns without missing values; 0 with a constant column.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> cells = (np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 8.0, 27.0, 5.0]))
    >>> data = Dataset((Variable("A", None), Variable("B", None)), cells)
    >>> rank_correlations(data, [0, 1]).round(4).tolist()
    [[1.0, 0.4158], [0.4158, 1.0]]
    """
    ranked = rank_transformed(dataset, columns, "rank")
    return normal_correlations(correlations_of(moments_of(ranked, columns)))


def normal_correlations(of_ranks: Numbers) -> Numbers:
    """Return the correlations of normal columns whose ranks correlate like this."""
    found: Numbers = np.ascontiguousarray(np.clip(2 * np.sin(np.pi / 6 * of_ranks), -1.0, 1.0))
    # sin(π/6) is not ½ in floating point.
    perfect = np.abs(of_ranks) == 1
    found[perfect] = of_ranks[perfect]
    np.fill_diagonal(found, 1.0)
    return found


class Repaired(NamedTuple):
    """A correlation matrix without negative eigenvalues, and the least that it had."""

    matrix: Numbers
    least: float


def without_negative_eigenvalues(matrix: Numbers) -> Repaired:
    """Return the matrix, with eigenvalues below 0 raised to 0 and ones on the diagonal again.

    Correlations that are estimated pair by pair need not be those of any distribution.

    Examples
    --------
    >>> impossible = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    >>> fixed = without_negative_eigenvalues(impossible)
    >>> round(fixed.least, 12), fixed.matrix.round(4).tolist()[0]
    (-0.8, [1.0, 0.5, -0.5])
    """
    values, vectors = np.linalg.eigh(matrix)
    least = float(values[0])
    if least >= -_ROUNDING * len(matrix):
        return Repaired(matrix, least)
    raised = (vectors * np.maximum(values, 0.0)) @ vectors.T
    roots = np.sqrt(np.diagonal(raised))
    found = np.clip(raised / np.outer(roots, roots), -1.0, 1.0)
    found = (found + found.T) / 2
    np.fill_diagonal(found, 1.0)
    return Repaired(found, least)
