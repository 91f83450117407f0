"""Sums of floats without rounding, so that it does not matter how they are added up."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# Splits a float into two halves, and a count into two parts, whose products are exact.
_HALVES = float((1 << 27) + 1)
_PART = 1 << 26


def exact_parts(values: Sequence[float]) -> list[float]:
    """Return a few numbers whose exact sum is that of the values.

    Examples
    --------
    >>> exact_parts([1e100, 1.0, 0.5, -1e100]), exact_parts([0.1, 0.2])
    ([1.5], [0.30000000000000004, -2.7755575615628914e-17])
    """
    parts: list[float] = []
    while rest := math.fsum([*values, *(-part for part in parts)]):
        parts.append(rest)
    return parts


def exact_products(values: NDArray[np.float64], times: NDArray[np.int64] | None) -> list[float]:
    """Numbers whose exact sum is that of the values, each so many times."""
    if times is None:
        return list(values.tolist())
    far = _HALVES * values
    high = far - (far - values)
    found: list[float] = []
    for half in (high, values - high):
        for part, unit in ((times % _PART, 1), (times // _PART, _PART)):
            if part.any():
                found += (half * part * unit).tolist()
    return found
