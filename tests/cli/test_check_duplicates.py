"""Duplicates at the command line: rows delivered twice, and rows that repeat others."""

import json

import numpy as np
import pandas as pd
import pytest

import gml as library


@pytest.fixture
def folder(gml, tmp_path, sample_data):
    """A model of asia, and new rows of it."""
    done = gml("fit-params", sample_data / "asia.csv", sample_data / "asia.dot", "-o", "model.json")
    assert done.returncode == 0
    assert gml("sample", "model.json", "-n", 1000, "--seed", 7, "-o", "new.csv").returncode == 0
    return tmp_path


def times(folder, how_often):
    header, *rows = (folder / "new.csv").read_text().splitlines(keepends=True)
    (folder / "often.csv").write_text(header + "".join(rows * how_often))


def found(done):
    content = json.loads(done.stdout)
    return content, [check["id"] for check in content["checks"] if check["status"] == "fail"]


@pytest.mark.parametrize("how_often", [2, 3, 10])
def test_a_file_delivered_several_times_is_reported_as_that(gml, folder, how_often):
    times(folder, how_often)
    done = gml("check", "often.csv", "model.json", "-f", "json")
    assert done.returncode == 1
    content, failing = found(done)
    assert failing == ["schema:repeats"]
    (repeats,) = (check for check in content["checks"] if check["id"] == "schema:repeats")
    assert repeats["message"] == (
        f"every row occurs a multiple of {how_often} times: delivered {how_often} times?"
    )
    assert repeats["effect"] == 1 - 1 / how_often
    assert content["rows"] == 1000 * how_often
    assert any(f"delivered {how_often} times" in note for note in content["notes"])


def test_the_other_checks_are_those_of_one_delivery(gml, folder):
    once, _ = found(gml("check", "new.csv", "model.json", "-f", "json"))
    times(folder, 3)
    thrice, _ = found(gml("check", "often.csv", "model.json", "-f", "json"))
    assert [c for c in once["checks"] if c["id"] != "schema:repeats"] == [
        c for c in thrice["checks"] if c["id"] != "schema:repeats"
    ]
    assert once["unlikely_rows"] == thrice["unlikely_rows"]


def test_a_fault_is_found_in_rows_delivered_twice(gml, folder):
    lines = (folder / "new.csv").read_text().splitlines()
    changed = [
        ",".join([*line.split(",")[:4], "no", *line.split(",")[5:]]) if k % 3 == 0 and k else line
        for k, line in enumerate(lines)
    ]
    (folder / "new.csv").write_text("\n".join(changed) + "\n")
    times(folder, 2)
    done = gml("check", "often.csv", "model.json", "-f", "json")
    _, failing = found(done)
    assert failing[0] == "schema:repeats"
    assert any(name.startswith("tables:bronc") for name in failing)


def test_every_format_reports_repeats(gml, folder):
    times(folder, 3)
    for form in ("text", "json", "markdown", "junit", "sarif", "github"):
        done = gml("check", "often.csv", "model.json", "-f", form)
        assert done.returncode == 1
        assert "delivered 3 times?" in done.stdout.decode()


def wide(path, n, seed, copies=0):
    """Twelve columns of four levels: rows hardly repeat. Some rows are copied over others."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 4, size=(n, 12))
    rows[:copies] = rows[n - copies :]
    lines = [",".join(f"c{j}" for j in range(12)), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def many_columns(gml, tmp_path):
    wide(tmp_path / "train.csv", 4000, 1)
    (tmp_path / "g.dot").write_text(
        "digraph { c0 -> c1; c2; c3; c4; c5; c6; c7; c8; c9; c10; c11 }"
    )
    assert gml("fit-params", "train.csv", "g.dot", "-o", "model.json").returncode == 0
    return tmp_path


def test_repeated_rows_are_compared_with_the_models_own(gml, many_columns):
    wide(many_columns / "new.csv", 1000, 2)
    assert gml("check", "new.csv", "model.json").returncode == 0
    wide(many_columns / "new.csv", 1000, 2, copies=20)
    done = gml("check", "new.csv", "model.json", "-f", "json")
    assert done.returncode == 1
    assert found(done)[1] == ["schema:repeats"]


def test_failures_beside_repeats_may_be_due_to_them(gml, many_columns):
    """A row that occurs 60 times too often shifts single columns as well."""
    wide(many_columns / "new.csv", 1000, 2)
    lines = (many_columns / "new.csv").read_text().splitlines()
    (many_columns / "new.csv").write_text("\n".join([*lines[:-120], *lines[1:2] * 120]) + "\n")
    content, failing = found(gml("check", "new.csv", "model.json", "-f", "json"))
    assert failing[0] == "schema:repeats"
    assert len(failing) > 1
    assert any("may be due to them" in note for note in content["notes"])


def test_a_column_that_changed_is_not_taken_for_repeats(gml, many_columns):
    """Rows in which half of the columns are constant repeat, but were not delivered twice."""
    wide(many_columns / "new.csv", 1000, 2)
    header, *rows = (many_columns / "new.csv").read_text().splitlines()
    flat = [",".join([*row.split(",")[:5], *["0"] * 7]) for row in rows]
    (many_columns / "new.csv").write_text("\n".join([header, *flat]) + "\n")
    _, failing = found(gml("check", "new.csv", "model.json", "-f", "json"))
    assert "schema:repeats" not in failing
    assert "tables:c11|" in failing


def test_values_of_a_column_that_was_unique(tmp_path):
    rng = np.random.default_rng(0)

    def table(n):
        x = rng.normal(size=n)
        return pd.DataFrame({"x": x, "z": np.where(x + rng.normal(size=n) > 0, "a", "b")})

    graph = library.Graph.from_edges(["x", "z"], [("x", "-->", "z")])
    model = library.fit(table(3000), graph, bins=4)
    new = table(1000)
    assert not library.check(new, model).failed
    new.loc[:14, "x"] = new.loc[15:29, "x"].to_numpy()
    failure, rows = library.check(new, model).ranked("fail")
    # With the numbers as they are, the rows repeat as well.
    assert rows.id == "schema:copies"
    assert failure.id == "schema:unique:x"
    assert failure.message.startswith("x: 15 of 1000 values repeat others")


def test_no_repeats_are_asked_for_where_a_column_is_left_out(gml, folder):
    content, _ = found(gml("check", "new.csv", "model.json", "--exclude", "dysp", "-f", "json"))
    assert "schema:repeats" not in {check["id"] for check in content["checks"]}


def test_a_model_of_rows_delivered_twice_is_warned_of(gml, folder, sample_data):
    times(folder, 2)
    done = gml("fit-params", "often.csv", sample_data / "asia.dot", "-o", "twice.json")
    assert done.returncode == 0
    assert (
        b"every row occurs a multiple of 2 times: were the data delivered 2 times?" in done.stderr
    )
    # Both sides alike is nothing new.
    report, failing = found(gml("check", "often.csv", "twice.json", "-f", "json"))
    assert failing == []
    assert not any("delivered" in note for note in report["notes"])


def test_rows_that_were_added_again_show_by_their_numbers(gml, tmp_path):
    """As intervals, rows of few columns repeat anyway."""
    rng = np.random.default_rng(8)

    def table(n):
        x = rng.normal(10, 3, n).round(1)
        wind = rng.gamma(3, 2, n).round(1)
        lines = [f"{a},{b},{'wet' if a + b > 16 else 'dry'}" for a, b in zip(x, wind, strict=True)]
        return ["x,wind,sky", *lines]

    graph = "digraph { x -> sky; wind -> sky }"
    (tmp_path / "g.dot").write_text(graph)
    (tmp_path / "train.csv").write_text("\n".join(table(1500)) + "\n")
    gml("fit-params", "train.csv", "g.dot", "--bins", "4", "--accept", "-o", "m.json")
    new = table(800)
    (tmp_path / "new.csv").write_text("\n".join(new) + "\n")
    assert gml("check", "new.csv", "m.json").returncode == 0
    (tmp_path / "more.csv").write_text("\n".join([*new, *new[1:300]]) + "\n")
    _, failing = found(gml("check", "more.csv", "m.json", "-f", "json"))
    assert "schema:copies" in failing
