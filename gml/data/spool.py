"""Rows in a temporary file: codes of labels and numbers, column by column within blocks of rows.

Pieces of a table come one after the other, each with the levels that it has itself. So labels are
coded in order of appearance, and recoded to the levels of the whole when a block is read. Each
column of a block has a checksum, which is compared when it is first read. The file has no name:
whatever ends the process, nothing is left of it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.block_file import BlockFile, Stored
from gml.data.dataset import (
    MAX_LEVELS,
    Dataset,
    Origin,
    Variable,
    code_type,
    has_missing,
    missing_code,
)
from gml.data.levels import NA_LEVEL, order_levels
from gml.errors import DataError, UsageError, listing, quote
from gml.stopping import check_stopped

_LEAST_ROWS, _MOST_ROWS = 1 << 12, 1 << 20


class _Block(NamedTuple):
    n_rows: int
    columns: tuple[Stored, ...]
    weights: Stored | None


class Spool:
    """Takes the pieces of a table by `append`, and gives blocks of all rows after `finish`.

    Examples
    --------
    >>> first = Dataset((Variable("A", ("b", "d")),), (np.array([0, 1], dtype=np.uint8),))
    >>> second = Dataset((Variable("A", ("c",)),), (np.array([0], dtype=np.uint8),))
    >>> with Spool() as spool:
    ...     spool.append(first)
    ...     spool.append(second)
    ...     spool.finish()
    ...     spool.variables[0].levels, spool.block(0, [0]).columns[0].tolist()
    (('b', 'c', 'd'), [0, 2])
    """

    def __init__(
        self, folder: str | os.PathLike[str] | None = None, *, block_bytes: int = 1 << 24
    ) -> None:
        """Make the file in a folder, by default that of the system for temporary files."""
        self._file = BlockFile(folder)
        self._block_bytes = block_bytes
        self._blocks: list[_Block] = []
        self._first: Dataset | None = None
        self._labels: list[dict[str, int]] = []
        self._settled: list[bool] = []
        self._origin: Origin | None = None
        self._tables: dict[tuple[int, str], NDArray[Any] | None] = {}
        self._gaps: list[bool] = []
        self.variables: tuple[Variable, ...] = ()
        self.n = self.n_rows = 0

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the room back."""
        self._file.close()

    # ------------------------------------------------------------------ writing

    def append(self, piece: Dataset) -> None:
        """Write the rows of a piece, which must be a part of the same table."""
        if self._first is None:
            self._begin(piece)
        else:
            self._refuse_other_tables(piece)
        assert self._first is not None
        for j, variable in enumerate(piece.variables):
            self._settled[j] &= variable == self._first.variables[j]
        tables = [
            None if variable.levels is None else self._appearance(j, variable, column)
            for j, (variable, column) in enumerate(zip(piece.variables, piece.columns, strict=True))
        ]
        counting = piece if piece.weights is None else piece.rows(piece.weights > 0)
        for j, column in enumerate(counting.columns):
            self._gaps[j] |= has_missing(column)
        for block in piece.blocks(self._rows_per_block(piece)):
            check_stopped()
            self._write_block(block, tables)
        self.n += piece.n
        self.n_rows += piece.n_rows

    def _begin(self, piece: Dataset) -> None:
        if piece.unit != 1:
            raise UsageError("a spool takes whole rows, and the weights of these are fractions")
        # What is kept of the first piece is what it is like, not its rows.
        self._first = piece.rows(np.zeros(piece.n_rows, dtype=bool))
        self._labels = [{} for _ in piece.variables]
        self._gaps = [False] * len(piece.variables)
        # Levels that all pieces have in common keep their order: somebody may have declared it.
        self._settled = [True] * len(piece.variables)
        self._origin = None if piece.origin is None else piece.origin.without_values()

    def _refuse_other_tables(self, piece: Dataset) -> None:
        first = self._first
        assert first is not None
        if piece.names != first.names:
            raise DataError(
                f"the pieces of a table have the same columns in the same order: "
                f"{listing(first.names)}, not {listing(piece.names)}"
            )
        changed = [
            old.name
            for old, new in zip(first.variables, piece.variables, strict=True)
            if old.is_continuous != new.is_continuous
        ]
        if changed:
            raise DataError(f"{listing(changed)}: labels in one piece, and numbers in another")
        if piece.unit != 1 or (piece.weights is None) != (first.weights is None):
            raise DataError("the pieces of a table have weights, whole ones, or have none")
        old, new = self._origin, piece.origin
        if (old is None) != (new is None):
            raise DataError("some pieces of the table were read from files, and some were not")
        if old is None or new is None:
            return
        if (old.policy, old.na, old.decimal) != (new.policy, new.na, new.decimal):
            raise UsageError("the pieces of a table must be read with the same options")
        if dict(old.cuts) != dict(new.cuts):
            cut = sorted(
                name for name in {*old.cuts, *new.cuts} if old.cuts.get(name) != new.cuts.get(name)
            )
            raise UsageError(
                f"the pieces of a table are cut at the same places, and {listing(cut)} is not; "
                "give the cut points"
            )
        missing = {
            name: old.missing.get(name, 0) + new.missing.get(name, 0)
            for name in (*old.missing, *new.missing)
        }
        self._origin = replace(old, n=old.n + new.n, missing=missing)

    def _appearance(self, j: int, variable: Variable, column: NDArray[Any]) -> NDArray[np.uint16]:
        """The code by appearance of each code of a piece; that of missing cells stays the last."""
        known = self._labels[j]
        for level in variable.levels or ():
            known.setdefault(level, len(known))
        if len(known) > MAX_LEVELS:
            raise DataError(f"column {quote(variable.name)} has more than {MAX_LEVELS} levels")
        table = np.full(missing_code(column) + 1, MAX_LEVELS, dtype=np.uint16)
        table[: len(variable.levels or ())] = [known[level] for level in variable.levels or ()]
        return table

    def _rows_per_block(self, piece: Dataset) -> int:
        width = sum(column.dtype.itemsize for column in piece.columns) + 8
        return max(_LEAST_ROWS, min(_MOST_ROWS, self._block_bytes // width))

    def _write_block(self, block: Dataset, tables: Sequence[NDArray[np.uint16] | None]) -> None:
        stored = []
        for j, (column, table) in enumerate(zip(block.columns, tables, strict=True)):
            cells = column
            if table is not None:
                cells = table[column]
                # What says missing is the last code of either type.
                cells = cells.astype(code_type(len(self._labels[j])))
            stored.append(self._file.write(cells))
        weights = None if block.weights is None else self._file.write(block.weights)
        self._blocks.append(_Block(block.n_rows, tuple(stored), weights))

    def finish(self) -> None:
        """Settle the levels; no more pieces come."""
        if self._first is None:
            raise DataError("a table of no pieces at all")
        if not self._blocks:
            self._write_block(self._first, [None] * len(self._first.columns))
        decimal = "." if self._origin is None else self._origin.decimal
        self.variables = tuple(
            v
            if v.levels is None or is_settled
            else Variable(v.name, self._ordered(labels, decimal))
            for v, labels, is_settled in zip(
                self._first.variables, self._labels, self._settled, strict=True
            )
        )

    def _ordered(self, labels: Sequence[str] | dict[str, int], decimal: str) -> tuple[str, ...]:
        own = self._origin is not None and self._origin.policy == "level" and NA_LEVEL in labels
        found = order_levels(
            [label for label in labels if not (own and label == NA_LEVEL)], decimal=decimal
        )
        return (*found, NA_LEVEL) if own else found

    # ------------------------------------------------------------------ reading

    @property
    def origin(self) -> Origin | None:
        """What the pieces say together of how they were read."""
        return self._origin

    @property
    def gaps(self) -> tuple[bool, ...]:
        """Whether each column has a missing value in a row that counts."""
        return tuple(self._gaps)

    @property
    def n_blocks(self) -> int:
        """The number of blocks, at least one."""
        return len(self._blocks)

    def block(self, k: int, columns: Sequence[int]) -> Dataset:
        """Return some columns of a block; several threads may ask."""
        block = self._blocks[k]
        weights = None if block.weights is None else self._file.read(block.weights, block.n_rows)
        return Dataset(
            tuple(self.variables[j] for j in columns),
            tuple(self._column(j, block) for j in columns),
            weights,
        )

    def _column(self, j: int, block: _Block) -> NDArray[Any]:
        cells = self._file.read(block.columns[j], block.n_rows)
        if self.variables[j].levels is None:
            return cells
        table = self._final_codes(j, cells)
        return cells if table is None else table[cells]

    def _final_codes(self, j: int, cells: NDArray[Any]) -> NDArray[Any] | None:
        """The code of each code by appearance; None where it is the same."""
        key = (j, cells.dtype.str)
        if key not in self._tables:
            levels = self.variables[j].levels or ()
            narrow = code_type(len(levels))
            place = {level: code for code, level in enumerate(levels)}
            table = np.full(missing_code(cells) + 1, np.iinfo(narrow).max, dtype=narrow)
            codes = [place[label] for label in self._labels[j]][: missing_code(cells)]
            table[: len(codes)] = codes
            same = table.dtype == cells.dtype and codes == list(range(len(codes)))
            self._tables[key] = None if same else table
        return self._tables[key]
