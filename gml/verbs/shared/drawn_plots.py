"""Plots that are not graphs: matrices, traces of searches, strengths, held-out losses, tables."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from gml.counts.counter import Counter
from gml.data.options import names_of
from gml.errors import GraphError, UsageError, parameter, unknown_name
from gml.pictures.picture import Picture
from gml.pictures.themes import Theme
from gml.progress import reporter
from gml.verbs.shared.data_input import is_data, is_path, is_read, open_data
from gml.verbs.shared.dialects import with_policy
from gml.verbs.shared.drawn_graph import READABLE_NODES, graph_to_draw, refuse_picture
from gml.verbs.shared.graph_input import GivenGraph, common_dialect, declared_columns

if TYPE_CHECKING:
    from gml.model.bayesnet import BayesNet
    from gml.model.markovnet import MarkovNet


_PARTIAL = "partial_correlation"


def draw_matrix(source: Any, data: Any, theme: Theme, how: Mapping[str, Any]) -> Picture:
    """Draw the mutual information of columns of a table or nodes of a model, or numbers of edges.

    Those are strengths, the couplings of an undirected model, or the partial correlations of `gml
    glasso`. A table is opened as `how` says.
    """
    from gml.model.markovnet import COUPLING
    from gml.pictures.plots.couplings import coupling_map
    from gml.pictures.plots.matrix import heat_map, strength_matrix

    if data is None and not _is_table(source):
        given = graph_to_draw(source)
        graph = given.graph
        numbers = {name for found in graph.attributes.values() for name in found}
        if graph.kind == "undirected" and COUPLING in numbers and "strength" not in numbers:
            return coupling_map(graph, theme=theme)
        if graph.kind == "undirected" and _PARTIAL in numbers and "strength" not in numbers:
            return coupling_map(graph, _PARTIAL, theme=theme)
        if given.model is not None:
            return _draw_implied(given.model, theme)
        if "strength" not in numbers:
            raise GraphError(
                f"{given.name}: no edge has a strength, as gml average gives it; for mutual "
                f"information, give a model, the table instead, or the table as "
                f"{parameter('data')}"
            )
        values = strength_matrix(graph)
        return heat_map(graph.names, values, quantity="strength", theme=theme, shares=True)
    from gml.independence.mutual_information import mutual_information

    if data is None:
        if is_path(source):
            refuse_picture(source, "a table or a graph")
        counter = open_data(source, takes_numbers=parameter("numeric"), **how)
    else:
        counter = counter_for(graph_to_draw(source), data, how)
    return heat_map(
        [variable.name for variable in counter.variables],
        mutual_information(counter),
        quantity="mutual information",
        unit="nats",
        theme=theme,
    )


def _draw_implied(net: BayesNet | MarkovNet, theme: Theme) -> Picture:
    """Draw the mutual information that a model has for each two nodes."""
    from gml.model.implied_information import implied_information
    from gml.pictures.plots.matrix import heat_map

    if len(net.names) > READABLE_NODES:
        reporter().tell(
            f"what a model says about every two of {len(net.names)} nodes takes a while; a sample "
            f"of it is quicker: gml sample MODEL, and give that as {parameter('data')}"
        )
    with reporter().phase("mutual information"):
        values = implied_information(net)
    return heat_map(net.names, values, quantity="mutual information", unit="nats", theme=theme)


def counter_for(given: GivenGraph, data: Any, how: Mapping[str, Any]) -> Counter:
    """Open data for the nodes of a graph, with the levels and numbers that it declares."""
    numbers = given.numeric()
    is_gaussian = len(numbers) == len(given.graph.names)
    if numbers and not is_gaussian and is_read(data):
        how = {**how, "numeric": [*names_of("numeric", how.get("numeric") or ()), *numbers]}
    if is_read(data):
        how = with_policy({**how}, common_dialect([given]), ("drop", "level"))
    return open_data(
        data,
        used=given.columns(),
        declared=replace(declared_columns([given]), numeric=numbers),
        undeclared="numbers" if is_gaussian else "auto",
        takes_numbers=parameter("numeric"),
        **how,
    )


def _is_table(source: Any) -> bool:
    """Whether something is to be read as data; standard input is taken to be a table."""
    from gml.formats.recognition import graph_kind

    if not is_path(source):
        return is_data(source)
    return os.fspath(source) == "-" or graph_kind(source) is None


def draw_trace(source: Any, theme: Theme) -> Picture:
    """Draw the score of a search by step."""
    if not is_path(source):
        raise UsageError(
            f"{parameter('kind', 'trace')} needs the path of a trace, as gml hc writes it with "
            + parameter("trace")
        )
    from gml.formats.search_trace import read_trace
    from gml.pictures.plots.trace import score_trace

    return score_trace(read_trace(source), theme)


def draw_strengths(source: Any, threshold: float | None, theme: Theme) -> Picture:
    """Draw the strengths of edges and their threshold."""
    from gml.pictures.plots.strengths import edge_strengths

    given = graph_to_draw(source)
    if given.model is not None and given.graph.kind == "undirected":
        raise GraphError(
            f"{given.name}: the edges of an undirected model have couplings, which "
            f"{parameter('kind', 'matrix')} draws; how certain edges are, gml average "
            f"{parameter('by', 'mrf')} finds out"
        )
    return edge_strengths(given.graph, threshold=threshold, theme=theme)


def draw_losses(
    source: Any,
    graphs: Sequence[Any],
    theme: Theme,
    how: Mapping[str, Any],
) -> Picture:
    """Draw the held-out loss of graphs by cross-validation, done as `how` says."""
    if not graphs:
        raise UsageError(
            f"{parameter('kind', 'losses')} needs a table and at least one graph: gml draw "
            f"{parameter('kind', 'losses')} DATA GRAPH…"
        )
    from gml.pictures.plots.losses import held_out_losses, loss_rows
    from gml.verbs.score import score

    with reporter().phase("scoring"):
        found = score(source, list(graphs), **how)
    names = _short([scored.graph for scored in found])
    named = [replace(scored, graph=name) for scored, name in zip(found, names, strict=True)]
    return held_out_losses(loss_rows(named), theme=theme)


def _short(names: Sequence[str]) -> list[str]:
    """Return the names of files without their folders, unless two would be the same.

    Examples
    --------
    >>> _short(["a/x.json", "b/x.json", "b/y.json", "graph 4"])
    ['a/x.json', 'b/x.json', 'y.json', 'graph 4']
    """
    bare = [PurePath(name).name or name for name in names]
    return [
        short if bare.count(short) == 1 else name for short, name in zip(bare, names, strict=True)
    ]


def draw_cpt(source: Any, node: str | None, theme: Theme) -> Picture:
    """Draw the distribution of a node given its parents."""
    given = graph_to_draw(source)
    if given.field is not None:
        raise UsageError(
            f"{parameter('kind', 'cpt')} shows a table of a directed model; a conditional "
            "random field has none"
        )
    if given.model is None:
        raise UsageError(
            f"{parameter('kind', 'cpt')} needs a model, and this is a graph without tables; fit "
            "one with gml fit-params"
        )
    if node is None:
        raise UsageError(f"{parameter('kind', 'cpt')} needs {parameter('node')}")
    if node not in given.model.names:
        raise UsageError(f"{parameter('node')}: {unknown_name('node', node, given.model.names)}")
    from gml.pictures.plots.cpt import cpt_intervals
    from gml.verbs.shared.model_input import require_directed

    net = require_directed(given.model, f"draw {parameter('kind', 'cpt')}")
    return cpt_intervals(net.cpd(node), theme, level=_level_of_intervals(net))


def draw_classes(source: Any, node: str | None, theme: Theme) -> Picture:
    """Draw what the classes of a mixture are like."""
    from gml.model.mixtures.profiles import class_profiles
    from gml.pictures.plots.classes import class_plot
    from gml.verbs.shared.model_input import require_directed

    given = graph_to_draw(getattr(source, "model", source))
    if given.model is None:
        raise UsageError(
            f"{parameter('kind', 'classes')} needs a model, as gml mixture makes it, and this has "
            "no tables"
        )
    net = require_directed(given.model, f"draw {parameter('kind', 'classes')}")
    if node is not None and node not in net.names:
        raise UsageError(f"{parameter('node')}: {unknown_name('node', node, net.names)}")
    return class_plot(class_profiles(net, node), theme)


def _level_of_intervals(net: BayesNet) -> float | None:
    """The level of a model's intervals, as its file records it."""
    options = net.learning.get("options")
    level = options.get("intervals") if isinstance(options, Mapping) else None
    return level if isinstance(level, float) and 0 < level < 1 else None
