"""--spool-keep: files of codes that the next run on the same input uses."""

from __future__ import annotations

import os

import pytest

from gml.counts import open_stream
from tests.command_line import error_line
from tests.late_labels import mixed_text


def spools(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_kept_file_is_used_again(gml, tmp_path, sample_data, small_pieces):
    folder = tmp_path / "spool"
    folder.mkdir()
    data = tmp_path / "d.csv"
    data.write_text(mixed_text())
    keep = ["--engine", "stream", "--spool", folder, "--spool-keep", "-v"]
    how = ["--bins", 3, "--missing", "drop", "--weights", "w", "-f", "json"]
    expected = gml("chowliu", data, *how)
    first = gml("chowliu", data, *how, *keep)
    (kept,) = spools(folder)
    second = gml("chowliu", data, *how, *keep)
    assert first.stdout == second.stdout == expected.stdout
    assert b"codes of an earlier run" not in first.stderr
    assert b"codes of an earlier run" in second.stderr
    assert b"dropped for missing values" in second.stderr
    assert spools(folder) == [kept]
    gml("chowliu", data, *how, "--exclude", "c", *keep)
    assert len(spools(folder)) == 2
    data.write_text(data.read_text() + "1,1,1,x,u,1\n")
    third = gml("chowliu", data, *how, *keep)
    assert b"codes of an earlier run" not in third.stderr
    assert third.stdout == gml("chowliu", data, *how).stdout


def test_the_delimiter_of_a_suffix_tells_kept_files_apart(gml, tmp_path):
    folder = tmp_path / "spool"
    folder.mkdir()
    one, other = tmp_path / "one.csv", tmp_path / "one.tsv"
    rows = "a\n1\n2\t3\n2\t3\n1\n"
    one.write_text(rows)
    other.write_text(rows)
    keep = ["--engine", "stream", "--spool", folder, "--spool-keep", "-v"]
    assert gml("chowliu", one, *keep).returncode == 0
    assert "line 3" in error_line(gml("chowliu", other, "-q", *keep[:-1]), 3)
    # That which the suffix implies is the same as if it were asked for.
    again = gml("chowliu", one, "-d", ",", *keep)
    assert b"codes of an earlier run" in again.stderr
    asked = gml("chowliu", other, "-d", ",", *keep)
    assert b"codes of an earlier run" in asked.stderr
    assert asked.stdout == again.stdout


@pytest.mark.parametrize("at", [0, 5000, -200, -3])
def test_a_damaged_file_is_made_again(gml, tmp_path, sample_data, at):
    keep = ["--engine", "stream", "--spool", tmp_path, "--spool-keep", "-v"]
    asia = sample_data / "asia.csv"
    # A table of counts shows rows that come twice, which a tree would not.
    asked = ["fit-params", asia, sample_data / "asia.dot", *keep]
    expected = gml(*asked).stdout
    (kept,) = tmp_path.glob("gml-spool-*")
    whole = bytearray(kept.read_bytes())
    whole[at] ^= 1
    kept.write_bytes(whole)
    again = gml(*asked)
    assert b"codes of an earlier run" not in again.stderr
    assert again.stdout == expected
    used = gml(*asked)
    assert b"codes of an earlier run" in used.stderr
    assert used.stdout == expected


def test_threads_share_a_kept_file(gml, tmp_path, sample_data):
    keep = ["--engine", "stream", "--spool", tmp_path, "--spool-keep", "-v"]
    gml("chowliu", sample_data / "asia.csv", *keep, "--threads", 1)
    again = gml("pc", sample_data / "asia.csv", *keep, "--threads", 2)
    assert b"codes of an earlier run" in again.stderr
    assert len(spools(tmp_path)) == 1


def test_a_file_that_changes_while_it_is_read_is_not_kept(gml, tmp_path, sample_data, monkeypatch):

    # As if other bytes had been there when the file was looked up.
    monkeypatch.setattr(open_stream, "input_digest", lambda path: "0" * 64)
    keep = ["--engine", "stream", "--spool", tmp_path, "--spool-keep"]
    words = ["chowliu", sample_data / "asia.csv", *keep]
    assert "changed while it was read" in error_line(gml(*words), 3)
    assert spools(tmp_path) == []


def test_a_file_cut_short_is_made_again(gml, tmp_path, sample_data):
    keep = ["--engine", "stream", "--spool", tmp_path, "--spool-keep", "-v"]
    asia = sample_data / "asia.csv"
    expected = gml("chowliu", asia, *keep).stdout
    (kept,) = tmp_path.glob("gml-spool-*")
    kept.write_bytes(kept.read_bytes()[:1000])
    again = gml("chowliu", asia, *keep)
    assert (b"earlier run" in again.stderr, again.stdout) == (False, expected)


@pytest.mark.parametrize("leads_to", ["victim.txt", "nothing", "folder", "/dev/null"])
def test_a_link_in_place_of_a_kept_file_is_replaced(gml, tmp_path, sample_data, leads_to):
    folder = tmp_path / "spool"
    folder.mkdir()
    (tmp_path / "folder").mkdir()
    victim = tmp_path / "victim.txt"
    victim.write_text("as it was")
    victim.chmod(0o666)
    keep = ["--engine", "stream", "--spool", folder, "--spool-keep", "-v"]
    words = ["chowliu", sample_data / "asia.csv", *keep]
    expected = gml(*words).stdout
    (kept,) = folder.iterdir()
    mode = kept.stat().st_mode
    kept.unlink()
    kept.symlink_to(tmp_path / leads_to)
    again = gml(*words)
    assert (again.returncode, again.stdout) == (0, expected)
    assert victim.read_text() == "as it was"
    assert not (tmp_path / "nothing").exists()
    assert not kept.is_symlink()
    assert kept.stat().st_mode == mode
    assert spools(folder) == [kept.name]
    used = gml(*words)
    assert b"codes of an earlier run" in used.stderr
    assert used.stdout == expected


def test_a_pipe_in_place_of_a_kept_file_is_not_waited_for(gml, tmp_path, sample_data):
    keep = ["--engine", "stream", "--spool", tmp_path, "--spool-keep"]
    words = ["chowliu", sample_data / "asia.csv", *keep]
    gml(*words)
    (kept,) = tmp_path.glob("gml-spool-*")
    kept.unlink()
    os.mkfifo(kept)
    assert "neither to a device nor a pipe" in error_line(gml(*words), 2)


def test_what_a_killed_run_left_is_removed(gml, tmp_path, sample_data):
    left = tmp_path / ".gml-spool-0123.codes.gml-0123456789abcdef.tmp"
    left.write_bytes(b"half a file")
    other = tmp_path / ".other.gml-0123456789abcdef.tmp"
    other.write_bytes(b"of another target")
    keep = ["--engine", "stream", "--spool", tmp_path, "--spool-keep"]
    assert gml("chowliu", sample_data / "asia.csv", *keep).returncode == 0
    assert not left.exists() and other.exists()


def test_nothing_is_left_without_keeping(gml, tmp_path, sample_data):
    folder = tmp_path / "spool"
    folder.mkdir()
    assert (
        gml("hc", sample_data / "asia.csv", "--engine", "stream", "--spool", folder).returncode == 0
    )
    assert spools(folder) == []


@pytest.mark.parametrize("engine", ["stream", "auto"])
def test_a_pipe_cannot_be_kept(gml, sample_data, engine):
    words = ["chowliu", "-", "--engine", engine, "--spool-keep"]
    done = gml(*words, stdin=(sample_data / "asia.csv").read_bytes())
    assert "--spool-keep is for files" in error_line(done, 2)
