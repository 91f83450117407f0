"""Bootstrap intervals of networks with numbers."""

from __future__ import annotations

import numpy as np
import pytest

import gml
from gml.data.dataset import Dataset, Variable
from gml.model.em.bootstrap import with_bootstrap_intervals
from gml.model.em.em_report import EmSettings
from gml.model.em.fitting import fit_em
from gml.model.em.number_bootstrap import figures_of, refitted_numbers
from gml.model.regression_prior import RegressionPrior
from gml.progress import Deadline
from tests.incomplete_rows import without
from tests.mixed_networks import random_mixed
from tests.numbers_with_holes import with_holes

ONE_START = EmSettings(restarts=1, information=False)
CLIMB = {"most_steps": 5000, "deadline": Deadline()}


def lines_of(cpd):
    return getattr(cpd, "regressions", (cpd,))


@pytest.mark.parametrize("seed", range(4))
def test_a_refit_to_the_same_rows_is_the_same_network(seed):
    rng = np.random.default_rng([seed, 31])
    net = random_mixed(rng, 2, 2, p=0.9, most_levels=2, scale=5.0)
    rows, hidden = with_holes(rng, net.sample(200, seed=seed), 0.1), {}
    if seed % 2:
        rows, hidden = without(rows, ["d0"]), {"d0": 2}
    given = {"method": "bayes", "prior": "k2", "prior_rows": 2.0}
    found = fit_em(net.graph, rows, hidden=hidden, settings=ONE_START, **given)
    how = {
        "hidden": hidden,
        "alpha": ("k2", 1.0),
        "regression_prior": RegressionPrior("pooled", 2.0),
    }
    figures = refitted_numbers(found.net, net.graph, rows, how, **CLIMB)
    for cpd, own in zip(found.net.cpds, figures, strict=True):
        wanted = figures_of(cpd) if cpd.variable.is_continuous else cpd.table
        np.testing.assert_allclose(own, wanted, rtol=1e-5, atol=1e-6 * (1 + np.abs(wanted).max()))


def line_with_holes(seed, n=400):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n) + 50
    y = 2 * x + rng.normal(size=n)
    x[rng.random(n) < 0.3] = np.nan
    y[rng.random(n) < 0.2] = np.nan
    graph = gml.Graph.from_edges(["x", "y"], [("x", "-->", "y")])
    return graph, Dataset((Variable("x", None), Variable("y", None)), (x, y))


def test_bounds_are_about_those_of_the_information():
    graph, rows = line_with_holes(1)
    told = fit_em(graph, rows, intervals=0.9, settings=ONE_START).net
    drawn, samples = with_bootstrap_intervals(
        told, graph, rows, hidden={}, alpha=None, level=0.9, samples=150, seed=2
    )
    assert samples == 150
    for name in ("x", "y"):
        wanted = np.array(told.cpd(name).intervals)
        width = wanted[:, 1] - wanted[:, 0]
        found = np.array(drawn.cpd(name).intervals)
        np.testing.assert_allclose((found - wanted) / width[:, None], 0, atol=0.25)


def test_neither_the_order_of_rows_nor_that_of_columns_shows():
    graph, rows = line_with_holes(3, n=80)
    order = np.random.default_rng(0).permutation(80)
    other = Dataset(rows.variables[::-1], tuple(c[order] for c in rows.columns[::-1]))
    bounds = []
    for data in (rows, other):
        net = fit_em(graph, data, settings=ONE_START).net
        net, _ = with_bootstrap_intervals(
            net, graph, data, hidden={}, alpha=None, level=0.9, samples=10, seed=5
        )
        bounds.append([net.cpd(name).intervals for name in "xy"])
    assert bounds[0] == bounds[1]


def test_a_regression_without_rows_has_no_interval():
    rng = np.random.default_rng(4)
    label = rng.integers(0, 2, 200).astype(np.uint8)
    number = rng.normal(size=200) + label
    number[::7] = np.nan
    graph = gml.Graph.from_edges(["g", "x"], [("g", "-->", "x")])
    label[5] = 255
    rows = Dataset((Variable("g", ("u", "v", "w")), Variable("x", None)), (label, number))
    net = fit_em(graph, rows, settings=ONE_START).net
    net, _ = with_bootstrap_intervals(
        net, graph, rows, hidden={}, alpha=None, level=0.9, samples=20, seed=5
    )
    lines = lines_of(net.cpd("x"))
    assert lines[2].intervals is None
    for one in lines[:2]:
        low, high = np.array(one.intervals).T
        assert (low < [one.intercept, one.sd]).all()
        assert (high > [one.intercept, one.sd]).all()
    assert net.cpt("g").intervals[0, 2, 0] == 0
    assert 0 < net.cpt("g").intervals[0, 2, 1] < 0.05


def test_samples_that_cannot_be_fitted_are_left_out():
    rng = np.random.default_rng(6)
    label = np.array([0] * 60 + [1] * 4, dtype=np.uint8)
    number = rng.normal(size=64)
    number[3] = np.nan
    label[8] = 255
    graph = gml.Graph.from_edges(["g", "x"], [("g", "-->", "x")])
    rows = Dataset((Variable("g", ("u", "v")), Variable("x", None)), (label, number))
    net = fit_em(graph, rows, settings=ONE_START).net
    _, samples = with_bootstrap_intervals(
        net, graph, rows, hidden={}, alpha=None, level=0.9, samples=40, seed=5
    )
    assert 10 < samples < 40
