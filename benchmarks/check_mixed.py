"""Checks of models of labels and numbers: false alarms, faults that are found, real tables.

Simulated rows come from a graph of four labels and five numbers, with errors of one distribution:
normal, Laplace's, Student's with 3 degrees of freedom, or lognormal. Arms:

    true        the true graph
    learned     a graph chosen in the n₀ rows, with a baseline from them

Graphs are chosen by BIC: labels by hill climbing; each number then takes parents among the labels
and the numbers before it by name, one by one, while the conditional Gaussian BIC of the node grows
and every configuration has ten rows per coefficient. A real table is split into halves at random:
graph, model and baseline come from one, and the other is checked, as it is and with one column in
random order.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from check_gaussian import errors_of
from check_setup import SHARED, Results, first_alarm, fitted, learned, seeds, share

import gml
from gml.data.dataset import Dataset, Variable

LEVELS = {"a": "xy", "b": "pqr", "c": "st", "d": "uv"}
EDGES = [
    ("a", "b"), ("a", "d"), ("b", "f"), ("c", "g"), ("e", "g"), ("f", "g"),
    ("a", "h"), ("b", "h"), ("g", "h"), ("h", "i"),
]  # fmt: skip
NAMES = tuple("abcdefghi")
ERRORS = ("normal", "laplace", "t3", "lognormal")
ROWS = ((500, 300), (500, 2000), (5000, 300), (5000, 2000))
REPETITIONS = 50
FAULT_REPETITIONS = 20
FAULT_ROWS = (300, 1000, 3000)
SPLITS = 10
ALPHAS = (0.01, 0.05)
_PER_COEFFICIENT = 10


def run(scale=1.0):
    """Run what is not there yet."""
    null(scale)
    power(scale)
    real()


def checked(model, data, seed, *, baseline=None):
    """Check as the command does, on one thread."""
    return gml.check(data, model, seed=seed, baseline=baseline, threads=1)


def accepted(model, data, seed):
    """The baseline that the model's own rows give."""
    return gml.baseline_of(checked(model, data, seed).checks, data.n)


def noise(kind, n, rng):
    """Errors of mean 0 and variance 1."""
    return rng.standard_t(3, n) / math.sqrt(3) if kind == "t3" else errors_of(kind, n, rng)


def drawn(kind, n, seed, *, fault=None):
    """Rows of the graph, after a fault if there is one."""
    rng = np.random.default_rng(seed)

    def one_of(*tables):
        """Codes by the row of a table that the first label says."""
        found = np.zeros(n, dtype=np.uint8)
        for k, table in enumerate(tables):
            at = slice(None) if len(tables) == 1 else a == k
            found[at] = rng.choice(len(table), len(found[at]), p=table)
        return found

    a = one_of([0.6, 0.4])
    b = one_of([0.5, 0.3, 0.2], [0.4, 0.2, 0.4] if fault == "row" else [0.2, 0.3, 0.5])
    c = one_of([0.5, 0.5])
    d = one_of([0.8, 0.2], [0.3, 0.7])
    e = 5 + noise(kind, n, rng)
    # The errors grow with the label, which a test that pools them would not forgive.
    means = np.array([0.0, 0.5, 1.0]) * (0.5 if fault == "label" else 1.0)
    f = means[b] + (0.5 + 0.5 * b) * noise(kind, n, rng)
    slope = np.where(c == 1, 1.0, 0.5) * (0.5 if fault == "coefficient" else 1.0)
    shift = 0.4 if fault == "shift" else 0.0
    spread = 1.4 if fault == "sd" else 1.0
    g = 1 + shift + slope * f - 0.5 * e + spread * np.where(c == 1, 1.0, 0.7) * noise(kind, n, rng)
    h = a - 0.5 * b + 0.7 * g + noise(kind, n, rng)
    i = 0.6 * h + noise(kind, n, rng)
    if fault == "new edge":
        i = i + 0.3 * e
    if fault == "new label edge":
        i = i + 0.5 * c
    if fault == "shuffled":
        g = rng.permutation(g)
    columns = dict(zip(NAMES, (a, b, c, d, e, f, g, h, i), strict=True))
    variables = tuple(
        Variable(name, tuple(LEVELS[name]) if name in LEVELS else None) for name in NAMES
    )
    return Dataset(variables, tuple(columns.values()))


@functools.cache
def true_graph():
    """The graph that rows are drawn from."""
    edges = [(parent, "-->", name) for parent, name in EDGES]
    return gml.Graph.from_edges(list(NAMES), edges, numeric=[n for n in NAMES if n not in LEVELS])


# ---------------------------------------------------------------------- learned graphs


def climbed(data):
    """A graph chosen by BIC: labels first, then each number given what comes before it."""
    labels = [v.name for v in data.variables if not v.is_continuous]
    numbers = sorted(v.name for v in data.variables if v.is_continuous)
    columns = dict(zip(data.names, data.columns, strict=True))
    of_labels = learned(data.select(labels))
    edges = [(edge.source, "-->", edge.target) for edge in of_labels.edges]
    for k, name in enumerate(numbers):
        parents = _parents(columns, name, labels, numbers[:k])
        edges += [(parent, "-->", name) for parent in parents]
    return gml.Graph.from_edges([*labels, *numbers], edges, numeric=numbers)


def _parents(columns, name, labels, earlier):
    chosen, best = [], _bic(columns, name, [], [])
    while True:
        tried = []
        for other in (*labels, *earlier):
            if other in chosen:
                continue
            wanted = [*chosen, other]
            score = _bic(
                columns,
                name,
                [p for p in wanted if p in labels],
                [p for p in wanted if p not in labels],
            )
            tried.append((score, other))
        if not tried or max(tried)[0] <= best:
            return chosen
        best, found = max(tried)
        chosen.append(found)


def _bic(columns, name, labels, numbers):
    """BIC of a number given others; −∞ where a configuration has too few rows."""
    y = columns[name]
    n = len(y)
    design = np.column_stack([np.ones(n), *(columns[p] for p in numbers)])
    at = np.zeros(n, dtype=np.int64)
    for label in labels:
        at = at * (int(columns[label].max()) + 1) + columns[label]
    total, size = 0.0, design.shape[1]
    for place in np.unique(at):
        rows = at == place
        m = int(rows.sum())
        if m < _PER_COEFFICIENT * size:
            return -math.inf
        slopes, *_ = np.linalg.lstsq(design[rows], y[rows], rcond=None)
        variance = float(np.mean((y[rows] - design[rows] @ slopes) ** 2))
        if variance <= 1e-12 or np.linalg.matrix_rank(design[rows]) < size:
            return -math.inf
        total -= 0.5 * m * (math.log(2 * math.pi * variance) + 1) + 0.5 * (size + 1) * math.log(n)
    return total


# ---------------------------------------------------------------------- experiments


def null(scale=1.0):
    """Alarms where nothing changed."""
    results = Results("check_mixed")
    for n_old, n_new in ROWS:
        for kind in ERRORS:
            for arm in ("true", "learned"):
                setting = f"{arm} {kind} {n_old} {n_new}"
                if setting in results:
                    continue
                runs = [
                    _once(arm, kind, n_old, n_new, setting, k)
                    for k in range(max(2, round(REPETITIONS * scale)))
                ]
                alarms = {f"{a:g}": [found for p, found in runs if p <= a] for a in ALPHAS}
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
    "row": ("tables:b",),
    "shift": ("tables:g", "schema:drift:g"),
    "coefficient": ("tables:g", "structure:f->g"),
    "sd": ("tables:g:sd", "tables:g|", "schema:drift:g"),
    "label": ("tables:f", "structure:b->f", "schema:drift:f"),
    "new edge": ("structure:e independent of i|h",),
    "new label edge": ("structure:c independent of i|h",),
    "shuffled": ("structure:f->g", "structure:g->h", "tables:g", "tables:h"),
}
"""What names of a right check begin with."""


def power(scale=1.0):
    """Faults that are found, and by the right check."""
    results = Results("check_mixed_power")
    for fault, right in RIGHT.items():
        for kind in ("normal", "lognormal"):
            for n_new in FAULT_ROWS:
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
                    named += any(c.id.startswith(right) for c in report.ranked("fail"))
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
    """Real tables of labels and numbers, complete rows: penguins, and a part of adult."""
    folder = SHARED / "data" / "real"
    penguins = gml.read(folder / "penguins.csv", exclude=["year"], missing="drop",
                        numeric=["bill_length_mm", "bill_depth_mm", "flipper_length_mm",
                                 "body_mass_g"])  # fmt: skip
    yield "penguins", penguins, None
    adult = gml.read(folder / "adult.csv.gz", numeric=["age", "hours-per-week"], missing="drop",
                     exclude=["fnlwgt", "education-num", "capital-gain", "capital-loss",
                              "native-country"])  # fmt: skip
    yield "adult", adult, 6000


def real():
    """Halves of real tables."""
    results = Results("check_mixed_real")
    for name, data, most in tables():
        for split in range(SPLITS):
            setting = f"{name} {split}"
            if setting in results:
                continue
            half, check_seed = seeds(setting, 0, 2)
            rng = np.random.default_rng(half)
            order = rng.permutation(data.n_rows)[:most]
            middle = len(order) // 2
            before, after = _rows(data, order[:middle]), _rows(data, order[middle:])
            model = fitted(climbed(before), before)
            baseline = accepted(model, before, check_seed)
            report = checked(model, after, check_seed, baseline=baseline)
            column = int(rng.integers(len(data.names)))
            columns = list(after.columns)
            columns[column] = rng.permutation(columns[column])
            shuffled = Dataset(after.variables, tuple(columns))
            found = checked(model, shuffled, check_seed, baseline=baseline)
            about = [
                data.names[column] in (*check.variables, *dict(check.given))
                for check in found.ranked("fail")
                if check.kind != "likelihood"
            ]
            results.add(
                setting,
                data=name,
                rows=len(order),
                columns=len(data.names),
                edges=model.graph.n_edges,
                accepted=len(baseline.accepted),
                alarms=[check.id for check in report.ranked("fail")],
                shuffled=data.names[column],
                found=len(about),
                about=bool(about and about[0]),
            )


def _rows(data, chosen):
    return Dataset(data.variables, tuple(column[chosen] for column in data.columns))


# ---------------------------------------------------------------------- report


def report():
    """Markdown tables of all three."""
    lines = Results("check_mixed").lines
    if lines:
        yield "## Models of labels and numbers"
        rows = ["| graph | errors | n₀ → n | alarms at 0.01 | at 0.05 | raised by, at 0.01 |"]
        rows.append("|---" * 6 + "|")
        for arm in dict.fromkeys(line["arm"] for line in lines):
            of_arm = [line for line in lines if line["arm"] == arm]
            groups = [(kind, "all", [x for x in of_arm if x["errors"] == kind]) for kind in ERRORS]
            for a, b in ROWS:
                chosen = [x for x in of_arm if (x["rows_old"], x["rows_new"]) == (a, b)]
                groups.append(("all", f"{a} → {b}", chosen))
            groups.append(("all", "all", of_arm))
            for kind, size, chosen in groups:
                n = sum(line["repetitions"] for line in chosen)
                if not n:
                    continue
                hits = [sum(len(x["alarms"][f"{a:g}"]) for x in chosen) for a in ALPHAS]
                kinds = sorted({k for x in chosen for k in x["alarms"]["0.01"]})
                shown = share(hits[0], n) if kind == size == "all" else f"{hits[0]} of {n}"
                rows.append(
                    f"| {arm} | {kind} | {size} | {shown} | {hits[1]} of {n} | "
                    f"{', '.join(kinds) or '·'} |"
                )
        yield "\n".join(rows)
    lines = Results("check_mixed_power").lines
    if lines:
        rows = ["| fault | errors | " + " | ".join(map(str, FAULT_ROWS)) + " |"]
        rows.append("|---" * (2 + len(FAULT_ROWS)) + "|")
        for fault, kind in dict.fromkeys((line["fault"], line["errors"]) for line in lines):
            cells = {
                line["rows"]: f"{line['right'] / line['repetitions']:.2f}"
                for line in lines
                if (line["fault"], line["errors"]) == (fault, kind)
            }
            shown = " | ".join(cells.get(n, "·") for n in FAULT_ROWS)
            rows.append(f"| {fault} | {kind} | {shown} |")
        yield "\n".join(rows)
    lines = Results("check_mixed_real").lines
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
