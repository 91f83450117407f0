"""Tests on rows with weights: their definitions, written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from gml.independence.reweighted import (
    WeightedTable,
    weighted_correlation_test,
    weighted_table_test,
)


def table_of(x, y, z, weights, counts=None):
    shape = (int(z.max()) + 1, int(x.max()) + 1, int(y.max()) + 1)
    counts = np.ones(len(x)) if counts is None else counts
    return WeightedTable.of([z, x, y], shape, counts, weights)


def by_definition(x, y, z, weights):
    """Kish's and Rao & Scott's p-values, with V as a matrix over all cells of all strata."""
    n_x, n_y, n_z = x.max() + 1, y.max() + 1, z.max() + 1
    scaled = weights.astype(float).copy()
    for s in range(n_z):
        here = z == s
        scaled[here] *= scaled[here].sum() / (scaled[here] ** 2).sum()
    observed, expected = np.zeros((n_z, n_x, n_y)), np.zeros((n_z, n_x, n_y))
    terms = np.zeros((len(x), n_z, n_x, n_y))
    df = 0
    for s in range(n_z):
        here = np.flatnonzero(z == s)
        total = scaled[here].sum()
        p = np.array([scaled[here][x[here] == a].sum() for a in range(n_x)]) / total
        q = np.array([scaled[here][y[here] == b].sum() for b in range(n_y)]) / total
        np.add.at(observed[s], (x[here], y[here]), scaled[here])
        expected[s] = total * np.outer(p, q)
        df += (np.count_nonzero(p) - 1) * (np.count_nonzero(q) - 1)
        for row in here:
            e = np.outer((np.arange(n_x) == x[row]) - p, (np.arange(n_y) == y[row]) - q)
            terms[row, s] = scaled[row] * e
    keep = expected > 0
    x2 = ((observed - expected)[keep] ** 2 / expected[keep]).sum()
    unit = terms[:, keep] / np.sqrt(expected[keep])
    first = (unit**2).sum()
    products = (unit @ unit.T) ** 2
    second = max(products.sum() - np.trace(products), first**2 / df)
    kish = (x2, df, stats.chi2.logsf(x2, df))
    scott = (x2 * first / second, first**2 / second)
    return max((kish, (*scott, stats.chi2.logsf(*scott))), key=lambda found: found[2])


@pytest.mark.parametrize("seed", range(8))
def test_tables_by_definition(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(40, 200))
    z = rng.integers(0, 3, n)
    x, y = rng.integers(0, 3, n), (rng.integers(0, 4, n) + (seed % 2) * z) % 4
    weights = rng.choice([0.5, 1.0, 4.0], n) * (1 + seed * (x == y))
    found = weighted_table_test(table_of(x, y, z, weights))
    statistic, df, log_p = by_definition(x, y, z, weights)
    assert found.statistic == pytest.approx(statistic, rel=1e-9)
    assert found.df == pytest.approx(df, rel=1e-9)
    assert found.log_p == pytest.approx(log_p, rel=1e-9)
    assert (found.n, found.strata, found.sufficient, found.varies) == (n, 3, True, True)


def test_both_p_values_are_the_larger_somewhere():
    """Otherwise one of them would not be tested above."""
    which = set()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, y, z = (rng.integers(0, 3, 80) for _ in range(3))
        weights = 1.0 + seed % 7 * (x == y)
        df = by_definition(x, y, z, weights)[1]
        which.add(float(df).is_integer())
    assert which == {True, False}


def test_equal_weights_give_pearsons_statistic():
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 3, 3000), rng.integers(0, 2, 3000)
    found = weighted_table_test(table_of(x, y, np.zeros(3000, dtype=int), np.full(3000, 2.5)))
    plain = stats.chi2_contingency(np.histogram2d(x, y, bins=(3, 2))[0], correction=False)
    assert found.details["effective_n"] == pytest.approx(3000, rel=1e-12)
    assert math.exp(found.log_p) == pytest.approx(plain.pvalue, rel=0.02)


def test_scale_and_counts_of_weights():
    rng = np.random.default_rng(2)
    x, y, z = (rng.integers(0, 2, 300) for _ in range(3))
    weights, counts = rng.choice([1.0, 2.0, 8.0], 300), rng.integers(0, 4, 300)
    once = weighted_table_test(table_of(x, y, z, weights, counts.astype(float)))
    scaled = weighted_table_test(table_of(x, y, z, 1024 * weights, counts.astype(float)))
    many = np.repeat(np.arange(300), counts)
    expanded = weighted_table_test(table_of(x[many], y[many], z[many], weights[many]))
    # Powers of 2 leave no rounding behind.
    assert once == scaled
    assert expanded.log_p == pytest.approx(once.log_p, rel=1e-12)
    assert expanded.n == once.n == counts.sum()


def test_tables_that_cannot_tell():
    zeros = np.zeros(10, dtype=int)
    ones = np.ones(10)
    constant = weighted_table_test(WeightedTable.of([zeros, zeros, zeros], (1, 2, 2), ones, ones))
    assert (constant.varies, constant.sufficient, constant.log_p) == (False, True, 0.0)
    half = (np.arange(10) % 2).astype(int)
    function = weighted_table_test(table_of(half, half, half, ones))
    assert (function.sufficient, function.log_p) == (False, None)
    few = weighted_table_test(table_of(half, zeros + (np.arange(10) > 4), zeros, ones), 3.0)
    assert not few.sufficient
    empty = WeightedTable.of([zeros[:0]] * 3, (1, 2, 2), ones[:0], ones[:0])
    assert not weighted_table_test(empty).sufficient


def drawn_numbers(seed, n=300):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(2, n)) * [[3.0], [0.1]] + 50
    x = z[0] - 20 * z[1] + rng.normal(size=n)
    y = 0.3 * z[0] + 0.2 * x + rng.exponential(size=n)
    return x, y, z, rng.integers(1, 4, n).astype(float), rng.choice([0.5, 1.0, 6.0], n)


@pytest.mark.parametrize("seed", range(4))
def test_correlations_by_definition(seed):
    x, y, z, counts, weights = drawn_numbers(seed)
    found = weighted_correlation_test((x, y), list(z), counts, weights)
    mass = counts * weights
    design = np.column_stack([np.ones(len(x)), *z])
    gram = design.T @ (mass[:, None] * design)
    u, v = (c - design @ np.linalg.solve(gram, design.T @ (mass * c)) for c in (x, y))
    uu, vv, uv = (mass * u * u).sum(), (mass * v * v).sum(), (mass * u * v).sum()
    r = uv / math.sqrt(uu * vv)
    kish = mass.sum() ** 2 / (mass * weights).sum()
    n = min(kish, uu * vv / (counts * (weights * u * v) ** 2).sum())
    z_value = math.sqrt(n - 5) * math.atanh(r)
    assert found.statistic == pytest.approx(z_value, rel=1e-7)
    assert found.log_p == pytest.approx(math.log(2) + stats.norm.logsf(abs(z_value)), rel=1e-6)
    assert found.details["effective_n"] == pytest.approx(n, rel=1e-7)
    assert found.mi == pytest.approx(-0.5 * math.log(1 - r * r), rel=1e-7)


def test_correlations_that_cannot_tell():
    x, y, z, counts, weights = drawn_numbers(9)
    constant = weighted_correlation_test((np.full(300, 7.1), y), [], counts, weights)
    assert (constant.varies, constant.log_p) == (False, 0.0)
    assert not weighted_correlation_test((z[0] + z[1], y), list(z), counts, weights).sufficient
    same = weighted_correlation_test((x, y), [z[0], np.full(300, 2.0)], counts, weights)
    alone = weighted_correlation_test((x, y), [z[0]], counts, weights)
    # A constant is left out, but was given.
    assert abs(same.statistic) < abs(alone.statistic)
    few = weighted_correlation_test((x[:4], y[:4]), [z[0][:4]], counts[:4], weights[:4])
    assert not few.sufficient
    none = weighted_correlation_test((x[:0], y[:0]), [], counts[:0], weights[:0])
    assert (none.sufficient, none.n) == (False, 0)


@pytest.mark.parametrize("kind", ["labels", "numbers"])
def test_the_level_holds(kind):
    """Weights that depend on x and y together: at most the level, and not by far."""
    rng = np.random.default_rng(11)
    rejected, runs = 0, 1500
    for _ in range(runs):
        x, y = rng.normal(size=600), rng.normal(size=600)
        if kind == "labels":
            x, y = np.digitize(x, [-0.5, 0.5]), np.digitize(y, [-0.3, 0.7])
            chance = np.where(x + y > 2, 0.25, 0.9)
        else:
            chance = np.where(x + y > 1, 0.25, 0.9)
        here = rng.random(600) < chance
        x, y, weights = x[here], y[here], 1 / chance[here]
        if kind == "labels":
            found = weighted_table_test(table_of(x, y, np.zeros(len(x), dtype=int), weights))
        else:
            found = weighted_correlation_test((x, y), [], np.ones(len(x)), weights)
        rejected += found.log_p <= math.log(0.05)
    # Five standard deviations of the share.
    assert abs(rejected / runs - 0.05) < 5 * math.sqrt(0.05 * 0.95 / runs)
