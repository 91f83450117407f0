"""The statistics of checks: against SciPy, against enumeration, against brute force."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from gml.data.dataset import Variable
from gml.gate.check import Check
from gml.gate.families import FamilyCounts
from gml.gate.fit_checks import mean_terms
from gml.gate.likely_rows import smoothed_logs
from gml.gate.monte_carlo import MONTE_CARLO, TAIL_OF_DRAWS, MonteCarlo
from gml.gate.schema_checks import log_p_of_unseen
from gml.gate.structure_checks import (
    Reference,
    comparable_rows,
    information_of,
    log_p_of_increase,
)
from gml.gate.tails import (
    chi2_quantile,
    log_noncentral_tail,
    log_normal_tail,
    log_skewed_tail,
    noncentrality_bound,
)
from gml.gate.two_sample import (
    compare_rows,
    compare_shares,
    compare_with_probabilities,
    settle_rows,
    settle_with_probabilities,
)

COUNTS = st.lists(st.integers(0, 12), min_size=2, max_size=4)


# ---------------------------------------------------------------------- tails


@pytest.mark.parametrize("noncentrality", [0.0, 0.3, 5.0, 80.0, 4000.0])
@pytest.mark.parametrize("df", [1.0, 3.5, 40.0])
def test_noncentral_tails(noncentrality, df):
    mean, sd = df + noncentrality, math.sqrt(2 * df + 4 * noncentrality)
    for x in (0.3 * mean, mean, mean + 2 * sd, mean + 6 * sd):
        expected = (
            scipy.stats.ncx2.logsf(x, df, noncentrality)
            if noncentrality
            else scipy.stats.chi2.logsf(x, df)
        )
        assert log_noncentral_tail(x, df, noncentrality) == pytest.approx(expected, rel=1e-7)


def test_a_large_noncentrality_is_normal():
    near = log_noncentral_tail(201_500.0, 2.0, 199_999.0)
    assert log_noncentral_tail(201_500.0, 2.0, 200_001.0) == pytest.approx(near, rel=0.02)


def test_the_bound_of_a_noncentrality_is_where_so_small_a_statistic_is_rare():
    for statistic, df, share in [(0.1, 1.0, 1e-6), (9.0, 4.0, 1e-3), (500.0, 30.0, 1e-5)]:
        bound = noncentrality_bound(statistic, df, share)
        assert scipy.stats.ncx2.cdf(statistic, df, bound) == pytest.approx(share, rel=1e-7)
    assert noncentrality_bound(0.0, 3.0, 1e-3) == 0.0


def test_quantiles_of_chi2():
    for p, df in [(0.99, 0.5), (0.5, 1.0), (1e-3, 7.0), (1e-250, 2.0), (1e-12, 400.0)]:
        expected = scipy.stats.chi2.isf(p, df)
        assert chi2_quantile(math.log(p), df) == pytest.approx(expected, rel=1e-9)
    assert chi2_quantile(0.0, 4.0) == 0.0


def test_normal_and_skewed_tails():
    for z in (-3.0, -0.5, 0.0, 1.0, 8.0):
        assert log_normal_tail(z) == pytest.approx(scipy.stats.norm.logsf(z), rel=1e-9)
    for z, skewness in [(1.0, 0.5), (5.0, 0.5), (4.0, 2.0)]:
        expected = scipy.stats.pearson3.logsf(z, skewness)
        assert log_skewed_tail(z, skewness) == pytest.approx(expected, rel=1e-7)
    assert log_skewed_tail(4.0, -1.0) == log_normal_tail(4.0)


# ---------------------------------------------------------------------- drawing


def uniform_draw(key, first, last):
    """Statistics that are uniform on [0, 1), a function of the replicate alone."""
    return np.array([np.random.default_rng([*key, r]).random() for r in range(first, last)])


def test_drawing_stops_when_enough_reach():
    log_p, how = MonteCarlo(1e-4).log_p("x", uniform_draw, 0.5, 1)
    assert how == MONTE_CARLO
    assert math.exp(log_p) == pytest.approx(0.5, abs=0.12)


def test_drawing_goes_on_until_the_level_can_be_told():
    calls = []

    def draw(key, first, last):
        calls.append(last)
        return np.random.default_rng([*key, first]).exponential(size=last - first)

    log_p, how = MonteCarlo(1e-3).log_p("x", draw, -math.log(2e-3), 1)
    assert how == MONTE_CARLO
    assert 5e-4 < math.exp(log_p) < 8e-3
    # A statistic that none of the draws could reach stops them early.
    before = len(calls)
    log_p, how = MonteCarlo(1e-3).log_p("x", draw, 60.0, 1, of_g=False)
    assert how == TAIL_OF_DRAWS
    assert max(calls[before:]) == 1000
    assert log_p == pytest.approx(-60, rel=0.25)


def test_draws_depend_on_seed_and_name_alone():
    def p(name, seed, threads):
        return MonteCarlo(1e-3, seed, threads).log_p(name, uniform_draw, 0.97, 1)

    assert p("x", 0, 1) == p("x", 0, 3)
    assert len({p(name, 0, 1) for name in "uvwxyz"}) > 3
    assert len({p("x", seed, 1) for seed in range(6)}) > 3


def test_drawn_p_values_are_valid():
    """P(p ≤ level) ≤ level, early stops and all."""
    level, runs, hits = 0.004, 1500, 0
    rng = np.random.default_rng(8)
    for run in range(runs):

        def draw(key, first, last):
            return np.random.default_rng([*key, first]).random(last - first)

        log_p, _ = MonteCarlo(level, seed=run).log_p("x", draw, float(rng.random()), 1)
        hits += log_p <= math.log(level)
    assert hits <= runs * level + 5 * math.sqrt(runs * level)


# ---------------------------------------------------------------------- two samples


def outcomes(total, sizes):
    """All ways to draw `total` of cells with these sizes."""
    for cells in itertools.product(*(range(size + 1) for size in sizes)):
        if sum(cells) == total:
            yield np.array(cells)


def exact_p(old, new):
    """P(G ≥ observed) over all ways to share the pooled rows out, by enumeration."""
    pooled, n_new = old + new, int(new.sum())
    observed = compare_rows(old[None], new[None]).g[0]
    ways = math.comb(int(pooled.sum()), n_new)
    total = 0
    for drawn in outcomes(n_new, pooled.tolist()):
        if compare_rows((pooled - drawn)[None], drawn[None]).g[0] >= observed - 1e-9:
            total += math.prod(
                math.comb(int(p), int(d)) for p, d in zip(pooled, drawn, strict=True)
            )
    return total / ways


@given(COUNTS, COUNTS)
def test_g_of_two_rows_is_that_of_scipy(old, new):
    size = min(len(old), len(new))
    old, new = np.array(old[:size]), np.array(new[:size])
    seen = (old + new) > 0
    if not (old.sum() and new.sum()) or seen.sum() < 2:
        return
    table = np.stack([old[seen], new[seen]])
    expected = scipy.stats.chi2_contingency(table, correction=False, lambda_="log-likelihood")
    found = compare_rows(old[None], new[None])
    assert found.g[0] == pytest.approx(expected.statistic, abs=1e-9)
    assert found.df[0] == expected.dof
    assert math.exp(found.log_p[0]) == pytest.approx(expected.pvalue, abs=1e-9)
    assert found.least_expected[0] == pytest.approx(expected.expected_freq.min())


@settings(max_examples=30)
@given(
    st.lists(st.integers(0, 6), min_size=2, max_size=2),
    st.lists(st.integers(0, 6), min_size=2, max_size=2),
)
def test_two_levels_are_exact(old, new):
    old, new = np.array(old), np.array(new)
    if not (old.sum() and new.sum()) or not (old + new).all():
        return
    g = float(compare_rows(old[None], new[None]).g[0])
    log_p, how = settle_rows(old, new, g, "x", MonteCarlo(1e-3))
    assert how == "exact"
    assert math.exp(log_p) == pytest.approx(exact_p(old, new), rel=1e-9)


def test_more_levels_are_close_to_exact():
    rng = np.random.default_rng(4)
    for _ in range(8):
        old, new = rng.integers(0, 6, 3) + 1, rng.integers(0, 6, 3) + 1
        g = float(compare_rows(old[None], new[None]).g[0])
        log_p, _ = settle_rows(old, new, g, "x", MonteCarlo(1e-3))
        p = exact_p(old, new)
        # Ten that reach the statistic, or two thousand draws: within some standard errors.
        assert math.exp(log_p) == pytest.approx(p, rel=0.35, abs=2e-3)


def test_the_exact_test_of_large_samples_is_that_of_scipy():
    for a, b, c, d in [(300, 9700, 380, 9620), (4, 200_000, 19, 200_000), (50, 50, 50, 5000)]:
        _, log_p, how = compare_shares(a, a + b, c, c + d)
        expected = scipy.stats.fisher_exact([[a, b], [c, d]]).pvalue
        # Ours orders tables by G, that of SciPy by probability.
        assert math.exp(log_p) == pytest.approx(expected, rel=0.15)
        assert how == ("g" if a == 300 else "exact")


def test_probabilities_in_the_place_of_counts():
    p, new = np.array([[0.2, 0.8]]), np.array([[9, 11]])
    found = compare_with_probabilities(p, new)
    deviance = 2 * (9 * math.log(9 / 4) + 11 * math.log(11 / 16))
    assert found.g[0] == pytest.approx(deviance)
    log_p, how = settle_with_probabilities(p[0], new[0], deviance, "x", MonteCarlo(1e-3))
    assert how == "exact"
    reaching = [
        scipy.stats.binom.pmf(k, 20, 0.2)
        for k in range(21)
        if 2 * (k * math.log(max(k, 1) / 4) + (20 - k) * math.log(max(20 - k, 1) / 16)) >= deviance - 1e-9
    ]  # fmt: skip
    assert math.exp(log_p) == pytest.approx(sum(reaching), rel=1e-9)
    impossible = compare_with_probabilities(np.array([[0.0, 1.0]]), np.array([[1, 5]]))
    assert impossible.log_p[0] == -math.inf


def test_drawn_rows_of_probabilities():
    p, new = np.array([0.2, 0.3, 0.5]), np.array([7, 7, 6])
    g = float(compare_with_probabilities(p[None], new[None]).g[0])
    log_p, _ = settle_with_probabilities(p, new, g, "x", MonteCarlo(1e-3))
    exact = 0.0
    for rows in outcomes(20, [20, 20, 20]):
        if compare_with_probabilities(p[None], rows[None]).g[0] >= g - 1e-9:
            exact += scipy.stats.multinomial.pmf(rows, 20, p)
    assert math.exp(log_p) == pytest.approx(exact, rel=0.5)


# ---------------------------------------------------------------------- levels


def test_unknown_levels_by_shuffling():
    """The p-value against shuffling rows between the samples by hand."""
    rng = np.random.default_rng(3)
    for before, after in [
        ([40, 3, 2, 1, 1], [38, 0, 4, 0, 2, 2, 1]),
        ([90, 4], [10, 1, 1]),
        ([30, 0, 1], [60, 3, 2, 1, 1, 1]),
    ]:
        before = np.array(before)
        after = np.array(after)
        unseen = int(after[len(before) :].sum())
        pooled = after.copy()
        pooled[: len(before)] += before
        levels = np.repeat(np.arange(len(pooled)), pooled)
        reaching, runs = 0, 4000
        for _ in range(runs):
            rng.shuffle(levels)
            old = np.bincount(levels[: before.sum()], minlength=len(pooled))
            new = np.bincount(levels[before.sum() :], minlength=len(pooled))
            reaching += new[old == 0].sum() >= unseen
        p = math.exp(log_p_of_unseen(before, after, unseen))
        shuffled = reaching / runs
        error = math.sqrt(shuffled * (1 - shuffled) / runs)
        # Levels are taken one by one, which errs on the side of caution.
        assert shuffled - 5 * error <= p <= 1.6 * shuffled + 5 * error


def test_many_rows_of_an_unknown_level_are_no_accident():
    before, after = np.array([500, 500]), np.array([300, 300, 400])
    assert log_p_of_unseen(before, after, 400) < math.log(1e-12)
    assert log_p_of_unseen(before, after[:2], 0) is None
    assert log_p_of_unseen(np.array([500, 2]), np.array([300, 1]), 0) == 0.0


# ---------------------------------------------------------------------- edges


def family(old, new, sizes):
    """A child with parents of these sizes."""
    names = "uvwxyz"
    parents = tuple(
        Variable(names[k], tuple(map(str, range(size)))) for k, size in enumerate(sizes)
    )
    levels = tuple(map(str, range(old.shape[1])))
    probabilities = (old + 0.5) / (old + 0.5).sum(axis=1, keepdims=True)
    return FamilyCounts(Variable("child", levels), parents, levels, old, new, probabilities)


def test_the_information_of_an_edge_by_hand():
    old = np.array([[30, 10], [10, 30], [5, 5], [8, 2]])
    new = np.array([[20, 20], [15, 25], [7, 3], [6, 4]])
    for k in (0, 1):
        rows = comparable_rows(family(old, new, (2, 2)), k)
        found = information_of(rows)
        weight = old.sum(axis=1) / old.sum()
        for counts, information in zip((old, new), found.information, strict=True):
            joint = (weight[:, None] * counts / counts.sum(axis=1, keepdims=True)).reshape(2, 2, 2)
            # I(parent k; child | the other one)
            joint = joint if k == 0 else joint.transpose(1, 0, 2)
            total = 0.0
            for other in range(2):
                part = joint[:, other, :]
                product = part.sum(1, keepdims=True) * part.sum(0, keepdims=True) / part.sum()
                total += float(np.sum(part * np.log(part / product)))
            assert information == pytest.approx(total, rel=1e-12)


def test_a_shift_of_the_parents_is_no_loss():
    """Rows that keep their shares keep their information, whatever their number."""
    old = np.array([[300, 100], [100, 300], [50, 50], [80, 20]])
    new = old * np.array([[1], [20], [3], [7]])
    found = information_of(comparable_rows(family(old, new, (2, 2)), 0))
    assert found.loss == pytest.approx(0.0, abs=1e-12)


def test_rows_that_one_side_lacks_are_left_out():
    old = np.array([[30, 10], [10, 30], [5, 5], [0, 0]])
    new = np.array([[20, 20], [15, 25], [0, 0], [6, 4]])
    rows = comparable_rows(family(old, new, (2, 2)), 1)
    assert rows.table.tolist() == [[[30, 10], [20, 20]], [[10, 30], [15, 25]]]
    assert rows.groups.tolist() == [0, 0]


# ---------------------------------------------------------------------- fit


def test_old_rows_are_left_out_one_by_one():
    rng = np.random.default_rng(6)
    old, new = rng.integers(0, 6, (3, 3)), rng.integers(0, 6, (3, 3))
    counted = family(old, new, (3,))
    total = 0.0
    for row, level in zip(*np.nonzero(old), strict=True):
        without = old.copy()
        without[row, level] -= 1
        smooth = without[row] + 0.5
        total += old[row, level] * math.log(smooth[level] / smooth.sum())
    before, after = mean_terms(counted, smoothed_logs(counted))
    assert before == pytest.approx(total / old.sum(), rel=1e-12)
    smooth = (old + 0.5) / (old + 0.5).sum(axis=1, keepdims=True)
    assert after == pytest.approx(float(np.sum(new * np.log(smooth))) / new.sum(), rel=1e-12)


def test_a_reference_by_another_statistic_is_compared_by_its_p_value():
    """X² with 2.5 degrees of freedom then, G with 170 now: 315 is much for the one, not the other."""
    check = Check(
        "x", "structure", "independence", ("a", "b"), statistic=315.3, df=170.0, rows_new=16_000
    )
    assert log_p_of_increase(check, Reference(2.54, 2.5, 16_000), 1e-5) > math.log(0.05)
    assert log_p_of_increase(check, Reference(175.0, 170.0, 16_000), 1e-5) > math.log(0.05)
    far = replace(check, statistic=600.0)
    assert log_p_of_increase(far, Reference(2.54, 2.5, 16_000), 1e-5) < math.log(1e-5)
