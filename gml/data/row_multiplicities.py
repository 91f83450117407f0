"""How many different rows occur how often, where rows are too many for memory.

Equal rows are counted once as they come, as long as the different ones fit into memory. Where they
do not, rows go into partitions of a temporary file by a hash of their cells, so that equal rows are
in the same one, and each partition is counted by itself.
"""

from __future__ import annotations

from collections import Counter as Multiset
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.data.block_file import BlockFile, Stored
from gml.data.row_groups import comparable, group_sums, multiplicities, row_bytes
from gml.progress import reporter
from gml.stopping import check_stopped

# A row, its count, its group and its place in the kernel's table, where some are looked at twice.
_COPIES, _BYTES_PER_ROW = 3, 48
# An odd number with about as many ones as zeros.
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class SomeRows(NamedTuple):
    """Cells of rows, column by column, and how often each row counts."""

    columns: Sequence[NDArray[Any]]
    weights: NDArray[np.int64] | None


def bytes_to_tell(rows: NDArray[np.uint8]) -> int:
    """The memory that it takes to tell so many rows apart."""
    return _COPIES * rows.size + _BYTES_PER_ROW * len(rows)


class RowTally:
    """The different rows of what comes, as bytes, and how often each counts; within a limit."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[tuple[NDArray[np.uint8], NDArray[np.int64]]] = []

    def add(self, rows: NDArray[np.uint8], weights: NDArray[np.int64] | None) -> bool:
        """Take in rows, as bytes; whether they fit."""
        check_stopped()
        self._parts.append(_distinct(rows, weights))
        waiting = sum(len(counts) for _, counts in self._parts[1:])
        if waiting > len(self._parts[0][1]):
            self._parts = [self.result()]
        return sum(bytes_to_tell(part) for part, _ in self._parts) <= self._limit

    def result(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The different rows so far, and how often each counts."""
        if len(self._parts) == 1:
            return self._parts[0]
        rows = np.concatenate([part for part, _ in self._parts])
        return _distinct(rows, np.concatenate([counts for _, counts in self._parts]))


def _distinct(
    rows: NDArray[np.uint8], weights: NDArray[np.int64] | None
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    groups = kernel.active().group_rows(rows, len(rows))
    assert groups is not None
    return rows[groups.firsts], group_sums(groups.of_row, len(groups.firsts), weights)


def row_multiplicities(
    chunks: Callable[[], Iterable[SomeRows]], limit: int, folder: str
) -> dict[int, int]:
    """Count how many different rows occur how often; `chunks` goes through all rows once.

    Examples
    --------
    >>> rows = SomeRows([np.array([1, 2, 1, 3], dtype=np.uint8)], None)
    >>> row_multiplicities(lambda: [rows, rows], 1 << 20, "/tmp")
    {2: 2, 4: 1}
    """
    found = RowTally(limit)
    size = width = 0
    fits = True
    for chunk in chunks():
        rows = _as_bytes(chunk)
        size, width = size + len(rows), max(width, rows.shape[1])
        fits = fits and found.add(rows, chunk.weights)
    if fits:
        return multiplicities(found.result()[1]) if size else {}
    del found
    n_parts = 2 * size * (_COPIES * width + _BYTES_PER_ROW) // limit + 1
    total: Multiset[int] = Multiset()
    for counts in _partitions(chunks, n_parts, folder):
        total.update(multiplicities(counts))
    return dict(sorted(total.items()))


def _as_bytes(chunk: SomeRows) -> NDArray[np.uint8]:
    return row_bytes([comparable(column) for column in chunk.columns])


def _partitions(
    chunks: Callable[[], Iterable[SomeRows]], n_parts: int, folder: str
) -> Iterator[NDArray[np.int64]]:
    """Yield how often each of the different rows of a partition counts, for each partition."""
    file = BlockFile(folder)
    try:
        stored: list[list[tuple[Stored, int, int, Stored | None]]] = [[] for _ in range(n_parts)]
        for chunk in chunks():
            rows = _as_bytes(chunk)
            part = _hashed(rows) % np.uint64(n_parts)
            order = np.argsort(part, kind="stable")
            ends = np.cumsum(np.bincount(part.astype(np.int64), minlength=n_parts))
            for k, (start, end) in enumerate(zip([0, *ends[:-1].tolist()], ends, strict=True)):
                if start == end:
                    continue
                check_stopped()
                at = order[start:end]
                weights = None if chunk.weights is None else file.write(chunk.weights[at])
                stored[k].append(
                    (file.write(rows[at].reshape(-1)), len(at), rows.shape[1], weights)
                )
        for done, blocks in enumerate(stored, start=1):
            found = RowTally(1 << 62)
            for cells, n_rows, width, weights in blocks:
                rows = file.read(cells, n_rows * width).reshape(n_rows, width)
                found.add(rows, None if weights is None else file.read(weights, n_rows))
            reporter().advance("looking for equal rows", done, n_parts)
            if blocks:
                yield found.result()[1]
    finally:
        file.close()


def _hashed(rows: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """A number for each row, the same for equal rows."""
    found = np.zeros(len(rows), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for k in range(rows.shape[1]):
            found = (found ^ rows[:, k]) * _MULTIPLIER
            found ^= found >> np.uint64(29)
    return found
