"""Exact sums of numbers, and of products of two of them, within the cells of a table.

A double is a whole multiple of a power of 2. Each column has a power of its own, the largest of
which all its numbers are multiples, so that sums are integers in units of powers of 2: nothing is
rounded. Cells of several tables add up to those of all their rows, to the last bit, in whatever
order they come; a column of 10⁹ + N(0, 1) keeps all its digits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.answers import Moments
from gml.counts.exact_moments import (
    FIXED_POINT_BITS,
    ExactSums,
    Frame,
    complete_rows,
    moments_from_sums,
)
from gml.counts.packed_keys import Keys, PackedKeys
from gml.counts.pass_work import Work
from gml.data.dataset import Dataset

NO_POWER = 1024
"""The power of a column in which nothing but 0 occurs: no double is as large."""

# Sums of products of two limbs over 2^53 rows stay below 2^123, and the kernel adds up 126 bits.
_LIMB_BITS = 35
_DIGIT_BITS = 42
_MANTISSA_BITS = 53
# One of Python's integers of some 200 bits and where it is found, twice while they are added up.
_BYTES_PER_SUM = 120
# Digits of the sums of limbs, of which most numbers have two; the kernel has as many.
_BYTES_PER_LIMB_SUM = 40

Floats = NDArray[np.float64]


def n_sums(n_columns: int) -> int:
    """How many sums a cell has: of the columns, and of products of two of them.

    Examples
    --------
    >>> n_sums(2)
    5
    """
    return n_columns * (n_columns + 3) // 2


def place_of_product(n_columns: int, i: int, j: int) -> int:
    """Where the sum of the product of two columns is, behind the sums of the columns.

    Examples
    --------
    >>> [place_of_product(2, 0, 0), place_of_product(2, 0, 1), place_of_product(2, 1, 1)]
    [2, 3, 4]
    """
    low, high = sorted((i, j))
    return n_columns + high * (high + 1) // 2 + low


def bytes_of_cells(n_cells: int, n_columns: int) -> int:
    """The memory that the sums of so many cells take while they are made."""
    limbs = n_sums(2 * n_columns)
    return n_cells * (n_sums(n_columns) * _BYTES_PER_SUM + limbs * _BYTES_PER_LIMB_SUM)


@dataclass(frozen=True, eq=False)
class CellSums:
    """The sums of columns of numbers in each cell of a table.

    `sums` has a row per cell: the sums of the columns, then those of products, each column with
    those up to itself; Python's integers, in units of 2^powers[i] and of 2^(powers[i]+powers[j]).
    `low` and `high` are the least and the greatest number of each cell and column, NaN where they
    are not to be known.

    Examples
    --------
    >>> found = CellSums.of([np.array([0.5, 4.0, 1.0])], np.array([0, 1, 0]), 2)
    >>> found.powers, found.sums.tolist(), found.high[:, 0].tolist()
    ((-1,), [[3, 5], [8, 64]], [1.0, 4.0])
    """

    powers: tuple[int, ...]
    sums: NDArray[Any]
    low: Floats
    high: Floats

    @classmethod
    def of(
        cls,
        columns: Sequence[Floats],
        cell: NDArray[np.int64],
        n_cells: int,
        weights: NDArray[np.int64] | None = None,
    ) -> CellSums:
        """Add up columns, by the number of the cell that each row is in."""
        split = [_limbs_of(values) for values in columns]
        sums = _summed([limbs for _, limbs in split], cell, n_cells, weights)
        low = np.full((n_cells, len(columns)), np.inf)
        high = np.full((n_cells, len(columns)), -np.inf)
        for k, values in enumerate(columns):
            # Of the two zeros, one stands for both.
            np.minimum.at(low[:, k], cell, values + 0.0)
            np.maximum.at(high[:, k], cell, values + 0.0)
        return cls(tuple(power for power, _ in split), sums, low, high)

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.powers)

    @property
    def has_extremes(self) -> bool:
        """Whether the least and the greatest numbers are known."""
        return not bool(np.isnan(self.low).any())

    def __len__(self) -> int:
        """The number of cells."""
        return len(self.sums)

    def without_extremes(self) -> CellSums:
        """The same without any number of a single row."""
        unknown = np.full_like(self.low, np.nan)
        return CellSums(self.powers, self.sums, unknown, unknown)

    def over(self, columns: Sequence[int]) -> CellSums:
        """The sums of some of the columns."""
        places = list(columns)
        for i, j in _pairs(len(columns)):
            places.append(place_of_product(self.n_columns, columns[i], columns[j]))
        some = list(columns)
        return CellSums(
            tuple(self.powers[k] for k in columns),
            self.sums[:, places],
            self.low[:, some],
            self.high[:, some],
        )

    @classmethod
    def of_pairs(cls, pairs: Mapping[tuple[int, int], CellSums]) -> CellSums:
        """The sums of several columns from those of each two, in the same cells."""
        size = 1 + max(j for _, j in pairs)
        first, last = pairs[0, 1], pairs[size - 2, size - 1]
        sums = np.zeros((len(first), n_sums(size)), dtype=object)
        low, high = np.empty((len(first), size)), np.empty((len(first), size))
        powers = [*(pairs[i, i + 1].powers[0] for i in range(size - 1)), last.powers[1]]
        for (i, j), of_pair in pairs.items():
            square_i, product, square_j = 2, 3, 4
            sums[:, [i, j]] = of_pair.sums[:, :2]
            low[:, [i, j]], high[:, [i, j]] = of_pair.low, of_pair.high
            for a, b, place in ((i, i, square_i), (i, j, product), (j, j, square_j)):
                sums[:, place_of_product(size, a, b)] = of_pair.sums[:, place]
        return cls(tuple(powers), sums, low, high)

    def grouped(self, group: NDArray[np.int64], n_groups: int) -> CellSums:
        """Add up cells, by the number of the group that each is in."""
        sums = np.zeros((n_groups, self.sums.shape[1]), dtype=object)
        np.add.at(sums, group, self.sums)
        low = np.full((n_groups, self.n_columns), np.inf)
        high = np.full((n_groups, self.n_columns), -np.inf)
        np.minimum.at(low, group, self.low)
        np.maximum.at(high, group, self.high)
        return CellSums(self.powers, sums, low, high)

    @classmethod
    def joined(cls, parts: Sequence[CellSums]) -> CellSums:
        """The cells of several tables, one behind the other."""
        powers = tuple(map(min, zip(*(part.powers for part in parts), strict=True)))
        return cls(
            powers,
            np.concatenate([part._in_units_of(powers) for part in parts]),
            np.concatenate([part.low for part in parts]),
            np.concatenate([part.high for part in parts]),
        )

    def _in_units_of(self, powers: Sequence[int]) -> NDArray[Any]:
        if tuple(powers) == self.powers:
            return self.sums
        more = [own - new for own, new in zip(self.powers, powers, strict=True)]
        shifts = [*more, *(more[i] + more[j] for i, j in _pairs(self.n_columns))]
        units = np.array([1 << shift for shift in shifts], dtype=object)
        found: NDArray[Any] = self.sums * units
        return found

    def frames(self, cell: int, bits: int = FIXED_POINT_BITS) -> list[Frame]:
        """The frames in which rows would be counted, or about 0 where extremes are not known."""
        ends = zip(self.low[cell].tolist(), self.high[cell].tolist(), strict=True)
        return [
            Frame(0.0, -power) if math.isnan(low) else Frame.between(low, high, bits)
            for (low, high), power in zip(ends, self.powers, strict=True)
        ]

    def exact_frames(self, cell: int) -> list[Frame]:
        """The same with as many digits as the numbers have."""
        return [
            Frame(frame.centre, max(-power, -_power_of(frame.centre)))
            for frame, power in zip(self.frames(cell), self.powers, strict=True)
        ]

    def moments(self, cell: int, n: int) -> Moments:
        """The moments of a cell of n rows.

        They are those that rows give (`gml.counts.exact_moments`), which have numbers of 53 bits of
        their range, but keep the digits that these would lose.
        """
        frames = [
            Frame(frame.centre, max(frame.scale, exact.scale))
            for frame, exact in zip(self.frames(cell), self.exact_frames(cell), strict=True)
        ]
        found, size = self.about(cell, n, frames), self.n_columns
        products = [
            [0] * i + [found[place_of_product(size, i, j)] for j in range(i, size)]
            for i in range(size)
        ]
        return moments_from_sums(ExactSums(n, found[:size], products), frames)

    def about(self, cell: int, n: int, frames: Sequence[Frame]) -> list[int]:
        """The sums of a cell of n rows in frames, rounded where these have too few digits."""
        size, sums = self.n_columns, self.sums[cell].tolist()
        fine = [
            max(frame.scale, -power, -_power_of(frame.centre))
            for frame, power in zip(frames, self.powers, strict=True)
        ]
        up = [power + scale for power, scale in zip(self.powers, fine, strict=True)]
        centres = [
            int(Fraction(frame.centre) * Fraction(2) ** scale)
            for frame, scale in zip(frames, fine, strict=True)
        ]
        whole = [sums[k] << up[k] for k in range(size)]
        spare = [scale - frame.scale for scale, frame in zip(fine, frames, strict=True)]
        found = [_rounded(whole[k] - n * centres[k], spare[k]) for k in range(size)]
        for i, j in _pairs(size):
            product = sums[place_of_product(size, i, j)] << (up[i] + up[j])
            product += n * centres[i] * centres[j] - centres[i] * whole[j] - centres[j] * whole[i]
            found.append(_rounded(product, spare[i] + spare[j]))
        return found


class KeyedSums(NamedTuple):
    """The cells of a table by their keys: the rows of each, and sums of numbers."""

    keys: Keys
    counts: NDArray[np.int64]
    numbers: CellSums


@dataclass(frozen=True)
class SumsInCells(Work[list[KeyedSums]]):
    """Sums of numbers in the cells of tables, each over the rows complete in its columns."""

    sets: Sequence[tuple[Sequence[str], Sequence[str]]]
    """The columns of labels and those of numbers of each table."""

    def of(self, chunk: Dataset) -> list[KeyedSums]:
        """Add up a chunk."""
        return [self._of_set(chunk, labels, numbers) for labels, numbers in self.sets]

    def _of_set(self, chunk: Dataset, labels: Sequence[str], numbers: Sequence[str]) -> KeyedSums:
        axes, columns = ([chunk.index(name) for name in names] for names in (labels, numbers))
        rows = complete_rows(chunk, [*axes, *columns])
        packed = PackedKeys([max(1, len(chunk.variables[j].levels or ())) for j in axes])
        keys = packed.keys([chunk.columns[j][rows] for j in axes], len(rows))
        seen, cell = packed.numbered(keys)
        weights = None if chunk.weights is None else np.ascontiguousarray(chunk.weights[rows])
        sums = CellSums.of([chunk.columns[j][rows] for j in columns], cell, seen.shape[1], weights)
        counts = np.zeros(seen.shape[1], dtype=np.int64)
        np.add.at(counts, cell, 1 if weights is None else weights)
        return KeyedSums(seen, counts, sums)

    def add(self, first: list[KeyedSums], second: list[KeyedSums]) -> list[KeyedSums]:
        """Add the cells of equal configurations."""
        return [added_cells([mine, theirs]) for mine, theirs in zip(first, second, strict=True)]


def added_cells(parts: Sequence[KeyedSums]) -> KeyedSums:
    """Add up the cells of several tables."""
    keys, cell = PackedKeys.numbered(np.hstack([part.keys for part in parts]))
    counts = np.zeros(keys.shape[1], dtype=np.int64)
    np.add.at(counts, cell, np.concatenate([part.counts for part in parts]))
    numbers = CellSums.joined([part.numbers for part in parts])
    return KeyedSums(keys, counts, numbers.grouped(cell, keys.shape[1]))


def digits_of(sums: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Sums of each cell in the digits of the kernel, the lowest first."""
    whole, mask = np.array(sums, dtype=object), (1 << _DIGIT_BITS) - 1
    digits = [whole & mask, (whole >> _DIGIT_BITS) & mask, whole >> (2 * _DIGIT_BITS)]
    return np.ascontiguousarray(np.stack(digits, axis=2).astype(np.int64))


def _pairs(n_columns: int) -> list[tuple[int, int]]:
    """The pairs of columns in the order of their products."""
    return [(i, j) for i in range(n_columns) for j in range(i + 1)]


def _power_of(number: float) -> int:
    """The largest power of 2 of which a number is a multiple."""
    top, bottom = number.as_integer_ratio()
    if top == 0:
        return NO_POWER
    return ((top & -top).bit_length() - 1) - (bottom.bit_length() - 1)


def _rounded(value: int, bits: int) -> int:
    """A whole number without its last bits, to the nearest."""
    return value if bits == 0 else (value + (1 << (bits - 1))) >> bits


def _limbs_of(values: Floats) -> tuple[int, list[NDArray[np.int64]]]:
    """The power of a column, and the limbs of its numbers as multiples of it, the lowest first."""
    mantissa, exponent = np.frexp(values)
    whole = np.ldexp(np.abs(mantissa), _MANTISSA_BITS).astype(np.int64)
    some = whole != 0
    if not some.any():
        return NO_POWER, [np.zeros(len(values), dtype=np.int64)]
    trailing = np.frexp((whole & -whole).astype(np.float64))[1].astype(np.int64) - 1
    odd = np.where(some, whole >> np.maximum(trailing, 0), 0)
    first = exponent + trailing - _MANTISSA_BITS
    power = int(first[some].min())
    n_limbs = -(-(int(exponent[some].max()) - power) // _LIMB_BITS)
    sign, mask = np.where(values < 0, -1, 1), np.int64((1 << _LIMB_BITS) - 1)
    limbs = []
    for limb in range(n_limbs):
        # Where the bits of the number begin, as seen from the limb.
        start = first - power - limb * _LIMB_BITS
        up, down = np.clip(start, 0, _LIMB_BITS), np.clip(-start, 0, 63)
        limbs.append(sign * (((odd >> down) & (mask >> up)) << up))
    return power, limbs


def _summed(
    columns: Sequence[Sequence[NDArray[np.int64]]],
    cell: NDArray[np.int64],
    n_cells: int,
    weights: NDArray[np.int64] | None,
) -> NDArray[Any]:
    """Add up columns in limbs, and the products of two of them, within cells."""
    found = np.zeros((n_cells, n_sums(len(columns))), dtype=object)
    if n_cells == 0:
        return found
    limbs = [np.ascontiguousarray(limb) for column in columns for limb in column]
    _, digits = kernel.active().sums_within(cell.astype(np.int32), n_cells, limbs, weights)
    powers = np.array([1 << (_DIGIT_BITS * k) for k in range(3)], dtype=object)
    of_limbs = (digits.astype(object) * powers).sum(axis=2)
    owners = [(c, limb) for c, column in enumerate(columns) for limb in range(len(column))]
    size = len(owners)
    for k, (c, limb) in enumerate(owners):
        found[:, c] += of_limbs[:, k] << (_LIMB_BITS * limb)
    for i, j in _pairs(size):
        (c, upper), (d, lower) = owners[i], owners[j]
        part = of_limbs[:, place_of_product(size, i, j)] << (_LIMB_BITS * (upper + lower))
        # The product of two different limbs of one column counts twice in its square.
        found[:, place_of_product(len(columns), c, d)] += part * (2 if c == d and i != j else 1)
    return found
