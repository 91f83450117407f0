"""Probabilities of rows, family by family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.stopping import check_stopped


def row_log_probabilities(
    columns: Sequence[NDArray[Any]],
    n_levels: Sequence[int],
    members: Sequence[Sequence[int]],
    tables: Sequence[NDArray[np.float64]],
    first: int,
    last: int,
) -> NDArray[np.float64]:
    """Σ over families of a table's value for rows first..last-1; NaN where a code is unknown.

    `members` has the columns of each family, the child last; its table of logarithms has a value
    for each configuration, the child varying fastest.
    """
    total = np.zeros(last - first)
    for family, table in zip(members, tables, strict=True):
        check_stopped()
        cell = np.zeros(last - first, dtype=np.int64)
        unknown = np.zeros(last - first, dtype=bool)
        for j in family:
            codes = columns[j][first:last]
            cell = cell * n_levels[j] + codes
            unknown |= codes >= n_levels[j]
        total += np.where(unknown, np.nan, table[np.where(unknown, 0, cell)])
    return total
