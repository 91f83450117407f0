"""Spanning forests of weighted complete graphs.

Kruskal's greedy choice under a strict total order of the edges is the only maximum spanning forest
of that order, so Prim's scheme (one vector operation per node) finds the same edges.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_NEVER = np.iinfo(np.int64).max


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
    order = np.argsort(-keys, kind="stable")
    position = np.empty(len(keys), dtype=np.int64)
    position[order] = np.arange(len(keys))
    # Rank of the edge between two nodes; nodes of the tree leave the columns.
    rank = np.full((n_nodes, n_nodes), _NEVER, dtype=np.int64)
    rank[rows, columns] = position
    rank[columns, rows] = position
    chosen: list[int] = []
    outside = set(range(n_nodes))
    for start in range(n_nodes):
        if start not in outside:
            continue
        best = np.full(n_nodes, _NEVER)
        newest = start
        while True:
            outside.discard(newest)
            rank[:, newest] = _NEVER
            best[newest] = _NEVER
            np.minimum(best, rank[newest], out=best)
            newest = int(best.argmin())
            if best[newest] == _NEVER:
                break
            chosen.append(int(best[newest]))
    return np.sort(order[np.array(chosen, dtype=np.int64)])


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
