"""Runs in this process are what runs of their own process are, and leave nothing behind."""

from __future__ import annotations

import os
import sys
import warnings

import pytest

from gml.progress import reporter
from tests.command_line import files_in, run_here, run_process

LINES = [
    "",
    "--help",
    "--version",
    "pc --help",
    "chowlu d.csv",
    "chowliu d.csv --bins 1",
    "chowliu d.csv --alpha nan",
    "chowliu nowhere.csv",
    "chowliu nowhere.csv --debug",
    "chowliu ragged.csv",
    "chowliu d.csv",
    "chowliu d.csv -f json -v",
    "chowliu - --root a",
    "chowliu d.csv -d ;",
    "chowliu d.csv -o out.graphml --depfile out.d",
    "chowliu d.csv -o no/such/folder.dot",
    "indtest d.csv a b --expect dependent",
    "indtest d.csv --implied ports.graphml -f csv",
    "pc d.csv --test-log log.jsonl -o out.json",
    "hc d.csv -f json --restarts 3 --seed 3",
    "fit-params d.csv g.dot -o out.json",
    "count d.csv --pairs -o out.parquet",
    "profile d.csv --bins 2",
    "score d.csv g.dot --score bic,bdeu -f json",
    "check d.csv g.dot",
]


@pytest.fixture
def places(tmp_path):
    """Two folders with the same files, one for each way to run."""
    rows = "".join(f"{'xy'[k % 2]},{'uv'[k % 3 == 0]},{k % 7}\n" for k in range(60))
    for name in ("process", "here"):
        place = tmp_path / name
        place.mkdir()
        (place / "d.csv").write_text("a,b,n\n" + rows)
        (place / "ragged.csv").write_text("a,b\nx\n")
        (place / "g.dot").write_text("digraph { a -> b; n }")
        (place / "ports.graphml").write_text(
            '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="directed">'
            '<node id="a"><port name="p"/></node><node id="b"/></graph></graphml>'
        )
    return tmp_path / "process", tmp_path / "here"


@pytest.mark.parametrize("line", LINES)
def test_both_ways_give_the_same(places, line):
    env = {"GML_MISSING": "level", "COLUMNS": "60"}
    stdin = (places[0] / "d.csv").read_bytes()
    found = [
        run(line.split(), place, stdin, env)
        for run, place in zip((run_process, run_here), places, strict=True)
    ]
    one, two = ((done.returncode, done.stdout, done.stderr) for done in found)
    assert one == two
    assert files_in(places[0]) == files_in(places[1])


def test_a_run_leaves_nothing_behind(places):
    def state():
        streams = sys.stdin, sys.stdout, sys.stderr
        descriptors = sorted(os.listdir("/proc/self/fd"))
        return (
            *(streams, [os.fstat(k).st_ino for k in range(3)], len(descriptors)),
            *(dict(os.environ), os.getcwd(), list(warnings.filters), warnings.showwarning),
            reporter(),
        )

    def outputs():
        done = [
            run_here(line.split(), places[1], b"a,b\nx,y\n", {"GML_THREADS": "1"}) for line in LINES
        ]
        return [(line, run.stdout, run.stderr) for line, run in zip(LINES, done, strict=True)]

    first, before = outputs(), state()
    assert outputs() == first
    assert state() == before


def test_what_an_interpreter_reads_as_it_starts_needs_a_process(tmp_path):
    done = run_here(["--version"], tmp_path, env={"GML_KERNEL": "reference"})
    assert b"kernel: NumPy" in done.stdout
