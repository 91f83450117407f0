"""What a model says about every two of its nodes."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gml
from gml.data.dataset import Variable
from gml.model.bayesnet import BayesNet, LinearGaussian
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
