"""Rows with a number far outside the old range: all else is asked of the others.

One such number has all the weight in a regression, and the others could say nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from gml.counts.number_rows import NumberReader
from gml.counts.pass_work import Work
from gml.counts.row_sums import NumberTable
from gml.data.dataset import Dataset
from gml.data.number_summary import NumberSummary
from gml.errors import agreeing, counted
from gml.model.regression_rows import Vector

# How many times as far as the old range is wide.
_FAR = 10
_SHOWN = 3


def without_far_rows(
    table: NumberTable,
    before: Mapping[str, NumberSummary],
    as_read: Callable[[int], int] = lambda row: row,
) -> tuple[NumberTable, list[str]]:
    """Leave such rows out; returns the others, and what to tell of those left out.

    `as_read` says where a row stood among those that were read, from 0.

    Examples
    --------
    >>> import numpy as np
    >>> from gml.data.dataset import Variable
    >>> from gml.counts.chunked_rows import RowsInMemory
    >>> rows = Dataset((Variable("x", None),), (np.array([1.0, 2.0, 900.0]),))
    >>> table = NumberTable(RowsInMemory(rows), NumberReader.of(rows.variables))
    >>> near, notes = without_far_rows(table, {"x": NumberSummary(9, 0.0, 5.0, {})})
    >>> near.n, notes[0][-14:]
    (2, 'x=900 in row 3')
    """
    near = {}
    for name in table.names:
        old = before.get(name)
        if old is not None and old.largest > old.smallest:
            reach = _FAR * (old.largest - old.smallest)
            near[name] = old.smallest - reach, old.largest + reach
    if not near:
        return table, []
    reader = replace(table.reader, near=near)
    found = table.rows.over(sorted(near), _FarRows(table.reader, reader))
    left_out = found.n // table.rows.times
    if not left_out:
        return table, []
    shown = [f"{name}={value:g} in row {as_read(row) + 1}" for row, name, value in found.first]
    more = ", …" if left_out > len(shown) else ""
    which = agreeing(left_out, "which has a number", "which have numbers")
    where = f": {', '.join(shown)}{more}" if table.rows.keeps_order else ""
    return replace(table, reader=reader, left_out=left_out), [
        f"regressions, independences and fit are checked without {counted(left_out, 'row')}, "
        f"{which} far outside the old range{where}"
    ]


class _Far(NamedTuple):
    """How many rows are far, weighted; the first of them, from 0, with a number; rows in all."""

    n: int
    first: tuple[tuple[int, str, float], ...]
    n_rows: int


@dataclass(frozen=True)
class _FarRows(Work[_Far]):
    """Finds rows that are far; chunks must come in the order of the rows for the first ones."""

    every: NumberReader
    reader: NumberReader

    def of(self, chunk: Dataset) -> _Far:
        """Look at a chunk."""
        rows = self.every.read(chunk)
        rows = rows.where(self.reader.far(rows))
        positions, n_rows = chunk.standing()
        first = [
            (int(positions[row]), *self._worst(rows.columns, k))
            for k, row in enumerate(rows.numbers[:_SHOWN].tolist())
        ]
        return _Far(rows.n, tuple(first), n_rows)

    def _worst(self, columns: Mapping[str, Vector], k: int) -> tuple[str, float]:
        """The first column, by name, in which a row is far."""
        for name, (low, high) in sorted(self.reader.near.items()):
            value = float(columns[name][k])
            if value < low or value > high:
                return name, value
        raise AssertionError

    def add(self, first: _Far, second: _Far) -> _Far:
        """Put the rows of the second behind those of the first."""
        behind = [(row + first.n_rows, name, value) for row, name, value in second.first]
        return _Far(
            first.n + second.n,
            (*first.first, *behind)[:_SHOWN],
            first.n_rows + second.n_rows,
        )
