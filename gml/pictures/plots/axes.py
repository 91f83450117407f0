"""What all plots share: steps of 1, 2 and 5 along an axis, grids, words, and the sheet around.

A tick is a whole multiple of its step, written with the decimals of the step. The ticks enclose the
range that they are for, so an axis begins and ends at one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gml.errors import CannotAnswer
from gml.pictures.picture import Picture
from gml.pictures.svg import Markup, document, element, label
from gml.pictures.text_width import text_width
from gml.pictures.themes import Theme
from gml.printable_text import visible

HEADING = 15.0
WORDS = 12.0
SMALL = 10.5
MARGIN = 16.0
HEADING_ROOM = 58.0
"""The height that the heading and the line below it take."""
_LONGEST = 70
# A mantissa of a float64 has no more; ticks beyond would be written alike.
_MOST_DIGITS = 15
_GAP = 10.0
# Steps below would have no precision.
_LARGEST = 1e300
_LEAST_RANGE = 1e-290


class Scale(NamedTuple):
    """A linear map from low..high to the pixels start..end.

    Examples
    --------
    >>> Scale(0, 10, 100, 300).at(2.5)
    150.0
    """

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return where a value is."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


class Ticks(NamedTuple):
    """The values to mark along an axis, and how they are written."""

    values: tuple[float, ...]
    labels: tuple[str, ...]

    def scale(self, start: float, end: float) -> Scale:
        """Return the map from the first and the last tick to these pixels."""
        return Scale(self.values[0], self.values[-1], start, end)


def ticks(low: float, high: float, most: int = 6) -> Ticks:
    """Return at most `most` ticks (3 or more) that enclose a range, as close as possible.

    Examples
    --------
    >>> ticks(0.03, 0.91)
    Ticks(values=(0.0, 0.2, 0.4, 0.6, 0.8, 1.0), labels=('0.0', '0.2', '0.4', '0.6', '0.8', '1.0'))
    >>> ticks(-13448, -11182).labels
    ('−13500', '−13000', '−12500', '−12000', '−11500', '−11000')
    """
    largest = max(abs(low), abs(high))
    if largest > _LARGEST:
        raise CannotAnswer(f"no axis has room for {largest:.3g}; give the numbers in other units")
    least = max(largest * 10.0 ** (3 - _MOST_DIGITS), _LEAST_RANGE)
    if high - low <= least:
        around = largest / 2 if largest > _LEAST_RANGE else 1.0
        low, high = low - around, high + around
    exponent = math.floor(math.log10((high - low) / most))
    for power in itertools.count(exponent):
        for mantissa in (1, 2, 5):
            step = mantissa * 10.0**power
            first = math.floor(low / step + 1e-9)
            last = math.ceil(high / step - 1e-9)
            if last - first < most:
                values = tuple(
                    k * mantissa / 10**-power if power < 0 else float(k * mantissa * 10**power)
                    for k in range(first, last + 1)
                )
                return Ticks(values, tuple(_written(value, power) for value in values))
    raise AssertionError("some step is large enough")


def _written(value: float, power: int) -> str:
    if -6 <= power < 6:
        return with_minus(f"{value:.{max(0, -power)}f}")
    if not value:
        return "0"
    digits = math.floor(math.log10(abs(value)) + 1e-9) - power + 1
    return with_minus(f"{value:.{max(1, digits)}g}")


def fitting_ticks(low: float, high: float, room: float) -> Ticks:
    """Return as many ticks as fit beside one another in the room, up to eight."""
    for most in (8, 6, 5, 4):
        found = ticks(low, high, most)
        wide = max(text_width(text, SMALL) for text in found.labels)
        if (wide + _GAP) * (len(found.labels) - 1) <= room:
            return found
    return ticks(low, high, 3)


def with_minus(text: str) -> str:
    """Return the text of a number with a minus sign instead of a hyphen."""
    bare = text.lstrip("-")
    if not bare.strip("0.") and bare:
        return bare
    return text.replace("-", "−")


def figure(value: float, digits: int = 3) -> str:
    """Return a number for people.

    Examples
    --------
    >>> [figure(value) for value in (0.12345, -1234.5, 0.0, 1e-9, float("inf"))]
    ['0.123', '−1234', '0', '1e−09', '∞']
    """
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if 10**digits <= abs(value) < 1e7:
        return with_minus(f"{value:.0f}")
    return with_minus(f"{value:.{digits}g}")


def words(
    text: str,
    x: float,
    y: float,
    colour: str,
    *,
    size: float = WORDS,
    anchor: str | None = None,
    bold: bool = False,
    upwards: bool = False,
) -> Markup:
    """Return a line of text, y being its foot; one that goes upwards begins there."""
    return element(
        "text",
        label(text),
        x=x,
        y=y,
        fill=colour,
        font_size=size,
        font_weight="bold" if bold else None,
        text_anchor=anchor,
        transform=f"rotate(-90 {x:.2f} {y:.2f})" if upwards else None,
    )


def line(
    x1: float,
    y1: float,
    x2: float,
    y2: float,
    colour: str,
    *,
    width: float = 1.0,
    dashes: str | None = None,
) -> Markup:
    """Return a straight line."""
    return element(
        "line",
        x1=x1,
        y1=y1,
        x2=x2,
        y2=y2,
        stroke=colour,
        stroke_width=width,
        stroke_dasharray=dashes,
    )


def x_axis(
    marked: Ticks, scale: Scale, top: float, bottom: float, theme: Theme, title: str = ""
) -> list[Markup]:
    """Return the grid of a horizontal axis, its ticks and its title, 34 pixels below `bottom`."""
    content = []
    for value, text in zip(marked.values, marked.labels, strict=True):
        x = scale.at(value)
        content += [
            line(x, top, x, bottom, grid_colour(theme)),
            words(text, x, bottom + 15, theme.muted, size=SMALL, anchor="middle"),
        ]
    if title:
        middle = (scale.start + scale.end) / 2
        content.append(words(title, middle, bottom + 34, theme.ink, anchor="middle"))
    return content


def y_axis(marked: Ticks, scale: Scale, left: float, right: float, theme: Theme) -> list[Markup]:
    """Return the grid of a vertical axis, and its ticks to the left."""
    content = []
    for value, text in zip(marked.values, marked.labels, strict=True):
        y = scale.at(value)
        content += [
            line(left, y, right, y, grid_colour(theme)),
            words(text, left - 6, y + 4, theme.muted, size=SMALL, anchor="end"),
        ]
    return content


def grid_colour(theme: Theme) -> str:
    """Return the colour of lines that only guide the eye."""
    return theme.grid


def widest(texts: Iterable[str], size: float) -> float:
    """Return how wide the widest of some texts is."""
    return max((text_width(text, size) for text in texts), default=0.0)


class KeyEntry(NamedTuple):
    """What a key explains: a sample 24 wide and 12 high, at (0, 0), and its text."""

    sample: Markup
    text: str


def key(
    entries: Sequence[KeyEntry], x: float, y: float, theme: Theme, room: float
) -> tuple[list[Markup], float]:
    """Return a key in lines as wide as the room, y being its top, and its height."""
    content, left, top = [], x, y
    for entry in entries:
        wide = 30 + text_width(entry.text, SMALL) + 18
        if left > x and left + wide - 18 > x + room:
            left, top = x, top + 18
        content += [
            element("g", entry.sample, transform=f"translate({left:.2f} {top:.2f})"),
            words(entry.text, left + 30, top + 10, theme.ink, size=SMALL),
        ]
        left += wide
    return content, (top - y + 18 if entries else 0.0)


def brief(name: str) -> str:
    """Return a name or a heading as people can see it, cut where nobody would read on.

    Examples
    --------
    >>> brief("smoke"), brief(""), len(brief("a" * 1000))
    ('smoke', "''", 70)
    """
    shown = visible(name)
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"


def sheet(
    width: float,
    height: float,
    content: Iterable[Markup],
    theme: Theme,
    *,
    title: str,
    said: str = "",
    description: str = "",
) -> Picture:
    """Return a picture with a heading, a line below it, and a description for screen readers."""
    heading = brief(title)
    needed = max(text_width(heading, HEADING, bold=True), text_width(said, WORDS)) + 2 * MARGIN
    width = math.ceil(max(width, needed))
    head = [words(heading, MARGIN, 26, theme.ink, size=HEADING, bold=True)]
    if said:
        head.append(words(said, MARGIN, 45, theme.muted))
    told = ". ".join(part for part in (said, description) if part)
    svg = document(
        width,
        math.ceil(height),
        *([element("desc", label(told))] if told else []),
        *head,
        *content,
        title=title,
        background=theme.background,
    )
    return Picture(svg, width, math.ceil(height), title)
