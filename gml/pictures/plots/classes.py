"""What the classes of a mixture are like: a small plot for each column, a line for each class.

Labels have a bar divided among the levels, from pale for the first to dark for the last, with the
levels named below; numbers have a dot at the mean and a whisker of one standard deviation to either
side, on an axis that all classes share. The size of a class stands beside its name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from gml.errors import counted
from gml.model.mixtures.profiles import ClassProfiles, LabelProfile, NumberProfile
from gml.model.mixtures.result import classes_in_words
from gml.pictures.picture import Picture
from gml.pictures.plots.axes import (
    HEADING_ROOM,
    MARGIN,
    SMALL,
    WORDS,
    KeyEntry,
    brief,
    figure,
    fitting_ticks,
    key,
    sheet,
    widest,
    words,
    x_axis,
)
from gml.pictures.plots.whiskers import ROW, Estimate, whisker
from gml.pictures.shares import percent
from gml.pictures.svg import Markup, element, label
from gml.pictures.text_width import shortened
from gml.pictures.themes import LIGHT, Theme

_PANEL = 230.0
_BETWEEN = 34.0
_PER_ROW = 3
_MOST_COLUMNS = 60
_MOST_LEVELS = 12
_BAR = 14.0
# The palest and the darkest of the levels.
_PALE, _DARK = 0.15, 0.9
_LONGEST_NAME = 140.0


def class_plot(profiles: ClassProfiles, theme: Theme = LIGHT) -> Picture:
    """Return the plot of the classes of a mixture.

    Examples
    --------
    >>> import gml
    >>> found = gml.mixture("sample_data/carcinoma.csv", components=2, weights="slides")
    >>> class_plot(found.profiles).title
    'class: 2 classes'
    """
    columns = profiles.columns[:_MOST_COLUMNS]
    names = _class_names(profiles)
    left = MARGIN + widest(names, SMALL) + 14
    n_classes = len(profiles.sizes)
    content: list[Markup] = []
    told = [", ".join(names)]
    top = HEADING_ROOM
    for first in range(0, len(columns), _PER_ROW):
        some = columns[first : first + _PER_ROW]
        above = top + 24
        for k, name in enumerate(names):
            content.append(words(name, MARGIN, above + (k + 0.5) * ROW + 4, theme.ink, size=SMALL))
        below = above + n_classes * ROW
        deepest = below + 22
        for place, column in enumerate(some):
            at = left + place * (_PANEL + _BETWEEN)
            title = shortened(brief(column.variable.name), WORDS, _PANEL / 1.08)
            content.append(words(title, at, above - 8, theme.ink, bold=True))
            if isinstance(column, NumberProfile):
                content += _number(column, at, above, below, theme, told)
            else:
                content += _bars(column, at, above, theme)
                named, height = _levels(column, at, below + 8, theme)
                content += named
                deepest = max(deepest, below + 8 + height)
                told.append(_in_words(column))
        top = deepest + 14
    across = min(len(columns), _PER_ROW)
    some_numbers = [isinstance(column, NumberProfile) for column in columns]
    parts = ["shares of levels"] * (not all(some_numbers))
    parts += ["means and one standard deviation to either side"] * any(some_numbers)
    said = "; ".join(parts)
    if len(columns) < len(profiles.columns):
        said += f"; the first {len(columns)} of {counted(len(profiles.columns), 'column')}"
    return sheet(
        left + across * (_PANEL + _BETWEEN) - _BETWEEN + MARGIN,
        top + MARGIN,
        content,
        theme,
        title=f"{brief(profiles.hidden.name)}: {classes_in_words(n_classes)}",
        said=said,
        description=". ".join(told),
    )


def _class_names(profiles: ClassProfiles) -> list[str]:
    levels = profiles.hidden.levels or ()
    return [
        f"{shortened(brief(level), SMALL, _LONGEST_NAME)} ({percent(float(size))})"
        for level, size in zip(levels, profiles.sizes, strict=True)
    ]


def _shade(theme: Theme, k: int, count: int) -> str:
    share = _PALE if count < 2 else _PALE + (_DARK - _PALE) * k / (count - 1)
    return theme.shade(share)


def _shown(column: LabelProfile) -> tuple[list[str], list[list[float]]]:
    """The names of levels and their shares by class; what is beyond the first stands together."""
    levels = [brief(level) for level in column.variable.levels or ()]
    shares = column.table.tolist()
    if len(levels) > _MOST_LEVELS:
        rest = len(levels) - _MOST_LEVELS + 1
        levels = [*levels[: _MOST_LEVELS - 1], counted(rest, "other level")]
        shares = [[*row[: _MOST_LEVELS - 1], math.fsum(row[_MOST_LEVELS - 1 :])] for row in shares]
    return levels, shares


def _bars(column: LabelProfile, at: float, top: float, theme: Theme) -> Iterator[Markup]:
    levels, shares = _shown(column)
    for k, row in enumerate(shares):
        x = at
        y = top + (k + 0.5) * ROW - _BAR / 2
        for i, (level, share) in enumerate(zip(levels, row, strict=True)):
            if share <= 0:
                continue
            told = f"{brief(column.variable.name)}={level}: {percent(share)}"
            yield element(
                "rect",
                element("title", label(told)),
                x=x,
                y=y,
                width=share * _PANEL,
                height=_BAR,
                fill=_shade(theme, i, len(levels)),
                stroke=theme.muted,
                stroke_width=0.5,
            )
            x += share * _PANEL


def _levels(
    column: LabelProfile, at: float, top: float, theme: Theme
) -> tuple[list[Markup], float]:
    """The key of the levels below a panel."""
    levels, _ = _shown(column)
    entries = [
        KeyEntry(
            element(
                "rect",
                width=14.0,
                height=10.0,
                x=8.0,
                y=1.0,
                fill=_shade(theme, i, len(levels)),
                stroke=theme.muted,
                stroke_width=0.5,
            ),
            shortened(level, SMALL, _PANEL - 50),
        )
        for i, level in enumerate(levels)
    ]
    return key(entries, at - 8, top, theme, _PANEL + 16)


def _number(
    column: NumberProfile, at: float, top: float, bottom: float, theme: Theme, told: list[str]
) -> Iterator[Markup]:
    lows, highs = column.means - column.sds, column.means + column.sds
    marked = fitting_ticks(float(lows.min()), float(highs.max()), _PANEL)
    across = marked.scale(at, at + _PANEL)
    yield from x_axis(marked, across, top, bottom, theme)
    name = brief(column.variable.name)
    said = []
    for k, (mean, sd) in enumerate(zip(column.means.tolist(), column.sds.tolist(), strict=True)):
        text = f"{figure(mean)} ± {figure(sd)}"
        said.append(text)
        estimate = Estimate(mean, (mean - sd, mean + sd), f"{name}: {text}")
        yield whisker(estimate, across, top + (k + 0.5) * ROW, theme)
    told.append(f"{name}: {', '.join(said)}")


def _in_words(column: LabelProfile) -> str:
    """The most probable level of each class."""
    levels = column.variable.levels or ()
    best = [
        f"{brief(levels[int(row.argmax())])} {percent(float(row.max()))}" for row in column.table
    ]
    return f"{brief(column.variable.name)}: {', '.join(best)}"
