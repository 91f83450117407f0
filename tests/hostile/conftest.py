"""Run the command where memory is watched: what tests of hostile input share."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

MIB = 1 << 20
# Beyond any peak that a test allows: a failing test must not take the machine along.
_ADDRESS_SPACE = 6 << 30
# A process starts with the peak of the one it was forked from, so that this must be a small one.
_WATCHER = """
import os, resource, sys
space, report, *command = sys.argv[1:]
child = os.fork()
if child == 0:
    resource.setrlimit(resource.RLIMIT_AS, (int(space), int(space)))
    os.execv(command[0], command)
_, status, usage = os.wait4(child, 0)
with open(report, "w") as file:
    file.write(f"{status} {usage.ru_maxrss}")
"""


class Finished(NamedTuple):
    """What a process left: exit code, streams, and the most memory it had, in bytes."""

    code: int
    stdout: bytes
    stderr: bytes
    peak: int

    @property
    def error(self) -> str:
        """The last line of standard error."""
        return self.stderr.decode().rstrip("\n").rpartition("\n")[2]


@pytest.fixture
def watched(tmp_path: Path) -> Callable[..., Finished]:
    """Run the real command in a scratch folder; a run that hangs is killed and fails the test."""

    def run(
        *args: str | Path,
        stdin: bytes = b"",
        env: dict[str, str] | None = None,
        seconds: float = 60,
        address_space: int = _ADDRESS_SPACE,
    ) -> Finished:
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, \
                tempfile.TemporaryFile() as err, tempfile.NamedTemporaryFile() as report:  # fmt: skip
            given.write(stdin)
            given.seek(0)
            command = [sys.executable, "-m", "gml.cli", *map(str, args)]
            process = subprocess.Popen(
                [sys.executable, "-ISc", _WATCHER, str(address_space), report.name, *command],
                stdin=given,
                stdout=out,
                stderr=err,
                cwd=tmp_path,
                env={**os.environ, **(env or {})},
                start_new_session=True,
            )
            guard = threading.Timer(seconds, os.killpg, [process.pid, signal.SIGKILL])
            guard.start()
            process.wait()
            guard.cancel()
            status, peak = map(int, report.read().split() or [signal.SIGKILL, 0])
            out.seek(0)
            err.seek(0)
            code = os.waitstatus_to_exitcode(status)
            return Finished(code, out.read(), err.read(), peak * 1024)

    return run
