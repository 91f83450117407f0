"""Dots with whiskers, and the configurations of parents beside them: what plots of tables share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gml.data.dataset import Variable
from gml.pictures.plots.axes import MARGIN, SMALL, Scale, brief, figure, line, widest, words
from gml.pictures.svg import Markup, element, label
from gml.pictures.text_width import shortened
from gml.pictures.themes import Theme

MOST_CONFIGURATIONS = 40
ROW = 20.0
LONGEST_NAMES = 300.0
WIDTH = 700.0
NEVER_SEEN = "never seen"
BETWEEN = 30.0
_LONGEST_LABEL = 120.0
_DOT = 3.0
_CAP = 6.0
"""How far the ends of a whisker reach up and down: beyond the dot."""


class Estimate(NamedTuple):
    """A number, its bounds if known, and what to say of it."""

    value: float
    bounds: tuple[float, float] | None
    told: str


def parent_columns(
    parents: Sequence[Variable], labels: Sequence[tuple[str, ...]]
) -> list[tuple[str, list[str], float]]:
    """For each parent its name, its level in each line, and how wide both are, shortened."""
    room = min(_LONGEST_LABEL, LONGEST_NAMES / max(1, len(parents)))
    columns = []
    for k, parent in enumerate(parents):
        heading = shortened(brief(parent.name), SMALL, room)
        texts = [shortened(brief(line[k]), SMALL, room) for line in labels]
        columns.append((heading, texts, max(widest([heading, *texts], SMALL), 8) + 12))
    return columns


def configuration_lines(
    columns: Sequence[tuple[str, list[str], float]], top: float, theme: Theme
) -> Iterator[Markup]:
    """Return the names of the parents, and below them their levels, line by line."""
    left = MARGIN
    for heading, texts, width in columns:
        yield words(heading, left, top - 10, theme.muted, size=SMALL)
        for k, text in enumerate(texts):
            yield words(text, left, top + (k + 0.5) * ROW + 4, theme.ink, size=SMALL)
        left += width


def span(bounds: tuple[float, float]) -> str:
    """Return an interval in words."""
    return f"{figure(bounds[0])} to {figure(bounds[1])}"


def whisker(
    estimate: Estimate, across: Scale, y: float, theme: Theme, *, hollow: bool = False
) -> Markup:
    """A dot with its whisker over it, whose ends stand out however short it is."""
    content = [
        element("title", label(estimate.told)),
        element(
            "circle",
            cx=across.at(estimate.value),
            cy=y,
            r=_DOT,
            fill=theme.background if hollow else theme.bar,
            stroke=theme.bar,
            stroke_width=1.5,
        ),
    ]
    if estimate.bounds is not None:
        low, high = (across.at(bound) for bound in estimate.bounds)
        content.append(line(low, y, high, y, theme.ink, width=1.2))
        content += [line(x, y - _CAP, x, y + _CAP, theme.ink, width=1.2) for x in (low, high)]
    return element("g", *content)
