"""Spanning forests of weighted complete graphs.

Kruskal's greedy choice under a strict total order of the edges is the only maximum spanning forest
of that order, so Prim's scheme (one vector operation per node) finds the same edges.
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
    key = np.full((n_nodes, n_nodes), -np.inf)
    position = np.full((n_nodes, n_nodes), len(keys), dtype=np.int64)
    for a, b in ((rows, columns), (columns, rows)):
        key[a, b] = keys
        position[a, b] = np.arange(len(keys))
    chosen: list[int] = []
    outside = np.ones(n_nodes, dtype=bool)
    for start in range(n_nodes):
        if not outside[start]:
            continue
        # The best edge from the tree to each node outside of it.
        best, edge = np.full(n_nodes, -np.inf), np.full(n_nodes, len(keys), dtype=np.int64)
        newest = start
        while True:
            outside[newest] = False
            best[newest] = -np.inf
            better = (key[newest] > best) | ((key[newest] == best) & (position[newest] < edge))
            better &= outside
            np.copyto(best, key[newest], where=better)
            np.copyto(edge, position[newest], where=better)
            largest = best.max()
            if largest == -np.inf:
                break
            ties = np.flatnonzero(best == largest)
            newest = int(ties[np.argmin(edge[ties])])
            chosen.append(int(edge[newest]))
    return np.sort(np.array(chosen, dtype=np.int64))


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
