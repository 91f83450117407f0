"""The permutation test: valid, close to exact enumeration, the same in both kernels."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gml.counts.memory import MemoryCounter
from gml.data.dataset import Dataset, Variable
from gml.independence.registry import TESTS
from gml.kernel import reference
from gml.kernel.reference.permutation import information_loss
from gml.kernel.reference.statistics import g_of_stratum

compiled = pytest.importorskip("gml.kernel._kernel")


def g_of(table):
    return sum(g_of_stratum(stratum) for stratum in table if stratum.sum())


def exact_p(table):
    """P(G* ≥ G) over all tables with the margins of each stratum, by enumeration."""

    def laws(stratum):
        """All tables with these margins and their probabilities."""
        rows, columns = stratum.sum(1), stratum.sum(0)
        n = int(stratum.sum())
        constant = sum(map(math.lgamma, (rows + 1.0).tolist()))
        constant += sum(map(math.lgamma, (columns + 1.0).tolist())) - math.lgamma(n + 1)
        free = [range(n + 1)] * ((len(rows) - 1) * (len(columns) - 1))
        for cells in itertools.product(*free):
            inner = np.array(cells).reshape(len(rows) - 1, len(columns) - 1)
            full = np.zeros_like(stratum)
            full[:-1, :-1] = inner
            full[:-1, -1] = rows[:-1] - inner.sum(1)
            full[-1] = columns - full[:-1].sum(0)
            if (full >= 0).all():
                weight = constant - sum(math.lgamma(c + 1.0) for c in full.reshape(-1))
                yield math.exp(weight), g_of_stratum(full)

    total = 0.0
    observed = g_of(table)
    for outcome in itertools.product(*(list(laws(stratum)) for stratum in table)):
        if sum(g for _, g in outcome) >= observed - 1e-9:
            total += math.prod(p for p, _ in outcome)
    return total


@settings(max_examples=25)
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 2), st.sampled_from([(2, 2), (2, 3), (3, 2)]),
    st.integers(0, 2**63),
)  # fmt: skip
def test_close_to_exact_enumeration(seed, strata, shape, key):
    table = np.random.default_rng(seed).integers(0, 4, (strata, *shape))
    table[:, 0, 0] += 1
    replicates = 20_000
    threshold = g_of(table) - 1e-9
    draws = compiled.permutation_draws(table, (key, 12345), 0, replicates)
    found = np.count_nonzero(draws >= threshold)
    p = exact_p(table)
    # six standard errors: one failure in 10⁹ draws of this test
    slack = 6 * math.sqrt(max(p * (1 - p), 1e-4) / replicates) + 1e-3
    assert abs(found / replicates - p) < slack


@settings(max_examples=40)
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 4), st.integers(1, 4),
    st.sampled_from([3, 50, 4000]),
)  # fmt: skip
def test_compiled_draws_what_the_reference_draws(seed, strata, r, c, size):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, size, (strata, r, c)) * (rng.random((strata, r, c)) < 0.8)
    table = np.ascontiguousarray(table)
    args = (table, (seed, ~seed & (2**64 - 1)), 7, 207)
    draws = compiled.permutation_draws(*args)
    np.testing.assert_allclose(draws, reference.permutation_draws(*args), rtol=1e-9, atol=1e-12)


@settings(max_examples=30)
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 3), st.integers(1, 4),
    st.sampled_from([3, 50, 4000]),
)  # fmt: skip
def test_information_losses_are_the_same_in_both_kernels(seed, groups, strata, columns, size):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, size, (groups * strata, 2, columns))
    table[:, :, 0] += 1
    weights = rng.dirichlet(np.ones(groups * strata))
    of_group = np.repeat(np.arange(groups), strata)
    args = (table, weights, of_group, (seed, 3), 5, 105)
    found = compiled.information_loss_draws(*args)
    np.testing.assert_allclose(
        found, reference.information_loss_draws(*args), rtol=1e-9, atol=1e-12
    )
    parts = [compiled.information_loss_draws(*args[:4], a, a + 25) for a in range(5, 105, 25)]
    assert np.array_equal(found, np.concatenate(parts))


def test_information_losses_are_those_of_rows_shared_out_anew():
    """The draws against shuffling rows by hand: the same mean and spread."""
    rng = np.random.default_rng(11)
    table = np.array([[[30, 10], [20, 15]], [[5, 25], [12, 18]], [[9, 1], [3, 3]]])
    weights, of_group = np.array([0.5, 0.3, 0.2]), np.array([0, 0, 1])
    shuffled = []
    for _ in range(4000):
        again = np.empty_like(table)
        for s, stratum in enumerate(table):
            labels = rng.permutation(np.repeat([0, 1], stratum.sum(0)))
            n_old = stratum[0].sum()
            again[s] = [
                np.bincount(labels[:n_old], minlength=2), np.bincount(labels[n_old:], minlength=2)
            ]  # fmt: skip
        shuffled.append(float(information_loss(again, weights, of_group)))
    draws = compiled.information_loss_draws(table, weights, of_group, (1, 2), 0, 4000)
    error = np.hypot(np.std(shuffled), np.std(draws)) / np.sqrt(4000)
    assert abs(np.mean(shuffled) - np.mean(draws)) < 5 * error
    assert np.std(shuffled) == pytest.approx(np.std(draws), rel=0.06)


def test_chunks_add_up():
    table = np.array([[[10, 4, 3], [5, 9, 2]], [[1, 2, 3], [3, 2, 1]]])
    key = (1, 2)
    whole = compiled.permutation_draws(table, key, 0, 1000)
    parts = [compiled.permutation_draws(table, key, a, a + 100) for a in range(0, 1000, 100)]
    assert np.array_equal(whole, np.concatenate(parts))
    assert len(np.unique(whole)) > 100


def test_valid_under_independence():
    """P(p ≤ a) ≤ a: over many independent datasets the p-values are not too small."""
    rng = np.random.default_rng(20)
    runs, hits = 2000, {0.01: 0, 0.05: 0, 0.2: 0}
    for run in range(runs):
        columns = [rng.integers(0, 3, 30).astype(np.uint8), rng.integers(0, 2, 30).astype(np.uint8)]
        variables = (Variable("x", tuple("abc")), Variable("y", tuple("ab")))
        counter = MemoryCounter(Dataset(variables, tuple(columns)), threads=1)
        test = TESTS["permutation"](counter, permutations=199, seed=run, threads=1)
        p = math.exp(test(0, 1).log_p)
        for level in hits:
            hits[level] += p <= level + 1e-12
    for level, count in hits.items():
        # one-sided, four standard errors
        assert count <= runs * level + 4 * math.sqrt(runs * level * (1 - level))
        assert count > 0.3 * runs * level


def test_seed_and_names_decide_and_nothing_else():
    rng = np.random.default_rng(3)
    x, y, z = (rng.integers(0, 3, 200).astype(np.uint8) for _ in range(3))
    levels = tuple("abc")

    def p(order, names, threads, seed=0):
        columns = {"x": x, "y": y, "z": z}
        counter = MemoryCounter(
            Dataset(
                tuple(Variable(n, levels) for n in names), tuple(columns[n][order] for n in names)
            ),
            threads=threads,
        )
        at = {name: j for j, name in enumerate(names)}
        test = TESTS["permutation"](counter, permutations=999, seed=seed, threads=threads)
        return test(at["x"], at["y"], (at["z"],)).log_p

    expected = p(slice(None), "xyz", 1)
    shuffled = rng.permutation(200)
    assert p(shuffled, "zyx", 2) == expected
    assert p(shuffled, "yzx", 3) == expected
    assert p(slice(None), "xyz", 1, seed=1) != expected
