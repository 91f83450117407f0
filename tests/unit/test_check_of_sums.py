"""Checks of count files with sums of numbers: what rows say, as far as sums can tell."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import gml
from gml.errors import CannotAnswer, DataError

NUMBERS = ["dose", "rise", "span"]
KINDS_OF_ROWS = {"numbers", "drift", "range", "sentinel", "repeats", "errors"}


def frame(n, seed, slope=1.0, size=1.0, span=0.0):
    rng = np.random.default_rng(seed)
    arm = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    sick = np.where(rng.random(n) < np.where(arm == "a", 0.3, 0.6), "yes", "no")
    dose = rng.gamma(3, size=n) + (arm == "c")
    rise = slope * dose + 2 * (sick == "yes") + size * rng.laplace(size=n)
    span = 7 + span + 0.3 * rise - dose + rng.normal(size=n)
    table = {"arm": arm, "sick": sick, "dose": dose, "rise": rise, "span": span}
    return pd.DataFrame({k: v.round(3) if k in NUMBERS else v for k, v in table.items()})


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A model, and the graph in a file."""
    folder = tmp_path_factory.mktemp("sums")
    arrows = ["arm -> sick", "arm -> dose", "sick -> rise", "dose -> rise", "dose -> span"]
    (folder / "g.dot").write_text(f"digraph {{ {'; '.join([*arrows, 'rise -> span'])} }}")
    net = gml.fit(frame(900, 1), folder / "g.dot", numeric=NUMBERS)
    gml.write_model(net, folder / "m.json")
    return net, folder


def counted(table, folder, name="c.parquet", **how):
    counts = gml.count(table, implied=folder / "g.dot", numeric=NUMBERS, **how)
    gml.write_counts(counts, folder / name)
    return folder / name


def checks_of(data, net, **reading):
    report = gml.check(data, net, **reading)
    return report, {check.id: check for check in report.checks}


@pytest.mark.parametrize(
    ("change", "fails"),
    [
        ({}, set()),
        ({"slope": 1.5}, {"tables:rise"}),
        ({"size": 1.6}, {"tables:rise:sd"}),
        ({"span": 1.0}, {"tables:span"}),
    ],
)
def test_sums_say_what_rows_say(made, change, fails):
    net, folder = made
    table = frame(700, 2, **change)
    whole, of_rows = checks_of(table, net)
    report, of_sums = checks_of(counted(table, folder), net)
    assert {name for name in fails if of_sums[name].status == "fail"} == fails
    assert report.failed == bool(fails)
    assert whole.failed == report.failed
    lacking = {
        check.id
        for check in of_rows.values()
        if check.kind in KINDS_OF_ROWS
        or check.family == "fit"
        or (check.kind == "independence" and not {*NUMBERS}.isdisjoint(check.variables))
    }
    assert set(of_sums) == set(of_rows) - lacking
    for name, check in of_sums.items():
        known = of_rows[name]
        # What sums do not show of the sizes of errors is taken for larger than it mostly is.
        assert check.status == known.status or (check.kind, check.status) == ("sd", "pass"), name
        # The loss of an edge is less its own bias, which depends on the sizes of single errors.
        mine, theirs = (
            one.new["nats"] if one.kind == "edge" else one.effect for one in (check, known)
        )
        assert (mine or 0.0) == pytest.approx(theirs or 0.0, rel=1e-9, abs=1e-12), name
    assert any("no rows, so that ranges" in note for note in report.notes)


def test_figures_of_regressions_are_those_of_rows(made):
    net, folder = made
    table = frame(700, 3, slope=1.2)
    _, of_rows = checks_of(table, net)
    _, of_sums = checks_of(counted(table, folder), net)
    for name, check in of_sums.items():
        if check.kind in {"regression", "sd"}:
            assert dict(check.new) == pytest.approx(dict(of_rows[name].new), rel=1e-9)


def test_merged_shards_give_the_report_of_the_whole(made):
    net, folder = made
    table = frame(600, 4)
    paths = [counted(table[k::3], folder, f"{k}.parquet") for k in range(3)]
    gml.write_counts(gml.merge(*paths), folder / "all.parquet")
    one, other = (
        [
            (check.id, check.log_p, check.effect, check.status)
            for check in gml.check(data, net).checks
        ]
        for data in (folder / "all.parquet", counted(table, folder, "whole.parquet"))
    )
    assert one == other


def test_numbers_alone(tmp_path):
    table = frame(500, 5)[NUMBERS]
    (tmp_path / "g.dot").write_text("digraph { dose -> rise; rise -> span; dose -> span }")
    net = gml.fit(table, tmp_path / "g.dot", gaussian=True)
    moved = table.assign(rise=table.rise + 1)
    for data, fails in ((table, False), (moved, True)):
        report = gml.check(counted(data, tmp_path), net)
        assert report.failed == fails


def test_other_kinds_and_tables(made):
    net, folder = made
    table = frame(300, 6)
    labels = table.assign(dose=np.where(table.dose > 3, "high", "low"))
    counts = gml.count(labels, sets=[["arm", "dose"]], numeric=["rise", "span"])
    gml.write_counts(counts, folder / "other.parquet")
    with pytest.raises(DataError, match="'dose' was counted as labels, and the model has numbers"):
        gml.check(folder / "other.parquet", net)
    gml.write_counts(
        gml.count(table, sets=[["arm", "sick"]], numeric=NUMBERS), folder / "few.parquet"
    )
    _, found = checks_of(folder / "few.parquet", net)
    assert found["schema:column:rise"].status == "fail"
    gml.write_counts(gml.count(table, pairs=True, numeric=NUMBERS), folder / "pairs.parquet")
    with pytest.raises(
        CannotAnswer, match="no table of 'dose', 'rise', 'sick'; a check needs more"
    ):
        gml.check(folder / "pairs.parquet", net)


def test_gaps_of_numbers(made):
    net, folder = made
    table = frame(800, 7)
    table.loc[:200, "rise"] = None
    with pytest.warns(gml.GmlWarning, match="dropped"):
        path = counted(table, folder, missing="drop")
    _, found = checks_of(path, net)
    assert found["schema:missing:rise"].status == "fail"
    assert json.loads(json.dumps(found["schema:missing:rise"].new))
