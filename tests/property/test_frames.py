"""A frame is read as the CSV file that pandas writes of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gml
from gml.data.dataset import Dataset
from gml.errors import GmlError

TEXTS = st.sampled_from(
    ["a", "b", " p", "1", "01", "1.0", "-3", "x,y", 'q"', "NA", "", "?", " nan ", "None", "two\nlines", "é"]
)  # fmt: skip
MIXED = st.one_of(TEXTS, st.booleans(), st.integers(-3, 3), st.floats(-2, 2), st.none())
FLOATS = st.one_of(
    st.floats(-1e3, 1e3),
    st.floats(allow_nan=True, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 1.0, 0.1, 1e16, 1e-5, -999.0]),
)
WIDE = st.floats(-1e6, 1e6, width=32)
INTEGERS = st.one_of(st.integers(-5, 5), st.integers(-(2**63), 2**63 - 1))
READING = st.sampled_from(
    [
        {},
        {"bins": 2},
        {"bins": 3, "discretize": "width", "numeric": "float"},
        {"cut": {"int": "quantile:3"}, "bins": 4},
        {"cut": {"float": [-1, 0, 2.5]}},
        {"numeric": ["int", "float", "single"]},
        {"numeric": "int", "na": ["-3", "1.0", "", "1"]},
        {"na": ["", "a", "True", "-999.0", "0.0"]},
        {"weights": "w"},
        {"weights_fractional": "w", "bins": 2},
        {"columns": ["mixed", "flag", "nullable"]},
        {"exclude": "mixed", "max_levels": 3},
        {"levels": {"text": ["b", "a", "never", "NA"]}},
        {"levels": {"int": ["[-inf,0)", "[0,inf)"]}},
        {"numeric": "text"},
        {"undeclared": "numbers", "exclude": ["text", "mixed", "flag"]},
    ]
)
MISSING = st.sampled_from(["error", "drop", "level", "available"])


def frames(rows):
    columns = list(zip(*rows, strict=True))
    return pd.DataFrame(
        {
            "text": pd.Series(columns[0], dtype=object),
            "mixed": pd.Series(columns[1], dtype=object),
            "float": pd.Series(columns[2], dtype=np.float64),
            "single": pd.Series(columns[3], dtype=np.float32),
            "int": pd.Series(columns[4], dtype=np.int64),
            "flag": pd.Series(columns[5], dtype=bool),
            "nullable": pd.Series(columns[6], dtype="Int64"),
            "w": pd.Series(columns[7], dtype=np.int64),
        }
    )


ROWS = st.lists(
    st.tuples(TEXTS, MIXED, FLOATS, WIDE, INTEGERS, st.booleans(), st.integers(0, 9) | st.none(), st.integers(0, 3)),
    min_size=1,
    max_size=20,
)  # fmt: skip


def outcome(read):
    """The dataset, or what kind of error there was."""
    try:
        return read()
    except GmlError as error:
        return type(error)


@pytest.mark.filterwarnings("ignore::gml.errors.GmlWarning")
@given(ROWS, READING, MISSING)
def test_a_frame_is_the_file_it_would_be(tmp_path_factory, rows, reading, missing):
    frame = frames(rows)
    path = tmp_path_factory.mktemp("f") / "d.csv"
    frame.to_csv(path, index=False)
    expected = outcome(lambda: gml.read(path, missing=missing, **reading))
    found = outcome(lambda: gml.read(frame, missing=missing, **reading))
    if not isinstance(expected, Dataset):
        assert found is expected
        return
    assert found.variables == expected.variables
    for one, other in zip(found.columns, expected.columns, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(found.weights, expected.weights)
    assert (found.unit, found.origin) == (expected.unit, expected.origin)


@given(
    st.lists(st.integers(-1, 3), min_size=1, max_size=20),
    st.permutations(["lo", "NA", "10", "9"]),
    st.booleans(),
)
def test_categories_are_declared_levels(tmp_path_factory, codes, categories, ordered):
    values = pd.Categorical.from_codes(codes, categories=categories, ordered=ordered)
    frame = pd.DataFrame({"A": values, "B": 1})
    data = gml.Dataset.from_frame(frame, missing="available")
    assert data.variables[0].levels == tuple(categories)
    assert data.columns[0].tolist() == [code % 256 for code in codes]
    # A category is a label, whatever else is taken for numbers.
    labels = gml.read(frame, missing="available", undeclared="numbers")
    assert [variable.is_continuous for variable in labels.variables] == [False, True]
