"""--numeric on the command line: which commands take it, and what they say."""

from __future__ import annotations

import json

import pytest

from gml.cli.main import run

TEXT = "age,sex,pay\n" + "".join(
    f"{20 + 7 * i % 50}.5,{'mf'[i % 3 > 0]},{13 * i % 4}\n" for i in range(40)
)


@pytest.fixture
def data(tmp_path):
    (tmp_path / "d.csv").write_text(TEXT)
    return tmp_path / "d.csv"


@pytest.fixture
def call(capfd):
    """Run a command line in this process; returns what it wrote to both streams."""

    def called(*args, code=0):
        found = run([str(arg) for arg in args])
        out = capfd.readouterr()
        assert found == code, out.err
        return out

    return called


def test_learners_of_labels_name_the_columns(call, data):
    done = call("hc", data, "--numeric", "age", "--bins", "3", "--score", "bdeu", code=3)
    assert "column 'age' is numeric" in done.err
    assert "--bins" in done.err and "--kinds labels" in done.err


def test_numbers_that_are_not_used_do_not_matter(call, data):
    with_numbers = call("indtest", data, "sex", "pay", "--numeric", "age")
    assert with_numbers.out == call("indtest", data, "sex", "pay").out


def test_cut_and_numeric_contradict(call, data):
    done = call("pc", data, "--numeric", "sex,age", "--cut", "age=30,50", code=2)
    assert "--numeric keeps the numbers of 'age', which --cut turns into intervals" in done.err


def test_a_profile_of_numbers_is_read_back(call, data, tmp_path):
    schema = tmp_path / "s.json"
    call("profile", data, "--numeric", "age", "-o", schema)
    age = json.loads(schema.read_text())["columns"]["age"]
    assert (age["type"], age["missing"], age["numbers"]["n"]) == ("numeric", 0, 40)
    assert "levels" not in age
    assert "auto picks dg" in call("pc", data, "--levels", schema).err
    # What is cut is not kept.
    call("pc", data, "--levels", schema, "--cut", "age=quantile:3")


def test_an_unknown_type_is_refused(call, data, tmp_path):
    schema = tmp_path / "s.json"
    schema.write_text('{"schema": "gml/1", "columns": {"age": {"type": "real"}}}')
    done = call("pc", data, "--levels", schema, code=3)
    assert "\"type\" must be one of numeric, nominal, ordinal, not 'real'" in done.err


def test_a_schema_says_what_is_numeric_to_tests_of_numbers(call, data, tmp_path):
    schema = tmp_path / "types.json"
    schema.write_text('{"schema": "gml/1", "columns": {"age": {"type": "numeric"}}}')
    numbers = ("--test", "fisher-z", "-c", "age,pay")
    expected = call("indtest", data, "age", "pay", *numbers)
    assert call("indtest", data, "age", "pay", *numbers, "--levels", schema).out == expected.out
    schema.write_text('{"schema": "gml/1", "columns": {"pay": {"type": "nominal"}}}')
    done = call("indtest", data, "age", "pay", *numbers, "--levels", schema, code=3)
    assert "fisher-z is for numeric columns, and column 'pay' is categorical" in done.err
