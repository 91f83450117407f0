"""Cells of columns of numbers that are none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.counts.pass_work import Work
from gml.counts.row_sums import NumberTable
from gml.data.dataset import Dataset, missing_mask
from gml.data.row_groups import group_sums


@dataclass(frozen=True)
class Texts:
    """How many cells hold each text that is not a number, and the first such row, from 1."""

    counts: Mapping[str, int] = field(default_factory=dict)
    row: int | None = None


def texts_of(table: NumberTable) -> dict[str, Texts]:
    """The texts in each column that is to hold numbers.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> from gml.counts.chunked_rows import RowsInMemory
    >>> from gml.counts.number_rows import NumberReader
    >>> ages = Variable("age", ("41", "unknown"))
    >>> rows = Dataset((ages,), (np.array([0, 1, 0], dtype=np.uint8),))
    >>> texts_of(NumberTable(RowsInMemory(rows), NumberReader.of(rows.variables)))
    {'age': Texts(counts={'unknown': 1}, row=2)}
    """
    spelt = table.reader.spelt
    found = {name: Texts() for name in table.names if name not in table.reader.levels}
    wrong = {
        name: np.flatnonzero(np.isnan(numbers[:-1]))
        for name, numbers in spelt.items()
        if np.isnan(numbers[:-1]).any()
    }
    if not wrong:
        return found
    levels = {v.name: v.levels or () for v in table.rows.variables}
    seen = table.rows.over(list(wrong), _TextCells(wrong))
    for name, codes in wrong.items():
        counts = (seen.counts[name] // table.rows.times).tolist()
        named = {levels[name][k]: n for k, n in zip(codes, counts, strict=True) if n}
        row = seen.first.get(name) if table.rows.keeps_order else None
        found[name] = Texts(named, None if row is None or not named else row + 1)
    return found


class _Seen(NamedTuple):
    """Of each column: how many cells have each of some codes, and the first row with one."""

    counts: dict[str, NDArray[np.int64]]
    first: dict[str, int]
    n_rows: int


@dataclass(frozen=True)
class _TextCells(Work[_Seen]):
    """Counts cells by their codes; chunks must come in the order of rows for the first ones."""

    wrong: Mapping[str, NDArray[np.signedinteger]]

    def of(self, chunk: Dataset) -> _Seen:
        """Look at a chunk."""
        counts, first = {}, {}
        positions, n_rows = chunk.standing()
        for variable, cells in zip(chunk.variables, chunk.columns, strict=True):
            codes = self.wrong[variable.name]
            place = np.full(len(variable.levels or ()) + 1, len(codes))
            place[codes] = np.arange(len(codes))
            at = place[np.where(missing_mask(cells), -1, cells.astype(np.int64))]
            counts[variable.name] = group_sums(at, len(codes) + 1, chunk.weights)[:-1]
            rows = np.flatnonzero(at < len(codes))
            if len(rows):
                first[variable.name] = int(positions[rows[0]])
        return _Seen(counts, first, n_rows)

    def add(self, first: _Seen, second: _Seen) -> _Seen:
        """Put the rows of the second behind those of the first."""
        behind = {name: row + first.n_rows for name, row in second.first.items()}
        return _Seen(
            {name: mine + second.counts[name] for name, mine in first.counts.items()},
            {**behind, **first.first},
            first.n_rows + second.n_rows,
        )
