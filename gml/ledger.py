"""What a run reads and writes: inputs by the part they play, hashes of their bytes, files written.

The command line keeps a ledger for each run, and files that it writes carry what is in it. The
library on its own keeps none: what is noted then is forgotten.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


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
    planned: list[str] = field(default_factory=list)
    """Files that are to be written, as far as is known."""
    outputs: list[str] = field(default_factory=list)
    """Files written, by the names that they were given."""
    digests: dict[str, str] = field(default_factory=dict)
    """SHA-256 of inputs by their path, of those that were hashed as they were read."""
    wants_digests: bool = False
    """Whether an output will hold the hashes of the inputs."""
    keeps_unchanged: bool = False
    """Whether a file that would not change is left alone."""

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


_kept: ContextVar[Ledger | None] = ContextVar("ledger", default=None)


def is_kept() -> bool:
    """Whether there is a ledger."""
    return _kept.get() is not None


def current() -> Ledger:
    """Return the ledger of the run; outside a run one that nobody will look at."""
    found = _kept.get()
    return Ledger() if found is None else found


@contextmanager
def keeping() -> Iterator[Ledger]:
    """Keep a new ledger within a block."""
    token = _kept.set(Ledger())
    try:
        yield current()
    finally:
        _kept.reset(token)


def note_digest(path: str | os.PathLike[str], digest: str | None) -> None:
    """Note the SHA-256 of an input, if it was computed."""
    if digest is not None:
        current().digests[str(path)] = digest
