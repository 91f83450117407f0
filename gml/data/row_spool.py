"""The rows of a table in a file, as they were read, and what is known of them.

Pieces of a table come one after the other, with labels coded in order of appearance. What takes all
rows is decided when they are over (`gml.data.settled_rows`), and cells are recoded when a block is
read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.block_file import BlockFile, Stored
from gml.data.coding import without_weight
from gml.data.dataset import integer_weights
from gml.data.options import ReadOptions
from gml.data.table_tally import Rows, TableTally
from gml.kernel.layout import NUMBERS, OVERFLOW, CsvColumn, CsvResult
from gml.stopping import check_stopped

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
        is_weighted: bool = False,
    ) -> None:
        """Expect pieces of a table with these columns, of which some are in use.

        Rows that are appended with weights say so beforehand; a column of weights says it itself.
        """
        self._chosen = chosen
        column = options.weights_column
        self._weights_at = None if column is None else names.index(column)
        self.is_weighted = is_weighted or column is not None
        self.options = options
        self.where = where
        self.file = file
        """Where the rows go, or are already."""
        self._block_bytes = block_bytes
        self.tally = TableTally([names[j] for j in chosen], options)
        self.lines = 0
        self.blocks: list[Block] = []
        self.dropped: list[Block] = []
        """Rows that were left out for missing values, if numbers are cut."""
        self._hopeless = False

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
        check_stopped()
        rows, dropped = self.tally.see(columns, n_rows, times, unweighed)
        gaps = any(tally.lacking_rows for tally in self.tally.columns)
        self._hopeless |= any(column.kind == OVERFLOW for column in columns)
        self._hopeless |= self.options.missing == "error" and gaps
        if self._hopeless:
            # What is wrong is said when all pieces are over.
            return
        if dropped is not None and any(tally.numbers_count for tally in self.tally.columns):
            self._write(dropped, self.dropped)
        self._write(rows, self.blocks)

    def empty_block(self) -> Block:
        """A block without rows, for a table that has none."""
        cells = [
            np.zeros(0, dtype=np.float64 if tally.kind == NUMBERS else np.uint8)
            for tally in self.tally.columns
        ]
        weights = self.file.write(np.zeros(0, dtype=np.int64)) if self.is_weighted else None
        return Block(0, tuple(map(self.file.write, cells)), weights)

    def state(self) -> dict[str, Any]:
        """Write what was counted to the file, and return what is known as JSON takes it."""
        return {
            "tally": self.tally.state(self.file),
            "lines": self.lines,
            "blocks": self.blocks,
            "dropped": self.dropped,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take the rows of a file that another run has filled; all checksums are compared."""
        self.lines = state["lines"]
        self.blocks = [_block(block) for block in state["blocks"]]
        self.dropped = [_block(block) for block in state["dropped"]]
        for block in (*self.blocks, *self.dropped):
            for stored in (*block.columns, *([block.weights] if block.weights else ())):
                self.file.read(stored, block.n_rows)
        self.tally.restore(state["tally"], self.file)

    def _weighed(
        self, cells: NDArray[Any] | None
    ) -> tuple[NDArray[np.int64] | None, NDArray[np.bool_] | None]:
        """Return the weights, and which rows have none and so are to be dropped."""
        if cells is None:
            return None, None
        unweighed = without_weight(cells) if self.options.missing == "drop" else None
        if unweighed is not None:
            cells = np.where(unweighed, 0.0, cells)
        return integer_weights(cells, self.where, first_row=self.tally.rows_read), unweighed

    def _write(self, rows: Rows, blocks: list[Block]) -> None:
        cells = [column for column in rows.cells if column is not None]
        size = rows_per_block(cells, self._block_bytes)
        for start in range(0, rows.n_rows, size):
            check_stopped()
            part = slice(start, min(start + size, rows.n_rows))
            blocks.append(
                Block(
                    part.stop - start,
                    tuple(self.file.write(column[part]) for column in cells),
                    None if rows.times is None else self.file.write(rows.times[part]),
                )
            )


def _block(content: Any) -> Block:
    n_rows, columns, weights = content
    stored = tuple(Stored(*column) for column in columns)
    return Block(n_rows, stored, None if weights is None else Stored(*weights))


def rows_per_block(cells: Sequence[NDArray[Any]], block_bytes: int) -> int:
    """How many rows of such cells go into a block."""
    width = sum(column.dtype.itemsize for column in cells) + 8
    return max(LEAST_ROWS, min(MOST_ROWS, block_bytes // width))
