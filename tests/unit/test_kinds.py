"""Columns of numbers beside columns of labels: what declares them, and who refuses them."""

from __future__ import annotations

import numpy as np
import pytest

import gml
from gml.data.options import ReadOptions
from gml.data.profile import profile
from gml.data.reading import read_dataset
from gml.data.schema import Schema, parse_schema
from gml.errors import DataError, UsageError
from gml.formats.reports.profiles import FORMATS, as_document

TEXT = "age,sex,pay\n20.5,m,1\n41,f,2\n33,f,3\n70,m,4\n"


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "d.csv"
    found.write_text(TEXT)
    return found


def schema(**columns):
    return parse_schema({"schema": "gml/1", "columns": columns}, "s.json")


def numbers_of(data):
    return [variable.name for variable in data.variables if variable.is_continuous]


def test_labels_unless_said(path):
    assert numbers_of(gml.read(path, kinds="labels")) == []
    data = gml.read(path, numeric="age")
    assert numbers_of(data) == ["age"]
    np.testing.assert_array_equal(data.columns[0], [20.5, 41, 33, 70])
    assert data.columns[0].dtype == np.float64
    assert data.variables[1].levels == ("f", "m")
    assert numbers_of(gml.read(path, numeric=["pay", "age"])) == ["age", "pay"]


def test_a_schema_says_the_type(path):
    declared = schema(age={"type": "numeric"}, sex={"type": "ordinal"}, pay={"type": "nominal"})
    data = gml.read(path, levels=declared)
    assert numbers_of(data) == ["age"]
    assert data.variables[1].levels == ("f", "m")
    ordered = schema(sex={"type": "ordinal", "levels": ["m", "f"]})
    assert gml.read(path, levels=ordered).variables[1].levels == ("m", "f")


def test_what_nobody_declares_can_be_numbers(path):
    declared = schema(sex={"type": "nominal"})
    data = gml.read(path, levels=declared, undeclared="numbers")
    assert numbers_of(data) == ["age", "pay"]
    assert data.variables[1].levels == ("f", "m")
    # Levels alone say no type, as before there were types.
    levels = schema(pay={"levels": ["1", "2", "3", "4"]}, sex={"type": "nominal"})
    assert numbers_of(gml.read(path, levels=levels, undeclared="numbers")) == ["age", "pay"]
    with pytest.raises(DataError, match="line 2: column 'sex': 'm' is not a number"):
        gml.read(path, undeclared="numbers")


def test_numbers_are_not_cut_by_bins(path):
    data = gml.read(path, numeric="age", bins=2)
    assert numbers_of(data) == ["age"]
    assert data.variables[2].levels == ("[-inf,3)", "[3,inf)")


def test_an_option_outdoes_the_schema(path):
    declared = schema(age={"type": "nominal"}, pay={"cuts": [2, 3]})
    assert numbers_of(gml.read(path, levels=declared, numeric=["age", "pay"])) == ["age", "pay"]
    numeric = schema(age={"type": "numeric"})
    assert gml.read(path, levels=numeric, cut={"age": [40]}).variables[0].levels == (
        "[-inf,40)",
        "[40,inf)",
    )


def test_what_contradicts(path):
    with pytest.raises(
        UsageError, match="`numeric` keeps the numbers of 'age', which `cut` turns into intervals"
    ):
        gml.read(path, numeric="age", cut={"age": "quantile:2"})
    with pytest.raises(UsageError, match="column 'agee' not found; did you mean 'age'"):
        gml.read(path, numeric="agee")
    with pytest.raises(UsageError, match="`numeric` must be a name or a list of names, not True"):
        gml.read(path, numeric=True)
    for made in ({"levels": ["1"]}, {"cuts": [1]}):
        with pytest.raises(DataError, match="its type is numeric"):
            schema(age={"type": "numeric", **made})
    for wrong in ("number", "", None, 3, ["numeric"]):
        with pytest.raises(DataError, match='"type" must be one of numeric, nominal, ordinal, not'):
            schema(age={"type": wrong})


def test_only_labels_have_a_level_for_missing_cells(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("a,b,c,d\n1,x,1,2\n,y,2,3\n3,,3,4\n4,x,,5\n")
    with pytest.raises(
        DataError,
        match=r"`missing='level'` is for categorical columns, and 'a', 'c' are.*`missing='drop'`",
    ):
        gml.read(path, numeric=["a", "c", "d"], missing="level")
    data = gml.read(path, columns=["b", "d"], numeric="d", missing="level")
    assert data.variables[0].levels == ("x", "y", "NA")
    assert numbers_of(data) == ["d"]
    available = gml.read(path, numeric="a", missing="available")
    np.testing.assert_array_equal(available.columns[0], [1, np.nan, 3, 4])


def test_parquet_holds_labels_unless_said(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "d.parquet"
    pq.write_table(pa.table({"x": [1.5, 2.5], "y": ["a", "b"], "z": [1, 2]}), path)
    assert numbers_of(gml.read(path, kinds="labels")) == []
    data = gml.read(path, kinds="labels", numeric="x")
    assert numbers_of(data) == ["x"]
    assert data.variables[2].levels == ("1", "2")


def test_a_profile_keeps_types(path):
    options = ReadOptions(numeric=("age",), levels=Schema(kinds={"sex": "ordinal"}))
    found = profile(read_dataset(path, options), options)
    document = as_document(found)
    age = document["columns"]["age"]
    assert {key: age[key] for key in ("type", "missing", "rate")} == {
        "type": "numeric", "missing": 0, "rate": 0.0,
    }  # fmt: skip
    assert "levels" not in age
    assert age["numbers"]["n"] == age["distinct"] == 4
    assert document["columns"]["sex"]["type"] == "ordinal"
    assert "type" not in document["columns"]["pay"]
    line = FORMATS["text"](found).splitlines()[1].split()
    assert line[:4] == ["age", "numbers", "numbers", "-"]
    assert line[-3:] == ["4", "0", "0"]
    again = parse_schema(document, "s.json")
    assert again.kinds == {"age": "numeric", "sex": "ordinal"}
    data = read_dataset(path, ReadOptions(levels=again))
    assert data.variables == read_dataset(path, options).variables


def test_tables_of_numbers_are_refused_by_name(path):
    counter = gml.MemoryCounter(gml.read(path, numeric=["age", "pay"]))
    with pytest.raises(
        DataError, match=r"columns 'age', 'pay' are numeric; .*`bins=4`.*`kinds='labels'`"
    ):
        list(counter.tables([gml.TableSet((0, 1, 2))]))
    sums = gml.count_sets(gml.MemoryCounter(gml.read(path, numeric="age")), [("sex", "age")])
    with pytest.raises(DataError, match="column 'age' is numeric"):
        list(gml.CountFileCounter(sums).tables([gml.TableSet((0, 1))]))
