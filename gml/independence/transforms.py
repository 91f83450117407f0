"""Numbers replaced by what depends on their order alone, column by column.

`rank` has the ranks 1 to n, the mean rank for equal numbers. The correlation ρ of ranks is then
taken to the correlation 2 sin(πρ/6) that normal columns with such ranks have (Pearson 1907; for
learning graphs Harris & Drton 2013, J. Mach. Learn. Res. 14:3365). `normal` has van der Waerden's
scores Φ⁻¹(rank/(n+1)), whose correlations are taken as they are. A column is ranked over the rows
in which it has a value, each weighted.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.counter import Counter
from gml.counts.memory import MemoryCounter
from gml.data.dataset import missing_mask
from gml.errors import UsageError, parameter

NONE = "none"
RANK = "rank"
NORMAL = "normal"


def transformed(counter: Counter, transform: str, threads: int | None) -> Counter:
    """Return an engine whose columns of numbers are ranks or scores."""
    if transform == NONE:
        return counter
    data = counter.require_rows(parameter("transform", transform))
    columns = []
    for variable, cells in zip(data.variables, data.columns, strict=True):
        if variable.is_continuous:
            cells = _scores(cells, data.weights, transform)
        columns.append(cells)
    return MemoryCounter(
        replace(data, columns=tuple(columns)), threads=threads, max_memory=counter.budget
    )


def refuse_ranks(test: str, transform: str) -> None:
    """Refuse ranks for a test whose matrix has more than numbers in it."""
    if transform == RANK:
        raise UsageError(
            f"{parameter('transform', RANK)} goes with numbers alone (fisher-z), not with {test}: "
            f"use {parameter('transform', NORMAL)}"
        )


def mid_ranks(
    values: NDArray[np.float64], weights: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """Return the rank of each number, the mean rank of equal ones; NaN stays.

    Examples
    --------
    >>> mid_ranks(np.array([5.0, 1.0, np.nan, 5.0])).tolist()
    [2.5, 1.0, nan, 2.5]
    """
    found = np.full(len(values), np.nan)
    there = np.flatnonzero(~missing_mask(values))
    seen, place = np.unique(values[there], return_inverse=True)
    place = place.reshape(-1)
    rows = np.ones(len(there)) if weights is None else weights[there].astype(np.float64)
    counts = np.bincount(place, weights=rows, minlength=len(seen))
    found[there] = (np.cumsum(counts) - counts + (counts + 1) / 2)[place]
    return found


def _scores(
    values: NDArray[np.float64], weights: NDArray[np.int64] | None, transform: str
) -> NDArray[np.float64]:
    ranks = mid_ranks(values, weights)
    there = np.flatnonzero(~missing_mask(ranks))
    if transform == RANK or not len(there):
        return ranks
    n = len(there) if weights is None else int(weights[there].sum())
    ranks[there] = kernel.active().normal_quantile(np.ascontiguousarray(ranks[there] / (n + 1)))
    return ranks


def normal_correlations(of_ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the correlations of normal columns whose ranks correlate like this."""
    found: NDArray[np.float64] = np.ascontiguousarray(2 * np.sin(np.pi / 6 * of_ranks))
    np.fill_diagonal(found, 1.0)
    return found
