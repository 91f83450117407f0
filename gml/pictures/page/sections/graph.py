"""The graph and what it says: places that scripts fill, and a picture for when they do not run."""

from __future__ import annotations

from gml.errors import CannotAnswer, agreeing, counted
from gml.graph.open_arrows import open_arrows
from gml.model.bayesnet import BayesNet
from gml.model.markovnet import MarkovNet
from gml.pictures.graph_picture import Bars, Bell, GraphScene, draw_graph
from gml.pictures.page.content import ReportContent
from gml.pictures.page.html import NOTHING, figure, paragraph, tag
from gml.pictures.page.posteriors import Posteriors
from gml.pictures.page.sections.section import Section
from gml.pictures.svg import Markup, label

# Beyond this, a still picture of the whole graph helps nobody, and takes long to lay out.
_MOST_NODES = 200
_MOST_WITH_BARS = 60


def graph_section(
    content: ReportContent, posteriors: Posteriors, undrawn: str | None = None
) -> Section:
    """Return the interactive graph, with the panels beside it, and why no edges are in it."""
    net = content.net
    sort = "mixed" if net.is_mixed else "numeric" if net.is_gaussian else "discrete"
    size = (
        f"{counted(len(net.names), f'{sort} node')}, {counted(net.graph.n_edges, 'edge')}, "
        f"{counted(net.n_parameters, 'parameter')}."
    )
    left_open = len(open_arrows(net.graph))
    if left_open:
        size += (
            f" The data leave open which way {counted(left_open, 'arrow')} "
            f"{agreeing(left_open, 'points', 'point')}: what rests on one of them says so."
        )
    aims = "to see its table, and to observe or set it"
    if isinstance(net, MarkovNet):
        size += (
            " The model is undirected: an edge says that two nodes depend on one another given all "
            "others, not which of them is the cause. So there is no section on interventions, "
            "which need arrows."
        )
        aims = "to see its distribution, and to observe it"
    how = paragraph(posteriors.why, class_="note") if posteriors.why else NOTHING
    edges = paragraph(f"No edges are drawn: {undrawn}.", class_="note") if undrawn else NOTHING
    view = tag(
        "div",
        id="graph-view",
        role="application",
        aria_label=f"Interactive graph: choose a node {aims}",
    )
    panels = tag(
        "div",
        tag("div", id="evidence-panel", role="region", aria_label="What is known"),
        tag("div", id="node-panel", role="region", aria_label="The chosen node"),
        class_="panels",
    )
    posterior = tag("div", id="posterior-panel", role="region", aria_label="All posteriors")
    return Section(
        "graph",
        "Graph",
        (
            paragraph(size),
            edges,
            how,
            _without_scripts(content, posteriors),
            view,
            panels,
            posterior,
        ),
    )


def interventions_section(net: BayesNet) -> Section:
    """Return the place where interventions stand beside observations."""
    about = (
        "To observe a value says something about its causes; to set it by hand does not: the node "
        "is cut off from its parents first, and only what follows from it changes. The two differ "
        "where the arrows of the graph are read as causes, which data alone do not prove."
    )
    view = tag("div", id="interventions-view")
    name = net.names[0] if net.names else "NODE"
    command = f"gml query MODEL --do '{name}=…'"
    still = tag(
        "noscript",
        tag("p", label("Without scripts, ask on the command line: "), tag("code", label(command))),
    )
    return Section("interventions", "Interventions", (paragraph(about), still, view))


def _without_scripts(content: ReportContent, posteriors: Posteriors) -> Markup:
    scene = GraphScene(
        content.net.graph, f"Graph of {content.model}", _distributions(content, posteriors)
    )
    try:
        if len(content.net.names) <= _MOST_NODES:
            return tag("noscript", figure(draw_graph(scene)))
    except CannotAnswer:
        pass
    return tag("noscript", paragraph("The graph needs scripts: it is too large for a picture."))


def _distributions(content: ReportContent, posteriors: Posteriors) -> dict[str, Bars | Bell]:
    if len(content.net.names) > _MOST_WITH_BARS:
        return {}
    found: dict[str, Bars | Bell] = {}
    for variable in content.net.variables:
        known = posteriors.prior[variable.name]
        if isinstance(known, dict):
            found[variable.name] = Bell(known["mean"], known["sd"])
        elif known is not None:
            found[variable.name] = Bars(variable.levels or (), tuple(known))
    return found
