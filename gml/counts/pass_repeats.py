"""The work of passes that count equal rows and equal numbers, as far as the different ones fit.

Partial answers are the different rows (or numbers) of a chunk, with how often each counts. Where
they pass the limit the answer is `TooMany`, whatever the chunks are, as no part has more of them
than the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gml.counts.pass_work import Work
from gml.data.dataset import Dataset
from gml.data.number_summary import Numbers, NumberValues
from gml.data.row_groups import comparable, multiplicities, row_bytes
from gml.data.row_multiplicities import RowTally, bytes_to_tell
from gml.errors import CannotAnswer
from gml.resources import format_size

if TYPE_CHECKING:
    from gml.counts.passes import PassCounter

# Of different rows: the share of the budget, and what a cluster hands to its driver at a time.
_SHARE, _MOST = 4, 1 << 28
# A number and its count, and both again while two answers become one.
_BYTES_PER_NUMBER = 64


@dataclass(frozen=True)
class TooMany:
    """In place of what is different, where that does not fit."""


RowsWithCounts = tuple[NDArray[np.uint8], NDArray[np.int64]]


@dataclass(frozen=True)
class TalliedRows(Work[RowsWithCounts | TooMany]):
    """The different rows, as bytes, and how often each counts."""

    limit: int

    def of(self, chunk: Dataset) -> RowsWithCounts | TooMany:
        """Look at a chunk."""
        rows = row_bytes([comparable(column) for column in chunk.columns])
        return self._together((rows, chunk.weights))

    def add(
        self, first: RowsWithCounts | TooMany, second: RowsWithCounts | TooMany
    ) -> RowsWithCounts | TooMany:
        """Count what is in both once."""
        if isinstance(first, TooMany) or isinstance(second, TooMany):
            return TooMany()
        return self._together(first, second)

    def _together(
        self, *parts: tuple[NDArray[np.uint8], NDArray[np.int64] | None]
    ) -> RowsWithCounts | TooMany:
        found = RowTally(self.limit)
        for rows, counts in parts:
            found.add(rows, counts)
        rows, counts = found.result()
        # Only now is it known how many are different.
        return (rows, counts) if bytes_to_tell(rows) <= self.limit else TooMany()


@dataclass(frozen=True)
class TalliedNumbers(Work[list[NumberValues] | TooMany]):
    """The different numbers of columns and how often each counts."""

    columns: Sequence[int]
    limit: int

    def of(self, chunk: Dataset) -> list[NumberValues] | TooMany:
        """Look at a chunk."""
        return self._within_limit(
            [NumberValues.of(chunk.columns[j], chunk.weights) for j in self.columns]
        )

    def add(
        self, first: list[NumberValues] | TooMany, second: list[NumberValues] | TooMany
    ) -> list[NumberValues] | TooMany:
        """Count what is in both once."""
        if isinstance(first, TooMany) or isinstance(second, TooMany):
            return TooMany()
        both = zip(first, second, strict=True)
        return self._within_limit([NumberValues.joined(parts) for parts in both])

    def _within_limit(self, found: list[NumberValues]) -> list[NumberValues] | TooMany:
        held = _BYTES_PER_NUMBER * sum(len(numbers.values) for numbers in found)
        return found if held <= self.limit else TooMany()


def repeats_in_passes(counter: PassCounter, columns: Sequence[int]) -> dict[int, int]:
    """How many different rows of some columns occur how often, by one pass."""
    limit = _limit(counter)
    found = counter.ask(columns, lambda place: TalliedRows(limit))
    if isinstance(found, TooMany):
        raise _refused(counter, "rows", limit)
    return multiplicities(found[1])


def numbers_in_passes(counter: PassCounter, columns: Sequence[int]) -> dict[str, Numbers]:
    """The different values of those of some columns that hold numbers, by one pass."""
    variables = counter.variables
    names = {j: variables[j].name for j in columns if variables[j].is_continuous}
    if not names:
        return {}
    limit = _limit(counter)
    found = counter.ask(names, lambda place: TalliedNumbers([place[j] for j in names], limit))
    if isinstance(found, TooMany):
        raise _refused(counter, "numbers", limit)
    values = zip(names.values(), found, strict=True)
    return {name: of_column for name, of_column in values if len(of_column.values)}


def _limit(counter: PassCounter) -> int:
    """The bytes that what is different may take wherever it is added up."""
    return min(counter.budget // _SHARE, _MOST)


def _refused(counter: PassCounter, what: str, limit: int) -> CannotAnswer:
    room = format_size(limit)
    return CannotAnswer(f"{counter.where}: the different {what} take more than {room}")
