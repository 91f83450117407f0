"""The equivalence class of a DAG, as sets: what a search over classes reads and changes.

A class is kept as one of its DAGs; the arrows that all DAGs of the class share are found as in
Chickering (1995, UAI, figure 4): in topological order, the edge x → y from the latest parent of y
decides all edges into y. Undirected edges make chordal *chain components*, each of which can be
directed on its own in every way that makes neither a cycle nor a collider. The order of a maximum
cardinality search (Tarjan & Yannakakis 1984) gives one such way, and may begin with any clique.

Sets of nodes are bits of an integer.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

from gml.graph.bits import lowest, members


class EssentialGraph:
    """The CPDAG of a DAG given by its parent sets.

    Examples
    --------
    >>> graph = EssentialGraph([0, 0b001, 0b010])  # 0 → 1 → 2
    >>> graph.parents, graph.neighbours
    ([0, 0, 0], [2, 5, 2])
    >>> graph.directed_from([2])
    {2: 0, 1: 4, 0: 2}
    """

    def __init__(self, dag: Sequence[int]) -> None:
        n = len(dag)
        self.dag = list(dag)
        self.parents = compelled_parents(dag)
        self.children = [0] * n
        self.neighbours = [0] * n
        for y in range(n):
            bit = 1 << y
            for x in members(self.parents[y]):
                self.children[x] |= bit
            for x in members(dag[y] & ~self.parents[y]):
                self.neighbours[x] |= bit
                self.neighbours[y] |= 1 << x
        self.adjacent = [self.parents[y] | self.children[y] | self.neighbours[y] for y in range(n)]

    def reached(self, start: int, blocked: int, *, without: int = 0) -> int:
        """Return the nodes on semi-directed paths from a node that avoid `blocked`.

        No path enters a node of `without` straight from the start.
        """
        seen = 1 << start
        new = (self.children[start] | self.neighbours[start]) & ~blocked & ~without & ~seen
        while new:
            seen |= new
            after = 0
            for node in members(new):
                after |= self.children[node] | self.neighbours[node]
            new = after & ~blocked & ~seen
        return seen

    def cliques(self, within: int, most: int) -> Iterator[int]:
        """Yield the cliques of at most `most` nodes, the empty one first, then by members."""
        if most >= 0:
            yield 0
            yield from self._larger_cliques(0, within, most)

    def _larger_cliques(self, clique: int, candidates: int, most: int) -> Iterator[int]:
        while candidates and most > 0:
            node = lowest(candidates)
            candidates &= candidates - 1
            larger = clique | 1 << node
            yield larger
            yield from self._larger_cliques(larger, candidates & self.adjacent[node], most - 1)

    def separates(self, middle: int, some: int, others: int, within: int) -> bool:
        """Whether all paths within a set from some nodes to others pass through the middle."""
        seen, new = 0, some
        while new:
            if new & others:
                return False
            seen |= new
            after = 0
            for node in members(new):
                after |= self.adjacent[node]
            new = after & within & ~middle & ~seen
        return True

    def directed_from(self, first: Sequence[int], prefer: int | None = None) -> dict[int, int]:
        """Direct the chain component of a clique away from it; returns parents in the DAG.

        The nodes of `first` come first, in their order; then always the node with the most
        neighbours that came before, among equals one of `prefer`, then the lowest.
        """
        neighbours = self.neighbours
        came = 0
        found: dict[int, int] = {}
        counts: dict[int, int] = {}
        queue: list[tuple[int, bool, int]] = []
        waiting = list(first)
        while True:
            if waiting:
                node = waiting.pop(0)
            else:
                while queue and (came >> queue[0][2] & 1 or -queue[0][0] != counts[queue[0][2]]):
                    heapq.heappop(queue)
                if not queue:
                    return found
                node = heapq.heappop(queue)[2]
            found[node] = self.parents[node] | (neighbours[node] & came)
            came |= 1 << node
            for other in members(neighbours[node] & ~came):
                counts[other] = counts.get(other, 0) + 1
                heapq.heappush(queue, (-counts[other], other != prefer, other))


def compelled_parents(dag: Sequence[int]) -> list[int]:
    """Return, for each node, the parents whose arrows into it are in all equivalent DAGs."""
    compelled = [0] * len(dag)
    position = [0] * len(dag)
    for place, y in enumerate(_topological(dag)):
        position[y] = place
        given = dag[y]
        if not given:
            continue
        x = max(members(given), key=position.__getitem__)
        if compelled[x] & ~given or given & ~dag[x] & ~(1 << x):
            compelled[y] = given
        else:
            compelled[y] = compelled[x]
    return compelled


def _topological(dag: Sequence[int]) -> list[int]:
    children: list[list[int]] = [[] for _ in dag]
    waiting = [given.bit_count() for given in dag]
    for y, given in enumerate(dag):
        for x in members(given):
            children[x].append(y)
    order = [y for y, count in enumerate(waiting) if count == 0]
    for x in order:
        for y in children[x]:
            waiting[y] -= 1
            if waiting[y] == 0:
                order.append(y)
    return order
