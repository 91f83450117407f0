"""Graphs in notebooks: pictures up to some size, and a way to one beyond it."""

from __future__ import annotations

from typing import Protocol

from gml.errors import CannotAnswer, counted
from gml.formats.reports.rows import shown
from gml.graph.graph import Graph
from gml.pictures.graph_picture import GraphScene, draw_graph, weight_of
from gml.pictures.notebook.tables import block, paragraph, table
from gml.pictures.svg import Markup

MOST_NODES = 200
"""The nodes of a graph that can still be read in one picture."""

_FIGURES = {
    "score": "score",
    "total_mi": "total mutual information",
    "threshold": "threshold",
}


class _Learned(Protocol):
    """The result of any learner."""

    @property
    def graph(self) -> Graph: ...


def graph_svg(graph: Graph) -> str | None:
    """Return the picture of a graph; nothing of one that could not be read."""
    return _drawn(_scene(graph))


def graph_html(graph: Graph) -> str | None:
    """Say what to do with a graph that is too large for a picture; nothing of others."""
    return None if _drawn(_scene(graph)) is not None else block(_too_large(graph))


def picture_of(scene: GraphScene) -> Markup:
    """Return a picture, or what to do instead where there are too many nodes or edges to read."""
    return _drawn(scene) or _too_large(scene.graph)


def _drawn(scene: GraphScene) -> Markup | None:
    if len(scene.graph.names) > MOST_NODES:
        return None
    try:
        return Markup(draw_graph(scene).svg)
    except CannotAnswer:
        return None


def learned_html(result: _Learned) -> str:
    """Return the graph that a learner found, under the figures of the result."""
    figures = [
        f"{words} {shown(getattr(result, name))}"
        for name, words in _FIGURES.items()
        if getattr(result, name, None) is not None
    ]
    said = [_title(result.graph), *figures]
    if not getattr(result, "complete", True):
        said.append("not complete: time ran out")
    gaps = [vars(gap) for gap in getattr(result, "gaps", ())]
    beside = [table(gaps, headers=["graph"])] if gaps else []
    return block(paragraph("; ".join(said)), picture_of(_scene(result.graph)), *beside)


def _scene(graph: Graph) -> GraphScene:
    return GraphScene(graph, _title(graph), weight=weight_of(graph))


def _title(graph: Graph) -> str:
    nodes, edges = counted(len(graph.names), "node"), counted(graph.n_edges, "edge")
    kind = "Undirected graph" if graph.kind == "undirected" else graph.kind.upper()
    return f"{kind}: {nodes}, {edges}"


def _too_large(graph: Graph) -> Markup:
    around = repr(min(graph.names))
    return paragraph(
        f"{_title(graph)}: too many to read in one picture. "
        f"gml.draw(graph, around={around}, radius=2) draws what is near a node."
    )
