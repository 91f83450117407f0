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
_WATCH = Path(__file__).with_name("watch.py")


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
        with (
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            given.write(stdin)
            given.seek(0)
            reading, writing = os.pipe()
            watcher = subprocess.Popen(
                [
                    *(sys.executable, "-SE", _WATCH, str(writing), str(address_space)),
                    *(sys.executable, "-m", "gml.cli", *map(str, args)),
                ],
                stdin=given,
                stdout=out,
                stderr=err,
                cwd=tmp_path,
                env={**os.environ, **(env or {})},
                pass_fds=[writing],
            )
            os.close(writing)
            with os.fdopen(reading) as report:
                guard = threading.Timer(seconds, os.kill, (int(report.readline()), signal.SIGKILL))
                guard.start()
                code, peak = map(int, report.readline().split())
                guard.cancel()
            watcher.wait()
            out.seek(0)
            err.seek(0)
            return Finished(code, out.read(), err.read(), peak)

    return run
