"""Runs of checks on small networks: what fails, what is named, and what must not matter."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import gml
from gml.data.dataset import Dataset, Variable
from gml.errors import DataError, UsageError
from gml.formats.baseline import dump_baseline, read_baseline
from gml.gate.check import Check
from gml.gate.decision import decide
from gml.gate.question import Question
from gml.gate.result import baseline_of
from gml.gate.run import check_model
from gml.gate.settings import CheckSettings, Context, MissingCells
from gml.learners.chowliu import chow_liu
from gml.model.baseline import Baseline, Reference
from gml.model.bayesnet import CPT, BayesNet
from gml.model.fit import fit as fit_tables

from ..networks import fitted

YES_NO = ("no", "yes")


def sprinkler():
    """cloudy → rain, cloudy → sprinkler, both → wet; ternary rain."""
    cloudy = Variable("cloudy", YES_NO)
    rain = Variable("rain", ("none", "some", "much"))
    sprinkler = Variable("sprinkler", YES_NO)
    wet = Variable("wet", YES_NO)
    return BayesNet(
        (
            CPT(cloudy, (), np.array([[0.5, 0.5]])),
            CPT(rain, (cloudy,), np.array([[0.7, 0.2, 0.1], [0.2, 0.4, 0.4]])),
            CPT(sprinkler, (cloudy,), np.array([[0.5, 0.5], [0.9, 0.1]])),
            CPT(
                wet,
                (rain, sprinkler),
                np.array([[0.95, 0.05], [0.3, 0.7], [0.4, 0.6], [0.1, 0.9], [0.1, 0.9], [0.02, 0.98]]),
            ),
        )
    )  # fmt: skip


def with_table(net, name, table):
    return BayesNet(
        tuple(
            replace(cpt, table=np.array(table)) if cpt.variable.name == name else cpt
            for cpt in net.cpds
        )
    )


@pytest.fixture(scope="module")
def model():
    return fitted(sprinkler())


def failures(report):
    return [check.id for check in report.ranked("fail")]


def run(model, rows, **settings):
    return check_model(model, rows, CheckSettings(threads=1, **settings))


# ---------------------------------------------------------------------- what fails


def test_nothing_changed(model):
    report = run(model, sprinkler().sample(4000, seed=2))
    assert not report.failed
    assert failures(report) == []
    assert report.rows == 4000
    assert report.model_rows == 4000
    assert {check.family for check in report.checks} == {"schema", "tables", "structure", "fit"}
    # 4 columns, 4 times levels, 11 rows of tables, 3 tables of several rows, 6 pairs, 1 fit
    assert len(report.checks) == 4 + 4 + (1 + 2 + 2 + 6) + 3 + 6 + 1


def test_a_row_of_a_table(model):
    changed = with_table(sprinkler(), "rain", [[0.7, 0.2, 0.1], [0.3, 0.4, 0.3]])
    report = run(model, changed.sample(4000, seed=2), families=("tables",))
    # The table as a whole shifted too, but not as surely.
    assert failures(report) == ["tables:rain|cloudy=yes", "tables:rain"]
    check = report.ranked("fail")[0]
    assert check.variables == ("rain",)
    assert check.given == (("cloudy", "yes"),)
    assert check.old["levels"] == ["none", "some", "much"]
    assert sum(check.old["counts"]) == check.rows_old
    assert sum(check.new["counts"]) == check.rows_new
    shares = [np.array(side["counts"]) / sum(side["counts"]) for side in (check.old, check.new)]
    assert check.effect == pytest.approx(0.5 * np.abs(shares[0] - shares[1]).sum())
    assert check.old["p"] == pytest.approx(shares[0])


def test_a_new_edge(model):
    """Rows where the sprinkler depends on the rain as well."""
    rows = sprinkler().sample(4000, seed=2)
    rng = np.random.default_rng(0)
    rain, column = rows.columns[1], rows.columns[2].copy()
    column[(rain == 2) & (rng.random(4000) < 0.5)] = 1
    changed = Dataset(rows.variables, (rows.columns[0], rain, column, rows.columns[3]))
    report = run(model, changed, families=("structure",))
    assert failures(report)[0] == "structure:rain independent of sprinkler|cloudy"
    assert report.ranked("fail")[0].effect > 0.01


def test_a_lost_edge(model):
    changed = with_table(sprinkler(), "sprinkler", [[0.7, 0.3], [0.7, 0.3]])
    report = run(model, changed.sample(4000, seed=2), families=("structure",))
    assert failures(report) == ["structure:cloudy->sprinkler"]
    (check,) = report.ranked("fail")
    assert check.old["nats"] > 0.08 > 0.005 > check.new["nats"]
    assert check.effect == pytest.approx(check.old["nats"] - check.new["nats"], abs=1e-3)


def test_a_drifted_marginal_with_the_rest_kept(model):
    changed = with_table(sprinkler(), "cloudy", [[0.9, 0.1]])
    report = run(model, changed.sample(4000, seed=2), families=("schema", "tables", "structure"))
    assert failures(report) == ["tables:cloudy|"]


def test_a_swapped_label(model):
    rows = sprinkler().sample(4000, seed=2)
    columns = (*rows.columns[:3], 1 - rows.columns[3])
    report = run(model, Dataset(rows.variables, columns))
    assert all(
        "wet" in check.variables for check in report.ranked("fail") if check.kind != "likelihood"
    )
    assert len([name for name in failures(report) if name.startswith("tables:wet|")]) >= 4
    assert "fit:likelihood" in failures(report)


def test_a_renamed_label(model):
    rows = sprinkler().sample(4000, seed=2)
    variables = (*rows.variables[:3], Variable("wet", ("no", "Yes")))
    report = run(model, Dataset(variables, rows.columns), families=("schema",))
    assert failures(report) == ["schema:levels:wet"]
    (check,) = report.ranked("fail")
    assert check.new["unknown"] == ["Yes"]
    assert check.new["unknown rows"] == int(rows.columns[3].sum())


def test_a_rare_unknown_level_is_no_alarm(model):
    rows = sprinkler().sample(4000, seed=2)
    column = rows.columns[1].copy()
    column[7] = 3
    variables = (
        rows.variables[0],
        Variable("rain", ("none", "some", "much", "hail")),
        *rows.variables[2:],
    )
    data = Dataset(variables, (rows.columns[0], column, *rows.columns[2:]))
    assert not run(model, data).failed
    declared = Context(declared={"rain": ("none", "some", "much")})
    report = check_model(model, data, CheckSettings(threads=1), context=declared)
    assert failures(report) == ["schema:levels:rain"]


def test_a_column_that_is_not_there(model):
    rows = sprinkler().sample(4000, seed=2).select(["cloudy", "rain", "wet"])
    report = run(model, rows)
    assert failures(report) == ["schema:column:sprinkler"]
    asked = {check.id for check in report.checks}
    assert "tables:rain|cloudy=no" in asked
    assert not any(name.startswith(("tables:wet", "tables:sprinkler")) for name in asked)


def test_missing_rates(model):
    rows = sprinkler().sample(4000, seed=2)
    context = Context(
        missing_before={name: MissingCells(40 * (name == "rain"), 4000) for name in model.names},
        missing_now={
            name: MissingCells({"rain": 90, "wet": 3}.get(name, 0), 4000) for name in model.names
        },
    )
    settings = CheckSettings(threads=1, families=("schema",))
    report = check_model(model, rows, settings, context=context)
    assert failures(report) == ["schema:missing:rain"]
    (check,) = report.ranked("fail")
    assert check.effect == pytest.approx(50 / 4000)
    assert (check.old["rate"], check.new["rate"]) == (0.01, 0.0225)


def test_a_worse_fit_names_its_rows(model):
    changed = with_table(sprinkler(), "wet", [[0.5, 0.5]] * 6)
    report = run(model, changed.sample(2000, seed=2), families=("fit",))
    assert failures(report) == ["fit:likelihood"]
    (check,) = report.ranked("fail")
    assert check.effect > 0.3
    assert check.old["of wet"] > check.new["of wet"]
    assert len(report.unlikely) == 5
    assert [row.log_probability for row in report.unlikely] == sorted(
        row.log_probability for row in report.unlikely
    )
    rows = changed.sample(2000, seed=2)
    worst = report.unlikely[0]
    position = rows.index(worst.column)
    assert rows.variables[position].levels[rows.columns[position][worst.row - 1]] == worst.value


def test_a_better_fit_is_no_failure(model):
    changed = with_table(sprinkler(), "wet", [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])  # fmt: skip
    report = run(model, changed.sample(2000, seed=2), families=("fit",))
    assert not report.failed


def test_few_rows_cannot_tell(model):
    report = run(model, sprinkler().sample(3, seed=2))
    assert not report.failed
    status = {check.id: check.status for check in report.checks}
    assert status["fit:likelihood"] == "insufficient"
    assert "insufficient" in {status[name] for name in status if name.startswith("tables:wet")}


@pytest.mark.parametrize("exact", [False, True])
def test_rows_of_tables_without_data_are_one_check(exact):
    levels = tuple("abcd")
    parents = tuple(Variable(f"p{k}", levels) for k in range(7))
    even = np.full((4**7, 2), 0.5)
    net = BayesNet(
        (
            *(CPT(parent, (), np.full((1, 4), 0.25)) for parent in parents),
            CPT(Variable("child", YES_NO), parents, even),
        )
    )
    before, after = net.sample(60, seed=1), net.sample(40, seed=2)
    model = net if exact else fit_tables(net.graph, gml.MemoryCounter(before, threads=1))
    report = run(model, after, families=("tables",))
    of_child = [check for check in report.checks if check.variables == ("child",)]
    *rows, rest = (check for check in of_child if check.kind == "row")
    sides = (after,) if exact else (before, after)
    seen = {config for side in sides for config in zip(*side.columns[:7], strict=True)}
    assert len(rows) == len(seen)
    assert all(check.rows_new or check.rows_old for check in rows)
    assert rest.id == "tables:child|unseen"
    assert rest.status == "insufficient"
    assert f"{4**7 - len(seen)} of {4**7} configurations" in rest.message
    assert dict(rest.given) == dict.fromkeys(parent.name for parent in parents)


# ---------------------------------------------------------------------- models


def test_a_model_without_counts_is_taken_as_exact():
    net = sprinkler()
    assert not run(net, net.sample(20_000, seed=2)).failed
    report = run(fitted(net, 500), net.sample(20_000, seed=2))
    assert not report.failed
    stripped = BayesNet(tuple(replace(cpt, counts=None) for cpt in fitted(net, 500).cpds))
    exact = run(stripped, net.sample(20_000, seed=2))
    assert exact.failed, "500 rows are not the truth"
    assert any("exact" in note for note in exact.notes)
    impossible = with_table(net, "cloudy", [[1.0, 0.0]])
    report = run(impossible, net.sample(200, seed=2))
    assert {"tables:cloudy|", "fit:likelihood"} <= set(failures(report))


def test_models_that_cannot_be_checked():
    cpt = CPT(Variable("x", YES_NO), (), np.array([[0.5, 0.5]]), np.array([[1.5, 2.5]]))
    rows = Dataset((cpt.variable,), (np.zeros(5, dtype=np.uint8),))
    with pytest.raises(DataError, match="whole"):
        run(BayesNet((cpt,)), rows)
    with pytest.raises(UsageError, match="'shape' is not one of"):
        CheckSettings(families=("shape",))


# ---------------------------------------------------------------------- what must not matter


def test_neither_rows_nor_columns_nor_threads_matter(model):
    changed = with_table(sprinkler(), "rain", [[0.6, 0.3, 0.1], [0.3, 0.4, 0.3]])
    rows = changed.sample(3000, seed=2)
    rng = np.random.default_rng(1)
    order, names = rng.permutation(3000), ["wet", "rain", "cloudy", "sprinkler"]
    shuffled = Dataset(
        tuple(rows.variables[rows.index(name)] for name in names),
        tuple(rows.columns[rows.index(name)][order] for name in names),
    )
    first = check_model(model, rows, CheckSettings(threads=1))
    second = check_model(model, shuffled, CheckSettings(threads=3))
    assert first.checks == second.checks
    assert first.failed


def test_the_order_of_nodes_does_not_matter(model):
    rows = with_table(sprinkler(), "rain", [[0.6, 0.3, 0.1], [0.3, 0.4, 0.3]]).sample(3000, seed=2)
    turned = BayesNet(tuple(reversed(model.cpds)))
    first, second = (run(net, rows) for net in (model, turned))
    by_id = {check.id: check for check in second.checks}
    for check in first.checks:
        other = by_id[check.id]
        assert (check.log_p, check.effect, check.status) == (
            other.log_p,
            other.effect,
            other.status,
        )


def test_levels_in_another_order_do_not_matter(model):
    rows = sprinkler().sample(3000, seed=2)
    rain = Variable("rain", ("much", "none", "some"))
    codes = np.array([1, 2, 0], dtype=np.uint8)[rows.columns[1]]
    turned = Dataset(
        (rows.variables[0], rain, *rows.variables[2:]), (rows.columns[0], codes, *rows.columns[2:])
    )
    assert run(model, rows).checks == run(model, turned).checks


# ---------------------------------------------------------------------- decision


def question(name, p, *, effect=1.0, family="tables"):
    check = Check(
        name, family, "row", ("x",), log_p=None if p is None else math.log(p), effect=effect
    )
    return Question(check)


def test_holm_decides_and_bh_ranks():
    questions = [question(str(k), p) for k, p in enumerate((0.001, 0.003, 0.02, 0.9, None))]
    checks = decide(questions, CheckSettings(alpha=0.01, threads=1), accepted=())
    assert [check.status for check in checks] == ["fail", "fail", "pass", "pass", "pass"]
    adjusted = [math.exp(check.log_p_adjusted) for check in checks[:4]]
    assert adjusted == pytest.approx([0.004, 0.009, 0.04, 0.9])
    ranking = [math.exp(check.log_q) for check in checks[:4]]
    assert ranking == pytest.approx([0.004, 0.006, 0.02 * 4 / 3, 0.9])
    assert checks[4].log_p_adjusted is None


def test_what_is_accepted_leaves_the_family_first():
    questions = [question(str(k), p) for k, p in enumerate((0.004, 0.001, 0.9))]
    settings = CheckSettings(alpha=0.01, threads=1)
    assert [c.status for c in decide(questions, settings, accepted=())] == ["fail", "fail", "pass"]
    questions = [question(str(k), p) for k, p in enumerate((0.004, 0.5, 0.9))]
    assert [c.status for c in decide(questions, settings, accepted=())] == ["pass"] * 3
    checks = decide(questions, settings, accepted={"1", "2"})
    assert [c.status for c in checks] == ["fail", "baselined", "baselined"]


def test_small_effects_and_warnings():
    questions = [
        question("a", 1e-9, effect=0.01),
        question("b", 1e-9, effect=0.05),
        question("c", 1e-9, effect=None),
        question("d", 1e-9, effect=0.01, family="fit"),
    ]
    settings = CheckSettings(threads=1, min_effect={"tables": 0.05}, warn=("fit",))
    checks = decide(questions, settings, accepted=())
    assert [check.status for check in checks] == ["pass", "fail", "fail", "warn"]


# ---------------------------------------------------------------------- baselines


def test_a_baseline_accepts_what_is_known(model, tmp_path):
    rows = with_table(sprinkler(), "rain", [[0.5, 0.4, 0.1], [0.3, 0.4, 0.3]]).sample(4000, seed=2)
    report = run(model, rows)
    assert report.failed
    baseline = baseline_of(report.checks, report.rows)
    assert baseline.accepted == set(failures(report))
    path = tmp_path / "accepted.json"
    path.write_text(dump_baseline(baseline))
    assert read_baseline(path) == baseline
    again = check_model(model, rows, CheckSettings(threads=1), baseline=baseline)
    assert not again.failed
    assert again.counts["baselined"] == len(baseline.accepted)
    other = with_table(sprinkler(), "cloudy", [[0.7, 0.3]]).sample(4000, seed=3)
    assert failures(check_model(model, other, CheckSettings(threads=1), baseline=baseline)) == [
        "tables:cloudy|"
    ]


def test_a_dependence_that_was_there_before_is_no_news():
    """A graph that misses an edge: alarm without a baseline, none with that of the old rows."""
    truth = sprinkler()
    wrong = gml.Graph.from_edges(truth.names, [("cloudy", "-->", "rain"), ("cloudy", "-->", "sprinkler"), ("rain", "-->", "wet")])  # fmt: skip
    old, new = truth.sample(300, seed=5), truth.sample(3000, seed=6)
    model = fit_tables(wrong, gml.MemoryCounter(old, threads=1))
    name = "structure:sprinkler independent of wet|rain"
    assert name in failures(run(model, new))
    baseline = baseline_of(run(model, old, families=("structure",)).checks, old.n)
    # Whether it failed or not at that time, it is not news now.
    weak = Baseline(
        baseline.accepted - {name}, baseline.references | {name: Reference(60.0, 3.0, 300)}
    )
    for known in (baseline, weak):
        assert name not in failures(
            check_model(model, new, CheckSettings(threads=1), baseline=known)
        )
    # But it is if it was all but absent.
    absent = Baseline(frozenset(), {name: Reference(1.0, 3.0, 3000)})
    assert name in failures(check_model(model, new, CheckSettings(threads=1), baseline=absent))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not a JSON file"),
        ("[]", "not a baseline"),
        ('{"kind": "baseline", "accepted": ["a"]}', "accepted"),
        ('{"kind": "baseline", "references": []}', "references"),
        ('{"kind": "baseline", "references": {"a": {"statistic": 1, "df": 1}}}', "no number 'n'"),
        ('{"kind": "baseline", "references": {"a": {"statistic": -1, "df": 1, "n": 2}}}', "statistic"),
        ('{"kind": "baseline", "rows": "x"}', "rows"),
        (f'{{"kind": "baseline", "references": {{"a": {{"statistic": {"9" * 4000}, "df": 1, "n": 2}}}}}}', "number beyond 1.8e308"),
        ('{"kind": "baseline", "references": {"a": {"statistic": Infinity, "df": 1, "n": 2}}}', "Infinity is not a number"),
        ('{"kind": "baseline", "references": {"a": {"statistic": NaN, "df": 1, "n": 2}}}', "NaN is not a number"),
        (r'{"kind": "baseline", "accepted": [{"id": "\ud800"}]}', "not valid text"),
        (r'{"kind": "baseline", "references": {"\ud800": {"statistic": 1, "df": 1, "n": 2}}}', "not valid text"),
    ],
)  # fmt: skip
def test_bad_baselines(tmp_path, text, message):
    path = tmp_path / "b.json"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_baseline(path)


def test_what_could_not_be_tested_at_acceptance_is_no_news_later():
    """200 levels of z and 30 rows: nothing is known of x and y given z, and nothing changed."""
    rng = np.random.default_rng(1)
    levels = tuple(map(str, range(200)))
    variables = (Variable("z", levels), Variable("x", YES_NO), Variable("y", YES_NO))

    def rows(n):
        z, x = rng.integers(0, 200, n), rng.integers(0, 2, n)
        y = np.where(rng.random(n) < 0.9, x, 1 - x)
        return Dataset(variables, tuple(column.astype(np.uint8) for column in (z, x, y)))

    graph = gml.Graph.from_edges("zxy", [("z", "-->", "x"), ("z", "-->", "y")])
    name = "structure:x independent of y|z"
    unknown = 0
    for _ in range(6):
        old, new = rows(30), rows(4000)
        model = fit_tables(graph, gml.MemoryCounter(old, threads=1))
        accepted = run(model, old, families=("structure",))
        unknown += {c.id: c.status for c in accepted.checks}[name] == "insufficient"
        baseline = baseline_of(accepted.checks, old.n)
        assert name in failures(run(model, new, families=("structure",)))
        settings = CheckSettings(threads=1, families=("structure",))
        assert name not in failures(check_model(model, new, settings, baseline=baseline))
    assert unknown > 0


def test_swapped_labels_accuse_no_edge_that_lost_nothing():
    """Rows that are mirrored keep their information."""
    net = fitted(sprinkler(), 5000)
    rows = sprinkler().sample(5000, seed=9)
    mirrored = Dataset(rows.variables, (*rows.columns[:3], 1 - rows.columns[3]))
    edges = [c for c in run(net, mirrored).checks if c.kind == "edge" and "wet" in c.variables]
    assert len(edges) == 2
    assert {c.status for c in edges} == {"pass"}


# ---------------------------------------------------------------------- no alarm without a change


def independent_rows(rng, n, names, levels=2):
    variables = tuple(Variable(name, tuple(map(str, range(levels)))) for name in names)
    columns = tuple(rng.integers(0, levels, n).astype(np.uint8) for _ in names)
    return Dataset(variables, columns)


def test_a_tree_of_accidents_raises_no_alarm():
    """Chow and Liu find a tree in independent columns; new rows do not have it, as nothing changed."""
    rng = np.random.default_rng(2)
    names = [f"v{k:02}" for k in range(30)]
    for _ in range(3):
        old, new = independent_rows(rng, 1000, names), independent_rows(rng, 10_000, names)
        counter = gml.MemoryCounter(old, threads=1)
        model = fit_tables(chow_liu(counter).graph, counter)
        baseline = baseline_of(run(model, old).checks, old.n)
        report = check_model(model, new, CheckSettings(threads=1), baseline=baseline)
        assert failures(report) == []
        (fit,) = (check for check in report.checks if check.family == "fit")
        # The loss is there, and is what the choice of edges alone explains.
        assert fit.old["mean ln p"] - fit.new["mean ln p"] > 0.5 * fit.new["allowance"] > 0.01


def test_two_rare_values_that_meet_once_are_no_alarm():
    """One row of 10 000 has both: P = 1/10 000, and 45 columns have 990 pairs."""
    names = [f"v{k:02}" for k in range(45)]
    columns = [np.zeros(10_000, dtype=np.uint8) for _ in names]
    for k, column in enumerate(columns):
        column[17 if k < 2 else 100 + k] = 1
    data = Dataset(tuple(Variable(name, ("0", "1")) for name in names), tuple(columns))
    model = fit_tables(gml.Graph.from_edges(names, []), gml.MemoryCounter(data, threads=1))
    report = run(model, data, families=("structure",))
    (check,) = (c for c in report.checks if c.id == "structure:v00 independent of v01")
    assert math.exp(check.log_p) == pytest.approx(1e-4, rel=0.6)
    assert not report.failed


def test_tables_of_different_rows_have_no_common_fit():
    """y is asked only where x is 1, and so has fewer rows."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, 1000).astype(np.uint8)
    y = np.where(x == 1, rng.integers(0, 2, 1000), 255).astype(np.uint8)
    data = Dataset((Variable("x", YES_NO), Variable("y", YES_NO)), (x, y))
    model = fit_tables(gml.Graph.from_edges("xy", []), gml.MemoryCounter(data, threads=1))
    report = run(model, data)
    assert {c.id: c.status for c in report.checks}["fit:likelihood"] == "insufficient"
    assert not report.failed


def test_the_fit_of_an_exact_model_varies_node_by_node():
    """All rows are equally likely, so that ln p of a row does not vary, but its terms do."""
    a, b = Variable("a", YES_NO), Variable("b", tuple("012345678"))
    tables = np.array([[1 / 9] * 9, [1.0] + [0.0] * 8])
    net = BayesNet((CPT(a, (), np.array([[0.9, 0.1]])), CPT(b, (a,), tables)))
    alarms = sum(
        run(net, net.sample(1000, seed=seed), families=("fit",)).failed for seed in range(60)
    )
    assert alarms <= 4


def test_identifiers_are_apart_whatever_the_names():
    names = ["a", "b->c", "a->b", "c", "x independent of y", "x", "y"]
    names += ["b", "a independent of", "independent of b", "a-", ">b", "a ", " b"]
    variables = [Variable(name, YES_NO) for name in names]
    half = np.array([[0.5, 0.5]])
    cpts = {v.name: CPT(v, (), half) for v in variables}
    cpts["b->c"] = CPT(variables[1], (variables[0],), np.repeat(half, 2, axis=0))
    cpts["c"] = CPT(variables[3], (variables[2],), np.repeat(half, 2, axis=0))
    net = BayesNet(tuple(cpts.values()))
    model = fit_tables(net.graph, gml.MemoryCounter(net.sample(500, seed=1), threads=1))
    ids = [check.id for check in run(model, net.sample(500, seed=2)).checks]
    assert len(set(ids)) == len(ids)


def test_whole_numbers_in_a_baseline(tmp_path):
    path = tmp_path / "b.json"
    path.write_text(
        '{"kind": "baseline", "references": {"structure:rain independent of sprinkler|cloudy": {"statistic": 12, "df": 2, "n": 500}}}'
    )
    report = check_model(
        fitted(sprinkler()),
        sprinkler().sample(500, seed=3),
        CheckSettings(threads=1, alpha=0.9),
        baseline=read_baseline(path),
    )
    assert report.rows == 500
    path.write_text(
        '{"kind": "baseline", "references": {"a": {"statistic": 1e308, "df": 2, "n": 500}}}'
    )
    with pytest.raises(DataError, match="no number 'statistic'"):
        read_baseline(path)
