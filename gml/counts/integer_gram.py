"""Exact sums of products of many integer columns, by products of matrices of small integers.

A column of integers of up to 53 bits is a sum of limbs lₖ·2^18k with |lₖ| ≤ 2¹⁷. A product of two
limbs takes 34 bits, so that sums over blocks of rows stay below 2⁵³ and are exact in float64 in any
order (the error-free splitting of Ozaki, Ogita, Oishi & Rump 2012, Numer. Algorithms 59:95). So
BLAS may add them up however it likes, and the blocks may come in any order. Sums of several tables
add up as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
_BLOCK_CELLS = 1 << 21
# Where sums of products of limbs may exceed this, they are Python's integers.
_MOST_IN_INT64 = 1 << 61

Block = Callable[[slice], NDArray[np.int64]]
"""Values of all columns in some rows: rows × columns."""


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


def integer_gram(
    block: Block,
    n_rows: int,
    n_limbs: Sequence[int],
    weights: NDArray[np.int64] | None,
    threads: int,
) -> IntegerGram:
    """Return the sums of products of all pairs of columns over rows, each weighted.

    `n_limbs` says how many limbs each column needs.

    Examples
    --------
    >>> x = np.array([[1, 2**40], [3, -5]])
    >>> integer_gram(lambda rows: x[rows], 2, [1, 3], None, 1).entries([0, 1]).tolist()
    [[10, 1099511627761], [1099511627761, 1208925819614629174706201]]
    """
    layout = _Layout(n_limbs)
    digits = _digits(weights)
    heaviest = max((int(digit.max(initial=0)) for digit in digits if digit is not None), default=1)
    most = 1 << (_EXACT_BITS - _LIMB_PRODUCT_BITS)
    step = max(1, min(most // max(heaviest, 1), _MOST_ROWS, _BLOCK_CELLS // layout.width + 1))
    cuts = [slice(start, start + step) for start in range(0, n_rows, step)]

    def products(rows: slice) -> list[NDArray[np.float64]]:
        check_stopped()
        limbs = layout.limbs(block(rows))
        found = []
        for digit in digits:
            weighted = limbs if digit is None else limbs * digit[rows, None]
            found.append(limbs.T @ weighted)
        return found

    totals: list[NDArray[Any]] = [
        np.zeros((layout.width, layout.width), dtype=np.int64) for _ in digits
    ]
    bound = 0
    with one_blas_thread():
        for parts in in_order(products, cuts, threads):
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
    largest = int(weights.max(initial=1))
    n_digits = max(1, -(-largest.bit_length() // _DIGIT_BITS))
    mask = (1 << _DIGIT_BITS) - 1
    return [((weights >> (_DIGIT_BITS * d)) & mask).astype(np.float64) for d in range(n_digits)]


def _weighted_sum(totals: Sequence[NDArray[Any]]) -> NDArray[Any]:
    if len(totals) == 1:
        return totals[0]
    whole = totals[0].astype(object)
    for d, total in enumerate(totals[1:], start=1):
        whole = whole + (total.astype(object) << (_DIGIT_BITS * d))
    return whole


class _Layout:
    """Where the limbs of columns stand: all lowest ones first."""

    def __init__(self, n_limbs: Sequence[int]) -> None:
        wanted = np.asarray(n_limbs, dtype=np.int64)
        self._n_columns = len(wanted)
        n_levels = int(wanted.max(initial=1))
        self._columns = [np.flatnonzero(wanted > k) for k in range(n_levels)]
        ends = np.cumsum([0, *(len(columns) for columns in self._columns)])
        self._places = [slice(a, b) for a, b in pairwise(ends.tolist())]
        self.width = int(ends[-1])

    def limbs(self, values: NDArray[np.int64]) -> NDArray[np.float64]:
        found = np.empty((len(values), self.width))
        left, columns = values, self._columns[0]
        for k, place in enumerate(self._places):
            if k:
                left = left[:, np.searchsorted(columns, self._columns[k])]
                columns = self._columns[k]
            if k == len(self._places) - 1:
                found[:, place] = left
                break
            low = ((left + _HALF) & ((1 << LIMB_BITS) - 1)) - _HALF
            found[:, place] = low
            left = (left - low) >> LIMB_BITS
        return found

    def gathered(self, total: NDArray[Any]) -> Iterator[NDArray[Any]]:
        """The sums by the power of 2 that they count for."""
        n = self._n_columns
        for power in range(2 * len(self._columns) - 1):
            part = np.zeros((n, n), dtype=total.dtype)
            for k, columns in enumerate(self._columns):
                m = power - k
                if 0 <= m < len(self._columns):
                    others = self._columns[m]
                    part[np.ix_(columns, others)] += total[self._places[k], self._places[m]]
            yield part
