"""Undirected models for people: how they were fitted, their edges by strength, their terms.

Numbers have 6 significant digits. A term of two levels each is ±J, so one number says it: that of
the cell where every variable has its last level. Other terms are tables with the levels of the last
variable across, in as many pieces as lines of a readable width need.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from gml.errors import counted
from gml.formats.text_room import require_graph_text
from gml.independence.base import tiny_p
from gml.model.markovnet import COUPLING, MarkovNet
from gml.model.undirected.potential import Potential
from gml.model.undirected.summary import FitSummary
from gml.printable_text import cell_width, visible
from gml.resources import FEW_BYTES, require_memory
from gml.text_table import aligned

_WIDTH = 100
_INDENT = "  "
_CELL_BYTES = 300


def dump_markov_text(net: MarkovNet) -> str:
    """Return what a fit says, the edges, strongest first, and the terms.

    Examples
    --------
    >>> from gml.data.dataset import Variable
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
    cells = sum(potential.table.size for potential in net.potentials)
    if cells * _CELL_BYTES > FEW_BYTES:
        require_memory(cells * _CELL_BYTES, None, f"writing text of terms of {cells} cells")
    terms = [potential for potential in net.potentials if not potential.is_boundary]
    title = [
        "undirected",
        counted(len(net.names), "node"),
        counted(net.graph.n_edges, "edge"),
        counted(len(terms), "term"),
        *([f"coding {net.coding}"] if net.coding == "01" else []),
    ]
    parts = [[", ".join(title), *(_summary(net.summary) if net.summary is not None else [])]]
    parts.append(_edges(net))
    short = [potential for potential in terms if _is_one_number(potential)]
    parts.append(_numbers(short))
    parts += [_table(potential) for potential in terms if not _is_one_number(potential)]
    if net.summary is None:
        excluded = [f"{_INDENT}{cell}" for cell in impossible_cells(net)]
        parts.append(["impossible", *excluded] if excluded else [])
    return "\n".join("".join(f"{line}\n" for line in lines) for lines in parts if lines)


def _summary(summary: FitSummary) -> list[str]:
    lines = [[name, *said] for name, said in fit_in_words(summary) if said]
    return aligned(lines, indent=_INDENT)


def fit_in_words(summary: FitSummary) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each figure, and what is said about it; nothing where it is not known."""
    ended = "converged" if summary.converged else "did not converge"
    steps = f" after {counted(summary.iterations, 'iteration')}" if summary.iterations else ""
    yield "method", [f"{summary.method} ({summary.algorithm}), {ended}{steps}"]
    yield "largest gap of a margin", _figure(summary.gap)
    yield "rows", [f"{summary.rows:,}"]
    yield "dimension", [f"{summary.dimension:,}"]
    yield "log-likelihood", _figure(summary.log_likelihood, exact=True)
    yield "pseudo-log-likelihood", _figure(summary.pseudo_log_likelihood, exact=True)
    yield "aic", _figure(summary.aic, exact=True)
    yield "bic", _figure(summary.bic, exact=True)
    yield "G²", _tested(summary.g2, summary.df, summary.g2_p_value, summary.g2_log10_p)
    yield "X²", _tested(summary.x2, summary.df, summary.x2_p_value, summary.x2_log10_p)
    yield "entropy", _figure(summary.entropy)
    yield "log Z", _normaliser(summary)
    penalties = {name: getattr(summary, name) for name in ("l1", "l2", "smoothing")}
    yield (
        "penalties",
        [", ".join(f"{name} {value:g}" for name, value in penalties.items() if value)]
        if any(penalties.values())
        else [],
    )
    cells = [
        ", ".join(f"{visible(name)}={visible(level)}" for name, level in cell.items())
        for cell in summary.zeros
    ]
    more = summary.n_zeros - len(cells)
    if cells:
        yield "fitted zeros", [f"{summary.n_zeros:,}"]
    for cell in cells:
        yield "", [cell]
    if cells and more:
        yield "", [f"and {more:,} more"]


def _figure(value: float | None, *, exact: bool = False) -> list[str]:
    """A figure; those of which differences matter have more digits."""
    if value is None:
        return []
    return [f"{value:.10g}" if exact else _number(value)]


def _tested(
    statistic: float | None, df: int | None, p_value: float | None, log10_p: float | None
) -> list[str]:
    if statistic is None:
        return []
    said = _number(statistic)
    if df is not None:
        said += f", df {df}"
    if p_value is not None:
        tiny = p_value == 0 and log10_p is not None
        said += f", p {tiny_p(log10_p or 0.0, 6) if tiny else _number(p_value)}"
    return [said]


def _normaliser(summary: FitSummary) -> list[str]:
    samples = summary.log_z_samples
    if samples is None:
        return _figure(summary.log_z, exact=True)
    counting = f"{samples:.0f} effective samples"
    if summary.log_z is None:
        return [f"not known: annealing has only {counting}"]
    return [
        f"{summary.log_z:.10g} ± {_number(summary.log_z_error or 0.0)}, by annealing, {counting}"
    ]


def _edges(net: MarkovNet) -> list[str]:
    names = net.graph.names
    edges = sorted(
        net.graph.edges(),
        key=lambda edge: (
            -abs(edge.attributes[COUPLING]),
            names[edge.source],
            names[edge.target],
        ),
    )
    joined = {end for edge in edges for end in (edge.source, edge.target)}
    lines = [
        [
            f"{visible(names[edge.source])} --- {visible(names[edge.target])}",
            _number(edge.attributes[COUPLING]),
        ]
        for edge in edges
    ]
    alone = [f"{_INDENT}{visible(n)}  (no edges)" for k, n in enumerate(names) if k not in joined]
    title = ["edges, strongest first"] if lines else []
    return [*title, *aligned(lines, right={1}, indent=_INDENT), *alone]


def _is_one_number(potential: Potential) -> bool:
    return all(size == 2 for size in potential.table.shape) and potential.is_finite


def _numbers(potentials: Sequence[Potential]) -> list[str]:
    """Terms of two levels each, one per line."""
    if not potentials:
        return []
    has_errors = any(potential.errors is not None for potential in potentials)
    has_intervals = any(potential.intervals is not None for potential in potentials)
    header = ["", "", *["error"] * has_errors, *["lower", "upper"] * has_intervals]
    lines = [header] if has_errors or has_intervals else []
    for potential in potentials:
        last = (-1,) * potential.table.ndim
        line = [", ".join(map(visible, potential.names)), _number(potential.table[last])]
        if has_errors:
            line.append("-" if potential.errors is None else _number(potential.errors[last]))
        if has_intervals:
            bounds = potential.intervals
            line += ["-", "-"] if bounds is None else map(_number, bounds[last])
        lines.append(line)
    title = "terms of two levels each, at the last levels"
    return [title, *aligned(lines, right=range(1, len(header)), indent=_INDENT)]


def _table(potential: Potential) -> list[str]:
    """A term below its names; errors and intervals stand below its numbers."""
    title = f"term {', '.join(map(visible, potential.names))}"
    if not potential.scope:
        return [title, f"{_INDENT}{_number(float(potential.table))}"]
    *rows, across = potential.scope
    levels = [visible(level) for level in across.levels or ()]
    labels = [
        [visible(level) for level in found] for found in product(*(v.levels or () for v in rows))
    ]
    shown = list(_cells(potential, len(labels)))
    lines = [title]
    names = [visible(variable.name) for variable in rows]
    for part in _pieces([names, *labels], levels, shown):
        head = [*names, *levels[part]]
        body = [
            [*(label if first else [""] * len(label)), *cells[part]]
            for label, group in zip(labels, shown, strict=True)
            for first, cells in zip([True, False, False], group, strict=False)
        ]
        right = range(len(rows), len(head))
        lines += aligned([head, *body], right=right, indent=_INDENT)
    return lines


def _cells(potential: Potential, n_rows: int) -> Iterator[list[list[str]]]:
    """The lines of each row of a table: its numbers, their errors, their intervals."""
    table = potential.table.reshape(n_rows, -1)
    errors = None if potential.errors is None else potential.errors.reshape(table.shape)
    bounds = None if potential.intervals is None else potential.intervals.reshape(*table.shape, 2)
    for row in range(n_rows):
        lines = [list(map(_number, table[row]))]
        if errors is not None:
            lines.append([f"± {_number(error)}" for error in errors[row]])
        if bounds is not None:
            lines.append([f"{_number(low)}..{_number(high)}" for low, high in bounds[row]])
        yield lines


def _pieces(
    labels: Sequence[Sequence[str]], levels: Sequence[str], shown: Sequence[list[list[str]]]
) -> Iterator[slice]:
    """Which levels stand side by side, so that no line is too wide; at least one of them."""
    left = sum(2 + max(map(cell_width, column)) for column in zip(*labels, strict=True))
    widths = [
        2 + max(cell_width(level), *(cell_width(line[k]) for group in shown for line in group))
        for k, level in enumerate(levels)
    ]
    start, used = 0, left
    for k, width in enumerate(widths):
        if k > start and used + width > _WIDTH:
            yield slice(start, k)
            start, used = k, left
        used += width
    yield slice(start, len(widths))


def impossible_cells(net: MarkovNet) -> list[str]:
    """Return the cells that a maximum at infinity excludes, as levels by name."""
    return [
        ", ".join(
            f"{visible(variable.name)}={visible((variable.levels or ())[code])}"
            for variable, code in zip(potential.scope, codes, strict=True)
        )
        for potential in net.potentials
        if potential.is_boundary
        for codes in np.argwhere(np.isneginf(potential.table)).tolist()
    ]


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.6g}"
