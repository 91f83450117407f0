"""Networks of labels and numbers on the command line: from a mixed table to files and rows."""

from __future__ import annotations

import csv
import io
import json
import re

import numpy as np
import pytest

from tests.command_line import error_line

NUMERIC = ("--numeric", "age,mass")


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    lines = ["sex,age,mass"]
    for k in range(60):
        age = rng.normal(40, 10)
        mass = 60 + 10 * (k % 2) + 0.3 * age + rng.normal()
        lines.append(f"{'fm'[k % 2]},{age:.3f},{mass:.3f}")
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "g.dot").write_text("digraph { sex -> mass; age -> mass }")
    (tmp_path / "back.dot").write_text("digraph { age -> sex; age -> mass }")
    schema = {"columns": {"age": {"type": "numeric"}, "mass": {"type": "numeric"}}}
    (tmp_path / "schema.json").write_text(json.dumps({"schema": "gml/1", **schema}))
    return tmp_path


def fitted(gml, *more):
    return gml("fit-params", "data.csv", "g.dot", *NUMERIC, *more)


def test_a_model_goes_from_file_to_file(gml, folder):
    assert fitted(gml, "-o", "m.json").stderr == b""
    node = json.loads((folder / "m.json").read_text())["nodes"][1]
    assert node["id"] == "mass" and node["parents"] == ["sex", "age"]
    assert [line["n"] for line in node["regressions"]] == [30, 30]
    again = gml("convert", "m.json", "-", "-f", "json")
    assert json.loads(again.stdout)["nodes"] == json.loads((folder / "m.json").read_text())["nodes"]
    by_schema = gml("fit-params", "data.csv", "g.dot", "--levels", "schema.json")
    assert json.loads(by_schema.stdout)["nodes"][1] == node
    # A graph that says which nodes hold numbers needs no option.
    assert gml("convert", "m.json", "n.dot", "-q").returncode == 0
    by_graph = gml("fit-params", "data.csv", "n.dot")
    assert json.loads(by_graph.stdout)["nodes"][1] == node


def test_text_and_tables(gml, folder):
    done = fitted(gml, "-f", "text", "--intervals", "0.9", "--cpt-dir", "tables")
    assert b"mass given sex, age\n  sex" in done.stdout
    rows = list(csv.DictReader(io.StringIO((folder / "tables" / "mass.csv").read_text())))
    assert [row["term"] for row in rows] == ["(intercept)", "age", "(sd)"] * 2
    assert {row["count"] for row in rows} == {"30"}
    assert all(float(r["lower"]) < float(r["estimate"]) < float(r["upper"]) for r in rows)


def test_what_cannot_hold_or_take_the_model_says_so(gml, folder):
    fitted(gml, "-o", "m.json").check_returncode()
    for name in ("x.bif", "x.xmlbif", "x.net", "x.uai"):
        message = error_line(gml("convert", "m.json", name), 3)
        assert "cannot hold a node of numbers such as 'mass'; write JSON instead" in message
        assert "cannot hold a node of numbers" in error_line(fitted(gml, "-o", name), 3)
    assert b"DOT does not hold the tables" in gml("convert", "m.json", "x.dot").stderr
    assert gml("convert", "m.json", "x.graphml").returncode == 0
    assert "over labels" in error_line(gml("convert", "m.json", "u.json", "--to", "undirected"), 3)


def test_divergence(gml, folder):
    fitted(gml, "-o", "m.json").check_returncode()
    same = gml("compare", "m.json", "m.json")
    assert (same.returncode, same.stderr) == (0, b"")
    assert b"kl          0 nats" in same.stdout
    (folder / "empty.dot").write_text("digraph { sex; age; mass }")
    gml("fit-params", "data.csv", "empty.dot", *NUMERIC, "-o", "e.json").check_returncode()
    pair = json.loads(gml("compare", "m.json", "e.json", "-f", "json").stdout)["pairs"][0]
    assert pair["kl"]["nodes"].keys() == {"sex", "age", "mass"}
    assert (pair["kl"]["nodes"]["sex"], pair["kl"]["nodes"]["age"]) == (0, 0)
    # The mass has nearly the variance of the rows in both, and σ within groups in the first alone.
    assert 1 < pair["kl"]["total"] < 3


def test_rows(gml, folder):
    fitted(gml, "-o", "m.json").check_returncode()
    done = gml("sample", "m.json", "-n", "5", "--do", "sex=m,age=50")
    rows = list(csv.DictReader(io.StringIO(done.stdout.decode())))
    assert {(row["sex"], row["age"]) for row in rows} == {("m", "50.0")}
    assert len({row["mass"] for row in rows}) == 5
    one, two = (
        gml("sample", "m.json", "-n", "30000", "--threads", str(threads)).stdout
        for threads in (1, 2)
    )
    assert one == two and one.count(b"\n") == 30001
    gaps = gml("sample", "m.json", "-n", "50", "--missing-rate", "0.5").stdout.decode()
    cells = [cell for row in csv.reader(io.StringIO(gaps)) for cell in row]
    assert 40 < cells.count("") < 110
    safe = gml("sample", "m.json", "-n", "3", "--safe-csv")
    assert safe.stdout == gml("sample", "m.json", "-n", "3").stdout
    empty = gml("sample", "m.json", "-n", "0")
    assert empty.stdout == b"sex,mass,age\n"


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["back.dot", *NUMERIC], 3, "'age -> sex': a label has no distribution given numbers"),
        (["back.dot", *NUMERIC], 3, "--tiers 'sex < age,mass'"),
        (["g.dot", *NUMERIC, "--number-prior", "ridge"], 2, "--number-prior belongs to --method"),
        (["g.dot", *NUMERIC, "--method", "bayes", "--prior-rows", "0"], 2, "--prior-rows"),
        (["g.dot", "--method", "bayes", "--prior-rows", "2", "--bins", "3"], 2, "is for numbers"),
        (["g.dot", "--numeric", "sex,age,mass"], 3, "'f' is not a number"),
    ],
)
def test_refusals(gml, folder, args, code, message):
    assert message in error_line(gml("fit-params", "data.csv", *args), code)


def test_groups_are_named(gml, folder):
    text = (folder / "data.csv").read_text()
    (folder / "data.csv").write_text(text + "x,40,70\nx,41,70\n")
    message = error_line(fitted(gml), 4)
    assert "fewer than the 4 rows that a regression needs, the first (sex=x) only 2" in message
    assert "--method bayes" in message
    bayes = fitted(gml, "--method", "bayes", "--prior-rows", "2", "-o", "m.json")
    assert bayes.returncode == 0
    kept = json.loads((folder / "m.json").read_text())
    assert kept["graph"]["learning"]["options"]["prior_rows"] == 2
    assert [line["n"] for line in kept["nodes"][1]["regressions"]] == [30, 30, 2]
    schema = {"sex": {"levels": ["f", "m", "x", "y"]}}
    (folder / "schema.json").write_text(json.dumps({"schema": "gml/1", "columns": schema}))
    more = ("--method", "bayes", "--levels", "schema.json")
    done = fitted(gml, *more)
    assert b"never seen" in done.stderr
    assert "n" not in json.loads(done.stdout)["nodes"][1]["regressions"][3]
    assert "(sex=y)" in error_line(fitted(gml, *more, "--strict"), 4)


def test_missing_numbers(gml, folder):
    text = (folder / "data.csv").read_text()
    (folder / "data.csv").write_text(text + "f,,70\n")
    assert "'age' 1" in error_line(fitted(gml), 3)
    refused = error_line(fitted(gml, "--missing", "level"), 3)
    assert "--missing level is for categorical columns, and 'age' is numeric" in refused
    assert "(--bins 4)" in refused and "(--labels 'age')" in refused
    assert "--missing em or drop" in refused
    for policy, rows in (("drop", [30, 30]), ("available", [30, 30])):
        node = json.loads(fitted(gml, "-q", "--missing", policy).stdout)["nodes"][1]
        assert [line["n"] for line in node["regressions"]] == rows


def test_pictures(gml, folder):
    fitted(gml, "-o", "m.json", "--intervals", "0.9").check_returncode()
    drawn = gml("draw", "m.json", "-f", "svg")
    assert drawn.returncode == 0 and b"sex" in drawn.stdout
    plot = gml("draw", "m.json", "--kind", "cpt", "--node", "mass", "-f", "svg")
    assert b"mass given sex, age" in plot.stdout and b"30" in plot.stdout
    edges = gml("draw", "m.json", "--weight", "mi", "--no-bars").stdout.decode()
    shown = float(re.search("sex --&gt; mass, mi ([0-9.]+)", edges)[1])
    assert 0.1 < shown < 2
    for words in (["m.json"], ["data.csv", *NUMERIC], ["m.json", "--data", "data.csv"]):
        matrix = gml("draw", "--kind", "matrix", *words)
        assert (matrix.returncode, matrix.stderr) == (0, b"")
        titles = re.findall("<title>mass, sex: ([0-9.]+)", matrix.stdout.decode())
        # The model has the means of the rows, and no dependence of sex and age.
        assert float(titles[0]) == pytest.approx(shown, rel=0.1), words


def test_folds_rank_graphs_by_density(gml, folder):
    (folder / "none.dot").write_text("digraph { sex; age; mass }")
    done = gml("score", "data.csv", "none.dot", "g.dot", *NUMERIC, "--folds", "3", "-f", "json")
    best, worst = json.loads(done.stdout)["graphs"]
    assert (best["graph"], worst["graph"]) == ("g.dot", "none.dot")
    assert best["heldout"] < worst["heldout"]
    assert "a label has no distribution" in error_line(
        gml("score", "data.csv", "back.dot", *NUMERIC, "--folds", "3", "-q"), 3
    )


def test_a_learned_graph_is_fitted_as_it_was_learned(gml, folder):
    learned = gml("ges", "data.csv", *NUMERIC, "--score", "bic-cg", "-f", "json", "-q").stdout
    (folder / "learned.json").write_bytes(learned)
    done = gml("fit-params", "data.csv", "learned.json", "-q")
    assert done.returncode == 0
    kinds = {node["id"]: "levels" in node for node in json.loads(done.stdout)["nodes"]}
    assert kinds == {"sex": True, "age": False, "mass": False}


def test_a_check_holds_rows_against_the_model(gml, folder):
    fitted(gml, "--accept", "-o", "m.json").check_returncode()
    assert gml("check", "data.csv", "m.json").returncode == 0
    rows = (folder / "data.csv").read_text().splitlines()
    cells = [row.split(",") for row in rows[1:]]
    moved = [rows[0], *(f"{sex},{age},{float(mass) + 15:.3f}" for sex, age, mass in cells)]
    (folder / "moved.csv").write_text("\n".join(moved) + "\n")
    for form in ("text", "json", "junit", "sarif", "markdown"):
        assert gml("check", "moved.csv", "m.json", "-f", form).returncode == 1
    found = json.loads(gml("check", "moved.csv", "m.json", "-f", "json").stdout)["checks"]
    of_mass = {check["id"]: check for check in found if check["id"].startswith("tables:mass")}
    assert {"tables:mass", "tables:mass|sex=f", "tables:mass|sex=m:sd"} <= of_mass.keys()
    assert "schema:drift:mass" in [c["id"] for c in found if c["status"] == "fail"]
    for data, code in (("data.csv", 0), ("moved.csv", 1)):
        gml("count", data, "-o", "counts", "--implied", "m.json").check_returncode()
        done = gml("check", "counts", "m.json")
        assert done.returncode == code
        assert b"there are sums of numbers, and no rows" in done.stdout
