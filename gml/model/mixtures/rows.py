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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset, Variable, code_type, missing_mask
from gml.data.row_groups import distinct_rows
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
    def n(self) -> float:
        """The number of rows, with their weights."""
        return math.fsum(self.weights.tolist())

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
        n_seen = (~np.isnan(self.values)).T @ self.weights
        return math.fsum((n_seen * np.log(self.scale)).tolist())

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
        table = distinct_rows(table)
    n_bytes = table.n_rows * (10 * len(numbers) + 3 * len(labels) + 40)
    require_memory(n_bytes, None, "the rows of a mixture, put in order,")
    codes = _codes([table.variables[j] for j in labels], [table.columns[j] for j in labels])
    codes = codes.reshape(table.n_rows, len(labels))
    # One zero and one NaN, so that what is equal has equal bytes.
    values = np.empty((table.n_rows, len(numbers)))
    for place, j in enumerate(numbers):
        values[:, place] = np.where(missing_mask(table.columns[j]), np.nan, table.columns[j] + 0.0)
    holes = np.isnan(values)
    pattern = _mixed((hole.astype(np.uint64) for hole in holes.T), table.n_rows)
    cells = itertools.chain(
        (codes[:, j].astype(np.uint64) for j in range(len(labels))),
        (values[:, j].view(np.uint64) for j in range(len(numbers))),
    )
    by_content = np.lexsort((_mixed(cells, table.n_rows), pattern))
    codes, values = codes[by_content], values[by_content]
    first = np.ones(table.n_rows, dtype=bool)
    first[1:] = (codes[1:] != codes[:-1]).any(axis=1)
    bits = values.view(np.uint64)
    first[1:] |= (bits[1:] != bits[:-1]).any(axis=1)
    group = np.cumsum(first) - 1
    units = np.ones(table.n_rows, dtype=np.int64) if table.weights is None else table.weights
    sums = np.zeros(int(first.sum()), dtype=np.int64)
    np.add.at(sums, group, units[by_content])
    weights = sums.astype(np.float64) * table.unit
    codes, values = np.ascontiguousarray(codes[first]), values[first]
    # A row with nothing observed says nothing, and is no row.
    sizes = np.array([len(table.variables[j].levels or ()) for j in labels], dtype=np.int64)
    weights[(codes == sizes).all(axis=1) & np.isnan(values).all(axis=1)] = 0.0
    centre, scale = _moments(values, weights)
    return MixtureRows(
        tuple(table.variables[j] for j in labels),
        tuple(table.variables[j] for j in numbers),
        codes,
        np.ascontiguousarray((values - centre) / scale),
        weights,
        centre,
        scale,
        _blocks(np.isnan(values)),
    )


def _codes(variables: Sequence[Variable], columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The codes of rows one after the other, in one type; what is missing is one more level."""
    most = max((len(variable.levels or ()) for variable in variables), default=0)
    kind = np.uint8 if code_type(most) == np.uint8 else np.uint16
    found = np.empty((len(columns[0]) if columns else 0, len(columns)), dtype=kind)
    for j, (variable, column) in enumerate(zip(variables, columns, strict=True)):
        found[:, j] = np.where(missing_mask(column), len(variable.levels or ()), column)
    return found


def _mixed(columns: Iterable[NDArray[np.uint64]], n_rows: int) -> NDArray[np.uint64]:
    mixed = np.zeros(n_rows, dtype=np.uint64)
    for column in columns:
        mixed = (mixed ^ column) * _MIX
        mixed ^= mixed >> _TURN
    return mixed


def _moments(values: Vector, weights: Vector) -> tuple[Vector, Vector]:
    """Means and standard deviations of what is there; a constant column has the scale 1."""
    centre, scale = np.zeros(values.shape[1]), np.ones(values.shape[1])
    for j in range(values.shape[1]):
        seen = ~np.isnan(values[:, j]) & (weights > 0)
        column, own = values[seen, j], weights[seen]
        if len(column) == 0:
            continue
        away = column - column[0]
        centre[j] = column[0] + np.sum(away * own) / np.sum(own)
        away = column - centre[j]
        largest = float(np.abs(away).max())
        if largest > 0:
            scale[j] = largest * math.sqrt(np.sum((away / largest) ** 2 * own) / np.sum(own))
    return centre, scale


def _blocks(holes: NDArray[np.bool_]) -> tuple[Block, ...]:
    """Cut rows where their numbers change, and after so many."""
    changes = np.flatnonzero((holes[1:] != holes[:-1]).any(axis=1)) + 1
    ends = [0, *changes.tolist(), len(holes)]
    found = []
    for begin, end in itertools.pairwise(ends):
        observed = np.flatnonzero(~holes[begin]) if end > begin else np.zeros(0, dtype=np.intp)
        for start in range(begin, end, BLOCK_ROWS):
            found.append(Block(slice(start, min(start + BLOCK_ROWS, end)), observed))
    return tuple(found)
