"""The independences that a DAG or an undirected graph implies, one per pair without an edge.

In a DAG: u ⟂ v | pa(v), where v is the later of the two in the first topological order by name: the
pairwise form of the ordered Markov property, from which all others follow (Verma & Pearl 1990).

In an undirected graph: u ⟂ v | S, where S separates u from v, and none of S can be left out. Given
all other nodes, as the pairwise Markov property has it, tables would be so sparse that no test has
power; of the two minimal separators that lie closest to u and to v, S is the smaller (or that of
u, the first by name). See `gml.graph.separation`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from gml.graph.graph import Graph
from gml.graph.order import topological_order
from gml.graph.separation import UndirectedSeparation

Independence = tuple[str, str, tuple[str, ...]]
"""u, v and the set that separates them."""


def implied_independences(graph: Graph) -> list[Independence]:
    """Return (u, v, what separates them), all by name.

    Pairs are in topological order of v, then of u; those of an undirected graph by name.

    Examples
    --------
    >>> chain = Graph.from_edges("ABC", [("A", "-->", "B"), ("B", "-->", "C")])
    >>> implied_independences(chain)
    [('A', 'C', ('B',))]
    >>> links = [("A", "---", "B"), ("B", "---", "C"), ("C", "---", "D")]
    >>> implied_independences(Graph.from_edges("ABCD", links, kind="undirected"))
    [('A', 'C', ('B',)), ('A', 'D', ('B',)), ('B', 'D', ('C',))]
    """
    return list(each_implied(graph))


def each_implied(graph: Graph) -> Iterator[Independence]:
    """Yield the same one by one: there is one per pair without an edge."""
    if graph.kind == "undirected":
        yield from _each_separated(graph)
        return
    order = topological_order(graph)
    for later, v in enumerate(order):
        parents = tuple(sorted(graph.names[i] for i in graph.parents(v)))
        for u in order[:later]:
            if not graph.adjacent(u, v):
                yield graph.names[u], graph.names[v], parents


def _each_separated(graph: Graph) -> Iterator[Independence]:
    names = graph.names
    separation = UndirectedSeparation(graph)
    by_name = sorted(range(len(names)), key=names.__getitem__)
    for u, v in combinations(by_name, 2):
        if not graph.adjacent(u, v):
            given = sorted(names[k] for k in separation.separator(u, v))
            yield names[u], names[v], tuple(given)
