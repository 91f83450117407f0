"""The divergence of networks of labels and numbers: against the chain rule."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import gml.model.mixed.divergence as divergence
from gml.data.dataset import Variable
from gml.errors import CannotAnswer, GraphError
from gml.model.bayesnet import CPT, BayesNet, ConditionalGaussian, LinearGaussian
from gml.model.compare import kl_divergence

from ..mixed_networks import configurations_of, random_mixed


def other_over(rng, net, p=0.5):
    """A random network over the same nodes, whose levels, nodes and arrows stand in other orders."""
    shuffled = {
        v.name: v
        if v.levels is None
        else Variable(v.name, tuple(map(str, rng.permutation(v.levels))))
        for v in net.variables
    }
    labels = [v for v in rng.permutation(net.names).tolist() if shuffled[v].levels is not None]
    numbers = [v for v in rng.permutation(net.names).tolist() if shuffled[v].levels is None]
    cpds = []
    for k, name in enumerate(labels):
        above = tuple(shuffled[other] for other in labels[:k] if rng.random() < p)
        rows = math.prod(len(v.levels) for v in above)
        cpds.append(
            CPT(shuffled[name], above, rng.dirichlet(np.ones(len(shuffled[name].levels)), rows))
        )
    for k, name in enumerate(numbers):
        given = tuple(shuffled[other] for other in labels if rng.random() < p)
        on = tuple(shuffled[other] for other in numbers[:k] if rng.random() < p)
        lines = tuple(
            LinearGaussian(
                shuffled[name],
                on,
                float(rng.normal()),
                tuple(rng.normal(size=len(on)).tolist()),
                float(0.5 + rng.gamma(2.0)),
            )
            for _ in range(math.prod(len(v.levels) for v in given))
        )
        cpds.append(
            ConditionalGaussian(shuffled[name], (*on, *given), lines) if given else lines[0]
        )
    return BayesNet(tuple(cpds[k] for k in rng.permutation(len(cpds))))


def row_of(variables, levels):
    """The place of a configuration among those of some labels."""
    place = 0
    for variable in variables:
        place = place * len(variable.levels) + variable.levels.index(levels[variable.name])
    return place


def at_labels(net, levels, numbers):
    """P(labels), and mean and covariance of the numbers given them, by parents first."""
    probability, mean, covariance = 1.0, {}, {}
    for j in net.order():
        cpd = net.cpds[j]
        name = cpd.variable.name
        if isinstance(cpd, CPT):
            own = cpd.variable.levels.index(levels[name])
            probability *= cpd.table.reshape(-1, cpd.n_levels)[row_of(cpd.parents, levels), own]
            continue
        line = cpd.regressions[row_of(cpd.label_parents, levels)]
        terms = list(zip([v.name for v in cpd.number_parents], line.coefficients, strict=True))
        mean[name] = line.intercept + sum(b * mean[other] for other, b in terms)
        for seen in list(mean):
            if seen != name:
                found = sum(b * covariance[other, seen] for other, b in terms)
                covariance[name, seen] = covariance[seen, name] = found
        covariance[name, name] = line.sd**2 + sum(b * covariance[other, name] for other, b in terms)
    matrix = np.array([[covariance[a, b] for b in numbers] for a in numbers])
    return probability, np.array([mean[a] for a in numbers]), matrix


def by_the_chain_rule(p, q):
    """KL of the labels, and that of the normal distributions given them, in matrices."""
    numbers = [v.name for v in p.variables if v.levels is None]
    total = 0.0
    for levels in configurations_of(p):
        (one, mean, sigma), (other, middle, tau) = (
            at_labels(net, levels, numbers) for net in (p, q)
        )
        if one == 0:
            continue
        if other == 0:
            return math.inf
        away = middle - mean
        quadratic = away @ np.linalg.solve(tau, away)
        trace = np.trace(np.linalg.solve(tau, sigma))
        logs = np.linalg.slogdet(tau)[1] - np.linalg.slogdet(sigma)[1]
        total += one * (math.log(one / other) + 0.5 * (trace + quadratic - len(numbers) + logs))
    return total


@pytest.mark.parametrize("most", [1 << 22, 0])
def test_is_that_of_the_chain_rule(monkeypatch, most):
    """By all configurations, and by moments that are mixed label by label."""
    monkeypatch.setattr(divergence, "_MOST_FIGURES", most)
    rng = np.random.default_rng(7)
    for _ in range(60):
        p = random_mixed(rng, int(rng.integers(1, 5)), int(rng.integers(1, 5)), zeros=0.1)
        q = other_over(rng, p)
        expected = by_the_chain_rule(p, q)
        found = kl_divergence(p, q)
        assert list(found.nodes) == list(p.names)
        assert found.total == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_a_network_beside_itself():
    rng = np.random.default_rng(8)
    for _ in range(20):
        net = random_mixed(rng, 3, 4, exact=0.2, scale=1e6)
        assert set(kl_divergence(net, net).nodes.values()) == {0.0}


def test_the_order_of_nodes_and_levels_does_not_show():
    rng = np.random.default_rng(10)
    for _ in range(10):
        p = random_mixed(rng, 3, 3)
        q = other_over(rng, p)
        turned = [
            BayesNet(tuple(net.cpds[k] for k in rng.permutation(len(net.cpds)))) for net in (p, q)
        ]
        assert kl_divergence(*turned).total == kl_divergence(p, q).total


def two_kinds(sds=(1.0, 1.0), means=(0.0, 5.0)):
    label, x = Variable("label", ("a", "b")), Variable("x", None)
    lines = tuple(LinearGaussian(x, (), mean, (), sd) for mean, sd in zip(means, sds, strict=True))
    return BayesNet(
        (CPT(label, (), np.array([[0.25, 0.75]])), ConditionalGaussian(x, (label,), lines))
    )


def test_a_number_without_error():
    """The same relation has the term 0; any other is infinitely far."""
    exact = two_kinds(sds=(1.0, 0.0))
    assert kl_divergence(exact, exact).total == 0
    assert kl_divergence(exact, two_kinds()).nodes["x"] == math.inf
    assert kl_divergence(two_kinds(), exact).nodes["x"] == math.inf
    assert kl_divergence(exact, two_kinds((1.0, 0.0), (0.0, 6.0))).nodes["x"] == math.inf
    moved = kl_divergence(exact, two_kinds((1.0, 0.0), (2.0, 5.0)))
    assert moved.nodes["x"] == pytest.approx(0.25 * 0.5 * 4, rel=1e-15)


def test_an_exact_relation_is_seen_by_moments_too(monkeypatch):
    monkeypatch.setattr(divergence, "_MOST_FIGURES", 0)
    exact = two_kinds(sds=(1.0, 0.0))
    assert kl_divergence(exact, exact).total == pytest.approx(0, abs=1e-15)
    assert kl_divergence(exact, two_kinds((1.0, 0.0), (0.0, 6.0))).nodes["x"] == math.inf


def test_a_level_that_never_occurs_may_be_excluded():
    p = two_kinds()
    never = np.array([[0.0, 1.0]])
    p = BayesNet((replace(p.cpt("label"), table=never), p.cpd("x")))
    q = two_kinds(sds=(0.0, 1.0))
    assert kl_divergence(p, q).nodes["x"] == 0
    assert kl_divergence(p, q).nodes["label"] == pytest.approx(-math.log(0.75))


def test_what_does_not_fit_is_refused(monkeypatch):
    rng = np.random.default_rng(11)
    p = random_mixed(rng, 5, 4, p=0.9)
    with pytest.raises(CannotAnswer):
        kl_divergence(p, other_over(rng, p, p=0.9), max_memory=100)


def test_a_number_is_no_label():
    x = Variable("x", ("0", "1"))
    other = BayesNet((CPT(x, (), np.array([[0.5, 0.5]])), two_kinds().cpt("label")))
    with pytest.raises(GraphError, match="'x' has numbers in one network and levels in the other"):
        kl_divergence(two_kinds(), other)
