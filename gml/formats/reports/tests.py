"""What a report says about one independence test."""

from __future__ import annotations

import math
from typing import Any

from gml.independence.base import CIResult


def numbers_of(result: CIResult) -> dict[str, Any]:
    """Return the statistic, its degrees of freedom and its p-value."""
    return {
        "statistic": finite(result.statistic),
        "df": _whole(result.df),
        "p_value": result.p_value,
        "log10_p": log10(result.log_p),
    }


def log10(log_p: float | None) -> float | None:
    """The decimal logarithm of p; null where p is 0."""
    return None if log_p is None else finite(log_p / math.log(10) + 0.0)


def _whole(number: float | None) -> int | float | None:
    return int(number) if number is not None and number.is_integer() else number


def finite(number: float | None) -> float | None:
    """Return a number; null for what is infinite."""
    return number if number is not None and math.isfinite(number) else None
