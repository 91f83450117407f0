"""Graph JSON: node-link JSON as networkx (3.6 and later) writes it, schema gml/1."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from gml.data.json_text import parse_json
from gml.errors import GraphError, quote
from gml.formats.content_hash import NO_INPUTS, Hashes, is_changed
from gml.formats.foreign_nodes import NUMBER_KEYS, NUMERIC, Columns
from gml.formats.json_document import SCHEMA, document_text
from gml.formats.text_room import require_graph_text
from gml.graph.graph import Graph
from gml.graph.provenance import Provenance
from gml.progress import reporter

NOTHING_MORE: Mapping[str, Any] = MappingProxyType({})


def dump_json(graph: Graph, *, inputs: Hashes = NO_INPUTS) -> str:
    """Return the text of a graph file, one line per node and edge, so that diffs can be read."""
    require_graph_text(graph, "JSON")
    about: dict[str, Any] = {"schema": SCHEMA, "kind": graph.kind}
    if graph.learning:
        about["learning"] = graph.learning.written()
    nodes = [{"id": name} | graph.about_column(name) for name in graph.names]
    return node_link_text(about, nodes, edge_objects(graph), inputs)


def edge_objects(graph: Graph) -> list[dict[str, Any]]:
    """Return the edges of a graph with all that is known of them."""
    return [
        {"source": edge.source, "target": edge.target, "type": edge.type}
        | {key: _finite(value) for key, value in edge.attributes.items()}
        for edge in graph.edges
    ]


def node_link_text(
    about: dict[str, Any],
    nodes: list[dict[str, Any]],
    edges: list[dict[str, Any]],
    inputs: Hashes,
    more: Mapping[str, Any] = NOTHING_MORE,
) -> str:
    """Return the text of a graph or model file; `more` are other fields at its end."""
    directed = about["kind"] not in ("undirected", "crf")
    first = {"directed": directed, "multigraph": False}
    return document_text(
        first | {"graph": about, "nodes": nodes, "edges": edges} | dict(more), inputs
    )


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def parse_graph_json(text: str, where: str) -> dict[str, Any]:
    """Return the content of a graph file; warns if it is no longer what was written."""
    content = parse_json(text, where, error=GraphError)
    if isinstance(content, dict) and content.get("kind") == "density":
        raise GraphError(
            f"{where}: the density of a numeric variable, which gml maxent wrote, not a graph or a "
            "model over labels"
        )
    if not isinstance(content, dict) or not isinstance(content.get("nodes"), list):
        raise GraphError(f'{where}: not a graph: "nodes" is missing')
    if is_changed(content):
        reporter().warn(f"{where}: changed since it was written (its hash differs)")
    return content


def graph_of(content: dict[str, Any], where: str) -> Graph:
    """Return the graph, or that of the model, in the content of a file, ours or networkx's."""
    about = content.get("graph", {})
    if not isinstance(about, dict):
        raise GraphError(f'{where}: "graph" is not an object')
    names, columns = _read_nodes(content["nodes"], where)
    links = content.get("edges", content.get("links", []))
    if not isinstance(links, list):
        raise GraphError(f'{where}: "edges" is not a list')
    kind = kind_in(content)
    if kind is not None and not isinstance(kind, str):
        raise GraphError(f'{where}: "kind" is not a string')
    plain = "-->" if content.get("directed", "factors" not in content) else "---"
    edges = [_read_edge(link, plain, where) for link in links]
    if kind == "undirected" and "factors" in about:
        raise GraphError(f'{where}: "factors" must not be within "graph", but beside it')
    try:
        return Graph.from_edges(
            names,
            edges,
            kind=kind,
            levels=columns.levels,
            learning=Provenance.read(about.get("learning")),
            numeric=columns.numeric,
            hidden=columns.hidden,
        )
    except GraphError as error:
        raise GraphError(f"{where}: {error}") from None


def kind_in(content: dict[str, Any]) -> Any:
    """Return what a file says of the kind of its graph; one with factors has no arrows."""
    about = content.get("graph")
    kind = about.get("kind") if isinstance(about, dict) else None
    if kind is None and not content.get("directed", "factors" not in content):
        return "undirected"
    return kind


def _read_nodes(nodes: list[Any], where: str) -> tuple[list[str], Columns]:
    names: list[str] = []
    levels: dict[str, tuple[str, ...]] = {}
    numeric: list[str] = []
    hidden: list[str] = []
    for node in nodes:
        if not isinstance(node, dict) or "id" not in node:
            raise GraphError(f'{where}: a node has no "id"')
        name = str(node["id"])
        names.append(name)
        if node.get("hidden") is True:
            hidden.append(name)
        declared = node.get("levels")
        if declared is not None:
            if not isinstance(declared, list) or not all(isinstance(v, str) for v in declared):
                raise GraphError(f"{where}: levels of {quote(name)} are not a list of strings")
            levels[name] = tuple(declared)
        elif node.get("type") == NUMERIC or not NUMBER_KEYS.isdisjoint(node):
            numeric.append(name)
    return names, Columns(levels, tuple(numeric), tuple(hidden))


def _read_edge(link: Any, plain: str, where: str) -> tuple[str, str, str, dict[str, Any]]:
    if not isinstance(link, dict) or "source" not in link or "target" not in link:
        raise GraphError(f'{where}: an edge has no "source" or "target"')
    type_ = link.get("type", plain)
    if not isinstance(type_, str):
        raise GraphError(f'{where}: the "type" of an edge is not a string')
    return str(link["source"]), type_, str(link["target"]), link
