"""EM for networks with numbers: E-steps, climbs, and what a fit says."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import gml
from gml.data.dataset import Dataset, Variable
from gml.errors import CannotAnswer, DataError
from gml.model.em.bootstrap import with_bootstrap_intervals
from gml.model.em.climbing import Collapsed, climb
from gml.model.em.em_report import EmSettings
from gml.model.em.fitting import fit_em
from gml.model.em.normal import normal_em
from gml.model.em.number_expectations import Expectation
from gml.model.em.number_families import Families
from gml.model.em.number_fitting import fit_numbers, number_problem
from gml.model.em.number_information import information
from gml.model.em.number_rows import number_rows
from gml.model.em.number_starts import available_estimate, pooled_regressions
from gml.model.em.table_fitting import fit_tables
from gml.model.regression_prior import RegressionPrior
from tests.mixed_networks import random_mixed
from tests.numbers_with_holes import drawn_parameters, enumerated, with_holes

ONE_START = EmSettings(restarts=1)


def fit_once(graph, rows, **given):
    return fit_em(graph, rows, settings=ONE_START, **given)


def numbers(table, names="abcdefghij"):
    """A dataset of numbers from rows of them."""
    table = np.asarray(table, dtype=np.float64)
    variables = tuple(Variable(name, None) for name in names[: table.shape[1]])
    return Dataset(variables, tuple(column.copy() for column in table.T))


def full_graph(names):
    edges = [(names[i], "-->", names[j]) for j in range(len(names)) for i in range(j)]
    return gml.Graph.from_edges(list(names), edges)


def lines_of(net, name):
    cpd = net.cpd(name)
    return getattr(cpd, "regressions", (cpd,))


def figures_of(net):
    """All parameters of a network, and the counts behind them."""
    found = []
    for cpd in sorted(net.cpds, key=lambda one: one.variable.name):
        if cpd.variable.is_continuous:
            found += [
                (one.intercept, *one.coefficients, one.sd, one.expected_n)
                for one in lines_of(net, cpd.variable.name)
            ]
        else:
            found += [tuple(cpd.table.reshape(-1)), tuple(cpd.expected_counts.reshape(-1))]
    return [number for some in found for number in some]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("n_labels", [0, 2, 3])
def test_an_e_step_is_what_enumeration_finds(seed, n_labels):
    rng = np.random.default_rng([seed, n_labels])
    net = random_mixed(rng, n_labels, int(rng.integers(1, 5)), p=0.6)
    rows = with_holes(rng, net.sample(25, seed=seed), 0.4)
    data = number_rows(net.names, rows)
    families = Families.of(net.graph, data)
    at = drawn_parameters(rng, families)
    wanted = enumerated(families, data, at)
    found = Expectation(families, data, keep_barren=True)(at)
    assert found.log_likelihood == pytest.approx(wanted.log_likelihood, rel=1e-11)
    for mine, theirs in zip(
        (*found.products, *found.counts), (*wanted.products, *wanted.counts), strict=True
    ):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)
    # What has nothing seen below it changes no likelihood.
    fewer = Expectation(families, data)(at)
    assert fewer.log_likelihood == pytest.approx(wanted.log_likelihood, rel=1e-11)


def test_a_large_network_of_numbers_splits_into_components():
    rng = np.random.default_rng(3)
    names = [f"x{k:02}" for k in range(70)]
    graph = gml.Graph.from_edges(
        names, [(names[k], "-->", names[k + 1]) for k in range(69) if k % 7]
    )
    rows = numbers(np.cumsum(rng.normal(size=(40, 70)), axis=1), names)
    rows = with_holes(rng, rows, 0.2)
    data = number_rows(names, rows)
    families = Families.of(graph, data)
    at = drawn_parameters(rng, families)
    wanted = enumerated(families, data, at)
    found = Expectation(families, data, keep_barren=True)(at)
    assert found.log_likelihood == pytest.approx(wanted.log_likelihood, rel=1e-11)
    np.testing.assert_allclose(
        np.concatenate([p.reshape(-1) for p in found.products]),
        np.concatenate([p.reshape(-1) for p in wanted.products]),
        rtol=1e-8,
        atol=1e-8,
    )


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("prior", [None, "pooled", "ridge"])
def test_a_climb_never_falls_and_ends_where_the_gradient_is_0(seed, prior):
    rng = np.random.default_rng([seed, 8])
    net = random_mixed(rng, int(rng.integers(0, 3)), int(rng.integers(1, 4)), p=0.5, most_levels=2)
    rows = with_holes(rng, net.sample(400, seed=seed), 0.15)
    problem, data = number_problem(
        net.graph,
        rows,
        hidden={},
        alpha=None if prior is None else ("jeffreys", 1.0),
        regression_prior=None if prior is None else RegressionPrior(prior, 3.0),
    )
    start = available_estimate(
        problem.families, data, pooled_regressions(problem.families, data)
    ).vector()
    found = climb(problem, start)
    assert found.converged
    gains = np.diff(found.objectives)
    assert (gains >= -1e-12 * abs(found.objective)).all()

    def value(move):
        """The objective with parameters moved: tables as they are with logarithms moved."""
        at = problem.families.parameters(found.parameters + move)
        tables = []
        size = sum(table.size for table in at.tables)
        before = problem.families.parameters(found.parameters).tables
        logs = np.split(move[len(move) - size :], np.cumsum([t.size for t in before])[:-1])
        for table, log in zip(before, logs if before else [], strict=True):
            moved = table * np.exp(log.reshape(table.shape))
            tables.append(moved / moved.sum(axis=1, keepdims=True))
        at = type(at)(at.regressions, tuple(tables))
        return problem.log_likelihood(at) + problem.log_prior(at)

    for _ in range(5):
        direction = rng.normal(size=len(found.parameters))
        slope = (value(1e-5 * direction) - value(-1e-5 * direction)) / 2e-5
        assert abs(slope) < 1e-4
        assert value(1e-2 * direction) <= found.objective + 1e-9


@pytest.mark.parametrize("seed", [0, 2, 3])
@pytest.mark.parametrize("method", ["mle", "bayes"])
def test_complete_rows_have_the_closed_form_in_one_step(seed, method):
    rng = np.random.default_rng([seed, 13])
    net = random_mixed(rng, 2, 3, p=0.6, most_levels=2)
    rows = net.sample(1000, seed=seed)
    for number_prior in ("pooled", "ridge"):
        given = {"method": method}
        if method == "bayes":
            given |= {"number_prior": number_prior, "prior_rows": 2.5}
        wanted = gml.fit(rows, net.graph, **given)
        found = fit_em(net.graph, rows, **given)
        assert (found.report.steps, found.report.converged) == (1, True)
        assert found.report.log_likelihood == pytest.approx(wanted.log_likelihood(rows), rel=1e-12)
        for cpd in wanted.cpds:
            name = cpd.variable.name
            if not cpd.variable.is_continuous:
                np.testing.assert_allclose(found.net.cpt(name).table, cpd.table, rtol=1e-12)
                assert (found.net.cpt(name).counts == cpd.counts).all()
                continue
            for mine, theirs in zip(lines_of(found.net, name), lines_of(wanted, name), strict=True):
                assert mine.parents == theirs.parents
                assert mine.n == theirs.n
                assert mine.sd == pytest.approx(theirs.sd, rel=1e-10)
                assert mine.intercept == pytest.approx(theirs.intercept, rel=1e-9, abs=1e-10)
                assert mine.coefficients == pytest.approx(theirs.coefficients, rel=1e-9, abs=1e-10)


def test_tables_alone_are_as_em_for_tables_has_them():
    rng = np.random.default_rng(5)
    net = random_mixed(rng, 4, 1, p=0.5)
    labels = [name for name in net.names if name.startswith("d")]
    graph = gml.Graph.from_edges(
        labels, [(p.name, "-->", c) for c in labels for p in net.cpt(c).parents]
    )
    rows = with_holes(rng, net.sample(300, seed=1), 0.2)
    wanted = fit_tables(
        graph,
        rows.select(labels),
        hidden={},
        alpha=None,
        settings=ONE_START,
        intervals=None,
        max_memory=None,
        threads=1,
    )
    # A number that has nothing to do with the labels.
    beside = gml.Graph.from_edges(
        [*labels, "x0"], [(p.name, "-->", c) for c in labels for p in net.cpt(c).parents]
    )
    found = fit_once(beside, rows)
    alone = fit_once(gml.Graph.from_edges(["x0"], []), rows.select(["x0"]))
    for name in labels:
        np.testing.assert_allclose(found.net.cpt(name).table, wanted.net.cpt(name).table, atol=1e-7)
        np.testing.assert_allclose(
            found.net.cpt(name).expected_counts, wanted.net.cpt(name).expected_counts, atol=1e-4
        )
        assert (found.net.cpt(name).counts == wanted.net.cpt(name).counts).all()
    assert found.report.log_likelihood == pytest.approx(
        wanted.report.log_likelihood + alone.report.log_likelihood, rel=1e-10
    )
    x = rows.columns[rows.index("x0")]
    x = x[~np.isnan(x)]
    assert found.net.cpd("x0").intercept == pytest.approx(x.mean(), rel=1e-9)
    assert found.net.cpd("x0").sd == pytest.approx(x.std(), rel=1e-9)


def test_no_order_and_no_number_of_threads_shows():
    rng = np.random.default_rng(9)
    net = random_mixed(rng, 2, 4, p=0.6, most_levels=2)
    rows = with_holes(rng, net.sample(200, seed=2), 0.2)
    first = fit_once(net.graph, rows, threads=1)
    order = rng.permutation(200)
    turned = Dataset(
        rows.variables[::-1], tuple(column[order].copy() for column in rows.columns[::-1])
    )
    second = fit_once(net.graph, turned, threads=2)
    assert first.report == second.report
    assert figures_of(first.net) == figures_of(second.net)


def test_hidden_starts_do_not_depend_on_order_either():
    rng = np.random.default_rng(10)
    x = np.concatenate([rng.normal(size=(60, 2)), rng.normal(size=(40, 2)) + np.array([4, 2])])
    graph = gml.Graph.from_edges(["h", "a", "b"], [("h", "-->", "a"), ("h", "-->", "b")])
    settings = EmSettings(restarts=3, seed=4)
    one = fit_em(graph, numbers(x), hidden={"h": 2}, settings=settings)
    other = fit_em(graph, numbers(x[rng.permutation(100)]), hidden={"h": 2}, settings=settings)
    assert one.report == other.report
    assert figures_of(one.net) == figures_of(other.net)
    again = fit_em(graph, numbers(x), hidden={"h": 2}, settings=EmSettings(restarts=3, seed=5))
    assert again.report.ends != one.report.ends


def test_rows_that_count_twice_are_two_rows():
    rng = np.random.default_rng(12)
    table = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3))
    table[rng.random(table.shape) < 0.2] = np.nan
    weights = rng.integers(0, 4, size=60)
    graph = full_graph("abc")
    rows = numbers(table)
    weighted = Dataset(rows.variables, rows.columns, weights.astype(np.int64))
    one = fit_once(graph, weighted)
    other = fit_once(graph, numbers(np.repeat(table, weights, axis=0)))
    assert one.report.log_likelihood == pytest.approx(other.report.log_likelihood, rel=1e-12)
    np.testing.assert_allclose(figures_of(one.net), figures_of(other.net), rtol=1e-7, atol=1e-8)
    assert [one.net.cpd(name).n for name in "abc"] == [other.net.cpd(name).n for name in "abc"]


def test_a_full_graph_is_the_normal_distribution():
    rng = np.random.default_rng(13)
    table = rng.normal(size=(120, 4)) @ rng.normal(size=(4, 4)) + 3
    table[rng.random(table.shape) < 0.25] = np.nan
    found = normal_em(table)
    assert found.climb.converged
    net = fit_once(full_graph("dbca"), numbers(table))
    assert net.report.log_likelihood == pytest.approx(found.log_likelihood, rel=1e-11)
    mean, covariance = found.mean, found.covariance
    first = net.net.cpd("d")
    assert first.intercept == pytest.approx(mean[3], rel=1e-8)
    assert first.sd == pytest.approx(math.sqrt(covariance[3, 3]), rel=1e-8)
    last = net.net.cpd("a")
    slopes = np.linalg.solve(covariance[1:, 1:], covariance[1:, 0])
    by_name = dict(zip((p.name for p in last.parents), last.coefficients, strict=True))
    assert [by_name[name] for name in "bcd"] == pytest.approx(slopes.tolist(), rel=1e-6)


def test_a_large_mean_keeps_its_digits():
    rng = np.random.default_rng(14)
    table = rng.normal(size=(80, 2)) @ np.array([[1.0, 0.7], [0.0, 0.5]])
    table = np.round(table * 2**20) / 2**20
    table[rng.random(table.shape) < 0.2] = np.nan
    near, far = normal_em(table), normal_em(table + np.array([2.0**30, 0]))
    assert far.log_likelihood == pytest.approx(near.log_likelihood, rel=1e-12)
    np.testing.assert_allclose(far.covariance, near.covariance, rtol=1e-9)
    scaled = normal_em(table * 1e-200)
    assert scaled.log_likelihood == pytest.approx(
        near.log_likelihood + 200 * math.log(10) * (~np.isnan(table)).sum(), rel=1e-12
    )


@pytest.mark.parametrize("left", [1e-1, 1e-2])
def test_numbers_that_nearly_follow_from_others_keep_their_digits(left):
    rng = np.random.default_rng(27)
    a, b = rng.normal(size=(2, 300))
    table = np.column_stack([a, b, a + b + left * rng.normal(size=300), a - b])
    table[:, 3] += rng.normal(size=300)
    table[rng.random(table.shape) < 0.2] = np.nan
    found = normal_em(table)
    assert found.climb.converged
    assert np.diff(found.climb.objectives).min() >= -1e-11 * abs(found.log_likelihood)
    turned = normal_em(table[:, ::-1])
    assert turned.log_likelihood == pytest.approx(found.log_likelihood, rel=1e-10)
    net = fit_once(full_graph("cadb"), numbers(table))
    assert net.report.log_likelihood == pytest.approx(found.log_likelihood, rel=1e-10)
    slopes = np.linalg.solve(found.covariance[:2, :2], found.covariance[:2, 2])
    np.testing.assert_allclose(slopes, 1, atol=4 * left / math.sqrt(300))


def test_a_monotone_pattern_has_the_closed_form():
    # Little & Rubin (2002), section 7.2: regressions on the rows that have them.
    rng = np.random.default_rng(15)
    x = rng.normal(size=50)
    y = 0.5 * x + rng.normal(size=50)
    y[30:] = np.nan
    found = normal_em(np.column_stack([y, x]))
    slope, intercept = np.polyfit(x[:30], y[:30], 1)
    assert found.mean[0] == pytest.approx(intercept + slope * x.mean(), rel=1e-12)
    left = np.mean((y[:30] - intercept - slope * x[:30]) ** 2)
    assert found.covariance[0, 0] == pytest.approx(left + slope**2 * x.var(), rel=1e-12)
    assert found.climb.steps <= 10


def mixture_log_likelihood(x, weights, means, variances):
    """ln of the likelihood of a mixture with diagonal covariances, where some x are NaN."""
    total = 0.0
    for row in x:
        seen = ~np.isnan(row)
        away = (row[seen] - means[:, seen]) ** 2 / variances[:, seen]
        logs = np.log(weights) - 0.5 * (np.log(2 * np.pi * variances[:, seen]) + away).sum(axis=1)
        total += np.logaddexp.reduce(logs)
    return total


def test_a_hidden_class_is_a_mixture():
    rng = np.random.default_rng(16)
    x = np.concatenate(
        [rng.normal(size=(90, 3)) * [1, 2, 0.5], rng.normal(size=(60, 3)) + np.array([4, -3, 1])]
    )
    x[rng.random(x.shape) < 0.1] = np.nan
    graph = gml.Graph.from_edges(["k", *"abc"], [("k", "-->", name) for name in "abc"])
    found = fit_em(graph, numbers(x), hidden={"k": 2}, settings=EmSettings(restarts=5))
    # Textbook EM from the true classes.
    weights, means, variances = np.array([0.6, 0.4]), np.zeros((2, 3)), np.ones((2, 3))
    means[1] = 4, -3, 1
    for _ in range(400):
        logs = np.log(weights) - 0.5 * np.nansum(
            np.log(2 * np.pi * variances)
            + (x[:, None] - means) ** 2 / variances
            - np.where(np.isnan(x), np.nan, 0)[:, None],
            axis=2,
        )
        shares = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
        weights = shares.mean(axis=0)
        each = shares[:, :, None] * ~np.isnan(x)[:, None]
        means = np.nansum(each * np.nan_to_num(x)[:, None], axis=0) / each.sum(axis=0)
        variances = (each * (np.nan_to_num(x)[:, None] - means) ** 2).sum(axis=0) / each.sum(axis=0)
    assert found.report.times_best >= 2
    assert found.report.log_likelihood == pytest.approx(
        mixture_log_likelihood(x, weights, means, variances), rel=1e-10
    )
    np.testing.assert_allclose(found.net.cpt("k").table[0], weights, rtol=1e-6)
    for k, name in enumerate("abc"):
        lines = lines_of(found.net, name)
        assert [one.intercept for one in lines] == pytest.approx(means[:, k].tolist(), rel=1e-5)
        assert [one.sd**2 for one in lines] == pytest.approx(variances[:, k].tolist(), rel=1e-5)
        assert sum(one.expected_n for one in lines) == pytest.approx(150, rel=1e-12)
        assert [one.n for one in lines] == [None, None]
    assert found.net.cpt("k").counts is None
    assert found.net.cpt("k").expected_counts.sum() == pytest.approx(150, rel=1e-12)


def test_a_class_that_collapses_is_discarded_and_named():
    rng = np.random.default_rng(17)
    # Equal rows draw a class to a point, if it begins near them.
    x = np.concatenate([rng.normal(size=80), rng.normal(size=60) + 5, np.full(5, 12.0)])[:, None]
    graph = gml.Graph.from_edges(["h", "a"], [("h", "-->", "a")])
    found = fit_em(graph, numbers(x), hidden={"h": 3}, settings=EmSettings(restarts=6))
    assert found.report.discarded
    assert len(found.report.ends) == 6
    assert found.report.ends.count(-math.inf) == len(found.report.discarded)
    assert all("the regression of 'a' (h=" in flaw for flaw in found.report.discarded)
    assert math.isfinite(found.report.log_likelihood)


def test_a_row_with_nothing_seen_says_nothing():
    rng = np.random.default_rng(18)
    net = random_mixed(rng, 2, 2, p=0.7, most_levels=2)
    rows = with_holes(rng, net.sample(200, seed=3), 0.1)
    empty = Dataset(
        rows.variables,
        tuple(
            np.concatenate([c, np.full(3, np.nan if c.dtype.kind == "f" else 255, dtype=c.dtype)])
            for c in rows.columns
        ),
    )
    one, other = fit_once(net.graph, rows), fit_once(net.graph, empty)
    assert other.report.log_likelihood == pytest.approx(one.report.log_likelihood, rel=1e-12)
    for cpd in other.net.cpds:
        name = cpd.variable.name
        if cpd.variable.is_continuous:
            assert sum(line.expected_n for line in lines_of(other.net, name)) == pytest.approx(203)
        else:
            assert cpd.expected_counts.sum() == pytest.approx(203)
            np.testing.assert_allclose(cpd.table, one.net.cpt(name).table, atol=1e-7)


def test_bad_columns_are_refused_by_name():
    graph = gml.Graph.from_edges(["a", "b"], [("a", "-->", "b")])
    rng = np.random.default_rng(19)
    table = rng.normal(size=(30, 2))
    table[0, 0] = np.nan
    with pytest.raises(DataError, match="column 'b' has only one value"):
        fit_once(graph, numbers(np.column_stack([table[:, 0], np.ones(30)])))
    with pytest.raises(DataError, match="no values in column 'b'"):
        fit_once(graph, numbers(np.column_stack([table[:, 0], np.full(30, np.nan)])))
    with pytest.raises(DataError, match=r"the regression of 'b' has no errors left.*ridge"):
        fit_once(graph, numbers(np.column_stack([table[:, 0], 2 * table[:, 0]])))
    table[0] = 0.5, np.nan
    three = gml.Graph.from_edges(["a", "b", "c"], [("a", "-->", "c"), ("b", "-->", "c")])
    line = np.column_stack([table[:, 0], 2 * table[:, 0], table[:, 1]])
    with pytest.raises(DataError, match="the regression of 'c' is on collinear parents"):
        fit_once(three, numbers(line))
    fitted = fit_once(three, numbers(line), method="bayes", number_prior="ridge")
    assert fitted.report.converged
    with pytest.raises(DataError, match="no normal distribution of these columns fits"):
        normal_em(line)
    with pytest.raises(CannotAnswer, match="no rows"):
        normal_em(np.full((3, 2), np.nan))


def test_too_few_rows_of_a_configuration_are_refused_as_without_holes():
    rng = np.random.default_rng(20)
    label = np.array([0] * 30 + [1] * 2, dtype=np.uint8)
    x = rng.normal(size=32)
    x[3] = np.nan
    variables = (Variable("g", ("u", "v", "w")), Variable("x", None))
    graph = gml.Graph.from_edges(["g", "x"], [("g", "-->", "x")])
    rows = Dataset(variables, (label, x))
    message = r"1 configuration of the labels of 'x' has fewer than the 3 rows .* \(g=v\) only 2"
    with pytest.raises(CannotAnswer, match=message):
        fit_once(graph, rows)
    assert fit_once(graph, rows, method="bayes").report.converged
    # A level that no row has keeps the regression of all rows, and is unseen.
    many = Dataset(variables, (np.where(label == 1, 0, label).astype(np.uint8), x))
    found = fit_once(graph, many).net.cpd("x")
    assert found.unseen == [1, 2]
    assert found.regressions[2].intercept == pytest.approx(np.nanmean(x), rel=1e-12)


def test_budgets_are_asked_before_labels_are_enumerated():
    names = [f"d{k:02}" for k in range(30)]
    chain = [(names[k], "-->", names[k + 1]) for k in range(29)]
    graph = gml.Graph.from_edges([*names, "x"], [*chain, (names[0], "-->", "x")])
    rng = np.random.default_rng(21)
    columns = [rng.integers(0, 2, 200).astype(np.uint8) for _ in names]
    for column in columns[:-1]:
        column[0] = 255
    rows = Dataset(
        (*(Variable(name, ("0", "1")) for name in names), Variable("x", None)),
        (*columns, rng.normal(size=200)),
    )
    message = "which some rows lack together, would take .*; leave such rows out, or one of these"
    with pytest.raises(CannotAnswer, match=message):
        fit_once(graph, rows)


def second_differences(problem, at):
    """The observed information of intercepts, slopes and ln σ, by differences of likelihoods."""
    size = sum(one.terms.size + one.log_sd.size for one in at.regressions)
    start = at.vector()

    def value(move):
        return problem.log_likelihood(problem.families.parameters(start + move))

    def differences(h):
        steps = h * np.eye(len(start))
        found = np.empty((size, size))
        for i in range(size):
            for j in range(i + 1):
                up = value(steps[i] + steps[j]) + value(-steps[i] - steps[j])
                down = value(steps[i] - steps[j]) + value(steps[j] - steps[i])
                found[i, j] = found[j, i] = -(up - down) / (4 * h * h)
        return found

    # Richardson: the errors of both are h² times the same, but for terms of h⁴.
    return (4 * differences(2e-3) - differences(4e-3)) / 3


def test_the_observed_information_is_the_curvature_of_the_likelihood():
    rng = np.random.default_rng(22)
    table = rng.normal(size=(90, 3)) @ rng.normal(size=(3, 3))
    table[rng.random(table.shape) < 0.25] = np.nan
    rows = numbers(table)
    problem, data = number_problem(full_graph("abc"), rows, hidden={})
    start = available_estimate(problem.families, data, pooled_regressions(problem.families, data))
    at = problem.families.parameters(climb(problem, start.vector()).parameters)
    completed = Expectation(problem.families, data, keep_barren=True)(at)
    said = information(problem, data, at, completed)
    np.testing.assert_allclose(said.observed, second_differences(problem, at), rtol=1e-6, atol=1e-4)
    assert said.n_undetermined == 0
    assert all(0.05 < share < 0.6 for share in said.missing().values())


def test_the_share_of_missing_information_is_that_of_missing_rows():
    # Holes at the end of a chain, and at random: so much of its regression is lost, and no more.
    rng = np.random.default_rng(23)
    x = rng.normal(size=2000)
    y = x + rng.normal(size=2000)
    y[::4] = np.nan
    graph = gml.Graph.from_edges(["a", "b"], [("a", "-->", "b")])
    report = fit_once(graph, numbers(np.column_stack([x, y]))).report
    assert report.missing_information["a"] == pytest.approx(0, abs=1e-6)
    # By 1 − k/tr R⁻¹: terms by the products of all rows and of those seen, ln σ by their number.
    terms = np.column_stack([np.ones(2000), x])
    seen = terms[~np.isnan(y)]
    inflation = np.trace(np.linalg.solve(seen.T @ seen, terms.T @ terms)) + 2000 / 1500
    assert report.missing_information["b"] == pytest.approx(1 - 3 / inflation, abs=1e-6)
    assert (report.rank, report.n_parameters) == (5, 5)
    complete = fit_once(graph, numbers(np.column_stack([x, x + rng.normal(size=2000)]))).report
    assert (complete.rank, dict(complete.missing_information)) == (5, {"a": 0.0, "b": 0.0})


def test_what_is_never_seen_together_is_not_identified():
    rng = np.random.default_rng(24)
    table = rng.normal(size=(200, 2))
    table[:100, 0] = np.nan
    table[100:, 1] = np.nan
    graph = gml.Graph.from_edges(["a", "b"], [("a", "-->", "b")])
    report = fit_once(graph, numbers(table)).report
    assert (report.rank, report.n_parameters) == (4, 5)
    assert report.missing_information["b"] == 1
    # A hidden node above a hidden node: only the margin of the lower one matters.
    x = np.concatenate([rng.normal(size=100), rng.normal(size=60) + 6])[:, None]
    chain = gml.Graph.from_edges(["g", "h", "a"], [("g", "-->", "h"), ("h", "-->", "a")])
    report = fit_once(chain, numbers(x), hidden={"g": 2, "h": 2}).report
    assert (report.rank, report.n_parameters) == (5, 7)
    assert [report.missing_information[name] for name in "gh"] == [1, 1]
    assert report.missing_information["a"] < 0.5


def test_intervals_of_many_complete_rows_are_those_of_the_closed_form():
    rng = np.random.default_rng(25)
    net = random_mixed(rng, 1, 2, p=0.9, most_levels=2)
    rows = net.sample(40000, seed=1)
    given = {"hidden": {}, "alpha": None, "regression_prior": None, "settings": ONE_START}
    found = fit_numbers(net.graph, rows, intervals=0.9, **given)
    wanted = gml.fit(rows, net.graph, intervals=0.9)
    for cpd in wanted.cpds:
        name = cpd.variable.name
        if cpd.variable.is_continuous:
            pairs = [
                (mine.intervals, theirs.intervals)
                for mine, theirs in zip(
                    lines_of(found.net, name), lines_of(wanted, name), strict=True
                )
            ]
        else:
            pairs = [(found.net.cpt(name).intervals, cpd.intervals)]
        for mine, theirs in pairs:
            mine, theirs = np.array(mine), np.array(theirs)
            width = theirs[..., 1] - theirs[..., 0]
            np.testing.assert_allclose((mine - theirs) / width[..., None], 0, atol=0.05)


def test_regressions_of_few_complete_rows_have_the_intervals_of_the_closed_form():
    """Student's t and χ², not the normal distribution."""
    rng = np.random.default_rng(27)
    table = rng.normal(size=(9, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]])
    graph = gml.Graph.from_edges(["a", "b"], [("a", "-->", "b")])
    given = {"hidden": {}, "alpha": None, "regression_prior": None, "settings": ONE_START}
    found = fit_numbers(graph, numbers(table), intervals=0.95, **given).net
    wanted = gml.fit(numbers(table), graph, intervals=0.95)
    for name in "ab":
        np.testing.assert_allclose(
            found.cpd(name).intervals, wanted.cpd(name).intervals, rtol=1e-5, atol=1e-6
        )


def test_intervals_are_wider_where_values_are_missing_and_refused_where_all_is_open():
    rng = np.random.default_rng(26)
    table = rng.normal(size=(400, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]]) + 1e6
    graph = gml.Graph.from_edges(["a", "b"], [("a", "-->", "b")])
    given = {"hidden": {}, "alpha": None, "regression_prior": None, "settings": ONE_START}

    def widths(rows):
        line = fit_numbers(graph, numbers(rows), intervals=0.95, **given).net.cpd("b")
        low, high = np.array(line.intervals).T
        assert (low < [line.intercept, *line.coefficients, line.sd]).all()
        return high - low

    whole = widths(table)
    table[rng.random(400) < 0.5, 0] = np.nan
    table[rng.random(400) < 0.2, 1] = np.nan
    assert (widths(table) > 1.2 * whole).all()
    table[:200, 0], table[200:, 1] = np.nan, np.nan
    with pytest.raises(CannotAnswer, match="leaves some parameters open; a bootstrap"):
        widths(table)


def test_a_row_without_density_is_named_as_the_table_has_it():
    """Also where rows before it were left out, as those without any value are."""
    rows = numbers(np.array([[np.nan, np.nan], [1.0, 2.0], [np.nan, 2.5], [4.0, 3.0], [0.0, 5.0]]))
    seen = rows.rows(np.arange(5) > 0)
    graph = gml.Graph.from_edges(["a", "b"], [("a", "-->", "b")])
    problem, data = number_problem(graph, seen, hidden={})
    start = available_estimate(problem.families, data, pooled_regressions(problem.families, data))
    start.regressions[0].terms[:] = np.nan
    with pytest.raises(Collapsed, match=r"what data row 3 holds has a density of 0 or no bound"):
        problem.expectation(start)


def test_a_probability_at_zero_has_one_bound_in_all_engines():
    """Labels beside an unrelated number, and by samples of the rows, as labels alone."""
    variables = [Variable("k", ("x", "y", "z")), Variable("u", None)]
    codes = np.array([0] * 40 + [1] * 34 + [255] * 6, dtype=np.uint8)
    rows = Dataset(tuple(variables), (codes, np.random.default_rng(7).normal(size=80)))
    alone = gml.Graph.from_edges(["k"], [])
    beside = gml.Graph.from_edges(["k", "u"], [])
    by_tables = fit_once(alone, rows.select(["k"]), intervals=0.95).net
    by_numbers = fit_once(beside, rows, intervals=0.95).net
    wanted = by_tables.cpt("k").intervals[0, 2]
    assert wanted == pytest.approx([0, -np.log(0.05) / 74], rel=1e-6)
    assert by_numbers.cpt("k").intervals[0, 2] == pytest.approx(wanted, rel=1e-6)
    # The six rows without the label say nothing, however many of them are expected to be x.
    for net, graph, some in (
        (by_tables, alone, rows.select(["k"])),
        (by_numbers, beside, rows),
    ):
        drawn, _ = with_bootstrap_intervals(
            net, graph, some, hidden={}, alpha=None, level=0.95, samples=20
        )
        assert drawn.cpt("k").intervals[0, 2] == pytest.approx(wanted, rel=1e-6)


def test_a_probability_at_one_is_bounded_by_the_rows_that_were_seen():
    """Of 500 rows with k = 1, three have l: the other 497 bound nothing."""
    frame = pd.DataFrame({"k": ["0"] * 500 + ["1"] * 500, "l": [None] * 1000})
    frame.loc[:19, "l"] = ["a", "b"] * 10
    frame.loc[500:502, "l"] = "a"
    bound = -np.log(0.05) / 3
    how = {"missing": "em", "intervals": 0.95, "em_restarts": 1}
    numbered = frame.assign(x=np.random.default_rng(1).normal(size=1000))
    for data, nodes, numeric in ((frame, "kl", {}), (numbered, "klx", {"numeric": ["x"]})):
        graph = gml.Graph.from_edges(list(nodes), [("k", "-->", "l")])
        for more in ({}, {"bootstrap": 10}):
            net = gml.fit(data, graph, **how, **numeric, **more)
            assert net.cpt("l").intervals[1, 0] == pytest.approx([1 - bound, 1], rel=1e-6)
            assert net.cpt("l").intervals[1, 1] == pytest.approx([0, bound], rel=1e-6)


def test_a_number_whose_parent_has_a_hidden_parent_keeps_its_available_rows():
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.normal(size=50), 6 + rng.normal(size=50)])
    frame = pd.DataFrame({"x": x, "y": x + rng.normal(size=100)})
    graph = gml.Graph.from_edges(list("hxy"), [("h", "-->", "x"), ("x", "-->", "y")])
    how = {"numeric": ["x", "y"], "hidden": {"h": 2}, "em_restarts": 2}
    net = gml.fit(frame, graph, **how)
    (line,) = net.cpd("y").regressions
    assert line.available.rows is not None and net.cpd("x").regressions[0].available is None
    wanted = np.polyfit(frame["x"], frame["y"], 1)
    assert line.available.coefficients[0] == pytest.approx(wanted[0], rel=1e-9)


def test_bounds_at_zero_beside_a_number_are_those_of_labels_alone():
    """Rows without l speak of it by m, so that neither expected nor seen rows give the bound."""
    rng = np.random.default_rng(2)
    k = rng.choice(["0", "1"], 200)
    second = np.where(k == "0", rng.choice(["a", "b", "c"], 200), rng.choice(["a", "b"], 200))
    m = np.where(
        rng.random(200) < 0.6, np.where(second == "a", "u", "v"), rng.choice(["u", "v"], 200)
    )
    frame = pd.DataFrame({"k": k, "l": second, "m": m}).astype(object)
    frame.loc[rng.random(200) < 0.8, "l"] = None
    arcs = [("k", "-->", "l"), ("l", "-->", "m")]
    how = {"missing": "em", "intervals": 0.95, "em_restarts": 1}
    alone = gml.fit(frame, gml.Graph.from_edges(list("klm"), arcs), **how)
    numbered = frame.assign(x=rng.normal(size=200))
    graph = gml.Graph.from_edges(list("klmx"), arcs)
    beside = gml.fit(numbered, graph, numeric=["x"], **how)
    wanted = alone.cpt("l").intervals
    assert alone.cpt("l").table[1, 2] < 1e-8 and 0.1 < wanted[1, 2, 1] < 0.25
    np.testing.assert_allclose(beside.cpt("l").intervals, wanted, atol=1e-6)
