"""Coded columns as CSV text."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray


class CsvWriter:
    """Writes coded columns as CSV text.

    `fields` has for each column the bytes that its levels, and after them a missing cell, are
    written as, delimiter or line end included.
    """

    def __init__(self, fields: list[list[bytes]]) -> None:
        self._fields = fields
        self.row_bytes = sum(max(map(len, texts)) for texts in fields)

    def room(self, n_rows: int) -> int:
        """Bytes that a buffer for so many rows has."""
        return n_rows * self.row_bytes

    def write(self, columns: list[NDArray[Any]], buffer: bytearray) -> int:
        """Write the rows into the buffer and return the number of bytes."""
        texts = [
            [fields[min(code, len(fields) - 1)] for code in column.tolist()]
            for fields, column in zip(self._fields, columns, strict=True)
        ]
        text = b"".join(field for row in zip(*texts, strict=True) for field in row)
        if len(text) > len(buffer):
            raise ValueError("the buffer is too small")
        buffer[: len(text)] = text
        return len(text)
