"""Layouts by Graphviz: its program dot places nodes of our sizes, and routes the edges.

pydot writes the graph and runs the program. Nodes go in by number in the order of their names, so
that no name needs quoting and the order of the columns does not show.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gml.errors import CannotAnswer
from gml.pictures.layout.canonical import by_name
from gml.pictures.layout.geometry import Layout, Link, Point, Route, Size

if TYPE_CHECKING:
    import pydot

_POINTS_PER_INCH = 72


def dot_layout(
    sizes: Sequence[Size],
    links: Sequence[Link],
    *,
    names: Sequence[str],
    tiers: Sequence[int | None] | None = None,
    node_gap: float = 24.0,
    rank_gap: float = 48.0,
) -> Layout:
    """Return the layout that Graphviz gives; the parameters are those of `layered`."""
    return by_name(sizes, links, names, tiers, lambda *given: _placed(*given, node_gap, rank_gap))


def _placed(
    sizes: Sequence[Size],
    links: Sequence[Link],
    tiers: Sequence[int | None],
    node_gap: float,
    rank_gap: float,
) -> Layout:
    if not sizes:
        return Layout((), (), 0.0, 0.0)
    graph = _written(sizes, links, tiers, node_gap, rank_gap)
    try:
        found = json.loads(graph.create(prog="dot", format="json0"))
    except FileNotFoundError as missing:
        raise CannotAnswer(
            "this layout needs Graphviz, whose program dot is not installed; "
            "install it (for example: apt-get install graphviz), or use the layout layered"
        ) from missing
    _, _, width, height = (float(value) for value in found["bb"].split(","))
    centres: dict[int, Point] = {}
    for node in found["objects"]:
        if "pos" in node:
            x, y = (float(value) for value in node["pos"].split(","))
            centres[int(node["name"])] = Point(x, height - y)
    routes: dict[int, Route] = {}
    for edge in found.get("edges", []):
        if "pos" in edge:
            points = [place.split(",") for place in edge["pos"].split()]
            routes[int(edge["comment"])] = tuple(
                Point(float(x), height - float(y)) for x, y in points
            )
    return Layout(
        tuple(centres[node] for node in range(len(sizes))),
        tuple(routes[link] for link in range(len(links))),
        width,
        height,
    )


def _written(
    sizes: Sequence[Size],
    links: Sequence[Link],
    tiers: Sequence[int | None],
    node_gap: float,
    rank_gap: float,
) -> pydot.Dot:
    import pydot

    graph = pydot.Dot(
        graph_type="digraph",
        nodesep=_inches(node_gap),
        ranksep=_inches(rank_gap),
        newrank="true",
    )
    graph.set_node_defaults(shape="box", fixedsize="true", label='""')
    graph.set_edge_defaults(arrowhead="none")
    for node, size in enumerate(sizes):
        graph.add_node(pydot.Node(node, width=_inches(size.width), height=_inches(size.height)))
    for index, link in enumerate(links):
        graph.add_edge(pydot.Edge(link.source, link.target, comment=index))
    _separate(graph, tiers)
    return graph


def _separate(graph: Any, tiers: Sequence[int | None]) -> None:
    """Put an invisible node between tiers, so that those of a later one are all below it."""
    import pydot

    known = sorted({tier for tier in tiers if tier is not None})
    for earlier, later in zip(known, known[1:], strict=False):
        between = f"tier{later}"
        graph.add_node(pydot.Node(between, style="invis", width=0, height=0))
        for node, tier in enumerate(tiers):
            if tier == earlier:
                graph.add_edge(pydot.Edge(node, between, style="invis", weight=0))
            elif tier == later:
                graph.add_edge(pydot.Edge(between, node, style="invis", weight=0))


def _inches(length: float) -> str:
    return f"{length / _POINTS_PER_INCH:.6f}"
