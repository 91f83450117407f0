"""What is known of the rows of a table that pass by in pieces: how many there are, and each column.

What can be decided row by row is decided at once: rows of weight 0 and, where asked for, rows with
missing values are left out. `gml.data.settled_columns` decides what takes all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.block_file import BlockFile
from gml.data.column_tally import ColumnTally
from gml.data.levels import NA_LEVEL
from gml.data.missing_patterns import GapTally
from gml.data.options import ReadOptions
from gml.kernel.layout import ColumnSpec, CsvColumn

_COUNTERS = ("rows_read", "rows_weighed", "n_before", "n", "n_rows", "n_dropped", "unweighed")


class Rows(NamedTuple):
    """Cells of some rows, column by column (None where there are none), and how often each counts.

    `times` is None where each row counts once.
    """

    n_rows: int
    cells: Sequence[NDArray[Any] | None]
    times: NDArray[np.int64] | None

    @property
    def n(self) -> int:
        """The number of rows, weighted."""
        return self.n_rows if self.times is None else int(self.times.sum())

    def where(self, which: NDArray[np.bool_]) -> Rows:
        """Return some of the rows."""
        return Rows(
            int(np.count_nonzero(which)),
            [None if column is None else column[which] for column in self.cells],
            None if self.times is None else self.times[which],
        )


class TableTally:
    """Counts rows, and what occurs in each column."""

    def __init__(self, names: Sequence[str], options: ReadOptions) -> None:
        """Expect pieces of these columns."""
        self._drops = options.missing == "drop"
        self.gaps = GapTally(len(names)) if options.missing == "level" else None
        """Which columns are missing together, where that is to be a level."""
        said = options.missing == "level" and NA_LEVEL in options.na_tokens
        self._says_missing = [
            said and NA_LEVEL in (options.declared_levels(name) or ()) for name in names
        ]
        self.columns = [ColumnTally(name, options) for name in names]
        self.rows_read = self.rows_weighed = 0
        """Rows, and those among them that do not weigh 0, or are dropped for lack of a weight."""
        self.n_before = self.n = self.n_rows = self.n_dropped = 0
        """Weighted rows before rows with missing values were dropped, and after; rows after."""
        self.unweighed = 0
        """Rows that were dropped as they have no weight."""

    def see(
        self,
        columns: Sequence[CsvColumn],
        n_rows: int,
        times: NDArray[np.int64] | None,
        unweighed: NDArray[np.bool_] | None = None,
    ) -> tuple[Rows, Rows | None]:
        """Take note of rows that count so many times, and of those to be dropped as unweighed.

        Returns the rows that stay, and those that were dropped, if any.
        """
        kept = None
        if times is not None and not times.all():
            kept = times > 0 if unweighed is None else (times > 0) | unweighed
        gaps = [
            tally.see(column, times, kept)
            for tally, column in zip(self.columns, columns, strict=True)
        ]
        if self.gaps is not None:
            self._see_gaps(self.gaps, gaps, columns, n_rows, kept)
        rows = Rows(n_rows, [column.cells for column in columns], times)
        if kept is not None:
            rows = rows.where(kept)
            unweighed = None if unweighed is None else unweighed[kept]
        self.rows_read += n_rows
        self.rows_weighed += rows.n_rows
        self.n_before += rows.n
        self.unweighed += 0 if unweighed is None else int(np.count_nonzero(unweighed))
        dropped = None
        lacking = [mask for mask in (*gaps, unweighed) if mask is not None]
        if self._drops and lacking:
            incomplete = np.logical_or.reduce(lacking)
            dropped, rows = rows.where(incomplete), rows.where(~incomplete)
            self.n_dropped += dropped.n_rows
        for tally, cells in zip(self.columns, rows.cells, strict=True):
            if cells is not None:
                tally.see_range(cells)
        self.n_rows += rows.n_rows
        self.n += rows.n
        return rows, dropped

    def _see_gaps(
        self,
        tally: GapTally,
        gaps: list[NDArray[np.bool_] | None],
        columns: Sequence[CsvColumn],
        n_rows: int,
        kept: NDArray[np.bool_] | None,
    ) -> None:
        """Take note of gaps; a cell is one too that says so in a level that is declared."""
        found = list(gaps)
        for j, column in enumerate(columns):
            if self._says_missing[j] and column.cells is not None and NA_LEVEL in column.labels:
                said = column.cells == column.labels.index(NA_LEVEL)
                said = said if kept is None else said[kept]
                mask = gaps[j]
                found[j] = said if mask is None else mask | said
        tally.see(found, n_rows if kept is None else int(np.count_nonzero(kept)))

    def add(self, other: TableTally, specs: Sequence[ColumnSpec], decimal: str) -> None:
        """Take what another tally knows of other rows of the same table."""
        for name in _COUNTERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for mine, theirs, spec in zip(self.columns, other.columns, specs, strict=True):
            mine.add(theirs, spec, decimal)
        if self.gaps is not None and other.gaps is not None:
            self.gaps.add(other.gaps)

    def state(self, file: BlockFile) -> dict[str, Any]:
        """Write what was counted to a file, and return what is known as JSON takes it."""
        return {
            "rows": {name: getattr(self, name) for name in _COUNTERS},
            "columns": [tally.state(file) for tally in self.columns],
            "gaps": None if self.gaps is None else self.gaps.state(),
        }

    def restore(self, state: dict[str, Any], file: BlockFile) -> None:
        """Take what another run has counted."""
        for name in _COUNTERS:
            setattr(self, name, state["rows"][name])
        for tally, known in zip(self.columns, state["columns"], strict=True):
            tally.restore(known, file)
        if self.gaps is not None:
            self.gaps.restore(state["gaps"])
