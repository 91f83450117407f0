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
_HALF = 1 << (_LIMB_BITS - 1)
# The least double is 2 to the power of minus this.
_LEAST_POWER = 1074


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

    def rounded(self, times: int = 1) -> Vector:
        """Each sum, or a part of it where all rows came several times, as the nearest double."""
        limbs = self.words[:, :FLOAT_LIMBS].copy()
        # Limbs of sums that were added up reach into the next ones, and those of sums below 0 are
        # full up to the last: with a sign each, few differ from 0.
        beyond = (limbs[:, :-1] + _HALF) >> _LIMB_BITS
        limbs[:, :-1] -= beyond << _LIMB_BITS
        limbs[:, 1:] += beyond
        used = np.flatnonzero(limbs.any(axis=0))
        first, last = (int(used[0]), int(used[-1]) + 1) if len(used) else (0, 0)
        # The unit of what is left of a sum is 2 to the power of this.
        power = _LIMB_BITS * first - _LEAST_POWER
        rows = limbs[:, first:last][:, ::-1].tolist()
        found = [_rounded(row, power, times) for row in rows]
        for k in np.flatnonzero(self.words[:, FLOAT_LIMBS:].any(axis=1)).tolist():
            found[k] = _without_value(*self.words[k, FLOAT_LIMBS:].tolist())
        return np.array(found, dtype=np.float64)


def _rounded(limbs: Sequence[int], power: int, times: int) -> float:
    """The sum that limbs, the highest first, are in units of a power of 2."""
    total = 0
    for limb in limbs:
        total = (total << _LIMB_BITS) + limb
    try:
        return (total << power) / times if power > 0 else total / (times << -power)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def _without_value(above: int, below: int, undefined: int) -> float:
    """A sum with terms that are ∞, −∞ and NaN."""
    if undefined or (above and below):
        return math.nan
    return math.inf if above else -math.inf
