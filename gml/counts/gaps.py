"""Where values are missing: one bit per row of each column, to count complete rows by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset, missing_mask


class Gaps:
    """Counts the rows of a dataset that are complete in sets of columns.

    Examples
    --------
    >>> import gml
    >>> table = gml.read("sample_data/survey_missing.csv", missing="available")
    >>> Gaps(table).complete_rows([(0,), (0, 1)]).tolist()
    [952, 898]
    """

    def __init__(self, dataset: Dataset) -> None:
        self._n = dataset.n
        self._weights = dataset.weights
        self._lacking = [np.packbits(missing_mask(column)) for column in dataset.columns]

    def complete_rows(self, sets: Sequence[Sequence[int]]) -> NDArray[np.int64]:
        """Return how many rows, weighted, have a value in each column of a set."""
        return self._n - np.array([self._incomplete(columns) for columns in sets], dtype=np.int64)

    def _incomplete(self, columns: Sequence[int]) -> int:
        lacking = np.bitwise_or.reduce([self._lacking[j] for j in columns])
        if self._weights is None:
            return int(np.bitwise_count(lacking).sum())
        return int(self._weights[np.unpackbits(lacking, count=len(self._weights)) > 0].sum())
