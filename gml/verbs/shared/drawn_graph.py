"""Pictures of graphs: the part asked for, with the distributions of a model's nodes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from gml.data.options import names_of
from gml.errors import (
    GraphError,
    UsageError,
    counted,
    listing,
    parameter,
    quote,
    require_whole,
    unknown_name,
)
from gml.graph.graph import Graph
from gml.graph.knowledge import Knowledge
from gml.model.conditional.field import ConditionalField
from gml.model.sequences.chain_field import ChainField
from gml.pictures.graph_picture import GraphScene, Layouter, draw_graph
from gml.pictures.layout.layered import layered
from gml.pictures.node_distributions import distributions_of, distributions_of_field
from gml.pictures.picture import Picture
from gml.pictures.themes import LIGHT, Theme
from gml.progress import reporter
from gml.verbs.shared.graph_input import GivenGraph, GraphLike, given_graph
from gml.verbs.shared.knowledge_input import Tiers, known_of

if TYPE_CHECKING:
    from gml.model.bayesnet import BayesNet
    from gml.model.markovnet import MarkovNet

LAYOUTS = ("layered", "dot")
READABLE_NODES = 200
RADIUS = 2


@dataclass(frozen=True)
class View:
    """How a graph is to be seen."""

    theme: Theme = LIGHT
    layout: Layouter = layered
    against: GivenGraph | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    bars: bool | None = None
    """Whether nodes show distributions; None where they have some."""
    around: Sequence[str] = ()
    radius: int | None = None
    tiers: Tiers = ()
    knowledge: Knowledge | str | os.PathLike[str] | None = None
    max_memory: int | None = None


def picture_of(given: GivenGraph, weight: str | None, view: View) -> Picture:
    """Draw a graph, its edges by the attribute `weight`."""
    graphs = [given.graph] + ([] if view.against is None else [view.against.graph])
    if view.evidence:
        model_for_evidence(given)
    if view.bars and isinstance(given.field, ChainField):
        model_for_evidence(given)
    if view.bars and given.field is not None and not view.evidence:
        raise UsageError(
            f"{parameter('bars')}: the targets of a conditional random field have distributions "
            f"only given all inputs; say these with {parameter('evidence')}"
        )
    if view.bars and given.model is None and given.field is None:
        raise UsageError(
            f"{parameter('bars')} needs a model, and this is a graph without tables; fit one with "
            "gml fit-params"
        )
    tiers = known_of(given.graph.names, view.knowledge, tiers=view.tiers).tiers
    compared = _compared(given, view)
    graphs, left_out = _part_to_draw(graphs, view)
    graph, *reference = graphs
    distributions = {}
    if given.model is not None and (view.bars is not False or view.evidence):
        with reporter().phase("finding distributions"):
            distributions = distributions_of(
                given.model, graph.names, view.evidence, view.max_memory
            )
    if isinstance(given.field, ConditionalField) and view.evidence:
        distributions = distributions_of_field(
            given.field, graph.names, view.evidence, view.max_memory
        )
    size = f"{counted(len(graph.names), 'node')}, {counted(graph.n_edges, 'edge')}"
    kind = graph.kind_in_words if given.field is None else "a conditional random field"
    title = f"{kind}, {size}"
    if given.name:
        title = f"{_name_of(given)}: {title}"
    reference_name = ""
    if view.against is not None:
        reference_name = _name_of(view.against) or "the reference"
        title += f"; against {reference_name}"
    if view.evidence:
        title += "; given " + ", ".join(f"{name}={value}" for name, value in view.evidence.items())
    shown = {name for each in graphs for name in each.names}
    scene = GraphScene(
        graph=graph,
        title=title + (f"; {left_out}" if left_out else ""),
        distributions=distributions,
        against=reference[0] if reference else None,
        compared=compared,
        weight=weight,
        tiers=[[name for name in tier if name in shown] for tier in tiers],
        against_name=reference_name,
        caption=left_out,
    )
    picture = draw_graph(scene, view.theme, layout=view.layout)
    return replace(picture, graph=graph, background=view.theme.background)


def graph_in_text(
    source: GraphLike,
    *,
    around: str | Sequence[str] = (),
    radius: int | None = None,
    width: int | None = None,
    encoding: str | None = None,
) -> str:
    """Return what `draw(source, …).text(…)` does, without a picture, which takes longer."""
    from gml.pictures.text import draw_text

    require_whole(0, radius=radius)
    given = graph_to_draw(source, "")
    view = View(around=names_of("around", around), radius=radius)
    (graph,), _ = _part_to_draw([given.graph], view)
    return draw_text(graph, width=width, encoding=encoding)


def _compared(given: GivenGraph, view: View) -> tuple[Graph, Graph] | None:
    """The graphs whose differences are drawn, if any."""
    if view.against is None:
        return None
    from gml.graph.comparison import require_comparable

    compared = given.graph, view.against.graph
    try:
        require_comparable(*compared)
    except GraphError as error:
        names = f"{given.name or 'the graph'} and {view.against.name or 'the reference'}"
        raise GraphError(f"{names}: {error}") from None
    return compared


def model_for_evidence(given: GivenGraph) -> BayesNet | MarkovNet | ConditionalField:
    """Return the model in which something is observed."""
    if isinstance(given.field, ChainField):
        raise UsageError(
            f"{parameter('evidence')} is about one case, and a field of sequences is asked about "
            "their rows (gml query MODEL --batch ROWS.csv)"
        )
    if given.field is not None:
        return given.field
    if given.model is None:
        raise UsageError(
            f"{parameter('evidence')} needs a model, and this is a graph without tables; fit one "
            "with gml fit-params"
        )
    return given.model


def _part_to_draw(graphs: list[Graph], view: View) -> tuple[list[Graph], str]:
    """Return the graphs of the nodes to draw, and what is said about the others."""
    names = list(dict.fromkeys(name for graph in graphs for name in graph.names))
    if not view.around:
        if view.radius is not None:
            raise UsageError(f"{parameter('radius')} belongs to {parameter('around')}")
        if len(names) > READABLE_NODES:
            reporter().tell(
                f"{len(names)} nodes are hard to read; {parameter('around')} NAME "
                f"{parameter('radius', RADIUS)} draws those near one, "
                f"{parameter('kind', 'matrix')} a heat map"
            )
        return graphs, ""
    radius = RADIUS if view.radius is None else view.radius
    kept = nodes_around(graphs, view.around, radius)
    if len(kept) == len(names):
        return graphs, ""
    left_out = (
        f"{len(names) - len(kept)} of {counted(len(names), 'node')}, more than "
        f"{counted(radius, 'edge')} from {listing(view.around)}, left out"
    )
    reporter().tell(left_out)
    return [part_of(graph, kept) for graph in graphs], left_out


def _name_of(given: GivenGraph) -> str:
    """How a picture calls a graph that came from a file: by its name, whatever the folder."""
    return PurePath(given.name).name


def layouter(name: str) -> Layouter:
    """Return what places the nodes."""
    if name == "layered":
        return layered
    from gml.pictures.layout.graphviz import dot_layout

    return dot_layout


def graph_to_draw(source: GraphLike, name: str = "the graph") -> GivenGraph:
    """Return the graph or model; a table in its place is answered with what can be drawn of it."""
    try:
        return given_graph(source, name, takes_fields=True)
    except GraphError as error:
        from gml.formats.recognition import begins_like_table

        refuse_picture(source, "a graph")
        if isinstance(source, str | os.PathLike) and begins_like_table(source):
            raise GraphError(
                f"{quote(os.fspath(source))} is a table, where a graph or model is wanted; learn "
                "one with gml ges DATA -o graph.json, or draw the table with "
                + parameter("kind", "matrix")
            ) from error
        raise


def refuse_picture(source: Any, wanted: str) -> None:
    """Refuse a file that holds a picture already."""
    from gml.formats.recognition import picture_kind

    if isinstance(source, str | os.PathLike) and (kind := picture_kind(source)):
        raise GraphError(f"{os.fspath(source)}: {kind}, not {wanted}")


def nodes_around(graphs: Sequence[Graph], centres: Sequence[str], radius: int) -> set[str]:
    """Return the nodes at most `radius` edges from a centre, whatever the marks of the edges.

    Examples
    --------
    >>> chain = Graph.from_edges("abcd", [("a", "-->", "b"), ("c", "-->", "b"), ("c", "-->", "d")])
    >>> sorted(nodes_around([chain], ["a"], 2))
    ['a', 'b', 'c']
    """
    names = list(dict.fromkeys(name for graph in graphs for name in graph.names))
    for centre in centres:
        if centre not in names:
            raise UsageError(f"{parameter('around')}: {unknown_name('node', centre, names)}")
    found = front = set(centres)
    for _ in range(min(radius, len(names))):
        beside = {
            graph.names[j]
            for graph in graphs
            for i in (k for k, name in enumerate(graph.names) if name in front)
            for j in np.flatnonzero(graph.marks[i]).tolist()
        }
        front = beside - found
        found = found | beside
    return found


def part_of(graph: Graph, kept: set[str]) -> Graph:
    """Return the graph of some of the nodes and the edges between them."""
    at = [k for k, name in enumerate(graph.names) if name in kept]
    place = {old: new for new, old in enumerate(at)}
    return replace(
        graph,
        names=tuple(graph.names[k] for k in at),
        marks=graph.marks[np.ix_(at, at)],
        levels={name: levels for name, levels in graph.levels.items() if name in kept},
        attributes={
            (place[i], place[j]): found
            for (i, j), found in graph.attributes.items()
            if i in place and j in place
        },
        numeric=tuple(name for name in graph.numeric if name in kept),
        hidden=tuple(name for name in graph.hidden if name in kept),
    )
