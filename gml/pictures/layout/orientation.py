"""Which end of each link is the upper one: no cycles, few arrows that point up.

A directed cycle is broken greedily, after Eades, Lin & Smyth (1993, Information Processing Letters
47:319): nodes are lined up one by one, always one that the fewest nodes still to come point to, and
among those one that points to the most. Links against that order are turned. Links without a
direction go from the middle of what they connect to its rim, so that a tree of them gets its centre
on top, as far as the arrows allow. Ties go to the node that comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from gml.pictures.layout.geometry import Link

Pair = tuple[int, int]
"""Two nodes, the upper one first."""


def acyclic(n_nodes: int, links: Sequence[Link], fixed: Sequence[Pair] = ()) -> list[Pair]:
    """Return the upper and the lower end of each link, without cycles.

    Parameters
    ----------
    n_nodes
        How many nodes there are.
    links
        The links.
    fixed
        Pairs without a cycle that are never turned.

    Examples
    --------
    >>> acyclic(3, [Link(0, 1), Link(1, 2), Link(2, 0)])
    [(0, 1), (1, 2), (0, 2)]
    """
    place = _places_by_arrows(n_nodes, links, fixed)
    directed = [_ordered(link, place) for link in links if link.directed]
    place = _places_by_depth(n_nodes, links, [*fixed, *directed])
    return [_ordered(link, place) for link in links]


def _ordered(link: Link, place: Sequence[int]) -> Pair:
    if place[link.source] < place[link.target]:
        return link.source, link.target
    return link.target, link.source


def _places_by_arrows(n_nodes: int, links: Sequence[Link], fixed: Sequence[Pair]) -> list[int]:
    """Return the place of each node in an order that few directed links contradict."""
    below: list[list[int]] = [[] for _ in range(n_nodes)]
    above: list[list[int]] = [[] for _ in range(n_nodes)]
    held: list[list[int]] = [[] for _ in range(n_nodes)]
    waiting, going, locks = [0] * n_nodes, [0] * n_nodes, [0] * n_nodes
    for link in links:
        if link.directed:
            below[link.source].append(link.target)
            above[link.target].append(link.source)
            going[link.source] += 1
            waiting[link.target] += 1
    for upper, lower in fixed:
        held[upper].append(lower)
        locks[lower] += 1

    def key(node: int) -> tuple[int, int, int]:
        return waiting[node], -going[node] if waiting[node] else 0, node

    heap = [key(node) for node in range(n_nodes) if not locks[node]]
    heapify(heap)
    place = [-1] * n_nodes
    placed = 0
    while heap:
        entry = heappop(heap)
        node = entry[2]
        if place[node] >= 0 or entry != key(node):
            continue
        place[node] = placed
        placed += 1
        for other in below[node]:
            waiting[other] -= 1
        for other in above[node]:
            going[other] -= 1
        for other in held[node]:
            locks[other] -= 1
        for other in (*below[node], *above[node], *held[node]):
            if place[other] < 0 and not locks[other]:
                heappush(heap, key(other))
    return place


def _places_by_depth(n_nodes: int, links: Sequence[Link], pairs: Sequence[Pair]) -> list[int]:
    """Return the place of each node in an order that respects pairs, and puts centres first."""
    depth = _depths(n_nodes, links)
    below: list[list[int]] = [[] for _ in range(n_nodes)]
    waiting = [0] * n_nodes
    for upper, lower in pairs:
        below[upper].append(lower)
        waiting[lower] += 1
    heap = [(depth[node], node) for node in range(n_nodes) if not waiting[node]]
    heapify(heap)
    place = [0] * n_nodes
    placed = 0
    while heap:
        _, node = heappop(heap)
        place[node] = placed
        placed += 1
        for other in below[node]:
            waiting[other] -= 1
            if not waiting[other]:
                heappush(heap, (depth[other], other))
    return place


def _depths(n_nodes: int, links: Sequence[Link]) -> list[int]:
    """Return how far each node is from the middle of what undirected links connect it with."""
    beside: list[list[int]] = [[] for _ in range(n_nodes)]
    for link in links:
        if not link.directed:
            beside[link.source].append(link.target)
            beside[link.target].append(link.source)
    depth = [-1] * n_nodes
    for node in range(n_nodes):
        if depth[node] < 0:
            rim = _outwards(node, beside)[-1][0]
            line = _outwards(rim, beside)
            before = {reached: (previous, steps) for reached, previous, steps in line}
            centre, far = line[-1][0], line[-1][2]
            while before[centre][1] > (far + 1) // 2:
                centre = before[centre][0]
            for reached, _, steps in _outwards(centre, beside):
                depth[reached] = steps
    return depth


def _outwards(start: int, beside: Sequence[Sequence[int]]) -> list[tuple[int, int, int]]:
    """Return the nodes by distance from a start, each with the one before it and the distance."""
    found = [(start, start, 0)]
    seen = {start}
    for node, _, steps in found:
        for other in sorted(beside[node]):
            if other not in seen:
                seen.add(other)
                found.append((other, node, steps + 1))
    return found
