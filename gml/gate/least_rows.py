"""The rows with the least scores, found chunk by chunk; of equal scores the first row wins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset
from gml.data.row_groups import comparable

Cell = int | float


class Candidate(NamedTuple):
    """A row that may be one of the least, its number (from 0), and its cells by column."""

    score: float
    position: int
    cells: tuple[Cell, ...]


class Least(NamedTuple):
    """How many rows were looked at, those left out before included, and the least of them."""

    n_rows: int
    rows: tuple[Candidate, ...]


@dataclass(frozen=True)
class LeastRows:
    """Finds so many rows with the least scores; chunks must come in the order of the rows.

    Examples
    --------
    >>> least = LeastRows(2, ())
    >>> first = least.of(np.array([3.0, 1.0]), Dataset((), ()))
    >>> second = least.of(np.array([np.inf, 1.0]), Dataset((), ()))
    >>> [(row.score, row.position) for row in least.add(first, second).rows]
    [(1.0, 1), (1.0, 3)]
    """

    how_many: int
    names: Sequence[str]
    """The columns of which cells are kept."""
    distinct: bool = False
    """Whether equal rows count as one."""

    def of(self, scores: NDArray[np.float64], rows: Dataset) -> Least:
        """Look at rows as they stand; what is hidden has the score ∞."""
        return Least(len(scores), self._least(scores, rows) if self.how_many else ())

    def of_chunk(self, scores: NDArray[np.float64], chunk: Dataset) -> Least:
        """Look at a chunk, whose rows may have been chosen among those that stood there."""
        found = self.of(scores, chunk)
        positions, n_rows = chunk.standing()
        least = tuple(row._replace(position=int(positions[row.position])) for row in found.rows)
        return Least(n_rows, least)

    def add(self, first: Least, second: Least) -> Least:
        """The least of both; the rows of the second stand behind those of the first."""
        behind = [row._replace(position=row.position + first.n_rows) for row in second.rows]
        return Least(first.n_rows + second.n_rows, self._first([*first.rows, *behind]))

    def _first(self, rows: Iterable[Candidate]) -> tuple[Candidate, ...]:
        """The least of some rows, the very least first."""
        ordered = sorted(rows, key=lambda row: (row.score, row.position))
        if self.distinct:
            ordered = list({row.cells: row for row in reversed(ordered)}.values())
            ordered.sort(key=lambda row: (row.score, row.position))
        return tuple(ordered[: self.how_many])

    def _least(self, scores: NDArray[np.float64], rows: Dataset) -> tuple[Candidate, ...]:
        how_many = min(self.how_many, int(np.count_nonzero(~np.isposinf(scores))))
        if how_many == 0:
            return ()
        columns = [rows.columns[rows.index(name)] for name in self.names]

        def candidate(row: int) -> Candidate:
            return Candidate(
                float(scores[row]), row, tuple(column[row].item() for column in columns)
            )

        if self.distinct:
            return self._first(map(candidate, _first_of_each(scores, columns, how_many)))
        bound = np.partition(scores, how_many - 1)[how_many - 1]
        some = [np.flatnonzero(scores < bound), np.flatnonzero(scores == bound)[:how_many]]
        return self._first(map(candidate, np.concatenate(some).tolist()))


def _first_of_each(
    scores: NDArray[np.float64], columns: Sequence[NDArray[Any]], how_many: int
) -> list[int]:
    """The first of equal rows, for at least so many of the least different ones."""
    found: list[int] = []
    for value in np.unique(scores[~np.isposinf(scores)]).tolist():
        at = np.flatnonzero(scores == value)
        cells = np.column_stack([comparable(column[at]) for column in columns])
        found += at[np.unique(cells, axis=0, return_index=True)[1]].tolist()
        if len(found) >= how_many:
            break
    return found
