"""What --engine stream refuses, and which commands have no engine."""

from __future__ import annotations

import os

import pytest

from tests.command_line import error_line
from tests.late_labels import mixed_text


@pytest.fixture
def mixed(tmp_path):
    """A table of numbers and labels."""
    path = tmp_path / "mixed.csv"
    path.write_text(mixed_text())
    return path


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--engine", "memory", "--spool", "."], 2, "--spool goes with --engine stream"),
        (["--engine", "memory", "--spool-keep"], 2, "--spool-keep goes with --engine stream"),
        (["--engine", "stream", "--master", "local"], 2, "--master goes with --engine spark"),
        (["--engine", "fast"], 2, "fast"),
        (["--engine", "stream", "--spool", "no-such-folder"], 2, "no folder 'no-such-folder'"),
        (["--spool", "no-such-folder"], 2, "no folder 'no-such-folder'"),
        (["--spool", "no-such-folder", "--spool-keep"], 2, "no folder 'no-such-folder'"),
    ],
)
def test_options_that_contradict(gml, sample_data, words, code, said):
    assert said in error_line(gml("chowliu", sample_data / "asia.csv", *words), code)


def test_cuts_by_other_columns_need_memory(gml, mixed):
    command = ["chowliu", mixed, "--engine", "stream", "--missing", "drop"]
    how = ["--bins", 3, "--discretize", "mdlp", "--discretize-class", "l"]
    assert "takes the rows in memory" in error_line(gml(*command, *how), 4)


def test_fractions_need_memory(gml, mixed):
    done = gml(
        *("hc", mixed, "--bins", 2, "--missing", "drop"),
        *("--weights-fractional", "w", "--engine", "stream"),
    )
    assert "--weights-fractional needs to know the sum" in error_line(done, 4)


@pytest.mark.parametrize("command", ["profile", "rake", "crf", "mixture", "report", "draw"])
def test_commands_that_need_rows_have_no_engine(command):
    from gml.cli.main import cli

    found = cli.get_command(None, command)
    assert "--engine" not in {flag for parameter in found.params for flag in parameter.opts}


def test_a_full_disk_is_one_line(gml, sample_data, monkeypatch):
    def no_room(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", no_room)
    done = gml("chowliu", sample_data / "asia.csv", "--engine", "stream")
    line = error_line(done, 4)
    assert "cannot write to the spool in" in line and "No space left on device" in line
