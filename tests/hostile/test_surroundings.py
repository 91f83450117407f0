"""What surrounds a run and may be hostile: planted settings, streams that fail, folders gone."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

CONSTANT = "A,B\nx,1\nx,2\n"


@pytest.fixture
def checked(tmp_path, sample_data, watched):
    """A model that does not hold on the data new.csv; returns the arguments to check it."""
    graph, model = sample_data / "asia.dot", tmp_path / "model.json"
    watched("fit-params", sample_data / "asia.csv", graph, "-o", model)
    rows = (sample_data / "asia.csv").read_text().splitlines()
    turned = [f"{row.rpartition(',')[0]},{'no' if row.endswith('yes') else 'yes'}" for row in rows]
    (tmp_path / "new.csv").write_text("\n".join([rows[0], *turned[1:]]) + "\n")
    return ["check", "new.csv", "model.json", "--families", "schema,tables"]


# --- settings ----------------------------------------------------------------------------------


def test_planted_settings_above_have_no_say(tmp_path, watched, checked):
    victim = tmp_path / "victim.txt"
    victim.write_text("mine")
    work = tmp_path / "a" / "b"
    work.mkdir(parents=True)
    planted = f"[check]\nwarn-only = true\nreport = {{json = '{victim}'}}\n"
    (tmp_path / "gml.toml").write_text(planted)
    done = subprocess.run(
        [sys.executable, "-m", "gml.cli", "check", "../../new.csv", "../../model.json"],
        cwd=work,
        capture_output=True,
    )
    assert done.returncode == 1
    assert victim.read_text() == "mine"


def test_settings_name_no_output_elsewhere(tmp_path, watched, checked):
    repository = tmp_path / "repository"
    (repository / ".git").mkdir(parents=True)
    (tmp_path / "victim.txt").write_text("mine")
    (repository / "gml.toml").write_text("[check]\nreport = {json = '../victim.txt'}\n")
    done = subprocess.run(
        [sys.executable, "-m", "gml.cli", "check", "../new.csv", "../model.json"],
        cwd=repository,
        capture_output=True,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(b"gml: error: gml.toml: [check] report: '../victim.txt' is not ")
    assert (tmp_path / "victim.txt").read_text() == "mine"


def test_reports_name_the_settings(tmp_path, watched, checked):
    formats = ("text", "json", "markdown", "junit", "sarif")
    others = [f"--report={form}=out.{form}" for form in formats]
    plain = watched(*checked, *others)
    assert plain.code == 1
    before = {form: (tmp_path / f"out.{form}").read_text() for form in formats}
    assert not any("ettings" in text for text in before.values())
    (tmp_path / "gml.toml").write_text("[check]\nwarn-only = true\n")
    assert watched(*checked, *others).code == 0
    after = {form: (tmp_path / f"out.{form}").read_text() for form in formats}
    assert "\n      settings from gml.toml\n" in after["text"]
    assert json.loads(after["json"])["settings"] == "gml.toml"
    assert "\nWith settings from gml.toml.\n" in after["markdown"]
    assert '<property name="settings" value="gml.toml"/>' in after["junit"]
    (run,) = json.loads(after["sarif"])["runs"]
    assert run["properties"]["settings"] == "gml.toml"


# --- standard error ----------------------------------------------------------------------------


def test_a_failing_standard_error_leaves_the_exit_code_alone(shell, tmp_path):
    (tmp_path / "one.csv").write_text(CONSTANT)
    for command, code in (
        ("check nofile m.json", 3),
        ("chowliu nofile.csv --debug", 3),
        ("chowliu one.csv", 0),
        ("chowliu one.csv -v -o out.json", 0),
        ("chowliu", 2),
        ("", 2),
        ("nothing", 2),
    ):
        assert shell(f"G {command} 2> /dev/full").returncode == code, command


# A pipe that nobody reads; one open for reading only, so that every write fails.
@pytest.mark.parametrize("opening", ["2> >(true); sleep 0.1", "2< /dev/null"])
def test_a_standard_error_that_nobody_reads(shell, tmp_path, opening):
    (tmp_path / "one.csv").write_text(CONSTANT)
    assert shell(f"exec {opening}; G check nofile m.json").returncode == 3
    assert shell(f"exec {opening}; G chowliu one.csv").returncode == 0


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "cp437", "ascii:strict", "utf-16"])
def test_help_in_any_encoding(watched, encoding):
    for args in (["--help"], ["chowliu", "--help"]):
        done = watched(*args, env={"PYTHONIOENCODING": encoding})
        assert (done.code, done.stderr) == (0, b"")
        assert "Usage: gml" in done.stdout.decode(encoding.partition(":")[0], "replace")


def test_help_without_a_locale(watched):
    env = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}
    for args in (["--help"], ["chowliu", "--help"]):
        assert watched(*args, env=env).code == 0
    done = watched(os.fsdecode(b"caf\xe9"), env=env)
    assert (done.code, done.stderr.count(b"\n")) == (2, 1)


# --- a current folder that is gone -------------------------------------------------------------


def test_a_current_folder_that_is_gone(shell, tmp_path, sample_data):
    inside = f"mkdir d && cd d && rmdir ../d; D={sample_data}/asia.csv; T={tmp_path}"
    assert shell(f"{inside}; G --help").returncode == 0
    learn = "G chowliu $D -o $T/g.json && G fit-params $D $T/g.json -o $T/m.json"
    check = "G check $D $T/m.json --families schema -f sarif -o $T/r.sarif"
    done = shell(f"{inside}; {learn} && {check} && G verify $T/m.json")
    assert (done.returncode, done.stderr) == (0, b"")
    done = shell(f"{inside}; G chowliu asia.csv")
    assert (done.returncode, done.stderr.count(b"\n")) == (3, 1)
    done = shell(f"{inside}; G chowliu $D -o g.json")
    assert done.returncode == 2
    assert done.stderr == (
        b"gml: error: cannot write 'g.json': the current folder is gone; change to another, or "
        b"name a whole path\n"
    )


# --- little memory -----------------------------------------------------------------------------


@pytest.mark.parametrize("mebibytes", [60, 140, 240, 400])
def test_little_memory_is_said_to_be_little_memory(tmp_path, watched, sample_data, mebibytes):
    data = sample_data / "asia.csv"
    assert watched("count", data, "--pairs", "-o", "counts.parquet").code == 0
    space = mebibytes << 20
    counted = watched("count", data, "--pairs", "-o", "again.parquet", address_space=space)
    merged = watched("merge", *["counts.parquet"] * 2, "-o", "both.parquet", address_space=space)
    runs = [counted, merged, watched("chowliu", "counts.parquet", address_space=space)]
    if mebibytes < 256:
        # OpenBLAS would exit with 1 where it gets no memory: the answer no.
        runs.append(watched("chowliu", data, address_space=space))
    for done in runs:
        assert done.code == 4
        assert done.stderr.startswith(b"gml: error: out of memory")
        assert done.stderr.count(b"\n") == 1
    assert not (tmp_path / "again.parquet").exists()


# The second leaves room for the arena of Arrow's own allocator, and for little else.
@pytest.mark.parametrize("mebibytes", [800, 1350])
def test_enough_memory_for_parquet(watched, sample_data, mebibytes):
    data, space = sample_data / "asia.csv", mebibytes << 20
    # Each thread takes address space of its own.
    one = ("--threads", "1")
    done = watched("count", data, "--pairs", "-o", "c.parquet", *one, address_space=space)
    assert (done.code, done.stderr) == (0, b"")
    done = watched("chowliu", "c.parquet", *one, address_space=space)
    assert (done.code, done.stderr) == (0, b"")


def test_an_error_of_a_library_that_is_lack_of_memory():
    from gml.resources import lack_behind

    assert lack_behind(RuntimeError("can't start new thread")).startswith("out of threads")
    assert lack_behind(OSError(12, "Cannot allocate memory")) == "out of memory"
    assert lack_behind(MemoryError()) == "out of memory"
    assert lack_behind(ValueError("failed to map segment")) is None
