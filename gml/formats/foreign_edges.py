"""Edges of foreign files: several between two nodes become one; lists become JSON strings."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gml.data.json_text import parse_json
from gml.errors import CannotAnswer, DataError
from gml.graph.edges import Mark, oriented

MarkedEdges = tuple[Sequence[str], Mark, Sequence[str], Mark, Mapping[str, Any]]
"""Nodes, the mark at them, nodes, the mark at them, attributes: edges from each to each."""

EDGE_BYTES = 160
"""The most bytes that an edge takes while it is merged, without its attributes."""

_PLAIN = {(Mark.TAIL, Mark.ARROW), (Mark.ARROW, Mark.TAIL), (Mark.TAIL, Mark.TAIL)}


class _Seen(NamedTuple):
    """What was said about a pair of nodes: the last marks, and whether others differ from them."""

    marks: tuple[Mark, Mark]
    attributes: Mapping[str, Any]
    plain: bool
    differ: bool = False

    def and_then(self, other: _Seen) -> _Seen:
        """Join what is said later."""
        return _Seen(
            other.marks,
            {**self.attributes, **other.attributes},
            self.plain and other.plain,
            self.differ or self.marks != other.marks,
        )


def merge_edges(
    edges: Iterable[MarkedEdges],
) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    """Yield (source, type, target, attributes), one per pair of nodes.

    Edges that disagree on the direction, a -> b and b -> a, make an undirected edge; if other edges
    disagree, the last one counts.

    Examples
    --------
    >>> tail, arrow = Mark.TAIL, Mark.ARROW
    >>> list(merge_edges([(["a"], tail, ["b"], arrow, {}), (["b"], tail, ["a"], arrow, {})]))
    [('a', '---', 'b', {})]
    """
    found: dict[tuple[str, str], _Seen] = {}
    for sources, at_source, targets, at_target, extra in edges:
        marks = (at_source, at_target)
        # One object for all edges of a statement, as there may be millions of them.
        said = _Seen(marks, extra, marks in _PLAIN)
        for a in sources:
            for b in targets:
                if (b, a) in found:
                    turned = said._replace(marks=(at_target, at_source))
                    found[b, a] = found[b, a].and_then(turned)
                elif (pair := (a, b)) in found:
                    found[pair] = found[pair].and_then(said)
                else:
                    found[pair] = said
    for (a, b), seen in found.items():
        undirected = seen.differ and seen.plain
        mark_a, mark_b = (Mark.TAIL, Mark.TAIL) if undirected else seen.marks
        yield (*oriented(a, mark_a, b, mark_b), seen.attributes)


def known_values(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of an edge that are known; a number that is not finite is not.

    Examples
    --------
    >>> known_values({"mi": math.inf, "df": 2, "note": None})
    {'df': 2}
    """
    return {
        key: value
        for key, value in attributes.items()
        if value is not None and not (isinstance(value, float) and not math.isfinite(value))
    }


def scalar(value: Any) -> Any:
    """Return a value that a format without lists can hold: anything else as a JSON string."""
    return value if isinstance(value, str | int | float) else json.dumps(value)


def decode_list(text: str) -> Any:
    """Return the list that a JSON string holds, or the text if it holds none that fits."""
    try:
        value = parse_json(text, "")
    except (DataError, CannotAnswer):
        return text
    return value if isinstance(value, list) else text
