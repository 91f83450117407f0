"""Tests of numbers beside labels on the command line: what is picked, said, written and refused."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest


@pytest.fixture
def table(tmp_path):
    """200 rows of three labels and three numbers, a few cells missing in a copy."""
    rng = np.random.default_rng(11)
    group, sort, side = rng.integers(0, 3, 200), rng.integers(0, 2, 200), rng.integers(0, 2, 200)
    size = rng.normal(size=200) + group
    weight = 1e6 + 2 * size + rng.normal(size=200)
    age = np.round(30 + 10 * rng.random(200) + 3 * sort)
    lines = [
        f"{'xyz'[g]},{'mn'[s]},{'pq'[d]},{a!r},{b!r},{c:g}"
        for g, s, d, a, b, c in zip(
            group, sort, side, size.tolist(), weight.tolist(), age, strict=True
        )
    ]
    header = "group,sort,side,size,weight,age\n"
    (tmp_path / "d.csv").write_text(header + "\n".join(lines) + "\n")
    gaps = [line if k % 9 else "," + line.partition(",")[2] for k, line in enumerate(lines)]
    gaps = [line if k % 7 else line.rpartition(",")[0] + "," for k, line in enumerate(gaps)]
    (tmp_path / "gaps.csv").write_text(header + "\n".join(gaps) + "\n")
    order = rng.permutation(200)
    shuffled = [",".join(reversed(lines[k].split(","))) for k in order]
    (tmp_path / "shuffled.csv").write_text(
        ",".join(reversed(header.strip().split(","))) + "\n" + "\n".join(shuffled) + "\n"
    )
    return tmp_path


NUMERIC = ("--numeric", "size,weight,age")


def test_pc_says_what_it_picks(gml, table):
    done = gml("pc", "d.csv", *NUMERIC, "-f", "json", "--test-log", "log.jsonl")
    assert done.returncode == 0
    said = b"gml: auto picks fisher-z for numbers, dg where labels and numbers meet, and G or X"
    assert said in done.stderr
    settings = json.loads(done.stdout)["graph"]["learning"]["settings"]
    assert settings["picked"] == {
        "labels": "auto",
        "numbers": "fisher-z",
        "two labels given numbers": "dg",
        "a label and a number": "dg",
        "two numbers given labels": "dg",
    }
    records = [json.loads(line) for line in (table / "log.jsonl").read_text().splitlines()]
    assert {r["test"] for r in records if r["record"] == "test"} == {"auto", "dg", "fisher-z"}
    explained = gml("explain", "log.jsonl", "group", "weight")
    assert explained.returncode == 0 and "Λ" in explained.stdout.decode()


def test_bytes_do_not_depend_on_seeds_threads_or_order(gml_process, table):
    outputs = set()
    for seed, threads in (("0", "1"), ("1", "2"), ("2", "3")):
        done = gml_process(
            "indtest", "d.csv", "--all-pairs", "--given", "side", *NUMERIC, "-f", "csv",
            "--threads", threads, env={"PYTHONHASHSEED": seed},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        outputs.add(done.stdout)
    done = gml_process(
        "indtest", "shuffled.csv", "--all-pairs", "--given", "side", *NUMERIC, "-f", "csv"
    )
    outputs.add(done.stdout)
    assert len(outputs) == 1


@pytest.mark.parametrize("test", ["auto", "dg", "cg", "fisher-z"])
def test_missing_values(gml, table, test):
    given = ("--given", "age") if test == "fisher-z" else ("--given", "group,age")
    ask = ("indtest", "gaps.csv", "size", "weight", *given, *NUMERIC, "--test", test, "-f", "json")
    assert gml(*ask).returncode == 3
    rows = [
        json.loads(gml(*ask, "--missing", how).stdout)["results"] for how in ("drop", "available")
    ]
    assert rows[0] == rows[1]
    refused = gml(*ask, "--missing", "level")
    assert refused.returncode == 3
    said = b"--missing level is for categorical columns, and 'age' is numeric, with missing values"
    assert said in refused.stderr


def test_cg_refuses_two_labels_given_a_number(gml, table):
    done = gml("indtest", "d.csv", "group", "sort", "-z", "age", *NUMERIC, "--test", "cg")
    assert done.returncode == 2
    assert b"given numbers ('age'): use --test auto or --test dg" in done.stderr
    assert gml("pc", "d.csv", *NUMERIC, "--test", "cg", "--max-cond", "0").returncode == 0


def test_bootstrap_and_imap(gml, table):
    done = gml("pc", "d.csv", *NUMERIC, "--bootstrap", "4", "-f", "json")
    assert done.returncode == 0 and b"auto picks" in done.stderr
    done = gml(
        "imap", "d.csv", "--order", "group,sort,side,size,weight,age", *NUMERIC, "-f", "json"
    )
    assert done.returncode == 0, done.stderr
    assert "picked" in json.loads(done.stdout)["graph"]["learning"]["settings"]
    assert gml("average", "d.csv", "--by", "pc", *NUMERIC, "--bootstrap", "4").returncode == 0


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("2024-02-29", "'2024-02-29' is not a number; it looks like a date"),
        ("29.02.2024 12:00", "it looks like a date"),
        ("inf", "'inf' is not a number; infinities have no mean"),
        ("much", "line 3: column 'a': 'much' is not a number"),
    ],
)
def test_what_is_no_number(gml, tmp_path, cell, said):
    (tmp_path / "bad.csv").write_text(f"a,b\n1,x\n{cell},y\n2,x\n")
    done = gml("indtest", "bad.csv", "a", "b", "--numeric", "a")
    assert done.returncode == 3
    assert said in done.stderr.decode()


def test_constant_and_collinear_columns_are_named(gml, table):
    rows = (table / "d.csv").read_text().splitlines()
    lines = [f"{row},7,{float(row.split(',')[3]) * 2!r}" for row in rows[1:]]
    (table / "more.csv").write_text("\n".join([rows[0] + ",flat,twice", *lines]) + "\n")
    numeric = ("--numeric", "size,weight,age,flat,twice")
    done = gml("pc", "more.csv", *numeric)
    assert done.returncode == 3
    assert b"only one value, so independent of everything: 'flat'" in done.stderr
    assert b"the correlations of 'size', 'twice' are perfect" in done.stderr
    assert gml("pc", "more.csv", *numeric, "--exclude", "twice").returncode == 0


def test_adult(gml, shared):
    done = gml(
        "pc", shared / "data/real/adult.csv.gz", "--numeric", "age,hours-per-week", "--missing", "drop",
        "--exclude", "fnlwgt,education-num,capital-gain,capital-loss", "--max-cond", "1", "-f", "json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert b"auto picks" in done.stderr


def test_what_insufficient_tests_lack_is_said(gml, tmp_path):
    rows = ["p,u,1.5,2", "p,u,2.5,3", "p,v,3,5", "q,u,4,4.5", "q,u,1,2", "q,u,2,2.2", "q,v,7,1"]
    (tmp_path / "few.csv").write_text("a,b,x,y\n" + "\n".join(rows) + "\n")
    words = ("few.csv", "x", "y", "--given", "a,b", "--numeric", "x,y")
    done = gml("indtest", *words, "--test", "cg")
    said = (
        "gml: warning: insufficient: 'x' and 'y' given 'a', 'b': 1 of 3 rows needed where a=p, b=v"
    )
    assert done.returncode == 0
    assert done.stderr.decode() == f"{said} for the regression of 'y'\n"
    assert gml("indtest", *words, "--test", "cg", "-q").stderr == b""
    done = gml("indtest", "few.csv", "--all-pairs", "--numeric", "x,y", "--test", "cg")
    assert done.stderr.count(b"insufficient: ") <= 3
    (tmp_path / "tiny.csv").write_text("a,b,x,y\n" + "\n".join(rows[:3]) + "\n")
    done = gml("indtest", "tiny.csv", *words[1:], "--test", "dg")
    assert b"insufficient: 'x' and 'y' given 'a', 'b': 3 of up to 5 rows needed" in done.stderr


FEW = ["p,u,1.5,2", "p,u,2.5,3", "p,v,3,5", "q,u,4,4.5", "q,u,1,2", "q,u,2,2.2", "q,v,7,1"]


@pytest.mark.parametrize(
    ("test", "given", "reason"),
    [
        ("hsic", "", "7 of 10 rows needed"),
        ("dcor", "", "7 of 10 rows needed"),
        ("kci", "a,b", "7 of 20 rows needed"),
        ("rcit", "a,b", "7 of 20 rows needed"),
        ("cg", "a,b", "1 of 3 rows needed where a=p, b=v for the regression of 'y'"),
    ],
)
def test_insufficient_results_have_a_reason(gml, tmp_path, test, given, reason):
    (tmp_path / "few.csv").write_text("a,b,x,y\n" + "\n".join(FEW) + "\n")
    words = ("few.csv", "x", "y", "--numeric", "x,y", "--test", test)
    words += ("--given", given) if given else ()
    (found,) = json.loads(gml("indtest", *words, "-f", "json").stdout)["results"]
    assert (found["verdict"], found["reason"]) == ("insufficient", reason)
    done = gml("indtest", *words, "-f", "csv")
    header, row = csv.reader(done.stdout.decode().splitlines())
    assert dict(zip(header, row, strict=True))["reason"] == reason
    assert reason in done.stderr.decode()


def test_results_of_labels_and_of_few_numbers_have_a_reason(gml, tmp_path):
    (tmp_path / "few.csv").write_text("a,b,x,y\n" + "\n".join(FEW) + "\n")

    def reason(*words):
        (found,) = json.loads(gml("indtest", "few.csv", *words, "-f", "json").stdout)["results"]
        return found["reason"] if found["verdict"] == "insufficient" else None

    nothing = "in no group of rows with the same 'x' do both vary"
    for test in ("auto", "g", "chi2", "mi-threshold", "bayes", "permutation"):
        assert reason("a", "b", "--given", "x", "--test", test, "--kinds", "labels") == nothing
    few = ("a", "b", "--test", "g", "--min-per-cell", "5")
    assert reason(*few) == "7 of 20 rows needed, 5 for each of 4 cells"
    (tmp_path / "few.csv").write_text("a,b,x,y\n" + "\n".join(FEW[:4]) + "\n")
    numbers = ("x", "y", "--given", "z", "--numeric", "x,y,z", "--test", "fisher-z")
    (tmp_path / "few.csv").write_text("x,y,z\n1,2,3\n2,1,5\n4,4,1\n5,3,3\n")
    assert reason(*numbers) == "4 of 5 rows needed, four more than columns given"


def test_answers_have_no_reason_unless_others_need_one(gml, tmp_path, table):
    done = gml("indtest", "d.csv", "size", "weight", *NUMERIC, "-f", "json")
    assert "reason" not in json.loads(done.stdout)["results"][0]
    (tmp_path / "few.csv").write_text("a,b,x,y\n" + "\n".join(FEW) + "\n")
    words = ("few.csv", "--all-pairs", "--numeric", "x,y", "--test", "cg", "-f", "json")
    results = json.loads(gml("indtest", *words).stdout)["results"]
    assert all("reason" in found for found in results)
    assert [bool(found["reason"]) for found in results] == [
        found["verdict"] == "insufficient" for found in results
    ]


def test_too_few_draws_are_a_reason(gml, table):
    words = ("d.csv", "size", "weight", *NUMERIC, "--test", "hsic", "--null", "permutation")
    done = gml("indtest", *words, "--permutations", "20", "--alpha", "0.01", "-f", "json")
    (found,) = json.loads(done.stdout)["results"]
    assert found["verdict"] == "insufficient" and "99 or more are needed" in found["reason"]


def test_logs_and_explanations_have_the_reason(gml, tmp_path):
    (tmp_path / "few.csv").write_text("a,b,x,y\n" + "\n".join(FEW) + "\n")
    words = ("few.csv", "--numeric", "x,y", "--test", "kci", "--test-log", "log.jsonl")
    assert gml("pc", *words).returncode == 0
    records = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    tests = [record for record in records if record["record"] == "test"]
    assert {record["reason"] for record in tests} == {"7 of 20 rows needed"}
    said = gml("explain", "log.jsonl", "x", "y").stdout.decode()
    assert "because of this: 7 of 20 rows needed" in said
    assert gml("pc", *words, "--on-insufficient", "keep").returncode == 0
    said = gml("explain", "log.jsonl", "x", "y").stdout.decode()
    assert "could not tell, because of this: 7 of 20 rows needed" in said
    log = (tmp_path / "log.jsonl").read_text()
    (tmp_path / "old.jsonl").write_text(log.replace(', "reason": "7 of 20 rows needed"', ""))
    assert "could not tell" in gml("explain", "old.jsonl", "x", "y").stdout.decode()


def test_a_perfect_relation_is_infinite(gml, tmp_path):
    rows = "".join(
        f"{a},{b},{x}\n" for a, b, x in zip("ppqqrr" * 5, "uuvvvv" * 5, range(30), strict=True)
    )
    (tmp_path / "d.csv").write_text(f"a,b,x\n{rows}")
    words = ("indtest", "d.csv", "a", "b", "--numeric", "x", "--test", "dg")
    (found,) = json.loads(gml(*words, "-f", "json").stdout)["results"]
    assert (found["statistic"], found["log10_p"], found["mi"]) == (None, None, None)
    assert (found["p_value"], found["df"], found["verdict"]) == (0, 2, "dependent")
    assert gml(*words, "--expect", "dependent").returncode == 0
    adjusted = gml(
        "indtest", "d.csv", "--all-pairs", "--numeric", "x", "--test", "dg", "--adjust", "bh"
    )
    assert adjusted.returncode == 0
    logged = gml("pc", "d.csv", "--numeric", "x", "--test", "dg", "--test-log", "l.jsonl", "-q")
    assert logged.returncode == 0
    said = gml("explain", "l.jsonl", "a", "b").stdout.decode()
    assert "have an edge" in said
