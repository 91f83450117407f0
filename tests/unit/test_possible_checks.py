"""A p-value before it is adjusted is the same whatever else is asked."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gml
from gml.gate.check import FAMILIES, Check
from gml.gate.decision import decide_together
from gml.gate.possible_checks import possible_checks
from gml.gate.question import Question
from gml.model.baseline import Reference

pytestmark = pytest.mark.filterwarnings("ignore::gml.errors.GmlWarning")


@pytest.fixture(scope="module")
def accepted(sample_data):
    """A model of asia with edges missing, what is known of its independences, changed rows."""
    rows = gml.read(sample_data / "asia.csv")
    edges = [("smoke", "bronc"), ("bronc", "dysp"), ("either", "xray")]
    graph = gml.Graph.from_edges(rows.names, [(u, "-->", v) for u, v in edges], kind="dag")
    model = gml.fit(rows, graph)
    own = gml.check(rows, model, families="structure").checks
    references = {
        check.id: Reference(check.statistic, check.df, check.rows_new)
        for check in own
        if check.kind == "independence" and check.statistic is not None
    }
    known = gml.Baseline(references=references)
    at = rows.index("bronc")
    changed = list(rows.columns)
    changed[at] = np.where(np.arange(rows.n_rows) % 9 == 0, 0, changed[at]).astype(np.uint8)
    new = gml.Dataset(rows.variables, tuple(changed)).rows(np.arange(rows.n_rows) % 3 == 0)
    return model, known, new


def by_id(report):
    return {check.id: (check.test, check.log_p) for check in report.checks}


def test_families_do_not_show_in_the_p_values_of_others(accepted):
    model, known, new = accepted
    together = by_id(gml.check(new, model, baseline=known))
    tests = {test for test, _ in together.values()}
    # Those that know the level at which they decide are among them.
    assert {"increase", "rarefaction", "likelihood"} <= tests
    apart = [by_id(gml.check(new, model, baseline=known, families=one)) for one in FAMILIES]
    assert dict(itertools.chain.from_iterable(map(dict.items, apart))) == together


def test_a_count_file_has_the_p_values_of_its_rows(accepted, sample_data, tmp_path):
    model, known, new = accepted
    counted = gml.count(new, implied=model)
    expected = by_id(gml.check(new, model, baseline=known))
    found = by_id(gml.check(gml.CountFileCounter(counted), model, baseline=known))
    lacking = {name for name in expected if name not in found or not found[name][0]}
    assert {"schema:repeats", "fit:likelihood"} <= lacking
    told = {name: answer for name, answer in found.items() if answer[0]}
    assert told == {name: expected[name] for name in told}


@pytest.mark.parametrize("kind", ["labels", "undirected", "numbers", "both"])
def test_no_run_asks_more(sample_data, kind):
    if kind == "undirected":
        rows = gml.read(sample_data / "asia.csv")
        model = gml.mrf(rows, structure="tree")
    elif kind == "labels":
        rows = gml.read(sample_data / "asia.csv")
        model = gml.fit(rows, gml.hc(rows).graph)
    else:
        rng = np.random.default_rng(1)
        x = rng.normal(size=400)
        columns = {"x": x, "y": x + rng.normal(size=400), "z": rng.normal(size=400)}
        if kind == "both":
            columns["l"] = np.where(x > 0, "u", "v")
        rows = gml.Dataset.from_frame(pandas_frame(columns), numeric=["x", "y", "z"])
        edges = [("x", "-->", "y")] + [("l", "-->", "z")] * (kind == "both")
        model = gml.fit(rows, gml.Graph.from_edges(rows.names, edges, kind="dag"))
    numbers = () if model.training is None else model.training.numbers
    most = possible_checks(model, model.names, numbers)
    asked = [c.family for c in gml.check(rows, model).checks if c.log_p is not None]
    assert {family: asked.count(family) for family in FAMILIES if asked.count(family)}
    assert all(asked.count(family) <= most[family] for family in FAMILIES)


def pandas_frame(columns):
    import pandas as pd

    return pd.DataFrame(columns)


def test_what_draws_of_one_family_cost_does_not_end_those_of_another():
    """Each has a budget of its own, and p-values of the same name the same draws."""

    def settle(monte_carlo):
        monte_carlo.spent[0] += 1
        return -monte_carlo.spent[0], "counted"

    def asked(family, number):
        check = Check(f"{family}{number}", family, "row", ("x",), log_p=-50.0, effect=1.0)
        return Question(check, settle)

    tables = [asked("tables", k) for k in range(5)]
    structure = [asked("structure", k) for k in range(2)]
    settings = gml.CheckSettings(threads=1)
    (alone,) = decide_together([structure], settings, accepted=())
    (both,) = decide_together([[*tables, *structure]], settings, accepted=())
    assert [c.log_p for c in both[5:]] == [c.log_p for c in alone] == [-1.0, -2.0]
