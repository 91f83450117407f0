"""The divergence of two networks: against sums over the joint, and closed forms."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from gml.data.dataset import Variable
from gml.errors import CannotAnswer, GraphError
from gml.model.bayesnet import CPT, BayesNet, LinearGaussian
from gml.model.compare import kl_divergence
from gml.model.gaussian import errors_of

from ..model_files import random_gaussian
from ..networks import asia, joint_of, marginal, random_net


def other_over(rng, net, zeros=0.0, p=0.4):
    """A random network over the same variables, whose levels and nodes stand in another order."""
    found = random_net(rng, len(net.names), p=p, zeros=0.0)
    parents = {cpt.variable.name: [v.name for v in cpt.parents] for cpt in found.cpds}
    shuffled = {
        v.name: Variable(v.name, tuple(map(str, rng.permutation(v.levels)))) for v in net.variables
    }
    cpts = []
    for name in rng.permutation(net.names).tolist():
        above = tuple(shuffled[other] for other in rng.permutation(parents[name]).tolist())
        rows = math.prod(len(v.levels) for v in above)
        table = rng.dirichlet(np.ones(len(shuffled[name].levels)), rows)
        if table.shape[1] > 1:
            gone = rng.random(table.shape) < zeros
            gone[:, 0] = False
            table = np.where(gone, 0, table)
        cpts.append(CPT(shuffled[name], above, table / table.sum(axis=1, keepdims=True)))
    return BayesNet(tuple(cpts))


def joint_in_order_of(net, other):
    """The joint of another network with the axes and levels of the first."""
    joint = joint_of(other)
    for axis, variable in enumerate(other.variables):
        levels = net.cpd(variable.name).variable.levels
        joint = joint.take([variable.levels.index(level) for level in levels], axis)
    return joint.transpose([other.index(name) for name in net.names])


def by_definition(p, q):
    held = p > 0
    if (q[held] == 0).any():
        return math.inf
    return float(np.sum(p[held] * np.log(p[held] / q[held])))


@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_is_the_sum_over_the_joint(zeros):
    rng = np.random.default_rng(1)
    infinite = 0
    for _ in range(150):
        net = random_net(rng, int(rng.integers(1, 7)), p=rng.uniform(0.1, 0.9), zeros=zeros)
        other = other_over(rng, net, zeros=zeros / 6, p=rng.uniform(0.1, 0.9))
        expected = by_definition(joint_of(net), joint_in_order_of(net, other))
        found = kl_divergence(net, other)
        assert found.total == pytest.approx(expected, rel=1e-10, abs=1e-12)
        assert list(found.nodes) == list(net.names)
        infinite += math.isinf(expected)
    assert (infinite > 5) == (zeros > 0)


def test_terms_of_nodes():
    """E_P of the difference of the logarithms of the node's own factors."""
    rng = np.random.default_rng(2)
    for _ in range(40):
        net = random_net(rng, 5)
        other = other_over(rng, net)
        joint = joint_of(net)
        for name, term in kl_divergence(net, other).nodes.items():
            expected = 0.0
            for one, sign in ((net, 1), (other, -1)):
                cpt = one.cpt(name)
                axes = [net.index(v.name) for v in (*cpt.parents, cpt.variable)]
                weights = marginal(joint, axes)
                table = cpt.table.reshape([len(v.levels) for v in (*cpt.parents, cpt.variable)])
                for axis, v in enumerate((*cpt.parents, cpt.variable)):
                    levels = net.cpd(v.name).variable.levels
                    table = table.take([v.levels.index(level) for level in levels], axis)
                expected += sign * np.sum(weights * np.log(table))
            assert term == pytest.approx(expected, rel=1e-10, abs=1e-12)


def test_itself_and_never_negative():
    rng = np.random.default_rng(3)
    for _ in range(50):
        net = random_net(rng, 6, zeros=0.2)
        found = kl_divergence(net, net)
        assert found.total == 0
        assert set(found.nodes.values()) == {0}
    assert kl_divergence(asia(), asia()).total == 0


def test_parents_that_add_nothing():
    """The same distribution with an edge reversed, so that no term but the total is 0."""
    a, b = Variable("a", ("0", "1")), Variable("b", ("0", "1"))
    p = BayesNet((CPT(a, (), [[0.3, 0.7]]), CPT(b, (a,), [[0.9, 0.1], [0.4, 0.6]])))
    joint = joint_of(p)
    of_b = joint.sum(axis=0)
    q = BayesNet((CPT(a, (b,), (joint / of_b).T), CPT(b, (), [of_b])))
    found = kl_divergence(p, q)
    assert found.total == pytest.approx(0, abs=1e-15)
    assert found.nodes["a"] == pytest.approx(-found.nodes["b"])
    assert found.nodes["a"] < 0 or found.nodes["b"] < 0


def test_families_in_no_clique():
    """Children of one parent: no clique of P has two of them, which are a family of Q."""
    names = [Variable(name, ("0", "1")) for name in "abcd"]
    rng = np.random.default_rng(4)
    top = CPT(names[0], (), rng.dirichlet([1, 1], 1))
    p = BayesNet((top, *(CPT(v, (names[0],), rng.dirichlet([1, 1], 2)) for v in names[1:])))
    rest = tuple(CPT(v, (), rng.dirichlet([1, 1], 1)) for v in names[:3])
    q = BayesNet((*rest, CPT(names[3], (names[1], names[2]), rng.dirichlet([1, 1], 4))))
    expected = by_definition(joint_of(p), joint_of(q))
    assert kl_divergence(p, q).total == pytest.approx(expected, rel=1e-12)


def test_too_large_for_the_budget():
    with pytest.raises(CannotAnswer):
        kl_divergence(asia(), asia(), max_memory=100)


def test_variables_must_agree():
    a, b = Variable("a", ("0", "1")), Variable("b", ("0", "1"))
    net = BayesNet((CPT(a, (), [[0.5, 0.5]]),))
    with pytest.raises(GraphError, match="'b'"):
        kl_divergence(net, BayesNet((CPT(b, (), [[0.5, 0.5]]),)))
    with pytest.raises(GraphError, match="'x'"):
        kl_divergence(net, BayesNet((CPT(Variable("a", ("0", "x")), (), [[0.5, 0.5]]),)))
    with pytest.raises(GraphError, match="numbers"):
        kl_divergence(net, BayesNet((LinearGaussian(Variable("a", None), (), 0.0, (), 1.0),)))


def gaussian_by_definition(p, q):
    """ln|Σ_q|/|Σ_p|, the trace and the distance of the means (Cover & Thomas 2006, chapter 8)."""
    (mean_p, a), (mean_q, b) = errors_of(p), errors_of(q)
    order = [q.index(name) for name in p.names]
    cov_p, cov_q = a @ a.T, (b @ b.T)[np.ix_(order, order)]
    away = mean_q[order] - mean_p
    inverse = np.linalg.inv(cov_q)
    logs = np.linalg.slogdet(cov_q)[1] - np.linalg.slogdet(cov_p)[1]
    return 0.5 * (np.trace(inverse @ cov_p) + away @ inverse @ away - len(away) + logs)


def test_numbers():
    rng = np.random.default_rng(5)
    for _ in range(100):
        names = [f"n{k}" for k in range(int(rng.integers(1, 7)))]
        p, q = random_gaussian(rng, names), random_gaussian(rng, rng.permutation(names).tolist())
        expected = gaussian_by_definition(p, q)
        assert kl_divergence(p, q).total == pytest.approx(expected, rel=1e-8, abs=1e-10)
        assert kl_divergence(p, p).total == 0


def test_numbers_that_follow_from_others():
    x, y = Variable("x", None), Variable("y", None)
    source = LinearGaussian(x, (), 0.0, (), 1.0)
    exact = LinearGaussian(y, (x,), 1.0, (2.0,), 0.0)
    net = BayesNet((source, exact))
    assert kl_divergence(net, net).total == 0
    for other in (replace(exact, sd=1.0), replace(exact, coefficients=(2.5,))):
        assert kl_divergence(net, BayesNet((source, other))).total == math.inf
        assert kl_divergence(BayesNet((source, other)), net).total == math.inf
