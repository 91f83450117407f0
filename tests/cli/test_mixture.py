"""gml mixture as users run it."""

from __future__ import annotations

import json

import numpy as np
import pytest

import gml as library
from tests.command_line import error_line


@pytest.fixture
def survey(tmp_path):
    """Answers of two kinds of people, and two numbers; some cells are missing."""
    rng = np.random.default_rng(3)
    lines = ["a,b,c,height"]
    for _ in range(120):
        kind = rng.random() < 0.4
        cells = ["yes" if rng.random() < (0.9 if kind else 0.2) else "no" for _ in range(3)]
        cells.append(f"{rng.normal(180 if kind else 165, 4):.1f}")
        lines.append(",".join("NA" if rng.random() < 0.05 else cell for cell in cells))
    path = tmp_path / "survey.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


FEW = ("--components", "2", "--em-restarts", "3", "--numeric", "height", "--covariance", "EEE")


def test_the_model_goes_to_standard_output(gml, survey):
    done = gml("mixture", survey, *FEW)
    assert done.returncode == 0
    content = json.loads(done.stdout)
    nodes = {node["id"]: node for node in content["nodes"]}
    assert list(nodes) == ["a", "b", "c", "height", "class"]
    assert nodes["class"]["hidden"] is True
    assert nodes["a"]["parents"] == ["class"]
    assert "counts" not in nodes["a"]
    assert sum(map(sum, nodes["class"]["expected_counts"])) == pytest.approx(120)
    learning = content["graph"]["learning"]
    assert learning["missing"]["policy"] == "em"
    assert learning["missing"]["assumed"] == "at random"
    assert len(learning["em"]["ends"]) == 3
    assert learning["mixture"]["criterion"] == "bic"
    assert b"gml: missing values are assumed to be missing at random" in done.stderr
    assert b", reached by " in done.stderr
    assert gml("mixture", survey, *FEW, "-q").stderr == b""


def test_text_shows_the_classes(gml, survey):
    shown = gml("mixture", survey, *FEW, "--components", "1..2", "-f", "text").stdout.decode()
    lines = shown.splitlines()
    assert lines[0] == "2 classes, covariances EEE, 120 rows, 4 columns, chosen by bic among 2"
    assert "classes  model  log-likelihood  parameters" in lines[3]
    assert "2*  EEE" in shown
    words = [line.split() for line in lines]
    sizes = next(cells for cells in words if cells[:1] == ["size"])
    assert float(sizes[1]) + float(sizes[2]) == pytest.approx(1, abs=2e-4)
    assert any(cells[:1] == ["height"] and "±" in cells for cells in words)


def test_the_class_is_an_ordinary_node(gml, survey, tmp_path):
    assert gml("mixture", survey, *FEW, "-o", "m.json").returncode == 0
    rows = gml("query", "m.json", "--predict", "class", "--batch", survey).stdout.decode()
    first = rows.splitlines()[0].split(",")
    assert first == ["a", "b", "c", "height", "class_predicted", "class_probability"]
    assert len(rows.splitlines()) == 121
    drawn = gml("sample", "m.json", "-n", "5").stdout.decode().splitlines()
    assert drawn[0] == "a,b,c,height,class"
    posterior = gml("query", "m.json", "--target", "class", "--evidence", "a=yes,height=185")
    assert posterior.returncode == 0
    assert gml("draw", "m.json", "-o", "graph.svg").returncode == 0
    net = library.read_model(tmp_path / "m.json")
    assert net.hidden == ("class",)


@pytest.mark.parametrize("command", ["mixture", "draw"])
def test_pictures_show_the_classes(gml, survey, tmp_path, command):
    assert gml("mixture", survey, *FEW, "-o", "m.json").returncode == 0
    source = [survey, *FEW] if command == "mixture" else ["--kind", "classes", "m.json"]
    assert gml(command, *source, "-o", "classes.svg").returncode == 0
    picture = (tmp_path / "classes.svg").read_text()
    for word in ("class: 2 classes", "height", "yes"):
        assert word in picture


def test_a_graph_has_no_classes(gml, sample_data):
    done = gml("draw", "--kind", "classes", sample_data / "asia.dot")
    assert "needs a model, as gml mixture makes it" in error_line(done, 2)


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ("--components 0", 2, "must be at least 1, not 0"),
        ("--components 8..1", 2, "8..1 goes down; write 1..8"),
        ("--components many", 2, "must be a number or a range such as 1..8, not 'many'"),
        ("--components 200", 4, "200 classes cannot be told apart in"),
        ("--covariance EVE", 2, "'EVE' not found"),
        ("--name a", 2, "--name 'a' is a column of the data"),
        ("--regularise -1", 2, "--regularise"),
        ("--criterion icl --folds 3", 2, "--folds belongs to --criterion folds"),
        ("--missing available", 2, "'available' is not one of"),
        ("--missing error", 3, "missing values"),
        ("--columns a,b --covariance VVV", 2, "--covariance is for numbers"),
    ],
)
def test_what_is_refused(gml, survey, options, code, words):
    numeric = [] if "columns" in options else ["--numeric", "height"]
    assert words in error_line(gml("mixture", survey, *numeric, *options.split()), code)


def test_tables_without_rows(gml, tmp_path):
    (tmp_path / "empty.csv").write_text("")
    assert gml("mixture", "empty.csv").returncode == 3
    (tmp_path / "header.csv").write_text("a,b\n")
    assert "has a header, but no rows" in error_line(gml("mixture", "header.csv"), 4)


def test_out_of_time_is_said(gml, survey):
    done = gml("mixture", survey, "--numeric", "height", "--max-seconds", "0")
    assert done.returncode == 5
    assert json.loads(done.stdout)["graph"]["learning"]["complete"] is False
    assert b"stopped by --max-seconds: this is the best of 1 mixture so far" in done.stderr


def test_hash_seeds_and_threads_change_no_byte(gml_process, survey):
    found = {
        gml_process(
            "mixture", survey, *FEW, "--threads", threads, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed, threads in (("0", "1"), ("1", "2"))
    }
    assert len(found) == 1


def test_a_name_that_no_file_can_hold_is_refused(gml, sample_data):
    words = ["mixture", sample_data / "carcinoma.csv", "--components", 2, "--name=I\udcba"]
    assert "--name 'I\\udcba' is not text that UTF-8 can hold" in error_line(gml(*words), 2)
