"""Elimination orders: which node to take out next, and the cliques that this makes.

Taking a node out joins its neighbours; the node with its neighbours is a clique of the triangulated
graph. min-fill (Rose 1972; Kjærulff 1990) takes the node that adds the fewest edges, then the one
with the smallest clique table, then the first. Nodes are bits of integers.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

from gml.graph.bits import bits_of, members


class Elimination(NamedTuple):
    """A node taken out, and its neighbours at that time."""

    node: int
    neighbours: int


def eliminate_by_min_fill(
    cliques: Sequence[Sequence[int]], sizes: Sequence[int], stages: Sequence[Sequence[int]]
) -> list[Elimination]:
    """Order the nodes of the stages, one stage after the other; `cliques` are joined at the start.

    Examples
    --------
    >>> eliminate_by_min_fill([[0, 1], [1, 2], [2, 3]], [2, 2, 2, 2], [[0, 1, 2, 3]])
    [Elimination(node=0, neighbours=2), Elimination(node=1, neighbours=4), \
Elimination(node=2, neighbours=8), Elimination(node=3, neighbours=0)]
    """
    adjacent = [0] * len(sizes)
    for clique in cliques:
        together = bits_of(clique)
        for node in clique:
            adjacent[node] |= together & ~(1 << node)

    def price(node: int) -> tuple[int, int, int]:
        around = adjacent[node]
        table, absent = sizes[node], 0
        for other in members(around):
            table *= sizes[other]
            absent += (around & ~adjacent[other]).bit_count() - 1
        return absent // 2, table, node

    order = []
    for stage in stages:
        left = bits_of(stage)
        prices = {node: price(node) for node in stage}
        queue = list(prices.values())
        heapq.heapify(queue)
        while left:
            cost = heapq.heappop(queue)
            node = cost[2]
            if not left >> node & 1 or prices[node] != cost:
                continue
            around = adjacent[node]
            order.append(Elimination(node, around))
            left &= ~(1 << node)
            touched = around
            for other in members(around):
                new = around & ~adjacent[other] & ~(1 << other)
                adjacent[other] = (adjacent[other] | new) & ~(1 << node)
                if new:
                    # A node adjacent to both ends of a new edge has one less to add.
                    for end in members(new):
                        touched |= adjacent[other] & adjacent[end]
            for other in members(touched & left):
                updated = price(other)
                if updated != prices[other]:
                    prices[other] = updated
                    heapq.heappush(queue, updated)
    return order
