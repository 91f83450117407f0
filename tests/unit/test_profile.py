"""A profile is a schema that reads the same data the same way again."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gml
from gml.data.options import DEFAULT_NA, ReadOptions
from gml.data.profile import profile, profile_table
from gml.data.reading import read_dataset
from gml.data.schema import parse_schema
from gml.errors import DataError
from gml.formats.content_hash import is_changed
from gml.formats.reports.profiles import FORMATS

LABELS = st.sampled_from(
    ["a", "b", "1", "01", "10", "1.0", "-3", "x,y", 'q"', " p", "NAN", "[0,1)"]
)
NUMBERS = st.one_of(
    st.integers(-5, 20).map(str),
    st.floats(-1e3, 1e3, allow_nan=False).map(repr),
    st.sampled_from(["-0.0", "1e-7", "1e9", "0", "3.50"]),
)
GAPS = st.sampled_from(["", "NA", "?", " nan "])
OPTIONS = st.sampled_from(
    [
        {},
        {"bins": 2},
        {"bins": 3, "discretize": "width"},
        {"bins": 5},
        {"bins": 4, "discretize": "width"},
        {"weights": "w"},
        {"weights_fractional": "w", "bins": 3},
        {"weights": "w", "bins": 3},
        {"cut": {"n": gml.data.discretize.Binning("width", 6)}},
        {"cut": {"n": gml.data.discretize.Binning("quantile", 4)}},
        {"cut": {"n": gml.data.discretize.Binning("cuts", cuts=(-0.5, 0.0, 1e-7, 7.0))}},
        {"na": ("a", "?", "", "nan", "NA")},
    ]
)


def written(rows):
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["k", "n", "w"])
    writer.writerows(rows)
    return text.getvalue()


def profiled(path, **options):
    chosen = ReadOptions(missing="available", **options)
    data = read_dataset(path, chosen)
    return data, profile(data, chosen)


@pytest.mark.filterwarnings("ignore::gml.errors.GmlWarning")
@given(
    st.lists(
        st.tuples(LABELS | GAPS, NUMBERS | GAPS, st.integers(0, 3).map(str)),
        min_size=1,
        max_size=30,
    ),
    OPTIONS,
)
def test_read_again_by_its_own_profile(tmp_path_factory, rows, options):
    path = tmp_path_factory.mktemp("p") / "d.csv"
    path.write_text(written([*rows, ("a", "1", "1")]))
    data, found = profiled(path, **options)
    document = json.loads(FORMATS["json"](found))
    assert not is_changed(document)
    schema = parse_schema(document, "s")
    same = {key: options[key] for key in options if key.startswith("weights")}
    again = read_dataset(path, ReadOptions(missing="available", levels=schema, **same))
    assert again.variables == data.variables
    for a, b in zip(again.columns, data.columns, strict=True):
        assert a.dtype == b.dtype
        assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    # Levels, counts and gaps are those of the data, and a profile of the profile is the same.
    for variable, column in zip(data.variables, found.columns, strict=True):
        if variable.is_continuous:
            assert column.type == "numeric" and not column.counts
        else:
            assert len(column.counts) == len(variable.levels)
            assert sum(column.counts) + column.missing == pytest.approx(found.rows)
        assert schema.missing[variable.name] == column.missing
        assert column.rate == pytest.approx(column.missing / found.rows)
    assert schema.rows == found.rows
    _, twice = profiled(path, levels=schema, **same)
    assert [(c.cuts, c.levels, c.counts) for c in twice.columns] == [
        (c.cuts, c.levels, c.counts) for c in found.columns
    ]
    assert twice.na == found.na


def test_what_a_profile_says(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("A,B,C,D\nb,10,1.5,\na,9,2.5,\n,9,3.5,?\nb,x,7,\n")
    options = {"cut": {"C": gml.data.discretize.Binning("quantile", 2)}}
    found = profile_table(path, ReadOptions(missing="available", **options))
    written = json.loads(FORMATS["json"](found))["columns"]
    # Over 3 rows with A and 4 with B: H(A) + 1/6 + H(B) + 1/4 before, I(C;A) + I(C;B) after.
    of_a, of_b = math.log(3) - 2 / 3 * math.log(2), 1.5 * math.log(2)
    before, after = of_a + of_b + 5 / 12, 2 * of_a - math.log(3) + of_b - math.log(2)
    lost = 1 - after / before
    information = written["C"].pop("information")
    assert information == pytest.approx({"before": before, "after": after, "lost": lost})
    assert written == {
        "A": {"guess": "labels", "levels": ["a", "b"], "order": "codepoint", "counts": [1, 2], "distinct": 2,
              "missing": 1, "rate": 0.25},
        "B": {"guess": "labels", "levels": ["10", "9", "x"], "order": "codepoint", "counts": [1, 2, 1],
              "distinct": 3, "missing": 0, "rate": 0.0},
        "C": {"guess": "numbers", "cuts": [3.5], "counts": [2, 2], "distinct": 4, "missing": 0, "rate": 0.0,
              "numbers": {"n": 4, "min": 1.5, "max": 7, "counts": [0, 0, 1, 1, 1, 0, 0, 1], "distinct": 4,
                          "quantiles": {"0.01": 1.5, "0.05": 1.5, "0.25": 2.5, "0.5": 3.5, "0.75": 7, "0.95": 7, "0.99": 7}}},
        "D": {"guess": "empty", "levels": [], "distinct": 0, "missing": 4, "rate": 1.0},
    }  # fmt: skip
    assert found.na == DEFAULT_NA
    assert FORMATS["text"](found) == (
        "column  guess    kind    order      values    distinct  missing  rate      lost\n"
        "A       labels   levels  codepoint  a, b             2        1  0.25         -\n"
        "B       labels   levels  codepoint  10, 9, x         3        0     0         -\n"
        f"C       numbers  cuts    -          3.5              4        0     0  {lost:.6g}\n"
        "D       empty    -       -          -                0        4     1         -\n"
    )


def test_declared_levels_stay_and_new_ones_are_refused(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("A,B\nlow,1\nhigh,2\n")
    content = {"schema": "gml/1", "columns": {"A": {"levels": ["low", "mid", "high"]}}, "na": ["-"]}
    _, found = profiled(path, levels=parse_schema(content, "s"))
    assert found.columns[0].levels == ("low", "mid", "high")
    assert found.columns[0].order == "declared"
    assert found.columns[0].counts == (1, 0, 1)
    assert found.columns[1].order == "numeric"
    assert found.na == ("-",)
    schema = parse_schema(json.loads(FORMATS["json"](found)), "s")
    (tmp_path / "e.csv").write_text("A,B\nlow,1\nhigh,3\n")
    with pytest.raises(DataError, match="level '3' not found"):
        read_dataset(tmp_path / "e.csv", ReadOptions(levels=schema))


def test_intervals_without_rows_stay_away(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("A\n0\n0.1\n0.2\n0.3\n10\n")
    _, found = profiled(path, bins=4, discretize="width")
    (column,) = found.columns
    assert column.cuts is None
    assert column.levels == ("[-inf,2.5)", "[7.5,inf)")
    schema = parse_schema(json.loads(FORMATS["json"](found)), "s")
    assert schema.intervals == {"A": column.levels}
    new = tmp_path / "new.csv"
    new.write_text('A\n-1\n9\n"[7.5,inf)"\n')
    data = read_dataset(new, ReadOptions(levels=schema))
    assert data.variables[0].levels == column.levels
    assert data.columns[0].tolist() == [0, 1, 1]
    new.write_text("A\n3\n")
    with pytest.raises(DataError, match="'3' not found"):
        read_dataset(new, ReadOptions(levels=schema))


@pytest.mark.parametrize(
    "content,message",
    [
        ({"rows": -1}, '"rows" is not a count'),
        ({"rows": True}, '"rows" is not a count'),
        ({"rows": "3"}, '"rows" is not a count'),
        ({"rows": float("inf")}, '"rows" is not a count'),
        ({"columns": {"A": {"missing": None}}}, "\"missing\" is not a count"),
        pytest.param({"rows": 2, "columns": {"A": {"missing": 3}}}, '"missing" is more than the number of rows', id='content5-"missing" is more than the rows'),
    ],
)  # fmt: skip
def test_counts_are_checked(content, message):
    with pytest.raises(DataError, match=message):
        parse_schema({"schema": "gml/1", **content}, "s")


def test_a_schema_need_not_have_counts():
    schema = parse_schema({"schema": "gml/1", "columns": {"A": {"levels": ["x"]}}}, "s")
    assert (schema.rows, schema.missing) == (None, {})


@pytest.mark.parametrize(
    "reading",
    [
        {"kinds": "labels"},
        {"bins": 4},
        {"bins": 4, "weights": "w"},
        {"cut": {"n": "2,5"}, "na": "?", "kinds": "labels"},
    ],
    ids=["labels", "bins", "weights", "cut"],
)
def test_a_dataset_says_of_its_numbers_what_its_file_does(tmp_path, reading):
    rng = np.random.default_rng(3)
    lines = [f"{k};{rng.normal(4, 2):.1f};{k % 3}".replace(".", ",") for k in range(60)]
    lines[7] = "7;?;1" if "na" in reading else "7;NA;1"
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["id;n;w", *lines]))
    reading = {"delimiter": ";", "decimal": ",", **reading}
    by_file = gml.profile(path, **reading)
    # A dataset no longer knows which number each row had, and so not what cutting has lost.
    known = [replace(column, information=None) for column in by_file.columns]
    found = gml.profile(gml.read(path, missing="available", **reading))
    assert found == replace(by_file, columns=tuple(known))
    assert [column.guess for column in found.columns[:2]] == ["identifier", "numbers"]


def test_of_rows_that_were_chosen_numbers_are_not_known(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("n\n" + "\n".join(map(str, range(40))))
    data = gml.read(path, bins=4)
    (column,) = gml.profile(data.rows(np.arange(40) < 30)).columns
    assert (column.guess, column.distinct, column.numbers) == ("numbers", None, None)
