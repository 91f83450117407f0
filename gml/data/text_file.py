"""Text files that are read whole, or line by line: graphs, models, schemas, logs.

A table is streamed, so its size does not matter; these are kept, and what is made from them takes
several times their bytes. So there are limits, whatever the budget is:

- `LONGEST_TEXT`: bytes of a file, inflated;
- `LONGEST_LINE`: bytes of a line, where lines are read one by one;
- `MOST_INFLATION`: how many times its size a compressed file may inflate to, beyond
  `_SMALL_INFLATED`. Networks shrink to a fiftieth at most, so only mere repetition gets there.

Within them, the budget is asked as the text grows, beyond `FEW_BYTES`.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterator
from itertools import chain

from gml.data.source import open_source
from gml.errors import DataError, place, raising
from gml.ledger import note_digest, wants_digest
from gml.resources import FEW_BYTES, budget_in_force, format_size, require_memory

LONGEST_TEXT = 1 << 30
LONGEST_LINE = 1 << 26
MOST_INFLATION = 200
_SMALL_INFLATED = 1 << 26
# The pieces and the whole, in which one wide character makes every other one take four bytes.
_BYTES_PER_BYTE = 5
_BLOCK = 1 << 20


def read_text(
    path: str | os.PathLike[str],
    *,
    longest: int = LONGEST_TEXT,
    hashed: bool = False,
    error: type[DataError] = DataError,
) -> str:
    """Return the text of a file, or of standard input for `-`.

    gzip, bzip2, xz and (extra `zstd`) Zstandard are recognised by their first bytes. Text is
    UTF-8 unless a byte order mark or an XML declaration says otherwise. With `hashed`, the hash is
    noted in the run of the path even if no output asks for it yet. What is wrong is raised as
    `error`.
    """
    with raising(error):
        return _decoded(path, longest, hashed)


def _decoded(path: str | os.PathLike[str], longest: int, hashed: bool) -> str:
    where = place(path)
    budget = budget_in_force()
    decoder: codecs.IncrementalDecoder | None = None
    pieces = []
    size, line = 0, 1
    for block in chain(_blocks(path, hashed=hashed), (b"",)):
        size += len(block)
        if size > longest:
            raise DataError(f"{where}: longer than the limit of {format_size(longest)}")
        if size > FEW_BYTES:
            require_memory(_BYTES_PER_BYTE * size, budget, f"{where}: its text")
        if decoder is None:
            decoder = codecs.getincrementaldecoder(_encoding(block))()
        try:
            pieces.append(decoder.decode(block, final=not block))
        except UnicodeDecodeError as error:
            line += error.object.count(b"\n", 0, error.start)
            byte, encoding = error.object[error.start], error.encoding
            raise DataError(
                f"{where}: line {line}: not {encoding} text: byte 0x{byte:02x} is not "
                f"{encoding.upper()}"
            ) from None
        line += block.count(b"\n")
    return "".join(pieces)


def read_lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the bytes of each line; only a line feed ends one."""
    where = place(path)
    number = 0
    pending = bytearray()
    for block in _blocks(path, hashed=True):
        *lines, rest = block.split(b"\n")
        for line in lines:
            number += 1
            yield number, bytes(pending + line) if pending else line
            pending.clear()
        pending += rest
        if len(pending) > LONGEST_LINE:
            raise DataError(
                f"{where}: line {number + 1}: longer than the limit of {format_size(LONGEST_LINE)}"
            )
    if pending:
        yield number + 1, bytes(pending)


def _blocks(path: str | os.PathLike[str], *, hashed: bool) -> Iterator[bytes]:
    """Yield the bytes of a text file, inflated; at the end its hash is noted."""
    where = place(path)
    wanted = wants_digest(path, beforehand=hashed)
    buffer = bytearray(_BLOCK)
    size = 0
    with open_source(path, digest=wanted) as source:
        while got := source.readinto(memoryview(buffer)):
            if not size and buffer[0] == 0:
                raise DataError(f"{where}: not text: it begins with a NUL character")
            size += got
            stored, compressed = source.inflation
            if compressed and size > max(_SMALL_INFLATED, MOST_INFLATION * stored):
                raise DataError(
                    f"{where}: inflates to more than {MOST_INFLATION} times its size; inflate it "
                    "first if you trust it"
                )
            yield bytes(buffer[:got])
        note_digest(path, source.digest())


def _encoding(start: bytes) -> str:
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    declared = re.match(
        rb"""\s*<\?xml[^>]*encoding=["']([A-Za-z0-9._-]+)["']""", start, re.IGNORECASE
    )
    if declared and declared[1].lower() in (
        b"iso-8859-1",
        b"latin1",
        b"windows-1252",
    ):
        return declared[1].decode()
    return "utf-8-sig"
