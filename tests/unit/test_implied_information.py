"""What a model says about every two of its nodes."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gml
from gml.data.dataset import Variable
from gml.independence.mutual_information import mutual_information
from gml.model.bayesnet import CPT, BayesNet, ConditionalGaussian, LinearGaussian
from gml.model.implied_information import implied_information


def test_levels(sample_data):
    """Against the sum over the joint table of each pair."""
    net = gml.fit(sample_data / "asia.csv", sample_data / "asia.dot")
    found = implied_information(net)
    assert (found == found.T).all()
    for i, first in enumerate(net.names):
        for j, second in enumerate(net.names[:i]):
            p = net.query([first, second]).table
            apart = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
            expected = sum(p[p > 0] * np.log(p[p > 0] / apart[p > 0]))
            assert found[i, j] == pytest.approx(expected, abs=1e-12)
    assert found[net.index("asia"), net.index("smoke")] == 0


def test_numbers():
    """y = x + noise of the same variance: r is the root of a half; z is alone."""
    x, y, z = (Variable(name, None) for name in "xyz")
    net = BayesNet(
        (
            LinearGaussian(y, (x,), 0.0, np.array([1.0]), 1.0),
            LinearGaussian(x, (), 0.0, np.array([]), 1.0),
            LinearGaussian(z, (), 0.0, np.array([]), 1.0),
        )
    )
    half = 0.5 * math.log(2)
    np.testing.assert_allclose(
        implied_information(net), [[0, half, 0], [half, 0, 0], [0, 0, 0]], atol=1e-12
    )


def mixed_net():
    sex, place = Variable("sex", ("f", "m")), Variable("place", ("a", "b", "c"))
    age, mass, alone = (Variable(name, None) for name in ("age", "mass", "alone"))
    ages = [LinearGaussian(age, (), mean, (), sd) for mean, sd in ((30, 5), (45, 9), (45, 9))]
    masses = [LinearGaussian(mass, (age,), 50 + 20 * k, (0.3 - 0.1 * k,), 4 + k) for k in (0, 1)]
    return BayesNet(
        (
            ConditionalGaussian(mass, (sex, age), tuple(masses)),
            CPT(place, (sex,), np.array([[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]])),
            ConditionalGaussian(age, (place,), tuple(ages)),
            CPT(sex, (), np.array([[0.3, 0.7]])),
            LinearGaussian(alone, (), 0.0, (), 1.0),
        )
    )


def test_labels_and_numbers():
    """Against moments of the mixture over all configurations, written out."""
    net = mixed_net()
    found = implied_information(net)
    np.testing.assert_array_equal(found, found.T)
    names = list(net.names)
    p_sex, p_place = np.array([0.3, 0.7]), np.array([[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]])
    weight = (p_sex[:, None] * p_place).reshape(-1)
    age = np.tile([30.0, 45.0, 45.0], 2), np.tile([5.0, 9.0, 9.0], 2) ** 2
    slope, base = np.repeat([0.3, 0.2], 3), np.repeat([50.0, 70.0], 3)
    mass = base + slope * age[0], slope**2 * age[1] + np.repeat([4.0, 5.0], 3) ** 2
    both = slope * age[1]

    def covariance(one, other, within):
        centre = [weight @ each[0] for each in (one, other)]
        return weight @ (within + (one[0] - centre[0]) * (other[0] - centre[1]))

    variance = covariance(age, age, age[1]), covariance(mass, mass, mass[1])
    r = covariance(age, mass, both) / np.sqrt(variance[0] * variance[1])
    at = names.index
    assert found[at("age"), at("mass")] == pytest.approx(-0.5 * math.log(1 - r * r), rel=1e-12)
    for label, groups in (("sex", [[0, 1, 2], [3, 4, 5]]), ("place", [[0, 3], [1, 4], [2, 5]])):
        for name, (mean, _), total in (("age", age, variance[0]), ("mass", mass, variance[1])):
            means = [weight[g] @ mean[g] / weight[g].sum() for g in groups]
            centre = weight @ mean
            between = sum(
                weight[g].sum() * (m - centre) ** 2 for g, m in zip(groups, means, strict=True)
            )
            expected = -0.5 * math.log(1 - between / total)
            assert found[at(label), at(name)] == pytest.approx(expected, rel=1e-11)
    table = net.query(["sex", "place"]).table
    apart = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True)
    seen = table > 0
    expected = float((table[seen] * np.log(table[seen] / apart[seen])).sum())
    assert found[at("sex"), at("place")] == pytest.approx(expected, rel=1e-12)
    assert not found[at("alone")].any()


def test_a_table_of_many_rows_shows_the_same():
    net = mixed_net()
    rows = gml.MemoryCounter(net.sample(200_000, seed=1))
    names = [variable.name for variable in rows.variables]
    order = [names.index(name) for name in net.names]
    seen = mutual_information(rows)[np.ix_(order, order)]
    np.testing.assert_allclose(seen, implied_information(net), atol=0.004)


def test_a_number_that_labels_determine_says_all_about_them():
    sex, code = Variable("sex", ("f", "m")), Variable("code", None)
    lines = tuple(LinearGaussian(code, (), float(k), (), 0.0) for k in (0, 1))
    net = BayesNet((CPT(sex, (), np.array([[0.5, 0.5]])), ConditionalGaussian(code, (sex,), lines)))
    assert implied_information(net)[0, 1] == math.inf
    same = tuple(LinearGaussian(code, (), 1.0, (), 0.0) for k in (0, 1))
    net = BayesNet((CPT(sex, (), np.array([[0.5, 0.5]])), ConditionalGaussian(code, (sex,), same)))
    assert implied_information(net)[0, 1] == 0
