"""Graphs for people: one edge per line."""

from __future__ import annotations

from gml.errors import counted
from gml.formats.text_room import require_graph_text
from gml.graph.graph import Graph
from gml.printable_text import printable, visible


def dump_text(graph: Graph) -> str:
    """Return a listing of the edges with their attributes, numbers to 6 significant digits."""
    require_graph_text(graph, "text")
    edges = [
        (
            visible(graph.names[edge.source]),
            edge.type,
            visible(graph.names[edge.target]),
            "  ".join(
                printable(f"{key} {value:.6g}" if isinstance(value, float) else f"{key} {value}")
                for key, value in edge.attributes.items()
                if value is not None
            ),
        )
        for edge in graph.edges()
    ]
    joined = {name for edge in edges for name in (edge[0], edge[2])}
    alone = [name for name in map(visible, graph.names) if name not in joined]
    lines = [f"{graph.kind}, {counted(len(graph.names), 'node')}, {counted(len(edges), 'edge')}"]
    widths = [max((len(edge[k]) for edge in edges), default=0) for k in (0, 2)]
    for source, type_, target, extra in edges:
        lines.append(f"{source:<{widths[0]}} {type_} {target:<{widths[1]}}  {extra}".rstrip())
    lines += [f"{name}  (no edges)" for name in alone]
    return "\n".join(lines) + "\n"
