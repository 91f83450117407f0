"""gml check --write-baseline on the command line, and what a report says of unknown and missing values."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def folder(gml, tmp_path, sample_data):
    """A model of the sample data, and rows of it."""
    (tmp_path / "train.csv").write_bytes((sample_data / "asia.csv").read_bytes())
    gml("fit-params", "train.csv", sample_data / "asia.dot", "-o", "model.json")
    gml("sample", "model.json", "-n", "1000", "--seed", "7", "-o", "new.csv")
    return tmp_path


def broken(folder):
    """Rows in which lung and xray change places."""
    header, rows = (folder / "new.csv").read_text().split("\n", 1)
    swapped = {"lung": "xray", "xray": "lung"}
    names = ",".join(swapped.get(name, name) for name in header.split(","))
    (folder / "bad.csv").write_text(f"{names}\n{rows}")


def notes(done):
    return json.loads(done.stdout)["notes"]


def test_what_is_accepted_is_listed(gml, folder):
    broken(folder)
    found = json.loads(gml("check", "bad.csv", "model.json", "-f", "json").stdout)
    failing = [check["message"] for check in found["checks"] if check["status"] == "fail"]
    done = gml("check", "bad.csv", "model.json", "--write-baseline", "b.json", "-f", "json")
    assert done.returncode == 0
    said = notes(done)
    listed = [note.removeprefix("accepted: ") for note in said if note.startswith("accepted: ")]
    assert sorted(listed) == sorted(failing)
    assert said[-2:] == [f"{len(failing)} violations accepted", "baseline written to b.json"]
    # These are not the rows of the model, and to accept them is to accept the change.
    assert any(note.startswith("these are not the rows that the model was") for note in said)
    own = gml("check", "train.csv", "model.json", "--write-baseline", "b.json", "-f", "json")
    assert notes(own) == ["0 violations accepted", "baseline written to b.json"]
    gml("count", "train.csv", "--implied", "model.json", "-o", "train.parquet")
    own = gml("check", "train.parquet", "model.json", "--write-baseline", "c.json", "-f", "json")
    assert not any(note.startswith("these are not the rows") for note in notes(own))


@pytest.mark.parametrize(
    "others", [["-o", "b.json"], ["--report", "json=b.json"], ["-o", "./b.json"]]
)
def test_a_baseline_has_a_place_of_its_own(gml, folder, others):
    done = gml("check", "new.csv", "model.json", "--write-baseline", "b.json", *others)
    assert done.returncode == 2
    assert b"two outputs would go to" in done.stderr
    assert not (folder / "b.json").exists()


@pytest.mark.parametrize("option", ["--baseline", "--write-baseline"])
def test_a_baseline_is_no_stream(gml, folder, option):
    done = gml("check", "new.csv", "model.json", option, "-")
    assert done.returncode == 2
    assert done.stderr == f"gml: error: {option}: a baseline is a file, not a stream\n".encode()
    assert not (folder / "-").exists()


def test_a_report_that_fails_leaves_the_old_baseline(gml, folder):
    (folder / "b.json").write_text("old")
    done = gml(
        *("check", "new.csv", "model.json", "--write-baseline", "b.json"),
        *("--report", "junit=/dev/full"),
    )
    assert done.returncode == 4
    assert (folder / "b.json").read_text() == "old"


def test_the_baseline_of_another_model_is_noted_in_the_report(gml, folder):
    gml("check", "train.csv", "model.json", "--write-baseline", "b.json")
    gml("fit-params", "new.csv", "model.json", "-o", "other.json")
    done = gml("check", "new.csv", "other.json", "--baseline", "b.json", "-q", "-f", "json")
    assert any("written for another model" in note for note in notes(done))


def test_columns_that_a_schema_leaves_out_are_missing_as_in_the_model(gml, tmp_path):
    rows = [f"{k % 2},{'' if k % 5 == 0 else k % 3}" for k in range(1000)]
    (tmp_path / "data.csv").write_text("\n".join(["a,b", *rows]) + "\n")
    (tmp_path / "g.dot").write_text("digraph { a; b; }")
    gml("fit-params", "data.csv", "g.dot", "--missing", "level", "-o", "model.json")
    gml("profile", "data.csv", "-c", "a", "-o", "schema.json")
    done = gml("check", "data.csv", "model.json", "--levels", "schema.json", "-f", "json")
    assert done.returncode == 0, done.stdout
    rates = {
        check["variables"][0]: check["old"]
        for check in json.loads(done.stdout)["checks"]
        if check["kind"] == "missing"
    }
    assert rates["b"] == {"missing": 200, "rate": 0.2}
    assert rates["a"] == {"missing": 0, "rate": 0.0}


def test_missing_values_are_no_unknown_value_as_well(gml, tmp_path):
    rows = [f"{k % 2},{k % 3}" for k in range(1000)]
    (tmp_path / "old.csv").write_text("\n".join(["a,b", *rows]) + "\n")
    (tmp_path / "new.csv").write_text("\n".join(["a,b", *(",0" for _ in range(90)), *rows]) + "\n")
    (tmp_path / "g.dot").write_text("digraph { a; b; }")
    gml("fit-params", "old.csv", "g.dot", "-o", "model.json")
    done = gml(
        *("check", "new.csv", "model.json", "--missing", "level", "--families", "schema"),
        *("-f", "json"),
    )
    found = json.loads(done.stdout)
    assert [c["id"] for c in found["checks"] if c["status"] == "fail"] == ["schema:missing:a"]


def test_an_unknown_value_is_named_with_its_line_and_what_it_is_like(gml, folder):
    lines = (folder / "new.csv").read_text().splitlines()
    for k in range(40, 100):
        lines[k] = lines[k].rpartition(",")[0] + ",YES "
    (folder / "bad.csv").write_text("\n".join([lines[0], "", *lines[1:]]) + "\n")
    done = gml("check", "bad.csv", "model.json", "-f", "json")
    assert done.returncode == 1
    (levels,) = (
        check for check in json.loads(done.stdout)["checks"] if check["id"] == "schema:levels:dysp"
    )
    assert (levels["row"], levels["line"]) == (40, 42)
    assert "'YES ' (60, as 'yes' but for case or blanks)" in levels["message"]
    text = gml("check", "bad.csv", "model.json").stdout.decode()
    assert "first at line 42" in text
    github = gml("check", "bad.csv", "model.json", "-f", "github").stdout.decode()
    assert "::error file=bad.csv,line=42,title=gml check%3A schema levels::" in github
    sarif = json.loads(gml("check", "bad.csv", "model.json", "-f", "sarif").stdout)
    (result,) = (r for r in sarif["runs"][0]["results"] if r["ruleId"] == "schema.levels")
    region = result["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 42}
