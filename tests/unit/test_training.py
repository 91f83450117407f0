"""What a model keeps of the rows that it was fitted on."""

import itertools
import json
import math
from collections import Counter as Multiset

import numpy as np
import pandas as pd
import pytest

import gml
from gml.data.dataset import Dataset, Variable
from gml.data.number_summary import QUANTILES, NumberValues
from gml.data.row_groups import equal_rows
from gml.errors import DataError, GraphError
from gml.model.training import Repeats, training_of


def table(n, seed=0):
    """A column of numbers to cut, one of integers, and one of labels."""
    rng = np.random.default_rng(seed)
    x = rng.gamma(4, 10, n)
    return pd.DataFrame({"x": x, "k": rng.poisson(6, n), "z": np.where(x > 40, "high", "low")})


def three_columns():
    return gml.Graph.from_edges(["x", "k", "z"], [("x", "-->", "z")])


def fitted(frame, **reading):
    return gml.fit(frame, three_columns(), **reading)


def test_numbers_are_those_of_the_column_before_it_was_cut():
    frame = table(997)
    kept = fitted(frame, bins=4).training.numbers
    assert sorted(kept) == ["k", "x"]
    for name, found in kept.items():
        values = sorted(frame[name].tolist())
        assert (found.n, found.smallest, found.largest) == (997, values[0], values[-1])
        assert found.distinct == len(set(values))
        for level, quantile in found.quantiles.items():
            # The smallest value with more than a share of the rows at or below it.
            at_most = sum(value <= quantile for value in values)
            less = sum(value < quantile for value in values)
            assert less <= level * 997 < at_most
        ends = [-math.inf, *found.quantiles.values(), math.inf]
        inside = [
            sum(low <= value < high for value in values) for low, high in itertools.pairwise(ends)
        ]
        assert list(found.counts) == inside
    assert fitted(frame, bins=4).training.unique == ("x",)


@pytest.mark.parametrize("x", [[1.5, 2.5, 3.5, 1.5], [1.5, 2.5, 3.5, 4.5], [1.5, None, None, 2]])
@pytest.mark.parametrize("weights", [None, [1, 2, 2, 1]])
def test_columns_of_different_numbers_show_that_no_row_repeats(x, weights):
    columns = (np.array(x, dtype=np.float64), np.array([1.0, 2.0, 2.0, 1.0]))
    given = None if weights is None else np.array(weights)
    data = Dataset((Variable("x", None), Variable("y", None)), columns, weights=given)
    assert training_of(data).rows == Repeats.of(equal_rows(data).counts)


def test_repeats_count_coded_rows():
    frame = table(500)
    data = gml.read(frame, bins=3)
    net = gml.fit(data, three_columns())
    rows = zip(*(column.tolist() for column in data.columns), strict=True)
    wanted = Multiset(Multiset(rows).values())
    assert dict(net.training.rows.multiplicities) == dict(sorted(wanted.items()))
    assert net.training.rows.n == 500


def test_whole_weights_count_as_rows_and_fractions_not_at_all():
    frame = table(60)
    frame["w"] = np.arange(60) % 4
    heavy = gml.fit(frame, three_columns(), bins=3, weights="w").training
    rows = frame.loc[frame.index.repeat(frame["w"])].drop(columns="w")
    assert heavy == gml.fit(rows, three_columns(), bins=3).training
    frame["w"] = frame["w"] / 2
    assert gml.fit(frame, three_columns(), bins=3, weights_fractional="w").training is None


def test_numbers_are_the_same_with_declared_intervals_and_from_any_source(tmp_path):
    frame = table(300)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    net = fitted(frame, bins=4)
    # The graph of a model has its levels, so that the second fit puts numbers into intervals.
    again = gml.fit(tmp_path / "rows.csv", net.graph)
    assert again.training == net.training
    assert gml.fit(gml.read(frame, bins=4), three_columns()).training == net.training


def test_numbers_go_where_rows_are_chosen():
    data = gml.read(table(300), bins=4)
    some = data.rows(np.arange(300) < 100)
    kept = gml.fit(some, three_columns()).training
    assert kept.numbers == {}
    assert kept.rows.n == 100


def test_missing_values_do_not_count():
    frame = table(200)
    frame.loc[::10, "x"] = np.nan
    for missing in ("drop", "level", "available"):
        assert fitted(frame, bins=4, missing=missing).training.numbers["x"].n == 180


def test_a_gaussian_model_keeps_its_numbers_too():
    frame = table(200)[["x", "k"]]
    graph = gml.Graph.from_edges(["x", "k"], [("x", "-->", "k")])
    kept = gml.fit(frame, graph, gaussian=True).training
    assert kept.numbers["x"] == fitted(table(200), bins=4).training.numbers["x"]
    assert dict(kept.rows.multiplicities) == {1: 200}


def test_quantiles_are_exact_where_a_product_of_floats_is_not():
    quarter = 2**50
    counts = np.array([3 * quarter + 1, quarter])
    # 3/4 of the rows is three quarters and 3/4 of a row, which float64 rounds to one row more.
    assert NumberValues(np.array([1.0, 2.0]), counts).summary().quantiles[0.75] == 1


@pytest.mark.parametrize("weights", [None, [1, 0, 2, 1, 1, 3]])
def test_values_are_counted_in_any_order(weights):
    values = np.array([3.0, 1.0, np.nan, 1.0, -0.0, 0.0])
    times = None if weights is None else np.array(weights)
    found = NumberValues.of(values, times)
    turned = NumberValues.of(values[::-1], None if times is None else times[::-1])
    assert found.values.tolist() == turned.values.tolist()
    assert found.counts.tolist() == turned.counts.tolist()
    assert found.n == (5 if weights is None else 6)


def test_the_model_file_reads_back_the_same(tmp_path):
    net = fitted(table(300), bins=4)
    net.to_file(tmp_path / "m.json")
    assert gml.BayesNet.from_file(tmp_path / "m.json").training == net.training
    content = json.loads((tmp_path / "m.json").read_text())
    assert list(content["nodes"][0]["numbers"]) == [
        "n",
        "min",
        "max",
        "quantiles",
        "counts",
        "distinct",
    ]
    assert list(content["nodes"][0]["numbers"]["quantiles"]) == [str(q) for q in QUANTILES]
    assert set(content["graph"]["training"]) == {"repeats", "uncut_repeats"}


def test_a_model_that_keeps_nothing_is_checked_without(tmp_path):
    frame = table(300)
    fitted(frame, bins=4).to_file(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    del content["graph"]["hash"], content["graph"]["training"]
    for node in content["nodes"]:
        node.pop("numbers", None)
    (tmp_path / "m.json").write_text(json.dumps(content))
    net = gml.BayesNet.from_file(tmp_path / "m.json")
    assert net.training is None
    kinds = {check.kind for check in gml.check(frame, net).checks}
    assert not kinds & {"range", "sentinel", "drift", "unique", "repeats"}


DAMAGE = [
    ("numbers", 3, "must be an object"),
    ("numbers", {"n": 0, "min": 1, "max": 2, "quantiles": {}}, "at least 1"),
    ("numbers", {"n": 5, "min": 3, "max": 2, "quantiles": {}}, "do not increase"),
    ("numbers", {"n": 5, "min": 1, "max": 2, "quantiles": {"0.5": 3}}, "do not increase"),
    ("numbers", {"n": 5, "min": 1, "max": 2, "quantiles": {"x": 1}}, "by their level"),
    ("numbers", {"n": 5, "min": 1, "max": 2, "quantiles": {"7": 1}}, "between 0 and 1"),
    ("numbers", {"n": True, "min": 1, "max": 2, "quantiles": {}}, "must be a whole number"),
    ("numbers", {"n": 5, "min": None, "max": 2, "quantiles": {}}, "lack a number"),
    ("numbers", {"n": 5, "min": 1, "max": 2, "quantiles": {}, "counts": [4]}, "do not add up"),
    ("numbers", {"n": 5, "min": 1, "max": 2, "quantiles": {}, "distinct": 6}, "from 1 to"),
    ("training", [], "not an object"),
    ("training", {"repeat": {}}, "key 'repeat' not found"),
    ("training", {"repeats": {}}, "how many rows occur how often"),
    ("training", {"repeats": {"0": 3}}, "how many rows occur how often"),
    ("training", {"repeats": {"1": -3}}, "how many rows occur how often"),
    ("training", {"repeats": {"1": 1.5}}, "how many rows occur how often"),
    ("training", {"repeats": {"²": 1}}, "how many rows occur how often"),
    ("training", {"repeats": {"1": 10**30}}, "how many rows occur how often"),
    ("training", {"uncut_repeats": {"9007199254740993": 1}}, '"uncut_repeats" of "training"'),
    ("numbers", {"n": 10**25, "min": 1, "max": 2, "quantiles": {}}, "below 2"),
]


@pytest.mark.parametrize(("key", "value", "problem"), DAMAGE)
def test_damaged_content_is_refused_in_one_line(tmp_path, key, value, problem):
    net = fitted(table(300), bins=4)
    net.to_file(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    del content["graph"]["hash"]
    (content["nodes"][0] if key == "numbers" else content["graph"])[key] = value
    (tmp_path / "m.json").write_text(json.dumps(content))
    with pytest.raises((GraphError, DataError), match=problem) as refused:
        gml.BayesNet.from_file(tmp_path / "m.json")
    assert "\n" not in str(refused.value)
    assert "m.json" in str(refused.value)


def test_repeats_of_nothing():
    assert Repeats.of(np.array([], dtype=np.int64)).n == 0
    assert Repeats({3: 2, 6: 1}).common_factor == 3
