"""Some rows of a table, taken without reading it: what a plan of a run looks at.

A small file is taken whole. Of a large one the beginning and blocks at even distances are read,
from one line end to the next; of a compressed one only the beginning can be. Parquet says how many
rows it has; some of its row groups are read. Rows are chosen at even distances, so that files that
are sorted are looked at from end to end, and the same file gives the same rows every time.
"""

from __future__ import annotations

import csv
import io
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gml.data.dialect import default_delimiter
from gml.data.parquet import is_parquet
from gml.data.sample_size import TableSample, TableSize, scattered
from gml.data.source import open_source
from gml.errors import DataError, UsageError, place
from gml.path_kinds import is_folder
from gml.resources import budget_in_force

_MOST_BYTES = 48 << 20
_BLOCKS = 6
_PIECE = 1 << 20
_HEADER_BYTES = 1 << 24
# Parsed by Python's own reader, where a line end may lie within quotes.
_MOST_QUOTED = 8 << 20


class TextSample(TableSample):
    """Records of a text file, as bytes: the header, and a line or more per row."""

    def __init__(self, size: TableSize, header: bytes, rows: Sequence[bytes], suffix: str) -> None:
        self.size = size
        self._header = header
        self._rows = rows
        self._suffix = suffix

    @property
    def n_rows(self) -> int:
        """The number of rows at hand."""
        return len(self._rows)

    def written(self, folder: Path, n_rows: int) -> Path:
        """Write a table of some of the rows, or of all; returns its path."""
        path = folder / f"{n_rows}{self._suffix}"
        with path.open("wb") as file:
            file.write(self._header)
            file.writelines(scattered(self._rows, n_rows))
        return path


def sample_table(
    path: str | os.PathLike[str], *, delimiter: str | None = None, encoding: str | None = None
) -> TableSample:
    """Take some rows of a table; `-` and other streams cannot be, as they are read only once.

    Tables written from a text file with an encoding are in UTF-8.
    """
    if str(path) == "-":
        raise UsageError(
            "standard input cannot be planned: it can be read only once, and a plan looks at some "
            "of its rows; name a file"
        )
    if is_parquet(path):
        from gml.data.parquet_sample import stored_sample

        return stored_sample(path)
    if is_folder(path):
        raise DataError(f"{place(path)}: a folder without Parquet files; name a table")
    if not Path(path).is_file() and Path(path).exists():
        raise UsageError(f"{place(path)} cannot be planned: it can be read only once; name a file")
    with open_source(path) as source:
        is_compressed = source.inflation[1]
    suffix = ".tsv" if (delimiter or default_delimiter(path)) == "\t" else ".csv"
    whole = not is_compressed and encoding is None
    taken = _from_blocks(path) if whole else _from_start(path, encoding)
    return _text_sample(taken, suffix)


# ---------------------------------------------------------------------- text


@dataclass(frozen=True)
class _Taken:
    """Bytes of a file: its beginning, blocks from line to line, and how much there is in all."""

    start: bytes
    blocks: tuple[bytes, ...]
    is_whole: bool
    stored_bytes: int
    text_bytes: int
    inflating: float = 0.0


def _most_bytes() -> int:
    """Bytes to look at: they are held twice, and as codes."""
    return max(1 << 20, min(_MOST_BYTES, budget_in_force() // 8))


def _from_start(path: str | os.PathLike[str], encoding: str | None) -> _Taken:
    """Decompress or decode the beginning, as no other part can be."""
    stored, most = Path(path).stat().st_size, _most_bytes() // 2
    pieces, taken, buffer = [], 0, bytearray(_PIECE)
    began = time.process_time()
    with open_source(path) as source:
        if encoding is not None:
            source.transcode(encoding)
        while taken < most:
            with memoryview(buffer) as room:
                got = source.readinto(room)
            if got == 0:
                break
            pieces.append(bytes(buffer[:got]))
            taken += got
        seconds = time.process_time() - began
        used = max(1, source.inflation[0])
        is_whole = taken < most
    text = taken if is_whole else int(taken * (stored / used))
    start = b"".join(pieces)
    scale = 1.0 if is_whole else text / max(1, taken)
    return _Taken(start if is_whole else _whole_lines(start), (), is_whole, stored, text,
                  seconds * scale)  # fmt: skip


def _from_blocks(path: str | os.PathLike[str]) -> _Taken:
    """Read the beginning of a file and blocks at even distances; a small file whole."""
    size, most = Path(path).stat().st_size, _most_bytes()
    with Path(path).open("rb") as file:
        if size <= most:
            return _Taken(file.read(), (), True, size, size)
        length = most // _BLOCKS
        start = _whole_lines(file.read(length))
        blocks = []
        for k in range(1, _BLOCKS):
            file.seek(size * k // _BLOCKS)
            block = file.read(length)
            first = block.find(b"\n") + 1
            blocks.append(_whole_lines(block[first:]))
    return _Taken(start, tuple(blocks), False, size, size)


def _whole_lines(block: bytes) -> bytes:
    """The block up to its last line end."""
    return block[: block.rfind(b"\n") + 1] or block


def _text_sample(taken: _Taken, suffix: str) -> TextSample:
    if b'"' in taken.start or any(b'"' in block for block in taken.blocks):
        header, rows, looked_at = _quoted_rows(taken)
    else:
        blocks = (taken.start, *taken.blocks)
        lines = [line for block in blocks for line in _lines(block)]
        header, rows = (lines[0] if lines else b""), lines[1:]
        looked_at = sum(map(len, blocks))
    if rows and not rows[-1].endswith((b"\n", b"\r")):
        rows[-1] += b"\n"
    in_rows = max(1, looked_at - len(header))
    is_exact = taken.is_whole and looked_at >= len(taken.start)
    n_rows = len(rows)
    if not is_exact:
        n_rows = round(n_rows * (taken.text_bytes - len(header)) / in_rows)
    size = TableSize(taken.stored_bytes, n_rows, is_exact, taken.text_bytes, taken.inflating)
    return TextSample(size, header, rows, suffix)


def _lines(block: bytes) -> Iterator[bytes]:
    """Yield the lines that are not blank, with their ends."""
    # Only line feeds and returns end a line here, unlike in text.
    if b"\n" not in block and b"\r" in block:
        return (line + b"\n" for line in block.split(b"\r") if line)
    return (line + b"\n" for line in block.split(b"\n") if line and line != b"\r")


def _quoted_rows(taken: _Taken) -> tuple[bytes, list[bytes], int]:
    """Split the beginning of a file in which line ends may be quoted.

    Where the middle of such a file is entered, nobody knows whether that is within quotes.
    """
    text = taken.start[:_MOST_QUOTED].decode("latin-1")
    cut = len(taken.start) > len(text) or not taken.is_whole
    physical = io.StringIO(text, newline="")
    ends: list[int] = []
    limit = csv.field_size_limit(_HEADER_BYTES)
    try:
        for record in csv.reader(physical):
            if record:
                ends.append(physical.tell())
    except csv.Error:
        cut = True
    finally:
        csv.field_size_limit(limit)
    if cut and len(ends) > 1:
        # The last one may go on.
        ends.pop()
    begins = [0, *ends[:-1]]
    rows = [text[a:b].encode("latin-1") for a, b in zip(begins, ends, strict=True)]
    looked_at = ends[-1] if cut and ends else len(taken.start)
    return (rows[0] if rows else b""), rows[1:], looked_at
