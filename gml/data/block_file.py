"""Arrays in a file, one after the other, each with a checksum that is compared when it is read."""

from __future__ import annotations

import os
import tempfile
import weakref
import zlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer, OutputError, UsageError
from gml.stopping import check_stopped


class Stored(NamedTuple):
    """Where an array is in the file, what it is of, and its checksum."""

    at: int
    kind: str
    checksum: int


class BlockFile:
    """A file that arrays are appended to, and read from by several threads.

    Unless a descriptor is given, it has no name: whatever ends the process, nothing is left of it.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        descriptor: int | None = None,
        size: int = 0,
    ) -> None:
        """Make the file in a folder, by default that of the system for temporary files.

        One that is open already may have a size.
        """
        self.folder = os.fspath(folder or tempfile.gettempdir())
        if descriptor is None:
            descriptor = self._without_name()
        self._descriptor = descriptor
        # Whoever forgets an engine gives the room back, too.
        self._closing = weakref.finalize(self, os.close, descriptor)
        self.size = size
        self._compared: set[int] = set()

    def _without_name(self) -> int:
        try:
            with tempfile.TemporaryFile(dir=self.folder, buffering=0) as file:
                return os.dup(file.fileno())
        except OSError as error:
            raise OutputError(f"cannot make a spool in {self.folder!r}: {error.strerror}") from None

    def close(self) -> None:
        """Give the room back, if the file has no name."""
        self._closing()

    @property
    def _open(self) -> int:
        if not self._closing.alive:
            raise UsageError("the stream is closed; open it again")
        return self._descriptor

    def write(self, cells: NDArray[Any]) -> Stored:
        """Append an array."""
        content = np.ascontiguousarray(cells).data.cast("B") if cells.size else memoryview(b"")
        stored = Stored(self.size, cells.dtype.str, zlib.crc32(content))
        self.write_bytes(content)
        return stored

    def write_bytes(self, content: bytes | memoryview) -> None:
        """Append bytes."""
        rest = memoryview(content)
        try:
            while rest:
                written = os.pwrite(self._open, rest, self.size)
                rest = rest[written:]
                self.size += written
        except OSError as error:
            raise OutputError(
                f"cannot write to the spool in {self.folder!r}: {error.strerror}"
            ) from None

    def read(self, stored: Stored, size: int) -> NDArray[Any]:
        """Return an array of so many cells; several threads may ask."""
        check_stopped()
        cells = np.empty(size, dtype=stored.kind)
        room = cells.data.cast("B") if size else memoryview(b"")
        done = 0
        while done < len(room):
            got = os.preadv(self._open, [room[done:]], stored.at + done)
            if got == 0:
                break
            done += got
        known = stored.at in self._compared
        if done < len(room) or not (known or zlib.crc32(room) == stored.checksum):
            raise CannotAnswer(f"the spool in {self.folder!r} is damaged; try another folder")
        self._compared.add(stored.at)
        return cells
