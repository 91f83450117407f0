"""hsic, dcor, kci and rcit on the command line: reports, learners, what is refused."""

from __future__ import annotations

import json

import pytest

from tests.row_data import mixed_table

NUMERIC = ("--numeric", "x,y,z")


@pytest.fixture
def data(tmp_path):
    columns = mixed_table(120)
    rows = zip(*(columns[name].tolist() for name in columns), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "d.csv"


@pytest.mark.parametrize(
    ("test", "fields"),
    [
        ("hsic", {"hsic", "bandwidth_x", "bandwidth_y", "null", "permutations"}),
        ("dcor", {"dcov", "null", "permutations"}),
        ("kci", {"bandwidth_given_x", "regulariser_x", "regulariser_y", "null"}),
        ("rcit", {"bandwidth_given_x", "regulariser_x", "regulariser_y", "null"}),
    ],
)
def test_a_report_says_how_p_was_found(gml, data, test, fields):
    given = [] if test in ("hsic", "dcor") else ["-z", "z,group"]
    done = gml("indtest", data, "x", "y", *NUMERIC, "--test", test, *given, "-f", "json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["results"]
    assert fields <= set(row)
    assert (row["test"], row["n"], row["mi"], row["df"]) == (test, 120, None, None)
    text = gml("indtest", data, "x", "y", *NUMERIC, "--test", test, *given).stdout.decode()
    assert "null" in text.splitlines()[0]


@pytest.mark.parametrize("test", ["hsic", "dcor"])
def test_tests_of_two_columns_alone(gml, data, test):
    done = gml("indtest", data, "x", "y", "-z", "z", *NUMERIC, "--test", test)
    assert done.returncode == 2
    assert b"use --test kci or --test rcit" in done.stderr
    for command in (["pc", data], ["imap", data, "--order", "z,x,y"]):
        done = gml(*command, *NUMERIC, "--test", test)
        assert done.returncode == 2
        assert b"use --test kci or --test rcit" in done.stderr
    assert gml("pc", data, *NUMERIC, "--test", test, "--max-cond", "0").returncode == 0
    pairs = gml("indtest", data, "--all-pairs", *NUMERIC, "--test", test, "-f", "csv")
    assert len(pairs.stdout.splitlines()) == 11


@pytest.mark.parametrize("test", ["kci", "rcit"])
def test_learners_take_tests_of_rows(gml, data, tmp_path, test):
    log = tmp_path / "log.jsonl"
    done = gml("pc", data, *NUMERIC, "--test", test, "--test-log", log, "-f", "json")
    assert done.returncode == 0, done.stderr
    graph = json.loads(done.stdout)
    assert graph["graph"]["learning"]["settings"]["test"] == test
    explained = gml("explain", log, "x", "y")
    assert explained.returncode == 0
    assert b"p = " in explained.stdout
    averaged = gml("pc", data, *NUMERIC, "--test", test, "--bootstrap", "3", "-f", "json")
    assert averaged.returncode == 0, averaged.stderr
    order = ("--order", "z,group,x,y,kind")
    assert gml("imap", data, *order, *NUMERIC, "--test", test).returncode == 0


def test_what_a_graph_implies(gml, data, tmp_path):
    (tmp_path / "g.dot").write_text("digraph { z -> x; z -> y; z -> group }")
    done = gml("indtest", data, "--implied", "g.dot", *NUMERIC, "--test", "kci", "-f", "jsonl")
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["given"] for row in rows] == [["z"]] * 3
    assert {row["verdict"] for row in rows} == {"independent"}


def test_hash_seeds_threads_and_rows_change_no_byte(gml_process, data, tmp_path):
    header, *rows = data.read_text().splitlines()
    (tmp_path / "turned.csv").write_text("\n".join([header, *reversed(rows)]) + "\n")
    for test in ("kci", "rcit"):
        call = ("--all-pairs", "-z", "z", *NUMERIC, "--test", test, "-f", "csv")
        first = gml_process("indtest", data, *call, "--threads", "1", env={"PYTHONHASHSEED": "1"})
        assert first.returncode == 0, first.stderr
        for path in (data, "turned.csv"):
            done = gml_process(
                "indtest", path, *call, "--threads", "3", env={"PYTHONHASHSEED": "2"}
            )
            assert done.stdout == first.stdout


def test_options_go_with_their_tests(gml, data):
    done = gml("indtest", data, "x", "y", *NUMERIC, "--test", "kci", "--features", "5")
    assert done.returncode == 2
    assert b"--features does not go with --test kci (only with rcit)" in done.stderr
    done = gml("pc", data, *NUMERIC, "--test", "dcor", "--max-cond", "0", "--permutations", "50")
    assert done.returncode == 2
    assert b"--permutations 50 cannot reach --alpha 0.01" in done.stderr


def test_too_many_rows_for_matrices(gml, data):
    done = gml("indtest", data, "x", "y", *NUMERIC, "--test", "hsic", "--max-memory", "300K")
    assert done.returncode == 4
    assert b"--max-memory allows (300 KiB); use --test rcit" in done.stderr


def test_values_that_are_missing(gml, data, tmp_path):
    header, first, *rows = data.read_text().splitlines()
    cells = first.split(",")
    (tmp_path / "gaps.csv").write_text(
        "\n".join([header, ",".join(["", *cells[1:]]), *rows]) + "\n"
    )
    call = ("indtest", "gaps.csv", "x", "y", "-z", "z", *NUMERIC, "--test", "kci", "-f", "json")
    assert gml(*call).returncode == 3
    for policy in ("drop", "available"):
        done = gml(*call, "--missing", policy)
        assert json.loads(done.stdout)["results"][0]["n"] == 119
    few = "\n".join([header, first, *rows[:8]]) + "\n"
    (tmp_path / "few.csv").write_text(few)
    done = gml("indtest", "few.csv", "x", "y", *NUMERIC, "--test", "kci", "--expect", "independent")
    assert done.returncode == 4
    assert b"insufficient" in done.stdout
