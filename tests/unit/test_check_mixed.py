"""Checks of models of labels and numbers: what fails, what must not matter, and the level."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

import gml
from gml.data.dataset import Dataset, Variable
from gml.errors import UsageError
from gml.formats.json_model import dump_json_model
from gml.formats.models import parse_model
from gml.gate.acceptance import unknown_ids
from gml.gate.errors_within import errors_within, exchanges_within
from gml.gate.lines_of_node import lines_of_node
from gml.gate.mixed_families import groups_without, number_nodes
from gml.gate.mixed_questions import NOTHING_KEPT
from gml.gate.run import examine
from gml.model.bayesnet import CPT, BayesNet, ConditionalGaussian
from tests.gate_reports import by_id, failing, run
from tests.stream_checks import number_table

LEVELS = {"a": ("x", "y"), "b": ("p", "q", "r"), "c": ("s", "t")}
NAMES = tuple("abcwuyz")
EDGES = [
    ("a", "-->", "b"),
    ("b", "-->", "u"),
    ("a", "-->", "y"),
    ("u", "-->", "y"),
    ("w", "-->", "y"),
    ("y", "-->", "z"),
]
GRAPH = gml.Graph.from_edges(list(NAMES), EDGES, numeric=list("wuyz"))


def errors_of(kind, n, rng):
    if kind == "laplace":
        return rng.laplace(size=n) / math.sqrt(2)
    if kind == "lognormal":
        return (np.exp(rng.standard_normal(n)) - math.exp(0.5)) / math.sqrt((math.e - 1) * math.e)
    return rng.standard_normal(n)


def rows(n, seed, kind="laplace", **changed):
    """a → b → u; a, u, w → y → z; c by itself. The errors of u grow with b."""
    rng = np.random.default_rng(seed)
    a = (rng.random(n) < 0.4).astype(np.uint8)
    shares = np.array([[0.5, 0.8, 1.0], changed.get("row", [0.2, 0.5, 1.0])])
    b = (rng.random(n)[:, None] > shares[a]).sum(axis=1).astype(np.uint8)
    c = (rng.random(n) < 0.5).astype(np.uint8)
    w = 5 + errors_of(kind, n, rng)
    u = changed.get("label", 1.0) * b + (0.5 + 0.5 * b) * errors_of(kind, n, rng)
    y = 1 + a + changed.get("slope", 1.0) * (0.5 + 0.5 * a) * u - 0.5 * w
    y = y + changed.get("shift", 0.0) + changed.get("sd", 1.0) * errors_of(kind, n, rng)
    y = y + changed.get("where", 0.0) * (a == 1)
    z = 0.6 * y + changed.get("edge", 0.0) * w + changed.get("of_label", 0.0) * c
    z = z + errors_of(kind, n, rng)
    columns = dict(zip(NAMES, (a, b, c, w, u, y, z), strict=True))
    variables = tuple(Variable(name, LEVELS.get(name)) for name in NAMES)
    return Dataset(variables, tuple(columns.values()))


def fitted(data, graph=GRAPH, **options):
    return gml.fit(data, graph, threads=1, **options)


@pytest.fixture(scope="module")
def model():
    return fitted(rows(5000, 0), GRAPH)


def with_column(data, name, column):
    columns = list(data.columns)
    columns[data.index(name)] = column
    return replace(data, columns=tuple(columns))


# ---------------------------------------------------------------------- what is asked


def test_every_configuration_is_asked_and_all_together(model):
    report = by_id(run(model, rows(1000, 1)))
    of_y = {name for name in report if name.startswith("tables:y")}
    assert of_y == {
        f"tables:y{where}{part}" for where in ("|a=x", "|a=y") for part in ("", ":sd", ":errors")
    } | {"tables:y", "tables:y:sd"}
    # Without parents that are numbers, values lie among their own deciles.
    assert {"tables:u|b=r:errors", "tables:u:errors"} <= report.keys()
    assert report["tables:y|a=x"].given == (("a", "x"), ("u", None), ("w", None))
    assert {"tables:b|a=x", "tables:b", "tables:c|", "tables:z", "tables:z:sd"} <= report.keys()
    assert {"structure:b->u", "structure:a->y", "structure:u->y", "structure:y->z"} <= report.keys()
    independences = [name for name in report if " independent of " in name]
    assert len(independences) == 7 * 6 // 2 - len(EDGES)
    for name in NAMES:
        kinds = ("levels",) if name in LEVELS else ("numbers", "drift", "range", "sentinel")
        assert {f"schema:{kind}:{name}" for kind in ("column", *kinds)} <= report.keys()
    assert {check.status for check in report.values()} == {"pass"}


def test_labels_are_checked_as_in_a_model_of_labels(model):
    """The same counts, and so the same answers, but for the number of nodes."""
    data = rows(1000, 2, row=[0.3, 0.5, 1.0])
    of_labels = BayesNet(tuple(cpd for cpd in model.cpds if isinstance(cpd, CPT)))
    alone = by_id(run(of_labels, data.select(list("abc"))))
    found = by_id(run(model, data))
    for name, check in alone.items():
        if name.startswith(("tables:", "structure:", "schema:levels")):
            assert (found[name].statistic, found[name].effect) == (check.statistic, check.effect)
    assert "tables:b|a=y" in failing(run(model, data))


def test_a_configuration_is_checked_as_a_model_of_its_rows(model):
    """The rows of a=y by themselves are a model of numbers."""
    before, after = rows(5000, 0), rows(800, 3, shift=0.2)
    graph = gml.Graph.from_edges(list("wuy"), [("u", "-->", "y"), ("w", "-->", "y")])
    names = list("wuy")
    inside = [data.rows(data.columns[0] == 1).select(names) for data in (before, after)]
    alone = by_id(run(fitted(inside[0], graph), inside[1]))
    found = by_id(run(model, after))
    for part in ("", ":errors"):
        one, other = alone[f"tables:y{part}"], found[f"tables:y|a=y{part}"]
        assert other.statistic == pytest.approx(one.statistic, rel=1e-6)
        assert other.new == pytest.approx(one.new) if part == "" else other.new == one.new
        assert (other.rows_old, other.rows_new) == (one.rows_old, one.rows_new)


def test_independences_within_labels_are_those_of_centred_columns():
    """Of two numbers given a label: Σ e e′ over its configurations, by hand."""
    data = rows(600, 4)
    graph = gml.Graph.from_edges(list("buw"), [("b", "-->", "w")], numeric=["u", "w"])
    three = data.select(list("buw"))
    report = by_id(run(fitted(three, graph), three))
    b, w, u = (data.columns[data.index(name)] for name in "bwu")
    e = [column - np.array([column[b == k].mean() for k in range(3)])[b] for column in (w, u)]
    r = float(np.sum(e[0] * e[1]) / math.sqrt(np.sum(e[0] ** 2) * np.sum(e[1] ** 2)))
    nats = report["structure:u independent of w|b"].new["nats"]
    assert nats == pytest.approx(-0.5 * math.log(1 - r * r), rel=1e-9)


def test_a_label_and_a_number_are_compared_as_means_are():
    """c and z without anything given: the test of Welch, but for degrees of freedom."""
    data = rows(3000, 5, of_label=0.2)
    graph = gml.Graph.from_edges(["c", "z"], [], numeric=["z"])
    both = data.select(["c", "z"])
    check = by_id(run(fitted(both, graph), both))["structure:c independent of z"]
    z, c = both.columns[1], both.columns[0]
    expected = scipy.stats.ttest_ind(z[c == 0], z[c == 1], equal_var=False).pvalue
    assert check.statistic == pytest.approx(scipy.stats.chi2.isf(expected, 1), rel=0.02)
    assert check.df == 1


def test_exchanges_keep_configurations():
    rng = np.random.default_rng(3)
    label = rng.integers(0, 3, 90).astype(float)
    found = errors_within([rng.normal(size=90), rng.normal(size=90), label], 1, is_label=False)
    assert found.ends[-1] == 90
    # With other errors in one configuration only, the exchange of the rest cannot move it.
    lone = replace(found, number=np.where(np.arange(90) < found.ends[0], found.number, 0.0))
    drawn = exchanges_within(lone)((1, 2), 0, 200)
    products = lone.number * lone.others[:, 0]
    assert drawn.max() <= found.ends[0]
    assert products[found.ends[0] :].any() == 0


@pytest.mark.parametrize("n_numbers", [0, 1, 2])
@pytest.mark.parametrize("n_labels", [0, 1])
def test_errors_of_levels_in_short_are_those_row_by_row(n_labels, n_numbers):
    rng = np.random.default_rng(7)
    n = 600
    # The last level is rare, and one configuration has fewer terms: a number does not vary there.
    level = np.minimum(rng.integers(0, 6, n), 4) + (np.arange(n) < 3)
    label = rng.integers(0, 4, n)
    numbers = [np.where(label == 2, 1.0, rng.normal(size=n)) for _ in range(n_numbers)]
    columns = [rng.normal(size=n) + level, level, *[label][:n_labels], *numbers]
    found = errors_within(
        [np.asarray(column, dtype=float) for column in columns], n_labels, is_label=True
    )
    assert found.size == found.levels.size == 5
    weights = rng.random(found.n)
    dense = (found.others * weights[:, None]).T @ found.others
    assert found.levels.spread(weights) == pytest.approx(dense, rel=1e-9, abs=1e-9)
    assert found.levels.sums(weights) == pytest.approx(weights @ found.others, rel=1e-9, abs=1e-9)
    # The first exchange by hand, of the whole table of products.
    moved = found.number.copy()
    rng = np.random.default_rng([1, 2, 0])
    for begin, end in zip([0, *found.ends], found.ends, strict=False):
        moved[begin:end] = rng.permuted(np.tile(moved[begin:end], (1, 1)), axis=1)[0]
    sums, errors = moved @ found.others, found.others * moved[:, None]
    expected = sums @ np.linalg.solve(errors.T @ errors, sums)
    assert exchanges_within(found)((1, 2), 0, 1) == pytest.approx([expected], rel=1e-8)


# ---------------------------------------------------------------------- information


def test_information_is_what_a_pooled_regression_loses(model):
    """I = ½ ln of residual variances, with the rows of the model by hand."""
    data = rows(5000, 0)
    a, u, w, y = (data.columns[data.index(name)] for name in "auwy")
    (node,) = (n for n in number_nodes(model, number_table(data, "abc"), 0.01) if n.name == "y")
    lines = lines_of_node(node.families)
    assert isinstance(node.cpd, ConditionalGaussian)

    def left(chosen, *columns):
        design = np.column_stack([np.ones(chosen.sum()), *(c[chosen] for c in columns)])
        slopes, *_ = np.linalg.lstsq(design, y[chosen], rcond=None)
        return float(np.mean((y[chosen] - design @ slopes) ** 2))

    every = np.ones(len(y), dtype=bool)
    shares = [float((a == k).mean()) for k in (0, 1)]
    inside = sum(p * math.log(left(a == k, u, w)) for k, p in enumerate(shares))
    groups = groups_without(node.cpd, node.places, ["a"])
    told = lines.old.information(groups, [0, 1, 2])
    assert told.nats == pytest.approx(0.5 * (math.log(left(every, u, w)) - inside), abs=1e-3)
    without = sum(p * math.log(left(a == k, w)) for k, p in enumerate(shares))
    # Terms are in the order of names: u, w.
    of_u = lines.old.information(np.array([0, 1]), [0, 2])
    assert of_u.nats == pytest.approx(0.5 * (without - inside), abs=1e-3)
    assert node.weak == () and node.allowance > 0


def test_gradients_of_information_are_its_differences(model):
    (node,) = (
        n for n in number_nodes(model, number_table(rows(9, 1), "abc"), 0.01) if n.name == "u"
    )
    lines = lines_of_node(node.families).old
    groups, terms = np.zeros(3, dtype=np.int64), [0]
    told = lines.information(groups, terms)
    for c in range(3):
        slopes, variances = lines.slopes.copy(), lines.variances.copy()
        slopes[c, 0] += 1e-6
        moved = replace(lines, slopes=slopes).information(groups, terms).nats - told.nats
        assert moved / 1e-6 == pytest.approx(told.by_slopes[c, 0], abs=1e-5)
        variances[c] *= math.exp(1e-6)
        moved = replace(lines, variances=variances).information(groups, terms).nats - told.nats
        assert moved / 1e-6 == pytest.approx(told.by_variances[c], abs=1e-5)


def test_a_parent_that_tells_nothing_is_weak():
    graph = gml.Graph.from_edges(
        list(NAMES), [*EDGES, ("c", "-->", "u"), ("w", "-->", "u")], numeric=list("wuyz")
    )
    net = fitted(rows(2000, 6), graph)
    (node,) = (
        n for n in number_nodes(net, number_table(rows(500, 7), "abc"), 0.01) if n.name == "u"
    )
    assert set(node.weak) == {"c", "w"}
    report = by_id(run(net, rows(500, 7)))
    for name in ("structure:c->u", "structure:w->u"):
        assert "too weak" in report[name].message
        assert report[name].log_p is None
    assert "too weak" not in report["structure:b->u"].message


# ---------------------------------------------------------------------- what fails


@pytest.mark.parametrize(
    ("changed", "right", "column"),
    [
        ({"shift": 0.5}, {"tables:y", "tables:y|a=x", "tables:y|a=y"}, "y"),
        ({"where": 0.7}, {"tables:y|a=y", "tables:y"}, "y"),
        ({"slope": 0.5}, {"tables:y", "structure:u->y"}, "y"),
        ({"sd": 1.6}, {"tables:y:sd", "tables:y|a=x:sd", "fit:likelihood"}, "y"),
        ({"label": 0.3}, {"tables:u", "tables:u|b=r", "structure:b->u"}, "u"),
        ({"edge": 0.4}, {"structure:w independent of z|y"}, "z"),
        ({"of_label": 0.6}, {"structure:c independent of z|y"}, None),
        ({"row": [0.5, 0.8, 1.0]}, {"tables:b|a=y"}, "b"),
    ],
)
@pytest.mark.parametrize("kind", ["normal", "laplace"])
def test_planted_faults_are_named(changed, right, column, kind):
    net = fitted(rows(5000, 7, kind))
    report = run(net, rows(1500, 8, kind, **changed))
    assert right <= failing(report)
    if column is not None:
        assert column in report.culprits[0].columns
    # What does not involve the node or what depends on it is as it was.
    untouched = r"tables:[acw].*|structure:a independent of c|schema:\w+:[acw]"
    assert not [name for name in failing(report) if re.fullmatch(untouched, name)]


def test_a_shift_that_no_configuration_shows_alone(model):
    found = failing(run(model, rows(300, 21, shift=0.4)))
    assert "tables:y" in found
    assert not {"tables:y|a=x", "tables:y|a=y"} & found


@pytest.mark.parametrize("name", ["b", "u", "y"])
def test_a_shuffled_column_is_named(model, name):
    data = rows(1500, 9)
    mixed = np.random.default_rng(2).permutation(data.columns[data.index(name)])
    report = run(model, with_column(data, name, mixed))
    lost = {"b": "structure:b->u", "u": "structure:u->y", "y": "structure:y->z"}[name]
    assert lost in failing(report)
    assert f"schema:drift:{name}" not in failing(report)
    assert name in report.culprits[0].columns


def test_labels_that_moved_are_no_change_of_the_regressions(model):
    data = rows(3000, 12)
    moved = data.rows((data.columns[1] == 2) | (np.arange(3000) % 3 == 0))
    found = failing(run(model, moved))
    assert any(name.startswith("tables:b") for name in found)
    assert not [name for name in found if name.startswith(("tables:u", "tables:y", "structure:"))]


def test_effects_are_in_standard_deviations(model):
    sd = model.cpd("y").regressions[0].sd
    found = by_id(run(model, rows(50_000, 11, shift=sd)))
    assert found["tables:y|a=x"].effect == pytest.approx(1, abs=0.03)
    assert found["tables:y"].effect == pytest.approx(1, abs=0.05)
    wider = by_id(run(model, rows(50_000, 11, sd=math.e)))["tables:y:sd"]
    # Growth counts beyond what the choice of parents may have gained.
    assert wider.effect == pytest.approx(1 - wider.new["allowance"], abs=0.06)
    assert "tables:y" in failing(run(model, rows(500, 5, shift=2.0), min_effect={"tables": 1.5}))


# ---------------------------------------------------------------------- few rows, gaps, texts


def test_few_rows_in_a_configuration_cannot_tell(model):
    data = rows(1000, 14)
    few = data.rows((data.columns[1] != 2) | (np.arange(1000) < 60))
    report = by_id(run(model, few))
    for part in ("", ":sd"):
        assert report[f"tables:u|b=r{part}"].status == "insufficient"
        assert report[f"tables:u|b=p{part}"].status == "pass"
    none = by_id(run(model, data.rows(data.columns[1] != 2)))
    assert none["tables:u|b=r"].message == "u where b=r: no rows to compare"
    assert none["tables:u|b=r"].rows_new == 0


def test_configurations_without_any_rows_are_one_check():
    before, after = rows(2000, 15), rows(500, 16)
    graph = gml.Graph.from_edges(
        list(NAMES), [("a", "-->", "w"), ("b", "-->", "w")], numeric=list("wuyz")
    )
    keep = [~((d.columns[0] == 1) & (d.columns[1] == 2)) for d in (before, after)]
    with pytest.warns(gml.GmlWarning, match="never seen"):
        net = fitted(before.rows(keep[0]), graph)
    report = by_id(run(net, after.rows(keep[1])))
    assert (
        report["tables:w|unseen"].message == "w: 1 of 6 configurations of its parents have no rows"
    )
    assert "tables:w|a=y,b=r" not in report
    # New rows where the model has none: it has no figures of its own there.
    beside = by_id(run(net, after))
    assert beside["tables:w|a=y,b=r"].status == "insufficient"
    assert beside["tables:w|a=y,b=r"].rows_old is None


def test_cells_and_levels_that_are_not_known(model):
    frame = rows(400, 15).to_frame().astype({"w": object, "a": object})
    frame.loc[5, "w"] = "n/a!"
    frame.loc[7, "a"] = "third"
    report = by_id(run(model, frame))
    assert (report["schema:numbers:w"].status, report["schema:numbers:w"].row) == ("fail", 6)
    assert report["schema:levels:a"].new["unknown"] == ["third"]
    assert report["fit:likelihood"].rows_new == 398
    assert report["tables:y"].rows_new == 398


def test_missing_columns_and_gaps(model):
    frame = rows(400, 15).to_frame()
    for name in ("w", "b"):
        report = run(model, frame.drop(columns=name))
        assert failing(report) == {f"schema:column:{name}"}
        assert by_id(report)["fit:likelihood"].status == "insufficient"
    assert failing(run(model, frame.drop(columns=list("abc")))) == {
        f"schema:column:{name}" for name in "abc"
    }
    frame.loc[:49, "u"] = np.nan
    assert failing(run(model, frame)) == {"schema:missing:u"}
    assert by_id(run(model, frame))["fit:likelihood"].rows_new == 350
    left_out = run(model, frame, exclude=["u", "b"])
    assert not left_out.failed


def test_sums_are_enough(model):
    class WithoutRows(gml.MemoryCounter):
        def rows(self):
            return None

    report = run(model, WithoutRows(rows(500, 1), threads=1))
    assert any("no rows, so that ranges" in note for note in report.notes)
    assert {check.family for check in report.checks} == {"schema", "tables", "structure"}
    assert not report.failed


def test_numbers_are_not_cut(model):
    with pytest.raises(UsageError, match="bins"):
        run(model, rows(400, 15).to_frame(), bins=3)


def test_the_least_likely_row(model):
    frame = rows(300, 17).to_frame()
    frame.loc[41, "y"] = 99.0
    (row,) = run(model, frame, unlikely_rows=1).unlikely
    assert (row.row, row.column, row.value) == (42, "y", "99")
    shown = {"a": frame.loc[41, "a"], **{p: f"{frame.loc[41, p]:.6g}" for p in "uw"}}
    assert dict(row.given) == shown
    assert row.probability < 1e-100


def test_an_unlikely_label():
    data = rows(2000, 18, "normal")
    rare = data.columns[0].copy()
    rare[:] = 0
    rare[7] = 1
    graph = gml.Graph.from_edges(["a", "w"], [], numeric=["w"])
    both = with_column(data, "a", rare).select(["a", "w"])
    both = with_column(both, "w", np.linspace(-1, 1, 2000))
    (row,) = run(fitted(both, graph), both, unlikely_rows=1).unlikely
    assert (row.row, row.column, row.value, row.given) == (8, "a", "y", ())


# ---------------------------------------------------------------------- what must not matter


def test_no_order_of_rows_or_columns_shows():
    data, fresh = rows(1500, 5), rows(800, 6, edge=0.3, label=0.7)
    names = ["z", "c", "y", "u", "a", "w", "b"]
    order = np.random.default_rng(1).permutation(1500)
    turned = replace(data, columns=tuple(column[order] for column in data.columns)).select(names)
    model, again = fitted(data), fitted(turned)
    assert dump_json_model(model) == dump_json_model(again)
    moved = fitted(turned, gml.Graph.from_edges(names, reversed(EDGES), numeric=list("wuyz")))
    shuffled = replace(fresh, columns=tuple(c[::-1].copy() for c in fresh.columns)).select(names)
    found = by_id(run(model, fresh))
    assert by_id(run(model, shuffled)) == found
    beside = by_id(run(moved, shuffled))
    for name, check in found.items():
        other = beside[name]
        assert other.status == check.status
        assert other.log_p == (
            None if check.log_p is None else pytest.approx(check.log_p, rel=1e-9)
        )


def test_threads_do_not_show(model):
    data = rows(600, 6, edge=0.2, of_label=0.3)
    one, two = (gml.check(data, model, threads=n) for n in (1, 3))
    assert by_id(one) == by_id(two)


def test_a_model_from_a_file_answers_the_same(model):
    again = parse_model(dump_json_model(model), "m")
    data = rows(500, 19, shift=0.3)
    assert by_id(run(again, data)) == by_id(run(model, data))


def test_units_do_not_matter():
    before, after = rows(2000, 5), rows(700, 6, slope=0.8)

    def scaled(data):
        found = with_column(data, "u", 1e6 * data.columns[data.index("u")] + 1e9)
        return with_column(found, "y", 1e-4 * data.columns[data.index("y")])

    one = by_id(run(fitted(before), after))
    other = by_id(run(fitted(scaled(before)), scaled(after)))
    for name, check in one.items():
        if check.family in ("tables", "structure") and check.log_p is not None:
            assert other[name].log_p == pytest.approx(check.log_p, rel=1e-4, abs=1e-6), name


def test_rows_delivered_twice_count_once(model):
    data = rows(700, 20)
    twice = Dataset(data.variables, tuple(np.concatenate([c, c]) for c in data.columns))
    assert failing(run(model, twice)) == {"schema:repeats"}
    assert by_id(run(model, twice))["tables:y"].rows_new == 700


# ---------------------------------------------------------------------- baseline


def test_a_dependence_that_was_accepted_must_grow():
    before = rows(4000, 19, of_label=0.08)
    net = fitted(before)
    baseline = run(net, before).accepted()
    name = "structure:c independent of z|y"
    assert name not in baseline.accepted
    after = rows(40_000, 20, of_label=0.08)
    assert by_id(run(net, after))[name].status == "fail"
    assert name not in failing(run(net, after, baseline=baseline))
    assert name in failing(run(net, rows(40_000, 20, of_label=0.6), baseline=baseline))


def test_what_is_accepted_is_known_by_its_name(model):
    changed = rows(1500, 8, shift=0.5)
    accepted = run(model, changed).accepted()
    assert {"tables:y", "tables:y|a=x"} <= set(accepted.accepted)
    assert not run(model, changed, baseline=accepted).failed
    names = [check.id for check in run(model, changed).checks]
    assert unknown_ids(model, [], [*names, "tables:u|unseen"]) == []
    wrong = ["tables:y|a=q", "tables:y|a=x:spread", "schema:levels:y", "schema:numbers:a"]
    assert unknown_ids(model, [], wrong) == sorted(wrong)


def test_a_model_that_was_accepted_passes_on_its_rows():
    data = rows(1500, 22, edge=0.5)
    assert not run(fitted(data, accept=True), data).failed
    assert run(fitted(data), data).failed


# ---------------------------------------------------------------------- models that keep nothing


def test_an_older_model_says_what_cannot_be_checked(model):
    cpds = []
    for cpd in model.cpds:
        if isinstance(cpd, ConditionalGaussian):
            lines = tuple(replace(line, rows=None) for line in cpd.regressions)
            cpds.append(replace(cpd, regressions=lines))
        else:
            cpds.append(cpd if isinstance(cpd, CPT) else replace(cpd, rows=None))
    report = run(BayesNet(tuple(cpds)), rows(1000, 18, edge=0.5))
    assert NOTHING_KEPT in report.notes
    assert "structure:w independent of z|y" in failing(report)
    undecided = {c.kind for c in report.checks if c.status == "insufficient"}
    assert undecided == {"regression", "sd", "errors", "edge", "drift", "likelihood"}


def test_bayesian_estimates_keep_no_rows():
    net = fitted(rows(1000, 1), method="bayes")
    report = run(net, rows(500, 2))
    assert not report.failed
    assert NOTHING_KEPT in report.notes


# ---------------------------------------------------------------------- level


@pytest.mark.parametrize("kind", ["normal", "laplace", "lognormal"])
def test_a_run_keeps_its_promise(kind):
    """At α = 0.05 in 80 runs, with as few as some 30 rows in a configuration."""
    alarms = 0
    for k in range(80):
        before, after = rows(400, [k, 3], kind), rows(250, [k, 4], kind)
        alarms += run(fitted(before), after, alpha=0.05, seed=k).failed
    # P(X > 9) = 0.005 for X binomial with 80 and 0.05.
    assert alarms <= 9


@pytest.mark.parametrize("kind", ["laplace", "lognormal"])
def test_single_checks_keep_their_level(kind):
    """At level 0.02 in 80 runs, by kind; those of one run are not far from independent."""
    hits, asked = {}, {}
    settings = gml.CheckSettings(threads=1, families=("tables", "structure", "fit"))
    for k in range(80):
        net = fitted(rows(500, [k, 5], kind))
        for question in examine(net, rows(300, [k, 6], kind), settings).questions:
            check = question.check
            # Those of labels have tests of their own; those of counts are settled by drawing.
            if check.log_p is None or check.kind in ("row", "table", "errors"):
                continue
            asked[check.kind] = asked.get(check.kind, 0) + 1
            hits[check.kind] = hits.get(check.kind, 0) + (check.log_p <= math.log(0.02))
    assert {"regression", "sd", "edge", "independence", "likelihood"} <= asked.keys()
    for name, n in asked.items():
        # Checks of a run share columns: as if only a third of them were independent.
        most = 3 * scipy.stats.binom.isf(0.001, max(1, n // 3), 0.02)
        assert hits[name] <= most, (name, hits[name], n)


@pytest.mark.filterwarnings("ignore:.*rows dropped:gml.errors.GmlWarning")
def test_rows_that_were_dropped_when_read_leave_their_numbers_unasked(tmp_path, model):
    data = rows(400, 8).to_frame()
    data.iloc[::5, 0] = None
    data.to_csv(tmp_path / "new.csv", index=False)
    numeric = [v.name for v in model.variables if v.is_continuous]
    reading = {"missing": "drop", "numeric": numeric, "columns": list(model.names)}
    of_file = gml.check(tmp_path / "new.csv", model, missing="drop")
    of_rows = gml.check(gml.read(tmp_path / "new.csv", **reading), model)
    all_rows = {"range", "sentinel", "unique", "drift", "numbers"} & {
        c.kind for c in of_file.checks
    }
    left_out = {c.kind for c in of_file.checks} - {c.kind for c in of_rows.checks}
    assert "range" in left_out <= all_rows
    said = "ranges of numbers were not compared, since rows were dropped"
    assert said in of_rows.notes and said not in of_file.notes
    of_all = gml.check(gml.read(tmp_path / "new.csv", **{**reading, "missing": "available"}), model)
    assert said not in of_all.notes
