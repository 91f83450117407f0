"""Records of a CSV file as text, one after the other: for rows that are passed on as they are."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from gml.data.header import read_header
from gml.data.options import ReadOptions
from gml.data.reading import default_delimiter
from gml.data.source import ByteSource, open_source
from gml.errors import DataError


class Records(NamedTuple):
    """The name of the file for messages, its columns, and (line, fields) of each record."""

    where: str
    names: list[str]
    rows: Iterator[tuple[int, list[str]]]


@contextmanager
def open_records(path: str | os.PathLike[str], options: ReadOptions) -> Iterator[Records]:
    """Open a CSV file, compressed or not, or `-` for standard input; memory stays flat."""
    with open_source(path) as source:
        if options.encoding is not None:
            source.transcode(options.encoding)
        delimiter = options.delimiter or default_delimiter(path)
        header = read_header(source, source.name, delimiter)
        bytes_left = io.BufferedReader(_Rest(header.rest, source))
        text = io.TextIOWrapper(bytes_left, encoding="utf-8", newline="")
        rows = _rows(text, delimiter, header.next_line, len(header.names), source.name)
        yield Records(source.name, header.names, rows)


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


def _rows(
    text: io.TextIOWrapper, delimiter: str, first_line: int, width: int, where: str
) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(sys.maxsize)
    reader = csv.reader(text, delimiter=delimiter)
    try:
        for fields in reader:
            if not fields:
                continue
            line = first_line + reader.line_num - 1
            if len(fields) != width:
                raise DataError(
                    f"{where}: line {line}: {len(fields)} field{'s' * (len(fields) != 1)}, but the "
                    f"header has {width}; quote fields that hold the delimiter"
                )
            yield line, fields
    except UnicodeDecodeError:
        line = first_line + reader.line_num
        raise DataError(
            f"{where}: about line {line}: not UTF-8; try --encoding cp1252 or latin-1"
        ) from None
