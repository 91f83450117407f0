"""Checks of undirected models: what is asked, what fails, what is named, what must not matter."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import gml
from gml.data.dataset import Dataset, Variable
from gml.errors import DataError, GraphError
from gml.gate.acceptance import unknown_ids
from gml.gate.clique_tables import clique_tables, generator_counts, parts_of
from gml.gate.families import counts_beside, level_counts
from gml.gate.two_sample import compare_rows
from gml.gate.undirected_fit import mean_log_p
from gml.model.markovnet import MarkovNet
from gml.model.undirected.directed import directed
from gml.model.undirected.potential import Potential
from gml.model.undirected.terms import Terms
from gml.resources import limited_to

from ..networks import fitted_to, joint_of
from ..undirected_models import log_linear, log_weights, matched

CYCLE = ("AB", "BC", "CD", "AD")
GRAPHS = {
    "cycle": ({"A": 2, "B": 3, "C": 2, "D": 3}, CYCLE),
    "pairs": ({"A": 2, "B": 3, "C": 2}, ("AB", "BC", "AC")),
    "decomposable": ({"A": 2, "B": 3, "C": 2, "D": 2, "E": 3}, ("ABC", "BCD", "DE")),
    "overlapping": ({"A": 2, "B": 2, "C": 3, "D": 2}, ("ABC", "BCD", "ABD")),
    "apart": ({"A": 2, "B": 3, "C": 1, "D": 2}, ("AB", "BC")),
}


def model(name, seed=0, **options):
    sizes, scopes = GRAPHS[name]
    return log_linear(sizes, [*sizes, *scopes], np.random.default_rng(seed), **options)


def rows_of(net, n, seed):
    return directed(net).net.sample(n, seed=seed)


def fitted_model(name, n=3000, seed=1):
    net = model(name)
    return matched(rows_of(net, n, seed), GRAPHS[name][1])


def check(net, data, **options):
    return gml.check_model(net, data, gml.CheckSettings(threads=1, **options))


def by_id(report):
    return {found.id: found for found in report.checks}


def failing(report):
    return {found.id for found in report.ranked("fail")}


def same(number):
    """Equal but for rounding, or None as well."""
    return None if number is None else pytest.approx(number, rel=1e-9, abs=1e-12)


# ---------------------------------------------------------------------- the same distribution


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("impossible", [0.0, 0.15])
def test_the_directed_form_has_the_same_distribution_and_ln_z(name, impossible):
    net = model(name, seed=3, impossible=impossible)
    weights = np.exp(log_weights(net))
    found = directed(net)
    assert found.log_z == pytest.approx(math.log(weights.sum()), rel=1e-12)
    assert found.net.names == net.names
    np.testing.assert_allclose(joint_of(found.net), weights / weights.sum(), atol=1e-14)


@pytest.mark.parametrize("name", GRAPHS)
def test_the_mean_of_ln_p_over_the_rows_behind_a_model_is_that_over_the_rows(name):
    data = rows_of(model(name), 400, 5)
    net = matched(data, GRAPHS[name][1])
    log_p = log_weights(net) - directed(net).log_z
    by_row = log_p[tuple(data.columns[data.index(name)] for name in net.names)]
    found = mean_log_p(net, generator_counts(net), directed(net).log_z)
    assert found == pytest.approx(float(by_row.mean()), rel=1e-12)


# ---------------------------------------------------------------------- parts of margins


@pytest.mark.parametrize("name", GRAPHS)
def test_g_of_the_parts_of_a_generator_adds_up_to_g_of_its_margin(name):
    """… less that of what it shares with an earlier one, which its tables are given."""
    scopes = GRAPHS[name][1]
    old, new = (rows_of(model(name), 700, seed) for seed in (1, 2))
    net = matched(old, scopes)
    counter = gml.MemoryCounter(new, threads=1)
    families = counts_beside(clique_tables(net), counter, of_cliques=True)
    parts = parts_of(net.terms)
    behind, later = generator_counts(net), generator_counts(matched(new, scopes))

    def g(before, after):
        return float(compare_rows(before.reshape(1, -1), after.reshape(1, -1)).g[0])

    for generator in net.terms.generators:
        own = [k for k, part in enumerate(parts) if part.generator == generator]
        shared = {*generator} - {parts[k].child for k in own}
        summed = tuple(a for a, k in enumerate(generator) if k not in shared)
        whole = [table[generator].astype(np.int64) for table in (behind, later)]
        expected = g(*whole) - g(*(table.sum(axis=summed) for table in whole))
        found = sum(compare_rows(families[k].old, families[k].new).g.sum() for k in own)
        assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", GRAPHS)
def test_every_edge_and_every_variable_has_a_part(name):
    net = model(name)
    parts = parts_of(net.terms)
    assert {part.child for part in parts} == set(range(len(net.names)))
    joined = {frozenset([part.child, k]) for part in parts for k in part.parents}
    edges = {frozenset(net.graph.pair(edge)) for edge in net.graph.edges}
    assert joined == edges


def test_what_is_shared_is_the_largest_part_of_any_earlier_generator():
    variables = [Variable(name, ("n", "y")) for name in "ABCDE"]
    terms = Terms.of(variables, ["ABC", "BCD", "ABD", "AE", "CE"])
    found = [(p.generator, p.child, p.parents) for p in parts_of(terms)]
    assert found == [
        ((0, 4), 0, ()),
        ((0, 4), 4, (0,)),
        ((2, 4), 2, (4,)),
        ((0, 1, 2), 1, (0,)),
        ((0, 1, 2), 2, (0, 1)),
        ((0, 1, 3), 3, (0, 1)),
        ((1, 2, 3), 3, (1, 2)),
    ]


def test_a_decomposable_model_gets_the_answers_of_its_network():
    """The same tables, edges and fit; only names differ, as edges have no direction."""
    net = directed(model("decomposable")).net
    old, new = net.sample(800, seed=1), net.sample(500, seed=2)
    scopes = ("ABC", "BCD", "DE")
    undirected = by_id(check(matched(old, scopes), new))
    arrows = ["AB", "AC", "BC", "BD", "CD", "DE"]
    network = by_id(check(fitted_to(arrows, old), new))
    renamed = {"tables:B": "tables:B|A", "tables:C": "tables:C|A,B", "tables:D": "tables:D|B,C"}
    renamed |= {"tables:E": "tables:E|D"} | {f"structure:{u}->{v}": f"structure:{u}---{v}" for u, v in arrows}  # fmt: skip
    asked = [name for name in network if not name.startswith("structure:") or "->" in name]
    assert len(asked) > 35
    for name in asked:
        one, other = network[name], undirected[renamed.get(name, name)]
        log_p = one.log_p
        if one.kind == "edge" and log_p is not None:
            # That of the best of ten pairs, of which six are edges.
            log_p = min(0.0, log_p + math.log(10 / 6))
        assert log_p == same(other.log_p)
        assert one.effect == same(other.effect)
        assert (one.status, one.rows_old, one.rows_new) == (
            other.status,
            other.rows_old,
            other.rows_new,
        )


# ---------------------------------------------------------------------- a run


def test_a_run_on_a_cycle_asks_this():
    net = fitted_model("cycle")
    report = check(net, rows_of(model("cycle"), 2000, 9))
    assert not report.failed
    asked = [found.id for found in report.checks if not found.id.startswith("schema:")]
    assert asked == [
        "tables:A|", "tables:B|A=a", "tables:B|A=b", "tables:B|A",
        "tables:D|A=a", "tables:D|A=b", "tables:D|A",
        "tables:C|B=a", "tables:C|B=b", "tables:C|B=c", "tables:C|B",
        "tables:D|C=a", "tables:D|C=b", "tables:D|C",
        "structure:A independent of C|B,D", "structure:B independent of D|A,C",
        "structure:A---B", "structure:A---D", "structure:B---C", "structure:C---D",
        "fit:likelihood",
    ]  # fmt: skip
    assert report.model_rows == 3000
    assert all(found.status in ("pass", "insufficient") for found in report.checks)
    assert unknown_ids(net, [], asked) == []
    wrong = ["tables:A|B", "structure:A---C", "tables:D|A,C", "tables:B|A=x", "structure:A->B"]
    assert unknown_ids(net, [], wrong) == sorted(wrong)


@pytest.mark.parametrize("name", GRAPHS)
def test_rows_and_columns_may_come_in_any_order(name):
    net, data = fitted_model(name), rows_of(model(name), 900, 4)
    turned = np.random.default_rng(1).permutation(data.n_rows)
    other = Dataset(
        data.variables[::-1], tuple(column[turned] for column in reversed(data.columns))
    )
    assert check(net, data).checks == check(net, other).checks


def test_weights_count_rows():
    net, data = fitted_model("cycle"), rows_of(model("cycle"), 600, 4)
    times = np.random.default_rng(2).integers(0, 4, data.n_rows)
    weighted = replace(data, weights=times)
    repeated = data.rows(np.repeat(np.arange(data.n_rows), times))
    one, other = by_id(check(net, weighted)), by_id(check(net, repeated))
    assert one.keys() == other.keys()
    for name, found in one.items():
        assert found.log_p == same(other[name].log_p), name


# ---------------------------------------------------------------------- what breaks


def changed(name, *added, without=()):
    """A model with more terms, without some others."""
    net = model(name)
    kept = tuple(p for p in net.potentials if "".join(p.names) not in without)
    by_name = {v.name: v for v in net.variables}
    more = tuple(Potential(tuple(by_name[v] for v in scope), table) for scope, table in added)
    return replace(net, potentials=(*kept, *more))


@pytest.mark.parametrize("name", ["cycle", "decomposable"])
def test_a_lost_coupling_is_found_and_its_ends_are_named(name):
    lost = "CD" if name == "cycle" else "DE"
    report = check(fitted_model(name), rows_of(changed(name, without=(lost,)), 3000, 6))
    assert f"structure:{lost[0]}---{lost[1]}" in failing(report)
    (culprit,) = report.culprits
    assert {*culprit.columns} & {*lost}


def test_a_new_dependence_across_a_separation_is_found():
    tied = np.array([[0.4, -0.4], [-0.4, 0.4]])
    report = check(fitted_model("cycle"), rows_of(changed("cycle", ("AC", tied)), 3000, 6))
    assert "structure:A independent of C|B,D" in failing(report)
    found = by_id(report)["structure:A independent of C|B,D"]
    assert found.message.startswith("A and C given B, D: the graph has no edge, and they share")


def test_a_drifted_column_of_a_decomposable_model_breaks_its_own_table_alone():
    """Rows selected by A, which comes first: all tables given others stay as they are."""
    field = ("A", np.array([0.5, -0.5]))
    report = check(fitted_model("decomposable"), rows_of(changed("decomposable", field), 3000, 6))
    assert {name for name in failing(report) if name.startswith("tables:")} == {"tables:A|"}
    (culprit,) = report.culprits
    assert (culprit.columns, culprit.cause) == (("A",), "drift")


def test_rows_of_noise_are_less_likely():
    net, data = fitted_model("cycle"), rows_of(model("cycle"), 3000, 6)
    rng = np.random.default_rng(3)
    noisy = rng.random(data.n_rows) < 0.5
    columns = tuple(
        np.where(noisy, rng.integers(0, len(v.levels), data.n_rows), column).astype(column.dtype)
        for v, column in zip(data.variables, data.columns, strict=True)
    )
    report = check(net, replace(data, columns=columns), families=["fit"])
    assert failing(report) == {"fit:likelihood"}
    found = by_id(report)["fit:likelihood"]
    assert found.effect > 0.01
    assert len(report.unlikely) == 5
    worst = report.unlikely[0]
    log_p = log_weights(net) - directed(net).log_z
    assert worst.log_probability == pytest.approx(float(log_p[np.isfinite(log_p)].min()), rel=1e-9)


def test_the_fit_of_a_cycle_forecasts_new_rows_without_bias():
    """The old rows look better than new ones by two nats per parameter and three hundred rows."""
    net = model("cycle")
    losses = []
    for seed in range(60):
        fitted = matched(rows_of(net, 150, 2 * seed), CYCLE)
        later = rows_of(net, 3000, 2 * seed + 1)
        (found,) = check(fitted, later, families=["fit"]).checks
        losses.append(-found.statistic)
    mean, error = np.mean(losses), np.std(losses) / math.sqrt(len(losses))
    per_row = net.terms.dimension / 150
    assert per_row > 5 * error
    # What is taken off is at most a tenth more than what is expected.
    assert -0.1 * per_row - 3 * error < mean < 3 * error


# ---------------------------------------------------------------------- without counts


@pytest.mark.parametrize("name", GRAPHS)
def test_a_model_without_counts_is_taken_as_exact(name):
    net = model(name)
    report = check(net, rows_of(net, 2000, 3))
    assert not report.failed
    assert "the model has no counts, and so its tables are taken as exact" in report.notes
    assert report.model_rows is None
    moved = check(net, rows_of(changed(name, ("A", np.array([0.3, -0.3]))), 2000, 3))
    assert "tables:A|" in failing(moved)


def test_a_model_with_counts_of_some_generators_alone_is_taken_as_exact():
    net = fitted_model("cycle")
    first, *others = net.potentials
    report = check(replace(net, potentials=(replace(first, counts=None), *others)),
                   rows_of(model("cycle"), 500, 3))  # fmt: skip
    assert "the model has no counts, and so its tables are taken as exact" in report.notes
    assert by_id(report)["tables:C|B=a"].rows_old is None


def test_its_tables_are_margins_of_the_model():
    net = model("cycle")
    weights = np.exp(log_weights(net))
    for cpt in clique_tables(net):
        axes = [net.index(v.name) for v in (*cpt.parents, cpt.variable)]
        others = tuple(a for a in range(4) if a not in axes)
        left = sorted(axes)
        margin = weights.sum(axis=others).transpose([left.index(a) for a in axes])
        rows = margin.reshape(-1, margin.shape[-1])
        np.testing.assert_allclose(cpt.table, rows / rows.sum(axis=1, keepdims=True), rtol=1e-12)
        assert cpt.counts is None


def test_a_row_that_an_exact_model_excludes_fails_and_one_unseen_by_counts_need_not():
    never = np.zeros((2, 3))
    never[1, 2] = -np.inf
    net = changed("cycle", ("AB", never))
    data = rows_of(model("cycle"), 300, 8)
    report = check(net, data, families=["fit"])
    assert by_id(report)["fit:likelihood"].log_p == -math.inf
    fitted = matched(rows_of(net, 3000, 1), CYCLE)
    (found,) = check(fitted, data, families=["fit"]).checks
    excluded = int(((data.columns[0] == 1) & (data.columns[1] == 2)).sum())
    assert excluded > 1
    assert f"({excluded} rows that are impossible under the model left out)" in found.message
    assert found.rows_new == 300 - excluded
    assert "tables:B|A=b" in failing(check(fitted, data))


# ---------------------------------------------------------------------- what is missing


def test_a_missing_column_leaves_the_rest_to_be_asked():
    net, data = fitted_model("cycle"), rows_of(model("cycle"), 900, 4)
    report = check(net, data.select(["A", "B", "C"]))
    assert failing(report) == {"schema:column:D"}
    found = by_id(report)
    assert "tables:C|B" in found and "tables:D|A" not in found
    assert found["fit:likelihood"].status == "insufficient"
    assert found["fit:likelihood"].message == "no column for 'D'"


def test_an_unknown_level_fails_and_its_rows_are_left_out_of_the_fit():
    net, data = fitted_model("cycle"), rows_of(model("cycle"), 900, 4)
    columns = [column.copy() for column in data.columns]
    columns[0][:100] = 2
    variables = (Variable("A", ("a", "b", "new")), *data.variables[1:])
    report = check(net, replace(data, variables=variables, columns=tuple(columns)))
    assert "schema:levels:A" in failing(report)
    assert by_id(report)["fit:likelihood"].rows_new == 800
    assert level_counts(net, "A").sum() == 3000


def test_fractional_counts_are_refused():
    net = fitted_model("cycle")
    halved = tuple(replace(p, counts=p.counts / 2) for p in net.potentials)
    with pytest.raises(DataError, match="not whole numbers"):
        check(replace(net, potentials=halved), rows_of(model("cycle"), 50, 1))


def test_counts_must_fit_their_table():
    a, b = Variable("A", ("n", "y")), Variable("B", ("n", "y"))
    with pytest.raises(GraphError, match="shape"):
        Potential((a, b), np.zeros((2, 2)), counts=np.zeros(4))
    with pytest.raises(GraphError, match="numbers of rows"):
        Potential((a, b), np.zeros((2, 2)), counts=np.array([[1, 2], [3, -1.0]]))


def test_a_model_that_is_too_wide_is_checked_without_its_fit():
    names = [f"x{k:02d}" for k in range(30)]
    variables = tuple(Variable(name, ("n", "y")) for name in names)
    rng = np.random.default_rng(5)
    rows = Dataset(variables, tuple(rng.integers(0, 2, 300).astype(np.uint8) for _ in names))
    pairs = [(i, j) for i in range(30) for j in range(i)]
    counted = [
        np.histogram2d(rows.columns[i], rows.columns[j], bins=2)[0].astype(float) for i, j in pairs
    ]
    net = MarkovNet(
        variables,
        tuple(
            Potential((variables[i], variables[j]), np.zeros((2, 2)), counts=counts)
            for (i, j), counts in zip(pairs, counted, strict=True)
        ),
    )
    with limited_to(100 << 20):
        report = check(net, rows, families=["tables", "fit"])
    found = by_id(report)["fit:likelihood"]
    assert found.status == "insufficient"
    assert found.message.startswith("no probability of a row: ")
    assert by_id(report)["tables:x01|x00"].status == "pass"
    bare = replace(net, potentials=tuple(replace(p, counts=None) for p in net.potentials))
    said = "no tables to compare: the model has no counts"
    with limited_to(100 << 20), pytest.warns(UserWarning, match=said):
        report = check(bare, rows, families=["tables", "fit"])
    assert [found.id for found in report.checks] == ["fit:likelihood"]


# ---------------------------------------------------------------------- acceptance


def test_what_was_accepted_does_not_fail_again():
    net = fitted_model("cycle")
    tied = np.array([[0.4, -0.4], [-0.4, 0.4]])
    wrong = changed("cycle", ("AC", tied))
    report = check(net, rows_of(wrong, 3000, 6))
    baseline = report.accepted()
    again = gml.check_model(
        net, rows_of(wrong, 3000, 6), gml.CheckSettings(threads=1), baseline=baseline
    )
    assert report.failed and not again.failed
    assert by_id(again)["structure:A independent of C|B,D"].status == "baselined"
    assert {*baseline.references} == {"structure:B independent of D|A,C"}
