"""The distribution of one column, small enough that dozens stand side by side.

Levels are bars beside one another as they are declared, or the most frequent ones and the rest
together where there are many. A histogram has areas that are shares: intervals of unequal width
have heights by density, and an interval without an end is drawn as wide as its neighbour.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from gml.errors import counted, share_of
from gml.pictures.picture import Picture
from gml.pictures.plots.axes import brief, figure, line, words
from gml.pictures.svg import Markup, document, element, label
from gml.pictures.text_width import shortened, text_width
from gml.pictures.themes import LIGHT, Theme

WIDTH = 160.0
HEIGHT = 90.0
_MOST_BARS = 6
_SIZE = 9.5
_NAMES = 68.0
_SHARES = 32.0


def small_bars(
    levels: Sequence[str], counts: Sequence[float], theme: Theme = LIGHT, *, title: str = ""
) -> Picture:
    """Return the counts of levels as bars with their shares.

    Examples
    --------
    >>> small_bars(["no", "yes"], [3, 1])
    Picture('2 levels', 160 x 90)
    """
    total = math.fsum(counts)
    rows = _bars(levels, counts)
    title = title or counted(len(levels), "level")
    largest = max((count for _, count in rows), default=0.0) or 1.0
    room = WIDTH - _NAMES - _SHARES - 4
    pitch = min(20.0, HEIGHT / max(1, len(rows)))
    top = (HEIGHT - pitch * len(rows)) / 2
    content = []
    for k, (name, count) in enumerate(rows):
        middle = top + (k + 0.5) * pitch
        share = share_of(count, total) if total else "0%"
        wide = room * count / largest
        shown = shortened(name, _SIZE, _NAMES - 6)
        content += [
            words(shown, _NAMES - 4, middle + 3.4, theme.ink, size=_SIZE, anchor="end"),
            element(
                "rect",
                element("title", label(f"{name}: {figure(count, 6)} ({share})")),
                x=_NAMES,
                y=middle - pitch * 0.36,
                width=max(wide, 0.5) if count else 0.0,
                height=pitch * 0.72,
                fill=theme.bar,
            ),
            words(_percentage(count, total), _NAMES + wide + 3, middle + 3.4, theme.muted, size=9),
        ]
    told = ", ".join(f"{name} {_percentage(count, total)}" for name, count in rows)
    return _small(content, theme, title, told)


def _bars(levels: Sequence[str], counts: Sequence[float]) -> list[tuple[str, float]]:
    """The levels to show with their counts; of many, the most frequent, and the others in one."""
    pairs = [(brief(level), float(count)) for level, count in zip(levels, counts, strict=True)]
    if len(pairs) <= _MOST_BARS:
        return pairs
    pairs.sort(key=lambda pair: (-pair[1], pair[0]))
    rest = pairs[_MOST_BARS - 1 :]
    others = (f"{len(rest)} others", math.fsum(count for _, count in rest))
    return [*pairs[: _MOST_BARS - 1], others]


def _percentage(count: float, total: float) -> str:
    share = 100 * count / total if total else 0.0
    if 0 < share < 1:
        return "<1%"
    return ">99%" if 99 < share < 100 else f"{share:.0f}%"


def histogram(
    cuts: Sequence[float], counts: Sequence[float], theme: Theme = LIGHT, *, title: str = ""
) -> Picture:
    """Return the counts between successive cuts, of which there is one more, as areas.

    Examples
    --------
    >>> histogram([0, 1, 2, 4], [5, 7, 2])
    Picture('0 to 4', 160 x 90)
    """
    ends = _finite_ends(cuts)
    title = title or f"{figure(cuts[0])} to {figure(cuts[-1])}"
    span = ends[-1] - ends[0]
    # A value that repeats may be an interval of its own, which has no width.
    widths = [max(after - before, span / 200) for before, after in pairwise(ends)]
    heights = [count / width for count, width in zip(counts, widths, strict=True)]
    largest = max(heights, default=0.0) or 1.0
    left, right, top, bottom = 6.0, WIDTH - 6.0, 8.0, HEIGHT - 18.0
    content: list[Markup] = []
    for k, count in enumerate(counts):
        x = left + (right - left) * (ends[k] - ends[0]) / span
        wide = (right - left) * widths[k] / span
        high = (bottom - top) * heights[k] / largest
        told = f"{figure(cuts[k])} to {figure(cuts[k + 1])}: {figure(count, 6)}"
        content.append(
            element(
                "rect",
                element("title", label(told)),
                x=x,
                y=bottom - high,
                width=max(wide - 0.5, 0.5),
                height=high,
                fill=theme.bar,
            )
        )
    content.append(line(left, bottom, right, bottom, theme.muted))
    content += _end_labels(cuts, left, right, theme)
    total = math.fsum(counts)
    return _small(content, theme, title, f"{figure(total, 6)} values in {len(counts)} intervals")


def _finite_ends(cuts: Sequence[float]) -> list[float]:
    """The cuts, an infinite one as far from its neighbour as that is from the next."""
    ends = [float(cut) for cut in cuts]
    inner = [cut for cut in ends if math.isfinite(cut)]
    if len(inner) < 2:
        middle = inner[0] if inner else 0.0
        inner = [middle, middle + 1.0]
    if ends[0] == -math.inf:
        ends[0] = inner[0] - (inner[1] - inner[0])
    if ends[-1] == math.inf:
        ends[-1] = inner[-1] + (inner[-1] - inner[-2])
    if not ends[-1] > ends[0]:
        ends[0], ends[-1] = ends[0] - 0.5, ends[-1] + 0.5
    return ends


def _end_labels(cuts: Sequence[float], left: float, right: float, theme: Theme) -> Iterator[Markup]:
    """The first and the last cut, shortened so that they never meet."""
    first, last = figure(cuts[0]), figure(cuts[-1])
    if text_width(first, _SIZE) + text_width(last, _SIZE) + 8 <= right - left:
        yield words(first, left, HEIGHT - 6, theme.muted, size=_SIZE)
        yield words(last, right, HEIGHT - 6, theme.muted, size=_SIZE, anchor="end")


def _small(content: Sequence[Markup], theme: Theme, title: str, told: str) -> Picture:
    svg = document(
        WIDTH,
        HEIGHT,
        element("desc", label(told)),
        *content,
        title=title,
        background=theme.background,
    )
    return Picture(svg, WIDTH, HEIGHT, title)
