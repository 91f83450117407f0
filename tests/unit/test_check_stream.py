"""Checks of rows that are read in passes say what those of the same rows in memory say."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gml
from gml.counts.counted_once import CountedOnce
from gml.counts.streamed import StreamCounter
from gml.data.dataset import Dataset, Variable
from gml.errors import CannotAnswer
from gml.gate.exact_sum import exact_parts
from gml.model.bayesnet import BayesNet
from tests.stream_checks import both_checks, in_passes

pytestmark = pytest.mark.filterwarnings("ignore::gml.errors.GmlWarning")


def table(n, seed, *, gaps=0.0, strength=0.8):
    """Columns that depend on each other, one of numbers, and weights."""
    rng = np.random.default_rng(seed)
    a = rng.choice(["u", "v", "w"], n, p=[0.5, 0.3, 0.2])
    b = np.where(rng.random(n) < strength, np.where(a == "u", "yes", "no"), "maybe")
    x = np.round(rng.normal(size=n) + (b == "yes"), 2).astype(object)
    frame = pd.DataFrame({"a": a, "b": b, "x": x, "c": rng.choice(["p", "q"], n)})
    frame["w"] = rng.integers(0, 4, n)
    for name in "abc":
        frame.loc[rng.random(n) < gaps, name] = ""
    return frame


EDGES = [("a", "-->", "b"), ("b", "-->", "x")]
NAMES = ["a", "b", "x", "c"]


def model_of(tmp_path, **reading):
    path = tmp_path / "old.csv"
    table(2000, 1, gaps=0.05 if "missing" in reading else 0.0).to_csv(path, index=False)
    graph = gml.Graph.from_edges(NAMES, EDGES, kind="dag")
    reading = {"cut": {"x": [-1.0, 0.0, 1.0]}, "columns": NAMES, **reading}
    return gml.fit(path, graph, **reading)


@pytest.mark.parametrize("policy", ["drop", "level", "available"])
@pytest.mark.parametrize("weights", [None, "w"])
@pytest.mark.parametrize("asked", [None, "drop", "level", "available", "error"])
def test_missing_values(tmp_path, policy, weights, asked):
    model = model_of(tmp_path, missing=policy)
    new = table(900, 2, gaps=0.1)
    new.loc[700:, "a"] = new.loc[700:, "a"].replace("w", "new")
    new.loc[[455, 680], "b"] = "odd"
    new.loc[600:640, "x"] = 99.5
    new.to_csv(tmp_path / "new.csv", index=False)
    keywords = {} if asked is None else {"missing": asked}
    if weights is not None:
        keywords["weights"] = weights
    memory, stream = both_checks(tmp_path / "new.csv", model, **keywords)
    assert memory == stream
    assert isinstance(memory, tuple) == (asked == "error")


@pytest.mark.parametrize("families", ["schema", "tables", "structure", "fit"])
def test_families_by_name(tmp_path, families):
    model = model_of(tmp_path)
    table(900, 3, strength=0.6).to_csv(tmp_path / "new.csv", index=False)
    memory, stream = both_checks(tmp_path / "new.csv", model, families=families)
    assert memory == stream and f"'family': '{families}'" in memory


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("odd", [False, True])
def test_rows_that_were_delivered_several_times(tmp_path, times, odd):
    model = model_of(tmp_path)
    new = table(500, 4)
    if odd:
        new.loc[[7, 90], "b"] = "odd"
    whole = pd.concat([new] * times)
    whole.sample(frac=1, random_state=1).to_csv(tmp_path / "new.csv", index=False)
    memory, stream = both_checks(tmp_path / "new.csv", model)
    assert memory == stream
    assert (f"delivered {times} times" in memory) == (times > 1)


@pytest.mark.parametrize("structure", ["tree", [["a", "b"], ["b", "c"], ["c", "d"], ["a", "d"]]])
def test_undirected_models(tmp_path, structure):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.integers(0, 3, (1500, 4)).astype(str), columns=list("abcd"))
    frame["b"] = np.where(rng.random(1500) < 0.7, frame["a"], frame["b"])
    if structure == "tree":
        model = gml.mrf(frame, structure="tree")
    else:
        edges = [(u, "---", v) for u, v in structure]
        model = gml.mrf(frame, gml.Graph.from_edges("abcd", edges, kind="undirected"))
    new = frame.sample(700, random_state=3)
    new.loc[new.index[[5, 600]], "c"] = "new"
    new.to_csv(tmp_path / "new.csv", index=False)
    memory, stream = both_checks(tmp_path / "new.csv", model)
    assert memory == stream and "'fit:likelihood'" in memory


def test_a_model_without_counts(tmp_path):
    model = model_of(tmp_path)
    bare = BayesNet(tuple(type(cpd)(cpd.variable, cpd.parents, cpd.table) for cpd in model.cpds))
    table(900, 6).to_csv(tmp_path / "new.csv", index=False)
    memory, stream = both_checks(tmp_path / "new.csv", bare)
    assert memory == stream


def test_several_deliveries_and_an_excluded_column(tmp_path):
    model = model_of(tmp_path)
    for k in (1, 2):
        table(600, 6 + k).to_csv(tmp_path / f"{k}.csv", index=False)
    data = [tmp_path / "1.csv", tmp_path / "2.csv"]
    memory, stream = both_checks(data, model, exclude="c")
    assert memory == stream


def test_an_open_stream_is_checked_in_passes(sample_data):
    model = gml.fit(sample_data / "asia.csv", sample_data / "asia.dot")
    expected = gml.check(gml.read(sample_data / "asia.csv"), model)
    with in_passes(), gml.open_stream(sample_data / "asia.csv") as stream:
        found = gml.check(stream, model)
    assert found.unlikely == expected.unlikely and len(found.unlikely) == 5
    assert found.checks == expected.checks


def test_repeats_that_take_too_much_memory_are_left_out(sample_data):
    model = gml.fit(sample_data / "asia.csv", sample_data / "asia.dot")

    def refused(self, names=None):
        raise CannotAnswer("the different rows take more than 1 KiB")

    with in_passes() as patched, gml.open_stream(sample_data / "asia.csv") as stream:
        patched.setattr(StreamCounter, "row_repeats", refused)
        report = gml.check(stream, model)
    assert "schema:repeats" not in {check.id for check in report.checks}
    said = "the different rows take more than 1 KiB; so how often rows repeat was not looked at"
    assert said in report.notes


def test_tables_of_rows_counted_once():
    rows = Dataset((Variable("a", ("x", "y")),), (np.repeat([0, 1], [4, 2]).astype(np.uint8),))
    with gml.open_stream([rows, rows.rows(np.arange(6) < 0), rows]) as stream:
        once = CountedOnce(stream, 2)
        assert (once.n, once.variables) == (6, rows.variables)
        (counts,) = once.tables([gml.TableSet((0,))])
        assert counts.table.tolist() == [[4, 2]] and counts.n == 6
        assert next(iter(once.family_tables([(0, ())]))).tolist() == [[4, 2]]


@settings(max_examples=200)
@given(st.lists(st.floats(-1e30, 1e30), max_size=40))
def test_parts_of_a_sum_are_exact(values):
    parts = exact_parts(values)
    assert sum(map(Fraction, parts), Fraction()) == sum(map(Fraction, values), Fraction())
    assert math.fsum(parts) == math.fsum(values)
    assert len(parts) <= 20
