"""Run the command: as a process, or in this one, which is many times faster.

In this process a run gets what a process has of its own: the three standard streams as descriptors,
the environment, the current folder, the filters of warnings and the settings of the interpreter.
What an interpreter reads only as it starts (`PYTHONHASHSEED`) and what a process keeps once it was
asked for (`GML_KERNEL`) needs a process, as do signals, pipes, limits and start-up.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

GML = [sys.executable, "-m", "gml.cli"]
SECONDS = 120

_NEED_A_PROCESS = ("GML_KERNEL", "LANG", "LC_", "OMP_", "OPENBLAS_", "PYTHON")
# As Python starts: these are for developers.
_FOR_DEVELOPERS = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)

Finished = subprocess.CompletedProcess[bytes]


def run_process(
    args: Sequence[str | Path],
    folder: Path,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
) -> Finished:
    """Run the command as a process, in a folder."""
    return subprocess.run(
        [*GML, *map(str, args)],
        input=stdin,
        capture_output=True,
        cwd=folder,
        env={**os.environ, **(env or {})},
        timeout=SECONDS,
    )


def run_here(
    args: Sequence[str | Path],
    folder: Path,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    *,
    one_stream: bool = False,
) -> Finished:
    """Run the command in this process; where the environment needs it, as a process.

    `one_stream`: standard error goes to standard output, as by 2>&1.
    """
    from gml.cli.main import run

    if any(name.startswith(_NEED_A_PROCESS) for name in env or {}):
        return run_process(args, folder, stdin, env)
    words = list(map(str, args))
    with contextlib.ExitStack() as files:
        streams = [files.enter_context(_memory_file(name)) for name in ("in", "out", "err")]
        if one_stream:
            streams[2] = streams[1]
        with (
            standard_streams(streams, stdin),
            interpreter_state(env or {}),
            contextlib.chdir(folder),
        ):
            code = run(words)
        out, err = content_of(streams[1]), b"" if one_stream else content_of(streams[2])
        return subprocess.CompletedProcess(words, code, out, err)


def error_line(done: Finished, code: int) -> str:
    """Return the one-line error of a run that failed with a code and printed nothing else."""
    assert done.returncode == code, done.stderr
    assert done.stdout == b""
    text = done.stderr.decode()
    assert text.startswith("gml: error: ")
    assert text.count("\n") == 1
    assert "Traceback" not in text
    return text


def printed_json(done: Finished) -> Any:
    """The JSON that a run printed, which must have ended well."""
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def printed_rows(done: Finished) -> list[dict[str, str]]:
    """The rows of CSV that a run printed, which must have ended well."""
    assert done.returncode == 0, done.stderr.decode()
    return list(csv.DictReader(io.StringIO(done.stdout.decode())))


def files_in(folder: Path) -> dict[str, bytes]:
    """What the files of a folder hold, by their names."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _memory_file(name: str) -> io.FileIO:
    return io.FileIO(os.memfd_create(name), "w+")


def content_of(stream: io.FileIO) -> bytes:
    """Return all that is in a file."""
    stream.seek(0)
    return stream.read()


@contextlib.contextmanager
def standard_streams(files: Sequence[io.FileIO], stdin: bytes) -> Iterator[None]:
    """Let three files, emptied before, be the standard streams; the first holds the input."""
    for file in files:
        os.ftruncate(file.fileno(), 0)
        file.seek(0)
    files[0].write(stdin)
    files[0].seek(0)
    saved = [os.dup(k) for k in range(3)]
    objects = sys.stdin, sys.stdout, sys.stderr
    for k, file in enumerate(files):
        os.dup2(file.fileno(), k)
    sys.stdin = io.TextIOWrapper(
        io.BufferedReader(io.FileIO(0, closefd=False)), encoding="utf-8", errors="surrogateescape"
    )
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(1, "w", closefd=False)), encoding="utf-8"
    )
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(2, "w", closefd=False)),
        encoding="utf-8",
        errors="backslashreplace",
        line_buffering=True,
    )
    try:
        yield
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        sys.stdin, sys.stdout, sys.stderr = objects
        for k, old in enumerate(saved):
            os.dup2(old, k)
            os.close(old)


@contextlib.contextmanager
def interpreter_state(env: Mapping[str, str]) -> Iterator[None]:
    """Set the environment, and put back what a run may leave changed in the interpreter."""
    import numpy as np

    kept = dict(os.environ)
    settings = sys.getrecursionlimit(), csv.field_size_limit()
    os.environ.update(env)
    try:
        with np.errstate(), warnings.catch_warnings():
            warnings.resetwarnings()
            for category in _FOR_DEVELOPERS:
                warnings.simplefilter("ignore", category)
            # A process says nothing of them: whatever formula they are about needs mending.
            warnings.simplefilter("error", RuntimeWarning)
            warnings.showwarning = _print_warning
            yield
    finally:
        os.environ.clear()
        os.environ.update(kept)
        sys.setrecursionlimit(settings[0])
        csv.field_size_limit(settings[1])


def _print_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: object = None,
    line: str | None = None,
) -> None:
    """As Python does, where pytest would collect it."""
    sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))
