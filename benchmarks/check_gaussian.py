"""Checks of models of numbers: alarms where nothing changed, faults that are found, real tables.

Simulated rows come from a graph of eight nodes with errors of one distribution: normal, Laplace's,
Student's with 5 degrees of freedom, lognormal, or normal ones whose size grows with a parent. Arms:

    true        the true graph
    learned     the graph that hill climbing by BIC finds in the n₀ rows, with a baseline from them

A real table is split into halves at random: graph, model and baseline come from one, and the other
is checked, as it is and with one column in random order. Tables are the numeric columns of files in
the shared folder, and of those that scikit-learn brings, if it is installed.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from check_setup import SHARED, Results, checked, first_alarm, fitted, seeds, share

import gml
from gml.data.dataset import Dataset, Variable
from gml.learners.hillclimb import hill_climb

EDGES = {
    "c": {"a": 1.0, "b": -0.7},
    "d": {"c": 0.5},
    "e": {"a": 0.4, "d": 0.8},
    "f": {},
    "g": {"f": 0.3, "c": 0.6},
    "h": {"e": -0.5},
}
NAMES = tuple("abcdefgh")
ERRORS = ("normal", "laplace", "t5", "lognormal", "uneven")
ROWS = ((500, 100), (500, 1000), (5000, 100), (5000, 1000))
REPETITIONS = 60
FAULT_REPETITIONS = 20
SPLITS = 10
LEVELS = (0.01, 0.05)


def run(scale=1.0):
    """Run what is not there yet."""
    calibration(scale)
    power(scale)
    real()


def drawn(kind, n, seed, *, fault=None):
    """Rows of the graph with errors of mean 0 and variance 1, after a fault if there is one."""
    rng = np.random.default_rng(seed)
    columns = {}
    for name in NAMES:
        parents = dict(EDGES.get(name, {}))
        if fault == "coefficient" and name == "d":
            parents["c"] = 0.25
        error = errors_of(kind, n, rng)
        if kind == "uneven" and parents:
            first = columns[next(iter(parents))]
            error *= 0.5 + np.abs(first) / max(1e-9, float(np.std(first)))
        shift = 0.5 if fault == "shift" and name == "d" else 0.0
        scale = 1.5 if fault == "sd" and name == "d" else 1.0
        columns[name] = shift + scale * error + sum(b * columns[p] for p, b in parents.items())
    if fault == "edge":
        columns["h"] = columns["h"] + 0.3 * columns["f"]
    if fault == "shuffled":
        columns["d"] = rng.permutation(columns["d"])
    return Dataset(tuple(Variable(name, None) for name in NAMES), tuple(columns.values()))


def errors_of(kind, n, rng):
    """Errors of a distribution with mean 0 and variance 1."""
    if kind == "laplace":
        return rng.laplace(size=n) / math.sqrt(2)
    if kind == "t5":
        return rng.standard_t(5, n) * math.sqrt(3 / 5)
    if kind == "lognormal":
        spread = math.sqrt((math.e - 1) * math.e)
        return (np.exp(rng.standard_normal(n)) - math.sqrt(math.e)) / spread
    return rng.standard_normal(n)


@functools.cache
def true_graph():
    """The graph that rows are drawn from."""
    edges = [(parent, "-->", name) for name in NAMES for parent in EDGES.get(name, {})]
    return gml.Graph.from_edges(list(NAMES), edges)


def climbed(data):
    """The graph that hill climbing by the Gaussian BIC finds."""
    return hill_climb(gml.SCORES["bic-g"](gml.MemoryCounter(data, threads=1))).graph


def accepted(model, data, seed):
    """The baseline that the model's own rows give."""
    return gml.baseline_of(checked(model, data, seed).checks, data.n)


def calibration(scale=1.0):
    """Alarms where nothing changed."""
    results = Results("check_gaussian")
    for arm in ("true", "learned"):
        for kind in ERRORS:
            for n_old, n_new in ROWS:
                setting = f"{arm} {kind} {n_old} {n_new}"
                if setting in results:
                    continue
                runs = [
                    _once(arm, kind, n_old, n_new, setting, k)
                    for k in range(max(2, round(REPETITIONS * scale)))
                ]
                alarms = {
                    f"{level:g}": [found for p, found in runs if p <= level] for level in LEVELS
                }
                results.add(
                    setting,
                    arm=arm,
                    errors=kind,
                    rows_old=n_old,
                    rows_new=n_new,
                    repetitions=len(runs),
                    alarms=alarms,
                )


def _once(arm, kind, n_old, n_new, setting, repetition):
    old, new, check_seed = seeds(setting, repetition, 3)
    before, after = drawn(kind, n_old, old), drawn(kind, n_new, new)
    if arm == "true":
        return first_alarm(checked(fitted(true_graph(), before), after, check_seed))
    model = fitted(climbed(before), before)
    baseline = accepted(model, before, check_seed)
    return first_alarm(checked(model, after, check_seed, baseline=baseline))


RIGHT = {
    "shift": {"tables:d", "schema:drift:d"},
    "coefficient": {"tables:d", "structure:c->d"},
    "sd": {"tables:d:sd", "schema:drift:d"},
    "edge": {"structure:f independent of h|e"},
    "shuffled": {"structure:c->d", "structure:d->e", "tables:d", "tables:e"},
}


def power(scale=1.0):
    """Faults that are found, and by the right check."""
    results = Results("check_gaussian_power")
    for fault, right in RIGHT.items():
        for kind in ("normal", "laplace", "lognormal"):
            for n_new in (100, 300, 1000):
                setting = f"{fault} {kind} {n_new}"
                if setting in results:
                    continue
                named = failed = 0
                n = max(2, round(FAULT_REPETITIONS * scale))
                for repetition in range(n):
                    old, new, check_seed = seeds(setting, repetition, 3)
                    model = fitted(true_graph(), drawn(kind, 5000, old))
                    report = checked(model, drawn(kind, n_new, new, fault=fault), check_seed)
                    failed += report.failed
                    named += any(check.id in right for check in report.ranked("fail"))
                results.add(
                    setting,
                    fault=fault,
                    errors=kind,
                    rows=n_new,
                    repetitions=n,
                    failed=failed,
                    right=named,
                )


def tables():
    """Numeric columns of real tables, rows with gaps left out, constant columns too."""
    import pandas as pd

    folder = SHARED / "data" / "real"
    files = {
        "marks": "marks.csv",
        "sachs": "sachs_853.csv",
        "penguins": "penguins.csv",
        "bfi": "bfi.csv",
        "german_credit": "german_credit.csv",
    }
    found = {
        name: pd.read_csv(folder / file, sep=None, engine="python") for name, file in files.items()
    }
    try:
        from sklearn import datasets
    except ImportError:
        pass
    else:
        for name in ("wine", "diabetes", "breast_cancer"):
            found[name] = getattr(datasets, f"load_{name}")(as_frame=True).frame
    for name, frame in found.items():
        numbers = frame.select_dtypes("number").dropna()
        numbers = numbers.loc[:, numbers.nunique() > 2]
        if numbers.shape[1] > 1:
            yield name, numbers


def real():
    """Halves of real tables."""
    results = Results("check_gaussian_real")
    for name, frame in tables():
        names = [str(column) for column in frame.columns]
        values = frame.to_numpy(dtype=np.float64)
        variables = tuple(Variable(column, None) for column in names)
        for split in range(SPLITS):
            setting = f"{name} {split}"
            if setting in results:
                continue
            half, check_seed = seeds(setting, 0, 2)
            rng = np.random.default_rng(half)
            order = rng.permutation(len(values))
            first, second = values[order[: len(order) // 2]], values[order[len(order) // 2 :]]
            before, after = (Dataset(variables, tuple(part.T.copy())) for part in (first, second))
            model = fitted(climbed(before), before)
            baseline = accepted(model, before, check_seed)
            report = checked(model, after, check_seed, baseline=baseline)
            column = int(rng.integers(len(names)))
            mixed = second.copy()
            mixed[:, column] = rng.permutation(mixed[:, column])
            shuffled = Dataset(variables, tuple(mixed.T.copy()))
            found = checked(model, shuffled, check_seed, baseline=baseline)
            speaking = [
                names[column] in (*check.variables, *dict(check.given))
                for check in found.ranked("fail")
                if check.kind != "likelihood"
            ]
            results.add(
                setting,
                data=name,
                rows=len(values),
                columns=len(names),
                edges=model.graph.n_edges,
                accepted=len(baseline.accepted),
                alarms=[check.id for check in report.ranked("fail")],
                shuffled=names[column],
                found=len(speaking),
                about=bool(speaking and speaking[0]),
            )


def report():
    """Markdown tables of all three."""
    lines = Results("check_gaussian").lines
    if lines:
        yield "## Models of numbers"
        rows = ["| graph | errors | n₀ → n | alarms at 0.01 | at 0.05 | raised by, at 0.01 |"]
        rows.append("|---" * 6 + "|")
        for arm in dict.fromkeys(line["arm"] for line in lines):
            of_arm = [line for line in lines if line["arm"] == arm]
            groups = [(kind, "all", [x for x in of_arm if x["errors"] == kind]) for kind in ERRORS]
            groups += [
                (
                    "all",
                    f"{a} → {b}",
                    [x for x in of_arm if (x["rows_old"], x["rows_new"]) == (a, b)],
                )
                for a, b in ROWS
            ]
            groups.append(("all", "all", of_arm))
            for kind, size, chosen in groups:
                n = sum(line["repetitions"] for line in chosen)
                if not n:
                    continue
                hits = [sum(len(x["alarms"][f"{a:g}"]) for x in chosen) for a in LEVELS]
                kinds = sorted({k for x in chosen for k in x["alarms"]["0.01"]})
                shown = share(hits[0], n) if kind == size == "all" else f"{hits[0]} of {n}"
                rows.append(
                    f"| {arm} | {kind} | {size} | {shown} | {hits[1]} of {n} | "
                    f"{', '.join(kinds) or '·'} |"
                )
        yield "\n".join(rows)
    lines = Results("check_gaussian_power").lines
    if lines:
        sizes = sorted({line["rows"] for line in lines})
        rows = ["| fault | errors | " + " | ".join(map(str, sizes)) + " |"]
        rows.append("|---" * (2 + len(sizes)) + "|")
        for fault, kind in dict.fromkeys((line["fault"], line["errors"]) for line in lines):
            cells = {
                line["rows"]: f"{line['right'] / line['repetitions']:.2f}"
                for line in lines
                if (line["fault"], line["errors"]) == (fault, kind)
            }
            rows.append(
                f"| {fault} | {kind} | " + " | ".join(cells.get(n, "·") for n in sizes) + " |"
            )
        yield "\n".join(rows)
    lines = Results("check_gaussian_real").lines
    if lines:
        rows = ["| data | rows | columns | edges | accepted | alarms | shuffled: alarms |"]
        rows[0] += " surest is about it |"
        rows.append("|---" * 8 + "|")
        for name in dict.fromkeys(line["data"] for line in lines):
            chosen = [line for line in lines if line["data"] == name]
            n, one = len(chosen), chosen[0]
            means = [f"{sum(x[key] for x in chosen) / n:.0f}" for key in ("edges", "accepted")]
            found = sum(x["found"] > 0 for x in chosen)
            rows.append(
                f"| {name} | {one['rows']} | {one['columns']} | {' | '.join(means)} | "
                f"{sum(bool(x['alarms']) for x in chosen)} of {n} | {found} of {n} | "
                f"{sum(x['about'] for x in chosen)} of {found} |"
            )
        yield "\n".join(rows)
