"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from gml import ledger
from gml.errors import OutputError, UsageError

_BLOCK = 1 << 20
# Opening these anew would truncate what they lead to.
_OPEN_FILE = r"/dev/std(out|err)|(?:/dev|/proc/self)/fd/(\d+)"

_partial: set[str] = set()


def remove_partial_files() -> None:
    """Remove what is half written, for a process that ends without unwinding."""
    for temporary in list(_partial):
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write `content` to `path` through a temporary file beside it and a rename.

    An existing file keeps its permissions, and stays as it was when anything fails. A link is
    followed. What is not a regular file (a device, a named pipe) is written to directly.
    """
    with streamed_file(path) as file:
        file.write(content)


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that replaces `path` when the block ends well, and vanishes when it does not.

    Where the run keeps files that would not change, one with the same bytes is left alone, time
    stamp and all.
    """
    if is_special(path):
        raise UsageError(f"cannot write {str(path)!r} bit by bit: it is not a regular file")
    target = Path(os.path.realpath(path))
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
    except OSError as error:
        raise UsageError(f"cannot write {str(path)!r}: {error.strerror}") from None
    _partial.add(temporary)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if ledger.current().keeps_unchanged and _same_bytes(Path(temporary), target):
            Path(temporary).unlink()
        else:
            Path(temporary).chmod(_mode_for(target))
            Path(temporary).replace(target)
        ledger.current().outputs.append(str(path))
    except BaseException as error:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        if isinstance(error, OSError):
            raise OutputError(f"cannot write {str(path)!r}: {error.strerror}") from None
        raise
    finally:
        _partial.discard(temporary)


@contextlib.contextmanager
def streamed_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file to write bit by bit: whole as by `whole_file`, or if special then directly."""
    with _special_file(Path(path)) if is_special(path) else whole_file(path) as file:
        yield file


def is_special(path: str | os.PathLike[str]) -> bool:
    """Whether a path names a device, a pipe, a folder or an open file, which no rename can make."""
    if re.fullmatch(_OPEN_FILE, str(path)):
        return True
    return os.path.exists(path) and not os.path.isfile(path)  # noqa: PTH110, PTH113


@contextlib.contextmanager
def _special_file(target: Path) -> Iterator[BinaryIO]:
    if os.path.isdir(target):  # noqa: PTH112
        raise UsageError(f"cannot write {str(target)!r}: it is a folder")
    already_open = re.fullmatch(_OPEN_FILE, str(target))
    try:
        if already_open:
            descriptor = os.dup(int(already_open[2] or {"out": 1, "err": 2}[already_open[1]]))
        else:
            descriptor = os.open(target, os.O_WRONLY)
        with os.fdopen(descriptor, "wb") as file:
            yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write {str(target)!r}: {error.strerror}") from None


def _same_bytes(a: Path, b: Path) -> bool:
    if not b.is_file() or a.stat().st_size != b.stat().st_size:
        return False
    try:
        with a.open("rb") as new, b.open("rb") as old:
            while block := new.read(_BLOCK):
                if block != old.read(_BLOCK):
                    return False
    except PermissionError:
        # A file that may be replaced but not read.
        return False
    return True


def _mode_for(target: Path) -> int:
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
