"""The distribution of a node given its parents, with intervals: a dot and a whisker per number.

A table has a line for each configuration of the parents and a small plot for each level. Of large
tables, the configurations with most rows behind them are shown (the first ones where counts are
not known), and the levels that are most probable in these; what is left out is said.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from gml.errors import counted
from gml.model.configurations import configuration
from gml.model.network import CPT, Cpd
from gml.model.regressions import LinearGaussian
from gml.pictures.picture import Picture
from gml.pictures.plots.axes import (
    HEADING_ROOM,
    MARGIN,
    SMALL,
    WORDS,
    Scale,
    brief,
    figure,
    fitting_ticks,
    grid_colour,
    line,
    sheet,
    ticks,
    widest,
    words,
    x_axis,
)
from gml.pictures.plots.regressions import regressions_plot
from gml.pictures.plots.whiskers import (
    BETWEEN,
    LONGEST_NAMES,
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
from gml.pictures.themes import LIGHT, Theme

_MOST_LEVELS = 10
_MOST_TERMS = 60
_TERM_WIDTH = 340.0
_MOST_SAID = 30
"""Up to which number of cells a description says them all."""


def cpt_intervals(cpt: Cpd, theme: Theme = LIGHT, *, level: float | None = None) -> Picture:
    """Return the plot of the distribution of a node given its parents.

    Parameters
    ----------
    cpt
        The distribution.
    theme
        The colours.
    level
        That of the intervals, such as 0.95, if it is known.

    Examples
    --------
    >>> import gml
    >>> net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot", intervals=0.95)
    >>> cpt_intervals(net.cpd("dysp"), level=0.95).title
    'dysp given bronc, either'
    """
    if isinstance(cpt, CPT):
        return _table(cpt, theme, _estimates(has_intervals=cpt.intervals is not None, level=level))
    estimates = _estimates(has_intervals=cpt.has_intervals, level=level)
    if isinstance(cpt, LinearGaussian):
        return _regression(cpt, theme, estimates)
    return regressions_plot(cpt, theme, title=_title(cpt), estimates=estimates)


def _estimates(*, has_intervals: bool, level: float | None) -> str:
    """What dots and whiskers are."""
    if not has_intervals:
        return "estimates, without intervals"
    if level is None:
        return "estimates and their intervals, of a level that is not recorded"
    return f"estimates and their {100 * level:g} % intervals"


def _title(cpd: Cpd) -> str:
    given = ", ".join(brief(parent.name) for parent in cpd.parents)
    return brief(cpd.variable.name) + (f" given {given}" if given else "")


def _table(cpt: CPT, theme: Theme, estimates: str) -> Picture:
    rows, levels = _shown(cpt)
    size = min(150.0, max(58.0, WIDTH / len(levels) - BETWEEN))
    labels = [configuration(cpt.parents, row) for row in rows]
    columns = parent_columns(cpt.parents, labels)
    names_end = MARGIN + sum(width for _, _, width in columns)
    top = HEADING_ROOM + 22
    bottom = top + len(rows) * ROW
    content = list(configuration_lines(columns, top, theme))
    left = names_end + 8
    # Many levels leave little to each, which would be but the edge of an axis up to 1.
    marked = ticks(0, _largest(cpt, rows, levels), 6 if size > 120 else 3)
    for level in levels:
        across = marked.scale(left, left + size)
        # Bold letters are wider.
        name = shortened(brief((cpt.variable.levels or ())[level]), WORDS, size / 1.08)
        middle = left + size / 2
        content.append(words(name, middle, top - 10, theme.ink, anchor="middle", bold=True))
        content += x_axis(marked, across, top, bottom, theme)
        content += _column(cpt, rows, level, across, top, theme)
        left += size + BETWEEN
    content += _behind(cpt, rows, left - 12, top, theme)
    behind = 0.0 if cpt.counts is None else widest([NEVER_SEEN, "rows"], SMALL) + 10
    return sheet(
        left - 22 + behind + MARGIN,
        bottom + 22 + MARGIN,
        content,
        theme,
        title=_title(cpt),
        said="; ".join([estimates, *_notes(cpt, rows, levels)]),
        description=_in_words(cpt, rows, levels),
    )


def _shown(cpt: CPT) -> tuple[list[int], list[int]]:
    """The configurations with most rows behind them, and the levels most probable in these."""
    rows = list(range(len(cpt.table)))
    if len(rows) > MOST_CONFIGURATIONS:
        if cpt.counts is not None:
            behind = cpt.counts.sum(axis=1)
            rows.sort(key=lambda row: (-behind[row], row))
        rows = sorted(rows[:MOST_CONFIGURATIONS])
    levels = list(range(cpt.n_levels))
    if len(levels) > _MOST_LEVELS:
        total = [math.fsum(cpt.table[rows, level].tolist()) for level in levels]
        levels = sorted(sorted(levels, key=lambda level: (-total[level], level))[:_MOST_LEVELS])
    return rows, levels


def _largest(cpt: CPT, rows: Sequence[int], levels: Sequence[int]) -> float:
    """The largest number that is drawn."""
    shown = np.ix_(rows, levels)
    found = cpt.table[shown].max()
    if cpt.intervals is not None:
        found = max(
            found, cpt.intervals[shown].max(initial=0.0, where=np.isfinite(cpt.intervals[shown]))
        )
    return float(found)


def _notes(cpt: CPT, rows: Sequence[int], levels: Sequence[int]) -> Iterator[str]:
    if len(rows) < len(cpt.table):
        which = "first" if cpt.counts is None else "most frequent"
        yield f"the {which} {len(rows)} of {counted(len(cpt.table), 'configuration')}"
    if len(levels) < cpt.n_levels:
        yield f"the {len(levels)} most probable of {cpt.n_levels} levels"


def _column(
    cpt: CPT, rows: Sequence[int], level: int, across: Scale, top: float, theme: Theme
) -> Iterator[Markup]:
    seen = cpt.seen
    for k, row in enumerate(rows):
        y = top + (k + 0.5) * ROW
        yield line(across.start, y, across.end, y, grid_colour(theme), width=0.5)
        bounds = None if cpt.intervals is None else _bounds(cpt.intervals[row, level])
        told = _told(cpt, row, level)
        estimate = Estimate(float(cpt.table[row, level]), bounds, told)
        hollow = seen is not None and not seen[row]
        yield whisker(estimate, across, y, theme, hollow=hollow)


def _bounds(pair: NDArray[np.float64]) -> tuple[float, float] | None:
    low, high = pair.tolist()
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


def _told(cpt: CPT, row: int, level: int) -> str:
    given = ", ".join(
        f"{brief(parent.name)}={brief(label)}"
        for parent, label in zip(cpt.parents, configuration(cpt.parents, row), strict=True)
    )
    name = f"{brief(cpt.variable.name)}={brief((cpt.variable.levels or ())[level])}"
    told = f"P({name}{' | ' + given if given else ''}) = {figure(float(cpt.table[row, level]))}"
    bounds = None if cpt.intervals is None else _bounds(cpt.intervals[row, level])
    return told + ("" if bounds is None else f", {span(bounds)}")


def _behind(
    cpt: CPT, rows: Sequence[int], left: float, top: float, theme: Theme
) -> Iterator[Markup]:
    """How many rows each configuration was seen in, if that is known."""
    if cpt.counts is None:
        return
    yield words("rows", left, top - 10, theme.muted, size=SMALL)
    for k, row in enumerate(rows):
        n = float(cpt.counts[row].sum())
        text = figure(n, 6) if n else NEVER_SEEN
        colour = theme.ink if n else theme.muted
        yield words(text, left, top + (k + 0.5) * ROW + 4, colour, size=SMALL)


def _in_words(cpt: CPT, rows: Sequence[int], levels: Sequence[int]) -> str:
    if len(rows) * len(levels) > _MOST_SAID:
        return ""
    return ". ".join(_told(cpt, row, level) for row in rows for level in levels)


def _regression(cpd: LinearGaussian, theme: Theme, estimates: str) -> Picture:
    """Intercept, coefficients and standard deviation, each sort along an axis of its own."""
    bounds = cpd.intervals or (None,) * (len(cpd.parents) + 2)
    terms = [("(intercept)", cpd.intercept), ("(sd)", cpd.sd)]
    slopes = [
        (brief(parent.name), slope)
        for parent, slope in zip(cpd.parents, cpd.coefficients, strict=True)
    ]
    groups = [
        ("coefficients", slopes[:_MOST_TERMS], bounds[1:-1]),
        ("intercept", terms[:1], bounds[:1]),
        ("standard deviation of the errors", terms[1:], bounds[-1:]),
    ]
    names = [shortened(name, WORDS, LONGEST_NAMES) for _, some, _ in groups for name, _ in some]
    left = MARGIN + widest(names, WORDS) + 14
    top = HEADING_ROOM
    content: list[Markup] = []
    told = []
    wide = 0.0
    for heading, some, its_bounds in groups:
        if not some:
            continue
        found = [
            Estimate(value, _finite(pair), _term_told(name, value, _finite(pair)))
            for (name, value), pair in zip(some, its_bounds, strict=False)
        ]
        told += [estimate.told for estimate in found]
        shown, bottom = _terms(heading, some, found, left, top + 22, theme)
        content += shown
        wide = max(wide, widest((_in_figures(estimate) for estimate in found), SMALL))
        top = bottom + 26
    notes = [estimates]
    if cpd.n is not None:
        notes.append(f"{figure(cpd.n, 6)} rows")
    if len(slopes) > _MOST_TERMS:
        notes.append(f"the first {_MOST_TERMS} of {len(slopes)} coefficients")
    return sheet(
        left + _TERM_WIDTH + 14 + wide + MARGIN,
        top + MARGIN - 6,
        content,
        theme,
        title=_title(cpd),
        said="; ".join(notes),
        description=". ".join(told),
    )


def _finite(pair: tuple[float, float] | None) -> tuple[float, float] | None:
    return pair if pair is not None and all(map(math.isfinite, pair)) else None


def _term_told(name: str, value: float, bounds: tuple[float, float] | None) -> str:
    return f"{name}: {figure(value)}" + ("" if bounds is None else f", {span(bounds)}")


def _in_figures(estimate: Estimate) -> str:
    bounds = "" if estimate.bounds is None else f" ({span(estimate.bounds)})"
    return figure(estimate.value) + bounds


def _terms(
    heading: str,
    terms: Sequence[tuple[str, float]],
    found: Sequence[Estimate],
    left: float,
    top: float,
    theme: Theme,
) -> tuple[list[Markup], float]:
    """The terms of one sort along an axis that has 0, and where they end."""
    bottom = top + len(terms) * ROW
    extent = [0.0, *(estimate.value for estimate in found)]
    extent += [bound for estimate in found for bound in estimate.bounds or ()]
    marked = fitting_ticks(min(extent), max(extent), _TERM_WIDTH)
    across = marked.scale(left, left + _TERM_WIDTH)
    zero = across.at(0.0)
    content = [
        words(heading, left, top - 8, theme.muted, size=SMALL),
        *x_axis(marked, across, top, bottom, theme),
        line(zero, top, zero, bottom, theme.muted, width=1.5),
    ]
    for k, ((name, _), estimate) in enumerate(zip(terms, found, strict=True)):
        y = top + (k + 0.5) * ROW
        shown = shortened(name, WORDS, LONGEST_NAMES)
        content += [
            words(shown, left - 14, y + 4, theme.ink, anchor="end"),
            whisker(estimate, across, y, theme),
            words(_in_figures(estimate), across.end + 14, y + 4, theme.ink, size=SMALL),
        ]
    return content, bottom
