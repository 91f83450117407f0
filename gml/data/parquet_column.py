"""A column of a Parquet file: batches of Arrow's values become codes of labels, or numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import code_type, missing_code
from gml.data.problems import NotANumber, TooManyRows, number_hint, undeclared
from gml.errors import CannotAnswer, DataError, parameter, quote
from gml.kernel.layout import (
    CODES8,
    CODES16,
    CODES32,
    NUMBERS,
    OVERFLOW,
    SKIP,
    ColumnSpec,
    CsvColumn,
)
from gml.progress import reporter
from gml.resources import budget_in_force, require_memory

# What the values of a column are.
TEXT, BYTES, NUMERIC, OTHER = range(4)

# A label as text, and its entry in the dictionary of codes.
_BYTES_PER_LABEL = 200


class Room:
    """The memory that reading a table takes, asked for as it grows."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._taken = 0
        # What is taken here is no longer free later.
        self.budget = budget_in_force()

    def take(self, n_bytes: int) -> None:
        """Refuse what is beyond the budget; a negative number gives memory back."""
        self._taken += n_bytes
        try:
            require_memory(
                self._taken,
                self.budget,
                self._what,
                f"; choose fewer columns with {parameter('columns')}",
            )
        except CannotAnswer as refused:
            raise TooManyRows(f"{refused}") from None


class _Refused(Exception):
    """What is wrong with a value."""


class ColumnBuilder:
    """The cells of one column, batch by batch; those so far can be taken out at any time.

    There is room for as many cells as the table has rows, unless the `capacity` is less.
    """

    def __init__(
        self,
        name: str,
        spec: ColumnSpec,
        na: set[str],
        encoding: str,
        n_rows: int,
        room: Room,
        *,
        capacity: int | None = None,
        names_rows: bool = True,
        strip: bool = False,
    ) -> None:
        """Make room for the cells of so many rows; messages name the rows if told to."""
        self._strip = strip
        self.name = name
        self._names_rows = names_rows
        self.spec = spec
        self._na = na
        self._encoding = encoding
        self._room = room
        self._n_rows = n_rows
        self._capacity = n_rows if capacity is None else min(n_rows, capacity)
        self._row = self._taken = 0
        self._first_row = 0
        self._where = ""
        self._kind = OTHER
        known = spec.declared or spec.known
        self._codes: dict[str, int] = {label: code for code, label in enumerate(known)}
        self._numbers = dict.fromkeys(self._codes.values(), np.nan)
        self._overflow = False
        is_numbers = spec.kind == NUMBERS
        self._cells = self._new_cells(np.float64 if is_numbers else code_type(len(known)))
        self._entries: Any = None
        self._table: NDArray[Any] = np.empty(0)
        self._seen: NDArray[np.bool_] = np.empty(0, dtype=np.bool_)

    def _new_cells(self, dtype: type[np.generic]) -> NDArray[Any]:
        self._room.take(self._capacity * np.dtype(dtype).itemsize)
        return np.empty(self._capacity, dtype=dtype)

    @property
    def _held(self) -> int:
        """The number of cells that were not taken out yet."""
        return self._row - self._taken

    def start_file(self, where: str, kind: int) -> None:
        """Continue with the values of the next file."""
        self._where, self._kind, self._first_row = where, kind, self._row
        self._entries = None

    @property
    def _is_numbers(self) -> bool:
        return self._cells.dtype.kind == "f"

    @property
    def _keeps_numbers(self) -> bool:
        """Whether the numbers that the labels spell may be needed."""
        return self.spec.numbers_on_overflow and self._kind == NUMERIC

    def append(self, values: Any) -> None:
        """Take in the cells of one batch."""
        if len(values) > self._n_rows - self._row:
            raise DataError(f"{self._where}: damaged: more rows than the file declares")
        if not self._overflow or self._is_numbers:
            numbers = self._plain_numbers(values) if self._is_numbers else None
            if numbers is None:
                self._append_by_entries(values)
            else:
                self._cells[self._held : self._held + len(values)] = numbers
        self._row += len(values)
        reporter().advance(f"reading {self._where}", self._row, self._n_rows)

    def _plain_numbers(self, values: Any) -> NDArray[np.float64] | None:
        """Numbers as stored, unless one needs a second look: infinite, or a missing token."""
        if self._kind != NUMERIC:
            return None
        found: NDArray[np.float64]
        found = values.to_numpy(zero_copy_only=False).astype(np.float64)
        gaps = int(np.isnan(found).sum())
        if np.isinf(found).any() or (gaps > values.null_count and "nan" not in self._na):
            return None
        if any((found == number).any() for number in map(_as_number, self._na)):
            return None
        return found

    def _append_by_entries(self, values: Any) -> None:
        """Take in cells through their distinct values; a dictionary may hold more than occur."""
        if not hasattr(values, "dictionary"):
            values = values.dictionary_encode()
        entries, indices = values.dictionary, values.indices
        if indices.null_count:
            indices = indices.cast("int64").fill_null(-1)
        at = indices.to_numpy(zero_copy_only=False)
        if len(at) and not -1 <= at.min() <= at.max() < len(entries):
            raise DataError(f"{self._where}: column {quote(self.name)}: damaged: no such value")
        if self._entries is None or not entries.equals(self._entries):
            self._entries = entries
            missing, dtype = (np.nan, np.float64) if self._is_numbers else (-1, np.int32)
            self._table = np.full(len(entries) + 1, missing, dtype=dtype)
            self._seen = np.zeros(len(entries) + 1, dtype=np.bool_)
            self._seen[-1] = True
        fresh = at[~self._seen[at]]
        if len(fresh):
            self._look_up(np.unique(fresh), at)
            if self._overflow and not self._is_numbers:
                if self._keeps_numbers:
                    self._become_numbers()
                    self._append_by_entries(values)
                return
        self._cells[self._held : self._held + len(at)] = self._table[at].astype(self._cells.dtype)

    def _look_up(self, fresh: NDArray[Any], at: NDArray[Any]) -> None:
        """Find what the new entries of a dictionary stand for."""
        n_labels, n_bytes = len(self._codes), 0
        for k in fresh.tolist():
            try:
                value = self._value(self._entries[k])
                if value is not None:
                    self._table[k] = (self._number if self._is_numbers else self._code)(value)
            except _Refused as refused:
                row = self._row - self._first_row + int(np.argmax(at == k)) + 1
                error = NotANumber if self._is_numbers else DataError
                of_row = f" row {row}:" if self._names_rows else ""
                raise error(
                    f"{self._where}:{of_row} column {quote(self.name)}: {refused}"
                ) from None
            if self._overflow and not self._is_numbers:
                return
            self._seen[k] = True
            n_bytes += len(value) if isinstance(value, str) else 0
        n_labels = len(self._codes) - n_labels
        if n_labels:
            self._room.take(n_labels * _BYTES_PER_LABEL + n_bytes)
        wide = code_type(len(self._codes))
        if not self._is_numbers and self._cells.itemsize < np.dtype(wide).itemsize:
            self._widen(wide)

    def _widen(self, wide: type[np.unsignedinteger[Any]]) -> None:
        cells = self._new_cells(wide)
        done, narrow = cells[: self._held], self._cells[: self._held]
        done[:] = narrow
        done[narrow == missing_code(narrow)] = missing_code(cells)
        self._replace_cells(cells)

    def _become_numbers(self) -> None:
        """Continue with the numbers that the labels so far stand for."""
        cells = self._new_cells(np.float64)
        numbers = np.full(int(np.iinfo(self._cells.dtype).max) + 1, np.nan)
        numbers[list(self._numbers)] = list(self._numbers.values())
        np.take(numbers, self._cells[: self._held], out=cells[: self._held], mode="clip")
        self._replace_cells(cells)
        self._entries = None

    def _replace_cells(self, cells: NDArray[Any]) -> None:
        self._room.take(-self._cells.nbytes)
        self._cells = cells

    def _value(self, entry: Any) -> Any:
        """Return a Python value, with text decoded; None if it is missing."""
        if not entry.is_valid:
            return None
        if self._kind in (TEXT, BYTES):
            return self._decoded(entry.as_buffer().to_pybytes())
        try:
            return entry.as_py()
        except (ValueError, OverflowError, ArithmeticError, LookupError) as error:
            # Years that Python's dates do not have, or unknown time zones.
            said = " ".join(str(error).split())
            raise _Refused(f"a value of type {entry.type} that has no text: {said}") from None

    def _decoded(self, value: bytes) -> str:
        encoding = "utf-8" if self._kind == TEXT else self._encoding
        try:
            text = value.decode(encoding)
            text.encode("utf-8")
        except UnicodeError:
            shown = quote(value[:100].decode("utf-8", "replace"))
            if self._kind == TEXT:
                raise _Refused(
                    f"{shown} is not UTF-8, which strings in Parquet are; store it as binary and "
                    f"name the {parameter('encoding')}"
                ) from None
            name = "UTF-8" if encoding == "utf-8" else encoding
            right = parameter("encoding")
            raise _Refused(f"{shown} is not {name}; name the right {right}") from None
        return text

    def _number(self, value: Any) -> float:
        if as_label(value).strip(" ") in self._na:
            return float("nan")
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = float("inf")
        if not np.isfinite(number):
            label = as_label(value)
            raise _Refused(f"{quote(label)} is not a number{number_hint(label)}")
        return number

    def _code(self, value: Any) -> int:
        number = self._number(value) if self._keeps_numbers else np.nan
        label = as_label(value)
        if self._strip:
            label = label.strip(" ")
        if label in self._codes:
            return self._codes[label]
        if label.strip(" ") in self._na:
            return -1
        if self.spec.declared is not None:
            raise _Refused(undeclared(label, self.spec.declared))
        code = len(self._codes)
        if code >= self.spec.max_levels:
            self._overflow = True
            return -1
        self._codes[label] = code
        if self._keeps_numbers:
            self._numbers[code] = number
        return code

    def result(self) -> CsvColumn:
        """Return the column in the kernel's form."""
        if self._row != self._n_rows:
            raise DataError(f"{self._where}: damaged: fewer rows than the file declares")
        return self.take()

    def take(self) -> CsvColumn:
        """Return the cells so far, and begin anew; labels keep their codes."""
        labels, cells = list(self._codes), self._cells[: self._held]
        self._taken = self._row
        if self._taken < self._n_rows:
            self._room.take(-self._cells.nbytes)
            self._cells = self._new_cells(self._cells.dtype.type)
        if self._is_numbers:
            return CsvColumn(NUMBERS, labels, cells)
        if self._overflow:
            return CsvColumn(OVERFLOW, labels, None)
        kind = {1: CODES8, 2: CODES16, 4: CODES32}[cells.itemsize]
        return CsvColumn(kind, labels, cells)


SKIPPED = CsvColumn(SKIP, [], None)


def _as_number(token: str) -> float:
    try:
        return float(token)
    except ValueError:
        return float("nan")


def as_label(value: Any) -> str:
    """A value as it would stand in a CSV file."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)
