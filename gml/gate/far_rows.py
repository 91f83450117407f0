"""Rows with a number far outside the old range: all else is asked of the others.

One such number has all the weight in a regression, and the others could say nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    # Rows that were delivered several times are told apart by all of their cells.
    names = sorted(near) if table.rows.times == 1 else sorted(table.names)
    work = _FarRows(table.reader, reader, table.rows.times > 1)
    found = table.rows.over(names, work)
    left_out = found.n // table.rows.times
    if not left_out:
        return table, []
    shown = [f"{one.name}={one.value:g} in row {as_read(one.row) + 1}" for one in found.first]
    more = ", …" if left_out > len(shown) else ""
    which = agreeing(left_out, "which has a number", "which have numbers")
    where = f": {', '.join(shown)}{more}" if table.rows.keeps_order else ""
    return replace(table, reader=reader, left_out=left_out), [
        f"regressions, independences and fit are checked without {counted(left_out, 'row')}, "
        f"{which} far outside the old range{where}"
    ]


class _FarRow(NamedTuple):
    """A row, from 0, with a column in which it is far, and its cells if they matter."""

    row: int
    name: str
    value: float
    cells: bytes


class _Far(NamedTuple):
    """How many rows are far, weighted; the first of them; and how many rows there are in all."""

    n: int
    first: tuple[_FarRow, ...]
    n_rows: int


@dataclass(frozen=True)
class _FarRows(Work[_Far]):
    """Finds rows that are far; chunks must come in the order of the rows for the first ones."""

    every: NumberReader
    reader: NumberReader
    distinct: bool
    """Whether equal rows count as one among the first."""

    def of(self, chunk: Dataset) -> _Far:
        """Look at a chunk."""
        rows = self.every.read(chunk)
        rows = rows.where(self.reader.far(rows))
        positions, n_rows = chunk.standing()
        found: list[_FarRow] = []
        for k, row in enumerate(rows.numbers.tolist()):
            name, value = self._worst(rows.columns, k)
            cells = b""
            if self.distinct:
                cells = b"".join((column[k] + 0.0).tobytes() for column in rows.columns.values())
            found.append(_FarRow(int(positions[row]), name, value, cells))
            if len(found) == _SHOWN and not self.distinct:
                break
        return _Far(rows.n, self._first(found), n_rows)

    def _worst(self, columns: Mapping[str, Vector], k: int) -> tuple[str, float]:
        """The first column, by name, in which a row is far."""
        for name, (low, high) in sorted(self.reader.near.items()):
            value = float(columns[name][k])
            if value < low or value > high:
                return name, value
        raise AssertionError

    def _first(self, rows: Sequence[_FarRow]) -> tuple[_FarRow, ...]:
        if self.distinct:
            rows = list({one.cells: one for one in reversed(rows)}.values())[::-1]
        return tuple(rows[:_SHOWN])

    def add(self, first: _Far, second: _Far) -> _Far:
        """Put the rows of the second behind those of the first."""
        behind = [one._replace(row=one.row + first.n_rows) for one in second.first]
        found = self._first([*first.first, *behind])
        return _Far(first.n + second.n, found, first.n_rows + second.n_rows)
