"""Rows as text, in what the name of a file asks for: commas or tabs, compressed or not.

The same rows give the same bytes: no time stamp is in a compressed file.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from gml.data.dialect import default_delimiter
from gml.errors import UsageError

_COMPRESSED = (".gz", ".bz2", ".xz")
_TABS = (".tsv", ".tab")
_OTHERS = (".zst", ".parquet", ".feather", ".arrow", ".json", ".jsonl", ".xls", ".xlsx")
_PICTURES = (".svg", ".png", ".pdf", ".html")


def require_row_suffix(path: str | os.PathLike[str]) -> None:
    """Refuse the name of a file that promises another format.

    Examples
    --------
    >>> require_row_suffix("rows.csv.gz")
    >>> require_row_suffix("rows.parquet")
    Traceback (most recent call last):
    gml.errors.UsageError: cannot write 'rows.parquet': rows are written as .csv or .tsv, or these \
with .gz, .bz2 or .xz
    """
    plain, _ = _taken_apart(path)
    if plain.suffix.lower() in (*_OTHERS, *_PICTURES):
        raise UsageError(
            f"cannot write {str(path)!r}: rows are written as .csv or .tsv, or these with "
            ".gz, .bz2 or .xz"
        )


def numbered_path(path: str | os.PathLike[str], number: int) -> str:
    """The name of one of several files of rows: the number goes before the suffixes.

    Examples
    --------
    >>> numbered_path("out/rows.csv.gz", 2), numbered_path("rows", 1)
    ('out/rows.2.csv.gz', 'rows.1')
    """
    plain, compression = _taken_apart(path)
    compressed = Path(path).suffix if compression else ""
    return str(plain.with_name(f"{plain.stem}.{number}{plain.suffix}{compressed}"))


def delimiter_for(given: str | None, own: str, output: str | os.PathLike[str] | None) -> str:
    """The delimiter of rows that are passed on: the file's, unless the output's name says another.

    Examples
    --------
    >>> delimiter_for(";", ";", "rows.csv"), delimiter_for(None, "\t", "rows.csv")
    (';', ',')
    """
    if output is None:
        return given or own
    implied = default_delimiter(output)
    return implied if implied == "\t" else given or implied


def encoded_rows(
    path: str | os.PathLike[str], pieces: Iterable[bytes | memoryview]
) -> Iterator[bytes | memoryview]:
    """Yield pieces of CSV, each of whole records, as a file of this name is to have them."""
    plain, _ = _taken_apart(path)
    if plain.suffix.lower() in _TABS:
        pieces = map(_with_tabs, pieces)
    yield from compressed_rows(path, pieces)


def compressed_rows(
    path: str | os.PathLike[str], pieces: Iterable[bytes | memoryview]
) -> Iterator[bytes | memoryview]:
    """Yield pieces compressed as the name of a file asks for, and otherwise as they are."""
    _, compression = _taken_apart(path)
    if not compression:
        yield from pieces
        return
    compressor = _compressor(compression)
    for piece in pieces:
        yield compressor.compress(piece)
    yield compressor.flush()


def _taken_apart(path: str | os.PathLike[str]) -> tuple[Path, str]:
    """The path without the suffix of its compression, and that suffix."""
    found = Path(path)
    suffix = found.suffix.lower()
    return (found.with_suffix(""), suffix) if suffix in _COMPRESSED else (found, "")


def _with_tabs(piece: bytes | memoryview) -> bytes:
    # What a file takes is what `writerow` returns; it quotes what is in its line terminator.
    writer = csv.writer(SimpleNamespace(write=str), delimiter="\t", lineterminator="\r\n")
    records = csv.reader(io.StringIO(str(piece, "utf-8"), newline=""))
    lines: Iterator[Any] = map(writer.writerow, records)
    return "".join(f"{line[:-2]}\n" for line in lines).encode("utf-8")


def _compressor(suffix: str) -> Any:
    if suffix == ".gz":
        import zlib

        return zlib.compressobj(wbits=31)
    if suffix == ".bz2":
        import bz2

        return bz2.BZ2Compressor()
    import lzma

    return lzma.LZMACompressor()
