"""Draw a graph: boxes for nodes, marked curves for edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from gml.graph.graph import Graph
from gml.pictures.layout.geometry import Layout, Link, Size
from gml.pictures.layout.layered import layered
from gml.pictures.picture import Picture
from gml.pictures.svg import document, element, label, number
from gml.pictures.text_width import text_width
from gml.pictures.themes import LIGHT, Theme


@dataclass(frozen=True)
class Bars:
    """The distribution of a node of labels, and the level that was observed or set, if any."""

    levels: tuple[str, ...]
    shares: tuple[float, ...]
    observed: int | None = None
    prior: tuple[float, ...] | None = None
    """The shares before anything was observed."""


@dataclass(frozen=True)
class Bell:
    """The distribution of a node of numbers; an observed one has no spread."""

    mean: float
    sd: float


@dataclass(frozen=True)
class GraphScene:
    """What a picture of a graph shows."""

    graph: Graph
    title: str
    distributions: Mapping[str, Bars | Bell] = field(default_factory=dict)
    """Of the nodes that show one."""
    against: Graph | None = None
    """Show what has to change in `graph` to make it this one: added, missing, reversed."""
    weight: str | None = None
    """The attribute of the edges that widths and colours show."""
    tiers: Sequence[Sequence[str]] = ()
    against_name: str = "the reference"
    """What the legend calls `against`."""
    caption: str = ""
    """Shown below the picture."""


def weight_of(graph: Graph) -> str | None:
    """Return the attribute that edges are best shown with: the first of those that they have."""
    known = {name for found in graph.attributes.values() for name in found}
    return next((name for name in ("strength", "coefficient", "mi") if name in known), None)


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
    """Return the picture of a graph."""
    graph = scene.graph
    sizes = [Size(text_width(name, 13) + 24, 32) for name in graph.names]
    edges = list(graph.edges())
    links = [Link(edge.source, edge.target, edge.type == "-->") for edge in edges]
    found = layout(sizes, links, names=graph.names)
    content = []
    for route in found.routes:
        start, *rest = (f"{number(point.x)},{number(point.y)}" for point in route)
        content.append(
            element("path", d=f"M{start} C{' '.join(rest)}", fill="none", stroke=theme.line)
        )
    for name, size, centre in zip(graph.names, sizes, found.centres, strict=True):
        content += [
            element(
                "rect",
                x=centre.x - size.width / 2,
                y=centre.y - size.height / 2,
                width=size.width,
                height=size.height,
                fill=theme.node,
                stroke=theme.line,
            ),
            element(
                "text",
                label(name),
                x=centre.x,
                y=centre.y + 4,
                font_size=13,
                text_anchor="middle",
                fill=theme.ink,
            ),
        ]
    svg = document(
        found.width, found.height, *content, title=scene.title, background=theme.background
    )
    return Picture(svg, found.width, found.height, scene.title)
