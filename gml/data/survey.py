"""Every column of a table that can be read, for its profile: none is refused.

A table is read once, with as many labels per column as there can be levels (65 535); columns with
more are gone through again.
"""

from __future__ import annotations

import os
from collections import Counter as Multiset
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gml import kernel
from gml.data.coding import weights_of
from gml.data.columns import all_columns, column_specs
from gml.data.dataset import MAX_LEVELS
from gml.data.frames import WHERE, frame_columns, frame_texts, is_frame, options_for_frame
from gml.data.header import Header, read_header
from gml.data.long_columns import LongColumn
from gml.data.options import ReadOptions
from gml.data.parquet import is_parquet, open_parquet
from gml.data.parquet_values import texts_of
from gml.data.problems import explain_problem
from gml.data.reading import default_delimiter, text_dialect
from gml.data.records import records_after
from gml.data.rereading import Reopen, rereadable
from gml.data.source import ByteSource
from gml.errors import DataError, place
from gml.kernel.layout import (
    CODES8,
    NOT_A_NUMBER,
    OVERFLOW,
    SKIP,
    ColumnSpec,
    CsvColumn,
    CsvProblem,
    CsvResult,
)
from gml.ledger import note_digest
from gml.resources import require_memory

if TYPE_CHECKING:
    import pandas as pd

_BATCH_ROWS = 4096
# Per cell: a number, and whether it is missing.
_LONG_CELL_BYTES = 9
_FREE = ColumnSpec(CODES8, MAX_LEVELS, numbers_on_overflow=True)
Batch = Sequence[Sequence[str | None]]
"""For each column the texts of some rows, None for no value."""


@dataclass(frozen=True)
class Surveyed:
    """The columns of a table as they were read, and those with too many labels by position."""

    where: str
    names: Sequence[str]
    chosen: Sequence[int]
    columns: Sequence[CsvColumn]
    n_rows: int
    options: ReadOptions
    digest: str | None
    long: Mapping[int, LongColumn]

    def addressable(self) -> list[int]:
        """Return the positions of columns for which a name stands, and for no other."""
        times = Multiset(self.names)
        return [j for j in self.chosen if self.names[j] and times[self.names[j]] == 1]


def survey(data: str | os.PathLike[str] | pd.DataFrame, options: ReadOptions) -> Surveyed:
    """Read all columns of a table that the options leave."""
    if is_frame(data):
        return _survey_frame(data, options)
    if str(data) != "-" and is_parquet(data):
        return _survey_parquet(data, options)
    if os.path.isdir(data):  # noqa: PTH112 (answers False where Path raises)
        raise DataError(f"{place(data)}: a folder without Parquet files; name a table")
    with rereadable(data, digest=options.digest) as reopen:
        return _survey_text(data, reopen, options)


def _specs(
    names: Sequence[str], chosen: Sequence[int], options: ReadOptions, texts: set[int]
) -> list[ColumnSpec]:
    """What each column is read as; `texts` are the positions of some that are not numbers."""
    specs = column_specs(names, chosen, options)
    times = Multiset(names)
    for j in chosen:
        if not names[j] or times[names[j]] > 1 or not options.says_something_of(names[j]):
            specs[j] = ColumnSpec(CODES8, MAX_LEVELS) if j in texts else _FREE
    return specs


# ---------------------------------------------------------------------- text files


class _ReadText(NamedTuple):
    header: Header
    chosen: list[int]
    cells: CsvResult
    digest: str | None


def _survey_text(path: str | os.PathLike[str], reopen: Reopen, options: ReadOptions) -> Surveyed:
    delimiter = options.delimiter or default_delimiter(path)
    texts: set[int] = set()
    read = None
    while read is None:
        with reopen(options.digest) as source:
            read = _read_text(source, delimiter, options, texts)
    note_digest(path, read.digest)
    where, names, columns = place(path), read.header.names, read.cells.columns
    long = _long_columns(columns, read.chosen, read.cells.n_rows, options)
    if long:
        with reopen(False) as source:
            header = _header(source, delimiter, options)
            rows = records_after(header, source, delimiter, errors="backslashreplace").rows
            batches = (
                [[record[j] for _, record in batch] for j in long]
                for batch in iter(lambda: list(islice(rows, _BATCH_ROWS)), [])
            )
            _take_in(long, batches, read.cells.n_rows, columns, names, options, where)
    return Surveyed(
        where, names, read.chosen, columns, read.cells.n_rows, options, read.digest, long
    )


def _header(source: ByteSource, delimiter: str, options: ReadOptions) -> Header:
    if options.encoding is not None:
        source.transcode(options.encoding)
    given = options.delimiter is not None
    return read_header(source, source.name, delimiter, delimiter_given=given)


def _read_text(
    source: ByteSource, delimiter: str, options: ReadOptions, texts: set[int]
) -> _ReadText | None:
    """Read the columns; None if one is not numbers after all, which is then among `texts`."""
    header = _header(source, delimiter, options)
    chosen = all_columns(header.names, options, source.name)
    specs = _specs(header.names, chosen, options, texts)
    try:
        cells: CsvResult = kernel.active().read_csv(
            source, header.rest, header.next_line, specs, text_dialect(delimiter, options)
        )
    except CsvProblem as problem:
        if problem.status == NOT_A_NUMBER and specs[problem.column] == _FREE:
            texts.add(problem.column)
            return None
        raise explain_problem(problem, source.name, header.names, specs) from None
    return _ReadText(header, chosen, cells, source.digest())


# ---------------------------------------------------------------------- Parquet and frames


def _survey_parquet(path: str | os.PathLike[str], options: ReadOptions) -> Surveyed:
    with open_parquet(path, options) as table:
        names, where = table.names, place(path)
        chosen = all_columns(names, options, where)
        specs = _specs(names, chosen, options, set())
        times = Multiset(names)
        for j in chosen:
            if times[names[j]] > 1 or table.is_nested(names[j]):
                specs[j] = ColumnSpec(SKIP)
        columns, digest = table.load(specs)
        note_digest(path, digest)
        long = _long_columns(columns, chosen, table.n_rows, options)
        if long:
            batches = texts_of(table, [names[j] for j in long])
            _take_in(long, batches, table.n_rows, columns, names, options, where)
        return Surveyed(where, names, chosen, columns, table.n_rows, options, digest, long)


def _survey_frame(frame: pd.DataFrame, options: ReadOptions) -> Surveyed:
    options = options_for_frame(frame, options)
    names = [str(name) for name in frame.columns]
    chosen = all_columns(names, options, WHERE)
    columns = frame_columns(frame, _specs(names, chosen, options, set()), options)
    long = _long_columns(columns, chosen, len(frame), options)
    for j, column in long.items():
        one = [frame_texts(frame, j)]
        _take_in({j: column}, [one], len(frame), columns, names, options, WHERE)
    return Surveyed(WHERE, names, chosen, columns, len(frame), options, None, long)


# ---------------------------------------------------------------------- the second time


def _long_columns(
    columns: Sequence[CsvColumn], chosen: Sequence[int], n_rows: int, options: ReadOptions
) -> dict[int, LongColumn]:
    found = [j for j in chosen if columns[j].kind == OVERFLOW]
    if found:
        require_memory(_LONG_CELL_BYTES * n_rows * len(found), None, "the columns of many labels")
    return {j: LongColumn(options.decimal) for j in found}


def _take_in(
    long: Mapping[int, LongColumn],
    batches: Iterable[Batch],
    n_rows: int,
    columns: Sequence[CsvColumn],
    names: Sequence[str],
    options: ReadOptions,
    where: str,
) -> None:
    """Go through columns again, of which there must be as many rows as the first time."""
    na = frozenset(token.strip(" ") for token in options.na_tokens)
    weights, _ = weights_of(columns, names, options, where)
    done = 0
    for batch in batches:
        size = len(batch[0])
        counted = None if weights is None else weights[done : done + size] > 0
        done += size
        if done > n_rows:
            break
        for column, texts in zip(long.values(), batch, strict=True):
            column.add(
                [None if text is None or text.strip(" ") in na else text for text in texts],
                counted if counted is None else np.asarray(counted),
            )
    if done != n_rows:
        raise DataError(f"{where}: changed while it was read; try again")
