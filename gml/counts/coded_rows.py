"""The rows of a dataset as the kernel counts them: as they stand, or the distinct ones.

Where many rows are equal, a large batch is counted over the distinct rows with their weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.data.dataset import Dataset
from gml.data.row_groups import group_sums, row_bytes
from gml.kernel.interface import CodedData

MASK_LEVELS = 32
"""The most levels of a column that has bit masks."""
_COMPRESS_SETS = 64
_COMPRESS_ROWS = 4096
_COMPRESS_SHARE = 8
_SAMPLE_ROWS = 2048
_SAMPLE_COLUMNS = 24
_GROUP_BLOCK = 1 << 16


def mask_bytes(n_levels: Sequence[int], n_rows: float, budget: int) -> int | None:
    """Return what bit masks of rows take; None where half of the budget does not hold them.

    Examples
    --------
    >>> mask_bytes([2, 2, 100], 8000, 1 << 20), mask_bytes([2, 2], 8000, 1000)
    (4000, None)
    """
    size = int(sum(levels for levels in n_levels if levels <= MASK_LEVELS) * n_rows) // 8
    return size if size < budget // 2 else None


class CodedRows:
    """Codes the rows of a dataset when they are first needed, and keeps them."""

    def __init__(self, dataset: Dataset, n_levels: Sequence[int], budget: int) -> None:
        self._dataset = dataset
        self._n_levels = n_levels
        self._budget = budget
        self._plain: CodedData | None = None
        self._distinct: CodedData | None = None
        self._compared = False
        self.pairs_remembered = False
        """Whether the tables of all pairs are kept."""

    @property
    def compressed(self) -> bool:
        """Whether batches are counted over the distinct rows."""
        return self._distinct is not None

    def for_batch(self, n_sets: int) -> CodedData:
        """Return the rows: the distinct ones if that pays for a batch of this many tables."""
        large = n_sets >= _COMPRESS_SETS and self._dataset.n_rows >= _COMPRESS_ROWS
        if large and not self._compared:
            self._distinct = self._compress()
            self._compared = True
        if self._distinct is not None:
            return self._distinct
        if self._plain is None:
            self._plain = self._coded(list(self._dataset.columns), self._dataset.weights)
        return self._plain

    def remember_pairs(self, data: CodedData) -> None:
        """Keep the tables of all pairs, if a quarter of the budget holds them."""
        if 4 * sum(self._n_levels) ** 2 <= self._budget // 4:
            data.remember_pairs()
            self.pairs_remembered = True

    def _coded(self, columns: list[NDArray[Any]], weights: NDArray[np.int64] | None) -> CodedData:
        columns = [
            np.empty(len(column), dtype=np.uint8) if column.dtype.kind == "f" else column
            for column in columns
        ]
        masks = mask_bytes(self._n_levels, self._dataset.n_rows, self._budget)
        mask_levels = MASK_LEVELS if masks is not None else 0
        return kernel.active().CodedData(
            [np.ascontiguousarray(column) for column in columns],
            list(self._n_levels),
            weights,
            mask_levels,
        )

    def _compress(self) -> CodedData | None:
        """Return the distinct rows with their weights, or None where most rows differ."""
        columns = [column for column in self._dataset.columns if column.dtype.kind != "f"]
        if len(columns) != len(self._dataset.columns):
            return None
        n = self._dataset.n_rows
        step = max(1, n // _SAMPLE_ROWS)
        group_rows = kernel.active().group_rows
        # Rows that differ in a few columns differ in all, which takes longer to find out.
        for some in sorted({min(_SAMPLE_COLUMNS, len(columns)), len(columns)}):
            sample = row_bytes([column[::step] for column in columns[:some]])
            if group_rows(sample, len(sample) // _COMPRESS_SHARE) is None:
                return None
        chosen: list[NDArray[np.int64]] = []
        counts: list[NDArray[np.int64]] = []
        weights = self._dataset.weights
        for start in range(0, n, _GROUP_BLOCK):
            stop = min(start + _GROUP_BLOCK, n)
            groups = group_rows(row_bytes([c[start:stop] for c in columns]), stop - start)
            assert groups is not None
            of_block = None if weights is None else weights[start:stop]
            chosen.append(groups.firsts + start)
            counts.append(group_sums(groups.of_row, len(groups.firsts), of_block))
        firsts, total = np.concatenate(chosen), np.concatenate(counts)
        groups = group_rows(row_bytes([c[firsts] for c in columns]), n // _COMPRESS_SHARE)
        if groups is None:
            return None
        merged = firsts[groups.firsts]
        sums = group_sums(groups.of_row, len(merged), total)
        return self._coded([c[merged] for c in columns], sums)
