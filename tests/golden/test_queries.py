"""Posteriors of published networks against reference runs and printed figures."""

from __future__ import annotations

import functools
import math

import pytest

import gml

from .sources import published


@functools.cache
def network(path):
    return gml.Inference(gml.read_model(path))


def inference(shared, name):
    return network(next((shared / "data/networks").glob(f"{name}.bif*")))


def p(found, node, level):
    levels = found[0].model.variables[found[0].model.index(node)].levels
    return float(found[1][node][levels.index(level)])


def asked(engine, evidence, targets=None):
    marginals, log_p = engine.posterior(evidence, targets)
    return (engine, marginals), math.exp(log_p)


@pytest.mark.filterwarnings("ignore::gml.errors.GmlWarning")
def test_reference_runs(shared):
    """Every posterior that two engines agreed on, to the digits of their agreement."""
    cases = published(shared, "queries")
    assert len(cases) > 20
    for case in cases:
        engine = inference(shared, case["network"])
        found, probability = asked(engine, case["evidence"], [case["target"]])
        slack = max(2e-8, 2 * case["max_abs_difference_between_engines"])
        assert probability == pytest.approx(case["evidence_probability"], rel=1e-6), case
        for level, expected in case["posterior"].items():
            assert abs(p(found, case["target"], level) - expected) <= slack, case


def test_asia(shared):
    engine = inference(shared, "asia")
    found, _ = asked(engine, {})
    for node, expected in published(shared, "asia-marginals").items():
        assert float(f"{p(found, node, 'yes'):.5g}") == pytest.approx(expected, abs=1e-12)
    expected = published(shared, "asia-evidence")
    found, probability = asked(engine, {"asia": "yes", "dysp": "yes"})
    assert probability == pytest.approx(expected["P(evidence)"], rel=1e-9)
    for key in ("lung yes", "bronc yes", "tub yes"):
        node, level = key.split()
        assert p(found, node, level) == pytest.approx(expected[key], rel=1e-7)
    expected = published(shared, "asia-evidence2")
    found, probability = asked(engine, {"asia": "yes", "dysp": "yes", "xray": "yes"})
    assert probability == pytest.approx(expected["P(evidence)"], rel=1e-9)
    for key in ("tub yes", "lung yes", "bronc yes", "either yes"):
        node, level = key.split()
        assert p(found, node, level) == pytest.approx(expected[key], abs=6e-9)


def test_cancer(shared):
    """Korb & Nicholson 2010, table 2.2, to three digits."""
    engine = inference(shared, "cancer")
    observed = [
        {},
        {"Dyspnoea": "True"},
        {"Smoker": "True"},
        {"Smoker": "True", "Dyspnoea": "True"},
    ]
    expected = published(shared, "cancer-table")
    for evidence, value in zip(observed, expected, strict=False):
        found, _ = asked(engine, evidence, ["Cancer"])
        assert round(p(found, "Cancer", "True"), 3) == value
    found, _ = asked(engine, {}, ["Xray"])
    assert round(p(found, "Xray", "positive"), 3) == expected[-1]


@pytest.mark.filterwarnings("ignore::gml.errors.GmlWarning")
@pytest.mark.parametrize("name", ["alarm", "hailfinder", "andes", "pigs", "munin", "link"])
def test_large_networks_are_answered(shared, name):
    """All marginals at once; each is a distribution, and one of them the same asked for alone."""
    engine = inference(shared, name)
    found = engine.marginals()
    assert set(found) == set(engine.model.names)
    for table in found.values():
        assert table.sum() == pytest.approx(1, abs=1e-12)
        assert (table >= 0).all()
    one = sorted(found)[len(found) // 2]
    alone = engine.marginals({}, [one])[one]
    assert found[one] == pytest.approx(alone, abs=1e-10)
