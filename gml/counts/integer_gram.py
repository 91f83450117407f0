"""Exact sums of products of many integer columns, by products of matrices of small integers.

A column of integers of up to 53 bits is a sum of limbs lₖ·2^18k with |lₖ| ≤ 2¹⁷. A product of two
limbs takes 34 bits, so that sums over blocks of rows stay below 2⁵³ and are exact in float64 in any
order (the error-free splitting of Ozaki, Ogita, Oishi & Rump 2012, Numer. Algorithms 59:95). So
BLAS may add them up however it likes, and the blocks may come in any order. Sums of several tables
add up as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.kernel.blas import one_blas_thread
from gml.kernel.pool import in_order
from gml.stopping import check_stopped

LIMB_BITS = 18
# Weights are cut into digits of so many bits.
_DIGIT_BITS = 10
_HALF = 1 << (LIMB_BITS - 1)
_LIMB_PRODUCT_BITS = 2 * (LIMB_BITS - 1)
_EXACT_BITS = 53
_MOST_ROWS = 8192
# Limbs of so many rows are held at once, and stay in the cache.
_ROWS_AT_ONCE = 1024
# Where sums of products of limbs may exceed this, they are Python's integers.
_MOST_IN_INT64 = 1 << 61
# One of Python's integers of up to 120 bits, and where it is found.
_BYTES_PER_INTEGER = 48


class IntegerColumn(NamedTuple):
    """A column of integers that need so many limbs, or the indicator of a code among codes."""

    cells: NDArray[Any]
    n_limbs: int = 1
    level: int | None = None


@dataclass(frozen=True, eq=False)
class IntegerGram:
    """Sums of products of columns: entry (i, j) is the sum over s of parts[s][i, j]·2^18s."""

    parts: tuple[NDArray[Any], ...]

    def entries(
        self, rows: Sequence[int] | NDArray[Any], columns: Sequence[int] | None = None
    ) -> NDArray[Any]:
        """Return some of the sums as Python's integers, which have no bounds."""
        some = np.asarray(rows, dtype=np.intp)
        chosen = np.ix_(some, some if columns is None else np.asarray(columns, dtype=np.intp))
        total: NDArray[Any] = self.parts[0][chosen].astype(object)
        for s, part in enumerate(self.parts[1:], start=1):
            total = total + (part[chosen].astype(object) << (LIMB_BITS * s))
        return total


def limbs_needed(largest: int) -> int:
    """Return the number of limbs of integers of up to this size.

    Examples
    --------
    >>> limbs_needed(1), limbs_needed(2**17), limbs_needed(2**52)
    (1, 2, 3)
    """
    n, room = 1, _HALF - 1
    while room < largest:
        n, room = n + 1, (room << LIMB_BITS) + _HALF - 1
    return n


def bytes_of_gram(
    width: int, n_rows: int, *, weights: NDArray[np.int64] | None = None, threads: int = 1
) -> int:
    """Return the memory that sums of products of so many limbs take at most while they are made."""
    n_digits = _n_digits(weights)
    matrix = 8 * width * width
    largest = 1 if weights is None else int(weights.max(initial=1))
    blocks = max(1, -(-n_rows // _rows_per_block(min(largest, (1 << _DIGIT_BITS) - 1))))
    running = max(1, min(threads, blocks))
    # Totals by digit; as many for each block of rows that is in progress, or done and not yet
    # added, or was added last; a product per thread; beside threads, a sum and what is added to it.
    held = min(blocks, _blocks_ahead(threads) + 2 if running > 1 else 2)
    matrices = n_digits * (1 + held) + running + (2 if running > 1 else 0)
    limbs = 8 * width * min(_ROWS_AT_ONCE, n_rows) * running * (1 if weights is None else 2)
    digits = 0 if weights is None else 8 * n_rows * n_digits
    # Digits are put together as Python's integers: the whole, a part, the same shifted, their sum.
    joined = 4 * _BYTES_PER_INTEGER * width * width if n_digits > 1 else 0
    return digits + max(matrices * matrix + limbs, n_digits * matrix + joined)


def _rows_per_block(heaviest: int) -> int:
    """How many rows of such digits of weights add up exactly."""
    most = 1 << (_EXACT_BITS - _LIMB_PRODUCT_BITS)
    return max(1, min(most // max(heaviest, 1), _MOST_ROWS))


def _blocks_ahead(threads: int) -> int:
    """How many blocks of rows may be in progress or done while one is added."""
    return max(1, threads)


def integer_gram(
    columns: Sequence[IntegerColumn], weights: NDArray[np.int64] | None, threads: int
) -> IntegerGram:
    """Return the sums of products of all pairs of columns over rows, each weighted.

    Examples
    --------
    >>> x = IntegerColumn(np.array([1, 3])), IntegerColumn(np.array([2**40, -5]), 3)
    >>> integer_gram(x, None, 1).entries([0, 1]).tolist()
    [[10, 1099511627761], [1099511627761, 1208925819614629174706201]]
    """
    layout = _Layout(columns)
    digits = _digits(weights)
    heaviest = max((int(digit.max(initial=0)) for digit in digits if digit is not None), default=1)
    step = _rows_per_block(heaviest)
    n_rows = len(columns[0].cells) if columns else 0
    cuts = [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]

    def products(rows: slice) -> list[NDArray[np.float64]]:
        """Sums over some rows, which are exact: the largest is a double."""
        found = [np.zeros((layout.width, layout.width)) for _ in digits]
        room = np.empty((layout.width, min(_ROWS_AT_ONCE, rows.stop - rows.start)))
        for start in range(rows.start, rows.stop, _ROWS_AT_ONCE):
            check_stopped()
            some = slice(start, min(start + _ROWS_AT_ONCE, rows.stop))
            limbs = layout.limbs(some, room)
            for total, digit in zip(found, digits, strict=True):
                total += limbs @ (limbs if digit is None else limbs * digit[some]).T
        return found

    totals: list[NDArray[Any]] = [
        np.zeros((layout.width, layout.width), dtype=np.int64) for _ in digits
    ]
    bound = 0
    with one_blas_thread():
        for parts in in_order(products, cuts, threads, ahead=_blocks_ahead(threads)):
            bound += 1 << _EXACT_BITS
            if bound > _MOST_IN_INT64:
                totals = [total.astype(object) for total in totals]
            for d, part in enumerate(parts):
                totals[d] = totals[d] + part.astype(np.int64)
    return IntegerGram(tuple(layout.gathered(_weighted_sum(totals))))


def _digits(weights: NDArray[np.int64] | None) -> list[NDArray[np.float64] | None]:
    """The digits of weights, the lowest first; one None without weights."""
    if weights is None:
        return [None]
    mask = (1 << _DIGIT_BITS) - 1
    shifts = [_DIGIT_BITS * d for d in range(_n_digits(weights))]
    return [((weights >> shift) & mask).astype(np.float64) for shift in shifts]


def _n_digits(weights: NDArray[np.int64] | None) -> int:
    largest = 1 if weights is None else int(weights.max(initial=1))
    return max(1, -(-largest.bit_length() // _DIGIT_BITS))


def _weighted_sum(totals: Sequence[NDArray[Any]]) -> NDArray[Any]:
    if len(totals) == 1:
        return totals[0]
    whole = totals[0].astype(object)
    for d, total in enumerate(totals[1:], start=1):
        whole = whole + (total.astype(object) << (_DIGIT_BITS * d))
    return whole


class _Layout:
    """Where the limbs of columns stand: those of a column below one another, the lowest first."""

    def __init__(self, columns: Sequence[IntegerColumn]) -> None:
        self._columns = columns
        wanted = np.array([column.n_limbs for column in columns], dtype=np.int64)
        ends = np.cumsum(wanted)
        self._first = ends - wanted
        self._having = [np.flatnonzero(wanted > k) for k in range(int(wanted.max(initial=1)))]
        self.width = int(ends[-1]) if len(ends) else 0

    def limbs(self, rows: slice, room: NDArray[np.float64]) -> NDArray[np.float64]:
        """The limbs of some rows, in this room or a part of it."""
        write = kernel.active().write_limbs
        n_rows = rows.stop - rows.start
        found = room if n_rows == room.shape[1] else np.empty((self.width, n_rows))
        for first, (cells, n_limbs, level) in zip(self._first.tolist(), self._columns, strict=True):
            if level is not None:
                np.equal(cells[rows], level, out=found[first])
            elif n_limbs == 1:
                found[first] = cells[rows]
            else:
                write(cells[rows], found[first : first + n_limbs])
        return found

    def gathered(self, total: NDArray[Any]) -> Iterator[NDArray[Any]]:
        """The sums by the power of 2 that they count for."""
        n, having = len(self._columns), self._having
        for power in range(2 * len(having) - 1):
            part = np.zeros((n, n), dtype=total.dtype)
            for k, columns in enumerate(having):
                m = power - k
                if 0 <= m < len(having):
                    others = having[m]
                    rows, across = self._first[columns] + k, self._first[others] + m
                    part[columns[:, None], others] += total[rows[:, None], across]
            yield part
