"""Which undeclared columns are numeric: one rule, whatever supplied the cells.

A column is numeric if all its values are finite numbers, none of them padded with zeros as codes
are (01234), and either more than `MOST_ON_A_SCALE` of them differ, so that it is no month and no
scale from 0 to 10, or one is not whole and more than half of the cells differ. Cells are those of
all rows of the source, before missing values are treated and rows weighted. Dates and identifiers
(`gml.data.column_facts`) are found in the same pass, as they are to be refused.

What the rule looks at is gathered piece by piece (`ColumnSeen`), and adds up to the same in
whatever order pieces come, with one exception. To tell identifiers, different whole numbers are
remembered, up to `MOST_REMEMBERED` of them; repeats that come after so many are not noticed, so
that for longer columns it depends on the order of rows whether they are seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.block_file import BlockFile, Stored
from gml.data.column_facts import (
    DATE,
    IDENTIFIER,
    Tally,
    are_dates,
    are_identifiers,
    guess_of_texts,
    has_blanks,
    is_date,
)
from gml.data.dataset import missing_code, missing_mask
from gml.data.problems import how_numbers_are_written
from gml.kernel.layout import NUMBERS, OVERFLOW, CsvColumn
from gml.kernel.number import plain_number_of

MOST_ON_A_SCALE = 12
"""The most different numbers that may be the categories of a scale."""
LEAST_ROWS = 30
"""The rows from which on dates and identifiers are told from other columns."""
MOST_REMEMBERED = 1 << 22
_MOST_WORDS = 0.05
_FIVE_DIGITS, _HARDLY = 1e4, 0.9
# Cells that are looked at before the others, which most often settles what is asked.
_FIRST = 1 << 10


class SettledKind(NamedTuple):
    """What the rule makes of a column."""

    is_numeric: bool
    refused_as: str | None = None
    """A date or an identifier, from `LEAST_ROWS` rows on."""
    are_numbers: bool = False
    """Whether all values are numbers, be they the numbers of a scale."""
    present: int = 0
    """Cells that are not missing."""
    low: float = 0.0
    high: float = 0.0
    like_identifiers: bool = False
    """Whether the numbers are whole, of five digits or more, and hardly ever repeat."""
    words: tuple[str, ...] = ()
    """The values that are no numbers, if they are few among numbers."""
    written: str | None = None
    """What to do about values that would be numbers, were they written in another way."""
    word_cells: int = 0


def numeric_among(kinds: Mapping[str, SettledKind]) -> tuple[str, ...]:
    """The columns that the rule takes for numeric."""
    return tuple(name for name, kind in kinds.items() if kind.is_numeric)


class NumbersSeen:
    """What is known of numbers: how many, their range, and those that differ where it matters.

    Different numbers are remembered as long as all are whole, and none repeats or none has fewer
    than five digits; of others, as many as there may be on a scale, and one more.
    """

    def __init__(self) -> None:
        """Begin with no numbers."""
        self.present = 0
        self.low, self.high = np.inf, -np.inf
        self.some = np.empty(0)
        self.distinct: NDArray[np.float64] | None = np.empty(0)
        self.repeat = self.are_too_many = False
        """Whether some repeat, and whether they are too many to be remembered."""

    def see(self, cells: NDArray[np.float64]) -> None:
        """Take note of cells, NaN where one is missing."""
        low = float(np.fmin.reduce(cells, initial=np.inf))
        high = float(np.fmax.reduce(cells, initial=-np.inf))
        self.low, self.high = min(self.low, low), max(self.high, high)
        before = self.present
        self.present += len(cells) - int(np.count_nonzero(np.isnan(cells)))
        for part in (cells[:_FIRST], cells[_FIRST:]):
            if len(self.some) > MOST_ON_A_SCALE and self.distinct is None:
                return
            numbers = part[~np.isnan(part)]
            before += len(numbers)
            self._look(numbers, before)

    def _look(self, numbers: NDArray[np.float64], present: int) -> None:
        """Look at numbers; with those before them there are so many."""
        if self.distinct is not None and not (numbers == np.floor(numbers)).all():
            self.distinct = None
        if self.distinct is not None and not self.are_too_many:
            self._remember(np.unique(np.concatenate([self.distinct, numbers + 0.0])), present)
        if len(self.some) <= MOST_ON_A_SCALE:
            self.some = np.union1d(self.some, numbers + 0.0)[: MOST_ON_A_SCALE + 1]

    def _remember(self, distinct: NDArray[np.float64], present: int) -> None:
        self.repeat |= len(distinct) < present
        if self.repeat and self.low < _FIVE_DIGITS:
            self.distinct = None
        elif len(distinct) > MOST_REMEMBERED:
            self.distinct, self.are_too_many = np.empty(0), True
        else:
            self.distinct = distinct

    def stand_in(self, n_cells: int) -> None:
        """Say in how many cells the numbers stand, each of which was seen once."""
        self.present = n_cells
        if self.distinct is not None:
            self._remember(self.distinct, n_cells)

    def add(self, other: NumbersSeen) -> None:
        """Take what is known of the numbers of other rows."""
        self.present += other.present
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.some = np.union1d(self.some, other.some)[: MOST_ON_A_SCALE + 1]
        self.repeat |= other.repeat
        self.are_too_many |= other.are_too_many
        if self.distinct is None or other.distinct is None:
            self.distinct = None
        elif not self.are_too_many:
            self._remember(np.union1d(self.distinct, other.distinct), self.present)

    @property
    def may_be_on_a_scale(self) -> bool:
        """Whether there are few different numbers."""
        return len(self.some) <= MOST_ON_A_SCALE

    @property
    def guess(self) -> str | None:
        """Whether they are dates or identifiers."""
        if self.distinct is None or not self.present:
            return None
        if not self.are_too_many and are_dates(self.distinct):
            return DATE
        if self.repeat or not are_identifiers(self.low, self.high, self.present):
            return None
        return IDENTIFIER

    @property
    def hardly_repeat(self) -> bool:
        """Whether numbers are whole, of five digits and more, and over 90 % of them differ."""
        if self.distinct is None or self.low < _FIVE_DIGITS:
            return False
        return self.are_too_many or len(self.distinct) > _HARDLY * self.present


@dataclass
class ColumnSeen:
    """What the rule asks of the cells of a column, gathered as they pass by."""

    decimal: str
    rows: int = 0
    labelled: int = 0
    """Cells that have a label."""
    word_cells: int = 0
    """Of these, those whose label is no number."""
    numbers: NumbersSeen = field(default_factory=NumbersSeen)
    _values: list[float | None] = field(default_factory=list)
    """The number that each label spells."""

    def see(self, column: CsvColumn) -> None:
        """Take note of a piece; labels persist from one to the next."""
        cells = column.cells
        if cells is None:
            return
        self.rows += len(cells)
        if cells.dtype.kind == "f":
            self.numbers.see(cells)
            return
        present = len(cells) - int(np.count_nonzero(cells == missing_code(cells)))
        self.labelled += present
        self._values += [
            plain_number_of(label, self.decimal) for label in column.labels[len(self._values) :]
        ]
        words = [code for code, value in enumerate(self._values) if value is None]
        if len(words) == len(self._values):
            self.word_cells += present
        elif words:
            self.word_cells += int(np.count_nonzero(np.isin(cells[~missing_mask(cells)], words)))

    def become_numbers(self, labels: Sequence[str]) -> None:
        """Take labels for the numbers that they spell."""
        self.numbers, self.labelled, self._values = self._with_numbers_of(labels), 0, []

    def _with_numbers_of(self, labels: Sequence[str]) -> NumbersSeen:
        """The numbers, and those that labels spelt before they became too many."""
        found = NumbersSeen()
        found.see(np.array([plain_number_of(text, self.decimal) for text in labels], dtype=float))
        found.stand_in(self.labelled)
        found.add(self.numbers)
        return found

    def add(self, other: ColumnSeen) -> None:
        """Take what is known of other rows."""
        self.rows += other.rows
        self.labelled += other.labelled
        self.word_cells += other.word_cells
        self.numbers.add(other.numbers)
        self._values = []

    def state(self, file: BlockFile) -> dict[str, Any]:
        """Write what is known to a file, and return the rest as JSON takes it."""
        seen = self.numbers
        arrays = [seen.some, *(() if seen.distinct is None else (seen.distinct,))]
        return {
            "cells": [self.rows, self.labelled, self.word_cells, seen.present],
            "range": [repr(seen.low), repr(seen.high)],
            "repeat": [seen.repeat, seen.are_too_many],
            "arrays": [(len(array), file.write(array)) for array in arrays],
        }

    def restore(self, state: dict[str, Any], file: BlockFile) -> None:
        """Take what another run has seen."""
        seen = self.numbers
        self.rows, self.labelled, self.word_cells, seen.present = state["cells"]
        seen.low, seen.high = map(float, state["range"])
        seen.repeat, seen.are_too_many = state["repeat"]
        arrays = [file.read(Stored(*stored), size) for size, stored in state["arrays"]]
        seen.some, seen.distinct = arrays[0], arrays[1] if len(arrays) > 1 else None

    def settled(self, kind: int, labels: Sequence[str]) -> SettledKind:
        """Apply the rule, given what a column was read as, and its labels."""
        if kind == OVERFLOW:
            words = tuple(text for text in labels if plain_number_of(text, self.decimal) is None)
            return SettledKind(
                False,
                words=words if _are_few(words, labels) else (),
                written=how_numbers_are_written(labels, self.decimal),
            )
        if kind == NUMBERS:
            seen = self._with_numbers_of(labels)
            return self._numeric(seen, not seen.may_be_on_a_scale)
        return self._settled_labels(labels)

    def _settled_labels(self, labels: Sequence[str]) -> SettledKind:
        values = [plain_number_of(text, self.decimal) for text in labels]
        if labels and None not in values:
            seen = NumbersSeen()
            seen.see(np.array(values, dtype=np.float64))
            seen.stand_in(self.labelled)
            n_different = len(np.unique(np.array(values)))
            is_whole = all(value is not None and value.is_integer() for value in values)
            half = not is_whole and 2 * n_different > self.labelled
            return self._numeric(seen, half or not seen.may_be_on_a_scale)
        guess = None
        if self.rows >= LEAST_ROWS and labels:
            all_dates, any_blanks = all(map(is_date, labels)), any(map(has_blanks, labels))
            found = guess_of_texts(
                Tally(self.labelled, len(labels), all_dates, any_blanks), len(labels)
            )
            guess = found if found in (DATE, IDENTIFIER) else None
        words = [text for text, value in zip(labels, values, strict=True) if value is None]
        if not _are_few(words, labels) or 2 * self.word_cells >= self.labelled:
            words = []
        return SettledKind(
            False,
            guess,
            present=self.labelled,
            words=tuple(sorted(words)),
            word_cells=self.word_cells,
            written=how_numbers_are_written(labels, self.decimal)
            if len(labels) > MOST_ON_A_SCALE
            else None,
        )

    def _numeric(self, seen: NumbersSeen, is_numeric: bool) -> SettledKind:
        return SettledKind(
            is_numeric,
            seen.guess if self.rows >= LEAST_ROWS else None,
            True,
            seen.present,
            seen.low,
            seen.high,
            seen.hardly_repeat,
        )


def _are_few(words: Sequence[str], labels: Sequence[str]) -> bool:
    return 0 < len(words) <= _MOST_WORDS * len(labels)
