"""Which layer a node is in, and the order within layers.

Arrows lead down, over one layer or several; edges without a direction lead down from the node that
is reached first, breadth first from the one with the most edges. What passes a layer takes a place
in it: an item that is no node. The order in each layer is that of the barycentres of the layer
before, then after, over and over (Sugiyama, Tagawa and Toda 1981, IEEE Trans. SMC 11, section 4),
and the order with the fewest crossings is kept. Ties break by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gml.graph.edges import Mark
from gml.graph.graph import Graph

Neighbours = list[list[int]]
_SWEEPS = 12


class Net(NamedTuple):
    """A line from a node down to others: arrows that leave it together, or one edge of its own."""

    upper: int
    mark: Mark
    """At the upper node."""
    lower: dict[int, Mark]


@dataclass(frozen=True)
class Strand:
    """The part of a net between two layers."""

    net: Net
    upper: int
    lower: list[int]


@dataclass
class Layers:
    """Items from top to bottom and from left to right; those that are nodes have small numbers."""

    ranks: list[list[int]]
    strands: list[list[Strand]]
    """Those between each layer and the next one."""


def neighbours_of(graph: Graph) -> Neighbours:
    """The nodes that each node has an edge with, by name."""
    around: Neighbours = [[] for _ in graph.names]
    for i, j in map(graph.pair, graph.edges):
        around[i].append(j)
        around[j].append(i)
    return [sorted(others, key=graph.names.__getitem__) for others in around]


def components(graph: Graph, around: Neighbours) -> list[list[int]]:
    """The connected parts, each with its nodes by name, the one with the first name first."""
    found, seen = [], [False] * len(around)
    for start in sorted(range(len(around)), key=graph.names.__getitem__):
        if seen[start]:
            continue
        seen[start] = True
        part = [start]
        for node in part:
            new = [other for other in around[node] if not seen[other]]
            for other in new:
                seen[other] = True
            part += new
        found.append(sorted(part, key=graph.names.__getitem__))
    return found


def ranks_of(graph: Graph, around: Neighbours, component: Sequence[int]) -> dict[int, int]:
    """The layer of each node of a connected part: no edge is within one."""
    order = _reached(graph, around, component)
    position = {node: k for k, node in enumerate(order)}
    before = {
        node: [other for other in around[node] if position[other] < position[node]]
        for node in order
    }
    after = {
        node: [other for other in around[node] if position[other] > position[node]]
        for node in order
    }
    rank: dict[int, int] = {}
    for node in order:
        rank[node] = max((rank[other] + 1 for other in before[node]), default=0)
    for node in reversed(order):
        if len(after[node]) > len(before[node]):
            rank[node] = min(rank[other] for other in after[node]) - 1
    lowest = min(rank.values())
    return {node: rank[node] - lowest for node in component}


def _reached(graph: Graph, around: Neighbours, component: Sequence[int]) -> list[int]:
    """The nodes in an order that every arrow follows, and edges with one arrow where they can."""
    tailed, other = _arrows_into(graph, around, component)
    position: dict[int, int] = {}

    def first(node: int) -> tuple[int, int, int]:
        reached = [position[near] for near in around[node] if near in position]
        return other[node], min(reached, default=len(component)), -len(around[node])

    while len(position) < len(component):
        ready = [node for node in component if node not in position and not tailed[node]]
        node = min(ready, key=first)
        position[node] = len(position)
        for near in around[node]:
            if graph.marks[node, near] == Mark.ARROW:
                tailed[near] -= graph.marks[near, node] == Mark.TAIL
                other[near] -= graph.marks[near, node] == Mark.CIRCLE
    return list(position)


def _arrows_into(
    graph: Graph, around: Neighbours, component: Sequence[int]
) -> tuple[dict[int, int], dict[int, int]]:
    """How many edges have an arrow at each node and a tail, or a circle, at their other end."""

    def number(node: int, mark: Mark) -> int:
        return sum(
            graph.marks[near, node] == Mark.ARROW and graph.marks[node, near] == mark
            for near in around[node]
        )

    return (
        {node: number(node, Mark.TAIL) for node in component},
        {node: number(node, Mark.CIRCLE) for node in component},
    )


def layers_of(graph: Graph, around: Neighbours, component: Sequence[int]) -> Layers:
    """Put the nodes of a connected part and the lines between them in layers, and in order."""
    rank = ranks_of(graph, around, component)
    ranks: list[list[int]] = [[] for _ in range(max(rank.values()) + 1)]
    for node in component:
        ranks[rank[node]].append(node)
    strands: list[list[Strand]] = [[] for _ in ranks[1:]]
    next_item = len(graph.names)
    for net in _nets(graph, around, component, rank):
        item = net.upper
        for level in range(rank[net.upper], max(map(rank.__getitem__, net.lower))):
            below = [node for node in net.lower if rank[node] == level + 1]
            goes_on = any(rank[node] > level + 1 for node in net.lower)
            if goes_on:
                ranks[level + 1].append(next_item)
                below.append(next_item)
            strands[level].append(Strand(net, item, below))
            if goes_on:
                item, next_item = next_item, next_item + 1
    layers = Layers(ranks, strands)
    _reduce_crossings(layers)
    return layers


def _nets(
    graph: Graph, around: Neighbours, component: Sequence[int], rank: Mapping[int, int]
) -> list[Net]:
    nets = []
    for upper in component:
        together: dict[int, Mark] = {}
        for lower in around[upper]:
            if rank[lower] < rank[upper]:
                continue
            above, below = Mark(graph.marks[lower, upper]), Mark(graph.marks[upper, lower])
            if (above, below) == (Mark.TAIL, Mark.ARROW):
                together[lower] = below
            else:
                nets.append(Net(upper, above, {lower: below}))
        if together:
            nets.append(Net(upper, Mark.TAIL, together))
    return nets


def _reduce_crossings(layers: Layers) -> None:
    links = [
        [(strand.upper, item) for strand in between for item in strand.lower]
        for between in layers.strands
    ]
    best = [list(items) for items in layers.ranks]
    fewest = _crossings(best, links)
    ranks = [list(items) for items in best]
    for sweep in range(_SWEEPS):
        downwards = sweep % 2 == 0
        levels = range(1, len(ranks)) if downwards else range(len(ranks) - 2, -1, -1)
        for level in levels:
            between = links[level - 1] if downwards else links[level]
            fixed = ranks[level - 1] if downwards else ranks[level + 1]
            place = {item: k for k, item in enumerate(fixed)}
            around: dict[int, list[int]] = {item: [] for item in ranks[level]}
            for upper, lower in between:
                item, other = (lower, upper) if downwards else (upper, lower)
                around[item].append(place[other])
            ranks[level] = _by_barycentre(ranks[level], around)
        _swap_neighbours(ranks, links)
        found = _crossings(ranks, links)
        if found < fewest:
            best, fewest = [list(items) for items in ranks], found
    layers.ranks = best


def _by_barycentre(items: list[int], around: Mapping[int, list[int]]) -> list[int]:
    """Those without neighbours stay where they are."""
    place = {
        item: sum(around[item]) / len(around[item]) if around[item] else float(k)
        for k, item in enumerate(items)
    }
    return sorted(items, key=place.__getitem__)


def _swap_neighbours(ranks: list[list[int]], links: list[list[tuple[int, int]]]) -> None:
    """Swap neighbours in a layer wherever that takes away crossings."""
    for level, items in enumerate(ranks):
        near = range(max(level - 1, 0), min(level + 1, len(links)))
        for k in range(len(items) - 1):
            before = sum(_crossings_between(ranks, links, j) for j in near)
            items[k], items[k + 1] = items[k + 1], items[k]
            if sum(_crossings_between(ranks, links, j) for j in near) >= before:
                items[k], items[k + 1] = items[k + 1], items[k]


def _crossings(ranks: list[list[int]], links: list[list[tuple[int, int]]]) -> int:
    return sum(_crossings_between(ranks, links, level) for level in range(len(links)))


def _crossings_between(
    ranks: list[list[int]], links: list[list[tuple[int, int]]], level: int
) -> int:
    above = {item: k for k, item in enumerate(ranks[level])}
    below = {item: k for k, item in enumerate(ranks[level + 1])}
    ends = sorted((above[upper], below[lower]) for upper, lower in links[level])
    return sum(
        one[0] < other[0] and one[1] > other[1]
        for k, one in enumerate(ends)
        for other in ends[k + 1 :]
    )
