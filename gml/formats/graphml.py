"""GraphML by networkx, with the marks as edge attributes; reads yEd's and igraph's files too.

yEd draws an edge by its `<y:Arrows source="…" target="…"/>`: `none` is no mark, a circle is a
circle, and all other shapes are arrows. Where an edge has the marks that gml writes, those count,
as yEd keeps them and gives every edge arrows of its own.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping
from typing import Any

from gml.data.json_text import parse_json
from gml.errors import CannotAnswer, DataError, GraphError, quote
from gml.formats.foreign_edges import decode_list, known_values, merge_edges, scalar
from gml.formats.foreign_nodes import column_attributes, read_columns
from gml.formats.text_room import require_graph_text
from gml.graph.edges import EDGE_TYPES, Mark
from gml.graph.graph import Graph
from gml.graph.provenance import Provenance
from gml.progress import reporter

_MARK_NAMES = {Mark.TAIL: "tail", Mark.ARROW: "arrow", Mark.CIRCLE: "circle"}
_MARKS: dict[Any, Mark] = {name: mark for mark, name in _MARK_NAMES.items()}
_YED_SHAPES = {
    "none": Mark.TAIL,
    "circle": Mark.CIRCLE,
    "transparent_circle": Mark.CIRCLE,
    "white_circle": Mark.CIRCLE,
}
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def dump_graphml(graph: Graph) -> str:
    """Return GraphML text."""
    import networkx as nx

    require_graph_text(graph, "GraphML")
    texts = [value for edge in graph.edges for value in edge.attributes.values()]
    for text in (*graph.names, *texts):
        if isinstance(text, str) and _FORBIDDEN.search(text):
            raise GraphError(
                f"GraphML cannot hold the control character in {quote(text)}; write JSON instead"
            )
    result = nx.Graph() if graph.kind == "undirected" else nx.DiGraph()
    result.graph["schema"] = "gml/1"
    result.graph["kind"] = graph.kind
    if graph.learning:
        result.graph["learning"] = json.dumps(graph.learning.written())
    for name in graph.names:
        result.add_node(name, **column_attributes(graph, name, ascii=True))
    for edge in graph.edges:
        source_mark, target_mark = EDGE_TYPES[edge.type]
        extra = {key: scalar(value) for key, value in known_values(edge.attributes).items()}
        result.add_edge(
            edge.source,
            edge.target,
            mark_source=_MARK_NAMES[source_mark],
            mark_target=_MARK_NAMES[target_mark],
            **extra,
        )
    return "\n".join(nx.generate_graphml(result)) + "\n"


def load_graphml(text: str, where: str) -> Graph:
    """Read a graph from GraphML."""
    import xml.etree.ElementTree as ET

    import networkx as nx

    try:
        with warnings.catch_warnings(record=True) as complaints:
            warnings.simplefilter("always")
            # Without its declaration, as the text has been decoded already.
            text = re.sub(r"^\s*<\?xml[^>]*\?>", "", text)
            found = nx.parse_graphml(_with_marks_of_yed(text), node_type=str)
    except (ET.ParseError, nx.NetworkXError, KeyError, ValueError, TypeError) as error:
        raise GraphError(f"{where}: cannot be read as GraphML: {error}") from None
    for complaint in complaints:
        reporter().warn(f"{where}: {complaint.message}")
    names = _names(found)
    said = {names[node]: data for node, data in found.nodes(data=True)}
    columns = read_columns(said, where, ours=found.graph.get("schema") == "gml/1")
    plain = Mark.ARROW if found.is_directed() else Mark.TAIL
    edges = merge_edges(
        (
            [names[source]],
            _mark(data, "source", Mark.TAIL),
            [names[target]],
            _mark(data, "target", plain),
            {
                key: decode_list(v) if isinstance(v, str) and v.startswith("[") else v
                for key, v in data.items()
                if not key.startswith("yed-mark-")
            },
        )
        for source, target, data in found.edges(data=True)
    )
    kind = found.graph.get("kind")
    kind = None if kind is None else str(kind)
    if kind is None and not found.is_directed():
        kind = "undirected"
    learning = _json_object(found.graph.get("learning"))
    try:
        return Graph.from_edges(
            names.values(),
            edges,
            kind=kind,
            levels=columns.levels,
            learning=Provenance.read(learning),
            numeric=columns.numeric,
            hidden=columns.hidden,
        )
    except GraphError as error:
        raise GraphError(f"{where}: {error}") from None


def _with_marks_of_yed(text: str) -> str:
    """Return GraphML in which the arrows that yEd draws are the marks of the edges."""
    import xml.etree.ElementTree as ET

    if "Arrows" not in text:
        return text
    root = ET.fromstring(text)
    space = root.tag.removesuffix("graphml")
    keys = {}
    for name in ("source", "target"):
        keys[name] = f"yed-mark-{name}"
        about = {"for": "edge", "attr.name": keys[name], "attr.type": "string"}
        root.insert(0, ET.Element(f"{space}key", {"id": keys[name], **about}))
    for edge in root.iter(f"{space}edge"):
        drawn: Mapping[str, str] = next(
            (part.attrib for part in edge.iter() if part.tag.endswith("}Arrows")), {}
        )
        for name, key in keys.items():
            if name in drawn:
                mark = _MARK_NAMES[_YED_SHAPES.get(drawn[name], Mark.ARROW)]
                ET.SubElement(edge, f"{space}data", {"key": key}).text = mark
    return ET.tostring(root, encoding="unicode")


def _mark(data: Mapping[str, Any], end: str, otherwise: Mark) -> Mark:
    """The mark at one end of an edge."""
    drawn = _MARKS.get(data.get(f"yed-mark-{end}"), otherwise)
    return _MARKS.get(data.get(f"mark_{end}"), drawn)


def _json_object(text: Any) -> dict[str, Any]:
    try:
        value = parse_json(text, "") if isinstance(text, str) else {}
    except (DataError, CannotAnswer):
        return {}
    return value if isinstance(value, dict) else {}


def _names(found: Any) -> dict[str, str]:
    """Names of the nodes: igraph's `name` or yEd's `label`, if every node has its own."""
    for key in ("name", "label"):
        given = {node: data.get(key) for node, data in found.nodes(data=True)}
        values = [value for value in given.values() if isinstance(value, str)]
        if len(values) == len(given) and len(set(values)) == len(values) and values:
            return {node: str(value) for node, value in given.items()}
    return {node: str(node) for node in found.nodes}
