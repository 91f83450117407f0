"""gml check of a model of numbers, on the command line: from a file to a report and an exit code."""

from __future__ import annotations

import json

import numpy as np
import pytest

DOT = "digraph { height -> weight; age -> weight; weight -> pressure; }"


def write(path, n, seed, *, slope=0.9, decimal=".", spoil=None):
    rng = np.random.default_rng(seed)
    height = rng.normal(170, 9, n)
    age = rng.gamma(4, 11, n)
    weight = slope * (height - 100) + 0.1 * age + rng.laplace(0, 6, n)
    pressure = 90 + 0.4 * weight + rng.laplace(0, 8, n)
    lines = ["height;age;weight;pressure" if decimal == "," else "height,age,weight,pressure"]
    for k, row in enumerate(zip(height, age, weight, pressure, strict=True)):
        cells = [f"{value:.3f}".replace(".", decimal) for value in row]
        if spoil is not None and k == 6:
            cells[1] = spoil
        lines.append((";" if decimal == "," else ",").join(cells))
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def folder(tmp_path, gml):
    (tmp_path / "graph.dot").write_text(DOT)
    write(tmp_path / "train.csv", 3000, 1)
    gml("fit-params", "train.csv", "graph.dot", "--gaussian", "-o", "model.json").check_returncode()
    return tmp_path


def test_the_answer_is_the_exit_code(gml, folder):
    write(folder / "new.csv", 500, 2)
    good = gml("check", "new.csv", "model.json")
    assert (good.returncode, good.stderr) == (0, b""), good.stderr
    assert good.stdout.startswith(b"PASS  none of ")
    write(folder / "changed.csv", 500, 3, slope=0.6)
    bad = gml("check", "changed.csv", "model.json", "--unlikely-rows", "0")
    assert bad.returncode == 1
    assert b"tables: weight at the same age, height: mean 67." in bad.stdout
    assert b"structure: height -> weight: height told " in bad.stdout
    assert b"schema: weight: share below " in bad.stdout


def test_a_model_accepts_its_own_rows(gml, folder):
    done = gml("check", "train.csv", "model.json", "--write-baseline", "b.json")
    assert done.returncode == 0
    assert json.loads((folder / "b.json").read_text())["references"]
    write(folder / "new.csv", 500, 2)
    assert gml("check", "new.csv", "model.json", "--baseline", "b.json").returncode == 0


def test_a_cell_that_is_no_number_is_named_with_its_line(gml, folder):
    write(folder / "new.csv", 500, 2, spoil="forty")
    done = gml("check", "new.csv", "model.json", "-f", "json")
    assert done.returncode == 1
    failed = [c for c in json.loads(done.stdout)["checks"] if c["status"] == "fail"]
    assert [(c["id"], c["line"], c["new"]["text"]) for c in failed] == [
        ("schema:numbers:age", 8, ["forty"])
    ]


def test_other_decimal_marks(gml, folder):
    write(folder / "new.csv", 500, 2)
    write(folder / "german.csv", 500, 2, decimal=",", spoil=None)
    plain = json.loads(gml("check", "new.csv", "model.json", "-f", "json").stdout)
    done = gml("check", "german.csv", "model.json", "-d", ";", "--decimal", ",", "-f", "json")
    assert json.loads(done.stdout)["checks"] == plain["checks"]


def test_options_for_labels_are_refused(gml, folder):
    done = gml("check", "train.csv", "model.json", "--bins", "4")
    assert done.returncode == 2
    assert b"--bins 4 contradicts model.json, which declares numbers for column" in done.stderr


def test_a_model_of_an_older_version(gml, folder):
    old = json.loads((folder / "model.json").read_text())
    for node in old["nodes"]:
        del node["gaussian"]["rows"]
    del old["graph"]["hash"]
    (folder / "old.json").write_text(json.dumps(old))
    done = gml("check", "train.csv", "old.json")
    assert done.returncode == 0
    assert b"keeps nothing of the rows that it was fitted on" in done.stdout


@pytest.mark.parametrize("format", ["junit", "sarif", "markdown", "github"])
def test_every_report_can_be_written(gml, folder, format):
    write(folder / "changed.csv", 500, 3, slope=0.6)
    done = gml("check", "changed.csv", "model.json", "-f", format)
    assert done.returncode == 1
    assert b"height" in done.stdout


def test_numbers_beyond_the_old_range_and_another_unit_are_named(gml, folder):
    """Columns of few different numbers are read as labels first, and are numbers all the same."""
    write(folder / "new.csv", 500, 2)
    rows = [line.split(",") for line in (folder / "new.csv").read_text().splitlines()]
    at = rows[0].index("height")
    inches = [[*row[:at], str(12 * float(row[at])), *row[at + 1 :]] for row in rows[1:200]]
    text = "\n".join(",".join(row) for row in [rows[0], *inches]) + "\n"
    (folder / "inches.csv").write_text(text)
    done = gml("check", "inches.csv", "model.json", "-f", "json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    checks = {check["id"]: check for check in found["checks"]}
    assert checks["schema:range:height"]["status"] == "fail"
    assert "about 12 times: another unit?" in checks["schema:range:height"]["message"]
    assert found["culprits"][0]["columns"] == ["height"]
