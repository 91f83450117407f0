"""Markov chains over orders against the sum over all orders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gml
from gml.errors import CannotAnswer, GmlWarning, UsageError
from gml.kernel import _kernel, reference
from gml.learners.mixing import effective_size, split_r_hat

from .test_exact import Random, labels

DATA = Path(__file__).parent.parent / "golden/data"


def score_of(n_columns, seed=0, name="bdeu", n_rows=150):
    return gml.SCORES[name](gml.MemoryCounter(labels(n_columns, n_rows, seed=seed)))


def check(score, **options):
    """The difference to the exact sums is within 5 of its standard errors, of n(n−1) edges.

    A standard error from 80 means of batches is good to a tenth; edges that vary in few samples
    have a poor one, so that 0.002 is added: some 0.1 standard deviations of a probability, of which
    there are at least 400 independent ones.
    """
    limits = {key: options[key] for key in ("max_parents", "knowledge") if key in options}
    expected = gml.edge_posteriors(score, **limits)
    found = gml.order_mcmc(score, **options)
    assert found.effective_size > 400
    assert (np.abs(found.edges - expected.edges) <= 5 * found.errors + 0.002).all()
    assert found.r_hat < 1.01
    assert found.r_hat_edges < 1.1
    assert found.prior == expected.prior
    return found


@pytest.mark.parametrize("n_columns", [1, 2, 6, 8, 10])
def test_agrees_with_the_sum_over_all_orders(n_columns):
    found = check(score_of(n_columns, n_columns), max_parents=3, iterations=100_000)
    assert found.candidates is None
    assert found.log_scores.shape == (4, 1000)
    assert found.complete


def test_agrees_under_knowledge():
    score = score_of(7, seed=3)
    a, b, c, d, e, *_ = score.names
    told = gml.Knowledge(require=((a, b), (b, c)), forbid=((c, d),), tiers=((d,), (e,)))
    found = check(score, max_parents=2, knowledge=told, iterations=100_000)
    assert found.edges[0, 1] == pytest.approx(1)
    assert found.edges[2, 3] == found.edges[4, 3] == 0


def test_agrees_without_a_limit_on_parents():
    check(score_of(6, seed=5, name="bic"), max_parents=None, iterations=100_000, chains=5)


@pytest.mark.filterwarnings("ignore:the chains do not agree")
def test_candidates_are_the_best_single_parents():
    score = score_of(8, seed=2)
    found = gml.order_mcmc(score, candidates=3, iterations=2000)
    assert "the 3 candidates" in found.prior
    assert found.candidates == 3
    for x in range(8):
        gains = {y: score.local(x, (y,)) for y in range(8) if y != x}
        best = sorted(gains, key=gains.get)[-3:]
        assert set(np.flatnonzero(found.edges[:, x])) <= set(best)


@pytest.mark.filterwarnings("ignore:the chains do not agree")
def test_last_bits_do_not_choose_the_candidates():
    class Own:
        names = ("a", "b", "c", "d")

        def local(self, child, parents):
            return 1e-12 * sum(parents)

    found = gml.order_mcmc(Own(), candidates=1, iterations=2000)
    assert found.edges[0, 1:].all()
    assert found.edges[1, 0] > 0
    assert not found.edges[2:].any()


def test_threads_and_columns_change_nothing():
    data = labels(7, seed=6)
    score = gml.SCORES["bdeu"](gml.MemoryCounter(data))
    first = gml.order_mcmc(score, iterations=2000, threads=1)
    again = gml.order_mcmc(score, iterations=2000, threads=4)
    other = gml.order_mcmc(score, iterations=2000, seed=1)
    np.testing.assert_array_equal(first.edges, again.edges)
    np.testing.assert_array_equal(first.log_scores, again.log_scores)
    assert not np.array_equal(first.edges, other.edges)
    reverse = type(data)(data.variables[::-1], data.columns[::-1])
    turned = gml.order_mcmc(gml.SCORES["bdeu"](gml.MemoryCounter(reverse)), iterations=2000)
    np.testing.assert_array_equal(turned.edges[::-1, ::-1], first.edges)


def test_many_columns():
    """More than the bits of a word; a score of one's own."""
    score = Random(70)
    with pytest.warns(GmlWarning, match="do not agree"):
        found = gml.order_mcmc(score, max_parents=1, candidates=5, iterations=200, burn_in=0)
    assert found.edges.shape == (70, 70)
    assert (found.edges.sum(axis=0) <= 1 + 1e-12).all()
    assert found.families == 70 * 69 + 70 * 6


def test_alarm():
    """37 variables: the chains agree, and find the edges of the network."""
    counter = gml.MemoryCounter(gml.read(DATA / "alarm_5000.csv.gz"))
    found = gml.order_mcmc(gml.SCORES["bdeu"](counter), max_parents=3, iterations=100_000)
    assert found.r_hat < 1.05
    assert found.r_hat_edges < 1.1
    assert 38 <= np.count_nonzero(found.edges + found.edges.T > 0.5) / 2 <= 52


@pytest.mark.parametrize("required", [0, 2])
def test_kernel_is_its_reference(required):
    rng = np.random.default_rng(required)
    n, k = 9, 4
    candidates = np.concatenate(
        [rng.permutation([y for y in range(n - 1) if y != x])[:k] for x in range(n)]
    ).astype(np.int32)
    sets, logs = [], []
    for x in range(n):
        own = np.arange(1 << k, dtype=np.uint64)
        if x < required:
            own = own[own & np.uint64(1) == 1]
            candidates[k * x] = n - 1
        sets.append(own)
        logs.append(-np.sort(rng.exponential(15, len(own))))
    starts = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    chains = [
        kernel.OrderChain(
            candidates,
            np.arange(0, k * n + 1, k, dtype=np.int64),
            np.concatenate(sets),
            np.concatenate(logs),
            starts,
            np.arange(n)[::-1],
            (12345, 678),
        )
        for kernel in (_kernel, reference)
    ]
    accepted = [0, 0]
    for first in range(0, 600, 100):
        for i, chain in enumerate(chains):
            accepted[i] += chain.walk(first, first + 100)
        assert chains[0].order.tolist() == chains[1].order.tolist()
        np.testing.assert_allclose(chains[0].sums, chains[1].sums, rtol=1e-13)
        np.testing.assert_allclose(chains[0].edges(), chains[1].edges(), rtol=1e-12)
    assert accepted[0] == accepted[1]
    assert 0 < accepted[0] < 600
    assert sorted(chains[0].order.tolist()) == list(range(n))


def test_chains_that_have_not_mixed_are_warned_of():
    score = gml.SCORES["bdeu"](gml.MemoryCounter(gml.read(DATA / "alarm_5000.csv.gz")))
    with pytest.warns(GmlWarning, match="take more iterations"):
        gml.order_mcmc(score, max_parents=2, candidates=4, iterations=40, burn_in=0)


def test_usage_and_limits():
    score = score_of(4)
    for options in ({"chains": 3}, {"iterations": 10}, {"thin": 0}, {"candidates": 64}):
        with pytest.raises(UsageError):
            gml.order_mcmc(score, **options)
    with pytest.raises(UsageError):
        gml.order_mcmc(score, burn_in=-1)
    with pytest.raises(CannotAnswer, match="`max_seconds`"):
        gml.order_mcmc(score, deadline=gml.Deadline(0))
    with pytest.raises(CannotAnswer, match="`max_memory`"):
        gml.order_mcmc(score, max_memory=100)


@pytest.mark.filterwarnings("ignore:the chains do not agree")
def test_out_of_time_keeps_the_samples():
    class Later:
        left = 50

        @property
        def passed(self):
            self.left -= 1
            return self.left < 0

    found = gml.order_mcmc(score_of(5, seed=1), iterations=4000, deadline=Later())
    assert not found.complete
    assert 2 * 50 <= found.log_scores.shape[1] < 1000


def test_diagnostics():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(4, 4000))
    assert split_r_hat(noise) == pytest.approx(1, abs=0.002)
    assert effective_size(noise) == pytest.approx(16000, rel=0.15)
    walk = np.empty_like(noise)
    walk[:, 0] = noise[:, 0]
    for t in range(1, 4000):
        walk[:, t] = 0.9 * walk[:, t - 1] + noise[:, t]
    # An autoregression of 0.9 is worth (1 − 0.9)/(1 + 0.9) of its length.
    assert effective_size(walk) == pytest.approx(16000 * 0.1 / 1.9, rel=0.25)
    apart = noise + 3 * np.arange(4)[:, None]
    assert split_r_hat(apart) > 2
    assert effective_size(apart) < 50
    assert split_r_hat(np.ones((4, 10))) == 1
    assert effective_size(np.ones((4, 10))) == 40
