"""The strengths of edges, from a graph that `gml average` wrote."""

from __future__ import annotations

from collections.abc import Sequence

from gml.errors import GraphError, listing
from gml.graph.edge_numbers import Directions, share_of, threshold_of
from gml.pictures.differences import edges_by_name
from gml.pictures.page.content import EdgeStrength, Strengths
from gml.progress import reporter
from gml.verbs.shared.graph_input import GraphLike, given_graph


def strengths_of(averaged: GraphLike, names: Sequence[str]) -> Strengths:
    """Return the edges with a strength, the strongest first; of nodes that the model has."""
    given = given_graph(averaged, "the graph of strengths")
    graph, of_model = given.graph, set(names)
    others = [name for name in graph.names if name not in of_model]
    if others:
        reporter().warn(f"{given.name}: not in the model, left out: {listing(sorted(others))}")
    found, unmeasured = [], []
    # From the first name, as columns may stand in any order.
    for edge in edges_by_name(graph):
        ends = edge.source, edge.target
        strength, direction, undirected = (
            share_of(edge.attributes, name, ends, given.name)
            for name in ("strength", "direction", "undirected")
        )
        if strength is None:
            unmeasured.append(frozenset(ends))
        elif of_model.issuperset(ends):
            known = None if direction is None else Directions.of(direction, undirected or 0)
            found.append(EdgeStrength(*ends, edge.type, strength, known))
    if not found:
        raise GraphError(
            f"{given.name}: no edge between nodes of the model has a strength; gml average writes "
            "such graphs"
        )
    found.sort(key=lambda edge: (-edge.strength, edge.source, edge.target))
    return Strengths(
        tuple(found), threshold_of(graph), frozenset(graph.names), frozenset(unmeasured)
    )
