"""Decimal numbers as they stand in a CSV field, in Python (number.c has the same)."""

from __future__ import annotations

import math
import re

_NUMBER = re.compile(rb" *[+-]?(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)? *")
_PADDED = re.compile(r" *[+-]?0[0-9]")


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


def is_padded(text: str) -> bool:
    """Whether a text begins, after its sign, with a zero and another digit, as codes do.

    Examples
    --------
    >>> [is_padded(text) for text in ("01234", " -00.5", "0.5", "0", "100", "1e-05")]
    [True, True, False, False, False, False]
    """
    return _PADDED.match(text) is not None


def plain_number_of(text: str, decimal: str) -> float | None:
    """Return the finite number that a text spells and that is no code such as 01234, or None.

    Examples
    --------
    >>> plain_number_of("1234", "."), plain_number_of("01234", ".")
    (1234.0, None)
    """
    return None if is_padded(text) else number_of(text, decimal)
