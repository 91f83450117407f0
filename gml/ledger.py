"""What a run reads and writes: inputs by the part they play, hashes of their bytes, files written.

The command line keeps a ledger for each run. The paths that it hands to the library are of the type
`RunPath` and carry it, so that what reads such a path can note a hash, and what writes one knows of
the other files. A plain path, as Python users give it, carries none, and nothing is noted.

One rule keeps files apart: no output may be an input, lie in a folder that is one, or be another
output. Inputs and outputs are held against each other in whichever order they come to be known. A
file is known by its identity on the file system, so links and other spellings make no difference.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gml.errors import OutputError, UsageError
from gml.path_kinds import is_folder

STANDARD_OUTPUT = "-"
RESULT = "--output"
"""The option that names the file of the result."""
_OPEN_FILE = re.compile(r"/dev/std(in|out|err)|(?:/dev|/proc/self)/fd/(\d+)")
_STANDARD = {"in": 0, "out": 1, "err": 2}

# Device and inode of a file; for one that does not exist yet, those of its folder, and its name.
Identity = tuple[int, int] | tuple[int, int, str]


@dataclass(frozen=True)
class Input:
    """A file that is read; `role` is the name of the argument or option that names it.

    `several`: the argument can name more than one file.
    """

    role: str
    path: str
    several: bool = False


@dataclass
class Ledger:
    """The files of one run."""

    inputs: list[Input] = field(default_factory=list)
    planned: dict[str, str] = field(default_factory=dict)
    """Files and folders to be written, as far as is known, and the options that name them."""
    outputs: list[str] = field(default_factory=list)
    """Files written, by the names that they were given."""
    digests: dict[str, str] = field(default_factory=dict)
    """SHA-256 by path, of the inputs that were hashed as they were read."""
    wants_digests: bool = False
    """Whether an output will hold the hashes of the inputs."""
    keeps_unchanged: bool = False
    """Whether a file that would not change is left alone."""
    only_planned: bool = False
    """Whether to say what the run would take, in place of running."""
    _read: dict[Identity, str] = field(default_factory=dict)
    _replaceable: set[Identity] = field(default_factory=set)
    _folders: dict[Identity, str] = field(default_factory=dict)
    _reserved: dict[Identity | int, str] = field(default_factory=dict)
    _written: dict[Identity, str] = field(default_factory=dict)

    def claim(self, item: Input, files: Sequence[str] = (), *, replaceable: bool = False) -> None:
        """Note an input, and the `files` in it if it is a folder.

        No output may replace them; the result may, if they are `replaceable`.
        """
        self.inputs.append(item)
        if is_folder(item.path):
            self.protect(item.path)
        for path in files or [item.path]:
            found = _identity(0 if path == "-" else path)
            # Whoever reads it will say that it does not exist.
            if found is not None and len(found) == 2:
                self._read[found] = path
                if replaceable:
                    self._replaceable.add(found)
        for path, option in self.planned.items():
            self._require_no_input(path, option)

    def protect(self, folder: str) -> None:
        """Let no output go into a folder whose files are inputs."""
        found = _identity(folder)
        if found is not None:
            self._folders[found] = folder
        for path, option in self.planned.items():
            self._require_no_input(path, option)

    def plan(self, path: str, option: str) -> None:
        """Note an output before anything is written; it may be neither an input nor another one.

        `-` is standard output. Devices can be named more than once.
        """
        self._require_no_input(path, option)
        other = self._rival(path)
        if other is not None:
            options = " and ".join(dict.fromkeys([self.planned[other], option]))
            if _descriptor(path) == 1:
                where, way_out = f"standard output ({options})", "name a file"
            else:
                where, way_out = f"{path!r} ({options}), the same file", "name another"
            raise UsageError(f"two outputs would go to {where}; {way_out} for one of them")
        self._reserved |= dict.fromkeys(_keys(path), path)
        self.planned[path] = option

    def _rival(self, path: str) -> str | None:
        """Return the planned output that would go to the same place, if there is one."""
        for key in _keys(path):
            other = self._reserved.get(key)
            # Two descriptors can share a file, by 2>&1: they write to it one after the other.
            shared = not isinstance(key, int) and None not in map(_descriptor, (path, other or ""))
            if other is not None and not shared:
                return other
        return None

    def require_unwritten(self, path: str, target: str) -> None:
        """Refuse to replace what the run wrote under another name that means the same file.

        A file system can treat two names as one, which nothing shows before the file exists.
        """
        found = _identity(target)
        other = None if found is None else self._written.get(found, path)
        if other not in (None, path):
            raise OutputError(f"{path!r} would replace {other!r}, which was just written")

    def note_written(self, path: str, target: str) -> None:
        """Note a file that was written, by the name that it was given."""
        self.outputs.append(path)
        found = _identity(target)
        if found is not None:
            self._written[found] = path

    def _require_no_input(self, path: str, option: str) -> None:
        shown = "standard output" if _descriptor(path) == 1 else repr(path)
        free = self._replaceable if option == RESULT else set()
        if any(key in self._read and key not in free for key in _keys(path)):
            raise UsageError(f"{shown} ({option}) is an input; write somewhere else")
        if not self._folders or _descriptor(path) is not None:
            return
        # Where a link is, and what it leads to.
        for place in (os.path.realpath(os.path.dirname(path)), os.path.realpath(path)):  # noqa: PTH120
            for folder in _upwards(place):
                found = self._folders.get(_identity(folder) or (0, 0))
                if found is not None:
                    raise UsageError(
                        f"{shown} is inside {found!r}, an input folder, and would be read as data "
                        "next time; write somewhere else"
                    )

    def input_hashes(self) -> dict[str, str | list[str]]:
        """Return the hashes of the inputs by role, a list for a role that can have several.

        Examples
        --------
        >>> ledger = Ledger([Input("data", "a.csv"), Input("graph", "g.dot", several=True)])
        >>> ledger.digests |= {"a.csv": "12", "g.dot": "34"}
        >>> ledger.input_hashes()
        {'data': 'sha256:12', 'graph': ['sha256:34']}
        """
        found: dict[str, str | list[str]] = {}
        for item in self.inputs:
            if item.path not in self.digests:
                continue
            digest = f"sha256:{self.digests[item.path]}"
            if not item.several:
                found[item.role] = digest
                continue
            listed = found.setdefault(item.role, [])
            assert isinstance(listed, list)
            listed.append(digest)
        return found


def descriptor_of(path: str) -> int | None:
    """Return the descriptor that a path means, if it means one that is open already.

    Examples
    --------
    >>> descriptor_of("/dev/stdout"), descriptor_of("/dev/fd/3"), descriptor_of("graph.dot")
    (1, 3, None)
    """
    found = _OPEN_FILE.fullmatch(path)
    if found is None:
        return None
    return _STANDARD[found[1]] if found[1] else int(found[2])


def goes_to_standard_output(path: str | None) -> bool:
    """Whether what the command line names as an output (None: nothing) is standard output."""
    return path in (None, STANDARD_OUTPUT) or descriptor_of(str(path)) == 1


def _descriptor(path: str) -> int | None:
    return 1 if path == STANDARD_OUTPUT else descriptor_of(path)


def _identity(path: str | int) -> Identity | None:
    """What a path leads to; None for a device or socket, and where nothing can be."""
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        if isinstance(path, int):
            return None
        folder, name = os.path.split(os.path.realpath(path))
        try:
            above = os.stat(folder)  # noqa: PTH116
        except OSError:
            return None
        return above.st_dev, above.st_ino, name
    except ValueError:
        # A null character; whoever opens it will say so.
        return None
    kinds = (stat.S_ISREG, stat.S_ISDIR, stat.S_ISFIFO)
    return (found.st_dev, found.st_ino) if any(kind(found.st_mode) for kind in kinds) else None


def _keys(path: str) -> list[Identity | int]:
    """What identifies an output: for a descriptor its number, and the file that it leads to."""
    number = _descriptor(path)
    if number is None:
        found = _identity(path)
        return [] if found is None else [found]
    try:
        state = os.fstat(number)
    except OSError:
        return [number]
    return [number, (state.st_dev, state.st_ino)] if stat.S_ISREG(state.st_mode) else [number]


def _upwards(place: str) -> Iterator[str]:
    yield place
    while place != (place := os.path.dirname(place)):  # noqa: PTH120
        yield place


class RunPath(str):
    """A path that a command line names, with the ledger of its run; otherwise a string as any.

    A copy of it is a plain path.

    Examples
    --------
    >>> ledger = Ledger(wants_digests=True)
    >>> path = RunPath("a.csv", ledger)
    >>> wants_digest(path), wants_digest("a.csv")
    (True, False)
    >>> note_digest(path, "12")
    >>> ledger.digests
    {'a.csv': '12'}
    """

    __slots__ = ("ledger",)
    ledger: Ledger

    def __new__(cls, path: str, ledger: Ledger) -> RunPath:
        found = super().__new__(cls, path)
        found.ledger = ledger
        return found

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


def wants_digest(path: object, *, beforehand: bool = False) -> bool:
    """Whether the run of a path wants the hash of an input.

    With `beforehand`, any run does: it is read before it is known what outputs will hold.
    """
    return isinstance(path, RunPath) and (beforehand or path.ledger.wants_digests)


def is_only_planned(data: object) -> bool:
    """Whether data are those of a run that is only planned: a path, or the first of several."""
    first = data[0] if isinstance(data, list) and data else data
    return isinstance(first, RunPath) and first.ledger.only_planned


def note_digest(path: object, digest: str | None) -> None:
    """Note the SHA-256 of an input in the run of its path, if it was computed."""
    if isinstance(path, RunPath) and digest is not None:
        path.ledger.digests[str(path)] = digest


def noted_digest(path: object) -> str | None:
    """Return the SHA-256 of an input that the run of its path knows."""
    return path.ledger.digests.get(str(path)) if isinstance(path, RunPath) else None


def path_in(folder: str | os.PathLike[str], name: str) -> str:
    """Return the path of a file in a folder, which is part of the same run."""
    path = str(Path(folder) / name)
    return RunPath(path, folder.ledger) if isinstance(folder, RunPath) else path
