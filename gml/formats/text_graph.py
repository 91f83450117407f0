"""Graphs for people: one edge per line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gml.errors import counted
from gml.formats.text_room import require_graph_text
from gml.graph.edges import Edge
from gml.graph.graph import Graph
from gml.printable_text import printable, visible
from gml.text_table import aligned, column


def dump_text(graph: Graph) -> str:
    """Return a listing of the edges with their attributes, numbers to 6 significant digits."""
    require_graph_text(graph, "text")
    edges = graph.edges
    sources = column([visible(edge.source) for edge in edges])
    targets = column([visible(edge.target) for edge in edges])
    ends = [
        f"{source} {edge.type} {target}"
        for source, edge, target in zip(sources, edges, targets, strict=True)
    ]
    keys = dict.fromkeys(key for edge in edges for key in edge.attributes)
    lines = [f"{graph.kind}, {counted(len(graph.names), 'node')}, {counted(len(edges), 'edge')}"]
    lines += aligned(list(zip(ends, *(_attribute(edges, key) for key in keys), strict=True)))
    joined = {end for edge in edges for end in (edge.source, edge.target)}
    lines += [f"{visible(n)}  (no edges)" for n in graph.names if n not in joined]
    return "\n".join(lines) + "\n"


def _attribute(edges: Sequence[Edge], key: str) -> list[str]:
    """An attribute of each edge with its name; nothing where an edge has none."""
    values = [edge.attributes.get(key) for edge in edges]
    are_numbers = all(value is None or isinstance(value, int | float) for value in values)
    return column(list(map(_shown, values)), name=printable(key), to_the_right=are_numbers)


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return printable(f"{value:.6g}" if isinstance(value, float) else f"{value}")
