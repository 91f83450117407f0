"""Pictures of graphs and models, and plots of what is known about them: gml.draw, `gml draw`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from gml.data.options import ReadingKeywords, given_keywords, names_of
from gml.errors import UsageError, parameter, require_one_of, require_whole
from gml.graph.knowledge import Knowledge
from gml.model.entropy.density import Density
from gml.pictures.picture import Picture
from gml.pictures.rendering import require_renderer
from gml.pictures.themes import Theme, theme_named
from gml.verbs.shared.drawn_graph import (
    LAYOUTS,
    View,
    graph_in_text,
    graph_to_draw,
    layouter,
    model_for_evidence,
    picture_of,
)
from gml.verbs.shared.edge_weights import weighted
from gml.verbs.shared.front_door import front_door
from gml.verbs.shared.graph_input import GraphLike
from gml.verbs.shared.knowledge_input import Tiers

if TYPE_CHECKING:
    from gml.verbs.shared.data_input import Data

__all__ = ["draw", "graph_in_text", "graph_to_draw", "model_for_evidence", "require_renderer"]

KINDS = ("graph", "matrix", "trace", "strengths", "losses", "cpt", "classes")
# Which kinds of pictures a parameter is about, where not all.
_KINDS_OF = {
    **dict.fromkeys(("against", "evidence", "around", "radius", "tiers", "knowledge"), ("graph",)),
    **dict.fromkeys(("layout", "weight", "bars"), ("graph",)),
    **dict.fromkeys(("folds", "seed"), ("losses",)),
    "data": ("graph", "matrix"),
    "node": ("cpt", "classes"),
    "threshold": ("strengths",),
}
_TABLES = ("matrix", "losses")
FOLDS = 10


@front_door()
def draw(
    source: GraphLike | Data | Density,
    *graphs: GraphLike,
    kind: str = "graph",
    against: GraphLike | None = None,
    evidence: Mapping[str, Any] | None = None,
    theme: str = "light",
    layout: str = "layered",
    around: str | Sequence[str] = (),
    radius: int | None = None,
    weight: str = "auto",
    bars: bool | None = None,
    tiers: Tiers = (),
    knowledge: Knowledge | str | os.PathLike[str] | None = None,
    data: Data | None = None,
    node: str | None = None,
    threshold: float | None = None,
    folds: int | None = None,
    seed: int | None = None,
    threads: int | None = None,
    max_memory: int | None = None,
    **reading: Unpack[ReadingKeywords],
) -> Picture:
    """Draw a graph or a model, or plot what is known about it.

    Parameters
    ----------
    source
        A path, a Graph, a model or a learner's result. A model is drawn with the distribution of
        each node, and a Density as a curve. For other kinds: a table, or a graph with strengths
        (`matrix`); the file that `gml hc --trace` writes (`trace`); an averaged graph
        (`strengths`); a table (`losses`); a model (`cpt`); a mixture (`classes`).
    *graphs
        For `losses`, the graphs to be compared.
    kind
        "graph"; "matrix", a heat map of mutual information, strengths, couplings or partial
        correlations; "trace", the score of a search by step; "strengths" of edges with their
        threshold; held-out "losses" of graphs; "cpt", the distribution of a node given its parents,
        with its intervals; or "classes", what the classes of a mixture are like.
    against
        A reference: how the edges of the graph differ from it is shown. Two DAGs are compared
        arrow by arrow (`dag_shd` of `gml.compare`); beside another graph, a DAG stands for its
        CPDAG (`shd`).
    evidence
        Values observed in a model: its nodes show their posterior.
    theme
        "light", "dark" or "print".
    layout
        "layered", or "dot" for that of Graphviz, where it is installed.
    around, radius
        Draw only the nodes at most `radius` edges (2 by default) from these.
    weight
        What widths and colours of edges show: "strength", "mi", "coefficient", "coupling", another
        attribute, "none", or what the edges have ("auto"). The mutual information that edges lack
        comes from `data`, or from the model.
    bars
        Whether the nodes of a model show their distribution; by default they do.
    tiers, knowledge
        Tiers of nodes, which become ranks; or knowledge that has them, or a file of it.
    data
        A table, for the mutual information of edges, or for the heat map of the nodes of a graph.
    node
        Of `cpt`: the node. Of `classes`: the node that has them, by default the one that all others
        depend on.
    threshold
        Of `strengths`; by default the one that the graph was made with, and not below it.
    folds, seed
        Of `losses`: the number of folds (10), and the seed that makes them (0).
    threads
        Threads; all cores by default.
    max_memory
        Bytes that tables of inference may take; by default half of what is free.
    **reading
        How to read a table; see `gml.read`.

    Examples
    --------
    >>> import gml
    >>> gml.draw("sample_data/asia.dot").title
    'asia.dot: a dag, 8 nodes, 8 edges'
    >>> net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
    >>> gml.draw(net, evidence={"xray": "yes"}, around="lung", radius=1).title
    "a dag, 3 nodes, 2 edges; given xray=yes; 5 of 8 nodes, more than 1 edge from 'lung', left out"
    """
    require_one_of("kind", kind, KINDS)
    given = {
        "against": against is not None,
        "evidence": bool(evidence),
        "layout": layout != "layered",
        "around": around != (),
        "radius": radius is not None,
        "weight": weight != "auto",
        "bars": bars is not None,
        "tiers": bool(tiers),
        "knowledge": knowledge is not None,
        "data": data is not None,
        "node": node is not None,
        "threshold": threshold is not None,
        "folds": folds is not None,
        "seed": seed is not None,
    }
    _require_kind(kind, [name for name, is_given in given.items() if is_given])
    if graphs and kind != "losses":
        raise UsageError(
            f"one graph is drawn, not {len(graphs) + 1}; compare two by {parameter('against')}, or "
            f"several by {parameter('kind', 'losses')} DATA GRAPH…"
        )
    used = given_keywords(reading)
    if used and kind not in _TABLES and data is None:
        raise UsageError(f"{parameter(used[0])} is about reading a table, and none is read here")
    require_one_of("layout", layout, LAYOUTS)
    require_whole(0, radius=radius)
    require_whole(2, folds=folds)
    colours = theme_named(theme)
    if isinstance(source, Density):
        return _draw_density(source, kind, [name for name in given if given[name]], colours)
    if kind == "graph":
        view = View(
            theme=colours,
            layout=layouter(layout),
            against=None if against is None else graph_to_draw(against, ""),
            evidence=evidence or {},
            bars=bars,
            around=names_of("around", around),
            radius=radius,
            tiers=tiers,
            knowledge=knowledge,
            max_memory=max_memory,
        )
        return _draw_graph(source, weight, view, data, {"threads": threads, **reading})
    from gml.verbs.shared import drawn_plots as plots

    if kind == "matrix":
        picture = plots.draw_matrix(source, data, colours, {"threads": threads, **reading})
    elif kind == "trace":
        picture = plots.draw_trace(source, colours)
    elif kind == "strengths":
        picture = plots.draw_strengths(source, threshold, colours)
    elif kind == "losses":
        how = {"folds": folds or FOLDS, "seed": seed or 0, "threads": threads, **reading}
        picture = plots.draw_losses(source, graphs, colours, how)
    elif kind == "classes":
        picture = plots.draw_classes(source, node, colours)
    else:
        picture = plots.draw_cpt(source, node, colours)
    return replace(picture, background=colours.background)


def _draw_graph(
    source: Any, weight: str, view: View, data: Data | None, how: Mapping[str, Any]
) -> Picture:
    """Draw a graph; `data` are opened as said, for the weights of the edges."""
    given = graph_to_draw(source, "")
    counter = None
    if data is not None:
        if weight not in ("auto", "mi"):
            raise UsageError(
                f"{parameter('data')} is for {parameter('weight', 'mi')}, not for {weight}"
            )
        weight = "mi"
        from gml.verbs.shared.drawn_plots import counter_for

        counter = counter_for(given, data, how)
    graph, shown = weighted(given, weight, counter)
    return picture_of(replace(given, graph=graph), shown, view)


def _draw_density(density: Density, kind: str, given: Sequence[str], theme: Theme) -> Picture:
    if kind != "graph" or given:
        raise UsageError(
            f"a density has no {parameter(given[0]) if given else kind}: it is drawn as it is"
        )
    from gml.pictures.plots.density import density_plot

    return replace(density_plot(density, theme=theme), background=theme.background)


def _require_kind(kind: str, given: Sequence[str]) -> None:
    """Refuse what is pointless for a kind of picture."""
    for name in given:
        kinds = _KINDS_OF[name]
        if kind not in kinds:
            owners = " and ".join(parameter("kind", owner) for owner in kinds)
            raise UsageError(f"{parameter(name)} is for {owners}, not for {kind}")
