"""How certain each edge is, with a place for the slider of the threshold."""

from __future__ import annotations

from gml.pictures.page.content import ReportContent, Strengths
from gml.pictures.page.html import NOTHING, Heading, absent, paragraph, table, tag
from gml.pictures.page.sections.section import Section
from gml.pictures.svg import Markup, label

_WEAK = 0.05
"""A strength down to which it is worth looking."""


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
        "Strength is the share of graphs, or of their posterior probability, that have the edge. "
        "The other shares are of those: in which it points this way, from the first node to the "
        "second, in which it has no direction, and in which it points the other way. "
    )
    if found.threshold is None:
        about += "The averaged graph does not say how weak an edge can be to be in it; weaker ones "
    else:
        about += f"The averaged graph has the edges of at least {_share(found.threshold)}; weaker "
        about += "ones "
    about += "are not in the file, and are faint in the graph above."
    parts = (paragraph(about), _more(found), view, tag("noscript", _table(content, found)))
    return Section("strengths", title, parts)


def _more(found: Strengths) -> Markup:
    """Say how to see weaker edges, where there can be any."""
    if found.threshold is not None and found.threshold <= _WEAK:
        return NOTHING
    command = f"gml average … --threshold {_WEAK}"
    why = ", which puts edges down to that strength into the graph."
    return tag("p", label("To see weaker edges too, use "), tag("code", label(command)), label(why))


def _table(content: ReportContent, found: Strengths) -> Markup:
    graph = content.net.graph
    rows = []
    for edge in found.edges:
        there = graph.adjacent(edge.source, edge.target)
        shares = (None,) * 3 if edge.directions is None else edge.directions
        rows.append(
            [
                label(f"{edge.source} {edge.type} {edge.target}"),
                label(_share(edge.strength)),
                *(label("–" if share is None else _share(share)) for share in shares),
                label("edge" if there else "no edge"),
            ]
        )
    headings = [
        Heading("edge"),
        Heading("strength", is_number=True),
        Heading("this way", is_number=True),
        Heading("no direction", is_number=True),
        Heading("other way", is_number=True),
        Heading("in the model"),
    ]
    return table("Edges by their strength", headings, rows)


def _share(share: float) -> str:
    """Four digits, as the scripts write them; only 1 itself is shown as such."""
    text = f"{share:.4g}"
    return ">0.9999" if share < 1 and text == "1" else text
