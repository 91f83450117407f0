"""The strengths of edges, from a graph that `gml average` wrote."""

from __future__ import annotations

from collections.abc import Sequence

from gml.errors import GraphError, listing
from gml.graph.edge_numbers import share_of, threshold_of
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
    found = []
    for edge in graph.edges():
        source, target = graph.names[edge.source], graph.names[edge.target]
        strength = share_of(graph, edge, "strength", given.name)
        if strength is None or not {source, target} <= of_model:
            continue
        direction = share_of(graph, edge, "direction", given.name)
        found.append(EdgeStrength(source, target, edge.type, strength, direction))
    if not found:
        raise GraphError(
            f"{given.name}: no edge between nodes of the model has a strength; gml average writes "
            "such graphs"
        )
    found.sort(key=lambda edge: (-edge.strength, edge.source, edge.target))
    return Strengths(tuple(found), threshold_of(graph))
