"""What stands around a drawing: a heading above it, a legend and a caption below it.

All are as wide as the drawing at most, and below or above it: they never overlap it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gml.pictures.svg import Markup, element, label
from gml.pictures.text_width import shortened, text_width
from gml.printable_text import printable

FONT_SIZE = 11.0
_ROW = 18.0
_BETWEEN = 18.0
_AFTER_SAMPLE = 6.0
_MOST_WORDS = 320.0

Sample = Callable[[float, float], Sequence[Markup]]
"""What draws a sample, from its left end and the height of its middle."""


@dataclass(frozen=True)
class Entry:
    """A line of a legend: a sample, if any, and what it means."""

    words: str
    sample: Sample | None = None
    sample_width: float = 34.0

    @property
    def shown(self) -> str:
        """The words, shortened if they are many."""
        return shortened(printable(self.words), FONT_SIZE, _MOST_WORDS)

    @property
    def width(self) -> float:
        """The room that the entry takes."""
        return self._before + text_width(self.shown, FONT_SIZE)

    @property
    def _before(self) -> float:
        return self.sample_width + _AFTER_SAMPLE if self.sample else 0.0

    def draw(self, left: float, middle: float) -> list[Markup]:
        """Return the sample and its words."""
        sample = list(self.sample(left, middle)) if self.sample else []
        text = element("text", label(self.shown), x=left + self._before, y=middle + 4)
        return [*sample, text]


def width_of(group: Sequence[Entry]) -> float:
    """Return the room that entries in one row take."""
    return sum(entry.width for entry in group) + _BETWEEN * (len(group) - 1)


def draw_legend(
    groups: Sequence[Sequence[Entry]], left: float, top: float, room: float, colour: str
) -> tuple[list[Markup], float]:
    """Return the entries, as many in a row as there is room for, and their height.

    Those of one group stay together if they can.
    """
    if not groups:
        return [], 0.0
    drawn: list[Markup] = []
    x, row = left, 0
    for group in groups:
        for place, entry in enumerate(group):
            together = entry.width if place else min(width_of(group), room)
            if x > left and x + together > left + room:
                x, row = left, row + 1
            drawn += entry.draw(x, top + _ROW * (row + 0.5))
            x += entry.width + _BETWEEN
    group_of_all = element("g", *drawn, class_="legend", font_size=FONT_SIZE, fill=colour)
    return [group_of_all], _ROW * (row + 1)


def draw_words(
    words: str,
    left: float,
    top: float,
    room: float,
    colour: str,
    *,
    size: float,
    bold: bool = False,
) -> tuple[list[Markup], float]:
    """Return words, as many lines of them as they need, and their height."""
    lines = _lines(printable(words), room, size, bold)
    drawn = [
        element("text", label(line), x=left, y=top + size * (1.4 * row + 1))
        for row, line in enumerate(lines)
    ]
    group = element("g", *drawn, font_size=size, font_weight="bold" if bold else None, fill=colour)
    return [group], 1.4 * size * len(lines)


def _lines(words: str, room: float, size: float, bold: bool) -> list[str]:
    lines: list[str] = []
    for word in words.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size, bold=bold) <= room:
            lines[-1] = longer
        else:
            lines.append(shortened(word, size, room, bold=bold))
    return lines
