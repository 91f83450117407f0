"""The characters of a picture in text: lines and marks, in Unicode or in ASCII."""

from __future__ import annotations

from dataclasses import dataclass

from gml.graph.edges import Mark

UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8


@dataclass(frozen=True)
class Characters:
    """What lines and marks are drawn with."""

    lines: dict[int, str]
    """By the directions that a line goes from the cell, added up."""
    arrows: dict[int, str]
    """By the direction that they point to."""
    circle: str
    branch: str
    last_branch: str

    def mark(self, mark: Mark, direction: int) -> str:
        """The mark at the end of a line that goes in a direction."""
        if mark == Mark.ARROW:
            return self.arrows[direction]
        if mark == Mark.CIRCLE:
            return self.circle
        return self.lines[LEFT | RIGHT if direction & (LEFT | RIGHT) else UP | DOWN]


BOX = Characters(
    lines={
        UP | DOWN: "│",
        LEFT | RIGHT: "─",
        DOWN | RIGHT: "┌",
        DOWN | LEFT: "┐",
        UP | RIGHT: "└",
        UP | LEFT: "┘",
        UP | DOWN | RIGHT: "├",
        UP | DOWN | LEFT: "┤",
        DOWN | LEFT | RIGHT: "┬",
        UP | LEFT | RIGHT: "┴",
        UP | DOWN | LEFT | RIGHT: "┼",
    },
    arrows={UP: "▲", DOWN: "▼", LEFT: "◀", RIGHT: "▶"},
    circle="○",
    branch="├",
    last_branch="└",
)
# Where lines cross, the one from side to side goes behind the other.
ASCII = Characters(
    lines={
        directions: {"│": "|", "─": "-", "┼": "|"}.get(char, "+")
        for directions, char in BOX.lines.items()
    },
    arrows={UP: "^", DOWN: "v", LEFT: "<", RIGHT: ">"},
    circle="o",
    branch="|",
    last_branch="`",
)


def characters_for(encoding: str | None) -> Characters:
    """Box characters if they can be encoded, otherwise ASCII."""
    every = "".join([*BOX.lines.values(), *BOX.arrows.values(), BOX.circle])
    try:
        every.encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return BOX
