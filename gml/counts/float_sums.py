"""Sums of floats without rounding: neither the order of rows nor their division into parts shows.

Each sum is an integer in units of the least double, held in limbs (the kernel's `float_sums`; Neal
2015, arXiv:1505.05571), and is rounded once, to the nearest double, when it is asked for. A product
is rounded to a double of its own before it is added. Infinities and NaN are counted beside the
limbs, and a sum with any is what adding them up would give.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.kernel.layout import FLOAT_LIMBS, FLOAT_SUM_WORDS

Vector = NDArray[np.float64]

_LIMB_BITS = 32
_LOW = (1 << _LIMB_BITS) - 1
# One in units of the least double.
_LEAST = 1 << 1074


@dataclass(frozen=True)
class FloatSums:
    """Several sums, which can be added to those of other rows and pickled.

    Examples
    --------
    >>> some, others = np.array([1e100, 0.1]), np.array([1.0, -1e100])
    >>> FloatSums.of([some]).plus(FloatSums.of([others])).rounded().tolist()
    [1.1]
    """

    words: NDArray[np.int64]
    """A row per sum: its limbs, then how many terms are ∞, −∞ and NaN."""

    @classmethod
    def none(cls, n_sums: int) -> FloatSums:
        """So many sums over no rows."""
        return cls(np.zeros((n_sums, FLOAT_SUM_WORDS), dtype=np.int64))

    @classmethod
    def of(cls, columns: Sequence[Vector], times: NDArray[np.int64] | None = None) -> FloatSums:
        """Add up columns; each row counts `times` times, or once."""
        return cls._over(columns, [(k, -1) for k in range(len(columns))], times)

    @classmethod
    def of_products(
        cls,
        columns: Sequence[Vector],
        pairs: Sequence[tuple[int, int]],
        times: NDArray[np.int64] | None = None,
    ) -> FloatSums:
        """Add up the products of pairs of columns, by their positions.

        Examples
        --------
        >>> x, y = np.array([1.0, 2.0]), np.array([3.0, 0.5])
        >>> FloatSums.of_products([x, y], [(0, 0), (0, 1)], np.array([1, 10])).rounded().tolist()
        [41.0, 13.0]
        """
        return cls._over(columns, pairs, times)

    @classmethod
    def _over(
        cls,
        columns: Sequence[Vector],
        pairs: Sequence[tuple[int, int]],
        times: NDArray[np.int64] | None,
    ) -> FloatSums:
        whole = [np.ascontiguousarray(column, dtype=np.float64) for column in columns]
        places = np.array(pairs, dtype=np.int32).reshape(-1, 2).T.copy()
        if times is not None:
            times = np.ascontiguousarray(times, dtype=np.int64)
        return cls(kernel.active().float_sums(whole, places[0], places[1], times))

    def plus(self, other: FloatSums) -> FloatSums:
        """The sums over the rows of both."""
        return FloatSums(self.words + other.words)

    def rounded(self) -> Vector:
        """Each sum, rounded to the nearest double."""
        return np.array([_rounded(words) for words in self.words], dtype=np.float64)


def _rounded(words: NDArray[np.int64]) -> float:
    above, below, undefined = words[FLOAT_LIMBS:].tolist()
    if undefined or (above and below):
        return math.nan
    if above or below:
        return math.inf if above else -math.inf
    limbs = words[:FLOAT_LIMBS]
    # Limbs of sums that were added up reach into the next ones.
    total = _whole(limbs & _LOW) + (_whole(limbs >> _LIMB_BITS) << _LIMB_BITS)
    try:
        return total / _LEAST
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def _whole(limbs: NDArray[np.int64]) -> int:
    """The integer with these limbs, all but the last below 2^32 and not below 0."""
    low = int.from_bytes(limbs[:-1].astype("<u4").tobytes(), "little")
    return low + (int(limbs[-1]) << _LIMB_BITS * (len(limbs) - 1))
