"""The order of levels: numeric where every label is a number, by code point otherwise."""

from __future__ import annotations

import re
from collections.abc import Sequence

NA_LEVEL = "NA"
"""The level that missing values can be turned into."""

_NUMBER = re.compile(r"[+-]?(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def is_numeric(labels: Sequence[str], *, decimal: str = ".") -> bool:
    """Whether every label is a number, so that they are ordered as numbers."""
    return all(_NUMBER.fullmatch(_plain(label, decimal)) for label in labels)


def _plain(label: str, decimal: str) -> str:
    return label if decimal == "." else label.replace(decimal, ".")


def order_levels(labels: Sequence[str], *, decimal: str = ".") -> tuple[str, ...]:
    """Return the labels in level order.

    Examples
    --------
    >>> order_levels(["10", "9", "01", "1"])
    ('01', '1', '9', '10')
    >>> order_levels(["b", "10", "9"])
    ('10', '9', 'b')
    """
    if not is_numeric(labels, decimal=decimal):
        return tuple(sorted(labels))
    plain = {label: _plain(label, decimal) for label in labels}
    values = {label: float(text) for label, text in plain.items()}
    if len(set(values.values())) == len(values):
        return tuple(sorted(labels, key=lambda label: values[label]))
    # Equal as doubles may still differ as decimals.
    from decimal import Decimal, InvalidOperation

    try:
        return tuple(sorted(labels, key=lambda label: (Decimal(plain[label]), label)))
    except InvalidOperation:
        # Exponents of twenty digits: infinite or zero for every purpose.
        return tuple(sorted(labels, key=lambda label: (values[label], label)))
