"""Draw a graph: boxes for nodes, marked curves for edges, and a legend of what they mean.

Nodes and edges are laid out and written in the order of their names, so that the picture is the
same whatever the order of the nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from gml.errors import counted, listing
from gml.graph.edge_numbers import number_in
from gml.graph.graph import Graph
from gml.pictures.differences import (
    IN_BOTH,
    DrawnEdge,
    comparison_in_words,
    counts_of,
    edges_against,
    edges_by_name,
    node_states,
    state_in_words,
    stroke_of,
)
from gml.pictures.distributions import Bars, Bell, is_observed
from gml.pictures.edge_marks import Stroke, draw_edge, mark_sizes
from gml.pictures.edge_marks import width_of as width_of_edge
from gml.pictures.edge_weights import EdgeScale, numbers_in_words, weight_of
from gml.pictures.graph_legend import legend_of
from gml.pictures.layout.geometry import Layout, Link, Size
from gml.pictures.layout.layered import layered
from gml.pictures.layout.ports import roomy
from gml.pictures.legends import Entry, draw_legend, draw_words, width_of
from gml.pictures.node_boxes import Detail, NodeBox
from gml.pictures.picture import Picture
from gml.pictures.svg import Markup, document, element, label, number
from gml.pictures.themes import LIGHT, Theme
from gml.pictures.tier_bands import BEYOND, draw_bands, gutter_of, tier_of_each, upward_arrows
from gml.progress import reporter

__all__ = ["Bars", "Bell", "GraphScene", "Layouter", "draw_graph", "weight_of"]

_PADDING = 16.0
_LEAST_WIDTH = 360.0
_EDGES_DESCRIBED = 60


@dataclass(frozen=True)
class GraphScene:
    """What a picture of a graph shows."""

    graph: Graph
    title: str
    distributions: Mapping[str, Bars | Bell] = field(default_factory=dict)
    """Of the nodes that show one."""
    against: Graph | None = None
    """A reference: show which edges are added to it, missing, or turned, instead of weights."""
    weight: str | None = None
    """The attribute of the edges that widths and colours show."""
    tiers: Sequence[Sequence[str]] = ()
    compared: tuple[Graph, Graph] | None = None
    """The whole graph and reference, where `graph` and `against` are parts of them.

    Whether an arrow is in a CPDAG may depend on nodes that are not shown.
    """
    against_name: str = "the reference"
    """What the legend calls `against`."""
    heading: str = ""
    """Shown above the picture; the title is for screen readers and windows."""
    caption: str = ""
    """Shown below the picture."""


class Layouter(Protocol):
    """Anything that places nodes and edges."""

    def __call__(
        self,
        sizes: Sequence[Size],
        links: Sequence[Link],
        *,
        names: Sequence[str],
        tiers: Sequence[int | None] | None = None,
    ) -> Layout: ...


def draw_graph(scene: GraphScene, theme: Theme = LIGHT, *, layout: Layouter = layered) -> Picture:
    """Return the picture of a graph.

    Examples
    --------
    >>> graph = Graph.from_edges(["smoke", "lung"], [("smoke", "-->", "lung")])
    >>> draw_graph(GraphScene(graph, "two nodes")).svg[:4]
    '<svg'
    """
    boxes, edges = _boxes(scene), _edges(scene)
    names = [box.name for box in boxes]
    scale = _scale(scene, edges)
    links = _links(names, edges, scale, theme)
    sizes = roomy([box.size for box in boxes], links)
    tiers = tier_of_each(names, scene.tiers)
    with reporter().phase("laying out"):
        found = layout(sizes, links, names=names, tiers=tiers)
    upwards = [edges[k].words for k in upward_arrows(links, found)] if tiers else []
    if upwards:
        points = "arrow points" if len(upwards) == 1 else "arrows point"
        reporter().warn(f"{len(upwards)} {points} up, against the tiers: {listing(upwards)}")
    gutter = gutter_of(scene.tiers)
    content = draw_bands(tiers, sizes, found, gutter, theme) if tiers else []
    content += _draw_edges(edges, found, scene, scale, theme)
    content += _draw_nodes(boxes, sizes, found, scene, theme)
    reference, compared = None, ""
    if scene.against is not None:
        reference, compared = scene.against_name, comparison_in_words(scene.graph, scene.against)
    legend = legend_of(edges, boxes, scale, reference, theme, compared)
    drawing = Size(found.width + (BEYOND if scene.tiers else 0.0), found.height)
    return _framed(scene, theme, content, drawing, gutter, legend, edges)


def _links(
    names: Sequence[str], edges: Sequence[DrawnEdge], scale: EdgeScale | None, theme: Theme
) -> list[Link]:
    position = {name: k for k, name in enumerate(names)}
    links = []
    for edge in edges:
        stroke = _stroke(edge, scale, theme)
        links.append(
            Link(
                position[edge.source],
                position[edge.target],
                edge.type in ("-->", "o->"),
                width_of_edge(edge.type, stroke),
                *mark_sizes(edge.type, stroke),
            )
        )
    return links


def _draw_edges(
    edges: Sequence[DrawnEdge],
    found: Layout,
    scene: GraphScene,
    scale: EdgeScale | None,
    theme: Theme,
) -> list[Markup]:
    drawn = [
        element(
            "g",
            element("title", label(_edge_in_words(edge, scene.against_name))),
            *draw_edge(route, edge.type, _stroke(edge, scale, theme), theme.background),
            class_="edge",
            data_source=edge.source,
            data_target=edge.target,
            data_type=edge.type,
            data_difference=edge.state,
        )
        for edge, route in zip(edges, found.routes, strict=True)
    ]
    return [element("g", *drawn, class_="edges", fill="none")] if drawn else []


def _draw_nodes(
    boxes: Sequence[NodeBox],
    sizes: Sequence[Size],
    found: Layout,
    scene: GraphScene,
    theme: Theme,
) -> list[Markup]:
    drawn = [
        box.draw(centre, size, theme, scene.against_name)
        for box, centre, size in zip(boxes, found.centres, sizes, strict=True)
    ]
    if not drawn:
        return []
    return [
        element(
            "g",
            *drawn,
            class_="nodes",
            font_size=boxes[0].detail.font_size,
            text_anchor="middle",
            fill=theme.ink,
        )
    ]


def _boxes(scene: GraphScene) -> list[NodeBox]:
    names = set(scene.graph.names)
    states: dict[str, str] = {}
    if scene.against is not None:
        names |= set(scene.against.names)
        states = node_states(scene.graph, scene.against)
    detail = Detail.for_nodes(len(names))
    hidden = set(scene.graph.hidden)
    return [
        NodeBox(name, detail, scene.distributions.get(name), states.get(name), name in hidden)
        for name in sorted(names)
    ]


def _edges(scene: GraphScene) -> list[DrawnEdge]:
    if scene.against is None:
        return edges_by_name(scene.graph)
    shown = {*scene.graph.names, *scene.against.names}
    compared = scene.compared or (scene.graph, scene.against)
    return [edge for edge in edges_against(*compared) if {edge.source, edge.target} <= shown]


def _scale(scene: GraphScene, edges: Sequence[DrawnEdge]) -> EdgeScale | None:
    if scene.weight is None or scene.against is not None:
        return None
    name = scene.weight
    weights = (number_in(edge.attributes, name) for edge in edges)
    return EdgeScale.of(name, weights, scene.graph.learning.get("threshold"))


def _stroke(edge: DrawnEdge, scale: EdgeScale | None, theme: Theme) -> Stroke:
    if edge.state is not None:
        return stroke_of(edge.state, theme)
    weight = None if scale is None else number_in(edge.attributes, scale.name)
    if scale is None or weight is None:
        return Stroke(theme.line)
    return scale.stroke(weight, theme)


def _edge_in_words(edge: DrawnEdge, reference: str) -> str:
    words = [edge.words, *numbers_in_words(edge.attributes)]
    if edge.state is not None:
        state = state_in_words(edge.state, reference)
        words.append(f"{state}: {edge.instead} in {reference}" if edge.instead else state)
    return ", ".join(words)


def _framed(
    scene: GraphScene,
    theme: Theme,
    content: list[Markup],
    drawing: Size,
    gutter: float,
    groups: Sequence[Sequence[Entry]],
    edges: list[DrawnEdge],
) -> Picture:
    """Return the drawing with its heading above it, its legend and its caption below it."""
    words = [*map(width_of, groups), _LEAST_WIDTH if scene.heading or scene.caption else 0.0]
    room = max(drawing.width + gutter, min(max(words), _LEAST_WIDTH))
    top, framed = _PADDING, []
    if scene.heading:
        heading, height = draw_words(
            scene.heading, _PADDING, top, room, theme.ink, size=15, bold=True
        )
        framed += heading
        top += height + _PADDING / 2
    left = _PADDING + gutter + (room - gutter - drawing.width) / 2
    framed.append(element("g", *content, transform=f"translate({number(left)} {number(top)})"))
    top += drawing.height
    legend, height = draw_legend(groups, _PADDING, top + _PADDING, room, theme.ink)
    framed += legend
    top += height + _PADDING if legend else 0.0
    if scene.caption:
        caption, height = draw_words(
            scene.caption, _PADDING, top + _PADDING / 2, room, theme.muted, size=12
        )
        framed += caption
        top += height + _PADDING / 2
    size = Size(round(room + 2 * _PADDING, 2), round(top + _PADDING, 2))
    svg = document(
        *size,
        *framed,
        title=scene.title,
        background=theme.background,
        description=_description(scene, edges),
    )
    return Picture(svg, *size, scene.title)


def _description(scene: GraphScene, edges: list[DrawnEdge]) -> str:
    """Return what the picture shows, for those who do not see it."""
    graph = scene.graph
    kind = graph.kind_in_words
    said = (
        f"{kind[0].upper()}{kind[1:]} of {counted(len(graph.names), 'node')} and "
        f"{counted(graph.n_edges, 'edge')}"
    )
    if scene.against is not None:
        counts = ", ".join(f"{count} {state}" for state, count in counts_of(edges).items())
        compared = comparison_in_words(graph, scene.against)
        said += f", against {scene.against_name}, {compared}: {counts}"
    listed = [
        edge.words + (f" ({edge.state})" if edge.state not in (None, IN_BOTH) else "")
        for edge in edges[:_EDGES_DESCRIBED]
    ]
    if len(edges) > _EDGES_DESCRIBED:
        listed.append(f"{len(edges) - _EDGES_DESCRIBED} more")
    observed = [
        name for name in sorted(scene.distributions) if is_observed(scene.distributions[name])
    ]
    seen = f" Observed: {', '.join(observed)}." if observed else ""
    if graph.hidden:
        seen += f" Hidden: {', '.join(sorted(graph.hidden))}."
    return f"{said}. {'; '.join(listed)}{'.' if listed else ''}{seen}"
