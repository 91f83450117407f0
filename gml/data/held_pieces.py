"""Pieces of a table that are held in memory, and turn out to be all of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import missing_code, missing_mask
from gml.data.number_summary import numbers_of_labels
from gml.kernel.layout import CODES16, CODES32, NUMBERS, OVERFLOW, SKIP, CsvColumn, CsvResult

_TYPES = {CODES16: np.uint16, CODES32: np.uint32, NUMBERS: np.float64}


class HeldPieces:
    """Takes in pieces one by one, and counts their bytes."""

    def __init__(self, decimal: str) -> None:
        self._decimal = decimal
        self._sizes: list[tuple[int, int]] = []
        self._columns: list[list[CsvColumn]] = []
        self.n_bytes = 0

    def append(self, piece: CsvResult) -> None:
        """Hold a piece, which is the next one of its table."""
        if not self._columns:
            self._columns = [[] for _ in piece.columns]
        for held, column in zip(self._columns, piece.columns, strict=True):
            held.append(column)
            self.n_bytes += 0 if column.cells is None else column.cells.nbytes
        self._sizes.append((piece.n_rows, piece.n_lines))

    def handed_over(self) -> Iterator[CsvResult]:
        """Yield the pieces again, and hold each no longer."""
        for n_rows, n_lines in self._sizes:
            yield CsvResult(n_rows, [held.pop(0) for held in self._columns], n_lines)

    def joined(self) -> CsvResult:
        """Return all pieces as one, and hold none any more: a column is in memory twice at most."""
        columns = []
        while self._columns:
            columns.append(_joined(self._columns.pop(0), self._decimal))
        n_rows, n_lines = map(sum, zip(*self._sizes, strict=True))
        return CsvResult(n_rows, columns, n_lines)


def _joined(parts: list[CsvColumn], decimal: str) -> CsvColumn:
    last = parts[-1]
    if last.kind in (SKIP, OVERFLOW):
        return CsvColumn(last.kind, last.labels, None)
    dtype = np.dtype(_TYPES.get(last.kind, np.uint8))
    cells = [_as(part, dtype, decimal) for part in parts]
    return CsvColumn(last.kind, last.labels, cells[0] if len(cells) == 1 else np.concatenate(cells))


def _as(part: CsvColumn, dtype: np.dtype[Any], decimal: str) -> NDArray[Any]:
    """The cells of a piece, in the type of the last one."""
    assert part.cells is not None
    if part.cells.dtype == dtype:
        return part.cells
    gaps = missing_mask(part.cells)
    if dtype.kind == "f":
        numbers = numbers_of_labels(part.labels, decimal)
        return numbers[np.where(gaps, len(part.labels), part.cells.astype(np.int64))]
    wide = part.cells.astype(dtype)
    wide[gaps] = missing_code(wide)
    return wide
