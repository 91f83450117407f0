"""Graph arguments, and the columns of the data that their nodes need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gml.cli.shared.run import claim_input
from gml.errors import GraphError, listing, place, quote, unknown_name
from gml.progress import reporter

if TYPE_CHECKING:
    from gml.data.columns import Choice
    from gml.graph.graph import Graph


def read_graph_argument(path: str, role: str, *, several: bool = False) -> Graph:
    """Read a graph (or a model), which no output may replace; see `claim_input`."""
    from gml.formats.graphs import read_graph

    claim_input(path, role, several=several)
    return read_graph(path)


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
            "--exclude"
        )


def extended(graph: Graph, path: str) -> Graph:
    """Return a DAG for a graph; the message of a graph that stands for none names the file."""
    from gml.graph.extension import consistent_extension

    try:
        return consistent_extension(graph)
    except GraphError as error:
        raise GraphError(f"{place(path)}: {error}") from None
