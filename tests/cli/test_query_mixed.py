"""gml query and gml sample on models of labels and numbers."""

from __future__ import annotations

import csv
import io
import json

import pytest

import gml as library
from tests.command_line import error_line, printed_rows
from tests.command_line import printed_json as answer

MODEL = {
    "nodes": [
        {"id": "sex", "levels": ["f", "m"], "cpt": [[0.5, 0.5]]},
        {"id": "age", "gaussian": {"intercept": 45, "coefficients": [], "sd": 12}},
        {
            "id": "mass",
            "parents": ["sex", "age"],
            "regressions": [
                {"intercept": 52, "coefficients": [0.3], "sd": 8},
                {"intercept": 70, "coefficients": [0.2], "sd": 10},
            ],
        },
        {
            "id": "pounds",
            "parents": ["mass"],
            "gaussian": {"intercept": 0, "coefficients": [2.25], "sd": 0},
        },
    ],
    "edges": [
        {"source": "sex", "target": "mass"},
        {"source": "age", "target": "mass"},
        {"source": "mass", "target": "pounds"},
    ],
}


@pytest.fixture
def model(tmp_path):
    (tmp_path / "model.json").write_text(json.dumps(MODEL))
    assert library.BayesNet
    return "model.json"


def test_labels_and_numbers(gml, model):
    done = gml("query", model, "--evidence", "pounds=157.5", "-f", "json")
    found = answer(done)
    assert set(found) >= {"evidence_density", "log10_evidence_density"}
    rows = found["results"]
    assert list(rows[0]) == ["node", "level", "probability", "mean", "sd", "5%", "50%", "95%"]
    by_node = {row["node"]: row for row in rows}
    assert by_node["mass"]["mean"] == pytest.approx(70, rel=1e-12)
    assert by_node["mass"]["sd"] == 0
    assert by_node["sex"]["mean"] is None
    assert sum(row["probability"] or 0 for row in rows) == pytest.approx(1, rel=1e-12)


def test_text_has_dashes_for_what_does_not_apply(gml, model):
    done = gml("query", model)
    lines = done.stdout.decode().splitlines()
    assert lines[0].split() == ["node", "level", "probability", "mean", "sd", "5%", "50%", "95%"]
    assert lines[1].split() == ["sex", "f", "0.5", "-", "-", "-", "-", "-"]


def test_intervals(gml, model):
    (row,) = answer(gml("query", model, "-t", "mass", "--interval", "0.9", "-f", "json"))["results"]
    (plain,) = answer(gml("query", model, "-t", "mass", "-f", "json"))["results"]
    assert list(row) == list(plain)
    assert row["5%"] == pytest.approx(plain["5%"], rel=1e-12)
    done = gml("query", model, "-t", "sex", "--interval", "0.9")
    assert error_line(done, 2) == "gml: error: --interval is for numbers, and 'sex' has levels\n"


def test_best_values(gml, model):
    found = answer(gml("query", model, "--mpe", "--evidence", "mass=60", "-f", "json"))
    assert found["density"] > 0
    assert {row["node"]: row["value"] for row in found["results"]}["pounds"] == 135
    labels = answer(
        gml("query", model, "--map", "-t", "sex", "--evidence", "mass=60", "-f", "json")
    )
    assert labels["results"] == [{"node": "sex", "value": "f"}]
    assert 0.5 < labels["probability"] < 1
    assert gml("query", model, "--map", "-t", "age").returncode == 2


def test_evidence_off_the_support(gml, model):
    done = gml("query", model, "--evidence", "mass=70,pounds=150")
    assert error_line(done, 4) == "gml: error: the evidence has probability 0\n"


def test_too_large(gml, model):
    done = gml("query", model, "--evidence", "pounds=150", "--max-memory", "50")
    assert "--max-memory" in error_line(done, 4)


def test_rows(gml, model, tmp_path):
    (tmp_path / "rows.csv").write_text("sex,age,mass\nf,40,61\n,50,\nm,NA,90\n")
    done = gml("query", model, "--predict", "mass", "--interval", "0.9", "--batch", "rows.csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout.decode())))
    assert list(rows[0])[3:] == ["mass_predicted", "mass_sd", "mass_lower", "mass_upper"]
    assert float(rows[0]["mass_predicted"]) == pytest.approx(64, rel=1e-12)
    assert b"share within the intervals 1" in done.stderr
    done = gml("query", model, "-t", "sex,mass", "--batch", "rows.csv")
    names = next(csv.reader(io.StringIO(done.stdout.decode())))
    assert names[3:] == ["sex=f", "sex=m", "mass_mean", "mass_sd", "log10_p_evidence"]
    text = gml("query", model, "--predict", "sex", "--batch", "-", stdin=b"mass\nheavy\n")
    assert "'heavy' is not a number" in error_line(text, 3)


def test_draws_given_evidence(gml, model):
    found = printed_rows(gml("sample", model, "-n", "50", "--evidence", "pounds=157.5,sex=m"))
    assert {row["mass"] for row in found} == {"70.0"}
    assert {row["sex"] for row in found} == {"m"}
    assert len({row["age"] for row in found}) == 50


@pytest.mark.parametrize("asked", [("--predict", "mass"), ("--target", "sex")])
def test_rows_that_observe_nothing_are_refused(gml, model, tmp_path, asked):
    (tmp_path / "rows.csv").write_text("Sex,years\nf,40\nm,50\n")
    line = error_line(gml("query", model, *asked, "--batch", "rows.csv"), 3)
    assert line.endswith(
        "rows.csv: none of its columns is in the model: it has 'Sex', 'years', and the model "
        "'sex', 'age', 'mass', 'pounds'; did you mean 'sex' by 'Sex'?\n"
    )
    # A column of the model is enough, though it be the one that is asked for.
    (tmp_path / "rows.csv").write_text("sex,years\nf,40\nm,50\n")
    assert gml("query", model, *asked, "--batch", "rows.csv").returncode == 0
