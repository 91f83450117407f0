"""Pieces of a table that several machines read: what is known of each adds up, and codes it.

A piece has codes of the labels that it has itself. What is known of it (`gml.data.table_tally`) is
small, can be pickled, and adds up to the same in whatever order the pieces come. When it is settled
what the columns are (`gml.data.settled_columns`), each piece is coded by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import missing_mask
from gml.data.discretize import cuts_of_levels
from gml.data.options import ReadOptions
from gml.data.piece_weights import whole_weights
from gml.data.settled_cells import SettledColumn
from gml.data.settled_columns import SettledTable, settle
from gml.data.table_tally import TableTally
from gml.errors import CannotAnswer, DataError, parameter, quote
from gml.kernel.layout import NUMBERS, ColumnSpec, CsvColumn

IN_PIECES = "rows are read in pieces"
"""Why other columns have no say in where one is cut."""


@dataclass(frozen=True)
class PieceColumns:
    """Columns of some rows as the kernel reads them, and the numbers that say how rows count."""

    columns: Sequence[CsvColumn]
    weights: NDArray[np.float64] | None
    n_rows: int


@dataclass(frozen=True)
class PieceTallies:
    """Finds what is known of pieces, and adds it up; `columns` are the names of those in use.

    `bits` is the shift that makes weights whole.
    """

    columns: Sequence[str]
    specs: Sequence[ColumnSpec]
    options: ReadOptions
    bits: int
    most_numbers: int
    """The most different numbers of a column that is to be cut by them."""

    def of(self, piece: PieceColumns) -> TableTally:
        """Return what is known of a piece."""
        tally = TableTally(self.columns, self.options)
        times = unweighed = None
        if piece.weights is not None:
            times = whole_weights(piece.weights, self.bits)
            if self.options.missing == "drop":
                unweighed = np.isnan(piece.weights)
        tally.see(piece.columns, piece.n_rows, times, unweighed)
        return self._thinned(tally)

    def add(self, first: TableTally, second: TableTally) -> TableTally:
        """Return what is known of the rows of both."""
        first.add(second, self.specs, self.options.decimal)
        return self._thinned(first)

    def _thinned(self, tally: TableTally) -> TableTally:
        for column in tally.columns:
            column.thin_numbers(self._given_edges(column.name), self.most_numbers)
        return tally

    def _given_edges(self, name: str) -> NDArray[np.float64] | None:
        """Where a column is cut, if that does not depend on its numbers.

        Then which intervals have numbers is all that is asked.
        """
        intervals, binning = self.options.declared_intervals(name), self.options.binning(name)
        if intervals is not None:
            return np.array(cuts_of_levels(intervals))
        return np.array(binning.cuts) if binning is not None and binning.method == "cuts" else None

    def settled(self, tally: TableTally, where: str) -> SettledTable:
        """Settle what the columns of all pieces are."""
        options = self.options
        for column in tally.columns:
            if column.n_numbers > self.most_numbers:
                raise CannotAnswer(
                    f"{where}: column {quote(column.name)}: to cut more than {self.most_numbers} "
                    f"different numbers by how often they occur takes more than "
                    f"{parameter('max_memory')} allows; give the cut points ({parameter('cut')})"
                )
            if options.declared_levels(column.name) is None:
                # They appear in the order in which pieces happened to come.
                column.sort_labels()
        return settle(tally, options, where, IN_PIECES, unit=2.0**-self.bits)

    def coder(self, table: SettledTable, where: str) -> PieceCoder:
        """Return what codes a piece, now that this is settled."""
        # What occurred is not needed any more, and may be as long as the table.
        columns = [
            replace(column, coding=column.coding._replace(numbers=None)) for column in table.columns
        ]
        return PieceCoder(columns, self.bits, self.options.missing == "drop", where)


@dataclass(frozen=True)
class PieceCoder:
    """Gives the cells of a piece the codes that they have in the whole table."""

    columns: Sequence[SettledColumn]
    bits: int
    drops: bool
    where: str

    def coded(
        self, piece: PieceColumns
    ) -> tuple[list[NDArray[Any]], NDArray[np.int64] | None, int]:
        """Return codes and numbers, weights in units, and how many rows of a piece count."""
        columns = [
            self._coded(settled, column)
            for settled, column in zip(self.columns, piece.columns, strict=True)
        ]
        keep = np.ones(piece.n_rows, dtype=bool)
        weights = None
        if piece.weights is not None:
            weights = whole_weights(piece.weights, self.bits)
            keep &= weights > 0
        if self.drops:
            for column in piece.columns:
                assert column.cells is not None
                keep &= ~missing_mask(column.cells)
        if not keep.all():
            columns = [column[keep] for column in columns]
            weights = None if weights is None else weights[keep]
        return columns, weights, int(np.count_nonzero(keep))

    def _coded(self, settled: SettledColumn, column: CsvColumn) -> NDArray[Any]:
        assert column.cells is not None
        if column.kind == NUMBERS:
            found = settled if settled.takes_numbers else None
        else:
            found = settled.for_labels(column.labels)
        if found is None:
            raise DataError(
                f"{self.where}: column {quote(settled.variable.name)}: a value that was not there "
                "before; the table changed while it was read"
            )
        return found.cells(column.cells)
