"""An order of rows that depends on what they hold, not on where they stand.

Sums depend on the order of their terms in the last digits, and draws on that of what is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Places = NDArray[np.signedinteger[Any]]

_MIX = np.uint64(0x9E3779B97F4A7C15)


def order_of_rows(columns: Mapping[str, Vector]) -> Places:
    """An order of rows that depends on what they hold, not on where they stand.

    Examples
    --------
    >>> columns = {"a": np.array([3.0, 1.0, 2.0]), "b": np.array([0.0, 0.5, 0.0])}
    >>> turned = {name: column[::-1] for name, column in columns.items()}
    >>> one, other = order_of_rows(columns), order_of_rows(turned)
    >>> (columns["a"][one] == turned["a"][other]).all()
    np.True_
    """
    return order_by_content(columns, columns.__getitem__)


def order_by_content(names: Iterable[str], column_of: Callable[[str], Vector]) -> Places:
    """The same of columns that are asked for one by one, so that no two need be there at a time."""
    mixed: NDArray[np.uint64] | None = None
    for name in sorted(names):
        # One zero and one NaN.
        column = column_of(name) + 0.0
        column[np.isnan(column)] = np.nan
        if mixed is None:
            mixed = np.zeros(len(column), dtype=np.uint64)
        mixed ^= column.view(np.uint64)
        mixed *= _MIX
        mixed ^= mixed >> np.uint64(29)
        del column
    assert mixed is not None
    order: Places = np.argsort(mixed, kind="stable")
    return order.astype(np.int32) if len(order) < 1 << 31 else order
