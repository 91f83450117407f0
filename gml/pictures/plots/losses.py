"""Held-out losses of several graphs, the best first.

With the losses of folds, a standard error is that of their mean, sd/√K, and the difference from the
best graph has that of the differences fold by fold: the same rows are hard for every graph, which
cancels. Folds share most of the rows that they are fitted on, so these errors are somewhat too
small (Bengio & Grandvalet 2004, JMLR 5:1089).
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
from gml.printable_text import visible
from gml.scores.ranking import ScoredGraph

_WIDTH = 380.0
_ROW = 32.0
_LONGEST_NAME = 240.0


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
    # An infinite loss has a place in the list, but none on the axis.
    ordered = sorted(rows, key=lambda row: (row.loss, row.name))
    extent = [value for row in ordered for value in _extent(row) if math.isfinite(value)]
    marked = fitting_ticks(min(extent, default=0.0), max(extent, default=1.0), _WIDTH)
    shown = [_shortened(row.name) for row in ordered]
    left = max(MARGIN + widest(shown, WORDS) + 10, MARGIN + widest(marked.labels[:1], SMALL))
    across = marked.scale(left, left + _WIDTH)
    top = HEADING_ROOM + 12
    bottom = top + len(rows) * _ROW
    content = x_axis(marked, across, top, bottom, theme, f"loss, {unit}")
    wide = _figures(ordered, across.end + 14, top, theme, content)
    for k, row in enumerate(ordered):
        y = top + (k + 0.4) * _ROW
        content.append(words(_shortened(row.name), left - 10, y + 4, theme.ink, anchor="end"))
        content.append(
            element(
                "g",
                element("title", label(_told(row, unit))),
                *_whisker(row, across, y, theme, is_best=k == 0),
            )
        )
    entries = _entries(ordered, theme)
    drawn, high = key(entries, MARGIN, bottom + 46, theme, left + _WIDTH - MARGIN)
    best = ordered[0]
    return sheet(
        across.end + 14 + wide + MARGIN,
        bottom + 46 + high + MARGIN - 6,
        [*content, *drawn],
        theme,
        title=f"Held-out loss of {counted(len(rows), 'graph')}",
        said=f"lower is better; best: {_shortened(best.name)}, {figure(best.loss, 5)} {unit}",
        description=". ".join(_told(row, unit) for row in ordered),
    )


def _shortened(name: str) -> str:
    return shortened(visible(name), WORDS, _LONGEST_NAME)


def _extent(row: LossRow) -> Iterator[float]:
    yield from (row.loss, *row.folds)
    if row.error is not None:
        yield row.loss - 2 * row.error
        yield row.loss + 2 * row.error


def _differs(row: LossRow) -> str:
    if row.difference is None:
        return ""
    if row.difference == 0:
        return "best"
    error = "" if row.difference_error is None else f" ± {figure(row.difference_error, 2)}"
    return with_minus(f"{row.difference:+.3g}") + error


def _told(row: LossRow, unit: str) -> str:
    told = f"{visible(row.name)}: {figure(row.loss, 6)} {unit}"
    if row.error is not None:
        told += f", standard error {figure(row.error, 2)}"
    if row.difference:
        told += f", {_differs(row)} against the best"
    return told


def _figures(
    rows: Sequence[LossRow], x: float, top: float, theme: Theme, content: list[Markup]
) -> float:
    """Add the losses and the differences from the best as columns, and return how wide they are."""
    losses = [figure(row.loss, 5) for row in rows]
    differences = [_differs(row) for row in rows]
    columns = [("loss", losses)]
    if any(differences):
        columns.append(
            ("± 1 s.e." if any("±" in text for text in differences) else "", differences)
        )
    begin = x
    for heading, texts in columns:
        title = heading if heading == "loss" else f"above the best {heading}".strip()
        content.append(words(title, x, top - 8, theme.muted, size=SMALL))
        for k, text in enumerate(texts):
            content.append(words(text, x, top + (k + 0.4) * _ROW + 4, theme.ink, size=SMALL))
        x += max(widest(texts, SMALL), widest([title], SMALL)) + 16
    return x - begin - 16


def _whisker(
    row: LossRow, across: Scale, y: float, theme: Theme, *, is_best: bool
) -> Iterator[Markup]:
    if row.error is not None:
        low, high = (across.at(row.loss + sign * 2 * row.error) for sign in (-1, 1))
        yield line(low, y, high, y, theme.line, width=1.5)
        for x in (low, high):
            yield line(x, y - 4, x, y + 4, theme.line, width=1.5)
    for loss in row.folds:
        if math.isfinite(loss):
            yield _fold(across.at(loss), y + 10, theme)
    if math.isfinite(row.loss):
        yield _dot(across.at(row.loss), y, theme, is_best=is_best)


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
    if any(row.error is not None for row in rows):
        ends = [line(x, 2, x, 10, theme.line, width=1.5) for x in (0, 24)]
        bar = line(0, 6, 24, 6, theme.line, width=1.5)
        entries.append(KeyEntry(element("g", bar, *ends), "± 2 standard errors"))
    if any(row.folds for row in rows):
        entries.append(KeyEntry(_fold(12, 6, theme), "folds"))
    return entries
