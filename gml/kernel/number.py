"""Decimal numbers as they stand in a CSV field, in Python (number.c has the same)."""

from __future__ import annotations

import math
import re

_NUMBER = re.compile(rb" *[+-]?(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)? *")


def parse_number(field: bytes, decimal: str) -> float | None:
    """Return the finite number that a field spells, or None."""
    if decimal != ".":
        if b"." in field:
            return None
        field = field.replace(decimal.encode(), b".")
    if not _NUMBER.fullmatch(field):
        return None
    value = float(field)
    return value if math.isfinite(value) else None


def number_of(text: str, decimal: str) -> float | None:
    """Return the finite number that a text spells, or None.

    Examples
    --------
    >>> number_of(" 1,5e3", ","), number_of("1,5", "."), number_of("\\ud800", ".")
    (1500.0, None, None)
    """
    # Texts of frames and arguments may hold lone surrogates, which spell no number.
    return parse_number(text.encode("utf-8", "surrogatepass"), decimal)
