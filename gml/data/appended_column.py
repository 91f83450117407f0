"""Rows of a text file with one more column at the end, their own bytes left as they are.

Records are found as the standard library's `csv` module finds them: a block of lines without quotes
is split at its line ends, and any other goes through that module, which says how many lines a
record takes. Blank lines, which are no records, are left out. A file was read as a table before, so
what is wrong with it has been said.
"""

from __future__ import annotations

import codecs
import csv
import io
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from gml.data.safe_cells import cell
from gml.data.source import ByteSource, text_codec
from gml.errors import UsageError, quote
from gml.kernel.layout import BLOCK_BYTES

Cells = Callable[[int, int], Sequence[str | None]]
"""The cells of the new column from one row to another; None for a row to leave out."""

_BOM = codecs.BOM_UTF8
_QUOTE, _RETURN, _NEWLINE = b'"', b"\r", b"\n"
# The writer quotes what is in its line terminator.
_LINE_END = "\r\n"
_BLOCK_ROWS = 1 << 14
_REMEMBERED = 1 << 16


class Record:
    """Writes records in CSV, safe for spreadsheets if that is asked for."""

    def __init__(self, delimiter: str, safe_csv: bool) -> None:
        # What a file takes is what `writerow` returns.
        self._writer = csv.writer(
            SimpleNamespace(write=str), delimiter=delimiter, lineterminator=_LINE_END
        )
        self._safe = safe_csv

    def text(self, fields: Iterable[str]) -> str:
        """Return a record without its line end."""
        line: Any = self._writer.writerow([cell(field, self._safe) for field in fields])
        found: str = line[: -len(_LINE_END)]
        return found


def appended(source: ByteSource, delimiter: str, name: str, cells: Cells) -> Iterator[bytes]:
    """Yield a text file with one more column, in the encoding of the rest."""
    between = delimiter.encode()
    title = Record(delimiter, safe_csv=False).text([name]).encode()
    done, header = 0, True
    tails: dict[bytes, _Tails] = {}
    for records, end in _record_blocks(source, delimiter):
        if not records:
            yield end
            continue
        if header:
            yield records[0] + between + title + end
            records, header = records[1:], False
        texts = cells(done, done + len(records))
        done += len(records)
        if None in texts:
            kept = [k for k, text in enumerate(texts) if text is not None]
            records, texts = [records[k] for k in kept], [texts[k] for k in kept]
        tail_of = tails.setdefault(end, _Tails(delimiter, end))
        yield b"".join(map(operator.add, records, map(tail_of.__getitem__, texts)))


class _Tails(dict[str | None, bytes]):
    """What follows a record, by the text of its new cell; texts that come again are kept."""

    def __init__(self, delimiter: str, end: bytes) -> None:
        super().__init__()
        self._record = Record(delimiter, safe_csv=False)
        self._before = delimiter.encode()
        self._end = end

    def __missing__(self, text: str) -> bytes:
        tail = self._before + self._record.text([text]).encode() + self._end
        if len(self) < _REMEMBERED:
            self[text] = tail
        return tail


def rewritten(
    rows: Iterable[Sequence[str]], names: Sequence[str], name: str, cells: Cells, record: Record
) -> Iterator[bytes]:
    """Yield records anew with one more column, for other delimiters or other kinds of files."""
    text = [record.text([*names, name])]
    done = 0
    for block in _in_blocks(rows):
        found = cells(done, done + len(block))
        done += len(block)
        text += [
            record.text([*fields, last])
            for fields, last in zip(block, found, strict=True)
            if last is not None
        ]
        yield ("\n".join(text) + "\n").encode()
        text = []
    if text:
        yield ("\n".join(text) + "\n").encode()


def encoded(pieces: Iterable[bytes], encoding: str | None) -> Iterator[bytes]:
    """Yield pieces of UTF-8 in another encoding."""
    info = None if encoding is None else text_codec(encoding)
    if info is None or info.name in ("utf-8", "utf-8-sig", "ascii"):
        yield from pieces
        return
    if info.incrementalencoder is None:
        raise UsageError(f"nothing can be written in the encoding {quote(encoding)}")
    encoder = info.incrementalencoder()
    try:
        for piece in pieces:
            yield encoder.encode(piece.decode("utf-8"))
        yield encoder.encode("", final=True)
    except UnicodeEncodeError as error:
        letter = error.object[error.start]
        raise UsageError(
            f"{letter!r} cannot be written in the encoding {quote(encoding)}"
        ) from None


def _in_blocks(rows: Iterable[Sequence[str]]) -> Iterator[list[Sequence[str]]]:
    block: list[Sequence[str]] = []
    for row in rows:
        block.append(row)
        if len(block) == _BLOCK_ROWS:
            yield block
            block = []
    if block:
        yield block


def _record_blocks(source: ByteSource, delimiter: str) -> Iterator[tuple[list[bytes], bytes]]:
    """Yield records without their line ends, and the line end that they share.

    A byte order mark comes first, without records.
    """
    csv.field_size_limit(sys.maxsize)
    buffer = bytearray(BLOCK_BYTES)
    pending, end, final, at_start = b"", _NEWLINE, False, True
    while not final:
        got = source.readinto(memoryview(buffer))
        final = got == 0
        pending += buffer[:got]
        if at_start and not final and len(pending) < len(_BOM):
            continue
        if at_start and pending.startswith(_BOM):
            # Before a quote, it would hide that a name is quoted.
            pending = pending[len(_BOM) :]
            yield [], _BOM
        at_start = False
        part = pending if final else pending[: _last_line_end(pending)]
        done = 0
        for records, own_end, used in _split(part, delimiter, end, final):
            done, end = done + used, own_end
            if records:
                yield records, end
        pending = pending[done:]


def _last_line_end(text: bytes) -> int:
    """Where the last line that is whole ends; the second half of a line end may be yet to come."""
    found = text.rfind(_NEWLINE) + 1
    return found or text.rfind(_RETURN, 0, len(text) - 1) + 1


def _split(
    part: bytes, delimiter: str, usual: bytes, final: bool
) -> Iterator[tuple[list[bytes], bytes, int]]:
    """Yield records, their line end, and the bytes that they take, blank lines included.

    A record that ends with the file has the line end of those before, the `usual` one.
    """
    end = _common_line_end(part, usual)
    if end is not None and _QUOTE not in part:
        yield [record for record in part.split(end) if record], end, len(part)
        return
    waiting: list[bytes] = []
    waiting_end, used = usual, 0
    for record, own_end, size in _records(part, delimiter, usual, final):
        if waiting and own_end != waiting_end:
            yield waiting, waiting_end, used
            waiting, used = [], 0
        if record:
            waiting.append(record)
            waiting_end = own_end
        used += size
    yield waiting, waiting_end, used


def _common_line_end(part: bytes, usual: bytes) -> bytes | None:
    """The line end that all lines have; None if they differ, or if it is unusual."""
    if _RETURN not in part:
        return _NEWLINE if _NEWLINE in part else usual
    both = part.count(b"\r\n")
    return b"\r\n" if part.count(_RETURN) == both == part.count(_NEWLINE) else None


def _records(
    part: bytes, delimiter: str, usual: bytes, final: bool
) -> Iterator[tuple[bytes, bytes, int]]:
    """Yield each record without its line end, its line end, and the bytes that both take.

    A record that is not whole is left for later, unless the file ends.
    """
    taken: list[str] = []
    ended = False

    def lines() -> Iterator[str]:
        nonlocal ended
        # Latin-1 has a character for each byte, so the bytes come back as they were.
        for line in io.StringIO(part.decode("latin-1"), newline=""):
            taken.append(line)
            yield line
        ended = True

    end = usual
    for _ in csv.reader(lines(), delimiter=delimiter):
        if ended and not final:
            return
        text = "".join(taken).encode("latin-1")
        taken.clear()
        own = _line_end_of(text)
        end = own or end
        yield text[: len(text) - len(own)], end, len(text)


def _line_end_of(text: bytes) -> bytes:
    if text.endswith(b"\r\n"):
        return b"\r\n"
    return text[-1:] if text[-1:] in (_NEWLINE, _RETURN) else b""
