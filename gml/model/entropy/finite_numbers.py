"""Numbers of constraints, whoever gives them: files, or Python with integers of any length."""

from __future__ import annotations

import math
from numbers import Real

from gml.errors import DataError

_LONGEST_SHOWN = 60


def require_number(value: object, what: str) -> float:
    """Return a number as a double; refuse what is none, or not finite as a double.

    Examples
    --------
    >>> require_number(2, "the mean")
    2.0
    >>> require_number(10**400, "the mean")
    Traceback (most recent call last):
    gml.errors.DataError: the mean must be a number of at most 1.8e308, not one beyond
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        shown = repr(value)
        cut = shown if len(shown) <= _LONGEST_SHOWN else shown[: _LONGEST_SHOWN - 3] + "..."
        bare = (
            "; write it without quotes and %"
            if isinstance(value, str) and value.rstrip().endswith("%")
            else ""
        )
        raise DataError(f"{what} must be a number, not {cut}{bare}")
    try:
        found = float(value)
    except OverflowError:
        # Python may not write such a number either.
        raise DataError(f"{what} must be a number of at most 1.8e308, not one beyond") from None
    if not math.isfinite(found):
        raise DataError(f"{what} must be a number, not {value!r}")
    return found
