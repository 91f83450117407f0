"""The rows of a mixture: distinct ones, in an order that their content alone decides.

Columns stand in the order of their names, and rows in that of a hash of what they hold: so neither
the order of rows nor that of columns shows in a sum or in a start. Equal rows are one row that
counts several times. Rows that lack the same numbers stand together, as they have the same normal
densities.

Numbers are centred and scaled, so that parameters are of the size 1. Models of one variance for all
columns depend on the units of the columns: these are scaled together, others one by one.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset, Variable, code_type, missing_mask
from gml.data.row_groups import comparable, joined_rows, row_parts
from gml.errors import CannotAnswer, quote
from gml.kernel.label_groups import LabelGroups, grouped
from gml.name_order import NameOrder
from gml.resources import require_memory

Vector = NDArray[np.float64]

BLOCK_ROWS = 4096
"""Rows that are looked at together: sums are made block by block, in order."""
# Rows that lack the same numbers and are fewer are taken together with others.
_FEW_ALIKE = 16
# Numbers in the matrices of rows that are taken together.
MOST_NUMBERS = 1 << 19
# Of a number that can be squared, and that of another scale be multiplied by.
_LARGEST = 1e75
_MIX = np.uint64(0x9E3779B97F4A7C15)
_TURN = np.uint64(29)


Positions = slice | NDArray[np.intp]


class Block(NamedTuple):
    """Rows that are looked at together: positions, and the numbers they have.

    `observed` is one list for all rows, or rows × numbers where each has its own; None means that
    it does not matter.
    """

    rows: Positions
    observed: NDArray[np.intp] | None

    def values_of(self, values: Vector) -> Vector:
        """The numbers that the rows have, of the numbers of all rows."""
        if self.observed is None:
            return values[self.rows]
        if self.observed.ndim == 2:
            assert not isinstance(self.rows, slice)
            return values[self.rows[:, None], self.observed]
        if len(self.observed) == values.shape[1]:
            return values[self.rows]
        return np.ascontiguousarray(values[self.rows][:, self.observed])


@dataclass(frozen=True)
class MixtureRows:
    """Distinct rows: codes of labels (a missing one is the code after the last), and numbers.

    `values` are numbers less `centre`, divided by `scale`; NaN where one is missing.
    """

    labels: tuple[Variable, ...]
    numbers: tuple[Variable, ...]
    codes: NDArray[Any]
    values: Vector
    weights: Vector
    centre: Vector
    scale: Vector
    blocks: tuple[Block, ...]

    @property
    def names(self) -> list[str]:
        """The names of labels, then of numbers."""
        return [variable.name for variable in (*self.labels, *self.numbers)]

    @property
    def n(self) -> float:
        """The number of rows, with their weights."""
        weights = (self.weights[part].tolist() for part in row_parts(len(self.weights)))
        return math.fsum(itertools.chain.from_iterable(weights))

    @functools.cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Where the levels of each label begin, when all have one more for what is missing."""
        sizes = [len(variable.levels or ()) + 1 for variable in self.labels]
        return np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64)

    @functools.cached_property
    def table_ends(self) -> NDArray[np.int64]:
        """The last row of the table of each label, for what is missing."""
        return np.append(self.offsets[1:], self.n_table_rows)[: len(self.offsets)] - 1

    @functools.cached_property
    def groups(self) -> LabelGroups:
        """The labels, several to a code."""
        return grouped(self.codes, self.offsets)

    @functools.cached_property
    def n_table_rows(self) -> int:
        """The levels of all labels, with one more each."""
        return sum(len(variable.levels or ()) + 1 for variable in self.labels)

    @functools.cached_property
    def log_scale(self) -> float:
        """What the log-likelihood of scaled numbers has too much: the sum of ln scale."""
        n_seen = np.zeros(len(self.numbers))
        for part in row_parts(len(self.weights)):
            n_seen += np.einsum("r,ri->i", self.weights[part], ~np.isnan(self.values[part]))
        return math.fsum((n_seen * np.log(self.scale)).tolist())

    @functools.cached_property
    def variances(self) -> Vector:
        """The variance of each column about 0, which is its centre, where it was seen."""
        squares, n_seen = np.zeros(len(self.numbers)), np.zeros(len(self.numbers))
        for part in row_parts(len(self.weights)):
            seen = ~np.isnan(self.values[part])
            away = np.where(seen, self.values[part], 0.0) ** 2
            squares += np.einsum("r,ri->i", self.weights[part], away)
            n_seen += np.einsum("r,ri->i", self.weights[part], seen)
        found: Vector = squares / np.maximum(n_seen, 1e-300)
        return found

    @functools.cached_property
    def n_distinct(self) -> int:
        """The number of different rows that count."""
        return int(np.count_nonzero(self.weights))

    @property
    def has_holes(self) -> bool:
        """Whether a label or a number of some row is missing."""
        sizes = np.array([len(variable.levels or ()) for variable in self.labels])
        return bool((self.codes == sizes).any() or np.isnan(self.values).any())

    def blocks_for(self, form: str, n_classes: int) -> tuple[Block, ...]:
        """How a pass takes the rows, for covariances of a form.

        Without covariances it does not matter what a row lacks. With some, rows that lack what few
        others do are taken with those that have equally many numbers.
        """
        size = len(self.numbers)
        if not np.isnan(self.values).any():
            return self.blocks
        if form != "full":
            n = len(self.values)
            return tuple(
                Block(slice(start, min(start + BLOCK_ROWS, n)), None)
                for start in range(0, n, BLOCK_ROWS)
            )
        found: list[Block] = []
        rest: dict[int, list[tuple[int, NDArray[np.intp]]]] = {}
        for rows, observed in self.blocks:
            assert isinstance(rows, slice) and observed is not None
            if rows.stop - rows.start >= _FEW_ALIKE:
                found.append(Block(rows, observed))
            else:
                own = rest.setdefault(len(observed), [])
                own += [(row, observed) for row in range(rows.start, rows.stop)]
        step = max(1, MOST_NUMBERS // (n_classes * size * size))
        for _, own in sorted(rest.items()):
            for start in range(0, len(own), step):
                some = own[start : start + step]
                found.append(
                    Block(np.array([row for row, _ in some]), np.array([seen for _, seen in some]))
                )
        return tuple(found)

    def weighing(self, weights: Vector) -> MixtureRows:
        """The same rows with other weights; the numbers stay as they are."""
        return replace(self, weights=weights)

    def in_common_units(self) -> MixtureRows:
        """The rows with one scale for all numbers: the root of the mean of their variances."""
        common = float(np.sqrt(np.mean(self.scale**2))) if len(self.scale) else 1.0
        values = self.values * (self.scale / common)
        return replace(self, values=values, scale=np.full(len(self.scale), common))


def mixture_rows(table: Dataset) -> MixtureRows:
    """Put the rows of a table in order, and group them.

    Examples
    --------
    >>> import gml
    >>> rows = mixture_rows(gml.read("sample_data/asia.csv"))
    >>> rows.n_distinct, rows.n, rows.labels[0].name
    (52, 5000.0, 'asia')
    """
    order = NameOrder(table.names).positions.tolist()
    labels = [j for j in order if not table.variables[j].is_continuous]
    numbers = [j for j in order if table.variables[j].is_continuous]
    if not numbers:
        table = joined_rows(table)
    n_bytes = table.n_rows * (10 * len(numbers) + 2 * len(labels) + 40)
    require_memory(n_bytes, None, "the rows of a mixture, put in order,")
    places = _order(table, [*labels, *numbers])
    codes = _codes([table.variables[j] for j in labels], [table.columns[j] for j in labels], places)
    # One zero and one NaN, so that what is equal has equal bytes.
    values = np.empty((table.n_rows, len(numbers)))
    for part in row_parts(table.n_rows):
        for k, j in enumerate(numbers):
            values[part, k] = comparable(table.columns[j][places[part]])
    for k, j in enumerate(numbers):
        largest = float(np.fmax.reduce(np.abs(values[:, k]), initial=0.0))
        if largest > _LARGEST:
            raise CannotAnswer(
                f"column {quote(table.variables[j].name)} has numbers up to {largest:.3g}, and a "
                f"mixture can do with {_LARGEST:g}; give them in other units"
            )
    first = np.ones(table.n_rows, dtype=bool)
    bits = values.view(np.uint64)
    for part in row_parts(table.n_rows - 1):
        here, before = slice(part.start + 1, part.stop + 1), part
        first[here] = (codes[here] != codes[before]).any(axis=1)
        first[here] |= (bits[here] != bits[before]).any(axis=1)
    weights = _weights(table, places, first)
    del places, bits
    codes, values = _compacted(codes, first), _compacted(values, first)
    # A row with nothing observed says nothing, and is no row.
    sizes = np.array([len(table.variables[j].levels or ()) for j in labels], dtype=np.int64)
    for part in row_parts(len(weights)):
        lacking = (codes[part] == sizes).all(axis=1) & np.isnan(values[part]).all(axis=1)
        weights[part][lacking] = 0.0
    centre, scale = _moments(values, weights)
    values -= centre
    values /= scale
    return MixtureRows(
        tuple(table.variables[j] for j in labels),
        tuple(table.variables[j] for j in numbers),
        codes,
        values,
        weights,
        centre,
        scale,
        _blocks(values),
    )


def _order(table: Dataset, columns: Sequence[int]) -> NDArray[np.signedinteger[Any]]:
    """An order by what numbers rows have and, within that, by what is in them."""
    n_rows = table.n_rows
    pattern, content = np.zeros(n_rows, dtype=np.uint64), np.zeros(n_rows, dtype=np.uint64)
    for j in columns:
        variable, column = table.variables[j], table.columns[j]
        for part in row_parts(n_rows):
            own = column[part]
            if variable.levels is None:
                _mix(pattern[part], np.isnan(own).astype(np.uint64))
                _mix(content[part], comparable(own).view(np.uint64))
            else:
                _mix(content[part], _coded(variable, own).astype(np.uint64))
    order: NDArray[np.signedinteger[Any]] = np.lexsort((content, pattern))
    return order.astype(np.int32) if n_rows < 1 << 31 else order


def _mix(mixed: NDArray[np.uint64], column: NDArray[np.uint64]) -> None:
    mixed ^= column
    mixed *= _MIX
    mixed ^= mixed >> _TURN


def _weights(
    table: Dataset, places: NDArray[np.signedinteger[Any]], first: NDArray[np.bool_]
) -> Vector:
    """How often each distinct row counts, of rows that stand in order, equal ones together."""
    starts = np.flatnonzero(first)
    if table.weights is None:
        sums = np.diff(np.append(starts, len(first)))
    else:
        sums = np.add.reduceat(table.weights[places], starts) if len(starts) else starts
    return sums * np.float64(table.unit)


def _compacted(table: NDArray[Any], keep: NDArray[np.bool_]) -> NDArray[Any]:
    """Some rows, moved to the front of the table, so that there is no second one."""
    if keep.all():
        return table
    end = 0
    for part in row_parts(len(table)):
        own = table[part][keep[part]]
        table[end : end + len(own)] = own
        end += len(own)
    return table[:end] if 2 * end > len(table) else table[:end].copy()


def _coded(variable: Variable, column: NDArray[Any]) -> NDArray[Any]:
    """Codes, with one more level for what is missing."""
    return np.where(missing_mask(column), len(variable.levels or ()), column)


def _codes(
    variables: Sequence[Variable],
    columns: Sequence[NDArray[Any]],
    places: NDArray[np.signedinteger[Any]],
) -> NDArray[Any]:
    """The codes of rows one after the other, in one type; what is missing is one more level."""
    most = max((len(variable.levels or ()) for variable in variables), default=0)
    kind = np.uint8 if code_type(most) == np.uint8 else np.uint16
    found = np.empty((len(places), len(columns)), dtype=kind)
    for part in row_parts(len(places)):
        for j, (variable, column) in enumerate(zip(variables, columns, strict=True)):
            found[part, j] = _coded(variable, column[places[part]])
    return found


def _moments(values: Vector, weights: Vector) -> tuple[Vector, Vector]:
    """Means and standard deviations of what is there; a constant column has the scale 1."""
    centre, scale = np.zeros(values.shape[1]), np.ones(values.shape[1])
    for j in range(values.shape[1]):
        seen = ~np.isnan(values[:, j]) & (weights > 0)
        away, own = values[seen, j], weights[seen]
        if len(away) == 0:
            continue
        first = away[0]
        away -= first
        total = np.sum(own)
        centre[j] = first + np.sum(away * own) / total
        away += first
        away -= centre[j]
        largest = float(max(-away.min(), away.max()))
        if largest > 0:
            away /= largest
            away *= away
            scale[j] = largest * math.sqrt(np.sum(away * own) / total)
    return centre, scale


def _blocks(values: Vector) -> tuple[Block, ...]:
    """Cut rows where they have other numbers, and after so many."""
    holes = np.isnan(values)
    changes = np.flatnonzero((holes[1:] != holes[:-1]).any(axis=1)) + 1
    ends = [0, *changes.tolist(), len(holes)]
    found = []
    for begin, end in itertools.pairwise(ends):
        observed = np.flatnonzero(~holes[begin]) if end > begin else np.zeros(0, dtype=np.intp)
        for start in range(begin, end, BLOCK_ROWS):
            found.append(Block(slice(start, min(start + BLOCK_ROWS, end)), observed))
    return tuple(found)
