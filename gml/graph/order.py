"""Orders of directed acyclic graphs, and the cycles that forbid them."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gml.errors import GraphError

if TYPE_CHECKING:
    from gml.graph.graph import Graph


def find_cycle(
    names: Sequence[str], directed: NDArray[np.bool_] | Sequence[Sequence[int]]
) -> list[str] | None:
    """Return the nodes of a directed cycle, the first repeated at the end; None if there is none.

    `directed[i, j]` says that i points to j, or `directed[i]` lists all such j. The cycle found
    does not depend on the order of the nodes: it starts from the smallest name that lies on a
    cycle, or on a path from one to another.
    """
    after: Sequence[Sequence[int]] = (
        [np.flatnonzero(row).tolist() for row in directed]
        if isinstance(directed, np.ndarray)
        else directed
    )
    alive = _without_sources(after, range(len(names)))
    if not alive:
        return None
    before: list[list[int]] = [[] for _ in names]
    for i in alive:
        for j in after[i]:
            before[j].append(i)
    alive = _without_sources(before, alive)
    # Every remaining node has a remaining successor.
    at = min(alive, key=names.__getitem__)
    path: dict[int, None] = {}
    while at not in path:
        path[at] = None
        at = min((j for j in after[at] if j in alive), key=names.__getitem__)
    loop = list(path)
    loop = loop[loop.index(at) :]
    first = min(range(len(loop)), key=lambda k: names[loop[k]])
    loop = loop[first:] + loop[:first]
    return [names[i] for i in (*loop, loop[0])]


def _without_sources(after: Sequence[Sequence[int]], nodes: Iterable[int]) -> set[int]:
    """Return the nodes left after repeatedly removing those without an arrow into them."""
    alive = set(nodes)
    waiting = dict.fromkeys(alive, 0)
    for i in alive:
        for j in after[i]:
            if j in alive:
                waiting[j] += 1
    gone = [i for i in alive if waiting[i] == 0]
    for i in gone:
        alive.remove(i)
        for j in after[i]:
            if j in alive:
                waiting[j] -= 1
                if waiting[j] == 0:
                    gone.append(j)
    return alive


def topological_order(graph: Graph) -> list[int]:
    """Return the first order by name in which every node follows its parents."""
    if graph.kind != "dag":
        raise GraphError(f"a DAG is needed, not a graph of kind {graph.kind}")
    parents = graph.parent_sets()
    children: list[list[int]] = [[] for _ in parents]
    for j, given in enumerate(parents):
        for i in given:
            children[i].append(j)
    waiting = list(map(len, parents))
    ready = [(graph.names[i], i) for i, count in enumerate(waiting) if count == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        _, i = heapq.heappop(ready)
        order.append(i)
        for j in children[i]:
            waiting[j] -= 1
            if waiting[j] == 0:
                heapq.heappush(ready, (graph.names[j], j))
    return order
