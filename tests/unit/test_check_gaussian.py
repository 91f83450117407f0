"""Checks of models of numbers: what is kept, what fails, what must not matter, and the level."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import gml
from gml.data.dataset import Dataset, Variable
from gml.errors import GraphError, UsageError
from gml.formats.json_model import dump_json_model
from gml.formats.models import parse_model
from gml.gate.gaussian_families import spreads
from gml.gate.gaussian_structure import SHIFTED_ROWS, exchanges, shifts
from gml.gate.gaussian_tables import gaussian_table_checks
from gml.gate.mixed_families import number_nodes
from gml.gate.mixed_questions import NOTHING_KEPT
from gml.gate.structure_checks import PERMUTATION
from gml.gate.tails import log_f_tail
from gml.model.bayesnet import BayesNet, LinearGaussian
from gml.model.regression_rows import counts_within, cuts_of, decile_ranks
from tests.gate_reports import by_id, failing, run
from tests.stream_checks import number_table

EDGES = [("x", "-->", "y"), ("w", "-->", "y"), ("y", "-->", "v")]
GRAPH = gml.Graph.from_edges(["x", "w", "y", "v"], EDGES)


def families_of(net, data):
    """The regressions of a model of numbers beside those of other rows."""
    nodes = number_nodes(net, number_table(data), 0.01)
    return [family for node in nodes for family in node.families]


def errors_of(kind, n, rng):
    if kind == "laplace":
        return rng.laplace(size=n)
    if kind == "lognormal":
        return np.exp(rng.standard_normal(n)) - math.exp(0.5)
    return rng.standard_normal(n)


def rows(n, seed, kind="laplace", **changed):
    """x, w → y → v; `changed` has a coefficient, a shift, a spread or a new edge."""
    rng = np.random.default_rng(seed)
    x = 5 + 2 * errors_of(kind, n, rng)
    w = errors_of(kind, n, rng)
    y = 1 + changed.get("slope", 0.5) * x - w + changed.get("shift", 0.0)
    y = y + changed.get("sd", 1.0) * errors_of(kind, n, rng)
    v = 0.3 * y + changed.get("edge", 0.0) * x + errors_of(kind, n, rng)
    columns = {"x": x, "w": w, "y": y, "v": v}
    return Dataset(tuple(Variable(name, None) for name in columns), tuple(columns.values()))


def fitted(data, graph=GRAPH):
    return gml.fit(data, graph, threads=1)


@pytest.fixture(scope="module")
def model():
    return fitted(rows(5000, 0))


# ---------------------------------------------------------------------- what is kept


def test_effects_of_regressions_may_exceed_1(model):
    """A shift of 2 is about 1.4 sd of Laplace's errors."""
    data = rows(500, 5, shift=2.0)
    effect = by_id(run(model, data))["tables:y"].effect
    assert 1.2 < effect < 1.6
    assert "tables:y" in failing(run(model, data, min_effect={"tables": 1.2}))
    assert "tables:y" not in failing(run(model, data, min_effect={"tables": 1.6}))
    with pytest.raises(UsageError, match="1.6 is too large"):
        run(model, data, min_effect=1.6)


def test_another_unit_is_named_where_a_column_drifts(model):
    frame = rows(500, 5, "normal").to_frame().assign(x=lambda columns: 12 * columns["x"])
    message = by_id(run(fitted(rows(3000, 0, "normal")), frame))["schema:drift:x"].message
    assert "x: share " in message and "about 12 times: another unit?" in message


def test_the_sandwich_is_that_of_the_rows(model):
    """(X'X)⁻¹ Σ (e/(1−h))² xx' (X'X)⁻¹ of the raw columns, back in their units."""
    data = rows(5000, 0)
    x, w, y = (data.columns[data.index(name)] for name in "xwy")
    design = np.column_stack([np.ones(len(y)), x, w])
    inverse = np.linalg.inv(design.T @ design)
    beta = inverse @ design.T @ y
    error = y - design @ beta
    at = error / (1 - np.einsum("ni,ij,nj->n", design, inverse, design))
    expected = inverse @ (design.T * at**2) @ design @ inverse
    family = next(found for found in families_of(model, data) if found.variable.name == "y")
    assert [parent.name for parent in family.parents] == ["w", "x"]
    unit = family.cpd.sd / np.array([w.std(), x.std()])
    slopes = family.old.covariance[1:, 1:] * np.outer(unit, unit)
    np.testing.assert_allclose(slopes, expected[np.ix_([2, 1], [2, 1])], rtol=1e-9)
    assert family.old.fourth == pytest.approx(np.mean(error**4) / np.mean(error**2) ** 2, rel=1e-9)
    # The model's own rows have changed in nothing.
    np.testing.assert_allclose(family.new.change, 0, atol=1e-12)
    own, common = spreads(family.old, family.new)
    np.testing.assert_allclose(own.covariance, 2 * family.old.covariance, rtol=1e-7)
    np.testing.assert_allclose(common.covariance, own.covariance, rtol=1e-7)


def test_each_row_is_left_out_in_turn(model):
    """The mean ln density of a node, by fitting it again without each row."""
    data = rows(60, 3)
    net = fitted(data)
    total = []
    for k in range(60):
        keep = np.arange(60) != k
        cpd = fitted(data.rows(keep)).cpd("y")
        error = data.columns[2][k] - cpd.intercept
        for parent, slope in zip(cpd.parents, cpd.coefficients, strict=True):
            error -= slope * data.columns[data.index(parent.name)][k]
        total.append(scipy.stats.norm.logpdf(error, scale=cpd.sd))
    assert net.cpd("y").rows.fit.mean == pytest.approx(np.mean(total), rel=1e-9)


def test_shares_of_the_fit_add_up_to_the_variance_of_a_row():
    net = fitted(rows(2000, 4, "normal"))
    variance = math.fsum(cpd.rows.fit.covariance for cpd in net.cpds)
    # Of four normal nodes: ½ per node.
    assert variance == pytest.approx(2.0, rel=0.1)


def test_cuts_and_their_counts():
    assert [decile_ranks(n) for n in (1, 3)] == [[0] * 10, [0, 1, 1, 1, 2, 2, 2, 2, 2, 2]]
    ordered = np.arange(100.0)
    least, *deciles = ordered[decile_ranks(100)]
    assert cuts_of(least, deciles) == tuple(float(10 * k) for k in range(1, 10))
    assert counts_within(cuts_of(least, deciles), ordered).tolist() == [10] * 10
    assert cuts_of(0.0, [0.0] * 8 + [5.0]) == (5.0,)


def test_shifts_draw_what_exchanges_draw():
    rng = np.random.default_rng(4)
    u, v = rng.standard_t(3, size=1500), rng.exponential(size=1500) - 1
    one, other = (draw(u, v)((7, 8), 0, 3000) for draw in (exchanges, shifts))
    # The 0.1 % point of the distance of Kolmogorov and Smirnov.
    assert scipy.stats.ks_2samp(one, other).statistic < 1.95 * math.sqrt(2 / 3000)
    assert shifts(u, v)((7, 8), 0, 40).tolist() == other[:40].tolist()


def test_shifts_are_a_group():
    u, v = np.array([1.0, -2.0, 3.0, 0.0]), np.array([0.0, 1.0, -1.0, 5.0])
    drawn = {round(t, 12) for k in range(9) for t in shifts(u, v)((1, 1), k, k + 40)}
    own = float((u * v).sum() ** 2 / (u**2 * v**2).sum())
    assert len(drawn) <= 4
    assert round(own, 12) in drawn
    assert shifts(np.zeros(3), v[:3])((1, 1), 0, 2).tolist() == [0.0, 0.0]


def test_very_many_rows_are_shifted(model):
    found = by_id(run(model, rows(SHIFTED_ROWS, 5, edge=0.02)))["structure:v independent of x|y"]
    assert (found.status, found.test.split(":")[0]) == ("fail", PERMUTATION)
    assert failing(run(model, rows(SHIFTED_ROWS, 5))) == set()


def test_no_order_of_rows_or_columns_shows():
    data = rows(500, 5)
    rng = np.random.default_rng(1)
    order = rng.permutation(500)
    names = ["v", "y", "x", "w"]
    turned = Dataset(
        tuple(Variable(name, None) for name in names),
        tuple(data.columns[data.index(name)][order] for name in names),
    )
    model, again = fitted(data), fitted(turned)
    assert dump_json_model(model) == dump_json_model(again)
    other = gml.Graph.from_edges(names, reversed(EDGES))
    moved = fitted(turned, other)
    assert moved.cpd("y").rows.fit == model.cpd("y").rows.fit
    fresh = rows(300, 6, edge=0.3)
    shuffled = fresh.rows(np.ones(300, dtype=bool))
    shuffled = replace(shuffled, columns=tuple(c[::-1].copy() for c in fresh.columns)).select(names)
    assert by_id(run(model, fresh)) == by_id(run(model, shuffled))
    found = {k: (c.log_p, c.status) for k, c in by_id(run(moved, shuffled)).items()}
    assert found == {k: (c.log_p, c.status) for k, c in by_id(run(model, fresh)).items()}


def test_models_come_back_from_json(model):
    text = dump_json_model(model)
    assert parse_model(text, "m").cpds == model.cpds
    content = json.loads(text)
    del content["graph"]["hash"]
    kept = content["nodes"][2]["gaussian"]["rows"]
    for wrong in (
        {**kept, "counts": [1]},
        {**kept, "meat": [[1.0]]},
        {**kept, "fourth": "2"},
        {**kept, "counts": [-1] * len(kept["counts"])},
        {**kept, "cuts": kept["cuts"][::-1]},
        {**kept, "sds": [0.0] * len(kept["sds"])},
        {**kept, "fit": 3},
        [],
    ):
        content["nodes"][2]["gaussian"]["rows"] = wrong
        with pytest.raises(GraphError, match="m: .*rows"):
            parse_model(json.dumps(content), "m")


def test_numbers_that_floats_can_hardly_hold_are_fitted_as_before():
    tiny = Dataset((Variable("a", None),), (np.array([1e-320, 2e-320, 3e-320, 5e-320] * 10),))
    graph = gml.Graph.from_edges(["a"], [])
    assert fitted(tiny, graph).cpd("a").n == 40


# ---------------------------------------------------------------------- what fails


@pytest.mark.parametrize(
    ("changed", "right"),
    [
        ({"shift": 0.7}, "tables:y"),
        ({"slope": 0.3}, "tables:y"),
        ({"slope": 0.3}, "structure:x->y"),
        ({"sd": 1.6}, "tables:y:sd"),
        ({"edge": 0.3}, "structure:v independent of x|y"),
        ({"sd": 1.6}, "fit:likelihood"),
    ],
)
@pytest.mark.parametrize("kind", ["normal", "laplace"])
def test_planted_faults_are_named(changed, right, kind):
    net = fitted(rows(5000, 7, kind))
    report = run(net, rows(1000, 8, kind, **changed))
    assert right in failing(report)
    # The column whose regression changed, and the distributions of what depends on it
    column, about_it = (
        ("v", r"tables:v(:\w+)?|structure:(y->v|v independent of .*)|schema:\w+:v")
        if "edge" in changed
        else ("y", r"tables:y(:\w+)?|structure:\w->y|schema:\w+:[yv]")
    )
    others = failing(report) - {"fit:likelihood"}
    assert [name for name in sorted(others) if not re.fullmatch(about_it, name)] == []
    assert [culprit.columns for culprit in report.culprits] == [(column,)]


def test_a_shuffled_column_is_named(model):
    data = rows(1000, 9)
    columns = list(data.columns)
    columns[1] = np.random.default_rng(2).permutation(columns[1])
    found = failing(run(model, replace(data, columns=tuple(columns))))
    assert {"structure:w->y", "tables:y", "fit:likelihood"} <= found
    assert "schema:drift:w" not in found


def test_drift_is_seen_in_the_cuts(model):
    data = rows(1000, 10)
    columns = list(data.columns)
    columns[0] = columns[0] * 1.5
    check = by_id(run(model, replace(data, columns=tuple(columns))))["schema:drift:x"]
    assert check.status == "fail"
    assert sum(check.new["counts"]) == 1000
    assert check.effect == pytest.approx(
        0.5 * np.abs(np.subtract(check.old["p"], check.new["p"])).sum()
    )


def test_a_relation_that_hangs_on_one_huge_row():
    """Means and variances say nothing there; where the errors lie does."""
    before, after = rows(1000, 30), rows(1000, 31)
    for data, seed in ((before, 1), (after, 2)):
        for name in ("x", "y"):
            column = data.columns[data.index(name)]
            column.flags.writeable = True
            column[seed] = 5000.0
    net = fitted(before)
    assert not run(net, after).failed
    columns = list(after.columns)
    columns[2] = np.random.default_rng(3).permutation(columns[2])
    assert "tables:y:errors" in failing(run(net, replace(after, columns=tuple(columns))))


def test_errors_of_few_values_are_not_moved_by_rounding():
    """A regression on whole numbers: masses of equal errors, at any of which a cut may lie."""
    rng = np.random.default_rng(6)
    variables = tuple(Variable(name, None) for name in "ab")

    def drawn(n):
        a = rng.integers(0, 3, n) + 1e6
        return Dataset(variables, (a, (a + rng.integers(0, 2, n)) * 0.1))

    graph = gml.Graph.from_edges(["a", "b"], [("a", "-->", "b")])
    data = drawn(900)
    check = by_id(run(fitted(data, graph), data))["tables:b:errors"]
    assert check.statistic == 0
    assert len(check.old["counts"]) > 3


def test_effects_are_in_standard_deviations(model):
    """A shift of one standard deviation of the errors has the effect 1."""
    sd = model.cpd("y").sd
    check = by_id(run(model, rows(100_000, 11, shift=sd)))["tables:y"]
    assert check.effect == pytest.approx(1, abs=0.03)
    assert check.effect_unit == "sd of the errors"
    wider = by_id(run(model, rows(100_000, 11, sd=math.e)))["tables:y:sd"]
    assert wider.effect == pytest.approx(1, abs=0.06)


def test_parents_that_moved_are_no_change_of_the_regression(model):
    data = rows(1000, 12)
    moved = data.rows(data.columns[0] > 5)
    found = failing(run(model, moved))
    assert "schema:drift:x" in found
    assert not {"tables:y", "tables:y:sd", "structure:x->y"} & found


def test_a_parent_that_no_longer_varies(model):
    data = rows(500, 13)
    columns = list(data.columns)
    columns[0] = np.full(500, 5.0)
    columns[2] = 1 + 0.5 * 5 - columns[1] + np.random.default_rng(3).laplace(size=500)
    report = by_id(run(model, replace(data, columns=tuple(columns))))
    assert report["structure:x->y"].status == "insufficient"
    # What can be told is that y at x = 5 is as it was.
    assert report["tables:y"].status == "pass"
    assert report["tables:y"].df == 2
    assert report["structure:w independent of x"].status == "insufficient"


def test_few_rows_cannot_tell(model):
    statuses = {c.kind: c.status for c in run(model, rows(20, 14)).checks}
    for kind in ("regression", "sd", "edge", "independence", "likelihood"):
        assert statuses[kind] == "insufficient"


# ---------------------------------------------------------------------- columns and cells


def test_cells_that_are_no_numbers(model):
    frame = rows(200, 15).to_frame().astype({"w": object})
    frame.loc[5, "w"] = "n/a!"
    frame.loc[9, "w"] = "n/a!"
    report = by_id(run(model, frame))
    check = report["schema:numbers:w"]
    assert (check.status, check.row, check.new["text"]) == ("fail", 6, ["n/a!"])
    assert check.effect == pytest.approx(0.01)
    assert "n/a!" in check.message
    assert report["tables:y"].rows_new == 198
    assert report["tables:v"].rows_new == 200
    assert report["schema:missing:w"].new["missing"] == 0


def test_missing_columns_and_gaps(model):
    frame = rows(200, 15).to_frame()
    report = run(model, frame.drop(columns="w"))
    assert failing(report) == {"schema:column:w"}
    assert by_id(report)["fit:likelihood"].status == "insufficient"
    frame.loc[:49, "x"] = np.nan
    assert failing(run(model, frame)) == {"schema:missing:x"}
    assert by_id(run(model, frame))["fit:likelihood"].rows_new == 150


def test_a_column_that_is_left_out(model):
    report = run(model, rows(200, 15).to_frame(), exclude=["w"])
    assert not report.failed
    assert not any("w" in check.variables for check in report.checks)


def test_options_that_make_labels_are_refused(model):
    with pytest.raises(UsageError, match="`bins=4` contradicts the model, which declares numbers"):
        run(model, rows(50, 1).to_frame(), bins=4)


def test_a_row_that_counts_twice_is_two_rows(model):
    data = rows(200, 16)
    weights = np.random.default_rng(4).integers(0, 4, 200)
    weighted = replace(data, weights=weights)
    repeated = replace(data, columns=tuple(np.repeat(c, weights) for c in data.columns))
    one, other = by_id(run(model, weighted)), by_id(run(model, repeated))
    assert {k: (c.log_p, c.effect) for k, c in one.items()} == {
        k: (c.log_p, c.effect) for k, c in other.items()
    }
    assert fitted(weighted).cpds == fitted(repeated).cpds


@pytest.mark.parametrize("value", [1e30, -1e120, 1.7e308])
def test_sentinels_of_any_size(model, value):
    frame = rows(200, 15).to_frame()
    frame.loc[:39, "y"] = value
    assert "schema:drift:y" in failing(run(model, frame))


@pytest.mark.parametrize("factor", [0.0, -1.0, 1e200])
def test_figures_that_no_rows_can_have(model, factor):
    """A damaged file may say anything: what rests on it is not decided, and all else as before."""
    cpd = model.cpd("y")
    spoilt = replace(
        cpd.rows,
        meat=tuple(tuple(factor * x for x in row) for row in cpd.rows.meat),
        correlations=tuple(tuple(factor * x for x in row) for row in cpd.rows.correlations),
        fourth=factor,
        counts=(0,) * len(cpd.rows.counts),
    )
    cpds = [replace(c, rows=spoilt) if c is cpd else c for c in model.cpds]
    data = rows(200, 15)
    sound = by_id(run(model, data))
    found = by_id(run(BayesNet(tuple(cpds)), data))
    undecided = {name for name, check in found.items() if check.status == "insufficient"}
    assert undecided == {
        "schema:drift:y",
        "tables:y",
        "tables:y:sd",
        "tables:y:errors",
        "structure:w->y",
        "structure:x->y",
        "fit:likelihood",
    }
    for name in found.keys() - undecided:
        assert (found[name].status, found[name].log_p) == (sound[name].status, sound[name].log_p)


def test_an_engine_without_rows_answers_what_its_sums_say(model):
    class WithoutRows(gml.MemoryCounter):
        def rows(self):
            return None

    of_sums = run(model, WithoutRows(rows(50, 1), threads=1))
    assert (
        "ranges, drift, errors, the independences of numbers and the fit were" in of_sums.notes[0]
    )
    asked = {check.id for check in of_sums.checks}
    assert asked < {check.id for check in run(model, rows(50, 1)).checks}
    assert {"schema:missing:y", "tables:y", "tables:y:sd", "structure:x->y"} <= asked


def test_the_least_likely_row(model):
    frame = rows(100, 17).to_frame()
    frame.loc[41, "y"] = 99.0
    (row,) = run(model, frame, unlikely_rows=1).unlikely
    assert (row.row, row.column, row.value) == (42, "y", "99")
    assert dict(row.given) == {name: f"{frame.loc[41, name]:.6g}" for name in ("x", "w")}
    assert row.probability < 1e-100
    assert row.log_probability < -1000


# ---------------------------------------------------------------------- models that keep nothing


def test_an_older_model_says_what_cannot_be_checked(model):
    bare = BayesNet(tuple(replace(cpd, rows=None) for cpd in model.cpds))
    report = run(bare, rows(500, 18, edge=0.5))
    assert NOTHING_KEPT in report.notes
    # Independences need the new rows alone; given y, which both cause, w tells of x.
    assert failing(report) == {"structure:v independent of x|y", "structure:v independent of w|y"}
    undecided = {c.kind for c in report.checks if c.status == "insufficient"}
    assert undecided == {"regression", "sd", "errors", "edge", "drift", "likelihood"}


def test_a_model_made_by_hand():
    x = Variable("x", None)
    net = BayesNet((LinearGaussian(x, (), 0.0, (), 1.0),))
    assert not run(net, Dataset((x,), (np.arange(50.0),))).failed


# ---------------------------------------------------------------------- baseline


def test_a_dependence_that_was_accepted_must_grow():
    before = rows(4000, 19, edge=0.03)
    net = fitted(before)
    baseline = run(net, before).accepted()
    name = "structure:v independent of x|y"
    assert name not in baseline.accepted
    same = run(net, rows(40_000, 20, edge=0.03), baseline=baseline)
    assert by_id(run(net, rows(40_000, 20, edge=0.03)))[name].status == "fail"
    assert not same.failed
    assert name in failing(run(net, rows(40_000, 20, edge=0.4), baseline=baseline))
    strong = rows(4000, 19, edge=0.5)
    accepted = run(fitted(strong), strong).accepted()
    assert name in accepted.accepted


# ---------------------------------------------------------------------- level


def test_the_tail_of_f():
    for f, df1, df2 in ((0.01, 1, 50), (1.0, 3, 20), (4.0, 2, 1e5), (60.0, 5, 90), (0.5, 7, 1e6)):
        assert log_f_tail(f, df1, df2) == pytest.approx(
            scipy.stats.f.logsf(f, df1, df2), rel=1e-7, abs=1e-12
        )
    assert log_f_tail(0.0, 2, 10) == 0
    assert log_f_tail(1e9, 1, 1e5) < -1e5


@pytest.mark.parametrize("kind", ["normal", "laplace", "lognormal"])
def test_regressions_keep_their_level(kind):
    """At level 0.01 from 100 rows, in 100 runs of four nodes: at most 4 of each are expected."""
    hits = {"regression": 0, "sd": 0, "errors": 0}
    classic = 0
    for k in range(100):
        before, after = rows(500, [k, 1], kind), rows(100, [k, 2], kind)
        net = fitted(before)
        families = families_of(net, after)
        for question in gaussian_table_checks(families, 4):
            hits[question.check.kind] += question.check.log_p <= math.log(0.01)
        ratio = np.mean([family.new.variance for family in families[:1]])
        p = scipy.stats.f.sf(ratio, 99, 499)
        classic += 2 * min(p, 1 - p) <= 0.01
    # P(X > 9) < 0.01 for X binomial with 400 and 0.01, if the nodes were independent.
    assert max(hits.values()) <= 9, hits
    if kind != "normal":
        assert classic >= 5, "the F test is what these tests are instead of"


@pytest.mark.parametrize("kind", ["laplace", "lognormal"])
def test_a_run_keeps_its_promise(kind):
    """At α = 0.05 in 60 runs."""
    alarms = 0
    for k in range(60):
        before, after = rows(500, [k, 3], kind), rows(150, [k, 4], kind)
        alarms += run(fitted(before), after, alpha=0.05, seed=k).failed
    # P(X > 7) = 0.01 for X binomial with 60 and 0.05.
    assert alarms <= 7


def test_a_row_of_great_leverage_hides_no_dependence():
    """Where one wrong cell decides a regression, an independence was not seen to hold."""
    rng = np.random.default_rng(5)

    def table(n, wrong):
        y = rng.normal(0, 1, n)
        x = y + rng.normal(0, 0.05, n)
        t = x - y + rng.normal(0, 0.1, n)
        y[:wrong] = 50.0
        return pd.DataFrame({"x": x, "y": y, "t": t})

    graph = gml.Graph.from_edges(["x", "y", "t"], [("y", "-->", "x")])
    net = gml.fit(table(4000, 1), graph, gaussian=True, accept=True)
    report = gml.check(table(4000, 0), net, families="structure")
    status = {check.id: check.status for check in report.checks}
    assert status["structure:t independent of x|y"] != "fail"
    clean = gml.fit(table(4000, 0), graph, gaussian=True)
    alone = gml.check(table(4000, 0), clean, families="structure")
    assert {c.id for c in alone.ranked("fail")} == {"structure:t independent of x|y"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("correlations", [[1, 5, 0], [5, 1, 0], [0, 0, 1]]),
        ("correlations", [[1, 0.5, 0], [0.2, 1, 0], [0, 0, 1]]),
        ("meat", [[-1, 0, 0], [0, 1, 0], [0, 0, 1]]),
        ("fourth", -5),
        ("counts", [0] * 10),
    ],
)
def test_moments_that_no_rows_can_have_are_refused(tmp_path, key, value):
    net = fitted(rows(200, 1))
    path = tmp_path / "model.json"
    net.to_file(path)
    content = json.loads(path.read_text())
    del content["graph"]["hash"]
    node = next(n for n in content["nodes"] if len(n["parents"]) == 2)
    assert len(node["gaussian"]["rows"]["counts"]) == 10
    node["gaussian"]["rows"][key] = value
    path.write_text(json.dumps(content))
    with pytest.raises(GraphError, match="rows of the regression of"):
        gml.BayesNet.from_file(path)


@pytest.mark.parametrize("value", [1e9, 1e200])
def test_one_absurd_number_does_not_switch_the_gate_off(model, value):
    broken = rows(1000, 17, slope=0.0).to_frame()
    assert "structure:x->y" in failing(run(model, broken))
    broken.loc[999, "x"] = value
    report = run(model, broken)
    assert "structure:x->y" in failing(report)
    (note,) = [note for note in report.notes if "far outside the old range" in note]
    assert note.endswith(f"x={value:g} in row 1000")


def test_a_model_of_rows_that_came_three_times_says_so():
    once = rows(300, 3).to_frame()
    with pytest.warns(gml.GmlWarning, match="multiple of 3 times"):
        net = gml.fit(pd.concat([once] * 3), GRAPH, gaussian=True)
    notes = run(net, rows(300, 4)).notes
    assert any("the model was fitted on rows that came 3 times" in note for note in notes)
