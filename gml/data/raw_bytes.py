"""The stored bytes of an input: a file or standard input, hashed on the way, with progress."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections import deque
from pathlib import Path
from typing import Any, BinaryIO, cast

from gml.errors import DataError, place, quote
from gml.kernel.layout import BLOCK_BYTES
from gml.progress import reporter

MAGIC_BYTES = 16
"""Bytes at the start that tell what is stored; the first read returns them all."""

# Reads that may wait to be hashed: where threads are more than cores, parsing need not stand still.
_READS_AHEAD = 8


class RawBytes(io.RawIOBase):
    """The input bytes, hashed in a second thread while they are parsed, with progress."""

    def __init__(self, file: BinaryIO, name: str, size: int | None, hashed: bool) -> None:
        self._file = file
        self._name = name
        self.size = size
        self._done = 0
        self._hash: Any = None
        self._worker: Any = None
        self._pending: deque[Any] = deque()
        if hashed:
            import hashlib
            from concurrent.futures import ThreadPoolExecutor

            self._hash = hashlib.sha256()
            self._worker = ThreadPoolExecutor(1)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object, /) -> int:
        view = memoryview(cast(bytearray, buffer)).cast("B")
        got = self._read_some(view)
        while 0 < got + self._done < MAGIC_BYTES and (more := self._read_some(view[got:])):
            got += more
        if self._hash is not None and got:
            if len(self._pending) == _READS_AHEAD:
                self._pending.popleft().result()
            self._pending.append(self._worker.submit(self._hash.update, bytes(view[:got])))
        self._done += got
        reporter().advance(f"reading {self._name}", self._done, self.size, in_bytes=True)
        return got

    def _read_some(self, view: memoryview) -> int:
        try:
            return self._file.readinto(view) or 0  # type: ignore[attr-defined]
        except OSError as error:
            raise DataError(f"{self._name}: cannot be read: {error.strerror}") from None

    @property
    def done(self) -> int:
        """Bytes read so far."""
        return self._done

    def digest(self) -> str | None:
        """Hash of the whole input; what has not been read yet is read now."""
        if self._hash is None:
            return None
        buffer = bytearray(BLOCK_BYTES)
        while self.readinto(buffer):
            pass
        while self._pending:
            self._pending.popleft().result()
        return str(self._hash.hexdigest())

    def close(self) -> None:
        if self._worker is not None:
            self._worker.shutdown()
        if self._name != place("-"):
            self._file.close()
        super().close()


def open_raw(path: str | os.PathLike[str], *, digest: bool) -> RawBytes:
    """Open a file, or standard input for `-`; with `digest`, what is read is hashed."""
    name = place(path)
    if str(path) == "-":
        return RawBytes(sys.stdin.buffer, name, None, digest)
    try:
        file = Path(path).open("rb", buffering=0)  # noqa: SIM115
        about = os.fstat(file.fileno())
    except IsADirectoryError:
        raise DataError(f"{name}: is a folder") from None
    except OSError as error:
        raise DataError(f"{name}: {error.strerror}") from None
    except ValueError:
        raise DataError(f"{quote(name)}: the path holds a NUL character") from None
    if _is_endless(about) and not file.isatty():
        file.close()
        raise DataError(f"{name}: is a device; name a file, or - for standard input")
    return RawBytes(file, name, about.st_size or None, digest)


def _is_endless(about: os.stat_result) -> bool:
    """Whether it is a device, such as /dev/zero, that may never end; /dev/null does."""
    if stat.S_ISBLK(about.st_mode):
        return True
    return stat.S_ISCHR(about.st_mode) and about.st_rdev != Path(os.devnull).stat().st_rdev
