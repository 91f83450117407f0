"""The rows that a model of numbers is checked on: numbers by column, and cells that are none."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset, missing_mask
from gml.data.number_summary import NumberSummary
from gml.errors import agreeing, counted
from gml.kernel.number import number_of
from gml.model.regression_rows import Vector, order_of_rows
from gml.resources import require_memory

_FAR = 10
_SHOWN = 3
# A number, in the order of the data and in that of the sums.
_CELL_BYTES = 16


@dataclass(frozen=True)
class Texts:
    """Cells of a column that are no numbers: how many of each text, and the first row, from 1."""

    counts: Mapping[str, int]
    row: int | None


@dataclass(frozen=True)
class NumberRows:
    """Columns of numbers in an order of rows that depends on what these hold; NaN means none.

    `numbers` says where each row stands in the data, from 0.
    """

    columns: Mapping[str, Vector]
    texts: Mapping[str, Texts]
    numbers: NDArray[np.int64]

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.numbers)

    def where(self, kept: NDArray[np.bool_]) -> NumberRows:
        """The rows for which `kept` is true."""
        columns = {name: column[kept] for name, column in self.columns.items()}
        return NumberRows(columns, self.texts, self.numbers[kept])

    def complete(self, names: Sequence[str]) -> list[Vector]:
        """The columns, over the rows that have all of them."""
        chosen = [self.columns[name] for name in names]
        seen = ~np.logical_or.reduce([np.isnan(column) for column in chosen])
        return [column[seen] for column in chosen]


def number_rows(data: Dataset, labels: Collection[str] = ()) -> NumberRows:
    """Turn labels into the numbers that they spell; a row that counts twice stands there twice.

    The columns `labels` are no numbers: they are given as the codes of their levels.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> labels = Variable("age", ("41", "unknown"))
    >>> found = number_rows(Dataset((labels,), (np.array([0, 1, 0], dtype=np.uint8),)))
    >>> sorted(found.columns["age"].tolist())[:2], found.texts["age"]
    ([41.0, 41.0], Texts(counts={'unknown': 1}, row=2))
    """
    numbers = np.arange(data.n_rows)
    if data.weights is not None:
        what = f"{data.n} rows, as often as they count,"
        require_memory(_CELL_BYTES * data.n * (len(data.names) + 1), None, what)
        numbers = np.repeat(numbers, data.weights)
    columns, texts = {}, {}
    for variable, column in zip(data.variables, data.columns, strict=True):
        if variable.name in labels:
            columns[variable.name] = _codes_of(column)[numbers]
            continue
        cells, found = numbers_of(column, variable.levels, data)
        columns[variable.name], texts[variable.name] = cells[numbers], found
    order = order_of_rows(columns)
    return NumberRows(
        {name: column[order] for name, column in columns.items()}, texts, numbers[order]
    )


def without_far_rows(
    rows: NumberRows, before: Mapping[str, NumberSummary]
) -> tuple[NumberRows, list[str]]:
    """Leave out rows with a number farther outside the old range than ten times its width.

    One such number has all the weight in a regression, and the others could say nothing. Returns
    the rest, and what to tell of those left out.
    """
    far: dict[int, str] = {}
    near = np.ones(rows.n, dtype=bool)
    for name, column in rows.columns.items():
        old = before.get(name)
        if old is None or not old.largest > old.smallest:
            continue
        reach = _FAR * (old.largest - old.smallest)
        outside = (column < old.smallest - reach) | (column > old.largest + reach)
        near &= ~outside
        for k in np.flatnonzero(outside)[:_SHOWN].tolist():
            far[int(rows.numbers[k])] = f"{name}={column[k]:g} in row {int(rows.numbers[k]) + 1}"
    if near.all():
        return rows, []
    left_out = int(np.count_nonzero(~near))
    shown = ", ".join(far[row] for row in sorted(far)[:_SHOWN])
    more = ", …" if left_out > _SHOWN else ""
    which = agreeing(left_out, "which has a number", "which have numbers")
    return rows.where(near), [
        f"regressions, independences and fit are checked without {counted(left_out, 'row')}, "
        f"{which} far outside the old range: {shown}{more}"
    ]


def _codes_of(column: NDArray[Any]) -> Vector:
    codes: Vector = np.where(missing_mask(column), np.nan, column.astype(np.float64))
    return codes


def numbers_of(
    column: NDArray[Any], levels: tuple[str, ...] | None, data: Dataset
) -> tuple[Vector, Texts]:
    """Return the numbers that the labels of a column spell, NaN for none, and cells without one."""
    if levels is None:
        return column, Texts({}, None)
    spelt = [number_of(level, data.decimal) for level in levels]
    lookup = np.array([np.nan if number is None else number for number in (*spelt, None)])
    gaps = missing_mask(column)
    cells: Vector = lookup[np.where(gaps, len(levels), column).astype(np.int64)]
    wrong = [k for k, number in enumerate(spelt) if number is None]
    counts = {levels[k]: data.count(column == k) for k in wrong}
    counts = {level: count for level, count in counts.items() if count}
    bad = np.isnan(cells) & ~gaps
    return cells, Texts(counts, int(np.argmax(bad)) + 1 if bad.any() else None)
