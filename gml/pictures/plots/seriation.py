"""An order of variables that puts related ones together.

Variables are joined to a tree by average linkage (Sokal & Michener 1958), the most similar first,
and the tree is then turned so that the similarities of neighbours add up to the most that its
2ⁿ⁻¹ orders allow: optimal leaf ordering (Bar-Joseph, Gifford & Jaakkola 2001, Bioinformatics
17:S22), by min-plus products of matrices in O(n³) at worst, and memory of O(n²).

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


class _Cluster(NamedTuple):
    """Leaves in order of their names, and the two parts that an order of them has.

    `costs[i, j]` is the least cost of an order from leaf i of the one part to leaf j of the other.
    """

    leaves: NDArray[np.int64]
    parts: tuple[_Cluster, _Cluster] | None
    costs: NDArray[np.int64]

    @property
    def places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the leaves of both parts are among the leaves."""
        assert self.parts is not None
        one, other = self.parts
        return np.searchsorted(self.leaves, one.leaves), np.searchsorted(self.leaves, other.leaves)

    def extended(self, steps: NDArray[np.int64]) -> NDArray[np.int64]:
        """The least cost of an order of all leaves from each, and a step from its other end.

        `steps` has one row per leaf, and one column per goal.
        """
        if self.parts is None:
            return steps
        here, there = self.places
        found = np.empty_like(steps)
        found[here] = _min_plus(self.costs, steps[there])
        found[there] = _min_plus(self.costs.T, steps[here])
        return found

    def orders_from(self, leaf: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The leaves at which an order that begins with a leaf may end, and the least costs."""
        if self.parts is None:
            return self.leaves, np.zeros(1, dtype=np.int64)
        one, other = self.parts
        if leaf in one.leaves:
            return other.leaves, self.costs[np.searchsorted(one.leaves, leaf)]
        return one.leaves, self.costs[:, np.searchsorted(other.leaves, leaf)]


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
    alone = np.zeros((1, 1), dtype=np.int64)
    clusters = [_Cluster(np.array([k]), None, alone) for k in range(n)]
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
    leaves = np.sort(np.concatenate([one.leaves, other.leaves]))
    to_other = one.extended(apart[np.ix_(one.leaves, other.leaves)])
    return _Cluster(leaves, (one, other), other.extended(to_other.T).T)


def _min_plus(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    """The least a[i, k] + b[k, j] over k, by a loop over the shortest of the three axes."""
    (rows, inner), columns = a.shape, b.shape[1]
    if inner <= min(rows, columns):
        found = a[:, :1] + b[:1]
        for k in range(1, inner):
            np.minimum(found, a[:, k, None] + b[k], out=found)
        return found
    if columns < rows:
        return np.stack([(a + b[:, j]).min(axis=1) for j in range(columns)], axis=1)
    return np.stack([(a[i, :, None] + b).min(axis=0) for i in range(rows)])


def _best_order(tree: _Cluster, apart: NDArray[np.int64]) -> list[int]:
    """Go down the tree from the best ends of the whole, choosing the seam of each cluster."""
    assert tree.parts is not None
    one, other = tree.parts
    i, j = divmod(int(tree.costs.argmin()), tree.costs.shape[1])
    found = []
    waiting = [(tree, int(one.leaves[i]), int(other.leaves[j]))]
    while waiting:
        cluster, first, last = waiting.pop()
        if cluster.parts is None:
            found.append(first)
            continue
        one, other = cluster.parts
        if first not in one.leaves:
            one, other = other, one
        ends, before = one.orders_from(first)
        starts, after = other.orders_from(last)
        costs = before[:, None] + apart[np.ix_(ends, starts)] + after
        i, j = divmod(int(costs.argmin()), len(starts))
        waiting += [(other, int(starts[j]), last), (one, first, int(ends[i]))]
    return found
