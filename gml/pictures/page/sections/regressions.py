"""Regressions of numbers: one equation per configuration of the labels that a number depends on."""

from __future__ import annotations

from gml.errors import counted
from gml.model.bayesnet import BayesNet
from gml.model.regressions import ConditionalGaussian, LinearGaussian, NumberCpd
from gml.pictures.page.html import NOTHING, Heading, folded, joined, paragraph, table
from gml.pictures.page.sections.section import Section
from gml.pictures.plots.axes import with_minus
from gml.pictures.svg import Markup, label

# More tables than anybody reads, and rows of one.
_MOST_TABLES = 200
_MOST_ROWS = 100


def regressions_section(net: BayesNet) -> Section:
    """Return the regressions of all numbers of a model, each folded."""
    cpds = [cpd for cpd in net.cpds if isinstance(cpd, LinearGaussian | ConditionalGaussian)]
    about = (
        "A number is its intercept, plus its parents times their coefficients, plus a normal error "
        "of the standard deviation given."
    )
    if any(cpd.label_parents for cpd in cpds):
        about += (
            " Where it depends on labels, each of their configurations has a regression of its own."
        )
    left = len(cpds) - _MOST_TABLES
    more = f"and {counted(left, 'more number')}: gml convert MODEL FILE.txt" if left > 0 else ""
    parts = [
        paragraph(about),
        *(folded(_title(cpd), _regressions(cpd)) for cpd in cpds[:_MOST_TABLES]),
        paragraph(more) if more else NOTHING,
    ]
    return Section("regressions", "Regressions", tuple(parts))


def _title(cpd: NumberCpd) -> str:
    given = ", ".join(parent.name for parent in cpd.parents)
    return f"{cpd.variable.name} given {given}" if given else cpd.variable.name


def _regressions(cpd: NumberCpd) -> Markup:
    """A row per configuration; intervals, if there are any, stand below each figure."""
    has_rows = any(line.n is not None for line in cpd.regressions)
    terms = ["intercept", *(parent.name for parent in cpd.number_parents), "sd of the error"]
    headings = [Heading(parent.name) for parent in cpd.label_parents]
    headings += [Heading(term, is_number=True) for term in terms]
    headings += [Heading("rows", is_number=True)] * has_rows
    shown = list(zip(cpd.configurations(), cpd.regressions, strict=True))[:_MOST_ROWS]
    rows = []
    for levels, line in shown:
        figures = [line.intercept, *line.coefficients, line.sd]
        texts = [_number(figure) for figure in figures]
        if line.intervals is not None:
            texts = [
                f"{text} ({_number(low)} to {_number(high)})"
                for text, (low, high) in zip(texts, line.intervals, strict=True)
            ]
        if has_rows:
            texts.append("none" if line.n is None else f"{line.n:g}")
        rows.append([label(text) for text in (*levels, *texts)])
    left = len(cpd.regressions) - len(shown)
    more = paragraph(f"and {counted(left, 'more configuration')}") if left else NOTHING
    return joined([table(f"Regression of {_title(cpd)}", headings, rows), more])


def _number(value: float) -> str:
    return with_minus(f"{value:.6g}")
