"""Which file of settings is found, and what it may do: settings can turn a no into a yes.

A file that is found, not named, comes from the current folder or from the root of its repository,
and from nowhere else: whoever can write into a folder above must not have a say. It must belong to
the user or to root, and others must not be able to write to it. Whatever file it is, the outputs
that it names stay below its folder.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gml.errors import DataError, UsageError, place, quote
from gml.path_kinds import is_there
from gml.resources import format_size

_MOST_BYTES = 16 << 20
_WRITABLE = stat.S_IWGRP | stat.S_IWOTH


class RawFile(NamedTuple):
    """The bytes of a file, whether another user owns it, and whether others can write it."""

    content: bytes
    is_foreign: bool
    is_writable: bool


def folders() -> Iterator[Path]:
    """The current folder, and the root of its repository if that is another one."""
    try:
        here = Path.cwd()
    except FileNotFoundError:
        return
    yield here
    for folder in (here, *here.parents):
        if is_there(folder / ".git"):
            if folder != here:
                yield folder
            return


def read_settings(path: str) -> RawFile:
    """Read a file, and see who can write it."""
    try:
        with Path(path).open("rb") as file:
            # The owner of the file that is read; and of a link, which another user may have made.
            found = os.fstat(file.fileno())
            owners = {found.st_uid, Path(path).lstat().st_uid}
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise DataError(f"{place(path)}: cannot be read: {error.strerror}") from None
    if len(content) > _MOST_BYTES:
        most = format_size(_MOST_BYTES)
        raise DataError(f"{place(path)}: over {most}, too large for a file of settings")
    if not hasattr(os, "geteuid"):
        return RawFile(content, is_foreign=False, is_writable=False)
    is_writable = stat.S_ISREG(found.st_mode) and bool(found.st_mode & _WRITABLE)
    return RawFile(content, not owners <= {os.geteuid(), 0}, is_writable)


def require_trusted(path: str, raw: RawFile) -> None:
    """Refuse a file that was found, and not named, if it may be another user's."""
    way_out = "name it with --config if you trust it, or leave it out with --no-config"
    if raw.is_foreign:
        raise DataError(f"{place(path)}: these settings belong to another user; {way_out}")
    if raw.is_writable:
        raise DataError(f"{place(path)}: others can write these settings; chmod go-w it, {way_out}")


def require_below(folder: str, path: str, origin: str) -> None:
    """Refuse an output of a file of settings that is not below its folder, links followed."""
    if path == "-":
        return
    root, target = Path(os.path.realpath(folder or ".")), Path(os.path.realpath(path))
    if not target.is_relative_to(root):
        raise UsageError(
            f"{origin}: {quote(path)} is not below the folder of the file; name a place elsewhere "
            "on the command line or in the environment"
        )
