"""Checks keep their promise: no alarm where nothing changed, and planted faults are named.

Small versions of the experiments in benchmarks/check_study.py; the seeds are fixed.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

import gml

from ..networks import asia, random_net

ROOT = Path(__file__).resolve().parent.parent.parent


def script(name):
    """Import a script of benchmarks/."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


faults = script("check_faults")


def checked(model, data, seed=0, baseline=None):
    return gml.check_model(model, data, gml.CheckSettings(threads=1, seed=seed), baseline=baseline)


def fitted(net, n, seed):
    return gml.fit(net.graph, gml.MemoryCounter(net.sample(n, seed=seed), threads=1))


def most_alarms(n, alpha=0.01):
    """What a level of α allows but once in a million."""
    return int(binom.isf(1e-6, n, alpha))


@pytest.mark.parametrize(("accepted", "repetitions"), [(False, 200), (True, 100)])
def test_no_alarm_where_nothing_changed(accepted, repetitions):
    alarms = 0
    for k in range(repetitions):
        rng = np.random.default_rng(k)
        net = asia() if k % 2 else random_net(rng, 5)
        n_old, ratio = (200, 600)[k // 2 % 2], (0.1, 1, 10)[k % 3]
        model = fitted(net, n_old, seed=2 * k)
        new = net.sample(round(n_old * ratio), seed=2 * k + 1)
        baseline = None
        if accepted:
            ids = [check.id for check in checked(model, new, k).checks]
            half = frozenset(name for name in ids if rng.random() < 0.5)
            baseline = gml.Baseline(accepted=half)
            new = net.sample(new.n, seed=10**6 + k)
        alarms += checked(model, new, k, baseline).failed
    assert alarms <= most_alarms(repetitions)


def test_no_alarm_for_a_learned_graph_with_its_baseline():
    alarms, n = 0, 30
    for k in range(n):
        rows = asia().sample(500, seed=2 * k)
        graph = gml.hill_climb(gml.SCORES["bic"](gml.MemoryCounter(rows, threads=1))).graph
        model = gml.fit(graph, gml.MemoryCounter(rows, threads=1))
        baseline = gml.baseline_of(checked(model, rows, k).checks, rows.n)
        new = asia().sample((500, 2000)[k % 2], seed=2 * k + 1)
        alarms += checked(model, new, k, baseline).failed
    assert alarms <= most_alarms(n)


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (faults.shifted_row, (0.5, 0.1)),
        (faults.shifted_row, (0.1, 0.2)),
        (faults.cut_edge, ("strongest",)),
        (faults.cut_edge, ("median",)),
        (faults.new_edge, (0.5,)),
        (faults.swapped_label, ()),
        (faults.drifted_root, (0.1,)),
    ],
)
def test_planted_faults_are_found_and_named(make, options):
    fault = make(asia(), *options)
    for k in range(3):
        model = fitted(asia(), 10_000, seed=k)
        failures = checked(model, fault.sample(10_000, seed=100 + k), k).ranked("fail")
        assert any(map(fault.right, failures)), fault.about
        named = [check for check in failures if check.kind != "likelihood"]
        assert all(map(fault.entitled, named)), [check.id for check in named]


def test_tables_taken_as_exact_raise_alarms():
    """Why a model keeps its counts."""
    alarms = 0
    for k in range(20):
        model = gml.fit(
            asia().graph,
            gml.MemoryCounter(asia().sample(1000, seed=k), threads=1),
            method="bayes",
            prior="jeffreys",
        )
        bare = gml.BayesNet(
            tuple(gml.CPT(cpt.variable, cpt.parents, cpt.table) for cpt in model.cpds)
        )
        alarms += checked(bare, asia().sample(10_000, seed=100 + k), k).failed
    assert alarms > most_alarms(20)
