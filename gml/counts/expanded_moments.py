"""One matrix for numbers and labels: moments of numbers and of indicators of levels, exact.

A column of numbers is one row of the matrix. A column of labels with s levels that occur is s − 1
rows, the indicators of all of these but the first, in the order of the levels. A level that occurs
in no row has no indicator: it would have no variance, and the matrix would be singular. So a
constant column, be it of numbers or of labels, has no row at all.

Sums are those of integers: a number is counted in fixed point about a shift of its own
(`gml.counts.exact_moments`), an indicator is 0 or 1. They add up exactly in any order of rows, and
sums of parts of a table about the same shifts add up to those of the table. The correlations are
rounded from them to float64, each to within 3 units in the last place; the sums stay at hand where
that is not enough (`cross`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.answers import Moments
from gml.counts.exact_moments import FixedPoint, Frame, complete_rows, fixed_point
from gml.counts.integer_gram import (
    LIMB_BITS,
    IntegerColumn,
    IntegerGram,
    bytes_of_gram,
    integer_gram,
    limbs_needed,
)
from gml.data.dataset import Dataset
from gml.resources import require_memory

# So many are counted in 64 bits.
_MOST_ROWS = 1 << 63
# Sums by powers, twice as they become one array, their total, a correlation and its divisor.
_BYTES_PER_ENTRY = 112
# What a column of numbers is as integers.
_BYTES_PER_NUMBER = 8


@dataclass(frozen=True, eq=False)
class ExpandedMoments:
    """Exact sums over the rows complete in some columns, and the correlations that follow.

    `owners[i]` is the position of the column that row i of the matrix belongs to, and `levels[i]`
    the code of the level that it indicates, −1 for numbers; `blocks` has the rows of each column.
    Rows of the matrix are in the order of the names of the columns, then of the levels. `n` counts
    rows, weighted.
    """

    n: int
    owners: NDArray[np.int32]
    levels: NDArray[np.int32]
    blocks: dict[int, NDArray[np.int32]]
    shifts: tuple[float, ...]
    scales: tuple[int, ...]
    gram: IntegerGram
    """Sums of products; the last row and column belong to a column of ones."""
    is_centred: bool = False
    """Whether the sums are the n·Σ(qᵢ−q̄ᵢ)(qⱼ−q̄ⱼ) already, and there is no column of ones."""

    @property
    def size(self) -> int:
        """The number of rows of the matrix."""
        return len(self.owners)

    def rows_of(self, columns: Sequence[int]) -> NDArray[np.int32]:
        """Return the rows of several columns, one column after the other."""
        parts = [self.blocks[j] for j in columns]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int32)

    def moved(self, positions: Mapping[int, int]) -> ExpandedMoments:
        """Return the same of columns that have other positions, by their old ones."""
        return replace(
            self,
            owners=np.array([positions[j] for j in self.owners.tolist()], dtype=np.int32),
            blocks={positions[j]: block for j, block in self.blocks.items()},
        )

    def cross(self, rows: Sequence[int]) -> list[list[int]]:
        """Return n·Σ(qᵢ−q̄ᵢ)(qⱼ−q̄ⱼ) of some rows in fixed point, exact."""
        found: list[list[int]] = self._cross(rows).tolist()
        return found

    @functools.cached_property
    def log_variances(self) -> NDArray[np.float64]:
        """ln of the variance of each row, divisor n, in the units of the column."""
        logs = [
            math.log(own) - 2 * scale * math.log(2)
            for own, scale in zip(np.diag(self._products).tolist(), self.scales, strict=True)
        ]
        return np.array(logs, dtype=np.float64) - 2 * math.log(max(self.n, 1))

    @functools.cached_property
    def correlation(self) -> NDArray[np.float64]:
        """The matrix of correlations."""
        products = self._products
        sd = np.sqrt(np.diag(products))
        found: NDArray[np.float64] = products / (sd[:, None] * sd[None, :])
        np.fill_diagonal(found, 1.0)
        return found

    def _cross(self, rows: Sequence[int], columns: Sequence[int] | None = None) -> NDArray[Any]:
        entries = self.gram.entries(rows, columns)
        if self.is_centred:
            return entries
        others = self._sums[list(rows if columns is None else columns)]
        found: NDArray[Any] = self.n * entries - self._sums[list(rows)][:, None] * others
        return found

    @functools.cached_property
    def _sums(self) -> NDArray[Any]:
        """The sum of each row in fixed point."""
        sums: NDArray[Any] = self.gram.entries(range(self.size), [self.size])[:, 0]
        return sums

    @functools.cached_property
    def _products(self) -> NDArray[np.float64]:
        """The cross-products about the mean, rounded to float64."""
        parts = self.gram.parts
        if not self.is_centred and self.n < _MOST_ROWS and all(p.dtype == np.int64 for p in parts):
            return kernel.active().centred_products(np.stack(parts), self.n, LIMB_BITS)
        return self._cross(range(self.size)).astype(np.float64)


def bytes_of_matrix(
    size: int,
    n_limbs: int,
    n_numbers: int,
    n_rows: int,
    *,
    weights: NDArray[np.int64] | None = None,
    threads: int = 1,
) -> int:
    """Return the memory that a matrix of `size` rows takes while it is made from a table.

    So many columns of numbers become integers, which have `n_limbs` limbs with the indicators.
    """
    integers = _BYTES_PER_NUMBER * n_rows * (n_numbers + 1)
    sums = bytes_of_gram(n_limbs + 1, n_rows, weights=weights, threads=threads)
    return integers + sums + _BYTES_PER_ENTRY * size**2


def expanded_numbers(moments: Moments, columns: Sequence[int]) -> ExpandedMoments:
    """Return moments of numbers in this form; those of constants have no row.

    Examples
    --------
    >>> found = expanded_numbers(Moments(4, (0.0, 0.0), ((16, 8), (8, 16)), (0, 0)), [3, 5])
    >>> found.correlation[0].tolist(), found.blocks[5].tolist(), found.cross([0])
    ([1.0, 0.5], [1], [[16]])
    """
    varying = [k for k in range(len(columns)) if moments.cross[k][k]]
    cross = np.array([[moments.cross[i][j] for j in varying] for i in varying], dtype=object)
    blocks = {j: np.empty(0, dtype=np.int32) for j in columns}
    for row, k in enumerate(varying):
        blocks[columns[k]] = np.array([row], dtype=np.int32)
    return ExpandedMoments(
        moments.n,
        np.array([columns[k] for k in varying], dtype=np.int32),
        np.full(len(varying), -1, dtype=np.int32),
        blocks,
        tuple(moments.means[k] for k in varying),
        tuple(moments.scales[k] for k in varying),
        IntegerGram((cross.reshape(len(varying), len(varying)),)),
        is_centred=True,
    )


def expanded_labels(
    n: int,
    singles: Mapping[int, NDArray[np.int64]],
    pairs: Iterable[tuple[tuple[int, int], NDArray[np.int64]]],
) -> ExpandedMoments:
    """Return the moments of indicators of levels from the tables of columns and of their pairs.

    Examples
    --------
    >>> singles = {0: np.array([2, 0, 1]), 1: np.array([1, 2])}
    >>> found = expanded_labels(3, singles, [((0, 1), np.array([[1, 1], [0, 0], [0, 1]]))])
    >>> found.levels.tolist(), found.cross([0, 1])
    ([2, 1], [[2, 1], [1, 2]])
    """
    wanted = {j: np.flatnonzero(counts)[1:] for j, counts in singles.items()}
    ends = np.cumsum([0, *map(len, wanted.values())])
    blocks = {j: np.arange(ends[k], ends[k + 1], dtype=np.int32) for k, j in enumerate(wanted)}
    size = int(ends[-1])
    sums = np.zeros((size + 1, size + 1), dtype=np.int64)
    sums[size, size] = n
    for j, levels in wanted.items():
        sums[blocks[j], blocks[j]] = singles[j][levels]
        sums[blocks[j], size] = sums[size, blocks[j]] = singles[j][levels]
    for (i, j), table in pairs:
        counts = table[np.ix_(wanted[i], wanted[j])]
        sums[np.ix_(blocks[i], blocks[j])] = counts
        sums[np.ix_(blocks[j], blocks[i])] = counts.T
    return ExpandedMoments(
        n,
        np.repeat(list(wanted), [len(levels) for levels in wanted.values()]).astype(np.int32),
        np.concatenate([np.empty(0, dtype=np.int32), *wanted.values()]).astype(np.int32),
        blocks,
        (0.0,) * size,
        (0,) * size,
        IntegerGram((sums,)),
    )


def with_numbers(
    labels: ExpandedMoments,
    columns: Sequence[int],
    frames: Mapping[int, Frame],
    sums: Sequence[int],
    within: Callable[[int, int], Mapping[int, int]],
) -> ExpandedMoments:
    """Return moments of labels, and of numbers from their sums in frames, in the order of columns.

    `sums` has those of the columns of numbers and then those of products, each column with those
    up to itself; `within(number, label)` those of a column by the level of another.

    Examples
    --------
    >>> labels = expanded_labels(3, {1: np.array([1, 2])}, [])
    >>> found = with_numbers(labels, [0, 1], {0: Frame(0.0, 0)}, [6, 14], lambda j, k: {1: 5})
    >>> found.owners.tolist(), found.cross([0, 1])
    ([0, 1], [[6, 3], [3, 2]])
    """
    n, numbers = labels.n, list(frames)
    place = {j: k for k, j in enumerate(numbers)}

    def product(i: int, j: int) -> int:
        low, high = sorted((place[i], place[j]))
        return sums[len(numbers) + high * (high + 1) // 2 + low]

    varying = {j for j in numbers if n * product(j, j) > sums[place[j]] ** 2}
    owners: list[int] = []
    levels: list[int] = []
    for j in columns:
        of_column = labels.levels[labels.blocks[j]].tolist() if j in labels.blocks else [-1]
        if j in varying or j in labels.blocks:
            owners += [j] * len(of_column)
            levels += of_column
    size = len(owners)
    owner, level = np.array(owners, dtype=np.int32), np.array(levels, dtype=np.int32)
    blocks = {j: np.flatnonzero(owner == j).astype(np.int32) for j in columns}
    gram = np.zeros((size + 1, size + 1), dtype=object)
    of_labels = np.flatnonzero(level >= 0)
    before = np.concatenate(
        [labels.rows_of([j for j in columns if j in labels.blocks]), [labels.size]]
    )
    there = np.concatenate([of_labels, [size]]).astype(np.intp)
    gram[np.ix_(there, there)] = labels.gram.entries(before.astype(np.intp))
    for i in sorted(varying):
        (row,) = blocks[i].tolist()
        gram[row, size] = gram[size, row] = sums[place[i]]
        for j in varying:
            gram[row, blocks[j][0]] = product(i, j)
        for j in labels.blocks:
            by_level = within(i, j)
            for k in blocks[j].tolist():
                gram[row, k] = gram[k, row] = by_level.get(levels[k], 0)
    shown = [
        frames[j] if level < 0 else Frame(0.0, 0) for j, level in zip(owners, levels, strict=True)
    ]
    return ExpandedMoments(
        n,
        owner,
        level,
        blocks,
        tuple(frame.centre for frame in shown),
        tuple(frame.scale for frame in shown),
        IntegerGram((gram,)),
    )


def expanded_moments_of(
    dataset: Dataset,
    columns: Sequence[int],
    *,
    threads: int = 1,
    budget: int | None = None,
) -> ExpandedMoments:
    """Return the moments of columns, in the order given, over the rows complete in all of them.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> names = (Variable("A", None), Variable("B", ("x", "y", "z")))
    >>> cells = (np.array([1.0, 3.0, 8.0]), np.array([0, 0, 2], dtype=np.uint8))
    >>> found = expanded_moments_of(Dataset(names, cells), [0, 1])
    >>> found.owners.tolist(), found.levels.tolist(), found.correlation[0].round(3).tolist()
    ([0, 1], [-1, 2], [1.0, 0.961])
    """
    rows = complete_rows(dataset, columns)
    weights = None if dataset.weights is None else np.ascontiguousarray(dataset.weights[rows])
    n_numbers = sum(dataset.variables[j].is_continuous for j in columns)

    def require(size: int, n_limbs: int, what: str) -> None:
        needed = bytes_of_matrix(
            size, n_limbs, n_numbers, len(rows), weights=weights, threads=threads
        )
        require_memory(needed, budget, f"the correlations of {what}")

    # How many limbs numbers have is known only when they are integers: at least one.
    require(n_numbers, n_numbers, f"{len(columns)} columns")
    parts = [_expand(dataset, j, rows) for j in columns]
    expanded = [column for part in parts for column in part.columns]
    size = len(expanded)
    n_limbs = sum(column.n_limbs for column in expanded)
    require(size, n_limbs, f"{size} numbers and indicators of levels")
    owners = [j for j, part in zip(columns, parts, strict=True) for _ in part.columns]
    ends = np.cumsum([0, *(len(part.columns) for part in parts)])
    levels = [-1 if column.level is None else column.level for column in expanded]
    ones = IntegerColumn(np.ones(len(rows), dtype=np.int64))
    return ExpandedMoments(
        len(rows) if weights is None else int(weights.sum()),
        np.array(owners, dtype=np.int32),
        np.array(levels, dtype=np.int32),
        {j: np.arange(ends[k], ends[k + 1], dtype=np.int32) for k, j in enumerate(columns)},
        tuple(part.shift for part in parts for _ in part.columns),
        tuple(part.scale for part in parts for _ in part.columns),
        integer_gram([*expanded, ones], weights, threads),
    )


class _Expanded(NamedTuple):
    """The rows of the matrix that one column has, and the shift and scale of their values."""

    columns: Sequence[IntegerColumn]
    shift: float = 0.0
    scale: int = 0


def _expand(dataset: Dataset, column: int, rows: NDArray[np.int64]) -> _Expanded:
    cells = dataset.columns[column]
    cells = cells if len(rows) == len(cells) else cells[rows]
    if dataset.variables[column].is_continuous:
        return _expand_numbers(fixed_point(cells))
    seen = np.flatnonzero(np.bincount(cells)) if len(cells) else np.empty(0, dtype=np.int64)
    return _Expanded([IntegerColumn(cells, 1, level) for level in seen[1:].tolist()])


def _expand_numbers(numbers: FixedPoint) -> _Expanded:
    q, centre, scale = numbers
    # Whole numbers, or numbers of a few decimals in binary, need fewer bits than there are.
    used = int(np.bitwise_or.reduce(q))
    if used == 0:
        return _Expanded(())
    spare = (used & -used).bit_length() - 1
    whole = q >> spare if spare else q
    largest = max(int(whole.max()), -int(whole.min()))
    return _Expanded([IntegerColumn(whole, limbs_needed(largest))], centre, scale - spare)
