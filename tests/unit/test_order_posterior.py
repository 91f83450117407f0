"""Posterior probabilities of edges against a sum over every DAG."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest

import gml
from gml.errors import CannotAnswer
from gml.graph.bits import members
from gml.kernel import _kernel, reference
from gml.scores.base import as_score

from ..golden.test_scores import cooper_herskovits
from ..graphs import all_dags, linear_extensions
from .test_exact import Random, allowed, score_of


def by_enumeration(score, **limits):
    """P(i → j) and the log marginal, each DAG weighted by its number of linear extensions."""
    n = len(score.names)
    dags = all_dags(n)
    dags = dags[allowed(score, dags, **limits)]
    logs = np.zeros(len(dags))
    for x in range(n):
        local = np.array(
            [
                math.nan if s >> x & 1 else as_score(score).batch([(x, tuple(members(s)))])[0]
                for s in range(1 << n)
            ]
        )
        logs += local[dags[:, x]]
    orders = np.array([float(linear_extensions(row)) for row in dags.tolist()])
    weights = np.exp(logs - logs.max()) * orders
    edges = np.array(
        [[weights[dags[:, j] >> i & 1 == 1].sum() for j in range(n)] for i in range(n)]
    )
    log_marginal = logs.max() + math.log(weights.sum()) - math.log(orders.sum())
    return edges / weights.sum(), log_marginal


def check(score, **limits):
    found = gml.edge_posteriors(score, **limits)
    edges, log_marginal = by_enumeration(score, **limits)
    np.testing.assert_allclose(found.edges, edges, rtol=0, atol=1e-10)
    assert found.log_marginal == pytest.approx(log_marginal, abs=1e-9)
    assert found.names == tuple(score.names)
    return found


@pytest.mark.parametrize("name", ["bdeu", "k2", "bic", "qnml", "bge"])
@pytest.mark.parametrize("n_columns", [1, 2, 3, 4, 5])
def test_all_dags(name, n_columns):
    check(score_of(name, n_columns, seed=n_columns))


@pytest.mark.parametrize("max_parents", [0, 1, 2])
def test_few_parents(max_parents):
    found = check(score_of("bdeu", 5, seed=2), max_parents=max_parents)
    assert f"at most {max_parents} parents" in found.prior


def test_knowledge():
    score = score_of("bdeu", 5, seed=3)
    a, b, c, d, e = score.names
    told = gml.Knowledge(require=((a, b),), forbid=((c, d),), tiers=((b, c), (d, e)))
    found = check(score, knowledge=told, max_parents=3)
    assert "knowledge" in found.prior
    assert found.edges[0, 1] == pytest.approx(1, abs=1e-12)
    assert found.edges[2, 3] == found.edges[3, 2] == 0


def test_cooper_and_herskovits():
    """Their ten rows; 25 DAGs, of which the 6 orders make 6·2·4 = 48 and some twice."""
    check(gml.SCORES["k2"](cooper_herskovits()))


def test_scores_far_apart_do_not_underflow():
    """Every DAG is over e⁻¹⁰⁰⁰⁰ times less likely than its families seem."""

    class Own:
        names = ("a", "b", "c", "d")

        def local(self, child, parents):
            return 10000.0 * len(parents) + 0.3 * child * sum(parents)

    check(Own())


def test_constant_columns_and_no_data_to_speak_of():
    found = gml.edge_posteriors(Random(3), max_parents=0)
    assert not found.edges.any()
    with pytest.raises(CannotAnswer, match="not a finite number"):

        class Own:
            names = ("a", "b")

            def local(self, child, parents):
                return -math.inf

        gml.edge_posteriors(Own())


def test_limits():
    score = Random(30)
    with pytest.raises(CannotAnswer, match="`max_memory`.*order-mcmc"):
        gml.edge_posteriors(score, max_parents=2, max_memory=1 << 30)
    assert score.asked == 0
    with pytest.raises(CannotAnswer, match="`max_seconds`"):
        gml.edge_posteriors(Random(6), deadline=gml.Deadline(0))


def test_memory_and_threads():
    score = Random(15)
    gml.edge_posteriors(Random(3))
    limit = 8 * (15 * 2**14 + 2 * 2**15 + 4 * 2 * 2**14) + 48 * 15 * 576
    tracemalloc.start()
    one = gml.edge_posteriors(score, max_parents=3, threads=2, max_memory=limit + (1 << 20))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < limit + (1 << 20)
    other = gml.edge_posteriors(score, max_parents=3, threads=1)
    np.testing.assert_array_equal(one.edges, other.edges)


@pytest.mark.parametrize("up", [False, True])
def test_kernel_sums_over_sets(up):
    rng = np.random.default_rng(0)
    for m in range(8):
        values = np.where(rng.random(1 << m) < 0.3, -np.inf, rng.normal(0, 300, 1 << m))
        found = [values.copy(), values.copy()]
        for kernel, copy in zip((_kernel, reference), found, strict=True):
            kernel.log_sum_sets(copy, up)
        np.testing.assert_allclose(found[0], found[1], rtol=1e-14)
        for some in range(1 << m):
            inside = [s for s in range(1 << m) if (some & ~s if up else s & ~some) == 0]
            expected = np.logaddexp.reduce(values[inside])
            assert found[0][some] == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("rest", [False, True])
def test_kernel_sums_over_orders(rest):
    rng = np.random.default_rng(1)
    for m in range(1, 9):
        parents = rng.normal(0, 200, (m, 1 << (m - 1)))
        parents[rng.random(parents.shape) < 0.2] = -np.inf
        found = [kernel.sum_orders(parents, rest) for kernel in (_kernel, reference)]
        np.testing.assert_allclose(found[0], found[1], rtol=1e-13)
