"""What once raised alarms where nothing changed, or none where much did; and the terms against it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.stats

import gml
from gml.data.dataset import Dataset, Variable, code_type
from gml.gate.families import FamilyCounts
from gml.gate.monte_carlo import MonteCarlo
from gml.gate.selection import Selection
from gml.gate.stratified import pooled_shift
from gml.gate.structure_checks import concentration_of, log_p_of_increase
from gml.learners.hillclimb import hill_climb
from gml.model.fit import fit

from ..networks import fitted_to


def table(**columns):
    """Rows with the levels that they have, in order of their numbers."""
    variables, codes = [], []
    for name, values in columns.items():
        levels, found = np.unique(values, return_inverse=True)
        variables.append(Variable(name, tuple(map(str, levels.tolist()))))
        codes.append(found.astype(code_type(len(levels))))
    return Dataset(tuple(variables), tuple(codes))


def learned(data):
    counter = gml.MemoryCounter(data, threads=1)
    return fit(hill_climb(gml.SCORES["bic"](counter)).graph, counter)


def check(model, data, **options):
    return gml.check_model(model, data, gml.CheckSettings(threads=1), **options)


# ---------------------------------------------------------------------- a table as a whole


def test_the_pooled_shift_is_that_of_mantel_and_haenszel():
    old, new = np.array([[30, 20], [10, 40], [0, 7]]), np.array([[20, 30], [5, 45], [0, 0]])
    found = pooled_shift(old, new, old / old.sum(axis=1, keepdims=True))
    moved = (20 - 25) + (5 - 7.5)
    variance = 50 * 50 * 50 * 50 / (100**2 * 99) + 50 * 50 * 15 * 85 / (100**2 * 99)
    assert found.statistic == pytest.approx(moved**2 / variance, rel=1e-12)
    assert found.df == 1
    assert found.log_p == pytest.approx(scipy.stats.chi2.logsf(moved**2 / variance, 1), rel=1e-10)
    assert (found.rows_old, found.rows_new) == (100, 100)


def test_the_covariance_of_a_shift_is_that_over_all_ways_to_share_rows_out():
    """By enumeration of two small strata with three levels."""
    pooled = np.array([[2, 2, 1], [1, 1, 3]])
    rows_new = np.array([2, 3])

    def ways(urn, n):
        for new in itertools.product(*(range(balls + 1) for balls in urn)):
            if sum(new) == n:
                yield np.array(new), math.prod(map(math.comb, urn, new))

    outcomes = [
        (np.array([first, second]), p * q)
        for first, p in ways(pooled[0].tolist(), 2)
        for second, q in ways(pooled[1].tolist(), 3)
    ]
    weights = np.array([weight for _, weight in outcomes], dtype=float)
    weights /= weights.sum()
    expected = rows_new[:, None] * pooled / pooled.sum(axis=1, keepdims=True)
    moved = np.array([(new - expected).sum(axis=0) for new, _ in outcomes])
    covariance = (weights[:, None, None] * moved[:, :, None] * moved[:, None, :]).sum(axis=0)
    statistics = []
    for (new, _), by_hand in zip(outcomes, moved, strict=True):
        found = pooled_shift(pooled - new, new, pooled / 5)
        assert found.statistic == pytest.approx(by_hand @ np.linalg.pinv(covariance) @ by_hand)
        assert found.df == 2
        statistics.append(found.statistic)
    # And its p-value by drawing is the share of the ways that shift as much.
    largest = int(np.argmax(statistics))
    found = pooled_shift(pooled - outcomes[largest][0], outcomes[largest][0], pooled / 5)
    exact = weights[np.array(statistics) >= statistics[largest] - 1e-9].sum()
    log_p, _ = found.settle("x", MonteCarlo(level=1e-4))
    assert math.exp(log_p) == pytest.approx(exact, rel=1.0)


def test_the_order_of_parents_does_not_change_a_bit_of_a_shift():
    rng = np.random.default_rng(5)
    old, new = rng.integers(0, 30, (2, 40, 4))
    shares = old / old.sum(axis=1, keepdims=True)
    turned = rng.permutation(40)
    one, other = pooled_shift(old, new, shares), pooled_shift(old[turned], new[turned], shares)
    assert (one.statistic, one.log_p) == (other.statistic, other.log_p)
    assert one.before.tolist() == other.before.tolist()


def test_rows_of_one_level_have_nothing_to_shift():
    certain = np.array([[7, 0], [0, 9], [0, 3]])
    assert pooled_shift(certain, certain, certain / certain.sum(axis=1, keepdims=True)) is None
    one_row = np.array([[1, 0], [0, 1]])
    assert pooled_shift(np.zeros((2, 2), dtype=int), one_row, one_row) is None
    mixed = certain + np.array([[0, 3], [0, 0], [0, 0]])
    found = pooled_shift(mixed, mixed, mixed / 10)
    assert (found.df, found.statistic) == (1, pytest.approx(0.0, abs=1e-20))


def wide(n, seed, *, without=False):
    """A table with 100 rows, in all of which a level has a share of 0.08, or none."""
    rng = np.random.default_rng([seed, n])
    shares = np.random.default_rng(7).dirichlet([2, 2, 2], size=(10, 10))
    a, b = rng.integers(0, 10, (2, n))
    v = (rng.random(n)[:, None] > shares[a, b].cumsum(axis=1)).sum(axis=1).clip(0, 2)
    rare = rng.random(n) < 0.08
    v[rare] = rng.integers(0, 3, n)[rare] if without else 3
    return table(a=a, b=b, v=v)


def test_a_shift_that_no_row_shows_is_found():
    model = fitted_to([("a", "v"), ("b", "v")], wide(2000, 1))
    assert not check(model, wide(2000, 2)).failed
    report = check(model, wide(2000, 3, without=True))
    assert [c.id for c in report.ranked("fail")] == ["tables:v"]
    (found,) = report.ranked("fail")
    assert found.given == (("a", None), ("b", None))
    assert "P(v=3) 0.0" in found.message
    assert found.effect == pytest.approx(0.08, abs=0.02)


def test_shifts_of_the_parents_alone_are_none_of_the_table():
    rng = np.random.default_rng(3)

    def rows(n, share):
        a = (rng.random(n) < share).astype(int)
        return table(a=a, v=(rng.random(n) < np.where(a == 1, 0.9, 0.2)).astype(int))

    report = check(fitted_to([("a", "v")], rows(5000, 0.3)), rows(5000, 0.6))
    assert [c.id for c in report.ranked("fail") if c.family != "fit"] == ["tables:a|"]


def test_tables_without_counts_shift_against_their_probabilities():
    p = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    new = np.array([[40, 40, 20], [20, 10, 70]])
    found = pooled_shift(None, new, p)
    moved = new.sum(axis=0) - 100 * p.sum(axis=0)
    covariance = sum(100 * (np.diag(row) - np.outer(row, row)) for row in p)
    assert found.statistic == pytest.approx(moved @ np.linalg.pinv(covariance) @ moved)
    assert found.rows_old is None
    log_p, _ = found.settle("x", MonteCarlo(level=1e-3))
    assert log_p == pytest.approx(found.log_p, abs=0.5)


# ---------------------------------------------------------------------- fit


def mixed(n, share, seed):
    """Some rows are certain, and a sample may lack them all by chance."""
    rng = np.random.default_rng([seed, n])
    a = (rng.random(n) < share).astype(int)
    noise = {f"x{k}": np.where(a == 1, 0, rng.integers(0, 8, n)) for k in range(5)}
    return table(a=a, **noise)


def test_a_sample_without_the_surest_rows_is_no_worse_fit():
    model = fitted_to([("a", f"x{k}") for k in range(5)], mixed(20_000, 0.03, 0))
    bare = [seed for seed in range(1, 60) if len(mixed(60, 0.03, seed).variables[0].levels) == 1][
        :5
    ]
    assert len(bare) == 5
    for seed in bare:
        assert "fit:likelihood" not in [
            c.id for c in check(model, mixed(60, 0.03, seed)).ranked("fail")
        ]


def copies(n, rng, width=24):
    hidden = rng.integers(0, 2, n)
    return table(
        **{f"c{k:02}": np.where(rng.random(n) < 0.85, hidden, 1 - hidden) for k in range(width)}
    )


def test_parents_that_were_chosen_among_equals_are_no_worse_fit():
    rng = np.random.default_rng(1)
    settings = gml.CheckSettings(threads=1, families=("fit",))
    model = learned(copies(2000, rng))
    (fit,) = gml.check_model(model, copies(20_000, rng), settings).checks
    assert fit.status != "fail"
    # The loss is there, and more than chance: the allowance is what takes it in.
    assert fit.statistic < -0.1
    assert fit.new["allowance"] > -fit.statistic


def test_the_allowance_for_a_choice_is_half_the_expected_maximum():
    v, u = Variable("v", ("0", "1")), Variable("u", ("0", "1"))
    counts = np.array([[400, 100], [100, 400]])
    family = FamilyCounts(v, (u,), ("0", "1"), counts, counts, counts / 500)
    nats = np.log(np.array([0.8, 0.2]) / 0.5)
    variance = float(np.average((nats - np.average(nats, weights=[8, 2])) ** 2, weights=[8, 2]))
    selection = Selection({("v",): ()}, 11)
    expected = 0.5 * math.sqrt(2 * math.log(10) * variance / 1000)
    assert selection.allowance([family]) == pytest.approx(expected, rel=1e-12)


def test_rare_levels_of_an_exact_model_are_no_worse_fit():
    """One row of a level with probability 1e-4 in 200 rows happens in one run of fifty."""
    level = Variable("v", ("often", "rare"))
    model = gml.BayesNet((gml.CPT(level, (), np.array([[1 - 1e-4, 1e-4]])),))
    once, often = (
        Dataset((level,), ((np.arange(200) < rare).astype(np.uint8),)) for rare in (1, 4)
    )
    settings = gml.CheckSettings(threads=1, families=("fit",))
    (fit,) = gml.check_model(model, once, settings).checks
    assert (fit.status, fit.test) == ("pass", "chernoff")
    assert math.exp(fit.log_p) >= scipy.stats.binom.sf(0, 200, 1e-4)
    (fit,) = gml.check_model(model, often, settings).checks
    assert fit.status == "fail"
    assert math.exp(fit.log_p) >= scipy.stats.binom.sf(3, 200, 1e-4)


# ---------------------------------------------------------------------- independences


def test_a_dependence_that_is_spread_out_is_not_concentrated():
    near = np.array([[[2600, 2400], [2400, 2600]]])
    assert concentration_of(near) == pytest.approx(1.0, abs=0.05)


def test_a_dependence_on_one_rare_cell_is_concentrated():
    """κ takes the λ = G of μ rows there to at most 2μ, so that exp(−λ/2κ) is at least exp(−μ)."""
    for rare, n in ((40, 100_000), (40, 800), (5, 5000)):
        table = np.array([[[n - rare, 0], [0, rare]]])
        g = 2 * ((n - rare) * math.log(n / (n - rare)) + rare * math.log(n / rare))
        assert 1.8 * rare < g / concentration_of(table) < 2.01 * rare


def test_a_concentrated_dependence_needs_more_to_have_grown():
    found = gml.Check(
        "x", "structure", "independence", ("a", "b"), statistic=900.0, df=1.0, rows_new=10_000
    )
    reference = gml.gate.structure_checks.Reference(0.1, 1.0, 1000)
    assert log_p_of_increase(found, reference, 1e-5) < math.log(1e-5)
    assert log_p_of_increase(found, reference, 1e-5, 6.0) > math.log(0.05)


def pairs(n, rng):
    """Four pairs of columns with a rare level that they always share."""
    columns = {}
    for k in range(4):
        rare = rng.random(n) < 0.004
        for name in "ab":
            columns[f"{name}{k}"] = np.where(rare, 9, rng.integers(0, 3, n))
    return table(**columns)


def test_rare_levels_that_go_together_are_no_new_dependence():
    """At these seeds one of the pairs has no such row among the 1000 of the model."""
    tried = 0
    for seed in range(60):
        rng = np.random.default_rng([seed, 8])
        before = pairs(1000, rng)
        if all("9" in variable.levels for variable in before.variables):
            continue
        tried += 1
        model = learned(before)
        accepted = gml.baseline_of(check(model, before).checks, before.n)
        report = check(model, pairs(10_000, rng), baseline=accepted)
        assert [c.id for c in report.ranked("fail")] == []
    assert tried >= 2
