"""gml profile refuses no column of a table that can be read."""

from __future__ import annotations

import csv
import io
import json
import random

import pandas as pd
import pytest

import gml as library
from gml.data.options import ReadOptions
from gml.data.reading import read_dataset
from gml.data.schema import parse_schema
from tests.command_line import printed_json

N_ROWS = 70_000


def odd_table():
    """Columns that cannot be levels, by name, and one that can."""
    rng = random.Random(0)
    days = [f"20{y:02d}-{m:02d}-{d:02d}" for y in range(20) for m in range(1, 13) for d in (1, 28)]
    return {
        "id": [f"u{i:06d}" for i in range(N_ROWS)],
        "number": [100_000 + i for i in range(N_ROWS)],
        "day": [days[i % len(days)] for i in range(N_ROWS)],
        "stamp": [f"2024-01-01 {i // 3600 % 24:02d}:{i // 60 % 60:02d}:{i % 60:02d}.{i}" for i in range(N_ROWS)],
        "income": [round(rng.lognormvariate(10, 1), 2) for _ in range(N_ROWS)],
        "comment": [f"said so {i // 2}" for i in range(N_ROWS)],
        "late": [i if i < N_ROWS - 1 else "x" for i in range(N_ROWS)],
        "gaps": ["" if i % 4 else f"v{i}" for i in range(N_ROWS)],
        "none": [""] * N_ROWS,
        "size": [rng.choice(["S", "M", "L"]) for _ in range(N_ROWS)],
    }  # fmt: skip


EXPECTED = {
    "id": ("identifier", N_ROWS, "more than 65535 levels; leave it out", None),
    "number": ("identifier", N_ROWS, "an identifier; leave it out, or say what it is", None),
    "day": ("date", 480, "more than 255 levels", {"max_levels": 480}),
    "stamp": ("date", N_ROWS, "more than 65535 levels; leave it out", None),
    "income": ("numbers", None, None, None),
    "comment": ("text", N_ROWS // 2, "more than 255 levels", {"max_levels": N_ROWS // 2}),
    "late": ("identifier", N_ROWS, "more than 65535 levels; leave it out", None),
    "gaps": ("identifier", N_ROWS // 4, "more than 255 levels", {"max_levels": N_ROWS // 4}),
    "none": ("empty", 0, None, None),
    "size": ("labels", 3, None, None),
}


@pytest.fixture(scope="module")
def table():
    return odd_table()


def written(table, names=None):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names or table)
    writer.writerows(zip(*table.values(), strict=True))
    return out.getvalue()


def looks(document):
    return {
        name: (found["guess"], found["distinct"], found.get("why"), found.get("option"))
        for name, found in document["columns"].items()
    }


def test_every_column_has_a_line(gml, tmp_path, table):
    text = written(table)
    (tmp_path / "d.csv").write_text(text)
    done = gml("profile", "d.csv", "-f", "json")
    told = f"numeric by its values: 'income' ({N_ROWS} numbers from {min(table['income'])} to "
    told += f"{max(table['income'])}); --kinds labels treats values as categories\n"
    assert (done.returncode, done.stderr.decode()) == (0, f"gml: 1 column is {told}")
    content = json.loads(done.stdout)
    incomes = len(set(table["income"]))
    expected = {**EXPECTED, "income": ("numbers", incomes, None, None)}
    assert looks(content) == expected
    assert content["columns"]["income"]["type"] == "numeric"
    assert content["columns"]["gaps"]["missing"] == N_ROWS - N_ROWS // 4
    assert content["columns"]["none"]["levels"] == []
    assert content["columns"]["id"]["levels"] is None
    # What comes through a pipe is the same, and so are rows in another order.
    assert gml("profile", "-", "-f", "json", stdin=text.encode()).stdout == done.stdout
    header, *rows = text.splitlines()
    random.Random(1).shuffle(rows)
    (tmp_path / "e.csv").write_text("\n".join([header, *rows]) + "\n")
    shuffled = json.loads(gml("profile", "e.csv", "-f", "json").stdout)
    assert shuffled["columns"] == content["columns"]
    lines = gml("profile", "d.csv").stdout.decode().splitlines()
    assert [line.split()[0] for line in lines] == ["column", *table]
    assert "not in the schema: an identifier; leave it out, or say what it is" in lines[2]
    # As labels, numbers are too many.
    many = ("more than 255 different numbers", {"bins": 5})
    expected["income"] = ("numbers", incomes, *many)
    expected["number"] = ("identifier", N_ROWS, *many)
    labels = gml("profile", "d.csv", "--kinds", "labels", "-f", "json")
    assert looks(printed_json(labels)) == expected
    lines = gml("profile", "d.csv", "--kinds", "labels").stdout.decode().splitlines()
    assert "not in the schema: more than 255 different numbers (--bins 5)" in lines[2]
    # Each option named makes a column of the schema.
    options = ("--bins", "5", "--max-levels", "480")
    again = json.loads(gml("profile", "d.csv", *options, "-f", "json").stdout)["columns"]
    assert "cuts" in again["income"]
    assert "cuts" in again["number"]
    assert len(again["day"]["levels"]) == 480


def test_parquet_and_frames_have_the_same(tmp_path, table):
    frame = pd.DataFrame(table)
    frame["late"] = frame["late"].astype(str)
    (tmp_path / "d.csv").write_text(written(table))
    frame.to_parquet(tmp_path / "d.parquet")
    by_text = library.profile(tmp_path / "d.csv").columns
    assert library.profile(frame).columns == by_text
    assert library.profile(tmp_path / "d.parquet").columns == by_text


def test_weights_of_columns_without_levels(gml, tmp_path, table):
    chosen = {name: table[name] for name in ("id", "income", "gaps", "size")}
    weights = [i % 3 for i in range(N_ROWS)]
    (tmp_path / "w.csv").write_text(written({**chosen, "w": weights}))
    expanded = {
        name: [v for v, w in zip(values, weights, strict=True) for _ in range(w)]
        for name, values in chosen.items()
    }
    (tmp_path / "d.csv").write_text(written(expanded))
    weighted = json.loads(gml("profile", "w.csv", "--weights", "w", "-f", "json").stdout)
    plain = json.loads(gml("profile", "d.csv", "-f", "json").stdout)
    for key in ("missing", "rate", "distinct", "numbers"):
        assert {n: c.get(key) for n, c in weighted["columns"].items()} == {
            n: c.get(key) for n, c in plain["columns"].items()
        }
    assert weighted["rows"] == plain["rows"]


def test_names_that_are_empty_or_repeated(gml, tmp_path):
    (tmp_path / "d.csv").write_text("a,b,a,,\n1,x,2,,u\n1,y,3,,v\n")
    content = json.loads(gml("profile", "d.csv", "-f", "json").stdout)
    assert list(content["columns"]) == ["b"]
    assert [(c["position"], c["name"], c["distinct"]) for c in content["others"]] == [
        (1, "a", 1), (3, "a", 2), (4, "", 0), (5, "", 2),
    ]  # fmt: skip
    lines = gml("profile", "d.csv").stdout.decode().splitlines()
    assert len(lines) == 6
    assert "its name occurs more than once; rename it in the header" in lines[1]
    assert "its name is empty; name it in the header" in lines[4]
    assert json.loads(gml("profile", "d.csv", "-c", "a", "-f", "json").stdout)["columns"] == {}
    assert list(
        json.loads(gml("profile", "d.csv", "--exclude", 'a,""', "-f", "json").stdout)["columns"]
    ) == ["b"]


def test_the_file_is_a_schema_still(gml, tmp_path, table):
    chosen = {name: table[name] for name in ("id", "income", "none", "size")}
    (tmp_path / "d.csv").write_text(written(chosen, ["id", "income", "none", "size"]))
    assert gml("profile", "d.csv", "-o", "s.json").returncode == 0
    schema = parse_schema(json.loads((tmp_path / "s.json").read_text()), "s")
    assert schema.levels == {"size": ("L", "M", "S")}
    assert schema.missing == {"id": 0, "income": 0, "none": N_ROWS, "size": 0}
    options = ReadOptions(columns=("size", "none"), levels=schema, missing="available")
    assert read_dataset(tmp_path / "d.csv", options).n == N_ROWS
    assert gml("verify", "s.json", "--input", "d.csv").returncode == 0


def test_nested_columns_of_parquet(tmp_path):
    frame = pd.DataFrame({"list": [[1], [2, 3]], "x": ["a", "b"]})
    frame.to_parquet(tmp_path / "d.parquet")
    nested, x = library.profile(tmp_path / "d.parquet").columns
    assert (nested.guess, nested.missing, nested.why) == (
        "nested", None, "lists and structures are not labels",
    )  # fmt: skip
    assert x.levels == ("a", "b")


def test_blanks_are_seen(gml, tmp_path):
    (tmp_path / "d.csv").write_text("a\n1\n 1\n2\n")
    done = gml("profile", "d.csv")
    assert b"' 1', 1, 2" in done.stdout
    assert b"column 'a' has ' 1' and '1'" in done.stderr
    assert b"' 1', 1, 2" in gml("profile", "d.csv", "-f", "markdown", "-q").stdout


def test_many_columns_that_are_not_numbers_after_all(tmp_path):
    """However often reading starts again, the facts are the same."""
    n = 400
    table = {f"c{k}": [*range(n - k - 1), *["x"] * (k + 1)] for k in range(6)}
    table["x"] = [round(i * 1.5, 1) for i in range(n)]
    (tmp_path / "d.csv").write_text(written(table))
    by_text = library.profile(tmp_path / "d.csv").columns
    assert by_text == library.profile(pd.DataFrame(table).astype(str)).columns
    assert [column.guess for column in by_text] == ["identifier"] * 6 + ["numbers"]
    assert by_text[6].numbers["max"] == 598.5
    assert by_text[5].distinct == n - 5


@pytest.mark.parametrize(
    "values,guess",
    [
        ([20240101 + i % 28 for i in range(60)], "date"),
        ([f"{1 + i % 28}.{1 + i % 12}.2024 1{i % 10}:00" for i in range(60)], "date"),
        ([1_000_000 + 997 * i * i for i in range(60)], "identifier"),
        ([f"ab-{i}" for i in range(60)], "identifier"),
        ([f"ab-{i}" for i in range(20)], "labels"),
        ([f"it was {i}" for i in range(60)], "text"),
        ([10 * i * i for i in range(60)], "numbers"),
        ([i / 2 for i in range(60)], "numbers"),
        ([i % 2 for i in range(60)], "numbers"),
        (["yes", "no"] * 30, "labels"),
        (["", "NA"] * 30, "empty"),
    ],
)
def test_guesses(tmp_path, values, guess):
    (tmp_path / "d.csv").write_text(written({"a": values, "b": ["x"] * len(values)}))
    assert library.profile(tmp_path / "d.csv").columns[0].guess == guess
