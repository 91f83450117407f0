"""Checks keep their promise: no alarm where nothing changed, and planted faults are named.

Small versions of the experiments in benchmarks/check_study.py; the seeds are fixed.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

import gml
from gml.data.dataset import Dataset, Variable
from gml.learners.chowliu import chow_liu
from gml.learners.hillclimb import hill_climb
from gml.model.fit import fit

from .. import planted_faults as faults
from ..networks import asia, fitted, random_net

# A run at 0.01 settles all p-values that matter at these: those within fifty times the level.
LEVELS = (0.01, 0.05, 0.2)


def checked(model, data, seed=0, baseline=None, **settings):
    settings = gml.CheckSettings(threads=1, seed=seed, **settings)
    return gml.check_model(model, data, settings, baseline=baseline)


def independent_rows(rng, n, shares, n_columns=1):
    """Rows of columns that know nothing of each other, all with these shares."""
    levels = tuple(map(str, range(len(shares))))
    variables = tuple(Variable(f"v{k:02}", levels) for k in range(n_columns))
    codes = rng.choice(len(shares), size=(n_columns, n), p=shares).astype(np.uint8)
    return Dataset(variables, tuple(codes))


def surest(report):
    """The least level at which a run raises an alarm."""
    adjusted = [c.log_p_adjusted for c in report.checks if c.log_p_adjusted is not None]
    least = math.exp(min(adjusted, default=0.0))
    assert report.failed == (least <= report.alpha * (1 + 1e-9))
    return least


def most_alarms(n, level, chance=1e-3):
    """What a level allows but with this chance."""
    return int(binom.isf(chance, n, level))


def assert_no_more_alarms_than_the_level_says(p_values):
    for level in LEVELS:
        # A p-value at the level counts, rounding or not.
        alarms = sum(p <= level * (1 + 1e-9) for p in p_values)
        assert alarms <= most_alarms(len(p_values), level), level


# ---------------------------------------------------------------------- whole runs


@pytest.mark.parametrize(("accepted", "repetitions"), [(False, 250), (True, 100)])
def test_no_alarm_where_nothing_changed(accepted, repetitions):
    p_values = []
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
        p_values.append(surest(checked(model, new, k, baseline)))
    assert_no_more_alarms_than_the_level_says(p_values)


def test_no_alarm_for_a_learned_graph_with_its_baseline():
    p_values = []
    for k in range(60):
        rows = asia().sample(500, seed=2 * k)
        graph = hill_climb(gml.SCORES["bic"](gml.MemoryCounter(rows, threads=1))).graph
        model = fit(graph, gml.MemoryCounter(rows, threads=1))
        baseline = gml.baseline_of(checked(model, rows, k).checks, rows.n)
        new = asia().sample((500, 2000)[k % 2], seed=2 * k + 1)
        p_values.append(surest(checked(model, new, k, baseline)))
    assert_no_more_alarms_than_the_level_says(p_values)


# ---------------------------------------------------------------------- families by themselves
# A whole run shares its level out to many checks, which hides a p-value that is too small. Here
# are the cases where one would be, if it were not for a term of its own.


def test_p_values_of_sparse_rows_are_not_too_small():
    """A few rows per level, where χ² would say 0.05 one time in ten.

    With a level this low they are not settled because they decide, but because they are sparse.
    """
    p_values = []
    for k in range(1000):
        rng = np.random.default_rng(k)
        shares = np.full((4, 6)[k % 2], 1 / (4, 6)[k % 2])
        old = independent_rows(rng, (12, 20)[k // 2 % 2], shares)
        model = fit(gml.Graph.from_edges(old.names, []), gml.MemoryCounter(old, threads=1))
        new = independent_rows(rng, (10, 20)[k // 4 % 2], shares)
        (check,) = checked(model, new, k, alpha=1e-4, families=("tables",)).checks
        p_values.append(math.exp(check.log_p))
    assert_no_more_alarms_than_the_level_says(p_values)


def test_the_fit_of_many_parameters_is_no_alarm():
    """Five rows for a parameter, and so many new ones that the error of the tables is what varies."""
    p_values = []
    for k in range(400):
        rng = np.random.default_rng(k)
        shares = np.full(40, 1 / 40)
        old = independent_rows(rng, 200, shares, 2)
        model = fit(gml.Graph.from_edges(old.names, []), gml.MemoryCounter(old, threads=1))
        new = independent_rows(rng, 2000, shares, 2)
        p_values.append(surest(checked(model, new, k, families=("fit",))))
    assert_no_more_alarms_than_the_level_says(p_values)


@pytest.mark.parametrize("family", ["tables", "fit"])
def test_a_tree_of_accidents_is_no_alarm(family):
    """Chow and Liu take the pairs that look most dependent; new rows have nothing of that."""
    p_values = []
    for k in range(120):
        rng = np.random.default_rng(k)
        shares = ([0.5, 0.5], [0.9, 0.1])[k % 2]
        old = independent_rows(rng, 300, shares, 15)
        counter = gml.MemoryCounter(old, threads=1)
        model = fit(chow_liu(counter).graph, counter)
        new = independent_rows(rng, 3000, shares, 15)
        p_values.append(surest(checked(model, new, k, families=(family,))))
    assert_no_more_alarms_than_the_level_says(p_values)


# ---------------------------------------------------------------------- faults


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
        model = fit(
            asia().graph,
            gml.MemoryCounter(asia().sample(1000, seed=k), threads=1),
            method="bayes",
            prior="jeffreys",
        )
        bare = gml.BayesNet(
            tuple(gml.CPT(cpt.variable, cpt.parents, cpt.table) for cpt in model.cpds)
        )
        alarms += checked(bare, asia().sample(10_000, seed=100 + k), k).failed
    assert alarms > most_alarms(20, 0.01, chance=1e-6)
