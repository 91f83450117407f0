"""Tables in which values are missing because of others, and what PC should find in them.

x and y are causes of k, x of a, and of y too if there is an effect. Values of y are missing because of k; crosswise, those
of k because of y as well.
"""

from __future__ import annotations

import numpy as np

from gml.data.dataset import Dataset, Variable

NAMES = ("a", "k", "x", "y")
EDGES = [("a", "x"), ("k", "x"), ("k", "y")]
"""Without those that only missing values make."""


def label_rows(n, seed, *, crosswise=False, effect=False):
    """Labels of two and three levels."""
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 3, n), rng.integers(0, 3, n)
    y = np.where(effect & (rng.random(n) < 0.5), x, y)
    k = (rng.random(n) < np.where(x + y > 2, 0.9, 0.1)).astype(int)
    a = (rng.random(n) < np.where(x > 0, 0.7, 0.3)).astype(int)
    lacks_y = rng.random(n) < np.where(k == 1, 0.15, 0.75)
    lacks_k = crosswise & (rng.random(n) < np.where(y == 0, 0.5, 0.1))
    levels = {"a": "01", "k": "01", "x": "012", "y": "012"}
    columns = (a, np.where(lacks_k, 255, k), x, np.where(lacks_y, 255, y))
    return Dataset(
        tuple(Variable(name, tuple(levels[name])) for name in NAMES),
        tuple(column.astype(np.uint8) for column in columns),
    )


def number_rows(n, seed, *, crosswise=False, effect=False):
    """Numbers."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=n), rng.normal(size=n)
    y = y + 0.5 * effect * x
    k, a = x + y + 0.5 * rng.normal(size=n), x + rng.normal(size=n)
    lacks_y = rng.random(n) < np.where(k < 0, 0.9, 0.1)
    lacks_k = crosswise & (rng.random(n) < 1 / (1 + np.exp(2 + y)))
    columns = (a, np.where(lacks_k, np.nan, k), x, np.where(lacks_y, np.nan, y))
    return Dataset(tuple(Variable(name, None) for name in NAMES), columns)


def shuffled(data, seed):
    """The same rows and columns in another order."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(data.n_rows)
    order = rng.permutation(len(data.columns))
    return Dataset(
        tuple(data.variables[j] for j in order),
        tuple(np.ascontiguousarray(data.columns[j][rows]) for j in order),
    )


def edges_of(graph):
    """The pairs of names that have an edge."""
    return sorted(tuple(sorted((e.source, e.target))) for e in graph.edges)
