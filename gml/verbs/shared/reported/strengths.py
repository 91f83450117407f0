"""The strengths of edges, from a graph that `gml average` wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gml.errors import GraphError, listing, quote
from gml.kernel.number import number_of
from gml.pictures.page.content import Directions, EdgeStrength, Strengths
from gml.progress import reporter
from gml.verbs.shared.graph_input import GraphLike, given_graph

# Edges that are read from either end, here from the first name: columns may stand in any order.
_SYMMETRIC = ("---", "<->", "o-o")


def strengths_of(averaged: GraphLike, names: Sequence[str]) -> Strengths:
    """Return the edges with a strength, the strongest first; of nodes that the model has."""
    given = given_graph(averaged, "the graph of strengths")
    graph, of_model = given.graph, set(names)
    others = [name for name in graph.names if name not in of_model]
    if others:
        reporter().warn(f"{given.name}: not in the model, left out: {listing(sorted(others))}")
    found, unmeasured = [], []
    for edge in graph.edges():
        ends = graph.names[edge.source], graph.names[edge.target]
        strength, direction, undirected = (
            _share(edge.attributes, key, given.name, ends)
            for key in ("strength", "direction", "undirected")
        )
        if strength is None:
            unmeasured.append(frozenset(ends))
        elif of_model.issuperset(ends):
            known = None if direction is None else Directions.of(direction, undirected or 0)
            if edge.type in _SYMMETRIC and ends[0] > ends[1]:
                ends, known = ends[::-1], known and known.turned()
            found.append(EdgeStrength(*ends, edge.type, strength, known))
    if not found:
        raise GraphError(
            f"{given.name}: no edge between nodes of the model has a strength; gml average writes "
            "such graphs"
        )
    found.sort(key=lambda edge: (-edge.strength, edge.source, edge.target))
    threshold = graph.learning.get("threshold")
    if not (isinstance(threshold, int | float) and 0 <= threshold <= 1):
        threshold = None
    return Strengths(tuple(found), threshold, frozenset(graph.names), frozenset(unmeasured))


def _share(
    attributes: Mapping[str, Any], key: str, where: str, ends: tuple[str, str]
) -> float | None:
    """An attribute that is a share; formats of text have it as text."""
    value = attributes.get(key)
    if value is None:
        return None
    number = number_of(value, ".") if isinstance(value, str) else value
    if isinstance(number, int | float) and not isinstance(number, bool) and 0 <= number <= 1:
        return float(number)
    raise GraphError(
        f"{where}: the {key} of the edge between {quote(ends[0])} and {quote(ends[1])} must be "
        f"between 0 and 1, not {value!r}"
    )
