"""Tables of numbers with known structure, for the learners of Gaussian graphs."""

from __future__ import annotations

import numpy as np
import pandas as pd


def correlations(seed: int, size: int, rows: int) -> np.ndarray:
    """Correlations of a sample from a sparse Gaussian graph."""
    return np.corrcoef(sparse_rows(seed, size, rows).T)


def sparse_rows(seed: int, size: int, rows: int) -> np.ndarray:
    """A sample from a Gaussian graph with about one edge per column."""
    rng = np.random.default_rng(seed)
    precision = np.zeros((size, size))
    for i in range(size):
        j = int(rng.integers(size))
        if i != j:
            precision[i, j] = precision[j, i] = rng.uniform(0.3, 0.8) * rng.choice([-1, 1])
    precision += np.diag(np.abs(precision).sum(axis=1) + 0.1)
    return rng.multivariate_normal(np.zeros(size), np.linalg.inv(precision), size=rows)


def named(values: np.ndarray) -> pd.DataFrame:
    """The columns as v00, v01, and so on."""
    return pd.DataFrame(values, columns=[f"v{k:02}" for k in range(values.shape[1])])


def equal_variance_rows(
    seed: int, size: int, edges: int, rows: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a random linear DAG with standard normal errors, and its weights."""
    rng = np.random.default_rng(seed)
    order, weights = rng.permutation(size), np.zeros((size, size))
    pairs = [(i, j) for i in range(size) for j in range(i + 1, size)]
    for which in rng.choice(len(pairs), edges, replace=False):
        i, j = pairs[which]
        weights[order[i], order[j]] = rng.uniform(0.5, 2) * rng.choice([-1, 1])
    return rng.normal(size=(rows, size)) @ np.linalg.inv(np.eye(size) - weights), weights
