"""Distributions inside nodes: a bar for each level, or the curve of a density over its mean.

Of many levels the most probable are shown, ties by their order, and the others counted; those
shown keep their order. What was observed is marked by a dot as well as by its colour.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from gml.pictures.layout.geometry import Size
from gml.pictures.shares import percent
from gml.pictures.svg import Markup, element, label, number
from gml.pictures.text_width import shortened, text_width
from gml.pictures.themes import Theme
from gml.printable_text import printable

FONT_SIZE = 11.0
_ROW = 15.0
_BAR = 60.0
_BAR_HEIGHT = 9.0
_MOST_LABEL = 96.0
_GAP = 6.0
_DOT = 3.0
_CURVE = Size(110.0, 34.0)
# How many standard deviations of a bell curve are drawn to each side.
_REACH = 3.0
_STEPS = 12
# The places of a mixture: between its ends, and around as many of its parts.
_EVEN = 48
_MOST_FOLLOWED = 4
_MOST_IN_WORDS = 12
# A float64 has no more.
_MOST_DIGITS = 15


Parts = tuple[tuple[float, float, float], ...]


@dataclass(frozen=True)
class Bars:
    """The distribution of a node of labels, and the level that was observed or set, if any."""

    levels: tuple[str, ...]
    shares: tuple[float, ...]
    observed: int | None = None
    prior: tuple[float, ...] | None = None
    """The shares before anything was observed, a tick on each bar."""


@dataclass(frozen=True)
class Bell:
    """The distribution of a node of numbers; of one that is certain, `sd` is 0.

    One that is a mixture of normal distributions has these as `parts`: weight, mean and standard
    deviation.
    """

    mean: float
    sd: float
    prior: tuple[float, float] | None = None
    """The mean and the standard deviation before anything was observed, a dashed curve."""
    observed: bool = False
    parts: Parts = ()
    prior_parts: Parts = ()


def is_observed(distribution: Bars | Bell | None) -> bool:
    """Whether a distribution is that of a node that was observed or set."""
    if isinstance(distribution, Bars):
        return distribution.observed is not None
    return distribution is not None and distribution.observed


def size_of(distribution: Bars | Bell, most_rows: int) -> Size:
    """Return the room that a distribution takes."""
    if isinstance(distribution, Bell):
        width = max(_CURVE.width, text_width(_spread(distribution), FONT_SIZE) + 2 * _DOT + _GAP)
        return Size(width, _CURVE.height + _ROW)
    shown, rest = _rows(distribution, most_rows)
    return Size(
        _label_width(distribution, shown) + _BAR + _share_width() + 2 * _GAP,
        _ROW * (len(shown) + bool(rest)),
    )


def in_words(distribution: Bars | Bell) -> str:
    """Return what a distribution says, for tooltips.

    Examples
    --------
    >>> in_words(Bars(("no", "yes"), (0.25, 0.75), observed=1))
    'no 25.0 %; yes 75.0 % (observed)'
    """
    if isinstance(distribution, Bell):
        return _spread(distribution) + (" (observed)" if is_observed(distribution) else "")
    shown, rest = _rows(distribution, _MOST_IN_WORDS)
    said = []
    for k in shown:
        before = "" if distribution.prior is None else f", before {percent(distribution.prior[k])}"
        seen = " (observed)" if k == distribution.observed else ""
        said.append(f"{distribution.levels[k]} {percent(distribution.shares[k])}{before}{seen}")
    return "; ".join([*said, *([f"{rest} more"] if rest else [])])


def draw_distribution(
    distribution: Bars | Bell, left: float, top: float, room: Size, theme: Theme, most_rows: int
) -> list[Markup]:
    """Return a distribution in a room, which may be wider than it needs."""
    if isinstance(distribution, Bell):
        return _draw_bell(distribution, left, top, room, theme)
    return _draw_bars(distribution, left, top, room, theme, most_rows)


def observed_dot(x: float, y: float, theme: Theme) -> Markup:
    """Return the mark of what was observed."""
    return element("circle", cx=x, cy=y, r=_DOT, fill=theme.evidence)


def _rows(bars: Bars, most: int) -> tuple[list[int], int]:
    """Return the levels shown, and the number of those that are not."""
    n = len(bars.levels)
    if n <= most:
        return list(range(n)), 0
    by_share = sorted(range(n), key=lambda k: (k != bars.observed, -bars.shares[k], k))
    return sorted(by_share[: most - 1]), n - most + 1


def _label_width(bars: Bars, shown: list[int]) -> float:
    widest = max((text_width(printable(bars.levels[k]), FONT_SIZE) for k in shown), default=0.0)
    dot = 0.0 if bars.observed is None else 2 * _DOT + 3
    return min(widest, _MOST_LABEL) + dot


def _share_width() -> float:
    return text_width(">99.9 %", FONT_SIZE)


def _draw_bars(
    bars: Bars, left: float, top: float, room: Size, theme: Theme, most_rows: int
) -> list[Markup]:
    shown, rest = _rows(bars, most_rows)
    start = left + _label_width(bars, shown) + _GAP
    # A wide name leaves more room, which goes to the bars.
    length = left + room.width - _share_width() - _GAP - start
    right = left + room.width
    drawn, texts = [], []
    for row, k in enumerate(shown):
        middle = top + _ROW * (row + 0.5)
        observed = k == bars.observed
        words = shortened(printable(bars.levels[k]), FONT_SIZE, _MOST_LABEL, keep_end=True)
        dot = 0.0 if bars.observed is None else 2 * _DOT + 3
        texts += [
            element("text", label(words), x=left + dot, y=middle + 4),
            element(
                "text", label(percent(bars.shares[k])), x=right, y=middle + 4, text_anchor="end"
            ),
        ]
        width = length * min(max(bars.shares[k], 0.0), 1.0)
        if width > 0:
            drawn.append(
                element(
                    "rect",
                    x=start,
                    y=middle - _BAR_HEIGHT / 2,
                    width=max(width, 0.5),
                    height=_BAR_HEIGHT,
                    fill=theme.evidence if observed else theme.bar,
                )
            )
        if bars.prior is not None:
            x = start + length * min(max(bars.prior[k], 0.0), 1.0)
            ends = middle - _ROW / 2 + 1, middle + _ROW / 2 - 1
            # The halo parts the tick from a bar of a colour like its own.
            drawn += [_tick(x, *ends, theme.node, 3.2), _tick(x, *ends, theme.ink, 1.5)]
        if observed:
            drawn.append(observed_dot(left + _DOT, middle, theme))
    # Where each bar begins, so that none is seen as none.
    axis = _tick(start, top + 1, top + _ROW * len(shown) - 1, theme.muted)
    if rest:
        left_out = math.fsum(
            share for k, share in enumerate(bars.shares) if k not in shown and share > 0
        )
        y = top + _ROW * (len(shown) + 0.5) + 4
        texts += [
            element("text", label(f"+ {rest} more"), x=left, y=y, fill=theme.muted),
            element(
                "text", label(percent(left_out)), x=right, y=y, text_anchor="end", fill=theme.muted
            ),
        ]
    return [axis, *drawn, element("g", *texts, font_size=FONT_SIZE, fill=theme.ink)]


def _tick(x: float, top: float, bottom: float, colour: str, width: float | None = None) -> Markup:
    return element(
        "path",
        d=f"M{number(x)},{number(top)}V{number(bottom)}",
        stroke=colour,
        stroke_width=width,
    )


def _draw_bell(bell: Bell, left: float, top: float, room: Size, theme: Theme) -> list[Markup]:
    own = bell.parts or ((1.0, bell.mean, bell.sd),)
    before: Parts = ()
    if bell.prior is not None:
        before = bell.prior_parts or ((1.0, *bell.prior),)
    low = min(mean - _REACH * sd for _, mean, sd in (*own, *before))
    high = max(mean + _REACH * sd for _, mean, sd in (*own, *before))
    curves = [_curve(parts) for parts in (own, before) if parts and parts[0][2] > 0]
    peak = max((height for curve in curves for _, height in curve), default=1.0)
    floor = top + _CURVE.height

    def across(value: float) -> float:
        return left + room.width * ((value - low) / (high - low) if high > low else 0.5)

    def outline(parts: Parts) -> str:
        points = [
            f"{number(across(x))},{number(floor - (_CURVE.height - 4) * height / peak)}"
            for x, height in _curve(parts)
        ]
        return "M" + "L".join(points)

    observed = is_observed(bell)
    drawn = [
        element(
            "path", d=f"M{number(left)},{number(floor)}h{number(room.width)}", stroke=theme.muted
        )
    ]
    if bell.sd > 0:
        drawn.append(element("path", d=outline(own) + "Z", fill=theme.bar))
    if bell.prior is not None and bell.prior[1] > 0:
        drawn.append(
            element(
                "path",
                d=outline(before),
                fill="none",
                stroke=theme.ink,
                stroke_dasharray="3 2",
            )
        )
    middle = across(bell.mean)
    colour = theme.evidence if observed else theme.ink
    drawn.append(_tick(middle, top + 4, floor, colour))
    words = _spread(bell)
    centre = left + room.width / 2
    baseline = floor + _ROW - 3
    if observed:
        drawn.append(
            observed_dot(centre - text_width(words, FONT_SIZE) / 2 - _GAP, baseline - 4, theme)
        )
    text = element(
        "text",
        label(words),
        x=centre,
        y=baseline,
        text_anchor="middle",
        font_size=FONT_SIZE,
        fill=theme.ink,
    )
    return [*drawn, text]


def _curve(parts: Parts) -> list[tuple[float, float]]:
    """Places, and the density there up to a factor that is the same for all."""
    steps = [_REACH * step / _STEPS for step in range(-_STEPS, _STEPS + 1)]
    if len(parts) == 1:
        _, mean, sd = parts[0]
        return [(mean + z * sd, math.exp(-z * z / 2) / sd) for z in steps]
    # Where the heaviest change, and evenly between the ends.
    heaviest = sorted(parts, reverse=True)[:_MOST_FOLLOWED]
    low = min(mean - _REACH * sd for _, mean, sd in parts)
    high = max(mean + _REACH * sd for _, mean, sd in parts)
    places = {low + (high - low) * k / _EVEN for k in range(_EVEN + 1)}
    places.update(mean + z * sd for _, mean, sd in heaviest for z in steps)
    return [(x, _density(x, parts)) for x in sorted(places)]


def _density(x: float, parts: Parts) -> float:
    return sum(weight * math.exp(-(((x - mean) / sd) ** 2) / 2) / sd for weight, mean, sd in parts)


def _spread(bell: Bell) -> str:
    """Return the mean and the standard deviation, to two digits of the latter.

    Examples
    --------
    >>> _spread(Bell(123.456, 0.0123)), _spread(Bell(-2.5, 0)), _spread(Bell(3e9, 2e7))
    ('123.456 ± 0.012', '−2.5', '3e+09 ± 2e+07')
    >>> _spread(Bell(123.456789, 1e-8)), _spread(Bell(12345678.9, 0.5))
    ('123.456789 ± 1e−08', '12345678.9 ± 0.5')
    """
    if bell.sd == 0:
        return _signed(f"{bell.mean:.6g}")
    decimals = max(0, 1 - _magnitude(bell.sd))
    if decimals > 6 or max(abs(bell.mean), bell.sd) >= 1e7:
        apart = _magnitude(bell.mean) - _magnitude(bell.sd) if bell.mean else 0
        digits = min(max(apart + 2, 1), _MOST_DIGITS)
        return _signed(f"{bell.mean:.{digits}g} ± {bell.sd:.2g}")
    return _signed(f"{bell.mean:.{decimals}f} ± {bell.sd:.{decimals}f}")


def _magnitude(value: float) -> int:
    return math.floor(math.log10(abs(value)))


def _signed(number_in_words: str) -> str:
    return number_in_words.replace("-", "−")
