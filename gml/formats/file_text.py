"""The text of a graph or model file: decompressed by content, decoded, from a path or a pipe."""

from __future__ import annotations

import os
import re

from gml.data.source import open_source
from gml.errors import DataError, GraphError, place
from gml.ledger import current, note_digest

_BLOCK = 1 << 20


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a file, or of standard input for `-`.

    gzip, bzip2, xz and (extra `zstd`) Zstandard are recognised by their first bytes. Text is
    UTF-8 unless a byte order mark or an XML declaration says otherwise.
    """
    where = place(path)
    try:
        raw = _bytes_of(path)
    except DataError as error:
        raise GraphError(str(error)) from None
    try:
        return raw.decode(_encoding(raw))
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise GraphError(f"{where}: line {line}: not {error.encoding} text") from None


def _bytes_of(path: str | os.PathLike[str]) -> bytes:
    blocks = []
    buffer = bytearray(_BLOCK)
    with open_source(path, digest=current().wants_digests) as source:
        while got := source.readinto(memoryview(buffer)):
            blocks.append(bytes(buffer[:got]))
        note_digest(path, source.digest())
    return b"".join(blocks)


def _encoding(raw: bytes) -> str:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    declared = re.match(
        rb"""\s*<\?xml[^>]*encoding=["']([A-Za-z0-9._-]+)["']""", raw, re.IGNORECASE
    )
    if declared and declared[1].lower() in (
        b"iso-8859-1",
        b"latin1",
        b"windows-1252",
    ):
        return declared[1].decode()
    return "utf-8-sig"
