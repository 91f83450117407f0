"""Chain fields for people: the training, how well it predicts, the strongest features.

Weights are less their mean over the labels, and for one label after another less the means of both,
so that they can be compared (`gml.model.sequences.names`). Of two labels the last is listed, as the
other has the opposite sign. Numbers have 6 significant digits.
"""

from __future__ import annotations

from collections.abc import Iterator

from gml.errors import counted
from gml.formats.reports.crf import (
    MOST_LINES,
    likelihood_in_words,
    method_in_words,
    path_in_words,
    penalties_in_words,
    scale_lines,
)
from gml.formats.text_room import require_graph_text
from gml.model.sequences.chain_field import ChainField
from gml.model.sequences.chain_metrics import ChainMetrics
from gml.model.sequences.names import Feature, strongest
from gml.model.sequences.summary import ChainSummary
from gml.printable_text import visible
from gml.text_table import aligned

_INDENT = "  "
_FIGURES = {
    "accuracy": "rows right",
    "whole_sequences": "whole sequences right",
    "log_loss": "log loss",
}


def dump_chain_text(net: ChainField) -> str:
    """Return what training says, how well the field predicts, and its strongest features."""
    require_graph_text(net.graph, "text")
    title = (
        f"conditional random field of {visible(net.target.name)} along {visible(net.sequence)}, "
        f"{counted(len(net.inputs), 'input')}, window {net.window}, "
        f"{counted(len(net.weights), 'feature')}"
    )
    parts = [[title]]
    if net.summary is not None:
        said = [[name, what] for name, what in training_in_words(net.summary)]
        parts = [[title, *aligned(said, indent=_INDENT)]]
        parts += [_figures(net.summary), path_in_words(net.summary, "−ln p per row")]
    parts += [_features(net), scale_lines(net.scales)]
    return "\n".join("".join(f"{line}\n" for line in lines) for lines in parts if lines)


def training_in_words(summary: ChainSummary) -> Iterator[tuple[str, str]]:
    """Yield the name of each figure of training, and what is said about it."""
    yield "method", method_in_words(summary)
    yield "rows", f"{summary.rows:,} in {summary.sequences:,} sequences"
    yield "penalties", penalties_in_words(summary)
    if summary.nonzero < summary.features:
        yield "features", f"{summary.nonzero:,} of {summary.features:,} have a weight other than 0"
    yield from likelihood_in_words(summary)


def figure_rows(summary: ChainSummary) -> list[list[str]]:
    """Figures as rows; a column for the rows of training, and one for others."""
    columns: list[tuple[str, ChainMetrics]] = [("fitted rows", summary.training)]
    if summary.heldout is not None:
        by = f"{summary.folds} folds" if summary.heldout_by == "folds" else "held-out rows"
        columns.append((by, summary.heldout))
    rows = [["predictions", *(title for title, _ in columns)]]
    for key, name in _FIGURES.items():
        rows.append([name, *(f"{metrics.figures()[key]:.6g}" for _, metrics in columns)])
    return rows


def _figures(summary: ChainSummary) -> list[str]:
    head, *rows = figure_rows(summary)
    indented = [head, *([f"{_INDENT}{label}", *cells] for label, *cells in rows)]
    return aligned(indented, right=range(1, len(head)))


def _features(net: ChainField) -> list[str]:
    found = strongest_features(net, MOST_LINES)
    lines = [
        [f"{visible(f.first)} → {visible(f.label)}", f"{f.strength:.6g}", _note(f.is_transition)]
        for f in found
    ]
    with_opposites = 2 if len(net.labels) == 2 else 1
    more = len(net.weights) // with_opposites - len(lines)
    left = [f"and {counted(more, 'more feature')}: the model as JSON has all"] if more > 0 else []
    title = "features, strongest first (sums to zero over the labels)"
    return [title, *aligned(lines, right={1}, indent=_INDENT), *left]


def strongest_features(net: ChainField, most: int) -> list[Feature]:
    """The features by strength; of two labels those of the last, as the others are opposite."""
    if len(net.labels) != 2:
        return strongest(net, most)
    found = strongest(net, 2 * most)
    return [feature for feature in found if feature.label == net.labels[-1]][:most]


def _note(is_transition: bool) -> str:
    return "one after the other" if is_transition else ""
