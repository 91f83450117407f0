"""Held-out losses of several graphs, the best first.

With the losses of folds, a standard error is that of their mean, sd/√K, and the difference from the
best graph has that of the differences fold by fold: the same rows are hard for every graph, which
cancels. Folds share most of the rows that they are fitted on, so these errors are somewhat too
small (Bengio & Grandvalet 2004, JMLR 5:1089). What stands behind ± is two of them, in whiskers as
in words.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gml.errors import CannotAnswer, counted
from gml.pictures.picture import Picture
from gml.pictures.plots.axes import (
    HEADING_ROOM,
    MARGIN,
    SMALL,
    WORDS,
    KeyEntry,
    Scale,
    brief,
    figure,
    fitting_ticks,
    key,
    line,
    sheet,
    widest,
    with_minus,
    words,
    x_axis,
)
from gml.pictures.svg import Markup, element, label
from gml.pictures.text_width import shortened
from gml.pictures.themes import LIGHT, Theme
from gml.scores.ranking import ScoredGraph

_WIDTH = 270.0
_ROW = 32.0
_LONGEST_NAME = 240.0
_ERRORS = 2
_IN_WORDS = f"{_ERRORS} standard errors"


class LossRow(NamedTuple):
    """A graph and its mean loss per row; the standard error and the losses of folds, if known.

    `difference` is the loss less that of the best graph, with its own, paired standard error.
    """

    name: str
    loss: float
    error: float | None = None
    folds: tuple[float, ...] = ()
    difference: float | None = None
    difference_error: float | None = None


def loss_rows(graphs: Iterable[ScoredGraph]) -> list[LossRow]:
    """Return the losses of graphs that were scored on rows held out, as `gml.score` gives them.

    Examples
    --------
    >>> import gml
    >>> graphs = ["sample_data/asia.dot", gml.chow_liu("sample_data/asia.csv").graph]
    >>> rows = loss_rows(gml.score("sample_data/asia.csv", graphs, folds=5))
    >>> [(row.name, round(row.loss, 3), round(row.difference, 3)) for row in rows]
    [('sample_data/asia.dot', 2.225, 0.0), ('graph 2', 2.273, 0.048)]
    """
    known = [
        (graph.graph, graph.heldout, graph.heldout_by_fold)
        for graph in graphs
        if graph.heldout is not None
    ]
    if not known:
        raise CannotAnswer("no graph was scored on rows held out, so there is no loss to plot")
    _, least, of_best = min(known, key=lambda row: row[1])
    found = []
    for name, loss, folds in known:
        apart = [one - other for one, other in zip(folds, of_best, strict=True)]
        difference = loss - least if math.isfinite(loss) else None
        found.append(LossRow(name, loss, _error(folds), folds, difference, _error(apart)))
    return found


def _error(folds: Sequence[float]) -> float | None:
    """The standard error of the mean, where folds give one."""
    if len(folds) < 2 or not all(map(math.isfinite, folds)):
        return None
    return statistics.stdev(folds) / math.sqrt(len(folds))


def held_out_losses(
    rows: Sequence[LossRow], *, theme: Theme = LIGHT, unit: str = "nats per row"
) -> Picture:
    """Return the plot of losses: a dot for each graph, two standard errors to both sides.

    Examples
    --------
    >>> held_out_losses([LossRow("tree", 2.24, 0.02), LossRow("true", 2.23, 0.02)]).title
    'Held-out loss of 2 graphs'
    """
    if not rows:
        raise CannotAnswer("there is no graph whose loss could be plotted")
    ordered = sorted(rows, key=lambda row: (row.loss, row.name))
    shown = [_shortened(row.name) for row in ordered]
    top = HEADING_ROOM + 6
    bottom = top + len(rows) * _ROW
    left = MARGIN + widest(shown, WORDS) + 14
    content = [
        words(_shortened(row.name), left - 14, top + (k + 0.4) * _ROW + 4, theme.ink, anchor="end")
        for k, row in enumerate(ordered)
    ]
    panels = [_Panel(f"loss, {unit}", [_of_loss(row, unit) for row in ordered])]
    if any(row.difference_error for row in ordered):
        panels.append(_Panel("above the best", [_of_difference(row, unit) for row in ordered]))
    for panel in panels:
        drawn, right = panel.drawn(left, top, bottom, theme)
        content += drawn
        left = right + 34
    keyed, high = key(_entries(ordered, theme), MARGIN, bottom + 46, theme, right - MARGIN)
    best = ordered[0]
    return sheet(
        right + MARGIN,
        bottom + 46 + high + MARGIN - 6,
        [*content, *keyed],
        theme,
        title=f"Held-out loss of {counted(len(rows), 'graph')}",
        said=f"lower is better; best: {_shortened(best.name)}, {figure(best.loss, 5)} {unit}",
        description=". ".join(_told(row, unit) for row in ordered),
    )


class _Mark(NamedTuple):
    """A number with its standard error, the numbers that it is the mean of, and what it says."""

    value: float | None
    error: float | None
    folds: tuple[float, ...]
    text: str
    told: str

    def extent(self) -> Iterator[float]:
        """Yield what an axis has to reach; an infinite loss is listed, but has no place on it."""
        if self.value is not None:
            around = _ERRORS * (self.error or 0.0)
            reached = (self.value - around, self.value + around, *self.folds)
            yield from filter(math.isfinite, reached)


class _Panel(NamedTuple):
    """Marks along an axis of their own, one per graph, the best first."""

    title: str
    marks: Sequence[_Mark]

    def drawn(
        self, left: float, top: float, bottom: float, theme: Theme
    ) -> tuple[list[Markup], float]:
        """Return the panel, with the figures to its right, and where it ends."""
        extent = [value for mark in self.marks for value in mark.extent()]
        marked = fitting_ticks(min(extent, default=0.0), max(extent, default=1.0), _WIDTH)
        across = marked.scale(left, left + _WIDTH)
        content = x_axis(marked, across, top, bottom, theme, self.title)
        for k, mark in enumerate(self.marks):
            y = top + (k + 0.4) * _ROW
            marks = _whisker(mark, across, y, theme, is_best=k == 0)
            content.append(element("g", element("title", label(mark.told)), *marks))
            content.append(words(mark.text, across.end + 14, y + 4, theme.ink, size=SMALL))
        wide = widest((mark.text for mark in self.marks), SMALL)
        return content, across.end + 14 + wide


def _of_loss(row: LossRow, unit: str) -> _Mark:
    return _Mark(row.loss, row.error, row.folds, figure(row.loss, 5), _told(row, unit))


def _of_difference(row: LossRow, unit: str) -> _Mark:
    return _Mark(row.difference, row.difference_error, (), _differs(row), _told(row, unit))


def _shortened(name: str) -> str:
    return shortened(brief(name), WORDS, _LONGEST_NAME)


def _differs(row: LossRow) -> str:
    if row.difference is None:
        return ""
    if row.difference == 0:
        return "best"
    return with_minus(f"{row.difference:+.3g}") + _around(row.difference_error)


def _around(error: float | None) -> str:
    return f" ± {figure(_ERRORS * error, 2)}" if error else ""


def _told(row: LossRow, unit: str) -> str:
    told = f"{brief(row.name)}: {figure(row.loss, 6)}{_around(row.error)} {unit}"
    if row.difference:
        told += f", {_differs(row)} against the best"
    return told + (f" (± {_IN_WORDS})" if row.error or row.difference_error else "")


def _whisker(
    mark: _Mark, across: Scale, y: float, theme: Theme, *, is_best: bool
) -> Iterator[Markup]:
    if mark.value is None or not math.isfinite(mark.value):
        return
    if mark.error:
        low, high = (across.at(mark.value + sign * _ERRORS * mark.error) for sign in (-1, 1))
        yield line(low, y, high, y, theme.line, width=1.5)
        for x in (low, high):
            yield line(x, y - 4, x, y + 4, theme.line, width=1.5)
    for loss in mark.folds:
        if math.isfinite(loss):
            yield _fold(across.at(loss), y + 10, theme)
    yield _dot(across.at(mark.value), y, theme, is_best=is_best)


def _fold(x: float, y: float, theme: Theme) -> Markup:
    return element("circle", cx=x, cy=y, r=2.5, fill="none", stroke=theme.muted)


def _dot(x: float, y: float, theme: Theme, *, is_best: bool) -> Markup:
    """The mean: full for the best graph, and hollow for the others."""
    return element(
        "circle",
        cx=x,
        cy=y,
        r=5,
        fill=theme.added if is_best else theme.background,
        stroke=theme.added,
        stroke_width=2,
    )


def _entries(rows: Sequence[LossRow], theme: Theme) -> list[KeyEntry]:
    entries = [KeyEntry(_dot(12, 6, theme, is_best=True), "best")]
    if len(rows) > 1:
        entries.append(KeyEntry(_dot(12, 6, theme, is_best=False), "others"))
    if any(row.error or row.difference_error for row in rows):
        ends = [line(x, 2, x, 10, theme.line, width=1.5) for x in (0, 24)]
        bar = line(0, 6, 24, 6, theme.line, width=1.5)
        entries.append(KeyEntry(element("g", bar, *ends), f"± {_IN_WORDS}"))
    if any(row.folds for row in rows):
        entries.append(KeyEntry(_fold(12, 6, theme), "folds"))
    return entries
