"""A page of cells on which lines join to corners, forks and crossings."""

from __future__ import annotations

from collections import defaultdict

from gml.pictures.text.characters import DOWN, LEFT, RIGHT, UP, Characters
from gml.printable_text import cell_width


class Canvas:
    """Lines by the directions in which they leave each cell, and what is written over them."""

    def __init__(self) -> None:
        self._directions: defaultdict[tuple[int, int], int] = defaultdict(int)
        self._written: dict[tuple[int, int], str] = {}

    def down(self, column: int, top: int, bottom: int) -> None:
        """Draw a line from one row to another, both included."""
        for row in range(top, bottom):
            self._directions[row, column] |= DOWN
            self._directions[row + 1, column] |= UP

    def across(self, left: int, right: int, row: int) -> None:
        """Draw a line from one column to another."""
        for column in range(left, right):
            self._directions[row, column] |= RIGHT
            self._directions[row, column + 1] |= LEFT

    def cut(self, column: int, row: int) -> None:
        """Take away what leads up or down from a cell."""
        self._directions[row, column] &= LEFT | RIGHT

    def mark(self, column: int, row: int, text: str) -> None:
        """Write over what is in a cell."""
        self._written[row, column] = text

    def box(self, left: int, top: int, width: int, text: str) -> None:
        """Draw a box of three rows around a text, which is in the middle."""
        right = left + width - 1
        for row in (top, top + 2):
            self.across(left, right, row)
        for column in (left, right):
            self.down(column, top, top + 2)
        before = (width - cell_width(text)) // 2
        self._written[top + 1, left + before] = text

    def lines(self, characters: Characters) -> list[str]:
        """Return the page as text, without blanks at the ends of lines."""
        rows: defaultdict[int, dict[int, str]] = defaultdict(dict)
        for (row, column), directions in self._directions.items():
            rows[row][column] = characters.lines.get(directions, " ")
        for (row, column), text in self._written.items():
            rows[row][column] = text
        return [_joined(rows[row]) for row in range(max(rows) + 1)]


def _joined(cells: dict[int, str]) -> str:
    line, filled = [], 0
    for column in sorted(cells):
        line.append(" " * (column - filled) + cells[column])
        filled = column + cell_width(cells[column])
    return "".join(line).rstrip()
