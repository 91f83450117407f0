"""Conditional random fields for people: the fit, how well it predicts, the strongest features.

Weights are in the sum-to-zero gauge, so that they can be compared: each says how much more likely
the levels are together than on average, in nats, or how much one standard deviation more of a
numeric input adds. Of a variable with two levels only the last is listed, as the other has the
opposite sign. Numbers have 6 significant digits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from gml.errors import counted
from gml.formats.reports.terms import row_count
from gml.formats.text_room import require_graph_text
from gml.model.conditional.field import ConditionalField
from gml.model.conditional.figures import FieldFigures
from gml.model.conditional.numeric_inputs import Scale
from gml.model.conditional.summary import FieldSummary
from gml.model.conditional.terms import Table
from gml.model.markovnet import COUPLING
from gml.model.sequences.summary import ChainSummary
from gml.printable_text import visible
from gml.text_table import aligned

MOST_LINES = 40
_INDENT = "  "
# What rounding leaves depends on the machine, and says nothing.
_LEAST_GRADIENT = 1e-6


def dump_crf_text(net: ConditionalField) -> str:
    """Return what a fit says, how well the field predicts, its edges and strongest features.

    Examples
    --------
    >>> import gml
    >>> net = gml.crf("sample_data/asia.csv", target="lung", columns=["lung", "smoke", "xray"])
    >>> print(dump_crf_text(net).partition("features")[2], end="")  # doctest: +NORMALIZE_WHITESPACE
    , strongest first (sum-to-zero gauge)
      lung=yes           -1.72915
      lung=yes xray=yes    1.4485
      lung=yes smoke=yes  0.605402
    """
    require_graph_text(net.graph, "text")
    size = [
        f"{counted(len(net.targets), 'target')} given {counted(len(net.inputs), 'input')}",
        counted(net.graph.n_edges, "edge"),
        counted(net.n_parameters, "weight"),
    ]
    fit = [] if net.summary is None else _fit(net.summary)
    parts = [[f"conditional random field, {', '.join(size)}", *fit]]
    if net.summary is not None:
        parts += [_figures(net.summary), path_in_words(net.summary)]
    parts += [_edges(net), _features(net), scale_lines(net.scales)]
    return "\n".join("".join(f"{line}\n" for line in lines) for lines in parts if lines)


def _fit(summary: FieldSummary) -> list[str]:
    return aligned([[name, said] for name, said in fit_in_words(summary)], indent=_INDENT)


def fit_in_words(summary: FieldSummary) -> Iterator[tuple[str, str]]:
    """Yield the name of each figure of a fit, and what is said about it."""
    yield "method", method_in_words(summary)
    if summary.gradient > _LEAST_GRADIENT:
        yield "largest derivative", _number(summary.gradient)
    rows = row_count(summary.rows)
    yield "rows", f"{rows}, {summary.distinct_inputs:,} different by their inputs"
    yield "penalties", penalties_in_words(summary)
    if summary.nonzero < summary.weights:
        yield "weights", f"{summary.nonzero:,} of {summary.weights:,} are not 0"
    yield from likelihood_in_words(summary)


def method_in_words(summary: FieldSummary | ChainSummary) -> str:
    """Say what was maximised, and how that ended."""
    ended = "converged" if summary.converged else "did not converge"
    steps = counted(summary.iterations, "iteration")
    return f"conditional likelihood ({summary.algorithm}), {ended} after {steps}"


def penalties_in_words(summary: FieldSummary | ChainSummary) -> str:
    """Say which penalties there are, and what chose them."""
    penalties = {"l1": summary.l1, "l2": summary.l2}
    said = ", ".join(f"{name} {value:g}" for name, value in penalties.items() if value)
    chosen = f", chosen by {summary.folds} folds" if summary.path else ""
    return (said or "none") + chosen


def likelihood_in_words(summary: FieldSummary | ChainSummary) -> Iterator[tuple[str, str]]:
    """Yield the log-likelihood and, where there are penalties, what is left of it."""
    yield "log-likelihood", f"{summary.log_likelihood:.10g}"
    if summary.l1 or summary.l2:
        yield "less penalties", f"{summary.objective:.10g}"


def figures_of(summary: FieldSummary) -> list[tuple[str, FieldFigures]]:
    """The figures by what the rows are that they are about."""
    found = [("fitted rows", summary.training)]
    if summary.heldout is not None:
        by = f"{summary.folds} folds" if summary.heldout_by == "folds" else "held-out rows"
        found.append((by, summary.heldout))
    return found


def figure_rows(summary: FieldSummary) -> list[list[str]]:
    """Figures as rows: all targets together, then each by itself; a column per kind of rows."""
    columns = figures_of(summary)
    first = summary.training
    rows = [["", *(title for title, _ in columns)]]
    if len(first.targets) > 1:
        rows.append(["all right", *(_number(f.accuracy) for _, f in columns)])
        rows.append(["Hamming loss", *(_number(f.hamming_loss) for _, f in columns)])
        rows.append(["log loss", *(_number(f.log_loss) for _, f in columns)])
    for k, one in enumerate(first.targets):
        name = visible(one.target)
        own = [f.targets[k] for _, f in columns]
        rows.append([f"{name}: accuracy", *(_number(f.accuracy) for f in own)])
        rows.append(["always the most frequent", *(_number(f.majority) for f in own)])
        rows.append(["log loss", *(_number(f.log_loss) for f in own)])
    return rows


def _figures(summary: FieldSummary) -> list[str]:
    rows = figure_rows(summary)
    rows[0][0] = "predictions"
    indented = [
        [f"{'' if ':' in label or k == 0 else _INDENT}{label}", *rest]
        for k, (label, *rest) in enumerate(rows)
    ]
    return aligned(indented, right=range(1, len(rows[0])))


def path_in_words(summary: FieldSummary | ChainSummary, judged_by: str = "log loss") -> list[str]:
    """The log loss by folds of each penalty that was tried, if any was."""
    if not summary.path:
        return []
    lines = [["l2", judged_by]]
    for l2, loss in summary.path:
        chosen = ["chosen"] if l2 == summary.l2 else []
        lines.append([f"{l2:.6g}", _number(loss), *chosen])
    return [
        f"penalties by {counted(summary.folds or 0, 'fold')}",
        *aligned(lines, right={1}, indent=_INDENT),
    ]


def _edges(net: ConditionalField) -> list[str]:
    edges = sorted(
        net.graph.edges, key=lambda e: (-abs(e.attributes[COUPLING]), e.source, e.target)
    )
    lines = [
        [
            f"{visible(edge.source)} --- {visible(edge.target)}",
            _number(edge.attributes[COUPLING]),
        ]
        for edge in edges
    ]
    more = len(lines) - MOST_LINES
    left = [f"and {counted(more, 'more edge')}"] if more > 0 else []
    shown = aligned(lines[:MOST_LINES], right={1}, indent=_INDENT)
    return ["edges, strongest first", *shown, *left] if lines else []


def _features(net: ConditionalField) -> list[str]:
    found = strongest_features(net)
    shown = [[*_padded(cells), _number(weight)] for cells, weight in found[:MOST_LINES]]
    more = len(found) - len(shown)
    left = [f"and {counted(more, 'more feature')}: the model as JSON has all"] if more else []
    title = "features, strongest first (sum-to-zero gauge)"
    return [title, *aligned(shown, right={2}, indent=_INDENT), *left]


def scale_lines(scales: Mapping[str, Scale]) -> list[str]:
    """The numeric inputs as lines, if there are any."""
    rows = [["numeric inputs", "mean", "sd"], *scale_rows(scales)]
    return aligned(rows, right={1, 2}) if len(rows) > 1 else []


def scale_rows(scales: Mapping[str, Scale]) -> list[list[str]]:
    """The mean and the standard deviation (divisor n) of each numeric input, by name."""
    return [
        [visible(name), _number(scale.mean), _number(scale.sd)]
        for name, scale in sorted(scales.items())
    ]


def _padded(cells: tuple[str, ...]) -> tuple[str, ...]:
    return (*cells, "") if len(cells) == 1 else cells


def strongest_features(net: ConditionalField) -> list[tuple[tuple[str, ...], float]]:
    """The features by the size of their weights, each as `variable=level` texts.

    A numeric input is `variable per sd`. Of a variable with two levels only the last is there. Ties
    are in the order of the terms.
    """
    texts = {
        v.name: [f"{visible(v.name)} per sd"]
        if v.levels is None
        else [f"{visible(v.name)}={visible(level)}" for level in v.levels]
        for v in net.variables
    }
    found = []
    for scope, table in net.gauged.items():
        for cell in product(*map(_shown_levels, table.shape)):
            said = tuple(texts[name][code] for name, code in zip(scope, cell, strict=True))
            found.append((said, _at(table, cell)))
    return sorted(found, key=lambda feature: -abs(feature[1]))


def _shown_levels(size: int) -> range:
    return range(1, 2) if size == 2 else range(size)


def _at(table: Table, cell: tuple[int, ...]) -> float:
    return float(table[cell])


def _number(value: float) -> str:
    return f"{value:.6g}"
