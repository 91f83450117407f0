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
from itertools import islice
from typing import Any

import numpy as np

from gml.kernel.layout import (
    BAD_UTF8,
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
)
from gml.kernel.number import is_padded, parse_number

_LINE = re.compile("[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$")
_MISSING = -1
_CELLS: dict[int, type[Any]] = {
    CODES8: np.uint8,
    CODES16: np.uint16,
    CODES32: np.uint32,
    NUMBERS: np.float64,
}


class _Lines:
    """Physical lines of a text; CR, LF and CRLF each end one."""

    def __init__(self, text: str, end: int) -> None:
        self._found = _LINE.finditer(text, 0, end)
        self.given = self.characters = 0
        self.ended = False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        match = next(self._found, None)
        if match is None:
            self.ended = True
            raise StopIteration
        self.given += 1
        self.characters = match.end()
        return match[0]


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
        self.labels: list[str] = []
        self.cells: list[float] = []

    @property
    def cell_bytes(self) -> int:
        """Bytes of a cell in the kernel's form."""
        return CELL_BYTES[self._final_kind()]

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

    def _number(self, field: bytes) -> float | None:
        if self.spec.plain_numbers and is_padded(field.decode("utf-8", "replace")):
            return None
        return parse_number(field, self.decimal)

    def _store_number(self, field: bytes) -> int | None:
        value = self._number(field)
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
        values = [self._number(label) for label in (*self.codes, field)]
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

    def catch_up(self, leader: _Column) -> None:
        """Forget cells and labels, and begin with those that another column has."""
        self.kind = leader.kind
        self.codes = dict(leader.codes)
        self.cells = []

    def can_absorb(self, chunk: _Column) -> bool:
        """Whether the cells of a chunk can be taken over as they are, but for their codes."""
        if self.kind != chunk.kind:
            return False
        new = sum(label not in self.codes for label in chunk.codes)
        return not new or len(self.codes) + new <= self.spec.max_levels

    def absorb(self, chunk: _Column) -> None:
        """Take over the cells of a chunk."""
        if self.kind != CODES8:
            self.cells += chunk.cells
            return
        known = [self.codes.setdefault(label, len(self.codes)) for label in chunk.codes]
        self.cells += [_MISSING if cell == _MISSING else known[int(cell)] for cell in chunk.cells]

    def take(self) -> CsvColumn:
        """Return the cells since the last time in the kernel's form."""
        kind = self._final_kind()
        if kind == SKIP:
            return CsvColumn(SKIP, self.labels, None)
        new = islice(self.codes, len(self.labels), None)
        self.labels.extend(label.decode("utf-8") for label in new)
        if kind == OVERFLOW:
            return CsvColumn(OVERFLOW, self.labels, None)
        cells = np.array(self.cells, dtype=np.float64 if kind == NUMBERS else np.int64)
        self.cells = []
        return CsvColumn(kind, self.labels, cells.astype(_CELLS[kind]))

    def _final_kind(self) -> int:
        """Return the kind of the kernel's cells, which are as wide as the labels need."""
        return _kind(self.kind, len(self.codes))

    def kind_with(self, chunk: _Column) -> int:
        """Return what that would be with the labels of a chunk on top."""
        return _kind(self.kind, len(self.codes.keys() | chunk.codes.keys()))


def _kind(kind: int, n_labels: int) -> int:
    if kind != CODES8:
        return kind
    return CODES8 if n_labels <= 255 else CODES16 if n_labels <= 65535 else CODES32


class CsvReader:
    """Reads the records after a header; labels keep their codes when cells are taken."""

    def __init__(self, columns: list[ColumnSpec], dialect: CsvDialect, first_line: int) -> None:
        self._columns = [_Column(spec, dialect) for spec in columns]
        self._dialect = dialect
        self._line = self._line_taken = first_line
        self._failed = False
        self.n_rows = 0

    def expect(self, n_rows: int) -> None:
        """Room is made as it is needed."""

    def feed(self, block: bytearray, size: int, final: bool) -> int:
        """Read the whole records among the first bytes of a block; returns their bytes.

        What was not read comes again at the start of the next block. `final` says that no more
        bytes follow. The first thing that is wrong is raised as a CsvProblem, and ends the reader.
        """
        self._failed = True
        text = bytes(block[:size]).decode("latin-1")
        # A CR at the very end may be half of a CRLF, a line without an end half of a line.
        end = size if final else max(text.rfind("\n"), text.rfind("\r", 0, size - 1)) + 1
        lines = _Lines(text, end)
        csv.field_size_limit(sys.maxsize)
        given = characters = 0
        for record in csv.reader(lines, delimiter=self._dialect.delimiter):
            # Outside quotes no record needs a line beyond its own.
            if lines.ended and not final:
                break
            if record:
                _store_record(record, self._columns, self._dialect, self._line, lines.ended)
                if lines.characters - characters > self._dialect.record_limit:
                    raise CsvProblem(RECORD_TOO_LONG, self._line, 0, 0, b"")
                self.n_rows += 1
                self._limit_cells()
            self._line += lines.given - given
            given, characters = lines.given, lines.characters
        # A record that goes on may be as long as allowed, and a field of it twice that in quotes.
        most = self._dialect.record_limit + 2 * self._dialect.field_limit + 2
        if size - characters > most:
            raise CsvProblem(RECORD_TOO_LONG, self._line, 0, 0, b"")
        self._failed = False
        return characters

    def catch_up(self, leader: CsvReader) -> None:
        """Make ready for a chunk: without rows, with the labels and kinds of another reader."""
        self.n_rows = self._line = 0
        self._failed = False
        for column, led in zip(self._columns, leader._columns, strict=True):
            column.catch_up(led)

    def absorb(self, chunk: CsvReader) -> bool:
        """Take over the rows of a chunk that begins where this reader is.

        Returns whether that was possible; if not, the chunk is still to be fed to this reader.
        """
        pairs = list(zip(self._columns, chunk._columns, strict=True))
        if chunk._failed or not all(led.can_absorb(column) for led, column in pairs):
            return False
        limit = self._dialect.cells_limit
        if limit is not None:
            # Columns may have become wider: the first row that is too much is found by reading.
            row_bytes = sum(CELL_BYTES[led.kind_with(column)] for led, column in pairs)
            if (self.n_rows + chunk.n_rows) * row_bytes > limit:
                return False
        for led, column in pairs:
            led.absorb(column)
        self.n_rows += chunk.n_rows
        self._line += chunk._line
        return True

    def _limit_cells(self) -> None:
        limit = self._dialect.cells_limit
        if limit is not None and self.n_rows * sum(c.cell_bytes for c in self._columns) > limit:
            raise CsvProblem(TOO_MANY_ROWS, self._line, 0, self.n_rows, b"")

    def take(self) -> CsvResult:
        """Return the cells of all rows since the last time; lists of labels go on to grow."""
        columns = [column.take() for column in self._columns]
        found = CsvResult(self.n_rows, columns, self._line - self._line_taken)
        self.n_rows, self._line_taken = 0, self._line
        return found


def _store_record(
    record: list[str], columns: list[_Column], dialect: CsvDialect, line: int, unterminated: bool
) -> None:
    for j, text in enumerate(record):
        field = text.encode("latin-1")
        if len(field) > dialect.field_limit:
            raise CsvProblem(FIELD_TOO_LONG, line, j, 0, b"")
        if unterminated and j == len(record) - 1:
            raise CsvProblem(UNTERMINATED, line, j, 0, b"")
        if dialect.strip:
            field = field.strip(b" ")
        if j < len(columns):
            problem = columns[j].store(field)
            if problem is not None:
                raise CsvProblem(problem, line, j, 0, field[:64])
    if len(record) != len(columns):
        raise CsvProblem(RAGGED, line, 0, len(record), b"")
