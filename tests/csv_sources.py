"""What a CSV reader makes of bytes that come in pieces, in a form that can be compared."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from gml.kernel.layout import ColumnSpec, CsvDialect, CsvProblem


class Trickle:
    """A source that hands out its bytes in pieces; it knows its size, not at all, or wrongly."""

    def __init__(self, content: bytes, sizes: Sequence[int], size: int | None = None) -> None:
        self._stream = io.BytesIO(content)
        self._sizes = sizes or [1 << 20]
        self._turn = 0
        self.size = size

    def readinto(self, buffer: memoryview) -> int:
        wanted = self._sizes[self._turn % len(self._sizes)]
        self._turn += 1
        piece = self._stream.read(min(wanted, len(buffer)))
        buffer[: len(piece)] = piece
        return len(piece)


def outcome(
    kernel: Any, source: Trickle, specs: Sequence[ColumnSpec], dialect: CsvDialect, start: bytes
) -> tuple[Any, ...]:
    """Read what follows `start`; returns the columns, or the problem."""
    try:
        result = kernel.read_csv(source, start, 2, specs, dialect)
    except CsvProblem as problem:
        return ("problem", *problem.args)
    columns = []
    for column in result.columns:
        cells = None if column.cells is None else column.cells.tolist()
        dtype = None if column.cells is None else column.cells.dtype.str
        columns.append((column.kind, column.labels, dtype, repr(cells)))
    return ("read", result.n_rows, result.n_lines, columns)
