"""Text files that are read more than once; what comes through a pipe is kept in a file."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gml.data.raw_bytes import RawBytes
from gml.data.source import ByteSource, open_source
from gml.errors import DataError, place
from gml.kernel.layout import BLOCK_BYTES
from gml.ledger import note_digest
from gml.path_kinds import is_file

Reopen = Callable[[bool], ByteSource]
"""Opens the file from its start; the argument asks for its hash."""


@contextmanager
def rereadable(path: str | os.PathLike[str], *, digest: bool) -> Iterator[Reopen]:
    """Yield what opens a text file as often as needed."""
    if str(path) != "-" and is_file(path):
        yield lambda hashed: open_source(path, digest=hashed)
        return
    with tempfile.TemporaryFile() as kept:
        with open_source(path, digest=digest) as source:
            buffer = bytearray(BLOCK_BYTES)
            while got := source.readinto(memoryview(buffer)):
                try:
                    kept.write(buffer[:got])
                except OSError as error:
                    raise DataError(
                        f"{source.name}: cannot be kept in {tempfile.gettempdir()} to be read "
                        f"twice: {error.strerror}; save it as a file"
                    ) from None
            note_digest(path, source.digest())
        size = kept.tell()

        def reopen(hashed: bool) -> ByteSource:
            kept.seek(0)
            # Bytes of standard input are not closed with what reads them.
            raw = RawBytes(kept, place("-"), size, hashed=False)
            return ByteSource(raw, (io.BufferedReader(raw), ()), place(path))

        yield reopen
