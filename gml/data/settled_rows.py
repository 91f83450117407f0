"""Rows in a file with their final codes: what was decided when all of them had been seen."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset, Variable, code_type, require_countable
from gml.data.number_parts import numbers_in_parts
from gml.data.number_summary import Numbers, NumberValues
from gml.data.options import STREAM
from gml.data.row_groups import comparable, row_bytes
from gml.data.row_multiplicities import RowTally, SomeRows, row_multiplicities
from gml.data.row_spool import Block, RowSpool
from gml.data.settled_columns import SettledTable, settle
from gml.errors import parameter


def settled(spool: RowSpool, digest: str | None, first_line: int | None = None) -> SettledRows:
    """Decide what takes all rows; what is wrong with them is refused as for rows in memory."""
    tally = spool.tally
    require_countable(tally.n_before, spool.where)
    in_passes = f"rows are read in passes ({parameter('engine', STREAM)})"
    table = settle(tally, spool.options, spool.where, in_passes)
    on_lines = spool.lines == tally.n_rows == tally.rows_read
    return SettledRows(spool, table, digest, first_line if on_lines else None)


@dataclass(frozen=True, eq=False)
class SettledRows:
    """Blocks of rows; several threads may ask for them."""

    spool: RowSpool
    table: SettledTable
    digest: str | None = None
    first_line: int | None = None
    keep: tuple[NDArray[np.uint8], ...] | None = None
    """Which rows of each block count, a bit for each; None if all of them do."""
    _blocks: list[Block] = field(init=False)
    _held: dict[tuple[int, int], NDArray[Any]] | None = field(init=False, default=None)
    """Cells of each block and column that were read, if they are held; weights at column -1."""

    def hold(self) -> None:
        """Hold the cells that are read from now on, which the next pass then need not read."""
        object.__setattr__(self, "_held", {})

    def __post_init__(self) -> None:
        blocks = self.spool.blocks or [self.spool.empty_block()]
        object.__setattr__(self, "_blocks", blocks)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The columns."""
        return self.table.variables

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.tally.n_rows

    @property
    def n_blocks(self) -> int:
        """The number of blocks, at least one."""
        return len(self._blocks)

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights."""
        return self.spool.is_weighted

    def block(self, k: int, columns: Sequence[int]) -> Dataset:
        """Return some columns of a block."""
        block = self._blocks[k]
        rows = Dataset(
            tuple(self.table.columns[j].variable for j in columns),
            tuple(self._cells(k, j) for j in columns),
            self._held_weights(k),
        )
        if self.keep is None:
            return rows
        return rows.rows(np.unpackbits(self.keep[k], count=block.n_rows).astype(bool))

    def bytes_of(self, columns: Sequence[int]) -> int:
        """How many bytes of the file hold these columns."""
        return sum(map(self._column_bytes.__getitem__, columns))

    @functools.cached_property
    def _column_bytes(self) -> list[int]:
        return [
            sum(np.dtype(b.columns[j].kind).itemsize * b.n_rows for b in self._blocks)
            for j in range(len(self.variables))
        ]

    def _cells(self, k: int, j: int) -> NDArray[Any]:
        """The cells of a column of a block; several threads may read the same, and hold one."""
        held = self._held
        found = None if held is None else held.get((k, j))
        if found is None:
            found = self.table.columns[j].cells(self._raw(self._blocks[k], j))
            if held is not None:
                held[k, j] = found
        return found

    def _held_weights(self, k: int) -> NDArray[np.int64] | None:
        held = self._held
        found = None if held is None else held.get((k, -1))
        if found is None:
            found = self._weights(self._blocks[k])
            if held is not None and found is not None:
                held[k, -1] = found
        return found

    def _raw(self, block: Block, j: int) -> NDArray[Any]:
        return self.spool.file.read(block.columns[j], block.n_rows)

    def _weights(self, block: Block) -> NDArray[np.int64] | None:
        stored = block.weights
        return None if stored is None else self.spool.file.read(stored, block.n_rows)

    def close(self) -> None:
        """Give the room on the disk back, and forget what is held."""
        object.__setattr__(self, "_held", None)
        self.spool.file.close()

    # ------------------------------------------------------------------ all rows

    def whole(self, limit: int, *, join_equal: bool = True) -> Dataset | None:
        """Return all rows as a dataset, equal ones counted once if need be; None over the limit."""
        width = sum(_cell_bytes(variable) for variable in self.variables) + 8 * self.is_weighted
        fits = self.n_rows * width <= limit
        rows = None
        if fits or join_equal:
            rows = self._as_they_stand() if fits else self._distinct(limit // 2)
        if rows is None:
            return None
        return replace(
            rows, digest=self.digest, first_line=self.first_line, origin=self.table.origin
        )

    def _as_they_stand(self) -> Dataset:
        columns = [
            np.empty(
                self.n_rows, dtype=np.float64 if v.levels is None else code_type(len(v.levels))
            )
            for v in self.variables
        ]
        weights = np.empty(self.n_rows, dtype=np.int64) if self.is_weighted else None
        start = 0
        for block in self._all_blocks():
            part = slice(start, start + block.n_rows)
            for column, cells in zip(columns, block.columns, strict=True):
                column[part] = cells
            if weights is not None and block.weights is not None:
                weights[part] = block.weights
            start += block.n_rows
        return Dataset(self.variables, tuple(columns), weights)

    def _distinct(self, limit: int) -> Dataset | None:
        found = RowTally(limit)
        types: list[Any] = []
        for block in self._all_blocks():
            types = [column.dtype for column in block.columns]
            rows = row_bytes([comparable(column) for column in block.columns])
            if not found.add(rows, block.weights):
                return None
        rows, counts = found.result()
        ends = np.cumsum([dtype.itemsize for dtype in types])
        columns = tuple(
            np.ascontiguousarray(rows[:, end - dtype.itemsize : end]).view(dtype).reshape(-1)
            for end, dtype in zip(ends, types, strict=True)
        )
        return Dataset(self.variables, columns, counts)

    def _all_blocks(self, columns: Sequence[int] | None = None) -> Iterator[Dataset]:
        chosen = range(len(self.variables)) if columns is None else columns
        return (self.block(k, chosen) for k in range(self.n_blocks))

    def repeats(self, limit: int, columns: Sequence[int]) -> dict[int, int]:
        """How many different rows, of some columns, occur how often."""
        return row_multiplicities(
            lambda: (SomeRows(block.columns, block.weights) for block in self._all_blocks(columns)),
            limit,
            self.spool.file.folder,
        )

    def uncut_repeats(self, limit: int, columns: Sequence[int]) -> dict[int, int] | None:
        """The same of the table as it was read, before rows were dropped; None if nothing was cut.

        Numbers that were cut are as they are.
        """
        origin = self.table.origin
        chosen = {j: self.table.columns[j] for j in columns}
        if origin is None or not any(c.variable.name in origin.numbers for c in chosen.values()):
            return None

        def chunks() -> Iterator[SomeRows]:
            for block in (*self._blocks, *self.spool.dropped):
                cells = [column.uncut(self._raw(block, j)) for j, column in chosen.items()]
                yield SomeRows(cells, self._weights(block))

        return row_multiplicities(chunks, limit, self.spool.file.folder)

    def numbers(self, j: int, limit: int) -> Numbers:
        """The different numbers of a column and how often each occurs."""

        def chunks() -> Iterator[NumberValues]:
            for block in self._all_blocks([j]):
                yield NumberValues.of(block.columns[0], block.weights)

        return numbers_in_parts(chunks, limit, self.spool.file.folder)


def _cell_bytes(variable: Variable) -> int:
    levels = variable.levels
    return 8 if levels is None else np.dtype(code_type(len(levels))).itemsize
