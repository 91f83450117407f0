"""Which columns are numeric that nobody declares: one rule, whatever supplies the cells."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

import gml
from gml.data.column_tally import ColumnTally
from gml.data.kind_rule import ColumnSeen, SettledKind
from gml.data.options import ReadOptions
from gml.errors import DataError, GmlWarning
from gml.kernel.layout import CODES8, NUMBERS, ColumnSpec, CsvColumn

SPEC = ColumnSpec(CODES8, 255, numbers_on_overflow=True, plain_numbers=True)


def written(tmp_path, cells, *, beside=None, name="t.csv", delimiter=","):
    """Write a column and, beside it, one of two labels."""
    beside = beside or itertools.cycle("pq")
    path = tmp_path / name
    rows = "".join(
        f'"{cell}"{delimiter}{other}\n' for cell, other in zip(cells, beside, strict=False)
    )
    path.write_text(f"x{delimiter}y\n{rows}", encoding="utf-8")
    return path


def is_numeric(data):
    return data.variables[0].is_continuous


def cells(values, times=1):
    return [str(value) for value in values for _ in range(times)]


NUMERIC = {
    "more than a scale has": cells(range(13), 5),
    "negative, signed and in exponents": cells(["-1", "+2", "3e5", ".5", "4.", "1e-05"]),
    "blanks around": [f" {k / 7:.4f} " for k in range(40)],
    "many": cells([k / 3 for k in range(1000)]),
    "many whole ones": cells([7 * k for k in range(500)], 3),
    "few, of which most differ": cells(["1.5", "2", "3", "4"]),
    "missing cells among them": [*cells(range(13), 3), "NA", "", "?"],
    "zero and numbers below one": [*cells(range(13)), "0.25", "0", "-0.5"],
}
CATEGORICAL = {
    "a scale from 0 to 10, and none": cells(range(11), 4),
    "months": cells(range(1, 13), 4),
    "halves that repeat": cells(["0.5", "1", "1.5"], 2),
    "codes": [*(f"{k:04d}" for k in range(20)), *(f"{k:04d}" for k in range(20))],
    "a code after its sign": [*cells(range(20), 2), "-01"],
    "a word": [*cells(range(20), 2), "<5"],
    "infinite": [*cells(range(20), 2), "1e999"],
    "spelt in several ways": [*cells(range(9), 2), *(f"{k}.0" for k in range(9))],
    "hexadecimal": [*cells(range(20), 2), "0x10"],
}


@pytest.mark.parametrize("values", NUMERIC.values(), ids=NUMERIC)
@pytest.mark.filterwarnings("ignore:all labels begin with a blank")
def test_numeric(tmp_path, values):
    path = written(tmp_path, values)
    assert is_numeric(gml.read(path, missing="available"))
    assert not is_numeric(gml.read(path, missing="available", kinds="labels", max_levels=2000))


@pytest.mark.parametrize("values", CATEGORICAL.values(), ids=CATEGORICAL)
@pytest.mark.filterwarnings("ignore:column 'x' is categorical")
def test_categorical(tmp_path, values):
    data = gml.read(written(tmp_path, values), missing="available")
    assert set(data.variables[0].levels) == {*values}


@pytest.mark.parametrize("values", [*NUMERIC.values(), *CATEGORICAL.values()])
@pytest.mark.parametrize("rows", [1, 7, 10_000])
@pytest.mark.filterwarnings("ignore:column 'x' is categorical")
def test_every_way_of_reading_agrees(tmp_path, values, rows):
    path = written(tmp_path, values)
    expected = is_numeric(gml.read(path, missing="available"))
    with gml.open_stream(path, missing="available") as stream:
        assert stream.variables[0].is_continuous is expected
    parts = [values[start : start + rows] for start in range(0, len(values), rows)]
    assert settled([tally_of(part) for part in parts]).is_numeric is expected
    assert settled([tally_of(part) for part in reversed(parts)]).is_numeric is expected


def tally_of(texts):
    """What one of several machines knows of some cells."""
    missing = {"NA", "", "?"}
    labels = list(dict.fromkeys(text for text in texts if text not in missing))
    if len(labels) > 200:
        numbers = [np.nan if text in missing else float(text) for text in texts]
        column = CsvColumn(NUMBERS, [], np.array(numbers))
    else:
        place = {label: code for code, label in enumerate(labels)}
        codes = [255 if text in missing else place[text] for text in texts]
        column = CsvColumn(CODES8, labels, np.array(codes, dtype=np.uint8))
    found = ColumnTally("x", ReadOptions())
    found.see(column, None, None)
    return pickle.loads(pickle.dumps(found))


def settled(tallies) -> SettledKind:
    whole, *others = tallies
    for other in others:
        whole.add(other, SPEC, ".")
    return whole.settled_kind()


def test_counts_are_of_all_rows(tmp_path):
    """Rows that are dropped, or weigh nothing, say what a column is too."""
    path = tmp_path / "t.csv"
    rows = [(k, "" if k == 5 else "x", int(k != 5)) for k in range(13)]
    path.write_text("n,gap,w\n" + "".join(f"{k},{gap},{w}\n" for k, gap, w in rows))
    assert is_numeric(gml.read(path, exclude="w", missing="drop"))
    assert is_numeric(gml.read(path, exclude="gap", weights="w"))


def test_decimal_commas(tmp_path):
    path = written(tmp_path, [f"{k},25" for k in range(13)], delimiter=";")
    with pytest.warns(GmlWarning, match="would be numeric: 'x'; say `decimal=','`"):
        assert not is_numeric(gml.read(path, delimiter=";"))
    assert is_numeric(gml.read(path, delimiter=";", decimal=","))


# ---------------------------------------------------------------------- who speaks before the rule


def test_what_outdoes_the_rule(tmp_path):
    path = written(tmp_path, cells(range(20), 3))
    schema = {"schema": "gml/1", "columns": {"x": {"type": "nominal"}}}
    from gml.data.schema import parse_schema

    assert not is_numeric(gml.read(path, levels=parse_schema(schema, "s.json")))
    assert not is_numeric(gml.read(path, levels={"x": cells(range(20))}))
    assert not is_numeric(gml.read(path, labels="x"))
    assert not is_numeric(gml.read(path, bins=4))
    assert gml.read(path, bins=4, labels="x").variables[0].levels == tuple(cells(range(20)))
    assert not is_numeric(gml.read(path, cut={"x": [10]}))
    assert is_numeric(gml.read(path, kinds="labels", numeric="x"))
    # Neither option switches the rule off for other columns.
    assert is_numeric(gml.read(path, labels="y"))
    assert is_numeric(gml.read(path, numeric="x"))


def test_what_contradicts(tmp_path):
    path = written(tmp_path, cells(range(20), 3))
    with pytest.raises(gml.UsageError, match="`numeric` and `labels` both name 'x'"):
        gml.read(path, numeric="x", labels="x")
    with pytest.raises(gml.UsageError, match="`labels` keeps the labels of 'x', which `cut`"):
        gml.read(path, labels="x", cut={"x": [1, 2]})
    with pytest.raises(gml.UsageError, match="column 'xx' not found"):
        gml.read(path, labels="xx")
    with pytest.raises(gml.UsageError, match="`kinds` must be one of auto, labels, not"):
        gml.read(path, kinds="numbers of some sort")


# ---------------------------------------------------------------------- dates and identifiers


def refusal(tmp_path, values, **reading):
    with pytest.raises(DataError) as refused:
        gml.read(written(tmp_path, values), **reading)
    with pytest.raises(DataError) as streamed, gml.open_stream(tmp_path / "t.csv", **reading):
        pass
    assert str(streamed.value) == str(refused.value)
    return str(refused.value)


def test_identifiers_and_dates_are_refused_from_thirty_rows_on(tmp_path):
    rows = [str(k) for k in range(101, 131)]
    assert (
        "values like an identifier, in column 'x'; leave it out (`exclude=['x']`) or treat it "
        "as numeric (`numeric=['x']`)" in refusal(tmp_path, rows)
    )
    assert is_numeric(gml.read(written(tmp_path, rows[:29])))
    assert is_numeric(gml.read(written(tmp_path, rows), numeric="x"))
    days = [f"2024-01-{k % 28 + 1:02d}" for k in range(40)]
    assert "a date in column 'x'" in refusal(tmp_path, days)
    assert "`labels=['x']`" in refusal(tmp_path, days)
    assert gml.read(written(tmp_path, days), labels="x").variables[0].levels is not None
    assert gml.read(written(tmp_path, days), kinds="labels").variables[0].levels is not None
    numbers = [f"202401{k % 28 + 1:02d}" for k in range(40)]
    assert "`numeric=['x']`" in refusal(tmp_path, numbers)
    names = [f"P-{k}" for k in range(40)]
    assert "`labels=['x']`" in refusal(tmp_path, names)


def test_long_identifiers_are_found_in_streams(tmp_path):
    """Where numbers are read as numbers, after more labels than can be kept."""
    values = [str(100_000 + 7 * k) for k in range(700)]
    assert "identifier" in refusal(tmp_path, values)
    again = [*values, values[0]]
    assert is_numeric(gml.read(written(tmp_path, again)))
    with gml.open_stream(tmp_path / "t.csv") as stream:
        assert stream.variables[0].is_continuous
    for parts in ([values[:350], values[350:]], [values[:1], values[1:]]):
        assert settled([tally_of(part) for part in parts]).refused_as == "identifier"
        assert settled([tally_of(part) for part in [*parts, values[5:6]]]).refused_as is None


def test_all_columns_are_refused_at_once(tmp_path):
    path = tmp_path / "t.csv"
    rows = "".join(f"{k},w{k},2020-02-{k % 27 + 1},{k % 3}\n" for k in range(300))
    path.write_text(f"id,word,day,ok\n{rows}")
    with pytest.raises(DataError, match=r"`exclude=\['id', 'word', 'day'\]`"):
        gml.read(path)


def test_what_can_be_copied_names_all_columns(tmp_path):
    names = [f"id{k}" for k in range(130)]
    rows = "".join(",".join([str(k)] * 130) + f",{'pq'[k % 2]}\n" for k in range(40))
    (tmp_path / "t.csv").write_text(",".join([*names, "y"]) + "\n" + rows)
    with pytest.raises(DataError) as refused:
        gml.read(tmp_path / "t.csv")
    assert f"`exclude={names!r}`" in str(refused.value)
    assert gml.read(tmp_path / "t.csv", exclude=names).names == ("y",)


# ---------------------------------------------------------------------- what is said


def test_whole_numbers_that_hardly_repeat_are_marked(tmp_path):
    seen = ColumnSeen(".")
    values = np.array([*range(10_000, 20_000, 11), 10_011], dtype=float)
    seen.see(CsvColumn(NUMBERS, [], values))
    assert seen.settled(NUMBERS, []).like_identifiers
    seen.see(CsvColumn(NUMBERS, [], values))
    assert not seen.settled(NUMBERS, []).like_identifiers


def test_a_few_words_among_numbers_are_named(tmp_path):
    values = [*cells(range(60), 6), "<5", "<5", "n/d"]
    with pytest.warns(GmlWarning, match=r"column 'x' is categorical.*\(3 of 363: <5, n/d\)"):
        gml.read(written(tmp_path, values))
    with (
        pytest.warns(GmlWarning, match=r"\(3 of 363: <5, n/d\); `na='<5'` `na='n/d'`"),
        gml.open_stream(tmp_path / "t.csv"),
    ):
        pass


def test_provenance_says_which_columns_the_rule_took(tmp_path):
    path = written(tmp_path, cells(range(20, 60), 2))
    found = gml.hc(path)
    assert found.graph.learning["kinds"] == {"numeric": ["x"]}
    assert found.graph.numeric == ("x",)
    assert "kinds" not in gml.hc(path, numeric="x").graph.learning
    assert "kinds" not in gml.hc(path, bins=3).graph.learning
