"""Undirected models in notebooks: the graph with its couplings, the fit, and tables of terms."""

from __future__ import annotations

from itertools import islice, product
from typing import Any

from gml.errors import counted
from gml.formats.reports.undirected import fit_in_words
from gml.model.markovnet import COUPLING, MarkovNet
from gml.model.undirected.potential import Potential
from gml.model.undirected.quality.summary import FitSummary
from gml.pictures.graph_picture import GraphScene
from gml.pictures.notebook.graphs import picture_of
from gml.pictures.notebook.models import prior_distributions
from gml.pictures.notebook.tables import MOST_ROWS, block, folded, paragraph, strong, table
from gml.pictures.svg import Markup


def undirected_html(net: MarkovNet) -> str:
    """Return the picture of a model, its edges by their couplings, and how it was fitted."""
    title = (
        f"Undirected model: {counted(len(net.names), 'node')}, "
        f"{counted(net.graph.n_edges, 'edge')}, {counted(net.n_parameters, 'parameter')}"
    )
    scene = GraphScene(net.graph, title, distributions=prior_distributions(net), weight=COUPLING)
    fit = [] if net.summary is None else [folded("fit", _figures(net.summary))]
    return block(paragraph(title), picture_of(scene), *fit, *_couplings(net))


def fit_html(summary: FitSummary) -> str:
    """Return the figures of a fit; those that are not known are left out."""
    return block(_figures(summary))


def _figures(summary: FitSummary) -> Markup:
    found = [(name, line) for name, lines in fit_in_words(summary) for line in lines]
    return table([{"figure": name, "value": line} for name, line in found], headers=["figure"])


def _couplings(net: MarkovNet) -> list[Markup]:
    found = [
        (*sorted([edge.source, edge.target]), edge.attributes[COUPLING]) for edge in net.graph.edges
    ]
    if not found:
        return []
    strongest = sorted(found, key=lambda edge: (-abs(edge[2]), *edge[:2]))
    rows = [{"edge": f"{x} — {y}", COUPLING: value} for x, y, value in strongest]
    return [folded("couplings", table(rows, headers=["edge"]))]


def term_html(term: Potential) -> str:
    """Return a term: a row per cell, with its error, interval and rows where these are known."""
    levels = product(*(variable.levels or () for variable in term.scope))
    rows = []
    for k, cell in enumerate(islice(levels, MOST_ROWS)):
        row: dict[str, Any] = {
            "cell": ", ".join(f"{n}={level}" for n, level in zip(term.names, cell, strict=True)),
            "term": float(term.table.flat[k]),
        }
        row["error"] = None if term.errors is None else float(term.errors.flat[k])
        bounds = (None, None) if term.intervals is None else term.intervals.reshape(-1, 2)[k]
        row["lower"], row["upper"] = (None if b is None else float(b) for b in bounds)
        row["rows"] = None if term.counts is None else float(term.counts.flat[k])
        rows.append(row)
    title = f"Term of {', '.join(term.names)}" if term.scope else "Constant"
    return block(strong(title), table(rows, n_rows=term.table.size, headers=["cell"]))
