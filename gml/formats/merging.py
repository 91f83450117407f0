"""Edges of foreign files: several between two nodes become one; lists become JSON strings."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from gml.data.json_text import parse_json
from gml.errors import DataError
from gml.graph.graph import Mark, oriented

MarkedEdge = tuple[str, Mark, str, Mark, dict[str, Any]]
"""Node, mark at it, node, mark at it, attributes."""


def merge_edges(edges: Iterable[MarkedEdge]) -> list[tuple[str, str, str, dict[str, Any]]]:
    """Return (source, type, target, attributes), one for each pair of nodes.

    Edges that disagree on the direction, a -> b and b -> a, make an undirected edge; of other
    edges that disagree the last one counts.

    Examples
    --------
    >>> merge_edges([("a", Mark.TAIL, "b", Mark.ARROW, {}), ("b", Mark.TAIL, "a", Mark.ARROW, {})])
    [('a', '---', 'b', {})]
    """
    marks: dict[tuple[str, str], list[tuple[Mark, Mark]]] = {}
    attributes: dict[tuple[str, str], dict[str, Any]] = {}
    for a, mark_a, b, mark_b, extra in edges:
        if (b, a) in marks:
            a, mark_a, b, mark_b = b, mark_b, a, mark_a
        marks.setdefault((a, b), []).append((mark_a, mark_b))
        attributes[a, b] = attributes.get((a, b), {}) | extra
    merged = []
    for (a, b), seen in marks.items():
        mark_a, mark_b = _agreed(seen)
        merged.append((*oriented(a, mark_a, b, mark_b), attributes[a, b]))
    return merged


_PLAIN = {(Mark.TAIL, Mark.ARROW), (Mark.ARROW, Mark.TAIL), (Mark.TAIL, Mark.TAIL)}


def _agreed(seen: list[tuple[Mark, Mark]]) -> tuple[Mark, Mark]:
    different = set(seen)
    if len(different) > 1 and different <= _PLAIN:
        return Mark.TAIL, Mark.TAIL
    return seen[-1]


def scalar(value: Any) -> Any:
    """Return a value that a format without lists can hold: anything else as a JSON string."""
    return value if isinstance(value, str | int | float) else json.dumps(value)


def decode_list(text: str) -> Any:
    """Return the list that a JSON string holds, or the text if it holds none."""
    try:
        value = parse_json(text, "")
    except DataError:
        return text
    return value if isinstance(value, list) else text
