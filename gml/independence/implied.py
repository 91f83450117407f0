"""The independences that a DAG implies, one for each pair without an edge.

u ⟂ v | pa(v), where v is the later of the two in the name-smallest topological order: the pairwise
form of the ordered Markov property, from which all others follow (Verma & Pearl 1990).
"""

from __future__ import annotations

from gml.graph.graph import Graph
from gml.graph.order import topological_order


def implied_independences(graph: Graph) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return (u, v, parents of v) by name, pairs in topological order of v, then of u.

    Examples
    --------
    >>> chain = Graph.from_edges("ABC", [("A", "-->", "B"), ("B", "-->", "C")])
    >>> implied_independences(chain)
    [('A', 'C', ('B',))]
    """
    order = topological_order(graph)
    result = []
    for later, v in enumerate(order):
        parents = sorted(graph.names[i] for i in graph.parents(v))
        for u in order[:later]:
            if not graph.adjacent(u, v):
                result.append((graph.names[u], graph.names[v], tuple(parents)))
    return result
