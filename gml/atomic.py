"""Files that appear whole or not at all.

A file is written under the name `.NAME.gml-RANDOM.tmp` beside its target, locked (flock) while that
lasts, and then renamed. What a killed process leaves behind is not locked: the next process that
writes the same target removes it. Where the file system has no locks, it stays.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TypeGuard

from gml.errors import OutputError, UsageError
from gml.ledger import Ledger, RunPath, descriptor_of
from gml.path_kinds import is_file, is_folder, is_there
from gml.signals import making, partial_files, partial_folders

_BLOCK = 1 << 20
# Names are at most 255 bytes long.
_STEM_BYTES = 200
_TEMPORARY = re.compile(r"(\..*\.gml-)[0-9a-f]{16}\.tmp", re.DOTALL)


def write_whole(
    path: str | os.PathLike[str], content: bytes, *, leftovers: Leftovers | None = None
) -> None:
    """Write `content` to `path` through a temporary file beside it and a rename.

    An existing file keeps its permissions, and stays as it was when anything fails. A link is
    followed. What is not a regular file (a device, a named pipe) is written to directly. Who writes
    many files to one folder makes `Leftovers` for all of them.
    """
    with streamed_file(path, leftovers=leftovers) as file:
        file.write(content)


@contextlib.contextmanager
def whole_file(
    path: str | os.PathLike[str],
    *,
    leftovers: Leftovers | None = None,
    replaces_links: bool = False,
) -> Iterator[BinaryIO]:
    """Open a file that replaces `path` when the block ends well, and vanishes when it does not.

    Where the path is part of a run that keeps files that would not change, one with the same bytes
    is left alone, time stamp and all. Users name outputs, and links by which they redirect them are
    followed. `replaces_links` is for names that nobody chose: a link there is replaced, not what it
    leads to, and permissions are those of a new file.
    """
    target = os.path.realpath(path)
    if replaces_links:
        folder, name = os.path.split(path)
        target = f"{os.path.realpath(folder)}/{name}"
    is_replaced_link = replaces_links and os.path.islink(target)  # noqa: PTH114
    if is_special(path) and not is_replaced_link:
        raise UsageError(
            f"cannot write {str(path)!r}: this output goes to a file of its own, which appears "
            "when it is whole, and neither to a device nor a pipe"
        )
    kept = path.ledger if isinstance(path, RunPath) else Ledger()
    if str(path) not in kept.planned:
        kept.plan(str(path), "a file")
    (leftovers or Leftovers()).remove(target)
    try:
        with _temporary_file(target, path) as (temporary, descriptor):
            with os.fdopen(descriptor, "wb", closefd=False) as file:
                yield file
                file.flush()
                os.fsync(descriptor)
            kept.require_unwritten(str(path), target)
            if not (kept.keeps_unchanged and _same_bytes(Path(temporary), Path(target))):
                os.fchmod(descriptor, _new_mode() if replaces_links else _mode_for(Path(target)))
                os.replace(temporary, target)  # noqa: PTH105
        kept.note_written(str(path), target)
    except OSError as error:
        raise OutputError(f"cannot write {str(path)!r}: {error.strerror}") from None


@contextlib.contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """Make a folder for files that are removed at the end, also if a signal is what ends."""
    with making:
        folder = tempfile.mkdtemp(prefix=prefix)
        partial_folders.add(folder)
    try:
        yield Path(folder)
    finally:
        # Who fails as a signal has removed the folder waits here for the end, and says nothing.
        with making:
            shutil.rmtree(folder, ignore_errors=True)
            partial_folders.discard(folder)


@contextlib.contextmanager
def _temporary_file(target: str, path: object) -> Iterator[tuple[str, int]]:
    """Make a locked file beside the target; unless it is renamed, it is removed at the end.

    The `path` is what messages call the target.
    """
    temporary, descriptor = "", None
    try:
        while descriptor is None:
            partial_files.discard(temporary)
            temporary = f"{_stem(target)}{os.urandom(8).hex()}.tmp"
            try:
                with making:
                    partial_files.add(temporary)
                    descriptor = _new_locked_file(temporary)
            except OSError as error:
                raise UsageError(f"cannot write {str(path)!r}: {error.strerror}") from None
        yield temporary, descriptor
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108
        partial_files.discard(temporary)
        # Last: once it is unlocked, others take it for a leftover.
        if descriptor is not None:
            os.close(descriptor)


def _new_locked_file(path: str) -> int | None:
    """Make a file; None if another process took it for a leftover before it was locked."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    taken = False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        taken = True
    except OSError:
        # Without locks nobody can take a file for a leftover either.
        pass
    if not taken and _leads_to(path, descriptor):
        return descriptor
    os.close(descriptor)
    return None


class Leftovers:
    """Temporary files that killed processes left, by folder, each of which is listed once."""

    def __init__(self) -> None:
        self._found: dict[str, list[str]] = {}

    def remove(self, target: str) -> None:
        """Remove those of a target whose process is gone, as their locks tell."""
        folder = os.path.dirname(target)  # noqa: PTH120
        prefix = os.path.basename(_stem(target))  # noqa: PTH119
        for name in self._in(folder):
            found = _TEMPORARY.fullmatch(name)
            if found is not None and found[1] == prefix:
                with contextlib.suppress(OSError):
                    _remove_unlocked(f"{folder}/{name}")

    def remove_all(self, folder: str, prefix: str) -> None:
        """Remove those of all targets in a folder whose names begin so."""
        for name in self._in(folder):
            if name.startswith(f".{prefix}"):
                with contextlib.suppress(OSError):
                    _remove_unlocked(f"{folder}/{name}")

    def _in(self, folder: str) -> list[str]:
        if folder not in self._found:
            try:
                names = os.listdir(folder)  # noqa: PTH208
            except OSError:
                names = []
            self._found[folder] = [name for name in names if _TEMPORARY.fullmatch(name)]
        return self._found[folder]


def _remove_unlocked(path: str) -> None:
    flags = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, os.O_RDWR | flags)
    except PermissionError:
        # Killed after it got the permissions of its target.
        descriptor = os.open(path, os.O_RDONLY | flags)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if stat.S_ISREG(os.fstat(descriptor).st_mode) and _leads_to(path, descriptor):
            os.unlink(path)  # noqa: PTH108
    finally:
        os.close(descriptor)


def _leads_to(path: str, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _stem(target: str) -> str:
    """Return what the names of all temporary files of a target begin with."""
    folder, name = os.path.split(target)
    while len(os.fsencode(name)) > _STEM_BYTES:
        name = name[:-1]
    return f"{folder}/.{name}.gml-"


@contextlib.contextmanager
def streamed_file(
    path: str | os.PathLike[str], *, leftovers: Leftovers | None = None
) -> Iterator[BinaryIO]:
    """Open a file to write bit by bit: whole as by `whole_file`, or if special then directly."""
    special = is_special(path)
    with _special_file(Path(path)) if special else whole_file(path, leftovers=leftovers) as file:
        yield file


def names_file(path: str | None) -> TypeGuard[str]:
    """Whether an output has the name of a file, whose suffix can tell the format.

    Standard output (None or `-`), a device or a pipe has none.
    """
    return path not in (None, "-") and not is_special(str(path))


def is_special(path: str | os.PathLike[str]) -> bool:
    """Whether a path names a device, a pipe, a folder or an open file, which no rename can make."""
    # Opening these again would truncate what they lead to.
    if descriptor_of(str(path)) is not None:
        return True
    return is_there(path) and not is_file(path)


@contextlib.contextmanager
def _special_file(target: Path) -> Iterator[BinaryIO]:
    if is_folder(target):
        raise UsageError(f"cannot write {str(target)!r}: it is a folder")
    already_open = descriptor_of(str(target))
    try:
        if already_open is not None:
            descriptor = os.dup(already_open)
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
        return _new_mode()


def _new_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
