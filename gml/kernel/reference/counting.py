"""Contingency tables by numpy.bincount."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.kernel.layout import DENSE_CELLS, TableStatistics
from gml.kernel.reference.statistics import table_statistics_of


class CodedData:
    """Coded columns; the same interface as the compiled class."""

    def __init__(
        self,
        columns: list[NDArray[Any]],
        n_levels: list[int],
        weights: NDArray[np.int64] | None,
        mask_levels: int,
    ) -> None:
        self.columns = columns
        self.n_levels = n_levels
        self.weights = weights
        self.n_columns = len(columns)

    def count(self, members: NDArray[np.int32]) -> NDArray[np.int64]:
        """Joint table of the columns `members`, flat, the last column fastest."""
        cells = math.prod(self.n_levels[j] for j in members)
        n = len(self.columns[0])
        index = np.zeros(n, dtype=np.int64)
        complete = np.ones(n, dtype=bool)
        for j in members:
            codes = self.columns[j]
            complete &= codes != np.iinfo(codes.dtype).max
            index = index * self.n_levels[j] + codes
        index = index[complete]
        if self.weights is None:
            return np.bincount(index, minlength=cells).astype(np.int64)
        table = np.zeros(cells, dtype=np.int64)
        np.add.at(table, index, self.weights[complete])
        return table

    def pair_statistics(self, pairs: NDArray[np.int32]) -> TableStatistics:
        """Statistics of the pair tables, one row of TableStatistics each."""
        starts = 2 * np.arange(len(pairs) + 1, dtype=np.int64)
        return self._statistics(np.ascontiguousarray(pairs).reshape(-1), starts, limit=None)

    def set_statistics(
        self, members: NDArray[np.int32], starts: NDArray[np.int64]
    ) -> TableStatistics:
        """Statistics of tables (x, y | Z); members[starts[k]:starts[k+1]] = *Z, x, y.

        A set whose dense table would have over DENSE_CELLS cells is left out: its n is -1.
        """
        return self._statistics(members, starts, limit=DENSE_CELLS)

    def _statistics(
        self, members: NDArray[np.int32], starts: NDArray[np.int64], *, limit: int | None
    ) -> TableStatistics:
        out = TableStatistics.zeros(len(starts) - 1)
        for k in range(len(starts) - 1):
            members_k = members[starts[k] : starts[k + 1]]
            shape = [self.n_levels[j] for j in members_k]
            if limit is not None and math.prod(shape) > limit:
                out.n[k] = -1
                continue
            table = self.count(members_k).reshape(shape)
            one = table_statistics_of(table.reshape(-1, *shape[-2:]))
            out.floats[k] = one.floats[0]
            out.ints[k] = one.ints[0]
            seen = 1.0
            for axis in range(len(shape) - 2):
                others = tuple(a for a in range(len(shape)) if a != axis)
                seen *= np.count_nonzero(table.sum(axis=others))
            out.seen_z[k] = seen
        return out


def recode(codes: NDArray[Any], new_codes: list[int]) -> None:
    """Replace code k by new_codes[k], in place; missing stays missing."""
    missing = np.iinfo(codes.dtype).max
    lookup = np.full(missing + 1, missing, dtype=codes.dtype)
    lookup[: len(new_codes)] = new_codes
    codes[:] = lookup[codes]


def exact_dot(
    x: NDArray[np.int64], y: NDArray[np.int64], weights: NDArray[np.int64] | None = None
) -> int:
    """Exact sum of x * y (* weights) as a Python integer."""
    products = x.astype(object) * y.astype(object)
    if weights is not None:
        products = products * weights.astype(object)
    return int(products.sum()) if len(products) else 0


def group_rows(
    rows: NDArray[np.uint8], limit: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]] | None:
    """(group of each row, first row of each group), or None with more than `limit` groups."""
    if len(rows) == 0:
        return np.empty(0, np.int32), np.empty(0, np.int64)
    _, firsts, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    if len(firsts) > limit:
        return None
    by_appearance = np.argsort(firsts)
    rank = np.empty(len(firsts), dtype=np.int32)
    rank[by_appearance] = np.arange(len(firsts), dtype=np.int32)
    return rank[inverse.reshape(-1)], firsts[by_appearance].astype(np.int64)
