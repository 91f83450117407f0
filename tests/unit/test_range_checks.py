"""Numbers of new rows against those of a model: extremes, codes, units and drift."""

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import gml
from gml.data.dataset import Dataset, Variable
from gml.data.number_summary import NumberValues
from gml.errors import DataError
from gml.gate.range_checks import codes_outside, drift_checks, log_p_beyond, range_checks
from gml.gate.units import unit_change


def table(n, seed):
    """Two columns of numbers, the second depends on the first, and one of labels."""
    rng = np.random.default_rng(seed)
    x = rng.gamma(4, 10, n).round(2)
    return pd.DataFrame(
        {"x": x, "y": 0.5 * x + rng.normal(0, 3, n), "z": rng.choice(list("abc"), n)}
    )


@pytest.fixture(scope="module")
def model():
    graph = gml.Graph.from_edges(["x", "y", "z"], [("x", "-->", "y")])
    return gml.fit(table(5000, 1), graph, bins=4)


def failures(report):
    return {check.id: check for check in report.ranked("fail")}


@pytest.mark.parametrize(("old", "new"), [(3, 4), (5, 2)])
def test_exceedances_have_the_probability_that_is_said(old, new):
    places = list(itertools.combinations(range(old + new), new))
    for beyond in range(new + 1):
        last = set(range(old + new - beyond, old + new))
        wanted = Fraction(sum(last <= set(place) for place in places), len(places))
        assert math.exp(log_p_beyond(old, new, beyond)) == pytest.approx(float(wanted), abs=1e-14)


def test_both_ends_count_and_ties_do_not():
    old = NumberValues.of(np.arange(100.0)).summary()
    new = NumberValues.of(np.array([99.0] * 5 + [0.0] * 5 + [-3.0, -7.5, 101.0] + [50.0] * 87))
    found = range_checks("x", old, new)[0].check
    assert found.log_p == pytest.approx(math.log(2 * (100 * 99) / (200 * 199)))
    assert (found.new["below"], found.new["above"]) == (2, 1)
    assert found.effect == pytest.approx(0.03)
    assert found.message == "x: 3 values lie beyond 0–99: -7.5, -3, 101"


def test_codes_are_caught_and_named(model):
    """1 % of 9999 in 1 000 rows against 5 000."""
    new = table(1000, 2)
    assert not gml.check(new, model).failed
    new.loc[::100, "x"] = 9999
    found = failures(gml.check(new, model))
    assert found["schema:sentinel:x"].message == (
        "x: 9999 (10 times) outside 2.05–165.63: a code for missing values?"
    )
    assert found["schema:range:x"].message.endswith(": 9999 (10 times)")
    assert "schema:sentinel:y" not in found


def test_a_rule_is_no_part_of_the_promise(model):
    """What breaks a rule fails at every level, and what keeps it is not among the tests."""
    new = table(1000, 2)
    kept = {check.id: check for check in gml.check(new, model).checks}
    assert kept["schema:sentinel:x"].log_p is None
    new.loc[:2, "x"] = 99999
    report = gml.check(new, model, alpha=1e-9)
    assert failures(report)["schema:sentinel:x"].log_p == -math.inf
    assert any("found by a rule" in note for note in report.notes)


AGES = NumberValues.of(np.repeat(np.arange(18.0, 91.0), 20)).summary()


@pytest.mark.parametrize(
    ("value", "times", "is_code"),
    [
        (-1.0, 3, True),
        (0.0, 3, True),
        (999.0, 3, True),
        (-99.0, 2, False),
        (95.0, 5, False),
        (99.0, 3, False),
        (99.0, 30, True),
        (1234.0, 3, False),
        (1234.0, 30, True),
        (2147483647.0, 3, True),
    ],
)
def test_which_values_are_codes(value, times, is_code):
    usual = np.repeat(np.arange(20.0, 80.0), 5)
    new = NumberValues.of(np.concatenate([usual, np.full(times, value)]))
    assert codes_outside(AGES, new) == ({value: times} if is_code else {})


def test_no_code_among_natural_values():
    """Rounded, skewed and heavy-tailed columns; none of 5 994 pairs of tables has a code."""
    rng = np.random.default_rng(4)
    columns = [
        lambda n: rng.normal(50, 10, n).round(),
        lambda n: rng.poisson(3, n).astype(float),
        lambda n: np.exp(rng.normal(3, 1.5, n)).round(),
        lambda n: rng.standard_cauchy(n).round(),
        lambda n: rng.exponential(10, n).round(1),
        lambda n: rng.normal(12, 5, n).round(),
    ]
    found = [
        codes_outside(NumberValues.of(column(old)).summary(), NumberValues.of(column(new)))
        for column in columns
        for old, new in ((200, 200), (1000, 200), (200, 1000))
        for _ in range(333)
    ]
    assert len(found) == 5994
    assert not any(found)


def test_another_unit_is_seen_as_a_factor(model):
    new = table(1000, 2)
    new["x"] *= 12
    found = failures(gml.check(new, model))
    assert "about 12 times: another unit?" in found["schema:range:x"].message
    assert "about 12 times: another unit?" in found["schema:drift:x"].message
    halved = table(5000, 1)
    halved["x"] *= 0.45359
    found = failures(gml.check(halved, model))
    assert "about 0.45 times: another unit?" in found["schema:drift:x"].message


def test_the_example_of_feet_and_inches():
    rng = np.random.default_rng(0)
    feet = np.concatenate([[0.5, 23.0], rng.uniform(0.5, 23, 2000)])
    old = NumberValues.of(feet).summary()
    assert unit_change(old, NumberValues.of(12 * feet).summary()) == (
        "; 0.5–23 → 6–276, about 12 times: another unit?"
    )


def test_degrees_are_named():
    rng = np.random.default_rng(0)
    celsius = rng.normal(10, 8, 3000)
    old = NumberValues.of(celsius).summary()
    hint = unit_change(old, NumberValues.of(celsius[:1000] * 1.8 + 32).summary())
    assert hint.endswith(", as from °C to °F")
    assert unit_change(old, NumberValues.of(celsius[:1000] + 273.15).summary()).endswith("°C to K")


@pytest.mark.parametrize("change", [lambda x: x, lambda x: x + 30, lambda x: x**1.5])
def test_other_changes_are_no_unit(change):
    rng = np.random.default_rng(0)
    values = rng.gamma(4, 10, 3000)
    after = change(rng.gamma(4, 10, 1000))
    assert unit_change(NumberValues.of(values).summary(), NumberValues.of(after).summary()) == ""


def test_drift_within_the_intervals_of_a_cut_column(model):
    """Numbers of the top interval move within it, where no table can see them."""
    new = table(4000, 2)
    top = new["x"] > 60
    new.loc[top, "x"] = 60 + (new.loc[top, "x"] - 60) / 4
    report = gml.check(new, model)
    (found,) = failures(report).values()
    assert (found.id, found.family, found.kind) == ("schema:drift:x", "schema", "drift")
    assert found.effect_unit == "total variation"
    assert not gml.check(new, model, families="tables").failed


def test_drift_compares_the_counts_between_the_old_quantiles():
    rng = np.random.default_rng(3)
    old, new = rng.normal(size=800), rng.normal(size=300)
    (question,) = drift_checks("x", NumberValues.of(old).summary(), NumberValues.of(new))
    cuts = [sorted(old)[math.floor(q * 800)] for q in (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)]
    table = np.array(
        [np.bincount(np.searchsorted(cuts, rows, side="right"), minlength=8) for rows in (old, new)]
    )
    assert question.check.new["counts"] == table[1].tolist()
    assert question.check.old["counts"] == table[0].tolist()
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    seen = table > 0
    g = 2 * np.sum(table[seen] * np.log(table[seen] / expected[seen]))
    assert question.check.statistic == pytest.approx(g, rel=1e-12)


def test_numbers_are_found_in_datasets_and_frames(model):
    new = table(1000, 2)
    new.loc[::100, "x"] = 9999
    rounded = new.assign(x=new["x"].round(-1), y=new["y"].round(-1))
    for data in (new, gml.read(new, numeric=["x", "y"]), gml.read(rounded)):
        assert "schema:sentinel:x" in failures(gml.check(data, model))


def test_a_profile_serves_where_the_model_keeps_nothing(model, tmp_path):
    kept = model.training.numbers["x"].written()
    content = {"schema": "gml/1", "columns": {"x": {"numbers": kept}}}
    (tmp_path / "schema.json").write_text(json.dumps(content))
    new = table(1000, 2)
    new.loc[::100, "x"] = 9999
    bare = replace(model, training=None)
    assert "schema:sentinel:x" not in failures(gml.check(new, bare))
    new.to_csv(tmp_path / "new.csv", index=False)
    report = gml.check(tmp_path / "new.csv", bare, levels=tmp_path / "schema.json")
    assert "schema:sentinel:x" in failures(report)
    assert "schema:range:y" not in {check.id for check in report.checks}


@pytest.mark.parametrize("change", [lambda p: p * 0.92, lambda p: p * 1.05, lambda p: p - 100])
def test_wide_columns_are_no_degrees(change):
    prices = np.random.default_rng(3).lognormal(8, 1, 5000)
    old, new = NumberValues.of(prices).summary(), NumberValues.of(change(prices)).summary()
    assert "°C" not in unit_change(old, new)


def test_the_unit_of_numbers_that_are_mostly_zero():
    rng = np.random.default_rng(4)
    rain = np.where(rng.random(1400) < 0.6, 0.0, rng.gamma(0.8, 8, 1400).round(1))
    old = NumberValues.of(rain[::2]).summary()
    hint = unit_change(old, NumberValues.of(rain[1::2] / 25.4).summary())
    assert hint.endswith(" times: another unit?")
    assert unit_change(old, NumberValues.of(rain[1::2]).summary()) == ""


def test_a_rare_smallest_value_of_counts_is_no_code():
    """Geometric numbers, a few of them 0, of which the model's few rows had none."""
    rng = np.random.default_rng(2)
    alarms = 0
    for _ in range(40):
        old, new = rng.geometric(0.4, 200), rng.geometric(0.4, 1000)
        new[rng.random(1000) < 0.005] = 0
        values = NumberValues.of(new.astype(float))
        alarms += bool(codes_outside(NumberValues.of(old.astype(float)).summary(), values))
    assert alarms == 0


def test_half_a_surrogate_pair_is_no_number(model):
    frame = table(100, 2).astype({"x": object})
    frame.loc[3, "x"] = "\ud800"
    with pytest.raises(DataError, match=r"data row 4: column 'x': '\\ud800' is not valid text"):
        gml.check(frame, model)
    codes = np.arange(100, dtype=np.uint8) % 2
    rows = Dataset((Variable("x", ("20", "\ud800")),), (codes,))
    found = failures(gml.check(rows, model))
    assert found["schema:levels:x"].message.endswith(r"'\ud800' (50)")


def test_a_dataset_with_decimal_commas_is_checked_as_its_file(tmp_path):
    old, new = (table(n, n)[["x", "z"]].round({"x": 0}) for n in (900, 240))
    net = gml.fit(old, gml.Graph.from_edges(["x", "z"], [("x", "-->", "z")]), bins=4)
    frame = new.assign(x=new["x"] + 0.5)
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False, sep=";", decimal=",")
    reading = {"delimiter": ";", "decimal": ","}
    labels = gml.read(path, kinds="labels", **reading)
    assert "20,5" in labels.variables[0].levels
    found = gml.check(labels, net).checks
    assert found == gml.check(path, net, **reading).checks == gml.check(frame, net).checks
    predicted = gml.query(net, predict="z", batch=labels)
    assert predicted.table.tolist() == gml.query(net, predict="z", batch=frame).table.tolist()


def test_labels_with_decimal_commas_are_numbers_of_a_regression(tmp_path):
    frame = table(300, 1)[["x", "y"]].round(1)
    graph = gml.Graph.from_edges(["x", "y"], [("x", "-->", "y")])
    net = gml.fit(frame, graph, gaussian=True)
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False, sep=";", decimal=",")
    labels = gml.read(path, delimiter=";", decimal=",", max_levels=300, kinds="labels")
    assert not any(variable.is_continuous for variable in labels.variables)
    assert gml.check(labels, net).checks == gml.check(frame, net).checks
