"""The cells of a CSV file after its header: all at once, or in pieces of bounded size.

A piece ends where the kernel's reader says that a record ends, whatever the record holds, and
problems have the lines of the whole file. The number of threads changes nothing but the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from gml import kernel
from gml.data.blocks import BLOCKS_PER_THREAD, Joined, feed_ahead, feed_all
from gml.kernel.layout import BLOCK_BYTES, ColumnSpec, CsvDialect, CsvResult, Source
from gml.resources import budget_in_force

# Rows are expected to be as long as those of the first block, and a few more to come.
_MORE_ROWS = 1.02
_FEW_ROWS = 1024
# Readers of columns with more labels would take too long to learn them from one another.
_MOST_SHARED = 65535
# One thread hands out blocks and collects rows: more readers than these would wait for it.
_MOST_THREADS = 8
# Of text that is read ahead: itself, and cells of eight bytes where every field is empty.
_BYTES_PER_BYTE = 9


def read_cells(
    source: Source,
    start: bytes,
    first_line: int,
    specs: list[ColumnSpec],
    dialect: CsvDialect,
    *,
    threads: int = 1,
) -> CsvResult:
    """Read what follows a header: `start`, then the source; see gml.kernel.layout for the types."""
    cells = _Cells(source, start, first_line, specs, dialect)
    size = source.size
    for consumed in cells.feed(BLOCK_BYTES, threads):
        if size and consumed:
            expected = int(_MORE_ROWS * size / consumed * cells.reader.n_rows)
            cells.reader.expect(expected + _FEW_ROWS)
            size = None
    return cells.reader.take()


def cell_pieces(
    source: Source,
    start: bytes,
    first_line: int,
    specs: list[ColumnSpec],
    dialect: CsvDialect,
    *,
    piece_bytes: int,
    threads: int = 1,
) -> Iterator[CsvResult]:
    """Yield the same in pieces of at most so many bytes of text, or twice as many as a record has.

    A cell takes at most eight bytes, and so a piece at most eight times its text. The last piece
    may be without rows; there is always one.
    """
    cells = _Cells(source, start, first_line, specs, dialect)
    block_bytes = min(piece_bytes, BLOCK_BYTES)
    held = 0
    # Numbers that are labels as long as there are few have as many of them as they may until then.
    alone = max((spec.max_levels + 1 for spec in specs if spec.numbers_on_overflow), default=0)
    for consumed in cells.feed(block_bytes, threads, rows_alone=alone):
        held += consumed
        if held + block_bytes > piece_bytes and cells.reader.n_rows:
            yield cells.reader.take()
            held = 0
    yield cells.reader.take()


class _Cells:
    """A reader, and what it is to read."""

    def __init__(
        self,
        source: Source,
        start: bytes,
        first_line: int,
        specs: list[ColumnSpec],
        dialect: CsvDialect,
    ) -> None:
        self._new_reader = partial(kernel.active().CsvReader, specs, dialect)
        self._source = Joined(start, source)
        self._in_threads = all(spec.max_levels <= _MOST_SHARED for spec in specs)
        self.reader = self._new_reader(first_line)

    def feed(self, block_bytes: int, threads: int, *, rows_alone: int = 0) -> Iterator[int]:
        """Have everything read; yields how many bytes were after each step."""
        affordable = budget_in_force() // (BLOCKS_PER_THREAD * block_bytes * _BYTES_PER_BYTE)
        threads = min(threads, _MOST_THREADS, affordable)
        if threads <= 1 or not self._in_threads:
            return feed_all(self.reader, self._source, block_bytes)
        new_reader = partial(self._new_reader, 0)
        return feed_ahead(self.reader, self._source, block_bytes, threads, new_reader, rows_alone)
