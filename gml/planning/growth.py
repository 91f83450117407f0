"""From pilots on few rows to a run on many: how much more is asked, as a range.

A learner that sees more rows finds more edges, and then asks more. Between pilots, what is asked
grows as a power of the rows; that power is carried on, but less than all the way, since growth ends
once the true edges are found. The range around it widens with the distance: its width was chosen
on networks of `benchmarks/plan.py`, and is tried on others there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

_CARRIED_ON = 0.6
_LEAST_POWER, _MOST_POWER = -0.1, 0.5
_NEAR, _PER_DOUBLING = 1.35, 1.09
UNEVEN = 1.6
"""The width of what comes in leaps, as passes do, of which there are few."""


class Range(NamedTuple):
    """A number that lies between two, most likely near a third."""

    low: float
    likely: float
    high: float

    @classmethod
    def exactly(cls, number: float) -> Range:
        """A number that is certain."""
        return cls(number, number, number)

    def __add__(self, other: Range) -> Range:  # type: ignore[override]
        return Range(*(a + b for a, b in zip(self, other, strict=True)))

    def times(self, factor: float) -> Range:
        """As many times this."""
        return Range(*(factor * number for number in self))


def carried_on(
    rows: Sequence[int], found: Sequence[float], n: float, *, near: float = _NEAR
) -> Range:
    """Return what a quantity that pilots of so many rows found will be with n rows.

    `near` is how wide the range is each way for somewhat more rows.

    Examples
    --------
    >>> carried_on([1000, 4000], [100.0, 100.0], 4000)
    Range(low=100.0, likely=100.0, high=100.0)
    >>> [round(number) for number in carried_on([1000, 4000], [100.0, 120.0], 64_000)]
    [78, 149, 285]
    """
    last, ratio = found[-1], max(1.0, n / max(1, rows[-1]))
    if ratio == 1.0:
        return Range.exactly(last)
    power = 0.0
    if len(found) > 1 and min(found[-2:]) > 0 and rows[-1] > rows[-2]:
        power = math.log(found[-1] / found[-2]) / math.log(rows[-1] / rows[-2])
    power = _CARRIED_ON * min(max(power, _LEAST_POWER), _MOST_POWER)
    likely = last * ratio**power
    width = near * _PER_DOUBLING ** math.log2(ratio)
    return Range(likely / width, likely, likely * width)


def straight_on(rows: Sequence[int], found: Sequence[float], n: float) -> float:
    """Return what a quantity that has a fixed part and one per row will be with n rows.

    Examples
    --------
    >>> straight_on([1000, 4000], [1.0, 2.5], 10_000)
    5.5
    """
    if len(found) < 2 or rows[-1] <= rows[0]:
        return found[-1] * max(1.0, n / max(1, rows[-1]))
    # The first and the last are farthest apart, so that noise matters least.
    per_row = max(0.0, (found[-1] - found[0]) / (rows[-1] - rows[0]))
    return found[-1] + per_row * max(0.0, n - rows[-1])
