"""What DOT and GraphML say about the columns of nodes, in attributes that other programs ignore.

`levels` is a JSON list of the levels of a column, in their order; levels that are intervals are the
cut points. `type` is `numeric` for a column of numbers. Where a node has both, the levels count.
`hidden` is `true` for a node that has no column. The same names stand in graph JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from gml.errors import GraphError, quote
from gml.formats.foreign_edges import decode_list
from gml.graph.graph import Graph

NUMERIC = "numeric"
NUMBER_KEYS = frozenset(("gaussian", "regressions"))
"""What a node of numbers has in a model file, in the place of a table."""
COLUMN_ATTRIBUTES = ("levels", "type", "hidden")


class Columns(NamedTuple):
    """The levels of columns by name, the columns that hold numbers, and nodes without a column."""

    levels: dict[str, tuple[str, ...]]
    numeric: tuple[str, ...]
    hidden: tuple[str, ...] = ()


def column_attributes(graph: Graph, name: str, *, ascii: bool = False) -> dict[str, str]:
    """Return what a graph knows about the column of a node, as text; of ASCII only, if asked.

    Examples
    --------
    >>> graph = Graph.from_edges("AB", [], levels={"A": ("no", "yes")}, numeric=["B"])
    >>> column_attributes(graph, "A"), column_attributes(graph, "B")
    ({'levels': '["no", "yes"]'}, {'type': 'numeric'})
    """
    return {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=ascii)
        for key, value in graph.about_column(name).items()
    }


def read_columns(said: Mapping[str, Mapping[str, Any]], where: str, *, ours: bool) -> Columns:
    """Return what attributes say about the columns of nodes.

    `levels` that is not a JSON list of strings is somebody else's attribute. In a file that gml
    wrote (`ours`), a list that is damaged would be lost in silence, so that it is an error.
    """
    levels: dict[str, tuple[str, ...]] = {}
    numeric, hidden = [], []
    for name, attributes in said.items():
        if str(attributes.get("hidden")).lower() == "true":
            hidden.append(name)
        text = str(attributes.get("levels", "")).strip()
        found = decode_list(text)
        if isinstance(found, list) and all(isinstance(level, str) for level in found):
            levels[name] = tuple(found)
        elif ours and text.startswith("["):
            raise GraphError(f"{where}: the levels of {quote(name)} are not a JSON list of strings")
        elif attributes.get("type") == NUMERIC:
            numeric.append(name)
    return Columns(levels, tuple(numeric), tuple(hidden))
