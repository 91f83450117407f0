"""Spanning forests of weighted graphs.

Kruskal's greedy choice under a strict total order of the edges is the only maximum spanning forest
of that order, so Borůvka's scheme (a few vector operations per round, and at most log₂ n rounds)
finds the same edges. It needs memory for the edges alone, so that those of a complete graph can
come in parts: the forest of all is the forest of those kept so far and the next part.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def spanning_forest(
    n_nodes: int, rows: NDArray[np.int64], columns: NDArray[np.int64], keys: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the positions of the edges of the maximum spanning forest.

    Edge k joins rows[k] and columns[k]; larger keys first, and among equal keys the edge that comes
    first. Edges that are not listed are not used, so the result may be a forest.

    Examples
    --------
    >>> import numpy as np
    >>> rows, columns = np.array([0, 0, 1]), np.array([1, 2, 2])
    >>> spanning_forest(3, rows, columns, np.array([1.0, 5.0, 5.0])).tolist()
    [1, 2]
    """
    # The worst edge first: where several are assigned to one component, the last one remains.
    order = np.argsort(-keys, kind="stable")[::-1]
    tree = np.arange(n_nodes)
    chosen: list[NDArray[np.int64]] = []
    while True:
        a, b = tree[rows[order]], tree[columns[order]]
        between = a != b
        order, a, b = order[between], a[between], b[between]
        if not len(order):
            return np.sort(np.concatenate([np.empty(0, dtype=np.int64), *chosen]))
        best, best_of_b = np.full((2, n_nodes), -1)
        best[a] = best_of_b[b] = np.arange(len(order))
        np.maximum(best, best_of_b, out=best)
        chosen.append(order[np.unique(best[best >= 0])])
        tree = _joined(best, a, b)[tree]


def _joined(
    best: NDArray[np.int64], a: NDArray[np.int64], b: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return which component each one belongs to when all are joined by their best edges.

    `best` holds the edge of each component, -1 for none; edge k is between a[k] and b[k].
    """
    home = np.arange(len(best))
    joined = np.flatnonzero(best >= 0)
    edges = best[joined]
    home[joined] = np.where(a[edges] == joined, b[edges], a[edges])
    # Following best edges ends in two components that share one: one of the two is the home.
    ends = (home[home] == np.arange(len(home))) & (np.arange(len(home)) < home)
    home[ends] = np.flatnonzero(ends)
    while not np.array_equal(further := home[home], home):
        home = further
    return home


def direct_away(
    n_nodes: int, edges: list[tuple[int, int]], roots: list[int]
) -> list[tuple[int, int]]:
    """Direct the edges of a forest away from roots; `roots` lists candidates, the first one wins.

    Examples
    --------
    >>> direct_away(4, [(0, 1), (1, 2)], [2, 0, 1, 3])
    [(2, 1), (1, 0)]
    """
    neighbours: list[list[int]] = [[] for _ in range(n_nodes)]
    for a, b in edges:
        neighbours[a].append(b)
        neighbours[b].append(a)
    directed = []
    seen = [False] * n_nodes
    for root in roots:
        if seen[root]:
            continue
        seen[root] = True
        queue = [root]
        for node in queue:
            for other in neighbours[node]:
                if not seen[other]:
                    seen[other] = True
                    directed.append((node, other))
                    queue.append(other)
    return directed
