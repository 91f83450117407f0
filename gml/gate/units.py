"""Numbers that were written in another unit: all quantiles moved by one factor, or as degrees do.

This is wording, not a test: a check fails for its own reasons, and its message gets the hint. What
counts is five quantiles, from 5 % to 95 %. A scale of degrees is named if it takes each of them to
within a tenth of their spread; the first of the list wins. Otherwise the factor is the median of
the ratios of quantiles that are not near 0 (the larger of two in the middle); it is named if it is
at least 1.25 or at most 0.8, and takes all quantiles close to where they are now.
"""

from __future__ import annotations

import math

from gml.data.number_summary import NumberSummary

# Extreme quantiles of few rows say little.
_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
# How far ln quantiles may be from where the factor takes them, or as a share of how far it does,
# since those of few rows vary; and how far it must be from 1.
_CLOSE = 0.15
_LEAST_FACTOR = 1.25
# Slope, shift, and between which old numbers: no column of prices is one of degrees.
_SCALES = (
    (1.8, 32.0, (-100, 150), "°C to °F"),
    (1 / 1.8, -32 / 1.8, (-150, 300), "°F to °C"),
    (1.0, 273.15, (-100, 150), "°C to K"),
    (1.0, -273.15, (150, 450), "K to °C"),
)
_OF_SPREAD = 0.1
_OF_SHIFT = 0.1
# Two quantiles are enough where they moved by this factor.
_GREAT_FACTOR = 2.0


def unit_change(old: NumberSummary, new: NumberSummary) -> str:
    """Say that the numbers may be in another unit, for the end of a message; empty if not so.

    Examples
    --------
    >>> levels = (0.05, 0.25, 0.5, 0.75, 0.95)
    >>> feet = NumberSummary(9, 0.5, 23.0, dict(zip(levels, (1.0, 2.0, 5.0, 9.0, 20.0))))
    >>> inches = NumberSummary(9, 6.0, 276.0, dict(zip(levels, (12.0, 24.0, 61.0, 108.0, 238.0))))
    >>> unit_change(feet, inches)
    '; 0.5–23 → 6–276, about 12 times: another unit?'
    """
    pairs = [
        (old.quantiles[level], new.quantiles[level])
        for level in _LEVELS
        if level in old.quantiles and level in new.quantiles
    ]
    if len(pairs) < 3 or pairs[0] == pairs[-1]:
        return ""
    moved = f"; {span(old.smallest, old.largest)} → {span(new.smallest, new.largest)}"
    for slope, shift, (lowest, highest), name in _SCALES:
        spread = slope * (pairs[-1][0] - pairs[0][0])
        close = min(_OF_SPREAD * spread, _OF_SHIFT * abs(shift))
        if (
            lowest <= old.smallest
            and old.largest <= highest
            and all(abs(after - (slope * before + shift)) <= close for before, after in pairs)
        ):
            return f"{moved}, as from {name}"
    factor = _factor(pairs)
    return "" if factor is None else f"{moved}, about {_rounded(factor)} times: another unit?"


def _factor(pairs: list[tuple[float, float]]) -> float | None:
    """The factor between all pairs of quantiles that are not near 0, if there is one.

    Numbers of which most are 0, as those of rain, have few such quantiles.
    """
    largest = max(abs(before) for before, _ in pairs)
    ratios = [after / before for before, after in pairs if abs(before) > _OF_SPREAD * largest]
    if len(ratios) < 2 or min(ratios) <= 0:
        return None
    middle = sorted(ratios)[len(ratios) // 2]
    if len(ratios) == 2 and abs(math.log(middle)) < math.log(_GREAT_FACTOR):
        return None
    close = _CLOSE * max(1.0, abs(math.log(middle)))
    near = all(abs(math.log(ratio / middle)) <= close for ratio in ratios)
    small = all(abs(after - middle * before) <= close * middle * largest for before, after in pairs)
    changed = abs(math.log(middle)) >= math.log(_LEAST_FACTOR)
    return middle if near and small and changed else None


def _rounded(factor: float) -> str:
    """Two digits are all that quantiles can tell.

    Examples
    --------
    >>> [_rounded(factor) for factor in (12.13, 0.4536, 1004.2, 2.54)]
    ['12', '0.45', '1000', '2.5']
    """
    digits = 1 - math.floor(math.log10(factor))
    return f"{round(factor, digits):.{max(0, digits)}f}"


def span(smallest: float, largest: float) -> str:
    """Write a range.

    Examples
    --------
    >>> span(0.5, 23.0), span(-1.0, 1.0)
    ('0.5–23', '-1 to 1')
    """
    between = "–" if smallest >= 0 else " to "
    return f"{smallest:g}{between}{largest:g}"
