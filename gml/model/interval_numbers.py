"""Numbers that stand for intervals, by what a model keeps of the numbers that were cut.

A summary (`gml.data.number_summary`) counts the numbers between nine of them. Within each cell they
are taken to be spread evenly over the half-open stretch from one kept number to the next, on the
grid of as many decimals as the kept numbers have: whole numbers stay whole. The share u of an
interval is the number of which a share u of the numbers in the interval lies below: its median has
u = ½, and a draw a u from the uniform distribution. An interval without numbers has none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from gml.data.discretize import cuts_of_levels, interval_levels
from gml.data.number_summary import NumberSummary

# Numbers with more decimals than this are taken to lie on no grid.
_MOST_DECIMALS = 6


class IntervalNumbers:
    """Levels that are intervals, and the numbers within them.

    Examples
    --------
    >>> from gml.data.number_summary import NumberValues
    >>> kept = NumberValues.of(np.arange(1.0, 101.0)).summary()
    >>> ages = IntervalNumbers(["[-inf,26)", "[26,76)", "[76,inf)"], kept)
    >>> ages.at(np.array([0, 1, 2]), np.array([0.5, 0.5, 0.999])).tolist()
    [13.0, 51.0, 100.0]
    """

    def __init__(self, levels: Sequence[str], kept: NumberSummary) -> None:
        cuts = cuts_of_levels(levels)
        assert cuts is not None
        self._decimals = _decimals(kept)
        self._knots, self._below = _distribution(kept, self._step)
        edges = [-math.inf, *cuts, math.inf]
        place = {name: k for k, name in enumerate(interval_levels(cuts))}
        self._ends: list[tuple[float, float] | None] = [
            (edges[place[level]], edges[place[level] + 1]) if level in place else None
            for level in levels
        ]

    @property
    def _step(self) -> float:
        return 0.0 if self._decimals is None else 10.0**-self._decimals

    def at(self, codes: NDArray[np.int64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """The number at a share of each interval; NaN where no number is known."""
        found = np.full(len(codes), np.nan)
        for code in np.unique(codes).tolist():
            ends = self._ends[code]
            if ends is not None:
                rows = codes == code
                found[rows] = self._within(ends[0], ends[1], shares[rows])
        return found

    def _within(self, low: float, high: float, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        first, last = np.interp([low, high], self._knots, self._below)
        if not last > first:
            return np.full(len(shares), np.nan)
        numbers = np.interp(first + shares * (last - first), self._below, self._knots)
        low, high = max(low, float(self._knots[0])), min(high, float(self._knots[-1]))
        # Rounding must not leave the interval, nor reach its upper end.
        numbers = np.clip(numbers, low, np.nextafter(high, -math.inf))
        if self._decimals is None:
            return numbers
        # A number that was meant to lie on the grid may be a rounding error below it.
        ticks = np.floor(numbers / self._step + 1e-9)
        ticks = np.maximum(ticks, math.ceil(low / self._step - 1e-9))
        on_grid = np.round(ticks * self._step, self._decimals)
        inside = (low <= on_grid) & (on_grid < high)
        kept: NDArray[np.float64] = np.where(inside, on_grid, numbers)
        return kept


def _decimals(kept: NumberSummary) -> int | None:
    """How many decimals the kept numbers have; None if they lie on no grid."""
    numbers = [kept.smallest, *kept.quantiles.values(), kept.largest]
    exponents = [Decimal(repr(number)).normalize().as_tuple().exponent for number in numbers]
    most = max(0, *(-int(exponent) for exponent in exponents))
    return most if most <= _MOST_DECIMALS else None


def _distribution(
    kept: NumberSummary, step: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Numbers that increase, and how many values (or which share of them) lie below each."""
    end = max(kept.largest + step, float(np.nextafter(kept.largest, math.inf)))
    knots = np.array([kept.smallest, *kept.quantiles.values(), end])
    if kept.counts is None:
        below = np.array([0.0, *kept.quantiles, 1.0])
    else:
        below = np.concatenate([[0.0], np.cumsum(kept.counts, dtype=np.float64)])
    # The values of equal quantiles lie from there on: as many are below as are below the first.
    different, first = np.unique(knots, return_index=True)
    return different, below[first]
