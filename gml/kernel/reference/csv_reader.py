"""CSV bytes to codes by the standard library's csv module: the definition of what is read.

Bytes are mapped one to one to characters (Latin-1), so that the csv module splits them exactly as
it would split text; fields are then decoded as UTF-8. Stricter than the module in one point: a
quote that is never closed is an error.
"""

from __future__ import annotations

import csv
import math
import re
import sys
from collections.abc import Iterator

import numpy as np

from gml.kernel.layout import (
    BAD_UTF8,
    BLOCK_BYTES,
    CELL_BYTES,
    CODES8,
    CODES16,
    CODES32,
    FIELD_TOO_LONG,
    NOT_A_COUNT,
    NOT_A_NUMBER,
    NUMBERS,
    OVERFLOW,
    RAGGED,
    RECORD_TOO_LONG,
    SKIP,
    TOO_MANY_ROWS,
    UNDECLARED,
    UNTERMINATED,
    ColumnSpec,
    CsvColumn,
    CsvDialect,
    CsvProblem,
    CsvResult,
    Source,
)
from gml.kernel.number import parse_number

_LINE = re.compile("[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$")
_MISSING = -1


class _Lines:
    """Physical lines of a source, counted; CR, LF and CRLF each end one."""

    def __init__(self, source: Source, start: bytes, first_line: int) -> None:
        self._source = source
        self._pending = start.decode("latin-1")
        self.number = first_line - 1
        self.ended = False
        self.characters = 0

    def __iter__(self) -> Iterator[str]:
        buffer = bytearray(BLOCK_BYTES)
        final = False
        while not final:
            with memoryview(buffer) as room:
                got = self._source.readinto(room)
            final = got == 0
            self._pending += buffer[:got].decode("latin-1")
            # A CR at the very end may be half of a CRLF, a line without an end half of a line.
            whole = len(self._pending)
            if not final:
                whole = max(self._pending.rfind("\n"), self._pending.rfind("\r", 0, -1)) + 1
            for match in _LINE.finditer(self._pending, 0, whole):
                self.number += 1
                self.characters += len(match[0])
                yield match[0]
            self._pending = self._pending[whole:]
        self.ended = True


class _Column:
    """Labels and cells of one column, as far as they were read."""

    def __init__(self, spec: ColumnSpec, dialect: CsvDialect) -> None:
        self.spec = spec
        self.kind = spec.kind
        self.decimal = dialect.decimal
        self.na = {token.strip(" ").encode() for token in dialect.na}
        self.codes: dict[bytes, int] = {}
        for label in spec.declared or spec.known:
            self.codes[label.encode()] = len(self.codes)
        self.cells: list[float] = []

    def store(self, field: bytes) -> int | None:
        """Append a cell; return what is wrong with it."""
        if self.kind in (SKIP, OVERFLOW):
            return None
        if self.kind == NUMBERS:
            return self._store_number(field)
        code = self.codes.get(field)
        if code is None:
            if field.strip(b" ") in self.na:
                self.cells.append(_MISSING)
                return None
            try:
                field.decode("utf-8")
            except UnicodeDecodeError:
                return BAD_UTF8
            if self.spec.declared is not None:
                return UNDECLARED
            if len(self.codes) >= self.spec.max_levels:
                return self._overflow(field)
            code = self.codes[field] = len(self.codes)
        self.cells.append(code)
        return None

    def _store_number(self, field: bytes) -> int | None:
        value = parse_number(field, self.decimal)
        if field.strip(b" ") in self.na:
            value = float("nan")
        if value is None:
            try:
                field.decode("utf-8")
            except UnicodeDecodeError:
                return BAD_UTF8
            return NOT_A_NUMBER
        if self.spec.counts and not (0 <= value < 2**53 and value == math.floor(value)):
            return NOT_A_COUNT
        self.cells.append(value)
        return None

    def _overflow(self, field: bytes) -> int | None:
        values = [parse_number(label, self.decimal) for label in (*self.codes, field)]
        if self.spec.numbers_on_overflow and None not in values:
            known = [float("nan") if value is None else value for value in values]
            self.cells = [
                float("nan") if code == _MISSING else known[int(code)] for code in self.cells
            ]
            self.kind = NUMBERS
            return self._store_number(field)
        self.kind = OVERFLOW
        self.cells = []
        return None

    def result(self) -> CsvColumn:
        """Return the column in the kernel's form."""
        labels = [label.decode("utf-8") for label in self.codes]
        if self.kind == SKIP:
            return CsvColumn(SKIP, [], None)
        if self.kind == OVERFLOW:
            return CsvColumn(OVERFLOW, labels, None)
        if self.kind == NUMBERS:
            return CsvColumn(NUMBERS, labels, np.array(self.cells, dtype=np.float64))
        codes = np.array(self.cells, dtype=np.int64)
        if len(labels) <= 255:
            return CsvColumn(CODES8, labels, codes.astype(np.uint8))
        if len(labels) <= 65535:
            return CsvColumn(CODES16, labels, codes.astype(np.uint16))
        return CsvColumn(CODES32, labels, codes.astype(np.uint32))


def read_csv(
    source: Source, start: bytes, first_line: int, columns: list[ColumnSpec], dialect: CsvDialect
) -> CsvResult:
    """Read the records after the header; see gml.kernel.layout for the types."""
    lines = _Lines(source, start, first_line)
    csv.field_size_limit(sys.maxsize)
    reader = csv.reader(iter(lines), delimiter=dialect.delimiter)
    read = [_Column(spec, dialect) for spec in columns]
    n_rows, limit = 0, dialect.cells_limit
    line, characters = first_line, 0
    for record in reader:
        if record:
            # Outside quotes no record needs a line beyond its own.
            _store_record(record, read, dialect, line, lines.ended)
            if lines.characters - characters > dialect.record_limit:
                raise CsvProblem(RECORD_TOO_LONG, line, 0, 0, b"")
            n_rows += 1
        if limit is not None and n_rows * sum(CELL_BYTES[column.kind] for column in read) > limit:
            raise CsvProblem(TOO_MANY_ROWS, line, 0, n_rows, b"")
        line, characters = lines.number + 1, lines.characters
    n_lines = lines.number - first_line + 1
    return CsvResult(n_rows, [column.result() for column in read], n_lines)


def _store_record(
    record: list[str], columns: list[_Column], dialect: CsvDialect, line: int, unterminated: bool
) -> None:
    for j, text in enumerate(record):
        field = text.encode("latin-1")
        if len(field) > dialect.field_limit:
            raise CsvProblem(FIELD_TOO_LONG, line, j, 0, b"")
        if unterminated and j == len(record) - 1:
            raise CsvProblem(UNTERMINATED, line, j, 0, b"")
        if j < len(columns):
            problem = columns[j].store(field)
            if problem is not None:
                raise CsvProblem(problem, line, j, 0, field[:64])
    if len(record) != len(columns):
        raise CsvProblem(RAGGED, line, 0, len(record), b"")
