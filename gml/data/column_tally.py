"""What occurs in a column whose cells pass by in pieces, for all that is decided at their end."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.block_file import BlockFile, Stored
from gml.data.column_coding import NumberCounts
from gml.data.dataset import has_missing, missing_mask
from gml.data.row_groups import group_sums
from gml.errors import quote
from gml.kernel.layout import NUMBERS, OVERFLOW, CsvColumn
from gml.resources import require_memory

# Values and counts, those that are merged with them, and their order.
_BYTES_PER_NUMBER = 64


class ColumnTally:
    """The labels of a column, how often each occurs, and its different numbers.

    Codes and numbers are counted only where somebody will ask (`counts_cells`): which levels weigh
    something, where numbers are cut.
    """

    def __init__(self, name: str, *, counts_cells: bool) -> None:
        self.name = name
        self.counts_cells = counts_cells
        self.kind = NUMBERS
        self.labels: list[str] = []
        self._occurs = np.zeros(0, dtype=bool)
        self._kept = np.zeros(0, dtype=bool)
        self._times = np.zeros(0, dtype=np.int64)
        self._numbers: list[NumberCounts] = []
        self.lacking_rows = self.lacking = 0
        """Rows that lack a value, those of weight 0 aside: as they stand, and weighted."""
        self.has_gaps = False
        """Whether a row that counts lacks a value, after missing ones were treated."""
        self.low, self.high = np.inf, -np.inf

    def see(
        self,
        column: CsvColumn,
        weights: NDArray[np.int64] | None,
        kept: NDArray[np.bool_] | None,
    ) -> NDArray[np.bool_] | None:
        """Take note of a piece; returns which of the rows kept lack a value, None if none does."""
        self.kind, self.labels = column.kind, column.labels
        cells = column.cells
        if column.kind == OVERFLOW or cells is None:
            return None
        if self.counts_cells:
            if cells.dtype.kind == "f":
                self._see_numbers(cells, weights)
            else:
                self._see_codes(cells, weights, kept)
        if kept is not None:
            cells = cells[kept]
            weights = None if weights is None else weights[kept]
        if not has_missing(cells):
            return None
        gaps = missing_mask(cells)
        rows = int(np.count_nonzero(gaps))
        self.lacking_rows += rows
        self.lacking += rows if weights is None else int(weights[gaps].sum())
        return gaps

    def see_treated(self, cells: NDArray[Any], weights: NDArray[np.int64] | None) -> None:
        """Take note of cells that will be counted."""
        counting = cells if weights is None else cells[weights > 0]
        self.has_gaps = self.has_gaps or has_missing(counting)
        if cells.dtype.kind == "f" and len(cells):
            self.low = min(self.low, float(np.fmin.reduce(cells)))
            self.high = max(self.high, float(np.fmax.reduce(cells)))

    def _see_codes(
        self,
        cells: NDArray[Any],
        weights: NDArray[np.int64] | None,
        kept: NDArray[np.bool_] | None,
    ) -> None:
        size, known = len(self.labels), len(self._times)
        if size > known:
            self._occurs = np.append(self._occurs, np.zeros(size - known, dtype=bool))
            self._kept = np.append(self._kept, np.zeros(size - known, dtype=bool))
            self._times = np.append(self._times, np.zeros(size - known, dtype=np.int64))
        # The code that means missing comes last.
        room = max(size, int(cells.max(initial=0)) + 1)
        rows = np.bincount(cells, minlength=room)[:size]
        self._occurs |= rows > 0
        self._times += rows if weights is None else group_sums(cells, room, weights)[:size]
        there = rows if kept is None else np.bincount(cells[kept], minlength=room)[:size]
        self._kept |= there > 0

    def _see_numbers(self, cells: NDArray[Any], weights: NDArray[np.int64] | None) -> None:
        present = ~np.isnan(cells)
        values, inverse = np.unique(cells[present], return_inverse=True)
        times = None if weights is None else weights[present]
        found = NumberCounts(values, group_sums(inverse.reshape(-1), len(values), times))
        merged = self._numbers[0] if self._numbers else None
        self._numbers.append(found)
        waiting = sum(len(part.values) for part in self._numbers[1:])
        if merged is not None and waiting >= len(merged.values):
            self._merge()

    def _merge(self) -> None:
        size = sum(len(part.values) for part in self._numbers)
        require_memory(
            _BYTES_PER_NUMBER * size, None, f"the different numbers of column {quote(self.name)}"
        )
        self._numbers = [merged_numbers(self._numbers)]

    # ------------------------------------------------------------------ files that are kept

    def state(self, file: BlockFile) -> dict[str, Any]:
        """Write what was counted to a file, and return what is known as JSON takes it."""
        numbers = merged_numbers(self._numbers) if self._numbers else None
        arrays = [self._occurs, self._kept, self._times, *(numbers or ())]
        return {
            "kind": self.kind,
            "labels": list(self.labels),
            "lacking": [self.lacking_rows, self.lacking, self.has_gaps],
            "range": [repr(self.low), repr(self.high)],
            "arrays": [(len(array), file.write(array)) for array in arrays],
        }

    def restore(self, state: dict[str, Any], file: BlockFile) -> None:
        """Take what another run has counted."""
        self.kind, self.labels = state["kind"], state["labels"]
        self.lacking_rows, self.lacking, self.has_gaps = state["lacking"]
        self.low, self.high = map(float, state["range"])
        arrays = [file.read(Stored(*stored), size) for size, stored in state["arrays"]]
        self._occurs, self._kept, self._times = arrays[:3]
        self._numbers = [NumberCounts(*arrays[3:])] if len(arrays) > 3 else []

    # ------------------------------------------------------------------ what is asked in the end

    def occurs(self) -> NDArray[np.bool_]:
        """Which labels some row has."""
        return self._occurs

    def kept(self) -> NDArray[np.bool_]:
        """Which labels a row has that does not weigh 0."""
        return self._kept

    def times(self) -> NDArray[np.int64]:
        """How often each label counts."""
        return self._times

    def numbers(self, decimal: str) -> NumberCounts:
        """The numbers, and those that labels spelt before there were too many of them."""
        size = len(self._times)
        spelt = NumberCounts.of_labels(self.labels[:size], self._occurs, self._times, decimal)
        return merged_numbers([spelt, *self._numbers])

    def first_wrong(
        self, wrong: NDArray[np.bool_], edges: NDArray[np.float64]
    ) -> tuple[int | None, str]:
        """The text of a cell whose label, or whose place between the edges, is wrong."""
        if self.kind != NUMBERS:
            return None, self.labels[int(np.argmax(wrong & self._occurs))]
        values = self.numbers(".").values
        places = np.searchsorted(edges, values, side="right")
        return None, repr(float(values[int(np.argmax(wrong[places]))]))


def merged_numbers(parts: list[NumberCounts]) -> NumberCounts:
    """Add up how often numbers occur.

    Examples
    --------
    >>> one = NumberCounts(np.array([1.0, 3.0]), np.array([2, 1]))
    >>> merged_numbers([one, one]).counts.tolist()
    [4, 2]
    """
    if len(parts) == 1:
        return parts[0]
    values, inverse = np.unique(
        np.concatenate([part.values for part in parts]), return_inverse=True
    )
    counts = np.zeros(len(values), dtype=np.int64)
    np.add.at(counts, inverse.reshape(-1), np.concatenate([part.counts for part in parts]))
    return NumberCounts(values, counts)
