"""Rows with holes as EM for numbers reads them: columns by name, numbers on a common scale.

A number is z = (x − shift)/scale, the shift near its mean and the scale a power of 2 near its
standard deviation: so a column of 1e9 + N(0, 1) keeps its digits, and a change of 1e-9 means the
same in every column. Rows stand in an order that depends on what they hold, so that sums do not
depend on how the table was sorted. A row that counts several times stands once, with its weight.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset, Variable, missing_mask
from gml.data.row_groups import row_parts
from gml.data.row_order import order_by_content
from gml.errors import CannotAnswer, DataError, listing, quote

Array = NDArray[np.float64]
Codes = NDArray[np.signedinteger[Any]]

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
    places: NDArray[np.signedinteger[Any]] | None = None
    """Which row of the table each is."""

    def name_of_row(self, row: int) -> str:
        """How a message names a row."""
        if self.table is None or self.places is None:
            return "some row"
        return self.table.name_of_row(int(self.places[row]))

    def parts(self) -> Iterator[slice]:
        """The rows in parts."""
        return row_parts(len(self.weights))

    @property
    def n(self) -> float:
        """How many rows these stand for."""
        return math.fsum(chain.from_iterable(self.weights[p].tolist() for p in self.parts()))

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
        seen = np.zeros(len(self.scales))
        for part in self.parts():
            seen += self.weights[part] @ self.seen[part]
        return math.fsum(
            float(count) * math.log(scale) for count, scale in zip(seen, self.scales, strict=True)
        )


def number_rows(
    names: Sequence[str], rows: Dataset, hidden: Mapping[str, int] | None = None
) -> NumberRows:
    """Take the columns of some nodes from a table; hidden nodes have levels, but no column."""
    levels = dict(hidden or {})
    counted = None if rows.weights is None else np.flatnonzero(rows.weights > 0).astype(np.int32)
    if rows.n_rows == 0 or (counted is not None and not len(counted)):
        raise CannotAnswer("there are no rows to fit on")
    by_name = sorted(names)
    variables = {
        name: Variable(name, tuple(str(k + 1) for k in range(levels[name])))
        if name in levels
        else rows.variables[rows.index(name)]
        for name in by_name
    }
    numbers = [name for name in by_name if variables[name].is_continuous]
    labels = [name for name in by_name if not variables[name].is_continuous]

    def column_of(name: str) -> Array:
        column = rows.columns[rows.index(name)]
        if counted is not None:
            column = column[counted]
        if variables[name].is_continuous:
            return column
        return np.where(missing_mask(column), np.nan, column.astype(np.float64))

    _require_values(numbers, column_of)
    places = order_by_content([name for name in by_name if name not in levels], column_of)
    if counted is not None:
        places = counted[places]
    weights = _weights(rows, places)
    z = np.empty((len(places), len(numbers)))
    for k, name in enumerate(numbers):
        column = rows.columns[rows.index(name)]
        for part in row_parts(len(places)):
            z[part, k] = column[places[part]]
    scaled = scaled_columns(z, weights, numbers)
    most = max((len(variables[name].levels or ()) for name in labels), default=0)
    codes = np.full((len(places), len(labels)), MISSING, dtype=_code_type(most))
    for k, name in enumerate(labels):
        if name not in levels:
            column = rows.columns[rows.index(name)]
            for part in row_parts(len(places)):
                own = column[places[part]]
                codes[part, k] = np.where(missing_mask(own), MISSING, own.astype(np.int64))
    return NumberRows(
        tuple(variables[name] for name in numbers),
        tuple(variables[name] for name in labels),
        frozenset(k for k, name in enumerate(labels) if name in levels),
        z,
        scaled.seen,
        codes,
        weights,
        scaled.shifts,
        scaled.scales,
        rows,
        places,
    )


def _code_type(most: int) -> type[np.int8] | type[np.int16] | type[np.int32]:
    """A type that has the code of any level, and MISSING."""
    return np.int8 if most < 1 << 7 else np.int16 if most < 1 << 15 else np.int32


def _weights(rows: Dataset, places: NDArray[np.signedinteger[Any]]) -> Array:
    if rows.weights is None:
        return np.broadcast_to(np.float64(1.0), len(places))
    found: Array = rows.weights[places].astype(np.float64) * rows.unit
    return found


def _require_values(numbers: Sequence[str], column_of: Callable[[str], Array]) -> None:
    empty = [name for name in numbers if np.isnan(column_of(name)).all()]
    if empty:
        raise DataError(f"no values in column {listing(empty)}")
    for name in numbers:
        if np.isinf(column_of(name)).any():
            raise DataError(f"column {quote(name)} has a number that is not finite")


class Scaled(NamedTuple):
    """What was seen of columns, and the scales that they are on."""

    seen: NDArray[np.bool_]
    shifts: tuple[float, ...]
    scales: tuple[float, ...]


def scaled_columns(z: Array, weights: Array, names: Sequence[str]) -> Scaled:
    """Shift and scale columns where they stand (NaN: not seen, and 0 then).

    One without two different values is refused.
    """
    seen = np.empty(z.shape, dtype=bool)
    shifts, scales = [], []
    for k, name in enumerate(names):
        shift, scale = _shift_and_scale(z[:, k], weights, name)
        for part in row_parts(len(z)):
            own = z[part, k]
            seen[part, k] = known = ~np.isnan(own)
            z[part, k] = np.where(known, (own - shift) / scale, 0.0)
        shifts.append(shift)
        scales.append(scale)
    return Scaled(seen, tuple(shifts), tuple(scales))


def _shift_and_scale(column: Array, weights: Array, name: str) -> tuple[float, float]:
    low, high = float(np.fmin.reduce(column)), float(np.fmax.reduce(column))
    if low == high:
        raise DataError(f"column {quote(name)} has only one value; no normal distribution fits")
    # Halves, as the sum of two numbers may be beyond doubles.
    half_range = high / 2 - low / 2
    if half_range < sys.float_info.min:
        raise DataError(
            f"column {quote(name)} has numbers that differ by less than {sys.float_info.min:.1g}, "
            "which no normal distribution fits; give them in other units"
        )
    total, mean, variance = 0.0, 0.0, 0.0
    # Sums of shares: weights may be as large or small as they like.
    for part in row_parts(len(column)):
        total += float(weights[part][~np.isnan(column[part])].sum())
    for part in row_parts(len(column)):
        within, share = _within(column[part], weights[part], low, half_range)
        mean += float(np.sum(share / total * within))
    for part in row_parts(len(column)):
        within, share = _within(column[part], weights[part], low, half_range)
        variance += float(np.sum(share / total * (within - mean) ** 2))
    sd = math.sqrt(variance)
    scale = math.ldexp(1.0, max(-1022, round(math.log2(sd) + math.log2(half_range) + 1)))
    return low + 2 * (mean * half_range), scale


def _within(column: Array, weights: Array, low: float, half_range: float) -> tuple[Array, Array]:
    """Where the values that were seen lie within the range of their column, and their weights."""
    known = ~np.isnan(column)
    return (column[known] / 2 - low / 2) / half_range, weights[known]
