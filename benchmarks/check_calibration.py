"""How often a check raises an alarm where nothing changed.

Models are fitted on n₀ rows of a network and checked on n fresh rows of it. Arms:

    true        the graph of the network
    accepted    the same, a random half of the checks accepted beforehand
    learned     the graph that hill climbing by BIC finds in the n₀ rows, with a baseline from them
    bare        the same graph without a baseline: the graph is wrong, and alarms may be right

And what was not done, for comparison:

    exact       the true graph, the fitted tables taken as the truth
    new rows    the fit check alone at 0.01: are the new rows as likely as replicates, made of
                tables that are drawn from the posterior
    difference  the same, of how much less likely the new rows are than the old ones
    fit         the fit check of gml alone at 0.01, in the same runs
"""

from __future__ import annotations

from collections import Counter as Multiset
from dataclasses import replace

import numpy as np
from check_setup import (
    Results,
    checked,
    first_alarm,
    fitted,
    learned,
    network,
    sampled,
    seeds,
)

import gml

LEVELS = (0.01, 0.05)
ROWS = (500, 5_000, 50_000, 100_000)
RATIOS = (0.1, 1.0, 10.0)
# Repetitions of a setting; a fifth of them where half a million rows are drawn.
REPETITIONS = {"asia": 60, "survey": 60, "sachs": 30, "insurance": 12, "alarm": 12}
BATCHES = 2
# A wrong graph has many dependences to settle by drawing, which takes time.
LEARNED_ROWS = (500, 5_000)
LEARNED_REPETITIONS = {"asia": 40, "survey": 40, "sachs": 10, "alarm": 2}
BARE = ("asia", "survey")
NAIVE = (("asia", 5_000, 1), ("asia", 5_000, 10), ("alarm", 500, 1), ("alarm", 500, 10))
NAIVE_REPETITIONS = 20
_REPLICATES = 99


def run(networks, rows, scale=1.0, batches=BATCHES):
    """Run what is not there yet, the cheap settings first."""
    results = Results("check_calibration")
    _naive(Results("check_naive"), networks, scale)
    for batch in range(batches):
        for n_old in rows:
            for name in networks:
                for ratio in RATIOS:
                    _run(results, "true", name, n_old, ratio, REPETITIONS[name] * scale, batch)
    for n_old in rows:
        for name in networks:
            if n_old in LEARNED_ROWS and name in LEARNED_REPETITIONS:
                for ratio in RATIOS:
                    _run(results, "learned", name, n_old, ratio, LEARNED_REPETITIONS[name] * scale)


def _run(results, graph, name, n_old, ratio, repetitions, batch=0):
    setting = f"{graph} {name} {n_old} {ratio:g}" + (f" batch {batch}" if batch else "")
    if setting in results:
        return
    n_new = round(n_old * ratio)
    repetitions = max(2, round(repetitions / (5 if n_new >= 500_000 else 1)))
    once = {"true": _true_graph, "learned": _learned_graph}[graph]
    runs = [once(name, n_old, n_new, setting, k) for k in range(repetitions)]
    results.add(
        setting,
        network=name,
        rows_old=n_old,
        rows_new=n_new,
        repetitions=repetitions,
        arms={arm: summary([found[arm] for found in runs]) for arm in runs[0]},
    )


def _true_graph(name, n_old, n_new, setting, repetition):
    net = network(name)
    old, new, later, check_seed = seeds(setting, repetition, 4)
    model = fitted(net.graph, sampled(net, n_old, old))
    report = checked(model, sampled(net, n_new, new), check_seed)
    half = np.random.default_rng(check_seed).random(len(report.checks)) < 0.5
    accepted = frozenset(
        check.id for check, chosen in zip(report.checks, half, strict=True) if chosen
    )
    baseline = gml.Baseline(accepted=accepted)
    again = checked(model, sampled(net, n_new, later), check_seed, baseline=baseline)
    return {"true": first_alarm(report), "accepted": first_alarm(again)}


def _learned_graph(name, n_old, n_new, setting, repetition):
    net = network(name)
    old, new, check_seed = seeds(setting, repetition, 3)
    before, after = sampled(net, n_old, old), sampled(net, n_new, new)
    model = fitted(learned(before), before)
    baseline = gml.baseline_of(checked(model, before, check_seed).checks, before.n)
    found = {"learned": first_alarm(checked(model, after, check_seed, baseline=baseline))}
    if name in BARE:
        found["bare"] = first_alarm(checked(model, after, check_seed))
    return found


def summary(alarms):
    """Alarms at each level, and the kinds of the surest check in them."""
    return {
        f"{level:g}": dict(sorted(Multiset(kind for p, kind in alarms if p <= level).items()))
        for level in LEVELS
    }


# ---------------------------------------------------------------------- what was not done


def _naive(results, networks, scale):
    for name, n, ratio in NAIVE:
        setting = f"naive {name} {n} {ratio}"
        if setting in results or name not in networks:
            continue
        repetitions = max(2, round(NAIVE_REPETITIONS * scale))
        alarms = Multiset({"exact": 0, "difference": 0, "new rows": 0, "fit": 0})
        p_values = {"difference": [], "new rows": [], "fit": []}
        for repetition in range(repetitions):
            old, new, check_seed = seeds(setting, repetition, 3)
            net = network(name)
            before, after = net.sample(n, seed=old), net.sample(n * ratio, seed=new)
            model = fitted(net.graph, before, method="bayes", prior="jeffreys")
            found = _predictive_p(model, before, after, check_seed)
            found["fit"] = float(np.exp(log_p_of_fit(model, after)))
            for key, p in found.items():
                p_values[key].append(p)
                alarms[key] += p <= 0.01
            bare = gml.BayesNet(tuple(replace(cpt, counts=None) for cpt in model.cpds))
            alarms["exact"] += checked(bare, after, check_seed).failed
        results.add(
            setting,
            network=name,
            rows_old=n,
            rows_new=n * ratio,
            repetitions=repetitions,
            alarms={key: int(count) for key, count in alarms.items()},
            mean_p={key: round(float(np.mean(values)), 3) for key, values in p_values.items()},
        )


def log_p_of_fit(model, data):
    """ln p of the fit check alone, not adjusted."""
    settings = gml.CheckSettings(threads=1, families=("fit",))
    return gml.check_model(model, data, settings).checks[0].log_p


def _predictive_p(model, before, after, seed):
    """p of the fit by replicates, of tables from Jeffreys' posterior and rows of these.

    Of the mean ln p of the new rows, and of how far it is below that of the old ones.
    """
    rng = np.random.default_rng(seed)

    def means(old, new):
        below = model.log_likelihood(new) / new.n
        return model.log_likelihood(old) / old.n - below, -below

    observed = np.array(means(before, after))
    reaching = np.ones(2)
    for _ in range(_REPLICATES):
        drawn = []
        for cpt in model.cpds:
            gammas = rng.standard_gamma(cpt.counts + 0.5)
            drawn.append(
                replace(cpt, table=gammas / gammas.sum(axis=1, keepdims=True), counts=None)
            )
        net = gml.BayesNet(tuple(drawn))
        first, second = rng.integers(1 << 32, size=2).tolist()
        reaching += (
            np.array(means(net.sample(before.n, seed=first), net.sample(after.n, seed=second)))
            >= observed
        )
    difference, new_rows = (reaching / (1 + _REPLICATES)).tolist()
    return {"difference": difference, "new rows": new_rows}
