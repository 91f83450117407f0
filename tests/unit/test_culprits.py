"""Culprits: the column behind the failures, on planted faults and on failures made by hand."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import gml
from gml.formats.reports.checks import FORMATS
from gml.gate.check import Check
from gml.gate.culprits import find_culprits
from gml.gate.margins import Margin
from tests import column_faults, networks

ROWS = 4000


@pytest.fixture(scope="module")
def asia():
    return networks.asia()


@pytest.fixture(scope="module")
def model(asia):
    return networks.fitted(asia, ROWS)


def found(model, rows):
    report = gml.check(rows, model, threads=1, unlikely_rows=0)
    assert report.failed
    return report.culprits


# ---------------------------------------------------------------------- planted faults


@pytest.mark.parametrize(
    ("fault", "column", "size", "cause", "message"),
    [
        ("renamed", "smoke", "now", "columns", "there is no such column; is it 'smoke_now' now?"),
        ("new_category", "xray", 0.05, "levels", "values that the model does not know: 'a new"),
        ("shuffled", "bronc", 1.0, "relations", "unchanged: shuffled or joined wrongly?"),
        ("shuffled", "either", 0.5, "relations", "unchanged: shuffled or joined wrongly?"),
        ("swapped", "dysp", 1.0, "drift", "are 'yes' and 'no' exchanged?"),
        ("swapped", "bronc", 1.0, "values", "and so did its relations: P(bronc="),
        ("defaulted", "bronc", 1.0, "values", "changed, and so did its relations: always 'no' now"),
        ("defaulted", "dysp", 0.3, "drift", "its own distribution changed: P(dysp="),
        ("scaled", "either", 12, "values", "and so did its relations: P(either="),
        ("drifted", "smoke", 0.1, "drift", "its own distribution changed: P(smoke="),
        ("drifted", "xray", 0.2, "drift", "its own distribution changed: P(xray="),
    ],
)
def test_the_culprit_of_a_planted_fault(asia, model, fault, column, size, cause, message):
    rng = np.random.default_rng(7)
    rows = getattr(column_faults, fault)(asia.sample(ROWS, seed=2), column, size, rng)
    (culprit,) = found(model, rows)
    assert culprit.columns == (column,)
    assert culprit.cause == cause
    assert culprit.failures == culprit.of
    assert message in culprit.message


def test_the_graph_is_known_without_checks_of_tables():
    """Rows chosen by a common effect make its causes dependent, which is a drift of the effect."""
    rng = np.random.default_rng(3)

    def drawn(n):
        u, v = rng.integers(0, 2, n), rng.integers(0, 2, n)
        x = (u & v) ^ (rng.random(n) < 0.1)
        return pd.DataFrame({"u": u, "v": v, "x": x.astype(int)}).astype(str)

    edges = [("u", "-->", "x"), ("v", "-->", "x")]
    model = gml.fit(drawn(4000), gml.Graph.from_edges(["u", "v", "x"], edges))
    rows = drawn(8000)
    rows = rows[(rows["x"] == "1") | (rng.random(8000) < 0.3)]
    report = gml.check(rows, model, threads=1, families=("schema", "structure"))
    assert report.parents == {"u": (), "v": (), "x": ("u", "v")}
    assert [check.id for check in report.ranked("fail")] == ["structure:u independent of v"]
    (culprit,) = report.culprits
    assert (culprit.columns, culprit.cause) == (("x",), "drift")


def test_two_columns_that_only_know_each_other_are_a_pair(asia):
    old = asia.sample(ROWS, seed=1).select(["smoke", "bronc"])
    model = networks.fitted_to([("smoke", "bronc")], old)
    new = asia.sample(ROWS, seed=2).select(["smoke", "bronc"])
    for column in ("smoke", "bronc"):
        rows = column_faults.shuffled(new, column, 1.0, np.random.default_rng(7))
        (culprit,) = found(model, rows)
        assert sorted(culprit.columns) == ["bronc", "smoke"]
        assert "which cannot be told apart; their own distributions are" in culprit.message


def test_two_faults_are_two_lines(asia, model):
    rng = np.random.default_rng(7)
    rows = column_faults.new_category(asia.sample(ROWS, seed=2), "xray", 0.05, rng)
    rows = column_faults.shuffled(rows, "bronc", 1.0, rng)
    culprits = found(model, rows)
    assert sorted(culprit.columns for culprit in culprits) == [("bronc",), ("xray",)]
    assert culprits[0].failures >= culprits[1].failures
    assert all(c.failures < c.of and f"{c.failures} of {c.of} " in c.message for c in culprits)


def test_no_culprit_where_nothing_fails(asia, model):
    assert gml.check(asia.sample(ROWS, seed=2), model).culprits == ()


def test_nothing_is_said_of_margins_without_counts(asia):
    rows = column_faults.shuffled(asia.sample(ROWS, seed=2), "bronc", 1.0, np.random.default_rng(7))
    (culprit,) = found(asia, rows)
    assert culprit.columns == ("bronc",) and culprit.cause == "unknown"
    assert "distribution" not in culprit.message


def test_culprits_do_not_depend_on_the_order_of_columns(asia, model):
    rows = column_faults.shuffled(asia.sample(ROWS, seed=2), "bronc", 1.0, np.random.default_rng(7))
    turned = rows.select(list(reversed(rows.names)))
    assert found(model, turned) == found(model, rows)


# ---------------------------------------------------------------------- rules, by hand


def check(kind, *variables, given=(), fails=True, family=None):
    families = {
        "edge": "structure",
        "independence": "structure",
        "row": "tables",
        "table": "tables",
    }
    return Check(
        id=f"{kind}:{','.join(variables)}|{','.join(given)}",
        family=family or families.get(kind, "schema"),
        kind=kind,
        variables=variables,
        given=tuple((name, None) for name in given),
        message=f"{variables[0] if variables else 'rows'}: {kind}",
        log_p=-50.0 if fails else -0.1,
        status="fail" if fails else "pass",
    )


def culprits(*checks, margins=None):
    failures = [c for c in checks if c.status == "fail"]
    parents = {c.variables[0]: [p for p, _ in c.given] for c in checks if c.family == "tables"}
    return find_culprits(failures, checks, margins or {}, parents, alpha=0.01)


def changed(log_p=-50.0, before=(0.5, 0.5), after=(0.7, 0.3)):
    variation = sum(abs(p - q) for p, q in zip(before, after, strict=True)) / 2
    return Margin(("a", "b"), before, after, variation, log_p)


SAME = changed(log_p=-0.1, after=(0.51, 0.49))


def test_an_independence_accuses_what_should_separate():
    (culprit,) = culprits(check("independence", "u", "v", given=("z",)))
    assert culprit.columns == ("z",)


def test_a_table_accuses_its_child():
    (culprit,) = culprits(
        check("row", "v", given=("u",)),
        check("row", "u", fails=False),
        check("edge", "u", "w", fails=False),
    )
    assert culprit.columns == ("v",)


def test_a_changed_distribution_accuses_the_column_and_not_its_child():
    checks = [check("row", "v", given=("u",)), check("edge", "u", "v")]
    (culprit,) = culprits(*checks, margins={"u": changed(), "v": SAME})
    assert (culprit.columns, culprit.cause) == (("u",), "values")
    (culprit,) = culprits(*checks, margins={"u": SAME, "v": changed()})
    assert (culprit.columns, culprit.cause) == (("v",), "drift")


def test_a_drift_explains_its_ancestors():
    checks = [
        check("row", "x", given=("p",)),
        check("row", "p", given=("g",)),
        check("row", "g"),
        check("row", "other", fails=False),
    ]
    margins = {
        "x": changed(after=(0.8, 0.2)),
        "p": changed(after=(0.65, 0.35)),
        "g": changed(after=(0.6, 0.4)),
        "other": SAME,
    }
    (culprit,) = culprits(*checks, margins=margins)
    assert culprit.columns == ("x",) and culprit.failures == culprit.of == 3
    assert culprit.message.startswith("all 3 failures can come from x; its own distribution")


def test_any_kind_of_the_schema_accuses_its_column():
    (culprit,) = culprits(check("range", "age"), check("row", "pay", given=("age",)))
    assert (culprit.columns, culprit.cause) == (("age",), "range")
    assert culprit.message == "both failures involve age: range"


def test_repeated_rows_are_no_fault_of_a_column():
    repeats = check("repeats", family="schema")
    (culprit,) = culprits(repeats, check("drift", "v"))
    assert culprit.columns == () and culprit.cause == "repeats" and culprit.of == 2
    (culprit,) = culprits(repeats, check("row", "v", given=("u",)))
    assert culprit.columns == () and culprit.cause == "repeats" and culprit.of == 2
    first, second = culprits(repeats, check("columns", "v"), check("row", "w"))
    assert first.columns == () and second.columns == ("v",)


def test_a_file_delivered_twice_breaks_no_unique_column():
    (culprit,) = culprits(check("repeats", family="schema"), check("unique", "id"))
    assert culprit.columns == ()
    (culprit,) = culprits(check("unique", "id"))
    assert (culprit.columns, culprit.cause) == (("id",), "unique")


@pytest.mark.parametrize("family", ["tables", "schema"])
def test_numbers_that_drifted_are_a_change_of_the_column_itself(family):
    checks = [
        check("drift", "x", family=family),
        replace(check("drift", "p", family=family), effect=0.1),
        check("row", "p", given=("g",)),
        check("row", "x", given=("p",)),
        check("drift", "g", family=family, fails=False),
    ]
    checks[0] = replace(checks[0], effect=0.3, message="x: median 3 → 36, about 12 times")
    (culprit,) = culprits(*checks)
    assert (culprit.columns, culprit.cause) == (("x",), "drift")
    assert culprit.message == (
        "all 4 failures can come from x; its own distribution changed: median 3 → 36, about 12 times"
    )
    (culprit,) = culprits(checks[0], check("row", "w", given=("x",)), checks[4])
    assert (culprit.columns, culprit.cause) == (("x",), "values")
    (culprit,) = culprits(check("edge", "x", "g"), check("edge", "p", "g"), checks[4])
    assert (culprit.columns, culprit.cause) == (("g",), "relations")


def test_the_fit_accuses_no_column_and_counts_as_involving_all():
    fit = check("likelihood", "u", "v", family="fit")
    assert culprits(fit) == ()
    (culprit,) = culprits(fit, check("columns", "v"))
    assert (culprit.columns, culprit.failures, culprit.of) == (("v",), 2, 2)


def test_many_causes_name_none():
    (culprit,) = culprits(*(check("columns", name) for name in "abcd"), check("levels", "c"))
    assert culprit.columns == ("c",)
    assert culprit.message == "no one column is behind all 5 failures; c is in 2"


def test_thousands_of_failures_are_sorted_out_in_no_time():
    checks = [check("row", f"v{k % 300}", given=("u",)) for k in range(3000)]
    checks = [replace(c, id=str(k)) for k, c in enumerate(checks)]
    (culprit,) = culprits(*checks)
    assert culprit.columns == ("u",)


# ---------------------------------------------------------------------- in reports


def test_every_report_has_the_culprit(asia, model):
    rows = column_faults.shuffled(asia.sample(ROWS, seed=2), "bronc", 1.0, np.random.default_rng(7))
    report = gml.check(rows, model, threads=1)
    said = report.culprits[0].message
    text = FORMATS["text"](report)
    assert text.index("\n\nculprit: all ") < text.index("\nFAIL")
    assert f"culprit: {said}" in " ".join(text.split())
    assert f"**culprit: {said}**" in FORMATS["markdown"](report)
    assert FORMATS["github"](report).splitlines()[0].endswith(f"::culprit: {said}")
    assert f"<system-out>culprit: {said}" in FORMATS["junit"](report)
    (written,) = json.loads(FORMATS["json"](report))["culprits"]
    n = len(report.ranked("fail"))
    assert written == {
        "columns": ["bronc"],
        "failures": n,
        "of": n,
        "cause": "relations",
        "message": said,
    }
    (run,) = json.loads(FORMATS["sarif"](report))["runs"]
    assert run["properties"]["culprits"] == [written]
    assert f"culprit: {said}" in repr(report)


def test_one_failure_that_names_its_column_is_enough(asia, model):
    report = gml.check(
        column_faults.renamed(asia.sample(ROWS, seed=2), "smoke", "now", None), model, threads=1
    )
    assert report.culprits[0].columns == ("smoke",)
    assert len(report.ranked("fail")) == 1 and "culprit" not in FORMATS["text"](report)


def test_warnings_have_culprits_too(asia, model):
    rows = column_faults.shuffled(asia.sample(ROWS, seed=2), "bronc", 1.0, np.random.default_rng(7))
    report = gml.check(rows, model, threads=1, warn_only=True)
    assert f"all {report.counts['warn']} warnings involve bronc" in report.culprits[0].message


def test_what_was_accepted_has_no_culprit(asia, model):
    rows = column_faults.shuffled(asia.sample(ROWS, seed=2), "bronc", 1.0, np.random.default_rng(7))
    report = gml.check(rows, model, threads=1)
    assert report.known_in(report.accepted()).culprits == ()


def test_margins_are_those_of_the_columns(asia, model):
    rows = asia.sample(ROWS, seed=2)
    report = gml.check(rows, model, threads=1)
    margin = report.margins["smoke"]
    codes = rows.columns[rows.index("smoke")]
    assert margin.levels == rows.variables[rows.index("smoke")].levels
    assert margin.after == tuple((np.bincount(codes) / ROWS).tolist())
    assert margin.before == pytest.approx(model.cpt("smoke").table[0], abs=1e-3)
    assert margin.total_variation == pytest.approx(abs(margin.after[0] - margin.before[0]))
    assert math.isfinite(margin.log_p)
