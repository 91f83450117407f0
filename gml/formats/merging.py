"""Edges of foreign files: several between two nodes become one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gml.graph.graph import Mark, oriented

MarkedEdge = tuple[str, Mark, str, Mark, dict[str, Any]]
"""Node, mark at it, node, mark at it, attributes."""


def merge_edges(edges: Iterable[MarkedEdge]) -> list[tuple[str, str, str, dict[str, Any]]]:
    """Return (source, type, target, attributes), one for each pair of nodes.

    Arrows both ways, a -> b and b -> a, make an undirected edge; otherwise the last marks count.

    Examples
    --------
    >>> merge_edges([("a", Mark.TAIL, "b", Mark.ARROW, {}), ("b", Mark.TAIL, "a", Mark.ARROW, {})])
    [('a', '---', 'b', {})]
    """
    merged: dict[tuple[str, str], tuple[Mark, Mark, dict[str, Any]]] = {}
    for a, mark_a, b, mark_b, extra in edges:
        if (b, a) in merged:
            a, mark_a, b, mark_b = b, mark_b, a, mark_a
        if (a, b) in merged:
            before_a, before_b, attributes = merged[a, b]
            opposed = {(mark_a, mark_b), (before_a, before_b)} == {
                (Mark.TAIL, Mark.ARROW),
                (Mark.ARROW, Mark.TAIL),
            }
            if opposed:
                mark_a = mark_b = Mark.TAIL
            extra = attributes | extra
        merged[a, b] = (mark_a, mark_b, extra)
    return [
        (*oriented(a, mark_a, b, mark_b), extra)
        for (a, b), (mark_a, mark_b, extra) in merged.items()
    ]
