"""Undirected models for people: how they were fitted, their edges by strength, their terms.

Numbers have 6 significant digits. The terms are those of terms.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gml.errors import counted
from gml.formats.reports.entropy import maxent_in_words
from gml.formats.reports.probabilities import probabilities_in_words
from gml.formats.reports.terms import INDENT, cell_in_words, number, row_count, terms_in_words
from gml.formats.text_room import require_graph_text
from gml.independence.base import tiny_p
from gml.model.markovnet import COUPLING, MarkovNet
from gml.model.undirected.boundary.impossible import Walls
from gml.model.undirected.quality.goodness import MAXIMUM_LIKELIHOOD
from gml.model.undirected.quality.summary import FitSummary
from gml.printable_text import visible
from gml.text_table import aligned

_MOST_ZEROS = 10
# What rounding leaves depends on the machine, and says nothing.
_LEAST_GAP = 1e-12
_LEAST_STATISTIC = 1e-9


def dump_markov_text(net: MarkovNet) -> str:
    """Return what a fit says, the edges, strongest first, and the terms.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> from gml.model.undirected.potential import Potential
    >>> a, b = Variable("A", ("n", "y")), Variable("B", ("n", "y"))
    >>> pair = Potential((a, b), np.array([[0.5, -0.5], [-0.5, 0.5]]))
    >>> print(dump_markov_text(MarkovNet((a, b), (pair,))), end="")
    undirected, 2 nodes, 1 edge, 1 term
    <BLANKLINE>
    edges, strongest first
      A --- B  0.5
    <BLANKLINE>
    terms of two levels each, at the last levels
      A, B  0.5
    """
    require_graph_text(net.graph, "text")
    n_terms = sum(not potential.is_boundary for potential in net.potentials)
    title = [
        "undirected",
        counted(len(net.names), "node"),
        counted(net.graph.n_edges, "edge"),
        counted(n_terms, "term"),
        *([f"coding {net.coding}"] if net.coding == "01" else []),
    ]
    walls = Walls(net.potentials)
    facts, *constraints = maxent_in_words(net) or [[]]
    if net.summary is not None:
        facts = [*_summary(net.summary), *facts]
    parts = [[", ".join(title), *facts], *constraints]
    if constraints:
        # Of data, everybody has seen the shares; of constraints they are the answer.
        parts.append(probabilities_in_words(net))
    parts += [_edges(net, walls), *terms_in_words(net, walls)]
    if net.summary is None:
        parts.append(_impossible(impossible_cells(net)))
    return "\n".join("".join(f"{line}\n" for line in lines) for lines in parts if lines)


def _summary(summary: FitSummary) -> list[str]:
    lines = [[name, *said] for name, said in fit_in_words(summary) if said]
    return aligned(lines, indent=INDENT)


def fit_in_words(summary: FitSummary) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each figure, and what is said about it; nothing where it is not known."""
    penalties = {name: getattr(summary, name) for name in ("l1", "l2", "smoothing")}
    penalties = {name: value for name, value in penalties.items() if value}
    ended = "converged" if summary.converged else "did not converge"
    steps = f" after {counted(summary.iterations, 'iteration')}" if summary.iterations else ""
    yield "method", [f"{summary.method} ({summary.algorithm}), {ended}{steps}"]
    # Penalties keep fitted margins off the observed ones, however well a fit has converged.
    yield "largest gap of a margin", [] if penalties else _gap(summary.gap)
    yield "rows", [row_count(summary.rows)]
    yield "dimension", [f"{summary.dimension:,}"]
    yield "log-likelihood", _with_error(summary, summary.log_likelihood)
    yield "pseudo-log-likelihood", _figure(summary.pseudo_log_likelihood, exact=True)
    yield "aic", _with_error(summary, summary.aic)
    yield "bic", _with_error(summary, summary.bic)
    yield "G²", _tested(summary, summary.g2, summary.g2_p_value, summary.g2_log10_p)
    # With less than a row per cell, a single one where none was expected makes any number of it.
    if summary.df is not None and summary.df <= summary.rows:
        yield "X²", _tested(summary, summary.x2, summary.x2_p_value, summary.x2_log10_p)
    yield "entropy", _figure(summary.entropy)
    yield "log Z", _normaliser(summary)
    if penalties:
        said = ", ".join(f"{name} {value:g}" for name, value in penalties.items())
        left_out = f", which left out {counted(summary.n_dropped, 'term')}"
        yield "penalties", [said + (left_out if summary.n_dropped else "")]
    cells = [cell_in_words(cell) for cell in summary.zeros]
    more = summary.n_zeros - len(cells)
    if cells:
        yield (
            "fitted zeros",
            [f"{summary.n_zeros:,} combination{'' if summary.n_zeros == 1 else 's'}"],
        )
    for cell in cells:
        yield "", [cell]
    if cells and more:
        yield "", [f"and {more:,} more"]


def _figure(value: float | None, *, exact: bool = False) -> list[str]:
    """A figure; those of which differences matter have more digits."""
    if value is None:
        return []
    return [f"{value:.10g}" if exact else number(value)]


def _with_error(summary: FitSummary, value: float | None) -> list[str]:
    """A figure that has ln Z once per row, and so as often the error of ln Z, if that has one."""
    said = _figure(value, exact=True)
    if not said or not summary.log_z_error:
        return said
    return [f"{said[0]} ± {summary.rows * summary.log_z_error:.2g}"]


def _gap(gap: float | None) -> list[str]:
    return _figure(gap) if gap is None or gap >= _LEAST_GAP else [f"below {_LEAST_GAP:g}"]


def _tested(
    summary: FitSummary, statistic: float | None, p_value: float | None, log10_p: float | None
) -> list[str]:
    if statistic is None:
        return []
    said = number(statistic if statistic >= _LEAST_STATISTIC else 0.0)
    if summary.df is not None:
        said += f", df {summary.df}"
    if p_value is None:
        return [f"{said} ({_why_no_p(summary)})"]
    tiny = p_value == 0 and log10_p is not None
    return [f"{said}, p {tiny_p(log10_p or 0.0, 6) if tiny else number(p_value)}"]


def _why_no_p(summary: FitSummary) -> str:
    if summary.df == 0:
        return "no p: nothing is left to test"
    if summary.l1 or summary.l2 or summary.smoothing:
        return "no p: the fit is penalised"
    if summary.method not in MAXIMUM_LIKELIHOOD:
        return "no p: not the maximum of the likelihood"
    if summary.df is None:
        return "no df, no p: too many cells"
    return "no p: more cells than rows"


def _normaliser(summary: FitSummary) -> list[str]:
    samples = summary.log_z_samples
    if samples is None:
        return _figure(summary.log_z, exact=True)
    counting = f"{samples:.0f} effective samples"
    if summary.log_z is None:
        return [f"not known: annealing has only {counting}"]
    return [
        f"{summary.log_z:.10g} ± {number(summary.log_z_error or 0.0)}, by annealing, {counting}"
    ]


def _edges(net: MarkovNet, walls: Walls) -> list[str]:
    """The edges by their coupling, and what they exclude, which no finite number can say."""
    edges = sorted(
        net.graph.edges,
        key=lambda edge: (-abs(edge.attributes[COUPLING]), edge.source, edge.target),
    )
    joined = {end for edge in edges for end in (edge.source, edge.target)}
    lines = [
        [
            f"{visible(edge.source)} --- {visible(edge.target)}",
            number(edge.attributes[COUPLING]),
            *_and_excluded(walls.n_excluded(*(net.variables[k] for k in net.graph.pair(edge)))),
        ]
        for edge in edges
    ]
    alone = [f"{INDENT}{visible(n)}  (no edges)" for n in net.names if n not in joined]
    title = ["edges, strongest first"] if lines else []
    return [*title, *aligned(lines, right={1}, indent=INDENT), *alone]


def _and_excluded(n_cells: int) -> list[str]:
    return [f"and {counted(n_cells, 'impossible combination')}"] if n_cells else []


def _impossible(cells: list[str]) -> list[str]:
    more = len(cells) - _MOST_ZEROS
    shown = [*cells[:_MOST_ZEROS], *([f"and {more:,} more"] if more > 0 else [])]
    return ["impossible", *(f"{INDENT}{cell}" for cell in shown)] if cells else []


def impossible_cells(net: MarkovNet) -> list[str]:
    """Return the cells that a maximum at infinity excludes, as levels by name."""
    return [
        cell_in_words(
            {
                variable.name: (variable.levels or ())[code]
                for variable, code in zip(potential.scope, codes, strict=True)
            }
        )
        for potential in net.potentials
        if potential.is_boundary
        for codes in np.argwhere(np.isneginf(potential.table)).tolist()
    ]
