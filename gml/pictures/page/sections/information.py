"""Mutual information: a heat map of all pairs of columns, and the pairs that share most."""

from __future__ import annotations

import math

import numpy as np

from gml.errors import agreeing, counted
from gml.pictures.page.content import NO_ROWS, Information, ReportContent
from gml.pictures.page.html import Heading, figure, paragraph, table
from gml.pictures.page.sections.section import Section
from gml.pictures.plots.matrix import heat_map
from gml.pictures.svg import Markup, label
from gml.pictures.themes import DARK, LIGHT

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
    if found.kind == "numbers":
        said = "In nats, −½ ln(1 − r²) of the correlation r of two columns, from the data."
    if found.kind == "both":
        said += (
            " Of two columns of numbers it is −½ ln(1 − r²), with their correlation r; of labels "
            "and numbers −½ ln(1 − η²), where η² is the share of the variance that lies between "
            "the levels. These two see what means do, not spreads."
        )
    drawn = _most_informative(found)
    if len(drawn.names) < len(found.names):
        said += (
            f" The picture has the {_MOST_COLUMNS} of {len(found.names)} columns that share most "
            "with some other."
        )
    unknown = int(np.isnan(found.values).sum()) // 2
    if unknown:
        have = agreeing(unknown, "has", "have")
        said += f" {counted(unknown, 'pair')} of columns {have} {NO_ROWS}."
    figures = [
        figure(
            heat_map(
                drawn.names, drawn.values, quantity="mutual information", unit="nats", theme=theme
            ),
            theme=theme.name,
        )
        for theme in (LIGHT, DARK)
    ]
    return Section(
        "information",
        "Mutual information",
        (paragraph(said), *figures, _strongest(content, found)),
    )


def _most_informative(found: Information) -> Information:
    if len(found.names) <= _MOST_COLUMNS:
        return found
    is_none = np.eye(len(found.names), dtype=bool) | np.isnan(found.values)
    others = np.where(is_none, 0.0, found.values)
    most = others.max(axis=1)
    chosen = sorted(range(len(found.names)), key=lambda k: (-most[k], found.names[k]))
    kept = sorted(chosen[:_MOST_COLUMNS])
    names = tuple(found.names[k] for k in kept)
    return Information(names, found.values[np.ix_(kept, kept)], found.kind)


def _strongest(content: ReportContent, found: Information) -> Markup:
    """The pairs that share most, and whether the graph joins them."""
    names = found.names
    x, y = np.nonzero(np.triu(~np.isnan(found.values), 1))
    values = found.values[x, y]
    # Those at least as informative as the last to be shown: few, so that names can order ties.
    least = np.partition(values, -_MOST_PAIRS)[-_MOST_PAIRS] if len(values) > _MOST_PAIRS else 0.0
    some = np.flatnonzero(values >= least)
    pairs = list(zip(x[some].tolist(), y[some].tolist(), strict=True))
    pairs.sort(key=lambda pair: (-found.values[pair], *sorted((names[pair[0]], names[pair[1]]))))
    graph = content.net.graph
    rows = []
    for i, j in pairs[:_MOST_PAIRS]:
        joined = graph.adjacent(names[i], names[j])
        rows.append(
            [
                label(" – ".join(sorted((names[i], names[j])))),
                label(_nats(float(found.values[i, j]))),
                label("edge" if joined else "no edge"),
            ]
        )
    headings = [Heading("columns"), Heading("nats", is_number=True), Heading("in the graph")]
    return table("The pairs that share most", headings, rows)


def _nats(value: float) -> str:
    return "∞" if value == math.inf else f"{value:.4g}"
