"""A heat map of numbers that edges have, such as couplings, with a colour for each sign."""

from __future__ import annotations

import numpy as np

from gml.graph.edge_numbers import number_in
from gml.graph.graph import Graph
from gml.pictures.picture import Picture
from gml.pictures.plots.matrix import heat_map
from gml.pictures.themes import LIGHT, Theme


def coupling_map(graph: Graph, quantity: str = "coupling", *, theme: Theme = LIGHT) -> Picture:
    """Return a heat map of the couplings of an undirected model; a pair without an edge is empty.

    `quantity` is the attribute of edges that is shown, such as "partial_correlation".

    Examples
    --------
    >>> edges = [("a", "---", "b", {"coupling": -0.7}), ("b", "---", "c", {"coupling": 0.2})]
    >>> coupling_map(Graph.from_edges("abc", edges, kind="undirected")).title
    'Coupling between 3 variables'
    """
    found = np.full((len(graph.names), len(graph.names)), np.nan)
    for edge in graph.edges:
        value = number_in(edge.attributes, quantity)
        if value is not None:
            i, j = graph.pair(edge)
            found[i, j] = found[j, i] = value
    has_negative = bool((found < 0).any())
    words = quantity.replace("_", " ")
    return heat_map(graph.names, found, quantity=words, theme=theme, signed=has_negative)
