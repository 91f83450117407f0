"""Streams and places that are closed, full, slow or special."""

from __future__ import annotations

import gzip
import os
import subprocess

import pytest

from tests.command_line import GML

SMALL = "A,B,N\nx,y,1\nx,z,2\nw,y,3\nw,z,4\nx,y,5\n"


@pytest.fixture
def shell(shell, tmp_path):
    """With a small table s.csv in the folder."""
    (tmp_path / "s.csv").write_text(SMALL)
    return shell


def test_closed_streams(shell):
    done = shell("G chowliu s.csv <&-")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"digraph")
    done = shell("G chowliu s.csv >&-")
    assert done.returncode == 4
    assert done.stderr.startswith(b"gml: error: cannot write to standard output")
    assert shell("G chowliu nofile.csv 2>&-").returncode == 3
    assert shell("G chowliu s.csv -d ';' 2>&-").returncode == 0
    assert shell("G chowliu - <&-").returncode == 3


def test_full_devices(shell):
    for command in ("--version", "--help", "chowliu --help", "chowliu s.csv -f json"):
        done = shell(f"G {command} > /dev/full")
        assert done.returncode == 4, command
        assert (
            done.stderr == b"gml: error: cannot write to standard output: No space left on device\n"
        )


def test_standard_output_by_name_keeps_what_is_there(shell):
    for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "-"):
        done = shell(f"(echo a; G chowliu s.csv -o {name}; echo b) > o.txt; cat o.txt")
        lines = done.stdout.decode().splitlines()
        assert (lines[0], lines[1], lines[-1]) == ("a", "digraph {", "b"), name
    done = shell("G chowliu s.csv -o >(cat)  | cat; sleep 0.2")
    assert done.stdout.startswith(b"digraph")


def test_suffix_below_dev_still_picks_the_format(shell):
    done = shell(
        "G chowliu s.csv -o /dev/shm/gml_test.json && head -c1 /dev/shm/gml_test.json; rm -f /dev/shm/gml_test.json"
    )
    assert done.stdout == b"{"


def test_long_names_are_no_bug(shell):
    name = "n" * 300
    assert shell(f"G chowliu {name}.csv").returncode == 3
    assert shell(f"G chowliu s.csv -o {name}.dot").returncode in (2, 4)


def test_compressed_pipe_that_starts_slowly(shell, tmp_path):
    (tmp_path / "s.csv.gz").write_bytes(gzip.compress(SMALL.encode()))
    done = shell("G indtest <(head -c1 s.csv.gz; sleep 0.3; tail -c+2 s.csv.gz) A B")
    assert done.returncode == 0, done.stderr


def test_names_in_messages_keep_their_spaces(shell, tmp_path):
    (tmp_path / "d.csv").write_text("a  b,c\n1,2\n2,1\n")
    assert b"did you mean 'a  b'?" in shell("G chowliu d.csv --root 'a b'").stderr


def test_bad_byte_is_the_bad_one(shell, tmp_path):
    (tmp_path / "d.csv").write_bytes(b"a,c\nab\xc3\xa9\xe9,2\n")
    assert b"byte 0xe9" in shell("G chowliu d.csv").stderr


@pytest.mark.parametrize(
    "args",
    [
        "indtest s.csv A B --test bayes --ess inf",
        "indtest s.csv A B --test bayes --log-bf nan",
        "indtest s.csv A B --min-per-cell nan",
        "indtest s.csv A N --test fisher-z --bins 3",
        "indtest s.csv A N --test fisher-z --cut A=1,2",
        "chowliu s.csv --cut N=2 --cut N=3",
        "chowliu s.csv --na $'\\xff'",
    ],
)
def test_more_usage_errors(shell, args):
    done = shell(f"G {args}")
    assert done.returncode == 2, done.stderr
    assert done.stderr.count(b"\n") == 1


def test_networkx_complaints_come_as_one_line_and_not_when_quiet(shell, tmp_path):
    (tmp_path / "g.graphml").write_text(
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="directed">'
        '<node id="A"><port name="p"/></node><node id="B"/></graph></graphml>'
    )
    done = shell("G indtest s.csv --implied g.graphml")
    assert done.returncode == 0
    assert done.stderr.splitlines()[0].startswith(b"gml: warning: g.graphml: ")
    assert shell("G indtest s.csv --implied g.graphml -q").stderr == b""


def test_csv_report_with_line_ends_in_names(shell, tmp_path):
    import csv
    import io

    (tmp_path / "cr.csv").write_bytes(b'h1,"a\rb","c\nd"\n1,2,1\n2,1,1\n1,2,2\n2,1,2\n')
    done = shell("G indtest cr.csv h1 $'a\\rb' -z $'\"c\\nd\"' -f csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout.decode(), newline="")))
    assert rows[0]["y"] == "a\rb"
    assert next(csv.reader(io.StringIO(rows[0]["given"], newline=""))) == ["c\nd"]


def test_closed_pipe_by_name_keeps_the_answer(tmp_path):
    (tmp_path / "d.csv").write_text("a,b\n" + "x,p\nx,q\ny,p\ny,q\n" * 5)
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [*GML, "indtest", "d.csv", "a", "b", "--expect", "dependent", "-o", f"/dev/fd/{write_end}"],
        cwd=tmp_path,
        pass_fds=[write_end],
        capture_output=True,
        timeout=60,
    )
    os.close(write_end)
    assert (done.returncode, done.stderr) == (1, b"")
