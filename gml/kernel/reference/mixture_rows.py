"""Rows of a mixture: how probable each class is, and what labels add to tables (mixture_rows.h)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_LEAST_EXPONENT = -700.0


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
