"""Rows of a mixture: how probable each class is, and what labels add to tables (mixture_rows.h)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.kernel.label_groups import LabelGroups

_LEAST_EXPONENT = -700.0
_LEAST_PROBABILITY = 1e-300


def mixture_rows(
    codes: NDArray[Any],
    offsets: NDArray[np.int64],
    tables: NDArray[np.float64],
    weights: NDArray[np.float64],
    densities: NDArray[np.float64],
    counts: NDArray[np.float64],
) -> float:
    """Turn ln densities of rows into weighted probabilities of classes, count, return ln P."""
    if len(densities) == 0:
        return 0.0
    places = codes.astype(np.int64) + offsets
    for j in range(len(offsets)):
        densities += tables[places[:, j]]
    largest = densities.max(axis=1, keepdims=True)
    below = densities - largest
    np.exp(below, out=densities)
    densities[below < _LEAST_EXPONENT] = 0.0
    totals = densities.sum(axis=1)
    densities *= (weights / totals)[:, None]
    for j in range(len(offsets)):
        for k in range(densities.shape[1]):
            counts[:, k] += np.bincount(places[:, j], densities[:, k], len(counts))
    return float(np.sum(weights * (largest[:, 0] + np.log(totals))))


def latent_class_rows(
    groups: LabelGroups,
    weights: NDArray[np.float64],
    first: int,
    last: int,
    shares: NDArray[np.float64],
    tables: NDArray[np.float64],
    counts: NDArray[np.float64],
    totals: NDArray[np.float64],
) -> float:
    """Add expected counts of the rows first..last-1 to `counts` and `totals`; return ln P."""
    columns = []
    for group, (begin, end) in enumerate(pairwise(groups.starts.tolist())):
        code = groups.codes[first:last, group].astype(np.int64)
        for j in reversed(range(begin, end)):
            columns.append((j, code % groups.sizes[j]))
            code //= groups.sizes[j]
    codes = np.column_stack([code for _, code in sorted(columns, key=lambda one: one[0])])
    found = np.empty((last - first, len(shares)))
    found[:] = np.log(np.maximum(shares, _LEAST_PROBABILITY))
    log_likelihood = mixture_rows(
        codes,
        groups.offsets,
        np.log(np.maximum(tables, _LEAST_PROBABILITY)),
        weights[first:last],
        found,
        counts,
    )
    totals += found.sum(axis=0)
    return log_likelihood


def latent_class_tables(
    offsets: NDArray[np.int64],
    counts: NDArray[np.float64],
    totals: NDArray[np.float64],
    before: NDArray[np.float64],
    shares: NDArray[np.float64],
    tables: NDArray[np.float64],
) -> None:
    """Write the shares and tables that make counts most probable."""
    shares[:] = totals / totals.sum()
    for begin, end in pairwise(offsets.tolist()):
        levels = slice(begin, end - 1)
        seen = counts[levels].sum(axis=0)
        tables[levels] = np.where(
            seen > 0, counts[levels] / np.where(seen > 0, seen, 1.0), before[levels]
        )
        tables[end - 1] = 1.0
