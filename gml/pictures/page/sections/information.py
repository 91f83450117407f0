"""Mutual information: a heat map of all pairs of columns, and the pairs that share most."""

from __future__ import annotations

import numpy as np

from gml.pictures.page.content import Information, ReportContent
from gml.pictures.page.html import Heading, figure, paragraph, table
from gml.pictures.page.sections.section import Section
from gml.pictures.plots.matrix import heat_map
from gml.pictures.svg import Markup, label
from gml.pictures.themes import LIGHT

# More columns make cells that nobody can read, and a page of megabytes.
_MOST_COLUMNS = 60
_MOST_PAIRS = 20


def information_section(content: ReportContent) -> Section:
    """Return the heat map."""
    found = content.information
    if found is None:
        about = paragraph("The data have fewer than two columns of the model.")
        return Section("information", "Mutual information", (about,))
    said = "In nats, from the data; 0 says that two columns are independent."
    if found.is_gaussian:
        said = "In nats, −½ ln(1 − r²) of the correlation r of two columns, from the data."
    drawn = _most_informative(found)
    if len(drawn.names) < len(found.names):
        said += (
            f" The picture has the {_MOST_COLUMNS} of {len(found.names)} columns that share most "
            "with some other."
        )
    # A cell of infinity has no colour, and does not occur in data that vary.
    values = np.where(np.isfinite(drawn.values), drawn.values, np.nan)
    picture = heat_map(drawn.names, values, quantity="mutual information", unit="nats", theme=LIGHT)
    return Section(
        "information",
        "Mutual information",
        (paragraph(said), figure(picture), _strongest(content, found)),
    )


def _most_informative(found: Information) -> Information:
    if len(found.names) <= _MOST_COLUMNS:
        return found
    others = np.where(np.eye(len(found.names), dtype=bool), 0.0, found.values)
    most = others.max(axis=1)
    chosen = sorted(range(len(found.names)), key=lambda k: (-most[k], found.names[k]))
    kept = sorted(chosen[:_MOST_COLUMNS])
    names = tuple(found.names[k] for k in kept)
    return Information(names, found.values[np.ix_(kept, kept)], found.is_gaussian)


def _strongest(content: ReportContent, found: Information) -> Markup:
    """The pairs that share most, and whether the graph joins them."""
    names = found.names
    x, y = np.triu_indices(len(names), 1)
    values = found.values[x, y]
    # Those at least as informative as the last to be shown: few, so that names can order ties.
    least = np.partition(values, -_MOST_PAIRS)[-_MOST_PAIRS] if len(values) > _MOST_PAIRS else 0.0
    some = np.flatnonzero(values >= least)
    pairs = list(zip(x[some].tolist(), y[some].tolist(), strict=True))
    pairs.sort(key=lambda pair: (-found.values[pair], *sorted((names[pair[0]], names[pair[1]]))))
    graph = content.net.graph
    rows = []
    for i, j in pairs[:_MOST_PAIRS]:
        joined = graph.adjacent(graph.index(names[i]), graph.index(names[j]))
        rows.append(
            [
                label(" – ".join(sorted((names[i], names[j])))),
                label(f"{found.values[i, j]:.4g}"),
                label("edge" if joined else "no edge"),
            ]
        )
    headings = [Heading("columns"), Heading("nats", is_number=True), Heading("in the graph")]
    return table("The pairs that share most", headings, rows)
