"""gml chowliu with numeric columns: what it writes, and what the commands after it do with that."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.command_line import error_line, printed_json

NUMERIC = ("--numeric", "age,dose,weight")


@pytest.fixture
def table(tmp_path):
    """Patients; two of the numeric columns depend on the ward, whose arm is another."""
    rng = np.random.default_rng(4)
    lines = ["weight,ward,age,arm,dose"]
    for _ in range(240):
        ward = rng.integers(3)
        arm = "new" if rng.random() < (0.2, 0.5, 0.8)[ward] else "old"
        age = 40 + 12 * ward + rng.normal() * (3 + 3 * ward)
        weight = 70 + rng.normal() * 9
        dose = weight * 0.3 + rng.normal()
        lines.append(f"{weight:.1f},{'ABC'[ward]},{age:.2f},{arm},{dose:.3f}")
    (tmp_path / "wards.csv").write_text("\n".join(lines) + "\n")
    return "wards.csv"


def test_a_tree_of_both_kinds(gml, table):
    done = gml("chowliu", table, *NUMERIC, "-f", "json")
    graph = printed_json(done)
    assert graph["graph"]["kind"] == "dag" and len(graph["edges"]) == 4
    numeric = {node["id"] for node in graph["nodes"] if node.get("type") == "numeric"}
    assert numeric == {"age", "dose", "weight"}
    by_ends = {(edge["source"], edge["target"]): edge for edge in graph["edges"]}
    assert not any(a in numeric and b not in numeric for a, b in by_ends)
    assert by_ends["ward", "age"]["variances"] == "by level"
    assert by_ends["ward", "age"]["df"] == 4
    assert set(
        by_ends["dose", "weight"] if ("dose", "weight") in by_ends else by_ends["weight", "dose"]
    ) == {"source", "target", "type", "mi", "df", "weight", "compelled"}
    assert graph["graph"]["learning"]["options"] == {"numeric": ["age", "dose", "weight"]}


@pytest.mark.parametrize("options", [[], ["--class", "ward"], ["--prune", "g", "--alpha", "0.01"]])
def test_engines_and_hash_seeds_write_the_same_bytes(gml_process, table, options):
    command = ("chowliu", table, *NUMERIC, *options, "-f", "json")
    whole = [
        gml_process(*command, *engine, env={"PYTHONHASHSEED": seed})
        for engine, seed in (([], "0"), (["--threads", "1"], "1"), (["--engine", "stream"], "2"))
    ]
    assert [done.returncode for done in whole] == [0, 0, 0]
    assert whole[0].stdout == whole[1].stdout == whole[2].stdout


def test_columns_in_another_order_make_the_same_edges(gml, table, tmp_path):
    rows = [line.split(",") for line in (tmp_path / table).read_text().splitlines()]
    turned = [rows[0], *rows[:0:-1]]
    (tmp_path / "turned.csv").write_text("\n".join(",".join(row[::-1]) for row in turned) + "\n")
    one, other = (
        printed_json(gml("chowliu", name, *NUMERIC, "-f", "json")) for name in (table, "turned.csv")
    )

    def edges(graph):
        return sorted(json.dumps(edge, sort_keys=True) for edge in graph["edges"])

    assert edges(one) == edges(other)


@pytest.mark.parametrize("options", [[], ["--class", "arm"], ["--prune", "bic"]])
def test_models_are_fitted_checked_scored_sampled_and_asked(gml, table, options):
    assert gml("chowliu", table, *NUMERIC, *options, "-o", "tree.json").returncode == 0
    assert gml("fit-params", table, "tree.json", "-o", "model.json").returncode == 0
    checked = gml("check", table, "model.json", "--families", "schema,tables,fit")
    assert checked.returncode == 0, checked.stdout
    scored = printed_json(gml("score", table, "tree.json", "--score", "bic-cg", "-f", "json"))
    assert scored["graphs"][0]["scores"]["bic-cg"] < 0
    drawn = gml("sample", "model.json", "-n", "20")
    assert drawn.returncode == 0 and len(drawn.stdout.splitlines()) == 21
    asked = gml("query", "model.json", "--target", "ward", "--evidence", "age=70,arm=old")
    assert asked.returncode == 0 and b"ward" in asked.stdout


def test_what_cannot_be_is_refused_in_one_line(gml, table):
    root = error_line(gml("chowliu", table, *NUMERIC, "--root", "dose"), 2)
    assert "'dose' is numeric" in root and "--root " in root
    class_ = error_line(gml("chowliu", table, *NUMERIC, "--class", "age"), 2)
    assert "the class must be categorical, and 'age' is numeric" in class_ and "--bins" in class_
    estimator = error_line(gml("chowliu", table, *NUMERIC, "--estimator", "miller-madow"), 3)
    assert "--estimator miller-madow is for categorical columns" in estimator
    assert "'age', 'dose', 'weight' are numeric" in estimator and "--kinds labels" in estimator
    assert gml("chowliu", table, *NUMERIC, "--root", "arm").returncode == 0
    only = ("-c", "age,dose,weight")
    assert gml("chowliu", table, *NUMERIC, *only, "--root", "dose").returncode == 0
    assert gml("chowliu", table, *NUMERIC, "--undirected").returncode == 0


def test_a_class_is_categorical_whatever_its_values(gml, tmp_path):
    rng = np.random.default_rng(6)
    grade = rng.integers(0, 16, 600)
    marks = grade + rng.normal(size=600)
    rows = [f"{g},{mark:.3f}" for g, mark in zip(grade, marks, strict=True)]
    (tmp_path / "marks.csv").write_text("\n".join(["grade,marks", *rows]) + "\n")
    graph = printed_json(gml("chowliu", "marks.csv", "--class", "grade", "-f", "json"))
    (edge,) = graph["edges"]
    assert (edge["source"], edge["target"], edge["df"]) == ("grade", "marks", 15)
    assert graph["nodes"][0]["levels"] == [str(k) for k in range(16)]
    missing = error_line(gml("chowliu", "marks.csv", "--class", "grad", "-q"), 2)
    assert "'grad'" in missing and "'grade'" in missing


def test_missing_numbers_are_dropped_or_refused(gml, table, tmp_path):
    lines = (tmp_path / table).read_text().splitlines()
    lines[3] = "," + lines[3].split(",", 1)[1]
    (tmp_path / "gap.csv").write_text("\n".join(lines) + "\n")
    dropped = printed_json(gml("chowliu", "gap.csv", *NUMERIC, "--missing", "drop", "-f", "json"))
    assert dropped["graph"]["learning"]["rows"] == 239
    refused = error_line(gml("chowliu", "gap.csv", *NUMERIC, "--missing", "available"), 2)
    assert "cannot be compared" in refused


@pytest.mark.parametrize("suffix", ["json", "dot", "graphml"])
def test_no_infinity_is_written_where_one_column_determines_another(gml, tmp_path, suffix):
    rows = [f"{k},{2 * k + 1},{'ab'[k % 2]},{k * k % 7}.5" for k in range(20)]
    (tmp_path / "t.csv").write_text("\n".join(["one,two,half,other", *rows]) + "\n")
    done = gml("chowliu", "t.csv", "--numeric", "one,two,other", "-o", f"t.{suffix}")
    assert done.returncode == 0
    said = done.stderr.decode()
    assert "1 edge has an infinite mi" in said and "'two' from 'one'" in said
    assert "--exclude 'two'" in said or "--exclude two" in said
    if suffix == "json":
        graph = json.loads((tmp_path / "t.json").read_text())
        assert graph["graph"]["learning"]["total_mi"] is None
        boundless = [edge for edge in graph["edges"] if edge["mi"] is None]
        assert [(edge["weight"], edge["df"]) for edge in boundless] == [(None, 1)]
    else:
        assert "inf" not in (tmp_path / f"t.{suffix}").read_text().lower()


def test_a_plan_has_the_questions_about_numeric_columns(gml, table):
    plan = printed_json(gml("plan", "-f", "json", "chowliu", table, *NUMERIC))
    asked = {(work["kind"], work["size"]): work["likely"] for work in plan["work"]}
    # All three at once, each with each of two categorical columns, and these two.
    assert asked == {("moments", 3): 1, ("moments", 1): 6, ("tests", 0): 1}
