"""The first record of a CSV file: the names of its columns."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, islice
from typing import NamedTuple

from gml.data.not_tables import looks_binary, refuse_graph
from gml.errors import DataError, counted, listing, parameter, quote
from gml.kernel.layout import BLOCK_BYTES
from gml.kernel.layout import Source as BytesIn
from gml.kernel.number import number_of
from gml.progress import reporter

_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_MAX_HEADER = 1 << 24
_MAX_NAME = 1 << 20
_MAX_COLUMNS = 1_000_000
_EXCEL_LINE = re.compile(r"sep=([,;\t|])[,;\t| ]*", re.IGNORECASE)
_INDEX_AND_COLUMN = 2
# How far a header is looked for below titles.
_MOST_TITLES, _LOOKED_AT = 20, 1 << 16


class Header(NamedTuple):
    """Names of the columns, the bytes read beyond the header, and the line they start on."""

    names: list[str]
    rest: bytes
    next_line: int
    text: bytes
    """The record as it stands in the file, after its byte order mark, if there is one."""


def read_header(
    source: BytesIn,
    name: str,
    delimiter: str,
    *,
    delimiter_given: bool | str = False,
    strip: bool = False,
) -> Header:
    """Read the first record that is not blank.

    One name with semicolons or tabs in it is refused unless the delimiter was given; so is a file
    that begins like a graph. Where something else than an option gives it, as a schema that is
    named, a name with commas is refused, too.

    If the bytes so far are not enough, they are looked at again when there are twice as many, so
    that a long header costs no more than a few times its length.
    """
    data, mark = bytearray(), b""
    buffer = bytearray(BLOCK_BYTES)
    final = False
    enough = 0
    while not final:
        with memoryview(buffer) as room:
            got = source.readinto(room)
        final = got == 0
        first = not data
        data += buffer[:got]
        if first and data.startswith(_BOM):
            mark = _BOM
            del data[: len(_BOM)]
        if data.startswith(_UTF16_BOMS):
            say = parameter("encoding", "utf-16")
            raise DataError(f"{name}: looks like UTF-16; say {say}")
        if first:
            refuse_graph(bytes(data), name)
        if len(data) < enough and not final:
            continue
        enough = min(2 * len(data), _MAX_HEADER + 1)
        found = _first_record(data.decode("latin-1"), delimiter, final, name)
        if found is not None:
            record, consumed, lines = found
            names = [_decode(field.encode("latin-1"), name, bytes(data)) for field in record]
            _refuse_delimiter_line(names, delimiter, name)
            _look_for_delimiter(names, delimiter, delimiter_given, name)
            _refuse_title(names, bytes(data[consumed:]), lines + 1, delimiter, name)
            names = [name.strip(" ") for name in names] if strip else names
            return Header(names, bytes(data[consumed:]), lines + 1, mark + bytes(data[:consumed]))
        if len(data) > _MAX_HEADER:
            raise DataError(f"{name}: line 1: the header is longer than {_MAX_HEADER >> 20} MiB")
    raise DataError(f"{name}: the file is empty: there is no header")


def _first_record(
    text: str, delimiter: str, final: bool, name: str
) -> tuple[list[str], int, int] | None:
    """Return the first record that is not blank, characters and lines used; None = need more."""
    exhausted = False

    def end() -> Iterator[str]:
        nonlocal exhausted
        exhausted = True
        yield from ()

    physical = io.StringIO(text, newline="")
    reader = csv.reader(chain(physical, end()), delimiter=delimiter)
    limit = csv.field_size_limit(_MAX_NAME)
    try:
        record = next(filter(None, reader), None)
    except csv.Error:
        raise DataError(
            f"{name}: line 1: a name in the header is longer than {_MAX_NAME >> 20} MiB"
        ) from None
    finally:
        csv.field_size_limit(limit)
    if record is None or (exhausted and not final):
        return None
    if exhausted:
        raise DataError(f"{name}: line 1: a quote in the header is never closed")
    consumed = physical.tell()
    # More bytes may belong to the last line, or to its line end.
    if not final and consumed == len(text) and text[-1] != "\n":
        return None
    if len(record) > _MAX_COLUMNS:
        raise DataError(f"{name}: line 1: {len(record)} columns; the limit is {_MAX_COLUMNS}")
    return record, consumed, reader.line_num


def _decode(field: bytes, name: str, start: bytes) -> str:
    try:
        return field.decode("utf-8")
    except UnicodeDecodeError as error:
        if looks_binary(start):
            raise DataError(f"{name}: this is not a text file") from None
        byte = field[error.start]
        raise DataError(
            f"{name}: line 1: byte 0x{byte:02x} in the header is not UTF-8; "
            f"try {parameter('encoding', 'cp1252')} or latin-1"
        ) from None


def _refuse_delimiter_line(names: list[str], delimiter: str, where: str) -> None:
    """Refuse the line by which Excel is told the delimiter, which is no header."""
    found = _EXCEL_LINE.fullmatch(delimiter.join(names))
    if found is not None:
        option = "tab" if found[1] == "\t" else found[1]
        raise DataError(
            f"{where}: line 1: {quote(found[0].rstrip(delimiter))} tells Excel the delimiter and "
            f"is no header; take the line out (tail -n +2) and say {parameter('delimiter', option)}"
        )


def _refuse_title(
    names: list[str], rest: bytes, next_line: int, delimiter: str, where: str
) -> None:
    """Refuse rows of titles above the header, if the header is found below them, above numbers."""
    named = [name for name in names if name.strip()]
    if len(named) > 1 or len(names) == _INDEX_AND_COLUMN:
        # A table that pandas writes has an index without a name.
        return
    text = rest[:_LOOKED_AT].decode("utf-8", "replace")
    reader = csv.reader(io.StringIO(text), delimiter=delimiter)
    header: tuple[int, list[str]] | None = None
    for row in islice(_readable(reader), _MOST_TITLES):
        words = [number_of(field, ".") is None for field in row]
        if header is not None and len(row) == len(header[1]) and not all(words):
            line, columns = header
            raise DataError(
                f"{where}: line 1 has {counted(len(named), 'name')}, and line {line} "
                f"{counted(len(columns), 'field')}: {listing(columns)}; if that is the header, "
                f"take out what stands above it (tail -n +{line})"
            )
        if len(row) > 1 and len(row) >= len(names) and all(words) and all(map(str.strip, row)):
            header = next_line + reader.line_num - 1, row


def _readable(records: Iterator[list[str]]) -> Iterator[list[str]]:
    """The records up to one that is too long to be looked at."""
    with suppress(csv.Error):
        yield from records


def _look_for_delimiter(names: list[str], delimiter: str, given: bool | str, where: str) -> None:
    """Refuse what looks like several names in one; commas in a file of tabs are only a warning."""
    if given is True or len(names) != 1:
        return
    for other, option in ((";", ";"), ("\t", "tab"), (",", ",")):
        if other != delimiter and other in names[0]:
            found = f"the header is one column, {quote(names[0])}"
            if other == "," and not given:
                reporter().warn(f"{found}; did you mean {parameter('delimiter', option)}?")
                return
            own = parameter("delimiter", "tab" if delimiter == "\t" else delimiter)
            if given:
                found += f", where {given} says that {quote(delimiter)} divides columns"
            raise DataError(
                f"{where}: line 1: {found}; say {parameter('delimiter', option)} to split it, or "
                f"{own} if it is one column"
            )
