"""A Parquet file that is open: what is hashed is what is read, and a change of it is noticed."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gml.data.parquet_pages import Chunk, DamagedPages, chunks_of
from gml.errors import CannotAnswer, DataError, place
from gml.resources import FEW_BYTES, lack_behind, require_memory

# Memory that a parsed footer takes, per byte of it.
_FOOTER_FACTOR = 30
# Arrow reads a column this many bytes at a time, not a whole row group.
_BUFFER_BYTES = 1 << 16


class StoredFile:
    """A Parquet file that is open: what is hashed is what is read."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path
        self.where = place(path)
        self._identity: tuple[int, ...] | None = None
        self._file: Any = None
        self._metadata: Any = None
        self.open()

    def open(self) -> None:
        """Open the file unless it is open; it must be the same as when it was open before."""
        if self._file is not None:
            return
        try:
            self._file = Path(self.path).open("rb", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise DataError(f"{self.where}: {error.strerror}") from None
        if self._identity is None:
            self._identity = self._identify()
        self.require_unchanged()

    def _identify(self) -> tuple[int, ...]:
        found = os.fstat(self._file.fileno())
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

    def require_unchanged(self) -> None:
        """Refuse a file that has been written to."""
        if self._identify() != self._identity:
            raise DataError(f"{self.where}: changed while it was read; try again")

    def close(self) -> None:
        """Close the file; it can be opened again."""
        if self._file is not None:
            self._file.close()
        self._file = self._metadata = None

    def __enter__(self) -> StoredFile:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn what pyarrow raises into an error that names the file."""
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, OSError, DamagedPages, UnicodeError, OverflowError) as error:
            if lack := lack_behind(error):
                raise CannotAnswer(f"{self.where}: {lack}") from None
            self.require_unchanged()
            raise DataError(f"{self.where}: {' '.join(str(error).split())}") from None

    def metadata(self) -> Any:
        """Return what the footer says, after making sure that there is room for it."""
        if self._metadata is None:
            import pyarrow.parquet as pq

            length = self._footer_length()
            if length > FEW_BYTES:
                require_memory(_FOOTER_FACTOR * length, None, f"{self.where}: its footer")
            with self.errors():
                self._metadata = pq.ParquetFile(self._file, pre_buffer=False).metadata
        return self._metadata

    def _footer_length(self) -> int:
        return min(int.from_bytes(self.read_at(self._size - 8, 4), "little"), self._size - 8)

    @property
    def _size(self) -> int:
        assert self._identity is not None
        return self._identity[2]

    def read_at(self, position: int, n_bytes: int) -> bytes:
        """Return bytes of the file."""
        try:
            self._file.seek(position)
            data: bytes = self._file.read(n_bytes)
        except (OSError, ValueError, OverflowError):
            raise DamagedPages(f"no bytes at {position}") from None
        return data

    def chunks(self, columns: Collection[int]) -> dict[int, list[Chunk]]:
        """Look at the pages of columns, by number; a list has the row groups in order."""
        length = self._footer_length()
        return chunks_of(self.read_at(self._size - 8 - length, length), columns, self.read_at)

    def arrow(self, **options: Any) -> Any:
        """Return Arrow's reader.

        It runs without threads, which would hold the file and may outlive the interpreter.
        """
        import pyarrow.parquet as pq

        return pq.ParquetFile(
            self._file,
            metadata=self.metadata(),
            pre_buffer=False,
            buffer_size=_BUFFER_BYTES,
            **options,
        )

    def hash_into(self, digest: Any) -> None:
        """Hash all bytes of the file."""
        self._file.seek(0)
        while block := self._file.read(1 << 20):
            digest.update(block)
