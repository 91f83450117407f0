"""An order of variables that puts related ones together.

Variables are joined to a tree by average linkage (Sokal & Michener 1958), the most similar first,
and the tree is then turned so that the similarities of neighbours add up to the most that its
2ⁿ⁻¹ orders allow: optimal leaf ordering (Bar-Joseph, Gifford & Jaakkola 2001, Bioinformatics
17:S22), by min-plus products of matrices in O(n³).

Similarities are the square roots of the sizes (the mutual information of weakly related numbers is
half the square of their correlation), as shares of the largest, rounded to 2⁻²⁰. So all sums are
exact, and the order of the input cannot show. Of equally similar pairs the one that comes first by
name is joined; of equally good orders the one is taken that a search in order of the names finds
first, and of the two directions the one whose first name comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.name_order import NameOrder
from gml.stopping import check_stopped

_UNIT = 1 << 20
_NEVER = 1 << 60


class _Cluster(NamedTuple):
    """Leaves, and the least cost of an order of them that begins and ends with each two.

    A cluster of several leaves has two parts, between which an order of it has one seam.
    """

    leaves: NDArray[np.int64]
    costs: NDArray[np.int64]
    parts: tuple[_Cluster, _Cluster] | None = None


def seriated(names: Sequence[str], values: NDArray[np.float64]) -> list[int]:
    """Return the positions of variables in an order that has related ones together.

    Parameters
    ----------
    names
        The names of the variables, all different.
    values
        How related each two are: sizes count, signs do not; of two directions the larger counts.
        What is not a number counts as nothing.

    Examples
    --------
    >>> related = np.array([[0, 0, 9, 0], [0, 0, 0, 5], [9, 0, 0, 1], [0, 5, 1, 0.0]])
    >>> [("a", "b", "c", "d")[k] for k in seriated("abcd", related)]
    ['a', 'c', 'd', 'b']
    """
    if len(names) < 3:
        return sorted(range(len(names)), key=names.__getitem__)
    order = NameOrder(names)
    similar = _similarities(order.matrix(values))
    found = _best_order(_tree(similar), _UNIT - similar)
    if found[0] > found[-1]:
        found.reverse()
    return [int(order.positions[k]) for k in found]


def _similarities(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Whole numbers from 0 to 2²⁰, the same for both directions."""
    sizes = np.abs(np.where(np.isnan(values), 0.0, values))
    np.fill_diagonal(sizes, 0.0)
    largest = sizes.max(initial=0.0, where=np.isfinite(sizes))
    shares = np.sqrt(np.minimum(sizes / largest, 1.0)) if largest > 0 else (sizes > 0).astype(float)
    whole: NDArray[np.float64] = np.rint(np.maximum(shares, shares.T) * _UNIT)
    return whole.astype(np.int64)


def _tree(similar: NDArray[np.int64]) -> _Cluster:
    """Join the two clusters of the largest mean similarity, until one is left."""
    n = len(similar)
    clusters: list[_Cluster] = [
        _Cluster(np.array([k]), np.zeros((1, 1), dtype=np.int64)) for k in range(n)
    ]
    apart = _UNIT - similar
    sums = similar.astype(np.float64)
    sizes = np.ones(n)
    means = sums.copy()
    np.fill_diagonal(means, -1.0)
    best = means.argmax(axis=1)
    for _ in range(n - 1):
        check_stopped()
        i = int(means[np.arange(n), best].argmax())
        j = int(best[i])
        i, j = min(i, j), max(i, j)
        clusters[i] = _joined(clusters[i], clusters[j], apart)
        # Sums of whole numbers below 2⁵³ are exact, so it does not matter in which order.
        sums[i] += sums[j]
        sums[:, i] = sums[i]
        sizes[i] += sizes[j]
        left = means[i] >= 0
        left[[i, j]] = False
        means[i] = np.where(left, sums[i] / (sizes[i] * sizes), -1.0)
        means[:, i] = means[i]
        means[j] = means[:, j] = -1.0
        stale = np.flatnonzero(left & ((best == i) | (best == j)))
        best[stale] = means[stale].argmax(axis=1)
        # A row of the joined cluster may have become the best of another one.
        current = means[np.arange(n), best]
        better = left & ((means[:, i] > current) | ((means[:, i] == current) & (i < best)))
        best[better] = i
        best[i] = int(means[i].argmax())
    return clusters[0]


def _joined(one: _Cluster, other: _Cluster, apart: NDArray[np.int64]) -> _Cluster:
    leaves = np.concatenate([one.leaves, other.leaves])
    seam = apart[np.ix_(one.leaves, other.leaves)]
    between = _min_plus(_min_plus(one.costs, seam), other.costs)
    costs = np.full((len(leaves), len(leaves)), _NEVER, dtype=np.int64)
    size = len(one.leaves)
    costs[:size, size:] = between
    costs[size:, :size] = between.T
    by_name = np.argsort(leaves)
    return _Cluster(leaves[by_name], costs[np.ix_(by_name, by_name)], (one, other))


def _min_plus(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    """The least a[i, k] + b[k, j] over k."""
    found = np.empty((len(a), b.shape[1]), dtype=np.int64)
    for i, row in enumerate(a):
        # Most ends of a cluster cannot be those of one order.
        possible = np.flatnonzero(row < _NEVER)
        found[i] = (row[possible, None] + b[possible]).min(axis=0)
    return np.minimum(found, _NEVER)


def _best_order(tree: _Cluster, apart: NDArray[np.int64]) -> list[int]:
    """Go down the tree from the best ends of the whole, choosing the seam of each cluster."""
    first, last = divmod(int(tree.costs.argmin()), len(tree.leaves))
    found = []
    waiting = [(tree, first, last)]
    while waiting:
        cluster, first, last = waiting.pop()
        if cluster.parts is None:
            found.append(int(cluster.leaves[0]))
            continue
        one, other = cluster.parts
        if cluster.leaves[first] not in one.leaves:
            one, other = other, one
        start = int(np.searchsorted(one.leaves, cluster.leaves[first]))
        end = int(np.searchsorted(other.leaves, cluster.leaves[last]))
        seam = apart[np.ix_(one.leaves, other.leaves)]
        costs = one.costs[start][:, None] + seam + other.costs[:, end][None, :]
        before, after = divmod(int(costs.argmin()), len(other.leaves))
        waiting += [(other, after, end), (one, start, before)]
    return found
