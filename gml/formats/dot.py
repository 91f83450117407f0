"""DOT: written so that Graphviz draws it as it is, and read as people write it by hand.

Names are always quoted; a quote and a backslash inside are escaped, nothing else, so every name
comes back. What is known about the column of a node stands on the line of the node: its `levels` as
a JSON list, or `type=numeric`; a node without a column is `hidden`, and drawn with dashes. How the
table was read that the graph was learned from stands beside its kind. Two arrows a -> b and b -> a
make one undirected edge.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from gml.data.dialect import NAMES as READING
from gml.errors import GraphError, quote
from gml.formats.dot_grammar import DotParser
from gml.formats.foreign_edges import (
    EDGE_BYTES,
    MarkedEdges,
    decode_list,
    known_values,
    merge_edges,
    scalar,
)
from gml.formats.foreign_nodes import column_attributes, read_columns
from gml.formats.text_room import require_graph_text
from gml.graph.edges import COMPELLED, EDGE_TYPES, Edge, Mark
from gml.graph.graph import Graph
from gml.graph.provenance import Provenance
from gml.resources import require_memory

_SHAPES = {Mark.TAIL: "none", Mark.ARROW: "normal", Mark.CIRCLE: "odot"}
_MARK_ATTRIBUTES = ("dir", "arrowhead", "arrowtail")
_NUMERAL = re.compile(r"-?(\.\d+|\d+(\.\d*)?)")
_TRUTH = {"true": True, "false": False}
_NUMBER = re.compile(r"[+-]?(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


# ---------------------------------------------------------------------- writing


def dump_dot(graph: Graph) -> str:
    """Return DOT text."""
    require_graph_text(graph, "DOT")
    about = {"kind": graph.kind, **_reading(graph)}
    lines = ["digraph {", f"  graph{_shown({key: quoted(text) for key, text in about.items()})};"]
    for name in graph.names:
        lines.append(f"  {quoted(name)}{_shown(node_attributes(graph, name))};")
    for edge in graph.edges:
        source, target = edge.source, edge.target
        lines.append(f"  {quoted(source)} -> {quoted(target)}{_shown(edge_attributes(edge))};")
    lines.append("}")
    return "\n".join(lines) + "\n"


def _reading(graph: Graph) -> dict[str, str]:
    """How the table was read that a graph was learned from: lists as JSON, a tab by its name."""
    return {
        name: json.dumps(said, ensure_ascii=False)
        if isinstance(said, list)
        else "tab"
        if said == "\t"
        else str(said)
        for name, said in graph.learning.reading.items()
    }


def _shown(attributes: Mapping[str, str]) -> str:
    items = [f"{identifier(key)}={text}" for key, text in attributes.items()]
    return f" [{', '.join(items)}]" if items else ""


def node_attributes(graph: Graph, name: str) -> dict[str, str]:
    """Return what is known about the column of a node, as DOT writes the values."""
    found = {key: quoted(text) for key, text in column_attributes(graph, name).items()}
    return found | ({"style": "dashed"} if name in graph.hidden else {})


def edge_attributes(edge: Edge) -> dict[str, str]:
    """Return how an edge is drawn, and what else is known about it, as DOT writes the values."""
    others = {key: _value(value) for key, value in known_values(edge.attributes).items()}
    return _mark_attributes(edge.type) | others


def quoted(name: str) -> str:
    """Return a name in quotes."""
    if "\0" in name:
        raise GraphError(f"DOT cannot hold the null character in {quote(name)}; write JSON instead")
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def identifier(key: str) -> str:
    """Return the name of an attribute, in quotes where it needs them."""
    return key if re.fullmatch(r"[A-Za-z_]\w*", key, re.ASCII) else quoted(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = repr(value) if isinstance(value, float) else str(scalar(value))
    return text if _NUMERAL.fullmatch(text) else quoted(text)


def _mark_attributes(type_: str) -> dict[str, str]:
    tail, head = EDGE_TYPES[type_]
    if type_ == "-->":
        return {}
    if type_ == "---":
        return {"dir": "none"}
    return {"dir": "both", "arrowtail": _SHAPES[tail], "arrowhead": _SHAPES[head]}


# ---------------------------------------------------------------------- reading

_FEW_EDGES = 10_000


def load_dot(text: str, where: str) -> Graph:
    """Read a graph from DOT."""
    parser = DotParser(text, where)
    parser.graph()
    if parser.n_edges > _FEW_EDGES:
        size = parser.n_edges * EDGE_BYTES
        require_memory(size, None, f"{where}: reading {parser.n_edges} edges")
    kind = parser.kind
    if kind is None and not parser.directed and not parser.edges:
        kind = "undirected"
    columns = read_columns(parser.columns, where, ours=parser.kind is not None)
    try:
        return Graph.from_edges(
            parser.nodes,
            merge_edges(_marked(parser)),
            kind=kind,
            levels=columns.levels,
            numeric=columns.numeric,
            hidden=columns.hidden,
            learning=_learning(parser.about),
        )
    except GraphError as error:
        raise GraphError(f"{where}: {error}") from None


def _learning(about: Mapping[str, str]) -> Provenance:
    """What `_reading` says of a graph."""
    found = {name: decode_list(about[name]) for name in READING if name in about}
    return Provenance({"options": found} if found else {})


def _marked(parser: DotParser) -> Iterator[MarkedEdges]:
    said: Mapping[str, str] | None = None
    extra: dict[str, Any] = {}
    for sources, targets, attributes in parser.edges:
        if attributes is not said:
            said = attributes
            extra = {k: _meant(k, v) for k, v in said.items() if k not in _MARK_ATTRIBUTES}
        tail, head = _marks(attributes, parser.directed)
        yield sources, tail, targets, head, extra


def _marks(attributes: Mapping[str, str], directed: bool) -> tuple[Mark, Mark]:
    """Marks at tail and head, as Graphviz would draw them."""
    drawn = attributes.get("dir", "forward" if directed else "none")
    tail = _shape(attributes.get("arrowtail", "normal")) if drawn in ("back", "both") else Mark.TAIL
    head = (
        _shape(attributes.get("arrowhead", "normal")) if drawn in ("forward", "both") else Mark.TAIL
    )
    return tail, head


def _shape(name: str) -> Mark:
    return {"none": Mark.TAIL, "odot": Mark.CIRCLE}.get(name, Mark.ARROW)


def _meant(key: str, text: str) -> Any:
    """Return a number where the text is one, a list where it is one in JSON."""
    if text.startswith("["):
        return decode_list(text)
    if key == COMPELLED:
        return _TRUTH.get(text, text)
    if not _NUMBER.fullmatch(text) or len(text) > 300:
        return text
    number = int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)
    return number if math.isfinite(number) else text
