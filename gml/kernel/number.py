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
