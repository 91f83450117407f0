"""Whether the column that a check names as the culprit is the one that a fault was planted in.

    python benchmarks/check_culprits.py [--sources asia,adult] [--rows 1000] [--scale 0.5]

A model is fitted on n rows and checked on n others, after a fault in one column drawn at random
(`tests/column_faults.py`, and two in the network itself). Rows come from a network, whose graph is
given, or from a real file: hill climbing by BIC on one random half gives graph, tables and
baseline, the other half is checked. The answer is right if the first culprit is the column, or a
pair with it. For columns that come from another row, it is right if every column named has an edge
in the model to a column on the other side of the join, since only such edges can break. Results go
to results/check_culprits.jsonl; what is there already is not run again.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np
from check_setup import (
    SHARED,
    Results,
    checked,
    fitted,
    interval,
    learned,
    network,
    sampled,
    seeds,
    with_seen_levels,
)

import gml
from gml.data.discretize import cuts_of_levels
from tests import column_faults
from tests.planted_faults import with_table

FAULTS = (
    ("renamed", "old"),
    ("new_category", 0.01),
    ("new_category", 0.1),
    ("scaled", 12),
    ("scaled", 1 / 12),
    ("shuffled", 0.5),
    ("shuffled", 1.0),
    ("swapped", 0.3),
    ("swapped", 1.0),
    ("merged", 0.3),
    ("merged", 1.0),
    ("defaulted", 0.1),
    ("defaulted", 0.3),
    ("defaulted", 1.0),
    ("drifted", 0.1),
    ("drifted", 0.2),
    ("mechanism", 0.2),
    ("one row", 0.3),
    ("misjoined", 1),
)
"""Kinds and sizes: shares of the rows, factors, shares moved, rows by which a join is off."""
ROWS = {
    "asia": (1_000, 5_000),
    "survey": (1_000, 5_000),
    "sachs": (1_000, 5_000),
    "insurance": (2_000,),
    "alarm": (2_000,),
    "german_credit": (500,),
    "adult": (3_000,),
}
REPETITIONS = {
    "asia": 10,
    "survey": 10,
    "sachs": 4,
    "insurance": 3,
    "alarm": 4,
    "german_credit": 5,
    "adult": 4,
}
REAL = {
    "german_credit": ("german_credit.csv", {"bins": 4}),
    "adult": ("adult.csv.gz", {"bins": 5, "exclude": ("fnlwgt", "education-num")}),
}


class FromNetwork:
    """Rows of a network, and rows of it after a fault."""

    def __init__(self, name, n, rng):
        self.net, self.n = network(name), n
        before = sampled(self.net, n, _seed(rng))
        self.model = fitted(self.net.graph, before)
        self.after = self.net.sample(n, seed=_seed(rng))
        self.baseline = None

    def faulty(self, fault, column, size, rng):
        """The rows after a fault; None if it is none of this column."""
        if fault in ("mechanism", "one row"):
            changed = other_mechanism(self.net, column, size, only_one=fault == "one row")
            return changed.sample(self.n, seed=_seed(rng))
        return getattr(column_faults, fault)(self.after, column, size, rng)


class FromFile:
    """One half of a file, and the other half after a fault."""

    def __init__(self, name, n, rng):
        file, options = REAL[name]
        path = SHARED / "data" / "real" / file
        data = gml.read(path, missing="level", **options)
        cut = [v.name for v in data.variables if cuts_of_levels(v.levels) is not None]
        numbers = gml.read(path, columns=cut, undeclared="numbers", missing="available")
        order = rng.permutation(data.n)
        before, chosen = with_seen_levels(data.rows(order < n)), (n <= order) & (order < 2 * n)
        self.after, self.numbers = data.rows(chosen), numbers.rows(chosen)
        self.model = fitted(learned(before), before)
        self.baseline = gml.baseline_of(checked(self.model, before).checks, before.n)

    def faulty(self, fault, column, size, rng):
        """The rows after a fault; None if a network alone can have it."""
        if fault in ("mechanism", "one row"):
            return None
        if fault != "scaled":
            return getattr(column_faults, fault)(self.after, column, size, rng)
        column = str(rng.choice(self.numbers.names))
        return column, times(self.after, self.numbers, column, size)


def times(data, numbers, column, factor):
    """The rows with a column of numbers, in another unit."""
    j = data.index(column)
    columns, variables = list(data.columns), list(data.variables)
    columns[j] = numbers.columns[numbers.index(column)] * factor
    variables[j] = replace(variables[j], levels=None)
    return replace(data, columns=tuple(columns), variables=tuple(variables), digest=None)


def other_mechanism(net, name, delta, *, only_one):
    """Move probability from the most to the second most likely level, in the likeliest row or all.

    Columns that depend on this one change with it.
    """
    cpt = net.cpt(name)
    table = cpt.table.copy()
    parents = [parent.name for parent in cpt.parents]
    weights = gml.Inference(net).joint(parents)[0].reshape(-1) if parents else np.ones(1)
    for row in [int(np.argmax(weights))] if only_one else range(len(table)):
        first, second = np.argsort(-table[row], kind="stable")[:2]
        moved = min(delta, table[row, first])
        table[row, [first, second]] += [-moved, moved]
    # Published tables are rounded.
    return with_table(net, name, table / table.sum(axis=1, keepdims=True))


def joined(model, rng):
    """A third of the columns, each with an edge to another of them where there is one."""
    names, graph = model.names, model.graph
    chosen = [int(rng.integers(len(names)))]
    while len(chosen) < max(2, len(names) // 3):
        others = [j for j in range(len(names)) if j not in chosen]
        near = [j for j in others if any(graph.adjacent(j, k) for k in chosen)]
        chosen.append(int(rng.choice(near or others)))
    return [names[j] for j in chosen]


def at_the_join(model, block):
    """The columns with an edge to the other side."""
    edges = [(p.name, cpt.variable.name) for cpt in model.cpds for p in cpt.parents]
    return {name for edge in edges if len(set(edge) & set(block)) == 1 for name in edge}


def _seed(rng):
    return int(rng.integers(2**31))


def once(source, n, setting, repetition):
    """Plant every fault once; return what was found of each."""
    (seed,) = seeds(setting, repetition, 1)
    rng = np.random.default_rng(seed)
    rows = (FromFile if source in REAL else FromNetwork)(source, n, rng)
    usable = [v.name for v in rows.model.variables if len(v.levels) > 1]
    outcomes = []
    for fault, size in FAULTS:
        if fault == "misjoined":
            column = joined(rows.model, rng)
            right = at_the_join(rows.model, column)
        else:
            column = str(rng.choice(usable))
            right = {column}
        found = rows.faulty(fault, column, size, rng)
        if found is None:
            continue
        if isinstance(found, tuple):
            column, found = found
            right = {column}
        report = gml.check(found, rows.model, baseline=rows.baseline, threads=1, unlikely_rows=0)
        outcomes.append(
            {
                "fault": fault,
                "size": "" if fault == "renamed" else f"{size:.3g}",
                "columns": [column] if isinstance(column, str) else column,
                **judged(report, right),
            }
        )
    return outcomes


def judged(report, right):
    """Whether there is an alarm, whom it names, and whether that is right."""
    named = report.culprits[0].columns if report.culprits else ()
    is_right = set(named) <= right if len(right) > 1 else bool(set(named) & right)
    return {
        "failures": report.counts["fail"],
        "named": named,
        "right": bool(named) and is_right,
    }


def run(sources=None, rows=None, scale=1.0):
    """Run what is not there yet."""
    results = Results("check_culprits")
    for source in sources or ROWS:
        for n in rows or ROWS[source]:
            for repetition in range(max(1, round(REPETITIONS[source] * scale))):
                setting = f"{source} {n} {repetition}"
                if setting not in results:
                    found = once(source, n, f"{source} {n}", repetition)
                    results.add(setting, source=source, rows=n, outcomes=found)


def tables():
    """How often the culprit is right, of the alarms, by fault and source; and all wrong answers."""
    alarms = [
        {**outcome, "source": line["source"], "rows": line["rows"]}
        for line in Results("check_culprits").lines
        for outcome in line["outcomes"]
        if outcome["failures"]
    ]
    if not alarms:
        return
    yield "## Culprits"
    sources = [s for s in ROWS if any(alarm["source"] == s for alarm in alarms)]
    rows = [
        "| fault | size | " + " | ".join(sources) + " | all | of these pairs | none named |",
        "|---" * (5 + len(sources)) + "|",
    ]
    kinds = dict.fromkeys((fault, "" if fault == "renamed" else f"{n:.3g}") for fault, n in FAULTS)
    for fault, size in [*kinds, ("all", "")]:
        of_fault = [a for a in alarms if fault == "all" or (a["fault"], a["size"]) == (fault, size)]
        shown = [_right([a for a in of_fault if a["source"] == source]) for source in sources]
        pairs = sum(len(a["named"]) > 1 for a in of_fault)
        unnamed = sum(not a["named"] for a in of_fault)
        rows.append(
            f"| {fault} | {size} | {' | '.join(shown)} | {_right(of_fault)} | {pairs} | {unnamed} |"
        )
    yield "\n".join(rows)
    right = sum(a["right"] for a in alarms)
    low, high = interval(right, len(alarms))
    share = f"{right / len(alarms):.3f} ({low:.3f} to {high:.3f})"
    yield f"Right in {right} of {len(alarms)} alarms: {share}"
    wrong = [a for a in alarms if not a["right"]]
    if wrong:
        yield "\n".join(
            f"- {a['source']} {a['rows']}: {a['fault']} {a['size']} of {', '.join(a['columns'])}, "
            f"named {', '.join(a['named']) or 'none'} for {a['failures']} failures"
            for a in wrong
        )


def _right(alarms):
    return f"{sum(a['right'] for a in alarms)} of {len(alarms)}" if alarms else "·"


def add_options(parser):
    """What to run."""
    parser.add_argument("--sources", type=lambda text: text.split(","))
    parser.add_argument("--rows", type=lambda text: [int(n) for n in text.split(",")])
    parser.add_argument("--scale", type=float, default=1.0, help="of the repetitions")


def main() -> None:
    """Run the experiment and print its tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser)
    options = parser.parse_args()
    run(options.sources, options.rows, options.scale)
    print("\n\n".join(tables()))


if __name__ == "__main__":
    main()
