"""The independences that a DAG implies, one per pair without an edge.

u ⟂ v | pa(v), where v is the later of the two in the first topological order by name: the pairwise
form of the ordered Markov property, from which all others follow (Verma & Pearl 1990).
"""

from __future__ import annotations

from collections.abc import Iterator

from gml.graph.graph import Graph
from gml.graph.order import topological_order

Independence = tuple[str, str, tuple[str, ...]]
"""u, v and the set that separates them."""


def implied_independences(graph: Graph) -> list[Independence]:
    """Return (u, v, parents of v) by name, pairs in topological order of v, then of u.

    Examples
    --------
    >>> chain = Graph.from_edges("ABC", [("A", "-->", "B"), ("B", "-->", "C")])
    >>> implied_independences(chain)
    [('A', 'C', ('B',))]
    """
    return list(each_implied(graph))


def each_implied(graph: Graph) -> Iterator[Independence]:
    """Yield the same one by one: there is one per pair without an edge."""
    order = topological_order(graph)
    for later, v in enumerate(order):
        parents = tuple(sorted(graph.names[i] for i in graph.parents(v)))
        for u in order[:later]:
            if not graph.adjacent(u, v):
                yield graph.names[u], graph.names[v], parents
