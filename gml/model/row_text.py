"""Drawn rows as CSV text: labels byte for byte, numbers as the shortest text that reads back.

Fields are quoted where `csv.writer` would quote them, lines end with a line feed, and a missing
cell is an empty field; where that would be an empty line, which readers skip, it is written `""`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.data.dataset import Variable, code_type
from gml.data.safe_cells import cell
from gml.errors import CannotAnswer, DataError, csv_record, quote

_NUMBER_BYTES = 25
"""The longest number, -2.2250738585072014e-308, and a delimiter."""


class RowWriter(Protocol):
    """Turns columns into text."""

    header: bytes
    row_bytes: int
    """No row is longer."""

    def new_buffer(self, n_rows: int) -> bytearray:
        """Memory for the text of some rows."""

    def text(
        self, columns: list[NDArray[Any]], weights: NDArray[np.float64] | None, buffer: bytearray
    ) -> memoryview:
        """Return the rows as text, which may lie in the buffer."""


def row_writer(
    variables: Sequence[Variable], weight: str | None = None, *, safe_csv: bool = False
) -> RowWriter:
    """Return what writes rows of these variables, and in a last column their weights.

    `gml.data.safe_cells` says what `safe_csv` does.
    """
    names = [variable.name for variable in variables] + ([] if weight is None else [weight])
    header = b",".join(_field(cell(name, safe_csv), alone=len(names) == 1) for name in names)
    header += b"\n"
    if any(variable.levels is None for variable in variables):
        if any(variable.levels is not None for variable in variables):
            return _MixedWriter(variables, header, safe_csv=safe_csv)
        return _NumberWriter([variable.name for variable in variables], header)
    levels = [[cell(level, safe_csv) for level in variable.levels or ()] for variable in variables]
    return _LabelWriter(levels, header, weight)


def _field(label: str, *, alone: bool) -> bytes:
    """Return a label as a field; `alone` if it is the only one of its line."""
    if label or alone:
        label = csv_record([label])
    try:
        return label.encode("utf-8")
    except UnicodeEncodeError:
        raise DataError(f"{quote(label)} is not text that UTF-8 can hold") from None


class _LabelWriter:
    """Columns of codes."""

    def __init__(
        self, levels: Sequence[Sequence[str]], header: bytes, weight: str | None = None
    ) -> None:
        alone = len(levels) == 1 and weight is None
        self.header = header
        self._fields = []
        for j, labels in enumerate(levels):
            end = b"\n" if j == len(levels) - 1 and weight is None else b","
            self._fields.append([_field(label, alone=alone) + end for label in (*labels, "")])
        self._writer = kernel.active().CsvWriter(self._fields)
        self.row_bytes = self._writer.row_bytes + (0 if weight is None else _NUMBER_BYTES)

    def new_buffer(self, n_rows: int) -> bytearray:
        return bytearray(self._writer.room(n_rows) + _NUMBER_BYTES * n_rows)

    def text(
        self, columns: list[NDArray[Any]], weights: NDArray[np.float64] | None, buffer: bytearray
    ) -> memoryview:
        writer = self._writer
        if weights is not None:
            # There are few distinct weights: they are levels of one more column.
            distinct, codes = np.unique(weights, return_inverse=True)
            texts = [f"{weight!r}\n".encode() for weight in distinct.tolist()]
            writer = kernel.active().CsvWriter([*self._fields, [*texts, b"\n"]])
            columns = [*columns, codes.reshape(-1).astype(code_type(len(texts)))]
        return memoryview(buffer)[: writer.write(columns, buffer)]


class _MixedWriter:
    """Columns of codes and of numbers."""

    def __init__(self, variables: Sequence[Variable], header: bytes, *, safe_csv: bool) -> None:
        self.header = header
        self._variables = variables
        self._fields = [
            [
                _field(cell(label, safe_csv), alone=False).decode("utf-8")
                for label in (*(variable.levels or ()), "")
            ]
            for variable in variables
        ]
        longest = (max(len(text.encode()) + 1 for text in texts) for texts in self._fields)
        self.row_bytes = sum(max(_NUMBER_BYTES, size) for size in longest) + _NUMBER_BYTES

    def new_buffer(self, n_rows: int) -> bytearray:
        return bytearray()

    def text(
        self, columns: list[NDArray[Any]], weights: NDArray[np.float64] | None, buffer: bytearray
    ) -> memoryview:
        texts = []
        for variable, fields, column in zip(self._variables, self._fields, columns, strict=True):
            if variable.levels is None:
                _require_finite(variable.name, column)
                texts.append(_numbers(column))
            else:
                # The code of a missing cell is beyond all levels.
                codes = np.minimum(column, len(fields) - 1).tolist()
                texts.append([fields[code] for code in codes])
        if weights is not None:
            texts.append(_numbers(weights))
        lines = map(",".join, zip(*texts, strict=True))
        return memoryview("".join(f"{line}\n" for line in lines).encode("utf-8"))


def _numbers(column: NDArray[np.float64]) -> list[str]:
    """The text of each number, made in one go; none where it is missing."""
    if len(column) == 0:
        return []
    return repr(column.tolist())[1:-1].replace("nan", "").split(", ")


def _require_finite(name: str, column: NDArray[np.float64]) -> None:
    if np.isinf(column).any():
        raise CannotAnswer(f"node {quote(name)}: a number beyond 1.8e308 was drawn")


class _NumberWriter:
    """Columns of numbers."""

    def __init__(self, names: Sequence[str], header: bytes) -> None:
        self.header = header
        self.row_bytes = _NUMBER_BYTES * (len(names) + 1)
        self._names = names

    def new_buffer(self, n_rows: int) -> bytearray:
        return bytearray()

    def text(
        self, columns: list[NDArray[Any]], weights: NDArray[np.float64] | None, buffer: bytearray
    ) -> memoryview:
        for name, column in zip(self._names, columns, strict=True):
            _require_finite(name, column)
        table = columns if weights is None else [*columns, weights]
        # Except for its brackets, the text of a list of lists of numbers is CSV, made in one go.
        text = repr(np.column_stack(table).tolist())[2:-2]
        text = text.replace("], [", "\n").replace(", ", ",")
        text = text.replace("nan", '""' if len(table) == 1 else "")
        return memoryview(f"{text}\n".encode())
