"""The mutual information of every two columns."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import gml
from gml.independence.mutual_information import mutual_information

ASIA = "sample_data/asia.csv"


def matrix(frame, **reading):
    return mutual_information(gml.MemoryCounter(gml.read(frame, **reading)))


def test_it_is_that_of_the_edges_of_a_tree():
    found = matrix(ASIA)
    tree = gml.chow_liu(ASIA).graph
    for edge in tree.edges:
        assert found[tree.pair(edge)] == edge.attributes["mi"]
    np.testing.assert_array_equal(found, found.T)
    assert not found.diagonal().any()


def test_it_is_the_definition():
    frame = pd.read_csv(ASIA, dtype=str)
    found = matrix(ASIA)
    i, j = frame.columns.get_loc("smoke"), frame.columns.get_loc("bronc")
    joint = pd.crosstab(frame["smoke"], frame["bronc"]).to_numpy() / len(frame)
    apart = joint.sum(axis=1)[:, None] * joint.sum(axis=0)[None, :]
    assert found[i, j] == pytest.approx((joint * np.log(joint / apart)).sum(), rel=1e-12)


def test_the_order_of_columns_and_rows_does_not_show():
    frame = pd.read_csv(ASIA, dtype=str)
    turned = frame[frame.columns[::-1]].sample(frac=1, random_state=1)
    np.testing.assert_array_equal(matrix(turned)[::-1, ::-1], matrix(frame))


def test_of_numbers_and_of_both():
    rng = np.random.default_rng(0)
    x = rng.normal(size=50)
    frame = pd.DataFrame(
        {
            "x": x,
            "y": x + rng.normal(size=50),
            "twice": 2 * x,
            "same": 1.0,
            "label": list("ab") * 25,
        }
    )
    found = matrix(frame, numeric=["x", "y", "twice", "same"])
    r = np.corrcoef(frame["x"], frame["y"])[0, 1]
    assert found[0, 1] == pytest.approx(-0.5 * math.log(1 - r * r), rel=1e-12)
    assert found[0, 2] == math.inf
    assert found[0, 3] == 0
    assert found[4, 0] == found[0, 4] == pytest.approx(by_means(frame["label"], x), rel=1e-12)
    assert found[4, 0] == found[4, 2]
    assert found[4, 3] == 0


def by_means(label, numbers):
    """−½ ln of the share of the variance that is left within levels, by the definition."""
    within = sum(part.var(ddof=0) * len(part) for _, part in pd.Series(numbers).groupby(label))
    return -0.5 * math.log(within / (np.var(numbers) * len(numbers)))


def test_of_a_label_with_a_number():
    rng = np.random.default_rng(2)
    label = rng.choice(list("abcd"), size=300, p=[0.6, 0.3, 0.08, 0.02])
    far = 1e9 + rng.normal(size=300) + (label == "b")
    frame = pd.DataFrame(
        {"x": far, "label": label, "code": [ord(c) for c in label], "same": "only"},
    )
    found = matrix(frame, numeric=["x", "code"])
    assert found[0, 1] == pytest.approx(by_means(label, far - 1e9), rel=1e-7)
    assert found[1, 2] == math.inf
    assert found[0, 3] == found[2, 3] == 0
    turned = frame[frame.columns[::-1]].sample(frac=1, random_state=1)
    np.testing.assert_array_equal(matrix(turned, numeric=["x", "code"])[::-1, ::-1], found)


def test_of_two_levels_it_is_that_of_their_codes():
    rng = np.random.default_rng(3)
    code = rng.integers(0, 2, 80)
    frame = pd.DataFrame({"a": code, "b": code, "x": rng.normal(size=80) + code})
    found = matrix(frame, numeric=["a", "x"])
    assert found[1, 2] == pytest.approx(found[0, 2], rel=1e-14)


def test_a_label_and_a_number_with_gaps_are_compared_on_the_rows_that_both_have():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"x": rng.normal(size=60), "y": rng.normal(size=60)})
    frame["label"] = list("aabbc") * 12
    frame.loc[:9, "x"] = np.nan
    frame.loc[50:, "label"] = None
    found = matrix(frame, numeric=["x", "y"], missing="available")
    both = frame[10:50]
    assert found[0, 2] == pytest.approx(by_means(both["label"], both["x"]), rel=1e-12)
    both = frame[:50]
    assert found[1, 2] == pytest.approx(by_means(both["label"], both["y"]), rel=1e-12)


def test_numbers_with_gaps_are_compared_on_the_rows_that_both_have():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("xyz"))
    frame["y"] += frame["x"]
    frame.loc[:9, "x"] = np.nan
    found = matrix(frame, numeric=["x", "y", "z"], missing="available")
    r = np.corrcoef(frame["x"][10:], frame["y"][10:])[0, 1]
    assert found[0, 1] == pytest.approx(-0.5 * math.log(1 - r * r), rel=1e-12)
    r = np.corrcoef(frame["y"], frame["z"])[0, 1]
    assert found[1, 2] == pytest.approx(-0.5 * math.log(1 - r * r), rel=1e-12)


def test_columns_without_a_row_in_common_have_none():
    frame = pd.DataFrame(
        {
            "a": ["x", "y", "x", "y", None, None, None, None],
            "b": [None, None, None, None, "u", "v", "u", "v"],
            "c": list("pqpqpqpq"),
        }
    )
    found = matrix(frame, missing="available")
    assert math.isnan(found[0, 1])
    assert math.isnan(found[1, 0])
    assert found[0, 2] == pytest.approx(math.log(2))
    numbers = frame.replace(dict(zip("xyuvpq", (1.0, 2.5, 1.0, 2.0, 3.0, 4.0), strict=True)))
    found = matrix(numbers.astype(float), numeric=list("abc"), missing="available")
    assert math.isnan(found[0, 1])
    assert found[0, 2] == math.inf
