"""Sums of doubles without rounding, in NumPy and integers of any size.

The header `float_sums.h` says what the words of a sum are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gml.kernel.layout import FLOAT_LIMBS, FLOAT_SUM_WORDS
from gml.kernel.reference.counting import exact_dot

_MANTISSA_BITS = 53
# The least double is 2 to the power of this, less.
_UNIT = 1074
_LOW = (1 << 32) - 1


def float_sums(
    columns: list[NDArray[np.float64]],
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    times: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Sums over rows of columns, or of products of two where the second is not below 0."""
    out = np.zeros((len(first), FLOAT_SUM_WORDS), dtype=np.int64)
    for words, i, j in zip(out, first.tolist(), second.tolist(), strict=True):
        with np.errstate(all="ignore"):
            values = columns[i] if j < 0 else columns[i] * columns[j]
        counts = np.ones(len(values), dtype=np.int64) if times is None else times
        specials = (values == np.inf, values == -np.inf, np.isnan(values))
        words[FLOAT_LIMBS:] = [int(counts[there].sum()) for there in specials]
        finite = np.isfinite(values)
        total = _total(values[finite], counts[finite])
        for k in range(FLOAT_LIMBS - 1):
            words[k] = total & _LOW
            total >>= 32
        words[FLOAT_LIMBS - 1] = total
    return out


def _total(values: NDArray[np.float64], counts: NDArray[np.int64]) -> int:
    """The sum of finite values, in units of the least double."""
    mantissas, exponents = np.frexp(values)
    whole = np.ldexp(mantissas, _MANTISSA_BITS).astype(np.int64)
    places = exponents - _MANTISSA_BITS + _UNIT
    # The mantissas of the least doubles end in zeros.
    whole >>= np.maximum(-places, 0)
    places = np.maximum(places, 0)
    order = np.argsort(places, kind="stable")
    total = 0
    for part in np.split(order, np.flatnonzero(np.diff(places[order])) + 1):
        if len(part):
            total += exact_dot(whole[part], counts[part]) << int(places[part[0]])
    return total
