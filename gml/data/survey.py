"""Every column of a table that can be read, for its profile: none is refused.

A table is read once, with as many labels per column as there may be levels. Columns of text with
more are gone through again; columns of numbers are taken for numbers then, if all are.
"""

from __future__ import annotations

import os
from collections import Counter as Multiset
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gml.data.cells import read_cells
from gml.data.coding import weights_of
from gml.data.column_facts import Facts
from gml.data.columns import all_columns, column_specs
from gml.data.dataset import MAX_LEVELS
from gml.data.dialect import default_delimiter
from gml.data.frames import frame_columns, frame_texts, is_frame, options_for_frame
from gml.data.header import Header, read_header
from gml.data.long_columns import LongColumn
from gml.data.missing import FRAME
from gml.data.options import ReadOptions
from gml.data.parquet import is_parquet, open_parquet
from gml.data.parquet_values import texts_of
from gml.data.problems import explain_problem
from gml.data.reading import text_dialect
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
from gml.path_kinds import is_folder
from gml.resources import available_threads, budget_in_force, require_memory

if TYPE_CHECKING:
    import pandas as pd

_BATCH_ROWS = 4096
# For a cell that is gone through again: a number, whether it is missing, and its hash twice while
# these are sorted.
_LONG_CELL_BYTES = 25
# Columns that turn out not to be numbers are read again one by one, then all at once.
_MOST_SURPRISES = 3
Batch = Sequence[Sequence[str | None]]
"""For each column the texts of some rows, None for no value."""


class LongFacts(NamedTuple):
    """What a column looks like that was gone through again, and its missing cells (in units)."""

    facts: Facts
    gaps: int


@dataclass(frozen=True)
class Surveyed:
    """The columns of a table as they were read."""

    where: str
    names: Sequence[str]
    chosen: Sequence[int]
    columns: Sequence[CsvColumn]
    n_rows: int
    options: ReadOptions
    digest: str | None
    long: Mapping[int, LongFacts]
    """By position, what was found of columns with too many labels."""

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
    if is_folder(data):
        raise DataError(f"{place(data)}: a folder without Parquet files; name a table")
    with rereadable(data, digest=options.digest) as reopen:
        return _survey_text(data, reopen, options)


def _specs(
    names: Sequence[str], chosen: Sequence[int], options: ReadOptions, texts: set[int]
) -> list[ColumnSpec]:
    """What each column is read as; `texts` are the positions of some that are not numbers."""
    specs = column_specs(names, chosen, options)
    most = options.max_levels if options.bins is None else MAX_LEVELS
    for j in _free(names, chosen, options):
        plain = options.goes_by_rule(names[j])
        specs[j] = ColumnSpec(CODES8, most, numbers_on_overflow=j not in texts, plain_numbers=plain)
    return specs


def _free(names: Sequence[str], chosen: Sequence[int], options: ReadOptions) -> set[int]:
    """Return the positions of columns about which nothing is said, or could be."""
    times = Multiset(names)
    return {
        j
        for j in chosen
        if not names[j] or times[names[j]] > 1 or not options.says_something_of(names[j])
    }


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

    def batches(wanted: Sequence[int]) -> Iterator[Batch]:
        with reopen(False) as source:
            header = _header(source, delimiter, options)
            rows = records_after(header, source, delimiter, errors="backslashreplace").rows
            for batch in iter(lambda: list(islice(rows, _BATCH_ROWS)), []):
                yield [[record[j] for _, record in batch] for j in wanted]

    found = Surveyed(
        where, names, read.chosen, columns, read.cells.n_rows, options, read.digest, {}
    )
    return _with_long_columns(found, batches)


def _header(source: ByteSource, delimiter: str, options: ReadOptions) -> Header:
    if options.encoding is not None:
        source.transcode(options.encoding)
    return read_header(
        source,
        source.name,
        delimiter,
        delimiter_given=options.delimiter_given,
        strip=options.strip,
    )


def _read_text(
    source: ByteSource, delimiter: str, options: ReadOptions, texts: set[int]
) -> _ReadText | None:
    """Read the columns; None if one is not numbers after all, which is then among `texts`."""
    header = _header(source, delimiter, options)
    chosen = all_columns(header.names, options, source.name)
    specs = _specs(header.names, chosen, options, texts)
    try:
        cells = read_cells(
            source,
            header.rest,
            header.next_line,
            specs,
            text_dialect(delimiter, options),
            threads=options.threads or available_threads(),
        )
    except CsvProblem as problem:
        free = _free(header.names, chosen, options) - texts
        if problem.status == NOT_A_NUMBER and problem.column in free:
            texts |= {problem.column} if len(texts) < _MOST_SURPRISES else free
            return None
        raise explain_problem(problem, source.name, header.names, specs) from None
    return _ReadText(header, chosen, cells, source.digest())


# ---------------------------------------------------------------------- Parquet and frames


def _survey_parquet(path: str | os.PathLike[str], options: ReadOptions) -> Surveyed:
    with open_parquet(path, options) as table:
        options = table.options
        names, where = table.names, place(path)
        chosen = all_columns(names, options, where)
        specs = _specs(names, chosen, options, set())
        times = Multiset(names)
        for j in chosen:
            if times[names[j]] > 1 or table.is_nested(names[j]):
                specs[j] = ColumnSpec(SKIP)
        columns, digest = table.load(specs)
        note_digest(path, digest)
        found = Surveyed(where, names, chosen, columns, table.n_rows, options, digest, {})
        return _with_long_columns(found, lambda wanted: texts_of(table, [names[j] for j in wanted]))


def _survey_frame(frame: pd.DataFrame, options: ReadOptions) -> Surveyed:
    options = options_for_frame(frame, options)
    names = [str(name) for name in frame.columns]
    chosen = all_columns(names, options, FRAME)
    columns = frame_columns(frame, _specs(names, chosen, options, set()), options)
    found = Surveyed(FRAME, names, chosen, columns, len(frame), options, None, {})
    return _with_long_columns(found, lambda wanted: [[frame_texts(frame, j) for j in wanted]])


# ---------------------------------------------------------------------- the second time


def _with_long_columns(
    found: Surveyed, batches: Callable[[Sequence[int]], Iterable[Batch]]
) -> Surveyed:
    """Go through the columns with too many labels again, as many at a time as memory allows."""
    left = [j for j in found.chosen if found.columns[j].kind == OVERFLOW]
    if not left:
        return found
    column_bytes = _LONG_CELL_BYTES * max(found.n_rows, 1)
    at_once = max(1, budget_in_force() // column_bytes)
    require_memory(column_bytes, None, f"{found.where}: the values of a column")
    long: dict[int, LongFacts] = {}
    while left:
        part, left = left[:at_once], left[at_once:]
        long |= _gone_through(found, part, batches(part))
    return replace(found, long=long)


def _gone_through(
    found: Surveyed, wanted: Sequence[int], batches: Iterable[Batch]
) -> dict[int, LongFacts]:
    """Take in columns, of which there must be as many rows as the first time."""
    options = found.options
    na = frozenset(token.strip(" ") for token in options.na_tokens)
    weights, unit = weights_of(found.columns, found.names, options, found.where)
    columns = [LongColumn(options.decimal) for _ in wanted]
    done = 0
    for batch in batches:
        start, done = done, done + len(batch[0])
        if done > found.n_rows:
            break
        counted = None if weights is None else weights[start:done] > 0
        for column, texts in zip(columns, batch, strict=True):
            column.add(
                [None if text is None or text.strip(" ") in na else text for text in texts], counted
            )
    if done != found.n_rows:
        raise DataError(f"{found.where}: changed while it was read; try again")
    long = {}
    for j, column in zip(wanted, columns, strict=True):
        gaps = column.gaps()
        n_gaps = int(np.count_nonzero(gaps) if weights is None else weights[gaps].sum())
        most, whole = options.max_levels, unit == 1
        long[j] = LongFacts(column.facts(weights, max_levels=most, whole_rows=whole), n_gaps)
    return long
