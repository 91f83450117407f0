"""Undirected graphs: moral graphs, maximal cliques, and whether every cycle has a chord.

A graph is chordal iff a maximum cardinality search visits its nodes so that the neighbours of each
that came before are joined to one another (Tarjan & Yannakakis 1984, SIAM J. Comput. 13:566); the
cliques in that order have the running intersection property, so that a chordal graph is one whose
models are products of the margins of cliques over those of separators: it is decomposable
(Lauritzen 1996, section 2.1). Nodes are bits of integers; ties go to the first by name.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from gml.errors import GraphError
from gml.graph.bits import bits_of, members
from gml.graph.graph import Graph
from gml.name_order import NameOrder


class PerfectSequence(NamedTuple):
    """The maximal cliques of a chordal graph, and what each shares with those before it."""

    cliques: tuple[tuple[int, ...], ...]
    separators: tuple[tuple[int, ...], ...]


def moral_graph(graph: Graph) -> Graph:
    """Return the undirected graph of a DAG: parents of a node are joined, then arrows dropped.

    Examples
    --------
    >>> collider = Graph.from_edges("ABC", [("A", "-->", "B"), ("C", "-->", "B")])
    >>> moral_graph(collider).n_edges
    3
    """
    if graph.kind != "dag":
        raise GraphError(f"a moral graph is that of a DAG, not of {graph.kind_in_words}")
    pairs: set[tuple[int, int]] = set()
    for j, parents in enumerate(graph.parent_sets()):
        pairs.update(combinations(sorted([*parents, j]), 2))
    return Graph.from_edges(
        graph.names,
        [(graph.names[i], "---", graph.names[j]) for i, j in sorted(pairs)],
        kind="undirected",
        levels=graph.levels,
        learning=graph.learning,
        numeric=graph.numeric,
        hidden=graph.hidden,
    )


def neighbour_bits(graph: Graph) -> list[int]:
    """Return the neighbours of each node as bits; the graph must be undirected."""
    if graph.kind != "undirected":
        raise GraphError(f"an undirected graph is needed, not {graph.kind_in_words}")
    adjacent = graph.marks != 0
    return [bits_of(adjacent[i].nonzero()[0].tolist()) for i in range(len(graph.names))]


def perfect_sequence(graph: Graph) -> PerfectSequence | None:
    """Return the cliques of a chordal graph in a perfect order, or None if it is not chordal.

    Examples
    --------
    >>> chain = Graph.from_edges("ABC", [("A", "---", "B"), ("B", "---", "C")], kind="undirected")
    >>> perfect_sequence(chain)
    PerfectSequence(cliques=((0, 1), (1, 2)), separators=((), (1,)))
    """
    visits = _visits(graph)
    if visits is None:
        return None
    cliques: list[int] = []
    separators: list[int] = []
    for node, before in visits:
        # The search goes on within a clique as long as each node is joined to all of it.
        if cliques and before == cliques[-1]:
            cliques[-1] |= 1 << node
        else:
            cliques.append(before | 1 << node)
            separators.append(before)
    return PerfectSequence(
        tuple(tuple(members(clique)) for clique in cliques),
        tuple(tuple(members(separator)) for separator in separators),
    )


def perfect_parents(graph: Graph) -> list[int] | None:
    """Return parents, as bits, that make a chordal graph a DAG without colliders; else None.

    A node's parents are the neighbours that a maximum cardinality search visits before it. They are
    joined to one another, so that the DAG has the same models as the graph.

    Examples
    --------
    >>> chain = Graph.from_edges("ABC", [("A", "---", "B"), ("B", "---", "C")], kind="undirected")
    >>> perfect_parents(chain)
    [0, 1, 2]
    """
    visits = _visits(graph)
    return None if visits is None else [before for _, before in sorted(visits)]


def _visits(graph: Graph) -> list[tuple[int, int]] | None:
    """The nodes as a maximum cardinality search visits them, with the neighbours before each.

    None if some of these are not joined to one another.
    """
    neighbours = neighbour_bits(graph)
    rank = {j: k for k, j in enumerate(NameOrder(graph.names).positions.tolist())}
    visited, weight = 0, [0] * len(neighbours)
    visits = []
    # Nodes by how many of their neighbours were visited, then by name; old entries stay behind.
    waiting = [(0, k, j) for j, k in rank.items()]
    heapq.heapify(waiting)
    while waiting:
        less, _, node = heapq.heappop(waiting)
        if visited >> node & 1 or -less != weight[node]:
            continue
        before = neighbours[node] & visited
        if not are_joined(neighbours, before):
            return None
        visits.append((node, before))
        visited |= 1 << node
        for i in members(neighbours[node] & ~visited):
            weight[i] += 1
            heapq.heappush(waiting, (-weight[i], rank[i], i))
    return visits


def are_joined(neighbours: Sequence[int], nodes: int) -> bool:
    """Whether each of some nodes is a neighbour of all others.

    Examples
    --------
    >>> are_joined([0b110, 0b001, 0b001], 0b011), are_joined([0b110, 0b001, 0b001], 0b111)
    (True, False)
    """
    return not any(nodes & ~neighbours[i] & ~(1 << i) for i in members(nodes))


def maximal_cliques(graph: Graph) -> list[tuple[int, ...]]:
    """Return the maximal cliques of an undirected graph, by size and then by position.

    By Bron & Kerbosch (1973) with the pivot of Tomita, Tanaka & Takahashi (2006).

    Examples
    --------
    >>> square = [("A", "---", "B"), ("B", "---", "C"), ("C", "---", "D"), ("D", "---", "A")]
    >>> maximal_cliques(Graph.from_edges("ABCD", square, kind="undirected"))
    [(0, 1), (0, 3), (1, 2), (2, 3)]
    """
    neighbours = neighbour_bits(graph)
    found = [tuple(members(clique)) for clique in _grow(neighbours, 0, (1 << len(neighbours)) - 1)]
    return sorted(found, key=lambda clique: (len(clique), clique))


def _grow(neighbours: Sequence[int], clique: int, open_: int, closed: int = 0) -> Iterator[int]:
    """Yield the maximal cliques that contain `clique`, some of `open_` and none of `closed`."""
    if not open_ and not closed:
        yield clique
        return
    pivot = max(members(open_ | closed), key=lambda j: (open_ & neighbours[j]).bit_count())
    for node in members(open_ & ~neighbours[pivot]):
        bit = 1 << node
        yield from _grow(
            neighbours, clique | bit, open_ & neighbours[node], closed & neighbours[node]
        )
        open_ &= ~bit
        closed |= bit
