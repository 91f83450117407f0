"""The cells of a CSV file after its header: all at once, or in pieces of bounded size.

Blocks of bytes go to the kernel's reader, which reads the whole records among them; what is left of
a block comes again in front of the next one. So a piece ends where a record ends, whatever the
record holds, and problems have the lines of the whole file.
"""

from __future__ import annotations

from collections.abc import Iterator

from gml import kernel
from gml.kernel.interface import CsvReader
from gml.kernel.layout import (
    BLOCK_BYTES,
    READ_AHEAD,
    ColumnSpec,
    CsvDialect,
    CsvResult,
    Source,
)

# Rows are expected to be as long as those of the first block, and a few more to come.
_MORE_ROWS = 1.02
_FEW_ROWS = 1024


def read_cells(
    source: Source, start: bytes, first_line: int, specs: list[ColumnSpec], dialect: CsvDialect
) -> CsvResult:
    """Read what follows a header: `start`, then the source; see gml.kernel.layout for the types."""
    reader = kernel.active().CsvReader(specs, dialect, first_line)
    size, is_first = source.size, True
    for consumed in _fed(reader, _Joined(start, source), BLOCK_BYTES):
        if is_first and size and consumed:
            reader.expect(int(_MORE_ROWS * size / consumed * reader.n_rows) + _FEW_ROWS)
            is_first = False
    return reader.take()


def cell_pieces(
    source: Source,
    start: bytes,
    first_line: int,
    specs: list[ColumnSpec],
    dialect: CsvDialect,
    *,
    piece_bytes: int,
) -> Iterator[CsvResult]:
    """Yield the same in pieces of at most so many bytes of text, or twice as many as a record has.

    A cell takes at most eight bytes, and so a piece at most eight times its text. The last piece
    may be without rows; there is always one.
    """
    reader = kernel.active().CsvReader(specs, dialect, first_line)
    block_bytes = min(piece_bytes, BLOCK_BYTES)
    held = 0
    for consumed in _fed(reader, _Joined(start, source), block_bytes):
        held += consumed
        if held + block_bytes > piece_bytes and reader.n_rows:
            yield reader.take()
            held = 0
    yield reader.take()


def _fed(reader: CsvReader, source: _Joined, block_bytes: int) -> Iterator[int]:
    """Feed a reader to the end; yields how many bytes it has taken in after each block."""
    buffer = bytearray(block_bytes + READ_AHEAD)
    size, final = 0, False
    while not final:
        # A record that fills the block is looked at again when there is twice as much of it.
        capacity = max(block_bytes, 2 * size)
        if len(buffer) < capacity + READ_AHEAD:
            buffer.extend(bytes(capacity + READ_AHEAD - len(buffer)))
        with memoryview(buffer) as view, view[size:capacity] as room:
            got = source.readinto(room)
        final = got == 0
        size += got
        consumed = reader.feed(buffer, size, final)
        buffer[: size - consumed] = buffer[consumed:size]
        size -= consumed
        yield consumed


class _Joined:
    """What was read of a source already, then the rest of it."""

    def __init__(self, start: bytes, source: Source) -> None:
        self._start = memoryview(start)
        self._source = source

    def readinto(self, buffer: memoryview) -> int:
        """Fill the buffer as far as possible; 0 at the end."""
        if not self._start:
            return self._source.readinto(buffer)
        size = min(len(buffer), len(self._start))
        buffer[:size] = self._start[:size]
        self._start = self._start[size:]
        return size
