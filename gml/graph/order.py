"""Orders of directed acyclic graphs, and the cycles that forbid them."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml.errors import GraphError
from gml.graph.graph import Graph, Mark


def find_cycle(names: Sequence[str], directed: NDArray[np.bool_]) -> list[str] | None:
    """Return the nodes of a directed cycle, the first repeated at the end; None if there is none.

    `directed[i, j]` says that i points to j. The cycle found does not depend on the order of the
    nodes: it starts from the smallest name that lies on or leads into a cycle.
    """
    left = np.array(directed, dtype=bool)
    alive = np.ones(len(names), dtype=bool)
    while True:
        sources = alive & ~left.any(axis=0)
        sinks = alive & ~left.any(axis=1)
        gone = sources | sinks
        if not gone.any():
            break
        alive &= ~gone
        left[gone, :] = False
        left[:, gone] = False
    if not alive.any():
        return None
    # Every node left has a successor that is left.
    at = min((int(i) for i in np.flatnonzero(alive)), key=lambda i: names[i])
    path: list[int] = []
    while at not in path:
        path.append(at)
        at = min((int(j) for j in np.flatnonzero(left[at])), key=lambda j: names[j])
    loop = path[path.index(at) :]
    first = min(range(len(loop)), key=lambda k: names[loop[k]])
    loop = loop[first:] + loop[:first]
    return [names[i] for i in (*loop, loop[0])]


def topological_order(graph: Graph) -> list[int]:
    """Return the name-smallest order in which every node follows its parents."""
    if graph.kind != "dag":
        raise GraphError(f"a DAG is needed, and the kind of the graph is {graph.kind}")
    directed = (graph.marks == Mark.ARROW) & (graph.marks.T == Mark.TAIL)
    waiting = directed.sum(axis=0)
    ready = [(graph.names[i], int(i)) for i in np.flatnonzero(waiting == 0)]
    heapq.heapify(ready)
    order = []
    while ready:
        _, i = heapq.heappop(ready)
        order.append(i)
        for j in np.flatnonzero(directed[i]):
            waiting[j] -= 1
            if waiting[j] == 0:
                heapq.heappush(ready, (graph.names[j], int(j)))
    return order
