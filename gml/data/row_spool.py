"""The rows of a table in a file, as they were read, and what their codes mean in the end.

Pieces of a table come one after the other, with labels coded in order of appearance. What can be
decided row by row is decided at once: rows of weight 0 and, where asked for, rows with missing
values are left out. What takes all rows is decided when they are over: the order of levels, where
numbers are cut, whether something is refused (`settled`). Cells are recoded when a block is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.block_file import BlockFile, Stored
from gml.data.coding import without_weight
from gml.data.column_tally import ColumnTally
from gml.data.dataset import integer_weights
from gml.data.options import ReadOptions
from gml.kernel.layout import NUMBERS, OVERFLOW, CsvColumn, CsvResult
from gml.stopping import check_stopped

_COUNTERS = (
    *("rows_read", "rows_weighed", "lines", "n_before", "n", "n_rows", "n_dropped", "unweighed"),
)
LEAST_ROWS, MOST_ROWS = 1 << 12, 1 << 20


class Block(NamedTuple):
    """Rows of the file: the cells of each column, and the weights."""

    n_rows: int
    columns: tuple[Stored, ...]
    weights: Stored | None


class RowSpool:
    """Takes in the pieces of a table, and keeps what `settled` decides by."""

    def __init__(
        self,
        names: Sequence[str],
        chosen: Sequence[int],
        options: ReadOptions,
        where: str,
        file: BlockFile,
        *,
        block_bytes: int,
    ) -> None:
        """Expect pieces of a table with these columns, of which some are in use."""
        self.names = [names[j] for j in chosen]
        self._chosen = chosen
        column = options.weights_column
        self._weights_at = None if column is None else names.index(column)
        self.is_weighted = column is not None
        self.options = options
        self.where = where
        self.file = file
        """Where the rows go, or are already."""
        self._block_bytes = block_bytes
        self.tallies = [
            ColumnTally(name, counts_cells=counts_cells(name, options)) for name in self.names
        ]
        self.blocks: list[Block] = []
        self.dropped: list[Block] = []
        """Rows that were left out for missing values, if numbers are cut."""
        self.rows_read = self.rows_weighed = self.lines = 0
        self.n_before = self.n = self.n_rows = self.n_dropped = 0
        """Weighted rows before rows with missing values were dropped, and after; rows after."""
        self.unweighed = 0
        """Rows that were dropped as they have no weight."""
        self._hopeless = False

    @property
    def counters(self) -> dict[str, int]:
        """How many rows there are, of which kinds."""
        return {name: getattr(self, name) for name in _COUNTERS}

    @counters.setter
    def counters(self, found: dict[str, int]) -> None:
        for name in _COUNTERS:
            setattr(self, name, found[name])

    def append(self, piece: CsvResult) -> None:
        """Take in the rows of a piece."""
        columns = [piece.columns[j] for j in self._chosen]
        weights = None if self._weights_at is None else piece.columns[self._weights_at].cells
        self.lines += piece.n_lines
        self.append_columns(columns, piece.n_rows, *self._weighed(weights))

    def append_columns(
        self,
        columns: Sequence[CsvColumn],
        n_rows: int,
        times: NDArray[np.int64] | None,
        unweighed: NDArray[np.bool_] | None = None,
    ) -> None:
        """Take in rows that count so many times, but for those that are to be dropped."""
        self.is_weighted = times is not None
        check_stopped()
        self.rows_read += n_rows
        kept = None
        if times is not None and not times.all():
            kept = times > 0 if unweighed is None else (times > 0) | unweighed
        gaps = [
            tally.see(column, times, kept)
            for tally, column in zip(self.tallies, columns, strict=True)
        ]
        cells = [column.cells for column in columns]
        self._hopeless |= any(column.kind == OVERFLOW for column in columns)
        if kept is not None:
            cells = [None if found is None else found[kept] for found in cells]
            times = None if times is None else times[kept]
            unweighed = None if unweighed is None else unweighed[kept]
        n_rows = n_rows if kept is None else int(np.count_nonzero(kept))
        self.rows_weighed += n_rows
        self.n_before += n_rows if times is None else int(times.sum())
        lacking = [mask for mask in (*gaps, unweighed) if mask is not None]
        if self.options.missing == "error" and any(mask is not None for mask in gaps):
            self._hopeless = True
        if self._hopeless:
            # What is wrong is said when all pieces are over.
            return
        present = [found for found in cells if found is not None]
        if self.options.missing == "drop" and lacking:
            incomplete = np.logical_or.reduce(lacking)
            self.n_dropped += int(np.count_nonzero(incomplete))
            if any(tally.counts_cells for tally in self.tallies):
                self._write(
                    [found[incomplete] for found in present],
                    None if times is None else times[incomplete],
                    self.dropped,
                )
            present = [found[~incomplete] for found in present]
            times = None if times is None else times[~incomplete]
        for tally, found in zip(self.tallies, present, strict=True):
            tally.see_treated(found, times)
        self.n_rows += len(present[0])
        self.n += len(present[0]) if times is None else int(times.sum())
        self._write(present, times, self.blocks)

    def empty_block(self) -> Block:
        """A block without rows, for a table that has none."""
        cells = [
            np.zeros(0, dtype=np.float64 if t.kind == NUMBERS else np.uint8) for t in self.tallies
        ]
        weights = self.file.write(np.zeros(0, dtype=np.int64)) if self.is_weighted else None
        return Block(0, tuple(map(self.file.write, cells)), weights)

    def _weighed(
        self, cells: NDArray[Any] | None
    ) -> tuple[NDArray[np.int64] | None, NDArray[np.bool_] | None]:
        """Return the weights, and which rows have none and so are to be dropped."""
        if cells is None:
            return None, None
        unweighed = without_weight(cells) if self.options.missing == "drop" else None
        if unweighed is not None:
            cells = np.where(unweighed, 0.0, cells)
            self.unweighed += int(np.count_nonzero(unweighed))
        return integer_weights(cells, self.where, first_row=self.rows_read), unweighed

    def _write(
        self,
        cells: Sequence[NDArray[Any]],
        weights: NDArray[np.int64] | None,
        blocks: list[Block],
    ) -> None:
        n_rows = len(cells[0])
        size = rows_per_block(cells, self._block_bytes)
        for start in range(0, n_rows, size):
            check_stopped()
            part = slice(start, min(start + size, n_rows))
            blocks.append(
                Block(
                    part.stop - start,
                    tuple(self.file.write(column[part]) for column in cells),
                    None if weights is None else self.file.write(weights[part]),
                )
            )


def rows_per_block(cells: Sequence[NDArray[Any]], block_bytes: int) -> int:
    """How many rows of such cells go into a block."""
    width = sum(column.dtype.itemsize for column in cells) + 8
    return max(LEAST_ROWS, min(MOST_ROWS, block_bytes // width))


def counts_cells(name: str, options: ReadOptions) -> bool:
    """Whether it will matter which cells of a column occur how often."""
    return (
        options.weights_column is not None
        or options.bins is not None
        or options.binning(name) is not None
        or options.declared_intervals(name) is not None
        or options.missing == "level"
    )
