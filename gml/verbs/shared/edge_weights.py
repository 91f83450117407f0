"""What the widths and colours of drawn edges show, and where it comes from if edges lack it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from gml.errors import UsageError, parameter, unknown_name
from gml.graph.edge_numbers import number_in
from gml.graph.graph import Graph
from gml.pictures.graph_picture import weight_of
from gml.verbs.shared.graph_input import GivenGraph

if TYPE_CHECKING:
    from gml.counts.counter import Counter
    from gml.model.model import AskedModel


def weighted(given: GivenGraph, weight: str, counter: Counter | None) -> tuple[Graph, str | None]:
    """Return the graph, its edges with what is to be shown of them, and the name of that.

    `auto` is what the edges have, or the coefficients of a model of numbers. The mutual information
    comes from data if there are any; else from the edges, or from the model.
    """
    graph, net = given.graph, given.model
    if weight == "none":
        return graph, None
    if weight == "auto":
        weight = weight_of(graph) or ("coefficient" if net and net.is_gaussian else "none")
        return weighted(given, weight, counter)
    if weight == "mi" and counter is not None:
        return _with_information(graph, counter), weight
    known = _numbers_of(graph)
    if weight in known or not graph.n_edges:
        return graph, weight
    if weight == "mi" and net is not None:
        return _with_implied_information(graph, net), weight
    if weight == "coefficient" and net is not None and net.is_gaussian:
        return _with_coefficients(graph, net), weight
    hints = {"mi": f"; {parameter('data')} gives it", "strength": "; gml average gives it"}
    found = ["mi"] * (net is not None) + ["coefficient"] * (net is not None and net.is_gaussian)
    choices = dict.fromkeys(("auto", "none", *known, *found))
    raise UsageError(
        f"{parameter('weight')}: {unknown_name('numeric attribute', weight, choices)}"
        + hints.get(weight, "")
    )


def _numbers_of(graph: Graph) -> list[str]:
    """The attributes that hold a number for an edge, if not for all."""
    each = graph.attributes.values()
    numeric = (name for found in each for name in found if number_in(found, name) is not None)
    return list(dict.fromkeys(numeric))


def _with_attribute(graph: Graph, name: str, values: Mapping[tuple[int, int], float]) -> Graph:
    """The graph, with the values of pairs of positions under a name, where they are known."""
    added = {
        pair: {**graph.attributes.get(pair, {}), name: value}
        for pair, value in values.items()
        if not math.isnan(value)
    }
    return replace(graph, attributes={**graph.attributes, **added})


def _with_coefficients(graph: Graph, net: AskedModel) -> Graph:
    from gml.model.network import Network
    from gml.model.regressions import LinearGaussian

    assert isinstance(net, Network)
    values = {}
    for cpd in net.cpds:
        assert isinstance(cpd, LinearGaussian)
        child = graph.index(cpd.variable.name)
        for parent, slope in zip(cpd.parents, cpd.coefficients, strict=True):
            i = graph.index(parent.name)
            values[min(i, child), max(i, child)] = float(slope)
    return _with_attribute(graph, "coefficient", values)


def _with_implied_information(graph: Graph, net: AskedModel) -> Graph:
    """The graph, each edge with the mutual information that the model has for its nodes."""
    from gml.model.implied_information import information_in
    from gml.model.query import query

    values = {}
    for edge in graph.edges:
        first, second = sorted([edge.source, edge.target])
        values[graph.pair(edge)] = information_in(query(net, [first, second]))
    return _with_attribute(graph, "mi", values)


def _with_information(graph: Graph, counter: Counter) -> Graph:
    # Who has no data need not load what counts them.
    from gml.independence.mutual_information import mutual_information

    found = mutual_information(counter)
    at = {variable.name: k for k, variable in enumerate(counter.variables)}
    values = {
        graph.pair(edge): float(found[at[edge.source], at[edge.target]]) for edge in graph.edges
    }
    return _with_attribute(graph, "mi", values)
