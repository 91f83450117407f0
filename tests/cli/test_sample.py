"""gml sample on the command line: bytes, streams, exit codes."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import gml as library
from tests.command_line import GML, error_line


def model(*nodes):
    """A model file; each node is (name, parents, further fields)."""
    return json.dumps(
        {
            "directed": True,
            "multigraph": False,
            "graph": {"schema": "gml/1", "kind": "dag"},
            "nodes": [{"id": name, "parents": parents, **rest} for name, parents, rest in nodes],
            "edges": [
                {"source": parent, "target": name, "type": "-->"}
                for name, parents, _ in nodes
                for parent in parents
            ],
        }
    )


RAIN = model(
    ("rain", [], {"levels": ["no", "yes"], "cpt": [[0.8, 0.2]]}),
    ("wet", ["rain"], {"levels": ["no", "yes"], "cpt": [[0.9, 0.1], [0.25, 0.75]]}),
)
LABELS = ['a,"b"', "line\nfeed", "cr\r", " x=1 ", "é"]
NASTY = model(
    ('A, "a"', [], {"levels": LABELS, "cpt": [[0.2] * 5]}),
    ("B=b", ['A, "a"'], {"levels": ["=", "x=y"], "cpt": [[0.5, 0.5]] * 5}),
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "rain.json").write_text(RAIN, encoding="utf-8")
    (tmp_path / "nasty.json").write_text(NASTY, encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(gml, folder):
    """Run gml sample."""
    return lambda *args, **options: gml("sample", *args, **options)


def records(done):
    assert done.returncode == 0, done.stderr
    return list(csv.reader(io.StringIO(done.stdout.decode(), newline="")))


def test_same_bytes_for_any_threads_and_hash_seed(run, folder):
    expected = run("rain.json", "-n", "30000", "--seed", "5").stdout
    assert expected.startswith(b"rain,wet\n")
    assert expected.count(b"\n") == 30001
    for threads in ("1", "2", "5"):
        for seed in ("0", "1"):
            done = run("rain.json", "-n", "30000", "--seed", "5", "--threads", threads,
                       "-o", "out.csv", env={"PYTHONHASHSEED": seed})  # fmt: skip
            assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
            assert (folder / "out.csv").read_bytes() == expected
    done = run("rain.json", "-n", "3000", "--seed", "5", env={"GML_KERNEL": "reference"})
    assert expected.startswith(done.stdout)
    assert done.stdout.count(b"\n") == 3001
    assert run("-", "-n", "30000", "--seed", "5", stdin=RAIN.encode()).stdout == expected


def test_seeds_differ(run):
    texts = {run("rain.json", "-n", "200", "--seed", str(seed)).stdout for seed in (0, 1, 2**70)}
    assert len(texts) == 3
    assert (
        run("rain.json", "-n", "200").stdout == run("rain.json", "-n", "200", "--seed", "0").stdout
    )


def test_no_rows(run):
    assert run("rain.json", "-n", "0").stdout == b"rain,wet\n"


def test_labels_come_back(run):
    header, *rows = records(run("nasty.json", "-n", "500"))
    assert header == ['A, "a"', "B=b"]
    assert {row[0] for row in rows} == set(LABELS)
    assert {row[1] for row in rows} == {"=", "x=y"}


def test_gml_reads_what_it_wrote(gml, run):
    rows = run("nasty.json", "-n", "500").stdout
    done = gml("indtest", "-", 'A, "a"', "B=b", "-f", "json", stdin=rows)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["results"][0]["n"] == 500


def test_do_with_names_and_values_that_need_quotes(run):
    for do in ('"A, ""a"""="a,""b"""', '"A, ""a""=a,""b"""'):
        _, *rows = records(run("nasty.json", "-n", "50", "--do", do))
        assert {row[0] for row in rows} == {'a,"b"'}
    for do in ("B=b=x=y", '"B=b"=x=y', 'B=b="x=y"'):
        _, *rows = records(run("nasty.json", "-n", "50", "--do", do))
        assert {row[1] for row in rows} == {"x=y"}
    _, *rows = records(run("rain.json", "-n", "50", "--do", "rain=yes,wet=no"))
    assert rows == [["yes", "no"]] * 50
    again = run("rain.json", "-n", "50", "--do", "rain=yes", "--do", "wet=no")
    assert records(again)[1:] == rows


def test_weighted_evidence(run):
    header, *rows = records(run("rain.json", "-n", "500", "--evidence", "wet=yes", "--weighted"))
    assert header == ["rain", "wet", "weight"]
    assert {tuple(row) for row in rows} == {("no", "yes", "0.1"), ("yes", "yes", "0.75")}
    header, *rows = records(
        run("rain.json", "-n", "9", "--do", "rain=no", "--evidence", "wet=yes", "--weighted")
    )
    assert rows == [["no", "yes", "0.1"]] * 9


def test_exact_evidence(run, folder):
    header, *rows = records(run("rain.json", "-n", "20000", "--evidence", "wet=yes"))
    assert header == ["rain", "wet"]
    assert {row[1] for row in rows} == {"yes"}
    # P(rain | wet) = 0.2 · 0.75 / (0.2 · 0.75 + 0.8 · 0.1) = 15/23
    assert abs(sum(row[0] == "yes" for row in rows) / 20000 - 15 / 23) < 0.02
    _, *rows = records(run("rain.json", "-n", "9", "--do", "rain=no", "--evidence", "wet=yes"))
    assert rows == [["no", "yes"]] * 9
    never = model(("a", [], {"levels": ["x", "y"], "cpt": [[1, 0]]}))
    (folder / "never.json").write_text(never)
    done = run("never.json", "-n", "5", "--evidence", "a=y", "-o", "out.csv")
    assert done.returncode == 4
    assert not (folder / "out.csv").exists()


def test_missing_cells_are_empty(run):
    _, *rows = records(run("rain.json", "-n", "4000", "--missing-rate", "0.25"))
    empty = sum(cell == "" for row in rows for cell in row)
    assert 1800 < empty < 2200
    _, *full = records(run("rain.json", "-n", "4000"))
    assert all(
        a in ("", b) for x, y in zip(rows, full, strict=True) for a, b in zip(x, y, strict=True)
    )


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("-n", "-1"),
        ("-n", "x"),
        ("-n", "5", "--do", "rain=maybe"),
        ("-n", "5", "--do", "rian=yes"),
        ("-n", "5", "--do", "rain"),
        ("-n", "5", "--do", 'rain="yes'),
        ("-n", "5", "--do", "rain=yes,rain=no"),
        ("-n", "5", "--do", "rain=yes", "--evidence", "rain=yes", "--weighted"),
        ("-n", "5", "--weighted"),
        ("-n", "5", "--missing-rate", "1.5"),
        ("-n", "5", "--missing-rate", "nan"),
        ("-n", "5", "--threads", "0"),
        ("-n", "5", "--seed", "-1"),
        ("-n", "5", "-o", "rain.json"),
        ("-n", "5", "-o", "nowhere/out.csv"),
    ],
)
def test_usage_errors(run, folder, args):
    done = run("rain.json", *args)
    assert done.returncode == 2, done.stderr
    assert done.stdout == b""
    assert done.stderr.count(b"\n") == 1
    assert (folder / "rain.json").read_text() == RAIN


def test_errors_name_the_nearest(run):
    assert b"did you mean 'rain'?" in run("rain.json", "-n", "1", "--do", "rian=yes").stderr
    assert b"did you mean 'yes'?" in run("rain.json", "-n", "1", "--do", "rain=yess").stderr
    assert run("nothing.json", "-n", "1").returncode == 3


def test_a_level_that_looks_missing(run, folder):
    text = model(("a", [], {"levels": ["", "x"], "cpt": [[0.5, 0.5]]}))
    (folder / "empty.json").write_text(text)
    lines = run("empty.json", "-n", "50").stdout.split(b"\n")
    assert set(lines[1:-1]) == {b'""', b"x"}
    done = run("empty.json", "-n", "50", "--missing-rate", "0.1")
    assert (done.returncode, done.stdout) == (2, b"")


@pytest.mark.parametrize("to", ["", "-o -", "-o /dev/stdout", "-o /dev/fd/1"])
def test_closed_pipe_ends_it_soon(shell, folder, to):
    started = time.monotonic()
    done = shell(f"set -o pipefail; G sample rain.json -n 1000000000000 {to} | head -1; echo $?")
    assert (done.stdout, done.stderr) == (b"rain,wet\n0\n", b"")
    assert time.monotonic() - started < 20


def test_special_files(shell, folder):
    expected = shell("G sample rain.json -n 20000").stdout
    assert shell("G sample rain.json -n 20000 -o /dev/stdout").stdout == expected
    done = shell("mkfifo p; cat p & G sample rain.json -n 20000 -o p; wait; test -p p")
    assert (done.returncode, done.stdout) == (0, expected)
    for to in ("> /dev/full", "-o /dev/full", ">&-"):
        done = shell(f"G sample rain.json -n 20000 {to}")
        assert done.returncode == 4, to
        assert done.stderr.startswith(b"gml: error: cannot write")
        assert done.stderr.count(b"\n") == 1


def test_an_interrupt_leaves_the_old_file_alone(folder):
    (folder / "out.csv").write_text("old")
    process = subprocess.Popen(
        [*GML, "sample", "rain.json", "-n", "100000000000", "-o", "out.csv"],
        cwd=folder,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 30
    while not any(
        path.name.startswith(".out.csv.") and path.stat().st_size for path in folder.iterdir()
    ):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert (process.returncode, stderr) == (130, b"gml: error: interrupted\n")
    assert (folder / "out.csv").read_text() == "old"
    assert sorted(path.name for path in folder.iterdir()) == ["nasty.json", "out.csv", "rain.json"]


def test_memory_does_not_grow_with_the_rows(folder):
    code = (
        "import resource, sys; from gml.cli.main import run; code = run(sys.argv[1:]);"
        "sys.stderr.write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)); sys.exit(code)"
    )

    def peak(n):
        done = subprocess.run(
            [sys.executable, "-c", code, "sample", "rain.json", "-n", str(n), "--threads", "2",
             "-o", os.devnull],
            cwd=folder, capture_output=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return int(done.stderr) / 1024

    assert peak(3_000_000) - peak(100_000) < 10


@pytest.mark.parametrize(
    "suffix", ["csv", "tsv", "csv.gz", "tsv.gz", "csv.bz2", "csv.xz", "tsv.xz", "rows"]
)
def test_the_name_of_the_file_says_how_rows_are_written(gml, tmp_path, suffix):
    (tmp_path / "d.csv").write_text('a,"b,c"\nx\ty,"1,5"\n"q""r","two\nlines"\n" s",\'\n')
    (tmp_path / "g.dot").write_text('digraph { a -> "b,c" }')
    assert gml("fit-params", "d.csv", "g.dot", "-o", "m.json").returncode == 0
    plain = gml("sample", "m.json", "-n", "500")
    done = gml("sample", "m.json", "-n", "500", "-o", f"r.{suffix}")
    assert (done.returncode, done.stderr) == (0, b"")
    content = (tmp_path / f"r.{suffix}").read_bytes()
    assert (content == plain.stdout) == (suffix in ("csv", "rows"))
    (tmp_path / "plain.csv").write_bytes(plain.stdout)
    expected = library.read(tmp_path / "plain.csv", na=["-"])
    found = library.read(tmp_path / f"r.{suffix}", na=["-"])
    assert found.variables == expected.variables
    assert all(map(np.array_equal, found.columns, expected.columns))
    again = tmp_path / f"again.{suffix}"
    gml("sample", "m.json", "-n", "500", "-o", again)
    assert again.read_bytes() == content


@pytest.mark.parametrize("name", ["r.parquet", "r.json", "r.parquet.gz", "r.xlsx", "r.csv.zst"])
def test_no_file_promises_another_format(gml, tmp_path, name, sample_data):
    gml("fit-params", sample_data / "asia.csv", sample_data / "asia.dot", "-o", "m.json")
    line = error_line(gml("sample", "m.json", "-n", "5", "-o", name), 2)
    assert f"cannot write '{name}': rows are written as .csv or .tsv" in line
    assert not (tmp_path / name).exists()
