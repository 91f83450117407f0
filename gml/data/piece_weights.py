"""Weights of rows that are read in pieces: checked, added up exactly, and made whole.

The sum is the same in whatever order pieces come, so that weights that are fractions become the
same whole numbers of a unit as if they were read at once (`gml.data.dataset`).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from gml.data.options import ReadOptions
from gml.data.problems import GIVE_WEIGHTS, weights_must_be
from gml.errors import DataError, quote

# Numbers with 2^26 in each half of their digits add up exactly in 64 bits for 2^36 rows.
_HALF_BITS = 26
_DIGITS = 53


def exact_sum(numbers: NDArray[np.float64]) -> Fraction:
    """The sum of finite numbers, exactly.

    Examples
    --------
    >>> exact_sum(np.array([1e16, 1.0, -1e16])), float(exact_sum(np.full(10, 0.1)))
    (Fraction(1, 1), 1.0)
    """
    mantissas, exponents = np.frexp(numbers)
    digits = np.ldexp(mantissas, _DIGITS).astype(np.int64)
    total = Fraction(0)
    for exponent in np.unique(exponents).tolist():
        some = digits[exponents == exponent]
        high, low = some >> _HALF_BITS, some & ((1 << _HALF_BITS) - 1)
        whole = (int(high.sum()) << _HALF_BITS) + int(low.sum())
        total += whole * Fraction(2) ** (exponent - _DIGITS)
    return total


def sum_of_weights(numbers: NDArray[np.float64], options: ReadOptions, where: str) -> Fraction:
    """Check the weights of a piece, and add them up."""
    gaps = np.isnan(numbers)
    column = f"{where}: column {quote(options.weights_column)}"
    if gaps.any() and options.missing != "drop":
        raise DataError(f"{column}: the weight is missing; {GIVE_WEIGHTS}")
    known = numbers[~gaps]
    if options.weights is not None:
        bad = ~((known >= 0) & (known == np.floor(known)) & (known < 2.0**53))
    else:
        bad = ~((known >= 0) & np.isfinite(known))
    if bad.any():
        number = float(known[np.argmax(bad)])
        if options.weights is not None:
            raise DataError(f"{column}: {number:g}, but {weights_must_be(number)}")
        wrong = "be finite" if number > 0 else "not be negative"
        raise DataError(f"{column}: weights must {wrong}, and one is {number:g}")
    return exact_sum(known)


def bits_of_weights(total: Fraction, options: ReadOptions, where: str) -> int:
    """How many bits weights of this sum are shifted by to become whole."""
    if options.weights_column is None:
        return 0
    if options.weights is not None:
        if total >= 2**53:
            raise DataError(
                f"{where}: the weights add up to 2^53 or more, which float64 cannot count exactly"
            )
        return 0
    try:
        rounded = float(total)
    except OverflowError:
        rounded = math.inf
    if not math.isfinite(rounded) or 0 < rounded < 1e-290:
        raise DataError(f"{where}: the weights add up to {rounded:g}")
    return 61 - math.frexp(rounded)[1] if rounded else 0


def whole_weights(numbers: NDArray[np.float64], bits: int) -> NDArray[np.int64]:
    """Weights in units; those that are missing are 0."""
    known = np.where(np.isnan(numbers), 0.0, numbers)
    return np.rint(np.ldexp(known, bits)).astype(np.int64)
