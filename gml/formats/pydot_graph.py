"""Graphs of pydot, for scripts around Graphviz: nodes, marks and attributes as in DOT."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gml.formats.dot import edge_attributes, identifier, load_dot, node_attributes, quoted
from gml.graph.graph import Graph

if TYPE_CHECKING:
    import pydot


def to_pydot(graph: Graph) -> pydot.Dot:
    """Return the graph that DOT files of gml hold.

    Examples
    --------
    >>> graph = Graph.from_edges("AB", [("A", "---", "B")])
    >>> print(to_pydot(graph).to_string())
    digraph {
    kind="undirected";
    "A";
    "B";
    "A" -> "B" [dir=none];
    }
    <BLANKLINE>
    """
    import pydot

    result = pydot.Dot(graph_name="", graph_type="digraph")
    result.set("kind", f'"{graph.kind}"')
    for name in graph.names:
        node = pydot.Node(quoted(name))
        for key, value in node_attributes(graph, name).items():
            node.set(key, value)
        result.add_node(node)
    for edge in graph.edges:
        ends = quoted(edge.source), quoted(edge.target)
        # Attributes with names of pydot's own parameters go in one by one.
        drawn = pydot.Edge(*ends)
        for key, value in edge_attributes(edge).items():
            drawn.set(identifier(key), value)
        result.add_edge(drawn)
    return result


def from_pydot(graph: pydot.Dot) -> Graph:
    """Return the graph that pydot holds, read as a DOT file is.

    Examples
    --------
    >>> import pydot
    >>> drawn = pydot.Dot()
    >>> drawn.add_edge(pydot.Edge("A", "B"))
    >>> from_pydot(drawn)
    <Graph: dag, 2 nodes, 1 edge: A --> B>
    """
    return load_dot(graph.to_string(), "the graph of pydot")
