"""Blocks of bytes on their way to the kernel's CSV reader: one after the other, or read ahead.

What a reader leaves of a block comes again in front of the next one.

With several threads, other readers read blocks ahead, each of which is cut at the end of a line and
taken to begin with a record. Where the block before it ends tells whether it does. If so, the first
reader takes over what was read (csv_chunks.h); otherwise, and wherever anything is wrong, it reads
the block itself. So labels in order of appearance, kinds of columns, problems and their lines are
those of one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gml.kernel.interface import CsvReader
from gml.kernel.layout import READ_AHEAD, CsvProblem, Source
from gml.kernel.pool import in_order

BLOCKS_PER_THREAD = 3
"""Blocks that are held at a time: two that are read ahead or were, and one that is being filled."""


class Joined:
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


class _Block:
    """Bytes with room for more; the room is used again and again."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._capacity = 0
        self._size = 0
        self.is_last = False

    def begin(self, start: bytes | bytearray, capacity: int) -> None:
        """Hold these bytes and no others, with room for so many in all."""
        self._capacity = max(capacity, len(start))
        missing = self._capacity + READ_AHEAD - len(self._bytes)
        if missing > 0:
            self._bytes.extend(bytes(missing))
        self._bytes[: len(start)] = start
        self._size = len(start)
        self.is_last = False

    @property
    def has_room(self) -> bool:
        """Whether more can be read."""
        return self._size < self._capacity and not self.is_last

    def read(self, source: Joined) -> None:
        """Read once; if nothing is left to read, this is the last block."""
        with memoryview(self._bytes) as view, view[self._size : self._capacity] as room:
            got = source.readinto(room)
        self._size += got
        self.is_last = got == 0

    def cut(self) -> bytearray | None:
        """Cut off and return what is behind the last line end; None if there is no such place."""
        end = self._bytes.rfind(b"\n", 0, self._size) + 1
        # A CR at the very end may be half of a CRLF.
        end = max(end, self._bytes.rfind(b"\r", end, max(end, self._size - 1)) + 1)
        if end == 0:
            return None
        tail = self._bytes[end : self._size]
        self._size = end
        return tail

    def feed(self, reader: CsvReader) -> int:
        """Have the records among the bytes read; returns how many bytes these are."""
        return reader.feed(self._bytes, self._size, self.is_last)

    def after(self, consumed: int) -> bytearray:
        """Return the bytes behind so many."""
        return self._bytes[consumed : self._size]


def feed_all(reader: CsvReader, source: Joined, block_bytes: int) -> Iterator[int]:
    """Feed a source to a reader; yields how many bytes it has taken in after each block."""
    block = _Block()
    left = bytearray()
    while not block.is_last:
        # A record that fills the block is looked at again when there is twice as much of it.
        block.begin(left, max(block_bytes, 2 * len(left)))
        block.read(source)
        consumed = block.feed(reader)
        left = block.after(consumed)
        yield consumed


class _Ahead:
    """A block, the reader that reads it ahead, and the bytes that it has taken in, if it could."""

    def __init__(self, reader: CsvReader) -> None:
        self.reader = reader
        self.block = _Block()
        self.wanted = False
        self.consumed: int | None = None

    def read(self) -> _Ahead:
        """Read the block, if there is a point in it; what is wrong is found by another reader."""
        self.consumed = None
        if self.wanted:
            try:
                self.consumed = self.block.feed(self.reader)
            except CsvProblem:
                self.wanted = False
        return self


class _Cutter:
    """Cuts a source into blocks that end at line ends."""

    def __init__(self, source: Joined, block_bytes: int) -> None:
        self._source = source
        self._block_bytes = block_bytes
        self._tail = bytearray()
        self._begins_line = True
        self.error: Exception | None = None
        """What came in place of more bytes: it is due when all before them was read."""

    def fill(self, block: _Block) -> bool:
        """Fill a block; returns whether it begins and ends at line ends, or those of the file."""
        block.begin(self._tail, max(self._block_bytes, 2 * len(self._tail)))
        try:
            while block.has_room:
                block.read(self._source)
        except Exception as error:
            self.error = error
            return False
        tail = bytearray() if block.is_last else block.cut()
        began, self._begins_line = self._begins_line, tail is not None
        self._tail = tail or bytearray()
        return began and tail is not None


def feed_ahead(
    leader: CsvReader,
    source: Joined,
    block_bytes: int,
    threads: int,
    new_reader: Callable[[], CsvReader],
    rows_alone: int = 0,
) -> Iterator[int]:
    """Do what `feed_all` does, with other readers that read blocks ahead in threads.

    They do so once `rows_alone` rows were read: each of them has the labels of all columns.
    """
    cutter, block = _Cutter(source, block_bytes), _Block()
    rows = 0
    cutter.fill(block)
    # The labels of the first block are known to all readers, and short files need no threads.
    consumed = block.feed(leader)
    rows += leader.n_rows
    yield consumed
    if cutter.error is not None:
        raise cutter.error
    if block.is_last:
        return
    left = block.after(consumed)
    enough = 2 * len(left)
    idle: list[_Ahead] = []

    def blocks() -> Iterator[_Ahead]:
        is_last = False
        while not is_last:
            ahead = idle.pop() if idle else _Ahead(new_reader())
            ahead.wanted = cutter.fill(ahead.block) and rows >= rows_alone
            is_last = ahead.block.is_last or cutter.error is not None
            if ahead.wanted:
                ahead.reader.catch_up(leader)
            yield ahead

    for ahead in in_order(_Ahead.read, blocks(), threads, ahead=(BLOCKS_PER_THREAD - 1) * threads):
        consumed = 0
        if not left and ahead.consumed is not None and leader.absorb(ahead.reader):
            consumed = ahead.consumed
            left = ahead.block.after(consumed)
            enough = 2 * len(left)
        else:
            left += ahead.block.after(0)
            # As without threads: a long record is looked at again when there is twice as much.
            if len(left) >= enough or ahead.block.is_last or cutter.error is not None:
                block.begin(left, 0)
                block.is_last = ahead.block.is_last
                before = leader.n_rows
                consumed = block.feed(leader)
                rows += leader.n_rows - before
                left = block.after(consumed)
                enough = 2 * len(left)
        idle.append(ahead)
        yield consumed
    if cutter.error is not None:
        raise cutter.error
