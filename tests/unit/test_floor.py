"""The floor: atomic writes, messages, progress, sizes, level order."""

from __future__ import annotations

import io
import os
import stat
import sys

import pytest

from gml.atomic import write_whole
from gml.data.levels import order_levels
from gml.errors import GmlWarning, OutputError, UsageError, listing, unknown_name
from gml.progress import Reporter, StderrReporter, reporter, reporting_to
from gml.resources import budget_in_force, format_size, parse_size


def test_write_whole(tmp_path):
    path = tmp_path / "out"
    write_whole(path, b"one")
    assert path.read_bytes() == b"one"
    path.chmod(0o640)
    write_whole(path, b"two")
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["out"]


def test_write_follows_links(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_new_files_get_the_usual_permissions(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "out", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o640


def test_failing_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "out"
    path.write_bytes(b"old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="No space left"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out"]


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(UsageError, match="No such file"):
        write_whole(tmp_path / "no" / "out", b"")
    with pytest.raises(UsageError, match="folder"):
        write_whole(tmp_path, b"")
    with pytest.raises(OutputError, match="No space left"):
        write_whole("/dev/full", b"x")
    write_whole("/dev/null", b"x")


def test_unknown_names_come_with_the_nearest():
    message = unknown_name("column", "smoek", ["asia", "smoke", "lung"])
    assert (
        message
        == "column 'smoek' not found; did you mean 'smoke'? there are 'smoke', 'asia', 'lung'"
    )
    assert "did you mean" not in unknown_name("column", "zzz", ["asia"])
    assert listing([str(i) for i in range(10)]).endswith("'7' and 2 more")


def test_library_warns_with_warnings():
    with pytest.warns(GmlWarning, match="careful"):
        Reporter().warn("careful")


def test_reporter_is_restored_after_an_error():
    before = reporter()
    with pytest.raises(ValueError), reporting_to(Reporter()):
        raise ValueError
    assert reporter() is before


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_bar_only_on_a_terminal_and_after_a_second(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    bar = StderrReporter()
    bar.advance("counting", 1, 10)
    assert screen.getvalue() == ""
    bar._started -= 2
    bar.advance("counting", 5, 10)
    assert "counting [###############...............]  50%" in screen.getvalue()
    bar.finish()
    assert screen.getvalue().endswith("\r\x1b[K")
    quiet = StderrReporter(quiet=True)
    quiet._started -= 2
    size = len(screen.getvalue())
    quiet.advance("counting", 5, 10)
    quiet.warn("nothing")
    assert len(screen.getvalue()) == size
    plain = io.StringIO()
    monkeypatch.setattr(sys, "stderr", plain)
    pipe = StderrReporter(verbose=True)
    pipe._started -= 2
    pipe.advance("counting", 5, 10)
    pipe.warn("look")
    pipe.note("detail")
    assert plain.getvalue() == "gml: warning: look\ngml: detail\n"


@pytest.mark.parametrize(
    "text,size",
    [("0", 0), ("12", 12), ("1k", 1024), ("1.5M", 3 << 19), ("2GiB", 2 << 30), ("1 TB", 1 << 40)],
)
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "x", "-1", "1X", "1e3"])
def test_bad_sizes(text):
    with pytest.raises(UsageError):
        parse_size(text)


def test_sizes_for_people():
    assert format_size(10) == "10 bytes"
    assert format_size(3 << 29) == "1.5 GiB"
    assert budget_in_force() > 1 << 20


@pytest.mark.parametrize(
    "labels,expected",
    [
        (["10", "9", "-1", "+.5", "1e1"], ("-1", "+.5", "9", "10", "1e1")),
        (["1", "01", "1.0", "1."], ("01", "1", "1.", "1.0")),
        (["b", "a", "B", "é", "10", "9"], ("10", "9", "B", "a", "b", "é")),
        (["1", "2", "x"], ("1", "2", "x")),
        (["1", " 2"], (" 2", "1")),
        (["inf", "1"], ("1", "inf")),
        (["٣", "2"], ("2", "٣")),
        (["9007199254740993", "9007199254740992.5"], ("9007199254740992.5", "9007199254740993")),
        ([], ()),
    ],
)
def test_level_order(labels, expected):
    assert order_levels(labels) == expected
