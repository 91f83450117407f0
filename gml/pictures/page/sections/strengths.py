"""How certain each edge is, with a place for the slider of the threshold."""

from __future__ import annotations

from gml.pictures.page.content import ReportContent, Strengths
from gml.pictures.page.html import Heading, absent, paragraph, table, tag
from gml.pictures.page.sections.section import Section
from gml.pictures.svg import Markup, label


def strengths_section(content: ReportContent) -> Section:
    """Return the edges of the averaged graph, the strongest first."""
    found, title = content.strengths, "Edge strengths"
    if found is None:
        said = absent(
            "How certain is each edge? To show it, with a slider for the threshold, give ",
            "--strengths GRAPH",
            ", the graph that gml average writes.",
        )
        return Section("strengths", title, (said,))
    view = tag("div", id="strengths-view", role="region", aria_label="Edges above a threshold")
    about = (
        "Strength is the share of graphs, or of their posterior probability, that have the edge; "
        f"direction the share of these in which it points that way. {_threshold(found)}"
    )
    return Section(
        "strengths", title, (paragraph(about), view, tag("noscript", _table(content, found)))
    )


def _threshold(found: Strengths) -> str:
    if found.threshold is None:
        return "The threshold of the averaged graph is not recorded in its file."
    return f"The averaged graph has the edges of at least {found.threshold:.3g}."


def _table(content: ReportContent, found: Strengths) -> Markup:
    graph = content.net.graph
    rows = []
    for edge in found.edges:
        there = graph.adjacent(graph.index(edge.source), graph.index(edge.target))
        rows.append(
            [
                label(f"{edge.source} {edge.type} {edge.target}"),
                label(f"{edge.strength:.4g}"),
                label("–" if edge.direction is None else f"{edge.direction:.4g}"),
                label("edge" if there else "no edge"),
            ]
        )
    headings = [
        Heading("edge"),
        Heading("strength", is_number=True),
        Heading("direction", is_number=True),
        Heading("in the model"),
    ]
    return table("Edges by their strength", headings, rows)
