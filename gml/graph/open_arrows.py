"""Open arrows: those that the data leave to choose, and which of them an answer rests on.

A DAG that gml chose from a Markov equivalence class has `compelled` on its edges: true where all
DAGs of the class have the arrow, those that agree with what the user knows, and false where others
have it the other way round. An arrow without the attribute is as drawn: somebody claims it.

Effects are those of Perković (2020, UAI, Identifying causal effects in maximally oriented partially
directed acyclic graphs, theorem 3.6): P(y | do(x)) is the same for all DAGs of the class exactly if
no proper possibly causal path from x to y begins with an undirected edge. Such a path leaves the
set x at its first step for good, and none of its nodes has an arrow to an earlier one. Given the
first edge x — v, a shortest one has no chord beyond v, so that it is unshielded from v on; and an
unshielded path whose own arrows all point ahead is possibly causal (Perković, Kalisch & Maathuis
2017, UAI, Interpreting and using CPDAGs with background knowledge, lemma 3.2). That leaves the
nodes with an arrow into x to be avoided, and the search is exact.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gml.graph.bits import bits_of, members, sets_in_columns
from gml.graph.edges import COMPELLED, Mark
from gml.graph.graph import Graph
from gml.graph.knowledge import Arc
from gml.graph.orientation import Matrix, maximally_oriented


def with_compelled(dag: Graph, compelled: Sequence[int]) -> Graph:
    """Return a DAG that was chosen from a class: `compelled` has the compelled parents, as bits.

    Examples
    --------
    >>> dag = Graph.from_edges("ABC", [("A", "-->", "B"), ("C", "-->", "B"), ("A", "-->", "C")])
    >>> compelled_arrows(with_compelled(dag, [0, 0b100, 0]))
    {('A', 'B'): False, ('A', 'C'): False, ('C', 'B'): True}
    """
    arrows = [(dag.index(edge.source), dag.index(edge.target)) for edge in dag.edges]
    return _also(dag, {(x, y): bool(compelled[y] >> x & 1) for x, y in arrows})


def without_compelled(graph: Graph, left_open: Iterable[tuple[int, int]] = ()) -> Graph:
    """Return a class, whose arrows need not say that they are compelled; some say they are not.

    `left_open` has the arrows that are there for other reasons than data and knowledge.
    """
    kept = {
        pair: {name: value for name, value in known.items() if name != COMPELLED}
        for pair, known in graph.attributes.items()
    }
    kept = {pair: known for pair, known in kept.items() if known}
    return _also(replace(graph, attributes=kept), dict.fromkeys(left_open, False))


def _also(graph: Graph, compelled: Mapping[tuple[int, int], bool]) -> Graph:
    attributes: dict[tuple[int, int], Mapping[str, Any]] = dict(graph.attributes)
    for (i, j), is_compelled in compelled.items():
        pair = min(i, j), max(i, j)
        attributes[pair] = {**attributes.get(pair, {}), COMPELLED: is_compelled}
    return replace(graph, attributes=attributes)


def compelled_arrows(graph: Graph) -> dict[Arc, bool]:
    """Return which arrows are compelled, or not, by names; arrows as drawn are left out."""
    found = {}
    for edge in graph.edges:
        known = edge.attributes.get(COMPELLED)
        if edge.type != "-->" or known is None:
            continue
        found[edge.source, edge.target] = known
    return found


def decided_arrows(graph: Graph) -> Matrix:
    """Return the arrows of a graph but those that it says are not compelled."""
    arrows: Matrix = (graph.marks == Mark.ARROW) & (graph.marks.T == Mark.TAIL)
    for (source, target), is_compelled in compelled_arrows(graph).items():
        if not is_compelled:
            arrows[graph.index(source), graph.index(target)] = False
    return arrows


def open_arrows(dag: Graph) -> list[Arc]:
    """Return the arrows of a DAG that may point the other way, if all others are as they are.

    Examples
    --------
    >>> open_, claimed = {"compelled": False}, {}
    >>> chain = [("A", "-->", "B", open_), ("B", "-->", "C", open_)]
    >>> open_arrows(Graph.from_edges("ABC", chain))
    [('A', 'B'), ('B', 'C')]
    >>> open_arrows(Graph.from_edges("ABC", [("A", "-->", "B", claimed), chain[1]]))
    []
    """
    if all(compelled_arrows(dag).values()):
        return []
    directed = _settled(dag)
    return [
        (edge.source, edge.target)
        for edge in dag.edges
        if not directed[dag.index(edge.source), dag.index(edge.target)]
    ]


def _settled(dag: Graph) -> Matrix:
    """The arrows that all members of the class of a DAG have: its maximally oriented PDAG."""
    arrows = (dag.marks == Mark.ARROW) & (dag.marks.T == Mark.TAIL)
    return maximally_oriented(arrows, decided_arrows(dag))


def arrows_behind(dag: Graph, do: Collection[str], asked: Collection[str]) -> list[Arc]:
    """Return the open arrows that P(asked | do) rests on, as they are drawn.

    These are the undirected edges of the class with which a proper possibly causal path begins.

    Examples
    --------
    >>> open_ = {"compelled": False}
    >>> dag = Graph.from_edges("ABC", [("A", "-->", "B", open_), ("B", "-->", "C", open_)])
    >>> arrows_behind(dag, {"B"}, {"C"}), arrows_behind(dag, {"A"}, {"C"})
    ([('B', 'C')], [('A', 'B')])
    """
    at_border = [
        arc
        for arc, is_compelled in compelled_arrows(dag).items()
        if not is_compelled and (arc[0] in do) != (arc[1] in do)
    ]
    wanted = bits_of(dag.index(name) for name in asked if name not in do)
    if not at_border or not wanted:
        return []
    inside = bits_of(map(dag.index, do))
    ways = _Ways(dag)
    found = []
    for arc in at_border:
        x, v = sorted(map(dag.index, arc), key=lambda node: not inside >> node & 1)
        if ways.is_open(x, v) and ways.lead(x, v, wanted, inside):
            found.append(arc)
    return found


class _Ways:
    """The steps that a possibly causal path may take."""

    def __init__(self, dag: Graph) -> None:
        directed = _settled(dag)
        joined = dag.marks != Mark.NONE
        self._parents = sets_in_columns(directed)
        self._adjacent = sets_in_columns(joined)
        self._ahead = sets_in_columns(joined & ~directed)
        """By node, the nodes that no arrow leads from to it: where its edges may lead."""

    def is_open(self, x: int, v: int) -> bool:
        """Whether the edge between two nodes may point either way."""
        return not (self._parents[x] >> v | self._parents[v] >> x) & 1

    def lead(self, x: int, v: int, wanted: int, inside: int) -> bool:
        """Whether a possibly causal path begins with x — v and ends at a wanted node."""
        barred = inside | self._parents[x]
        # Nodes with the neighbours of the one before, where the path does not go on.
        steps = [(0, v)]
        taken: dict[int, int] = {}
        while steps:
            before, node = steps.pop()
            if wanted >> node & 1:
                return True
            further = self._ahead[node] & ~barred & ~before & ~taken.get(node, 0)
            taken[node] = taken.get(node, 0) | further
            steps += [(self._adjacent[node], after) for after in members(further)]
        return False
