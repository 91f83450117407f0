"""Scores made for tests: of random sets, of a known distribution, in another order."""

from __future__ import annotations

import itertools
import math

import numpy as np

from tests.networks import joint_of


class RandomSetScore:
    """s(y | P) = f(P ∪ y) − f(P) for a random f: decomposable, score equivalent, and nothing else.

    A covered edge x → y can be reversed: both ways the two families add up to f(P x y) − f(P).
    """

    def __init__(self, rng, n, names=None):
        self.names = tuple(names or (f"v{i:02d}" for i in range(n)))
        self._worth = rng.normal(size=1 << n)

    def local(self, child, parents):
        bits = sum(1 << p for p in parents)
        return float(self._worth[bits | 1 << child] - self._worth[bits])


class RandomScore:
    """A random number for each family; equivalent DAGs differ."""

    def __init__(self, rng, n, names=None):
        self.names = tuple(names or (f"v{i:02d}" for i in range(n)))
        self._worth = rng.normal(size=(n, 1 << n))

    def local(self, child, parents):
        return float(self._worth[child, sum(1 << p for p in parents)])


class PopulationScore:
    """BIC of a known joint distribution, as if so many rows had exactly its frequencies."""

    def __init__(self, net, n_rows=1e9):
        self.names = tuple(v.name for v in net.variables)
        self._joint = joint_of(net)
        self._n = n_rows

    def _entropy(self, axes):
        others = tuple(a for a in range(self._joint.ndim) if a not in axes)
        p = self._joint.sum(axis=others).reshape(-1)
        p = p[p > 0]
        return -float(p @ np.log(p))

    def local(self, child, parents):
        conditional = self._entropy({child, *parents}) - self._entropy(set(parents))
        size = (self._joint.shape[child] - 1) * math.prod(self._joint.shape[p] for p in parents)
        return -self._n * conditional - 0.5 * math.log(self._n) * size


class Reordered:
    """A score with its variables in another order."""

    def __init__(self, score, order):
        self._score, self._order = score, [int(j) for j in order]
        self.names = tuple(score.names[j] for j in self._order)

    def local(self, child, parents):
        return self._score.local(self._order[child], [self._order[p] for p in parents])


def score_of(score, matrix):
    """The score of a DAG, by its definition."""
    return sum(score.local(j, np.flatnonzero(matrix[:, j]).tolist()) for j in range(len(matrix)))


def all_dags(n):
    """Every DAG over n nodes, as matrices."""
    pairs = list(itertools.combinations(range(n), 2))
    found = []
    for kinds in itertools.product(range(3), repeat=len(pairs)):
        matrix = np.zeros((n, n), dtype=bool)
        for (i, j), kind in zip(pairs, kinds, strict=True):
            if kind == 1:
                matrix[i, j] = True
            elif kind == 2:
                matrix[j, i] = True
        reach = matrix.copy()
        for k in range(n):
            reach |= np.outer(reach[:, k], reach[k])
        if not reach.diagonal().any():
            found.append(matrix)
    return found
