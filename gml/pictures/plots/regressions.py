"""The regressions of a node, one per configuration of labels: a dot and a whisker per term.

A line for each configuration, a small plot for each term, along an axis of its own. Of many
configurations those with most rows behind them are shown (the first ones where that is not known),
and of many parents the first; what is left out is said.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gml.errors import counted
from gml.model.configurations import configuration
from gml.model.regressions import ConditionalGaussian, LinearGaussian
from gml.pictures.picture import Picture
from gml.pictures.plots.axes import (
    HEADING_ROOM,
    MARGIN,
    SMALL,
    WORDS,
    brief,
    figure,
    fitting_ticks,
    grid_colour,
    line,
    sheet,
    widest,
    words,
    x_axis,
)
from gml.pictures.plots.whiskers import (
    BETWEEN,
    MOST_CONFIGURATIONS,
    NEVER_SEEN,
    ROW,
    WIDTH,
    Estimate,
    configuration_lines,
    parent_columns,
    span,
    whisker,
)
from gml.pictures.svg import Markup
from gml.pictures.text_width import shortened
from gml.pictures.themes import Theme

_MOST_TERMS = 10
_LEAST_WIDTH = 70.0
_MOST_WIDTH = 150.0
_MOST_SAID = 30


class _Term(NamedTuple):
    """A term, its place among those of a regression, and whether its axis begins at 0."""

    name: str
    place: int
    has_zero: bool


def regressions_plot(
    cpd: ConditionalGaussian, theme: Theme, *, title: str, estimates: str
) -> Picture:
    """Return the plot; `estimates` says what dots and whiskers are."""
    rows, terms = _shown(cpd), _terms(cpd)
    size = min(_MOST_WIDTH, max(_LEAST_WIDTH, WIDTH / len(terms) - BETWEEN))
    labels = [configuration(cpd.label_parents, row) for row in rows]
    columns = parent_columns(cpd.label_parents, labels)
    left = MARGIN + sum(width for _, _, width in columns) + 8
    top = HEADING_ROOM + 22
    bottom = top + len(rows) * ROW
    content = list(configuration_lines(columns, top, theme))
    for term in terms:
        content += _column(cpd, rows, term, left, size, top, theme)
        left += size + BETWEEN
    behind = 0.0
    if cpd.n is not None:
        content += _behind(cpd, rows, left - 12, top, theme)
        behind = widest([NEVER_SEEN, "rows"], SMALL) + 10
    return sheet(
        left - 22 + behind + MARGIN,
        bottom + 22 + MARGIN,
        content,
        theme,
        title=title,
        said="; ".join([estimates, *_notes(cpd, rows)]),
        description=_in_words(cpd, rows, terms),
    )


def _shown(cpd: ConditionalGaussian) -> list[int]:
    """The configurations with most rows behind them, in order."""
    lines = cpd.regressions
    rows = sorted(range(len(lines)), key=lambda row: (-(lines[row].n or 0), row))
    return sorted(rows[:MOST_CONFIGURATIONS])


def _terms(cpd: ConditionalGaussian) -> list[_Term]:
    parents = cpd.number_parents
    slopes = [_Term(brief(v.name), 1 + k, has_zero=True) for k, v in enumerate(parents)]
    intercept = _Term("(intercept)", 0, has_zero=False)
    return [intercept, *slopes[: _MOST_TERMS - 2], _Term("(sd)", len(parents) + 1, has_zero=True)]


def _notes(cpd: ConditionalGaussian, rows: Sequence[int]) -> Iterator[str]:
    if len(rows) < len(cpd.regressions):
        which = "first" if cpd.n is None else "most frequent"
        yield f"the {which} {len(rows)} of {counted(len(cpd.regressions), 'configuration')}"
    n_slopes = len(cpd.number_parents)
    if n_slopes > _MOST_TERMS - 2:
        yield f"the first {_MOST_TERMS - 2} of {n_slopes} coefficients"


def _estimate(cpd: ConditionalGaussian, row: int, term: _Term) -> Estimate:
    fitted = cpd.regressions[row]
    value = _values(fitted)[term.place]
    bounds = None if fitted.intervals is None else fitted.intervals[term.place]
    if bounds is not None and not all(map(math.isfinite, bounds)):
        bounds = None
    given = ", ".join(
        f"{brief(parent.name)}={brief(level)}"
        for parent, level in zip(
            cpd.label_parents, configuration(cpd.label_parents, row), strict=True
        )
    )
    told = f"{term.name} | {given}: {figure(value)}"
    return Estimate(value, bounds, told + ("" if bounds is None else f", {span(bounds)}"))


def _values(fitted: LinearGaussian) -> list[float]:
    return [fitted.intercept, *fitted.coefficients, fitted.sd]


def _column(
    cpd: ConditionalGaussian,
    rows: Sequence[int],
    term: _Term,
    left: float,
    size: float,
    top: float,
    theme: Theme,
) -> Iterator[Markup]:
    """The estimates of one term, along their axis."""
    found = [_estimate(cpd, row, term) for row in rows]
    extent = [0.0] * term.has_zero + [estimate.value for estimate in found]
    extent += [bound for estimate in found for bound in estimate.bounds or ()]
    marked = fitting_ticks(min(extent), max(extent), size)
    across = marked.scale(left, left + size)
    # Bold letters are wider.
    name = shortened(term.name, WORDS, size / 1.08)
    yield words(name, left + size / 2, top - 10, theme.ink, anchor="middle", bold=True)
    yield from x_axis(marked, across, top, top + len(rows) * ROW, theme)
    unseen = set(cpd.unseen)
    for k, (row, estimate) in enumerate(zip(rows, found, strict=True)):
        y = top + (k + 0.5) * ROW
        yield line(across.start, y, across.end, y, grid_colour(theme), width=0.5)
        yield whisker(estimate, across, y, theme, hollow=row in unseen)


def _behind(
    cpd: ConditionalGaussian, rows: Sequence[int], left: float, top: float, theme: Theme
) -> Iterator[Markup]:
    """How many rows each regression was fitted on."""
    yield words("rows", left, top - 10, theme.muted, size=SMALL)
    for k, row in enumerate(rows):
        n = cpd.regressions[row].n
        text = NEVER_SEEN if n is None else figure(n, 6)
        colour = theme.muted if n is None else theme.ink
        yield words(text, left, top + (k + 0.5) * ROW + 4, colour, size=SMALL)


def _in_words(cpd: ConditionalGaussian, rows: Sequence[int], terms: Sequence[_Term]) -> str:
    if len(rows) * len(terms) > _MOST_SAID:
        return ""
    return ". ".join(_estimate(cpd, row, term).told for row in rows for term in terms)
