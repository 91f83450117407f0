"""Runs that are stopped leave whole files and no others; see `kills` for hundreds of them."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from gml import atomic
from gml.atomic import whole_file, write_whole
from gml.errors import GmlError
from gml.signals import partial_files
from tests.conftest import ROOT

ENDING = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGXCPU", "SIGUSR1"]
# Starts a command with the dispositions that it is given, whatever those of the test runner are.
START = """
import os, resource, signal, sys
for name in ("SIGTERM", "SIGHUP", "SIGQUIT", "SIGXCPU", "SIGUSR1"):
    signal.signal(getattr(signal, name), signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
if sys.argv[1]:
    signal.signal(getattr(signal, sys.argv[1]), signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
os.execv(sys.executable, [sys.executable, "-m", "gml.cli", *sys.argv[2:]])
"""


def test_every_kind_of_output_and_every_signal():
    done = subprocess.run(
        [sys.executable, "-m", "tests.hostile.kills", "36"], cwd=ROOT, capture_output=True
    )
    assert done.stdout, done.stderr.decode()
    figures = json.loads(done.stdout)
    assert figures["examples"] == []
    assert figures["stopped"] > 10


@pytest.fixture
def folder(tmp_path):
    net = {
        "directed": True,
        "multigraph": False,
        "graph": {"schema": "gml/1", "kind": "dag"},
        "nodes": [{"id": "a", "levels": ["n", "y"], "parents": [], "cpt": [[0.5, 0.5]]}],
        "edges": [],
    }
    (tmp_path / "m.json").write_text(json.dumps(net))
    (tmp_path / "out.csv").write_text("old")
    return tmp_path


def temporary(folder):
    return [path for path in folder.iterdir() if path.name.startswith(".out.csv.gml-")]


@contextlib.contextmanager
def writing(folder, *, ignored="", rows=10**9):
    """A run in the middle of its output, which never ends by itself."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            START,
            ignored,
            "sample",
            "m.json",
            "-n",
            str(rows),
            "-o",
            "out.csv",
        ],
        cwd=folder,
        stderr=subprocess.PIPE,
    )
    known = set(temporary(folder))
    try:
        deadline = time.monotonic() + 30
        while not any(path.stat().st_size for path in {*temporary(folder)} - known):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield process
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.mark.parametrize("name", ENDING)
def test_a_run_ends_by_the_signal_and_without_a_trace(folder, name):
    number = getattr(signal, name)
    with writing(folder) as process:
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
    if name == "SIGINT":
        assert (process.returncode, said) == (130, b"gml: error: interrupted\n")
    else:
        assert process.returncode == -number
        assert said == f"gml: error: stopped by {name}\n".encode()
    assert sorted(path.name for path in folder.iterdir()) == ["m.json", "out.csv"]
    assert (folder / "out.csv").read_text() == "old"


@pytest.mark.parametrize(("name", "end"), [("SIGINT", 130), ("SIGTERM", -signal.SIGTERM)])
def test_nothing_can_take_a_signal_for_an_error(name, end):
    """As modules in C do that are just being imported."""
    script = f"""
import os, signal, time
from gml.signals import end_on_signals

signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
end_on_signals()
while True:
    try:
        os.kill(os.getpid(), signal.{name})
        time.sleep(60)
    except BaseException:
        pass
"""
    assert subprocess.run([sys.executable, "-c", script], capture_output=True).returncode == end


@pytest.mark.parametrize("name", ["SIGHUP", "SIGINT"])
def test_an_ignored_signal_stays_ignored(folder, name):
    """As nohup does with SIGHUP, and a shell with Ctrl-C for what runs in the background."""
    with writing(folder, ignored=name) as process:
        process.send_signal(getattr(signal, name))
        process.send_signal(signal.SIGCONT)
        time.sleep(0.2)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (-signal.SIGTERM, b"gml: error: stopped by SIGTERM\n")
    assert temporary(folder) == []


def test_what_was_killed_is_removed_by_the_next_run_and_by_no_other(folder, gml):
    with writing(folder) as process:
        process.kill()
    left = temporary(folder)
    assert len(left) == 1
    # Of another output, one that is too like it, a folder and a link; none is ours to remove.
    keep = [f".{name}.gml-0123456789abcdef.tmp" for name in ("out", "out.csv.gml", "xout.csv")]
    keep += [".out.csv.gml-0123456789abcde.tmp", ".out.csv.gml-0123456789ABCDEF.tmp"]
    for name in keep:
        (folder / name).write_text("")
    (folder / ".out.csv.gml-1111111111111111.tmp").mkdir()
    (folder / ".out.csv.gml-2222222222222222.tmp").symlink_to("m.json")
    keep += [f".out.csv.gml-{digit * 16}.tmp" for digit in "12"]
    assert gml("sample", "m.json", "-n", "3", "-o", "other.csv").returncode == 0
    assert left[0].exists()
    assert gml("sample", "m.json", "-n", "3", "-o", "out.csv").returncode == 0
    found = sorted(path.name for path in folder.iterdir())
    assert found == sorted([*keep, "m.json", "other.csv", "out.csv"])


def test_two_live_runs_write_the_same_file(folder, gml):
    with writing(folder) as first:
        assert gml("sample", "m.json", "-n", "3", "-o", "out.csv").returncode == 0
        assert (folder / "out.csv").read_text().count("\n") == 4
        assert len(temporary(folder)) == 1
        assert first.poll() is None
        first.terminate()
        first.wait(timeout=30)
    assert temporary(folder) == []


def test_a_file_that_is_taken_for_a_leftover_before_its_lock_is_made_anew(tmp_path, monkeypatch):
    removed = []
    lock = fcntl.flock

    def late(descriptor, how):
        if how & fcntl.LOCK_EX and not removed:
            (path,) = tmp_path.iterdir()
            removed.append(path)
            atomic._remove_unlocked(str(path))
        return lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    write_whole(tmp_path / "out", b"new")
    assert len(removed) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert partial_files == set()


def test_without_locks_files_are_written_and_nothing_is_removed(tmp_path, monkeypatch):
    def none(descriptor, how):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", none)
    other = tmp_path / ".out.gml-0123456789abcdef.tmp"
    other.write_text("somebody may be writing this")
    write_whole(tmp_path / "out", b"new")
    assert sorted(path.name for path in tmp_path.iterdir()) == [other.name, "out"]


def test_files_of_one_process_do_not_disturb_each_other(tmp_path):
    with whole_file(tmp_path / "out") as first:
        first.write(b"first")
        with whole_file(tmp_path / "out") as second:
            second.write(b"second")
        assert (tmp_path / "out").read_bytes() == b"second"
    assert (tmp_path / "out").read_bytes() == b"first"


@pytest.mark.parametrize("name", ["x" * 255, "é" * 127, "x" * 250 + ".json", "𝔵" * 63])
def test_long_names(tmp_path, name):
    write_whole(tmp_path / name, b"new")
    with pytest.raises(GmlError), whole_file(tmp_path / name):
        assert all(len(os.fsencode(found)) < 256 for found in os.listdir(tmp_path))
        raise OSError(28, "No space left on device")
    assert os.listdir(tmp_path) == [name]
