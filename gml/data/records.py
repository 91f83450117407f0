"""Records of a table as text, one after the other, for rows that are passed on as they are."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from gml.data.dialect import default_delimiter
from gml.data.header import Header, read_header
from gml.data.options import ReadOptions
from gml.data.parquet import ParquetTable, is_parquet, open_parquet, parquet_digest
from gml.data.parquet_values import texts_of
from gml.data.source import ByteSource, open_source
from gml.errors import DataError, counted, parameter, place
from gml.kernel.layout import FIELD_LIMIT, RECORD_LIMIT
from gml.ledger import note_digest


class Records(NamedTuple):
    """The name of the file for messages, its columns, and (line, fields) of each record."""

    where: str
    names: list[str]
    rows: Iterator[tuple[int, list[str]]]
    unit: str = "line"
    """What the number of a record counts: lines, or rows of a file that has none."""
    delimiter: str | None = None
    """Of a text file."""
    header: str = ""
    """Of a text file, the header as it stands there."""
    texts: deque[str] | None = None
    """What each record of a text file stands there as, for those who want it to take it away."""


@contextmanager
def open_records(
    path: str | os.PathLike[str],
    options: ReadOptions,
    *,
    digest: bool = False,
    with_texts: bool = False,
) -> Iterator[Records]:
    """Open a CSV file, compressed or not, `-` for standard input, or Parquet; memory stays flat.

    With `digest`, the run of the path learns the hash of the file once its records are done with.
    """
    if str(path) != "-" and is_parquet(path):
        with open_parquet(path, options) as table:
            for name in table.names:
                table.refuse_nested(name)
            yield Records(place(path), list(table.names), _stored_rows(table), "data row")
            if digest:
                note_digest(path, parquet_digest(path))
        return
    with open_source(path, digest=digest) as source:
        yield records_of(source, path, options, with_texts=with_texts)
        note_digest(path, source.digest())


def records_of(
    source: ByteSource,
    path: str | os.PathLike[str],
    options: ReadOptions,
    *,
    with_texts: bool = False,
) -> Records:
    """Return the records of a file that is open; its path implies the delimiter."""
    if options.encoding is not None:
        source.transcode(options.encoding)
    delimiter = options.delimiter or default_delimiter(path)
    header = read_header(
        source,
        source.name,
        delimiter,
        delimiter_given=options.delimiter_given,
        strip=options.strip,
    )
    return records_after(header, source, delimiter, with_texts=with_texts)


def records_after(
    header: Header,
    source: ByteSource,
    delimiter: str,
    *,
    errors: str = "strict",
    with_texts: bool = False,
) -> Records:
    """Return the records after a header; `errors` says what becomes of bytes that are not UTF-8."""
    bytes_left = io.BufferedReader(_Rest(header.rest, source))
    text = io.TextIOWrapper(bytes_left, encoding="utf-8", errors=errors, newline="")
    texts: deque[str] | None = deque() if with_texts else None
    rows = _rows(text, delimiter, header.next_line, len(header.names), source.name, texts)
    as_it_stands = header.text.decode("utf-8", errors)
    return Records(
        source.name, header.names, rows, delimiter=delimiter, header=as_it_stands, texts=texts
    )


def _stored_rows(table: ParquetTable) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a Parquet table as they would be in a CSV file."""
    na = table.options.na_tokens
    nothing = "" if "" in na else next(iter(na), "")
    cells_of = (
        cells for batch in texts_of(table, table.names) for cells in zip(*batch, strict=True)
    )
    for row, cells in enumerate(cells_of, start=1):
        yield row, [nothing if cell is None else cell for cell in cells]


class _Rest(io.RawIOBase):
    """What was read beyond the header, then the rest of the source."""

    def __init__(self, start: bytes, source: ByteSource) -> None:
        self._start = start
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object, /) -> int:
        with memoryview(buffer) as view:  # type: ignore[arg-type]
            if not self._start:
                return self._source.readinto(view)
            size = min(len(view), len(self._start))
            view[:size] = self._start[:size]
            self._start = self._start[size:]
            return size


class _Lines:
    """The lines of a text, counted; a record that takes too many is refused."""

    def __init__(self, text: io.TextIOWrapper, first_line: int, where: str) -> None:
        self._text = text
        self._where = where
        self.next_line = self._record_line = first_line
        self._left = RECORD_LIMIT
        self.ended = False
        self.taken: list[str] | None = None
        """The lines of the record, if they are kept."""

    def begin_record(self) -> int:
        """Note that a record begins, and return its line."""
        self._record_line, self._left = self.next_line, RECORD_LIMIT
        if self.taken is not None:
            self.taken.clear()
        return self._record_line

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._text.readline(self._left + 1)
        if not line:
            self.ended = True
            raise StopIteration
        self._left -= len(line)
        if self._left < 0:
            raise DataError(
                f"{self._where}: line {self._record_line}: a record of more than "
                f"{RECORD_LIMIT >> 20} MiB; is a quote left open?"
            )
        self.next_line += 1
        if self.taken is not None:
            self.taken.append(line)
        return line


def _rows(
    text: io.TextIOWrapper,
    delimiter: str,
    first_line: int,
    width: int,
    where: str,
    texts: deque[str] | None,
) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(sys.maxsize)
    lines = _Lines(text, first_line, where)
    lines.taken = None if texts is None else []
    reader = csv.reader(lines, delimiter=delimiter)
    while True:
        line = lines.begin_record()
        try:
            fields = next(reader, None)
        except UnicodeDecodeError:
            raise DataError(
                f"{where}: about line {line}: not UTF-8; try {parameter('encoding', 'cp1252')} or "
                "latin-1"
            ) from None
        if fields is None:
            return
        # A record that asked for a line beyond the last one is within quotes.
        if lines.ended:
            raise DataError(f"{where}: line {line}: a quote opens here and is never closed")
        if not fields:
            continue
        if max(map(len, fields)) > FIELD_LIMIT:
            raise DataError(
                f"{where}: line {line}: a field of more than {FIELD_LIMIT >> 20} MiB; is a quote "
                "left open?"
            )
        if len(fields) != width:
            raise DataError(
                f"{where}: line {line}: {counted(len(fields), 'field')}, but the "
                f"header has {width}; quote fields that hold the delimiter"
            )
        if texts is not None and lines.taken is not None:
            texts.append("".join(lines.taken))
        yield line, fields
