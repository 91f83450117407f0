"""Graph arguments, and the columns of the data that their nodes need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gml.cli.shared.run import claim_input
from gml.verbs.graphs import columns_of, declared_levels, extended, require_columns

if TYPE_CHECKING:
    from gml.graph.graph import Graph

__all__ = ["columns_of", "declared_levels", "extended", "read_graph_argument", "require_columns"]


def read_graph_argument(path: str, role: str, *, several: bool = False) -> Graph:
    """Read a graph (or a model), which no output may replace; see `claim_input`."""
    from gml.formats.graphs import read_graph

    claim_input(path, role, several=several)
    return read_graph(path)
