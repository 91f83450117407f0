"""Rows with holes as EM for numbers reads them: columns by name, numbers on a common scale.

A number is z = (x − shift)/scale, the shift near its mean and the scale a power of 2 near its
standard deviation: so a column of 1e9 + N(0, 1) keeps its digits, and a change of 1e-9 means the
same in every column. Rows stand in an order that depends on what they hold, so that sums do not
depend on how the table was sorted. A row that counts several times stands once, with its weight.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset, Variable, missing_mask
from gml.errors import CannotAnswer, DataError, listing, quote
from gml.model.regression_rows import order_of_rows

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

MISSING = -1
"""The code of a label that was not seen."""


@dataclass(frozen=True)
class NumberRows:
    """The rows that EM climbs on: numbers, and codes of labels, both in the order of names."""

    numbers: tuple[Variable, ...]
    labels: tuple[Variable, ...]
    hidden: frozenset[int]
    """The labels, by position, that are no column."""
    z: Array
    """Numbers on their scales, rows × numbers; 0 where none was seen."""
    seen: NDArray[np.bool_]
    codes: Codes
    weights: Array
    shifts: tuple[float, ...]
    scales: tuple[float, ...]
    table: Dataset | None = None
    """Where the rows come from."""
    places: NDArray[np.int64] | None = None
    """Which row of the table each is."""

    def name_of_row(self, row: int) -> str:
        """How a message names a row."""
        if self.table is None or self.places is None:
            return "some row"
        return self.table.name_of_row(int(self.places[row]))

    @property
    def n(self) -> float:
        """How many rows these stand for."""
        return math.fsum(self.weights.tolist())

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing."""
        return bool(self.seen.all() and (self.codes != MISSING).all())

    def seen_whole(self, members: Sequence[int]) -> NDArray[np.bool_]:
        """Rows in which all of some numbers were seen."""
        found: NDArray[np.bool_] = np.all(self.seen[:, list(members)], axis=1)
        return found

    @property
    def log_scales(self) -> float:
        """What the scales take from the ln of the density of all numbers seen."""
        seen = self.weights @ self.seen
        return math.fsum(
            float(count) * math.log(scale) for count, scale in zip(seen, self.scales, strict=True)
        )


def number_rows(
    names: Sequence[str], rows: Dataset, hidden: Mapping[str, int] | None = None
) -> NumberRows:
    """Take the columns of some nodes from a table; hidden nodes have levels, but no column."""
    levels = dict(hidden or {})
    weights = _weights(rows)
    counted = weights > 0
    if not counted.any():
        raise CannotAnswer("there are no rows to fit on")
    by_name = sorted(names)
    variables = {
        name: Variable(name, tuple(str(k + 1) for k in range(levels[name])))
        if name in levels
        else rows.variables[rows.index(name)]
        for name in by_name
    }
    columns: dict[str, Array] = {}
    for name in by_name:
        if name not in levels:
            column = rows.columns[rows.index(name)][counted]
            if not variables[name].is_continuous:
                column = np.where(missing_mask(column), np.nan, column.astype(np.float64))
            columns[name] = column
    _require_values({name: c for name, c in columns.items() if variables[name].is_continuous})
    order = order_of_rows(columns)
    columns = {name: column[order] for name, column in columns.items()}
    weights = weights[counted][order]
    numbers = [name for name in by_name if variables[name].is_continuous]
    labels = [name for name in by_name if not variables[name].is_continuous]
    scaled = scaled_columns([columns[name] for name in numbers], weights, numbers)
    codes = np.full((len(weights), len(labels)), MISSING, dtype=np.int64)
    for k, name in enumerate(labels):
        if name in columns:
            codes[:, k] = np.nan_to_num(columns[name], nan=MISSING).astype(np.int64)
    return NumberRows(
        tuple(variables[name] for name in numbers),
        tuple(variables[name] for name in labels),
        frozenset(k for k, name in enumerate(labels) if name in levels),
        scaled.z,
        scaled.seen,
        codes,
        weights,
        scaled.shifts,
        scaled.scales,
        rows,
        np.flatnonzero(counted)[order],
    )


def _weights(rows: Dataset) -> Array:
    if rows.weights is None:
        return np.ones(rows.n_rows)
    return rows.weights.astype(np.float64) * rows.unit


def _require_values(columns: Mapping[str, Array]) -> None:
    empty = [name for name, column in columns.items() if np.isnan(column).all()]
    if empty:
        raise DataError(f"no values in column {listing(empty)}")
    for name, column in columns.items():
        if np.isinf(column).any():
            raise DataError(f"column {quote(name)} has a number that is not finite")


@dataclass(frozen=True)
class ScaledColumns:
    """Numbers on scales of their own, rows × columns."""

    z: Array
    seen: NDArray[np.bool_]
    shifts: tuple[float, ...]
    scales: tuple[float, ...]


def scaled_columns(columns: Sequence[Array], weights: Array, names: Sequence[str]) -> ScaledColumns:
    """Shift and scale columns (NaN: not seen); one without two different values is refused."""
    n_rows = len(weights)
    z = np.zeros((n_rows, len(columns)))
    seen = np.zeros((n_rows, len(columns)), dtype=bool)
    shifts, scales = [], []
    for k, (column, name) in enumerate(zip(columns, names, strict=True)):
        known = ~np.isnan(column)
        values = column[known]
        low, high = float(values.min()), float(values.max())
        if low == high:
            raise DataError(f"column {quote(name)} has only one value; no normal distribution fits")
        # Halves, as the sum of two numbers may be beyond doubles.
        half_range = high / 2 - low / 2
        within = (values / 2 - low / 2) / half_range
        share = weights[known] / weights[known].sum()
        mean = float(np.sum(share * within))
        sd = math.sqrt(float(np.sum(share * (within - mean) ** 2)))
        scale = math.ldexp(1.0, max(-1022, round(math.log2(sd) + math.log2(half_range) + 1)))
        shift = low + 2 * (mean * half_range)
        z[known, k] = (values - shift) / scale
        seen[:, k] = known
        shifts.append(shift)
        scales.append(scale)
    return ScaledColumns(z, seen, tuple(shifts), tuple(scales))
