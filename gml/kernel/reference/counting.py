"""Contingency tables by numpy.bincount."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.kernel.layout import DENSE_CELLS, FamilyRule, FamilyWorths, RowGroups, TableStatistics
from gml.kernel.reference.families import family_ceiling
from gml.kernel.reference.statistics import statistics_of_strata
from gml.stopping import check_stopped


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
        index, weights = self._cells(members)
        if weights is None:
            return np.bincount(index, minlength=cells).astype(np.int64)
        table = np.zeros(cells, dtype=np.int64)
        np.add.at(table, index, weights)
        return table

    def count_many(self, sets: NDArray[np.int32]) -> NDArray[np.int64]:
        """Joint tables of many sets of as many columns each, end to end, each as by `count`."""
        none = np.empty(0, dtype=np.int64)
        return np.concatenate([none, *(self.count(members) for members in sets)])

    def _cells(
        self, members: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
        """Cell of each row complete in `members`, and its weight."""
        n = len(self.columns[0])
        index = np.zeros(n, dtype=np.int64)
        complete = np.ones(n, dtype=bool)
        for j in members:
            codes = self.columns[j]
            complete &= codes != np.iinfo(codes.dtype).max
            index = index * self.n_levels[j] + codes
        return index[complete], None if self.weights is None else self.weights[complete]

    def remember_pairs(self) -> None:
        """Nothing to gain here."""

    def pair_statistics(self, pairs: NDArray[np.int32]) -> TableStatistics:
        """Statistics of the pair tables, one row of TableStatistics each."""
        starts = 2 * np.arange(len(pairs) + 1, dtype=np.int64)
        return self._statistics(np.ascontiguousarray(pairs).reshape(-1), starts, limit=None)

    def set_statistics(
        self, members: NDArray[np.int32], starts: NDArray[np.int64]
    ) -> TableStatistics:
        """Statistics of tables (x, y | Z); members[starts[k]:starts[k+1]] = *Z, x, y.

        A set of over DENSE_CELLS cells in a stratum, or 2**63 in all, is left out: its n is -1.
        """
        return self._statistics(members, starts, limit=DENSE_CELLS)

    def family_values(
        self, members: NDArray[np.int32], starts: NDArray[np.int64], rule: FamilyRule
    ) -> NDArray[np.float64]:
        """One value per family members[starts[k]:starts[k+1]] = *parents, child; see FamilyRule.

        NaN for a child of over DENSE_CELLS levels, or a table of over 2**63 cells.
        """
        return self.family_ceilings(members, starts, rule, 0.0).values

    def family_ceilings(
        self,
        members: NDArray[np.int32],
        starts: NDArray[np.int64],
        rule: FamilyRule,
        cell_prior: float,
    ) -> FamilyWorths:
        """Values and ceilings, as if every cell were a stratum; see family_values."""
        worths = FamilyWorths(*np.full((2, len(starts) - 1), np.nan))
        for k in range(len(starts) - 1):
            check_stopped()
            family = members[starts[k] : starts[k + 1]]
            shape = [self.n_levels[j] for j in family]
            if shape[-1] > DENSE_CELLS or math.prod(shape) > 1 << 63:
                continue
            cells, counts = self._seen_cells(family)
            strata, of_cell = np.unique(cells // shape[-1], return_inverse=True)
            table = np.zeros((len(strata), shape[-1]), dtype=np.int64)
            table[of_cell.reshape(-1), cells % shape[-1]] = counts
            cells_in_all = math.prod(map(float, shape))
            worths.values[k], worths.ceilings[k] = family_ceiling(
                table, cells_in_all, rule, cell_prior
            )
        return worths

    def _statistics(
        self, members: NDArray[np.int32], starts: NDArray[np.int64], *, limit: int | None
    ) -> TableStatistics:
        parts = []
        for k in range(len(starts) - 1):
            check_stopped()
            members_k = members[starts[k] : starts[k + 1]]
            shape = [self.n_levels[j] for j in members_k]
            x_levels, y_levels = shape[-2:]
            if limit is not None and (x_levels * y_levels > limit or math.prod(shape) > 1 << 63):
                parts.append(TableStatistics.zeros(1))
                parts[-1].n[0] = -1
                continue
            cells, counts = self._seen_cells(members_k)
            strata = _strata(cells, counts, x_levels, y_levels)
            parts.append(statistics_of_strata(strata, x_levels, y_levels))
            levels_seen = np.unravel_index(cells, shape)[:-2]
            parts[-1].seen_z[0] = math.prod(float(len(np.unique(codes))) for codes in levels_seen)
        return TableStatistics.concatenate(parts)

    def _seen_cells(
        self, members: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Non-empty cells, ascending, and the number of rows in each."""
        index, weights = self._cells(members)
        cells, inverse = np.unique(index, return_inverse=True)
        counts = np.zeros(len(cells), dtype=np.int64)
        np.add.at(counts, inverse.reshape(-1), 1 if weights is None else weights)
        return cells[counts > 0], counts[counts > 0]


def _strata(
    cells: NDArray[np.int64], counts: NDArray[np.int64], x_levels: int, y_levels: int
) -> Iterator[NDArray[np.int64]]:
    """The table of each stratum that occurs."""
    of_stratum = cells // (x_levels * y_levels)
    strata, starts = np.unique(of_stratum, return_index=True)
    for stratum, start, end in zip(strata, starts, [*starts[1:], len(cells)], strict=False):
        table = np.zeros(x_levels * y_levels, dtype=np.int64)
        table[cells[start:end] - stratum * len(table)] = counts[start:end]
        yield table.reshape(x_levels, y_levels)


def recode(codes: NDArray[Any], new_codes: list[int]) -> None:
    """Replace code k by new_codes[k], in place; missing stays missing."""
    known = codes != np.iinfo(codes.dtype).max
    codes[known] = np.array(new_codes, dtype=codes.dtype)[codes[known]]


def exact_dot(
    x: NDArray[np.int64], y: NDArray[np.int64], weights: NDArray[np.int64] | None = None
) -> int:
    """Exact sum of x * y (* weights) as a Python integer."""
    products = x.astype(object) * y.astype(object)
    if weights is not None:
        products = products * weights.astype(object)
    return int(products.sum()) if len(products) else 0


def group_rows(rows: NDArray[np.uint8], limit: int) -> RowGroups | None:
    """The groups of equal rows, or None with more than `limit` of them."""
    if len(rows) == 0:
        return RowGroups(np.empty(0, np.int32), np.empty(0, np.int64))
    _, firsts, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    if len(firsts) > limit:
        return None
    by_appearance = np.argsort(firsts)
    rank = np.empty(len(firsts), dtype=np.int32)
    rank[by_appearance] = np.arange(len(firsts), dtype=np.int32)
    return RowGroups(rank[inverse.reshape(-1)], firsts[by_appearance].astype(np.int64))
