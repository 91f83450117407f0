"""--engine stream, interrupted, or with a reader that goes away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from tests.command_line import GML


def test_an_interrupt_ends_it_soon(tmp_path):
    words = [sys.executable, "-m", "gml.cli", "hc", "-", "--engine", "stream", "--spool", tmp_path]
    streams = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*map(str, words)], **streams) as run:
        run.stdin.write(b"a,b\n" + b"x,y\n" * 300_000)
        run.stdin.flush()
        # The rest of the table never comes; the file of codes has no name but is open.
        opened = Path("/proc") / str(run.pid) / "fd"
        while not any(os.readlink(one).startswith(str(tmp_path)) for one in opened.iterdir()):
            assert run.poll() is None
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        run.wait(timeout=60)
        said = run.stderr.read()
    assert run.returncode == 130, said
    assert list(tmp_path.iterdir()) == []


def test_a_closed_pipe_ends_it_quietly(sample_data, tmp_path):
    words = ["indtest", sample_data / "asia.csv", "--all-pairs", "-f", "csv"]
    stream = ["--engine", "stream", "--spool", tmp_path]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*GML, *map(str, words + stream)], **streams) as run:
        run.stdout.close()
        said = run.stderr.read()
    assert (run.returncode, said) == (0, b"")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_between_passes(tmp_path):
    """Restarts ask for tables again and again, so that there is always a next pass."""
    rng = np.random.default_rng(0)
    data = tmp_path / "d.csv"
    header = ",".join(f"v{j}" for j in range(12))
    np.savetxt(data, rng.integers(0, 3, (2000, 12)), "%d", ",", header=header, comments="")
    spool = tmp_path / "spool"
    spool.mkdir()
    words = ["hc", data, "--score", "aic", "--restarts", 10_000, "--engine", "stream", "-v"]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*GML, *map(str, [*words, "--spool", spool])], **streams) as run:
        assert any(b"pass 3:" in line for line in run.stderr)
        run.send_signal(signal.SIGINT)
        written, said = run.communicate(timeout=60)
    assert (run.returncode, written) == (130, b"")
    assert said.splitlines()[-1] == b"gml: error: interrupted"
    assert list(spool.iterdir()) == []
