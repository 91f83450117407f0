"""Columns of labels, several to a code, so that a pass over rows looks up fewer numbers."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Codes of a group of several columns: their tables stay in the fastest cache.
_MOST_CODES = 128
# Rows per code of a group that make up for its table.
_ROWS_PER_CODE = 8


class LabelGroups(NamedTuple):
    """Group g has the columns starts[g] to starts[g + 1] − 1, the last of them fastest."""

    codes: NDArray[Any]
    """Rows × groups."""
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    """How many codes each column has, that of what is missing among them if a row has it."""
    offsets: NDArray[np.int64]
    """Where the levels of each column begin in a table of all."""


def grouped(codes: NDArray[Any], offsets: NDArray[np.int64]) -> LabelGroups:
    """Put columns together, in order, as long as there are few codes for the rows.

    Examples
    --------
    >>> rows = np.array([[0, 1, 2], [1, 1, 0]] * 50, dtype=np.uint8)
    >>> found = grouped(rows, np.array([0, 3, 6]))
    >>> found.starts.tolist(), found.codes[:2].tolist()
    ([0, 3], [[5], [9]])
    """
    n_rows, n_columns = codes.shape
    sizes = codes.max(axis=0, initial=0).astype(np.int64) + 1
    most = min(_MOST_CODES, n_rows // _ROWS_PER_CODE)
    starts, product = [0], 1
    for j, size in enumerate(sizes.tolist()):
        product *= size
        if product > most and j > starts[-1]:
            starts.append(j)
            product = size
    starts.append(n_columns)
    found = np.zeros((n_rows, len(starts) - 1), dtype=codes.dtype)
    for group, (begin, end) in enumerate(pairwise(starts)):
        own = found[:, group]
        for j in range(begin, end):
            own *= codes.dtype.type(sizes[j])
            own += codes[:, j]
    return LabelGroups(found, np.array(starts, dtype=np.int64), sizes, offsets)
