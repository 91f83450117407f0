"""Checks of numbers and of duplicates: alarms where nothing changed, and planted faults.

Tables have four columns of numbers (skewed, rounded, mostly zero, and one that depends on the
first) and eight of labels, so that rows hardly repeat; numbers are cut into four. A model is fitted
on n₀ rows and checked on n. Arms where nothing changed:

    plain       n rows of the same source
    training    one row in fifty of the model's is a copy of another, and none of the new ones
    both        one row in fifty is a copy on both sides
    thrice      the new file was delivered three times, which is not counted as an alarm
    asia        rows of the network asia, most of which repeat

The second number of each setting is for the checks of numbers and of duplicates alone. Faults:

    9999 s      a share s of one column is 9999; -1 s: the same with -1
    factor f    one column is f times as large
    copies s    a share s of the rows are copies of others
    thrice      the file was delivered three times
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from check_setup import Results, network, seeds

import gml

ROWS = (500, 5_000)
RATIOS = (0.2, 1.0, 5.0)
ARMS = ("plain", "training", "both", "thrice", "asia")
REPETITIONS = 100
FAULT_REPETITIONS = 20
SIZES = ((5_000, 1_000), (1_000, 1_000))
OF_ROWS = ("range", "sentinel", "drift", "unique", "repeats")
LABELS = tuple(f"l{k}" for k in range(8))
GRAPH = gml.Graph.from_edges(
    ["income", "age", "visits", "tax", *LABELS],
    [("income", "-->", "tax"), ("age", "-->", "visits"), ("l0", "-->", "l1"), ("l1", "-->", "l2")],
)


def table(n, rng):
    """Rows of numbers and labels."""
    income = np.exp(rng.normal(3, 1, n)).round(2)
    age = np.clip(rng.normal(45, 15, n), 0, 99).round()
    often = rng.random(n) < np.where(age > 50, 0.4, 0.1)
    visits = np.where(often, rng.poisson(3, n), 0)
    tax = 0.3 * income + rng.normal(0, 3, n)
    columns = {"income": income, "age": age, "visits": visits, "tax": tax}
    codes = rng.integers(0, 3, size=(n, len(LABELS)))
    for k in (1, 2):
        kept = rng.random(n) < 0.5
        codes[kept, k] = codes[kept, k - 1]
    return pd.DataFrame(columns | {name: codes[:, k] for k, name in enumerate(LABELS)})


def with_copies(rows, share, rng):
    """Rows of which a share is overwritten by others."""
    n = len(rows)
    copies = rng.permutation(n)[: round(share * n)]
    rows = rows.copy()
    rows.iloc[copies] = rows.iloc[rng.integers(0, n, len(copies))].to_numpy()
    return rows


def source(arm, rng):
    """How the old and the new rows of an arm are drawn."""
    if arm == "asia":
        net = network("asia")
        return [lambda n: net.sample(n, seed=int(rng.integers(2**31))).to_frame()] * 2
    both = [lambda n: table(n, rng), lambda n: table(n, rng)]
    if arm in ("training", "both"):
        both[0] = lambda n: with_copies(table(n, rng), 0.02, rng)
    if arm == "both":
        both[1] = both[0]
    if arm == "thrice":
        both[1] = lambda n: pd.concat([table(n // 3, rng)] * 3)
    return both


def run(scale=1.0):
    """Run what is not there yet."""
    results = Results("check_numbers")
    for arm in ARMS:
        for n_old in ROWS:
            for ratio in RATIOS:
                setting = f"{arm} {n_old} {ratio:g}"
                if setting not in results:
                    repetitions = max(2, round(REPETITIONS * scale))
                    runs = [_quiet(arm, n_old, ratio, setting, k) for k in range(repetitions)]
                    alarms = [found for found in runs if found]
                    results.add(
                        setting,
                        arm=arm,
                        rows_old=n_old,
                        ratio=ratio,
                        repetitions=repetitions,
                        alarms=len(alarms),
                        of_rows=sum(any(kind in OF_ROWS for kind in a) for a in alarms),
                        kinds=sorted({kind for found in alarms for kind in found}),
                    )
    for label, (fault, right) in FAULTS.items():
        for n_old, n_new in SIZES:
            setting = f"fault {label} {n_old} {n_new}"
            if setting not in results:
                repetitions = max(2, round(FAULT_REPETITIONS * scale))
                runs = [_fault(fault, right, n_old, n_new, setting, k) for k in range(repetitions)]
                results.add(
                    setting,
                    fault=label,
                    rows_old=n_old,
                    rows_new=n_new,
                    repetitions=repetitions,
                    failed=sum(found[0] for found in runs),
                    right=sum(found[1] for found in runs),
                )


def _checked(before, after, seed):
    graph = GRAPH if "income" in before else network("asia").graph
    reading = {"bins": 4} if "income" in before else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = gml.fit(before, graph, threads=1, **reading)
        return gml.check(after, model, seed=seed, threads=1)


def _quiet(arm, n_old, ratio, setting, repetition):
    """The kinds of checks that raise an alarm where nothing changed."""
    row_seed, check_seed = seeds(setting, repetition, 2)
    old, new = source(arm, np.random.default_rng(row_seed))
    report = _checked(old(n_old), new(round(n_old * ratio)), check_seed)
    expected = ("repeats", "unique") if arm == "thrice" else ()
    return [check.kind for check in report.ranked("fail") if check.kind not in expected]


# ---------------------------------------------------------------------- faults


def _code(value, share):
    def change(rows, rng):
        rows.loc[rng.random(len(rows)) < share, "age"] = value
        return rows

    return change


def _factor(factor):
    return lambda rows, rng: rows.assign(income=rows["income"] * factor)


FAULTS = {
    **{f"9999 {share:g}": (_code(9999, share), "schema:sentinel:age") for share in (0.003, 0.01)},
    **{f"-1 {share:g}": (_code(-1, share), "schema:sentinel:age") for share in (0.003, 0.01)},
    **{f"factor {f:g}": (_factor(f), "schema:drift:income") for f in (1.1, 1.5, 12)},
    **{
        f"copies {share:g}": (
            lambda rows, rng, share=share: with_copies(rows, share, rng),
            "schema:unique:tax",
        )
        for share in (0.005, 0.01, 0.02)
    },
    **{
        f"copies of labels {share:g}": (
            lambda rows, rng, share=share: with_copies(rows, share, rng).assign(
                tax=rows["tax"] + rng.normal(0, 1e-6, len(rows))
            ),
            "schema:repeats",
        )
        for share in (0.02, 0.05, 0.1)
    },
    "thrice": (lambda rows, rng: pd.concat([rows] * 3), "schema:repeats"),
}


def _fault(fault, right, n_old, n_new, setting, repetition):
    row_seed, check_seed = seeds(setting, repetition, 2)
    rng = np.random.default_rng(row_seed)
    report = _checked(table(n_old, rng), fault(table(n_new, rng), rng), check_seed)
    return report.failed, right in {check.id for check in report.ranked("fail")}
