"""Real data: a model and its baseline from one random half, checked on the other.

The rows of a file are split at random 20 times. Hill climbing by BIC on one half gives the graph,
the same half its tables and its baseline. The other half is then checked as it is, and again with
one column shuffled within the classes: each column in the first split, and in all of them the one
that shares the most information with a column other than the class, given the class. Numbers are
cut at quantiles of the whole file; a missing value is a level.
"""

from __future__ import annotations

from collections import Counter as Multiset
from dataclasses import replace

import numpy as np
from check_setup import Results, checked, fitted, learned, seeds, with_seen_levels

import gml

SPLITS = 20
ALL_COLUMNS_SPLITS = 1
DATA = {
    "house_votes_84": ("house_votes_84.csv", "Class", {}),
    "german_credit": ("german_credit.csv", "class", {"bins": 4}),
    "mushroom": ("mushroom.csv", "poisonous", {"exclude": ("veil-type",)}),
    "adult": ("adult.csv.gz", "income", {"bins": 5, "exclude": ("fnlwgt", "education-num")}),
}


def run(folder, names=None):
    """Run what is not there yet."""
    results = Results("check_real")
    for name in names or DATA:
        file, target, options = DATA[name]
        data = gml.read(folder / file, missing="level", **options)
        chosen, other, nats = most_informative(data, target)
        for split in range(SPLITS):
            setting = f"{name} {split}"
            if setting in results:
                continue
            half, check_seed = seeds(setting, 0, 2)
            rng = np.random.default_rng(half)
            first = rng.permutation(data.n) < data.n // 2
            before, after = with_seen_levels(data.rows(first)), data.rows(~first)
            model = fitted(learned(before), before)
            baseline = gml.baseline_of(checked(model, before, check_seed).checks, before.n)

            def failures(rows, model=model, baseline=baseline, check_seed=check_seed):
                report = checked(model, with_seen_levels(rows), check_seed, baseline=baseline)
                return report, [check.id for check in report.ranked("fail")]

            report, alarms = failures(after)
            others = [column for column in data.names if column != target]
            wanted = others if split < ALL_COLUMNS_SPLITS else [chosen]
            shuffles = {}
            for column in wanted:
                found, _ = failures(shuffled(after, column, target, rng))
                named = [c for c in found.ranked("fail") if c.kind != "likelihood"]
                speaking = [column in (*c.variables, *dict(c.given)) for c in named]
                shuffles[column] = [len(named), sum(speaking), bool(speaking and speaking[0])]
            results.add(
                setting,
                data=name,
                rows=data.n,
                edges=model.graph.n_edges,
                accepted=len(baseline.accepted),
                checks=dict(Multiset(check.status for check in report.checks)),
                alarms=alarms,
                chosen=[chosen, other, round(nats, 4)],
                shuffles=shuffles,
            )


def shuffled(data, column, target, rng):
    """The rows with one column put in random order within each class."""
    j, classes = data.index(column), data.columns[data.index(target)]
    codes = data.columns[j].copy()
    for label in np.unique(classes):
        rows = np.flatnonzero(classes == label)
        codes[rows] = codes[rng.permutation(rows)]
    columns = list(data.columns)
    columns[j] = codes
    return replace(data, columns=tuple(columns))


def most_informative(data, target):
    """The pair of columns that share the most information given the class, and how much."""
    given = (data.index(target),)
    others = [j for j in range(len(data.names)) if j not in given]
    pairs = [(i, j, given) for k, i in enumerate(others) for j in others[k + 1 :]]
    test = gml.TESTS["g"](gml.MemoryCounter(data, threads=1))
    nats, i, j = max((test(*pair).mi, pair[0], pair[1]) for pair in pairs)
    return data.names[i], data.names[j], nats
