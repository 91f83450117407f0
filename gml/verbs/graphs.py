"""Graphs as a user has them: a file, a Graph, a model, or what a learner returned."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gml.errors import GraphError, UsageError, listing, parameter, place, quote, unknown_name
from gml.progress import reporter

if TYPE_CHECKING:
    from gml.data.columns import Choice
    from gml.graph.graph import Graph
    from gml.model.bayesnet import BayesNet


def graph_or_model(source: Any) -> Graph | BayesNet:
    """Return a graph, or a model where there is one, from a path, an object or a result."""
    from gml.data.text_file import read_text
    from gml.formats.models import parse_any
    from gml.graph.graph import Graph
    from gml.model.bayesnet import BayesNet

    if isinstance(source, str | os.PathLike):
        return parse_any(read_text(source, error=GraphError), place(source))
    if isinstance(source, Graph | BayesNet):
        return source
    graph = getattr(source, "graph", None)
    if not isinstance(graph, Graph):
        raise UsageError(
            f"a {type(source).__name__} is no graph; give a path, a Graph, a model or a "
            "learner's result"
        )
    return graph


def graph_of(source: Any) -> Graph:
    """Return the graph of a path, an object or a result; a model's has its levels."""
    from gml.model.bayesnet import BayesNet

    found = graph_or_model(source)
    return found.graph if isinstance(found, BayesNet) else found


def declared_levels(graphs: Iterable[tuple[str, Graph]]) -> dict[str, tuple[str, ...]]:
    """The levels that graphs (by their paths) declare, which may differ in their order only."""
    levels: dict[str, tuple[str, ...]] = {}
    said_by: dict[str, str] = {}
    for path, graph in graphs:
        for name, declared in graph.levels.items():
            known = levels.setdefault(name, declared)
            if set(known) != set(declared):
                raise GraphError(
                    f"node {quote(name)} has the levels {listing(known)} in {said_by[name]}, but "
                    f"{listing(declared)} in {place(path)}"
                )
            said_by.setdefault(name, place(path))
    return levels


def columns_of(graph: Graph, path: str) -> Choice:
    """Pick the columns of the nodes; those without a node are ignored, and said once."""

    def used(names: Sequence[str]) -> Sequence[str]:
        nodes = _present(graph, path, names)
        ignored = [name for name in names if name not in nodes]
        if ignored:
            reporter().warn(f"not in the graph, ignored: {listing(ignored)}")
        return graph.names

    return used


def _present(graph: Graph, path: str, names: Sequence[str]) -> set[str]:
    """Check that every node is one of the columns, and return the nodes."""
    columns = set(names)
    for name in graph.names:
        if name not in columns:
            raise GraphError(f"{place(path)}: {unknown_name('column', name, names)}")
    return set(graph.names)


def require_columns(graph: Graph, path: str, names: Sequence[str]) -> None:
    """Check that the nodes of a graph are the columns used."""
    nodes = _present(graph, path, names)
    missing = [name for name in names if name not in nodes]
    if missing:
        raise GraphError(
            f"{place(path)}: no node for the columns {listing(missing)}; leave them out with "
            f"{parameter('exclude')}"
        )


def extended(graph: Graph, path: str) -> Graph:
    """Return a DAG for a graph; the message of a graph that stands for none names the file."""
    from gml.graph.extension import consistent_extension

    try:
        return consistent_extension(graph)
    except GraphError as error:
        raise GraphError(f"{place(path)}: {error}") from None
