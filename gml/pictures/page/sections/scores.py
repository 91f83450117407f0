"""Scores of the graph on the data, as a whole and by node, and the loss on rows held out."""

from __future__ import annotations

import math

from gml.pictures.page.content import ReportContent, Scores
from gml.pictures.page.html import NOTHING, Heading, folded, paragraph, table
from gml.pictures.page.sections.section import Section
from gml.pictures.svg import Markup, label
from gml.scores.ranking import ScoredGraph
from gml.scores.registry import SCORES


def scores_section(content: ReportContent) -> Section:
    """Return how well the graph fits."""
    scores = content.scores
    if scores.graph is None:
        said = paragraph(f"Not scored: {scores.why_not}.", class_="note")
        return Section("scores", "Scores and held-out loss", (said,))
    return Section(
        "scores",
        "Scores and held-out loss",
        (
            _about(scores, scores.graph),
            _whole(scores, scores.graph),
            _held_out(scores, scores.graph),
            _by_node(scores.graph),
        ),
    )


def _about(scores: Scores, graph: ScoredGraph) -> Markup:
    """Say whose scores these are: those of a graph stay good where a model of it fits no more."""
    said = (
        "Scores and held-out loss are of the graph with parameters refitted on these data, not of "
        "those that the model has."
    )
    own = scores.log_likelihood
    if own == -math.inf:
        said += " The model as it is gives some row probability 0: its loss is infinite."
    elif own is not None and scores.rows:
        refitted = graph.scores[SCORES[next(iter(graph.scores))].likelihood]
        said += (
            f" The model as it is loses {-own / scores.rows:.6g} nats per row, the mean −ln p of "
            f"these rows; the graph refitted on them, {-refitted / scores.rows:.6g}."
        )
    return paragraph(said)


def _whole(scores: Scores, graph: ScoredGraph) -> Markup:
    rows = [
        [label(name), label(f"{value:.8g}"), _per_row(value, scores), label(SCORES[name].summary)]
        for name, value in graph.scores.items()
    ]
    if scores.log_likelihood is not None:
        value = scores.log_likelihood
        about = "ln P of the data by the model as it is, not refitted"
        if value == -math.inf:
            about += ": some row is impossible by its tables"
        rows.append([label("model"), label(f"{value:.8g}"), _per_row(value, scores), label(about)])
    rows.append(
        [
            label("parameters"),
            label(f"{graph.dim:g}"),
            label("–"),
            label("numbers that the data can choose freely"),
        ]
    )
    headings = [
        Heading("score"),
        Heading("nats", is_number=True),
        Heading("per row", is_number=True),
        Heading("what it is"),
    ]
    return table("The graph refitted on these data; higher is better", headings, rows)


def _per_row(value: float, scores: Scores) -> Markup:
    return label(f"{value / scores.rows:.6g}" if scores.rows else "–")


def _held_out(scores: Scores, graph: ScoredGraph) -> Markup:
    if graph.heldout is None:
        return paragraph(f"No held-out loss: {scores.why_not}.", class_="note")
    said = (
        f"Held-out loss: {graph.heldout:.6g} nats per row, the mean −ln p of rows by the graph "
        f"refitted without them, in {scores.folds}-fold cross-validation (lower is better)."
    )
    return paragraph(said)


def _by_node(graph: ScoredGraph) -> Markup:
    if not graph.nodes:
        return NOTHING
    headings = [Heading("node"), Heading("parents")]
    headings += [Heading(name, is_number=True) for name in graph.scores]
    headings.append(Heading("parameters", is_number=True))
    rows = (
        [
            label(name),
            label(", ".join(graph.parents[name]) or "–"),
            *(label(f"{found[score]:.6g}") for score in graph.scores),
            label(f"{graph.dims[name]:g}"),
        ]
        for name, found in graph.nodes.items()
    )
    return folded("Scores by node", table("The part of each node", headings, rows))
