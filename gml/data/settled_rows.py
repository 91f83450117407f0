"""Rows in a file with their final codes: what was decided when all of them had been seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.chosen_cuts import way_to_cut
from gml.data.coding import cuts_of, free_levels, numbers_behind, warn_of_codings
from gml.data.column_coding import Coding, coding_of
from gml.data.column_tally import ColumnTally
from gml.data.dataset import (
    Dataset,
    Origin,
    Variable,
    code_type,
    require_countable,
)
from gml.data.discretize import BY_OTHERS
from gml.data.identifiers import refuse_identifiers
from gml.data.label_warnings import tell_levels_without_weight
from gml.data.levels import NA_LEVEL
from gml.data.missing import (
    levels_with_gaps,
    numbers_have_no_level,
    refused_gaps,
    tell_dropped,
)
from gml.data.number_summary import NumberValues
from gml.data.options import STREAM, ReadOptions
from gml.data.row_groups import comparable, row_bytes
from gml.data.row_multiplicities import DistinctRows, SomeRows, row_multiplicities
from gml.data.row_spool import Block, RowSpool
from gml.data.settled_cells import SettledColumn
from gml.errors import CannotAnswer, listing, parameter
from gml.kernel.layout import NUMBERS, CsvColumn


def settled(spool: RowSpool, digest: str | None, first_line: int | None = None) -> SettledRows:
    """Decide what takes all rows; what is wrong with them is refused as for rows in memory."""
    options, where = spool.options, spool.where
    columns = [CsvColumn(tally.kind, tally.labels, None) for tally in spool.tallies]
    require_countable(spool.n_before, where)
    refuse_identifiers(columns, spool.names, range(len(columns)), options, where)
    _refuse_cuts_by_others(spool)
    codings = {
        tally.name: coding_of(tally.name, tally, options, None, where) for tally in spool.tallies
    }
    variables = [Variable(name, found.levels) for name, found in codings.items()]
    warn_of_codings(codings, options)
    if spool.rows_weighed < spool.rows_read:
        unseen = {t.name: _unseen(t, codings[t.name], options) for t in spool.tallies}
        tell_levels_without_weight(unseen, free_levels(variables, options))
    origin = Origin(
        spool.n_before,
        {tally.name: n for tally in spool.tallies if (n := _lacking(tally, codings, options))},
        cuts_of(codings),
        options.missing,
        numbers_behind(codings),
        options.na_tokens,
        options.decimal,
    )
    variables = _treated(spool, variables)
    columns_of = [
        SettledColumn(variable, codings[tally.name], tally, options)
        for variable, tally in zip(variables, spool.tallies, strict=True)
    ]
    on_lines = first_line is not None and spool.lines == spool.n_rows == spool.rows_read
    return SettledRows(
        spool,
        tuple(variables),
        columns_of,
        origin,
        digest,
        first_line if on_lines else None,
        # A level of their own is no gap.
        tuple(tally.has_gaps and options.missing != "level" for tally in spool.tallies),
    )


def settled_as(
    spool: RowSpool, variables: Sequence[Variable], origin: Origin | None
) -> SettledRows:
    """Give rows the levels of these variables: nothing is left to be decided."""
    columns = []
    for variable, tally in zip(variables, spool.tallies, strict=True):
        place = {level: code for code, level in enumerate(variable.levels or ())}
        codes = np.array([place[label] for label in tally.labels], dtype=np.int64)
        columns.append(
            SettledColumn(variable, Coding(variable.levels, codes), tally, spool.options)
        )
    gaps = tuple(tally.has_gaps for tally in spool.tallies)
    return SettledRows(spool, tuple(variables), columns, origin, None, None, gaps)


def _refuse_cuts_by_others(spool: RowSpool) -> None:
    found = [
        tally.name
        for tally in spool.tallies
        if (how := way_to_cut(tally.name, tally.kind, tally.labels, spool.options)) is not None
        and how.method in BY_OTHERS
    ]
    if found:
        raise CannotAnswer(
            f"{spool.where}: to cut {listing(found)} by other columns takes the rows in memory; "
            f"give the cut points ({parameter('cut')}), or cut at quantiles or widths, where rows "
            f"are read in passes ({parameter('engine', STREAM)})"
        )


def _unseen(tally: ColumnTally, coding: Coding, options: ReadOptions) -> list[str]:
    """The levels that no row has that does not weigh 0."""
    if coding.levels is None:
        return []
    seen = np.zeros(len(coding.levels), dtype=bool)
    if tally.kind == NUMBERS:
        assert coding.edges is not None and coding.of_place is not None
        values, counts = tally.numbers(options.decimal)
        places = np.searchsorted(coding.edges, values[counts > 0], side="right")
        seen[coding.of_place[places]] = True
    else:
        codes = np.flatnonzero(tally.kept())
        seen[codes if coding.of_label is None else coding.of_label[codes]] = True
    return [level for level, is_seen in zip(coding.levels, seen, strict=True) if not is_seen]


def _lacking(tally: ColumnTally, codings: dict[str, Coding], options: ReadOptions) -> int:
    """The missing cells of a column, weighted; a cell that says NA is one if that is a level."""
    levels = codings[tally.name].levels or ()
    is_level = options.missing == "level" and NA_LEVEL in levels
    if not is_level or NA_LEVEL not in options.na_tokens or NA_LEVEL not in tally.labels:
        return tally.lacking
    code, times = tally.labels.index(NA_LEVEL), tally.times()
    return tally.lacking + (int(times[code]) if code < len(times) else 0)


def _treated(spool: RowSpool, variables: list[Variable]) -> list[Variable]:
    """Treat missing values as the options say, or refuse them."""
    options = spool.options
    lacking = {tally.name: tally.lacking_rows for tally in spool.tallies if tally.lacking_rows}
    numbers = [v.name for v in variables if v.is_continuous and v.name in lacking]
    if options.missing == "level" and numbers:
        raise numbers_have_no_level(numbers)
    if options.missing == "level":
        declared = {*options.levels.levels, *options.levels.intervals}
        return [
            Variable(v.name, levels_with_gaps(v, declared=v.name in declared))
            if v.name in lacking
            else v
            for v in variables
        ]
    if options.missing == "error" and lacking:
        raise refused_gaps(
            lacking,
            spool.where,
            numbers,
            offer_available=options.offer_available,
            offer_em=options.offer_em,
        )
    if options.missing == "drop" and (lacking or spool.unweighed):
        unweighed = {str(options.weights_column): spool.unweighed} if spool.unweighed else {}
        tell_dropped(spool.n_dropped, spool.rows_weighed, {**lacking, **unweighed})
    return variables


@dataclass(frozen=True, eq=False)
class SettledRows:
    """Blocks of rows; several threads may ask for them."""

    spool: RowSpool
    variables: tuple[Variable, ...]
    _columns: list[SettledColumn]
    origin: Origin | None
    """None if nobody knows how the rows were read."""
    digest: str | None
    first_line: int | None
    gaps: tuple[bool, ...]
    """Whether each column has a missing value in a row that counts."""
    _blocks: list[Block] = field(init=False)

    def __post_init__(self) -> None:
        blocks = self.spool.blocks or [self.spool.empty_block()]
        object.__setattr__(self, "_blocks", blocks)

    @property
    def n(self) -> int:
        """Number of rows, weighted."""
        return self.spool.n

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.spool.n_rows

    @property
    def n_blocks(self) -> int:
        """The number of blocks, at least one."""
        return len(self._blocks)

    @property
    def with_added_level(self) -> frozenset[str]:
        """The columns that have a level for what is missing, which was not declared."""
        return frozenset(
            variable.name
            for variable, column in zip(self.variables, self._columns, strict=True)
            if column.levels_read != variable.levels
        )

    @property
    def lacking(self) -> dict[str, int]:
        """The missing cells of columns that have some, weighted."""
        return {tally.name: tally.lacking for tally in self.spool.tallies if tally.lacking}

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights."""
        return self.spool.is_weighted

    def block(self, k: int, columns: Sequence[int]) -> Dataset:
        """Return some columns of a block."""
        block = self._blocks[k]
        return Dataset(
            tuple(self.variables[j] for j in columns),
            tuple(self._columns[j].cells(self._raw(block, j)) for j in columns),
            self._weights(block),
        )

    def bytes_of(self, columns: Sequence[int]) -> int:
        """How many bytes of the file hold these columns."""
        return sum(
            np.dtype(block.columns[j].kind).itemsize * block.n_rows
            for block in self._blocks
            for j in columns
        )

    def _raw(self, block: Block, j: int) -> NDArray[Any]:
        return self.spool.file.read(block.columns[j], block.n_rows)

    def _weights(self, block: Block) -> NDArray[np.int64] | None:
        stored = block.weights
        return None if stored is None else self.spool.file.read(stored, block.n_rows)

    def close(self) -> None:
        """Give the room on the disk back."""
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
        return replace(rows, digest=self.digest, first_line=self.first_line, origin=self.origin)

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
        found = DistinctRows(limit)
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

    def _all_blocks(self) -> Iterator[Dataset]:
        everything = range(len(self.variables))
        return (self.block(k, everything) for k in range(self.n_blocks))

    def repeats(self, limit: int) -> dict[int, int]:
        """How many different rows occur how often."""
        return row_multiplicities(
            lambda: (SomeRows(block.columns, block.weights) for block in self._all_blocks()),
            limit,
            self.spool.file.folder,
        )

    def uncut_repeats(self, limit: int) -> dict[int, int] | None:
        """The same of the table as it was read, before rows were dropped; None if nothing was cut.

        Numbers that were cut are as they are.
        """
        if self.origin is None or not self.origin.numbers:
            return None

        def chunks() -> Iterator[SomeRows]:
            for block in (*self._blocks, *self.spool.dropped):
                columns = [
                    column.uncut(self._raw(block, j)) for j, column in enumerate(self._columns)
                ]
                yield SomeRows(columns, self._weights(block))

        return row_multiplicities(chunks, limit, self.spool.file.folder)

    def numbers(self, j: int) -> NumberValues:
        """The different numbers of a column, and how often each occurs."""
        found = ColumnTally(self.variables[j].name, counts_cells=True)
        for k in range(self.n_blocks):
            block = self.block(k, [j])
            found.see(CsvColumn(NUMBERS, [], block.columns[0]), block.weights, None)
        return found.numbers(".").counting

    def constants(self) -> list[str]:
        """The columns of numbers that have only one."""
        return [
            tally.name
            for variable, tally in zip(self.variables, self.spool.tallies, strict=True)
            if variable.is_continuous and tally.low == tally.high
        ]


def _cell_bytes(variable: Variable) -> int:
    levels = variable.levels
    return 8 if levels is None else np.dtype(code_type(len(levels))).itemsize
