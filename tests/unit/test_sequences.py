"""Reading tables of sequences: identifiers, words, what is missing, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from gml.data.options import ReadOptions, reading_options
from gml.data.sequences import codes_in_order, read_sequences
from gml.errors import CannotAnswer, DataError, UsageError
from gml.kernel import reference
from gml.resources import limited_to

PLAIN = ReadOptions()
TABLE = "id,word,tag\nb,x,N\na,y,V\nb,z,N\na,x,N\nc,y,V\n"


def read(data, options=PLAIN, **more):
    return read_sequences(data, options, **{"sequence": "id", "target": "tag", **more})


@pytest.fixture
def table(tmp_path):
    def write(text=TABLE, name="table.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def words_of(rows, name="word"):
    """The levels of an input, sequence by sequence."""
    levels = rows.inputs.variables[rows.inputs.index(name)].levels
    found = [levels[k] if k >= 0 else None for k in codes_in_order(rows, name)]
    return {
        identifier: found[start:end]
        for identifier, start, end in zip(rows.names, rows.starts, rows.starts[1:], strict=False)
    }


def test_rows_of_an_identifier_are_a_sequence_in_the_order_of_the_file(table):
    rows = read(table())
    assert words_of(rows) == {"a": ["y", "x"], "b": ["x", "z"], "c": ["y"]}
    assert rows.order.tolist() == [1, 3, 0, 2, 4]
    assert rows.target.levels == ("N", "V")
    assert rows.labels.tolist() == [0, 1, 0, 0, 1]
    assert rows.inputs.names == ("word",)


def test_columns_that_are_chosen_need_not_name_the_sequence_and_the_target(table):
    text = "id,word,tag,more\n1,x,N,p\n1,y,V,q\n"
    assert read(table(text), replace(PLAIN, columns=("more",))).inputs.names == ("more",)
    assert read(table(text), replace(PLAIN, exclude=("more",))).inputs.names == ("word",)


@pytest.fixture(scope="module")
def many():
    """More identifiers and more words than columns have levels, and cells without a word."""
    n = 66_000
    words = [None if k % 7 == 0 and k < 300 else f"w{k}" for k in range(n)]
    return pd.DataFrame(
        {"id": [n - k for k in range(n)], "word": words, "tag": ["a", "b"] * (n // 2)}
    )


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_identifiers_and_words_may_be_any_number(many, kind, tmp_path):
    data = many
    if kind == "csv":
        data = tmp_path / "many.csv"
        many.to_csv(data, index=False)
    if kind == "parquet":
        data = tmp_path / "many.parquet"
        many.to_parquet(data)
    rows = read(data, replace(PLAIN, missing="level"))
    # Identifiers that are numbers are in the order of numbers.
    assert rows.names[:3] == ("1", "2", "3")
    assert rows.order.tolist() == list(range(len(many)))[::-1]
    variable, column = rows.inputs.variables[0], rows.inputs.columns[0]
    assert column.dtype == np.uint32
    found = [variable.levels[code] for code in column[:400].tolist()]
    assert found == many["word"][:400].fillna("NA").tolist()
    assert variable.levels[column[-1]] == "w65999"


def test_the_reference_reads_as_many_labels(many, tmp_path, monkeypatch):
    path = tmp_path / "many.csv"
    many.to_csv(path, index=False)
    wanted = read(path, replace(PLAIN, missing="available"))
    monkeypatch.setattr("gml.kernel._loaded", reference)
    found = read(path, replace(PLAIN, missing="available"))
    assert np.array_equal(found.order, wanted.order)
    assert found.inputs.variables == wanted.inputs.variables
    assert np.array_equal(found.inputs.columns[0], wanted.inputs.columns[0])


def test_words_without_room_are_refused(many):
    with (
        limited_to(1 << 20),
        pytest.raises(CannotAnswer, match="'id': more than 65535 .* `max_memory`"),
    ):
        read(many)


def test_numbers_want_to_be_cut_and_identifiers_never_are(table):
    rows = "".join(f"{k % 40},{k},{'ab'[k % 2]}\n" for k in range(400))
    path = table("id,word,tag\n" + rows)
    with pytest.raises(
        DataError, match="more than 255 levels, like an identifier, in column 'word'"
    ):
        read(path, reading_options(kinds="labels"))
    assert read(path).inputs.variables[0].is_continuous
    cut = read(path, reading_options(bins=4))
    assert len(cut.inputs.variables[0].levels) == 4
    assert cut.n_sequences == 40
    assert read(path, reading_options(max_levels=400, kinds="labels")).inputs.variables[0].levels[
        :2
    ] == ("0", "1")


def test_a_target_has_no_more_levels_than_others(table):
    rows = "".join(f"1,x,t{k}\n" for k in range(300))
    with pytest.raises(
        DataError, match="more than 255 levels, like an identifier, in column 'tag'"
    ):
        read(table("id,word,tag\n" + rows))


def test_what_a_schema_says_of_the_identifier_does_not_matter(table):
    options = reading_options(levels={"id": ["a"], "word": ["z", "y", "x"]})
    rows = read(table(), options)
    assert rows.names == ("a", "b", "c")
    assert rows.inputs.variables[0].levels == ("z", "y", "x")


def test_missing_inputs(table):
    path = table("id,word,tag\n1,,N\n1,y,V\n")
    with pytest.raises(DataError, match="missing values: 'word' 1; choose"):
        read(path)
    as_level = read(path, replace(PLAIN, missing="level"))
    assert words_of(as_level) == {"1": ["NA", "y"]}
    silent = read(path, replace(PLAIN, missing="available"))
    assert words_of(silent) == {"1": [None, "y"]}
    with pytest.raises(UsageError, match="neighbours of rows that are not"):
        read(path, replace(PLAIN, missing="drop"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,word,tag\n1,x,N\n1,y,\n2,x,NA\n", "line 3: no label to learn from: column 'tag' is missing there, nor in 1 row more"),
        ("id,word,tag\n1,x,N\n,y,V\n", "line 3: no sequence: column 'id' is missing there;"),
        ("id,word,tag\n1,x,N\n2,y,N\n", "column 'tag' has no variation: every row has 'N'"),
        ('id,word,tag\n1,"x\nx",N\n1,y,\n', "data row 2: no label"),
    ],
)  # fmt: skip
def test_rows_that_nothing_can_be_learned_from_are_named(table, text, message):
    with pytest.raises(DataError) as caught:
        read(table(text))
    assert message in str(caught.value)


def test_rows_to_predict_need_no_target(table):
    rows = read(table("id,word\n1,x\n1,y\n"), is_training=False, inputs=["word"])
    assert rows.target is None
    assert rows.labels.tolist() == [-1, -1]
    known = read(table("id,word,tag\n1,x,\n1,y,V\n"), is_training=False)
    assert known.labels.tolist() == [-1, 0]
    with pytest.raises(DataError, match="no column 'shape', which the model uses"):
        read(table(), is_training=False, inputs=["word", "shape"])


@pytest.mark.parametrize(
    ("options", "more", "message"),
    [
        ({}, {"sequence": "idd"}, "sequence column 'idd' not found; did you mean 'id'"),
        ({}, {"target": "tags"}, "target column 'tags' not found"),
        ({}, {"target": "id"}, "'id' cannot be both"),
        ({"weights": "word"}, {}, "rows of a sequence all count once"),
        ({"numeric": ["id"]}, {}, "tells sequences apart"),
    ],
)
def test_what_contradicts_itself_is_refused(table, options, more, message):
    path = table("id,word,tag\n1,1,1\n1,2,2\n")
    with pytest.raises(UsageError) as caught:
        read(path, reading_options(**options), **more)
    assert message in str(caught.value)


def test_a_table_without_rows(table):
    with pytest.raises(CannotAnswer, match="has a header, but no rows"):
        read(table("id,word,tag\n"))


def test_the_target_must_be_categorical(table):
    path = table("id,word,tag\n1,1,1\n1,2,2\n")
    with pytest.raises(DataError, match="categorical columns, and column 'tag' is numeric"):
        read(path, reading_options(numeric=["tag"]))
    assert read(path, reading_options(numeric=["word"])).inputs.variables[0].is_continuous
