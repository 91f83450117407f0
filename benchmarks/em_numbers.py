"""The normal distribution of numbers with holes by EM, beside the textbook's and an imputer.

    python benchmarks/em_numbers.py --python PYTHON_WITH_SKLEARN

Every figure is the CPU time of one thread, all on the same rows in one run. The textbook's EM is
Little & Rubin (2002, section 11.2), in NumPy: for each pattern of holes the regressions of what is
missing on what was seen, applied to all its rows at once; it runs until a step gains less than 1e-9
of the log-likelihood, or changes no standardised mean or covariance by more than 1e-9, and 1000
steps at most. scikit-learn's IterativeImputer fits no distribution, but is what people use: ten
rounds of ridge regressions, its default. A peer is cut after ten minutes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

PROBLEMS = ((1_000, 5, 0.1), (10_000, 10, 0.1), (10_000, 10, 0.4), (100_000, 20, 0.1))
CUT = 600

OWN = """
import json, sys, time
import numpy as np
from gml.model.em.normal import normal_em
rows = np.load(sys.argv[1])
normal_em(np.random.default_rng(0).normal(size=(50, 2)))
began = time.process_time()
found = normal_em(rows)
seconds = time.process_time() - began
print(json.dumps({"seconds": seconds, "steps": found.climb.steps, "ll": found.log_likelihood}))
"""
TEXTBOOK = """
import json, sys, time
import numpy as np
rows = np.load(sys.argv[1])
began = time.process_time()
rows = (rows - np.nanmean(rows, axis=0)) / np.nanstd(rows, axis=0)
n, d = rows.shape
patterns, of_row = np.unique(np.isnan(rows), axis=0, return_inverse=True)
order = np.argsort(of_row.reshape(-1), kind="stable")
ends = np.cumsum(np.bincount(of_row.reshape(-1)))
groups = [(np.flatnonzero(~p), np.flatnonzero(p), rows[own]) for p, own in zip(
    patterns, np.split(order, ends[:-1]))]
mean, cov = np.zeros(d), np.eye(d)
before, steps = -np.inf, 0
while steps < 1000:
    first, second, ll = np.zeros(d), np.zeros((d, d)), 0.0
    for o, m, own in groups:
        away = own[:, o] - mean[o]
        inside = cov[np.ix_(o, o)]
        solved = np.linalg.solve(inside, np.column_stack([cov[np.ix_(o, m)], away.T]))
        gain, rest = solved[:, : len(m)], solved[:, len(m) :]
        ll -= 0.5 * (len(own) * (len(o) * np.log(2 * np.pi) + np.linalg.slogdet(inside)[1])
                     + np.sum(away.T * rest))
        filled = np.empty_like(own)
        filled[:, o] = own[:, o]
        filled[:, m] = mean[m] + away @ gain
        first += filled.sum(axis=0)
        second += filled.T @ filled
        second[np.ix_(m, m)] += len(own) * (cov[np.ix_(m, m)] - cov[np.ix_(m, o)] @ gain)
    steps += 1
    new = first / n
    newer = second / n - np.outer(new, new)
    change = max(np.abs(new - mean).max(), np.abs(newer - cov).max())
    mean, cov = new, newer
    if ll - before < 1e-9 * abs(ll) and change < 1e-9:
        break
    before = ll
given = np.load(sys.argv[1])
ll -= float(((~np.isnan(given)).sum(axis=0) * np.log(np.nanstd(given, axis=0))).sum())
print(json.dumps({"seconds": time.process_time() - began, "steps": steps, "ll": ll}))
"""
IMPUTER = """
import json, sys, time, warnings
import numpy as np
from sklearn.experimental import enable_iterative_imputer
from sklearn.impute import IterativeImputer
warnings.simplefilter("ignore")
rows = np.load(sys.argv[1])
began = time.process_time()
IterativeImputer().fit_transform(rows)
print(json.dumps({"seconds": time.process_time() - began}))
"""


def drawn(n: int, d: int, share: float) -> np.ndarray:
    """Rows of a normal distribution with correlated columns, cells missing at random."""
    rng = np.random.default_rng(n + d)
    rows = rng.standard_normal((n, d)) @ (np.eye(d) + rng.standard_normal((d, d)) / 4)
    rows[rng.random(rows.shape) < share] = np.nan
    return rows


def timed(python: str, program: str, path: Path) -> dict | None:
    """What a program prints, or None if it takes too long."""
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"}
    try:
        done = subprocess.run(
            [python, "-c", program, str(path)],
            capture_output=True,
            timeout=CUT,
            env=one_thread,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", help="an interpreter with scikit-learn")
    given = parser.parse_args()
    print(
        "| rows | columns | missing | gml | steps | textbook | steps | times | ll apart | imputer |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for n, d, share in PROBLEMS:
            path = Path(folder) / "rows.npy"
            np.save(path, drawn(n, d, share))
            own = timed(sys.executable, OWN, path)
            assert own is not None
            book = timed(sys.executable, TEXTBOOK, path)
            imputer = timed(given.python, IMPUTER, path) if given.python else None
            cells = [f"{n:,}".replace(",", " "), d, f"{share:.0%}"]
            cells += [f"{own['seconds']:.2f}", own["steps"]]
            if book is None:
                cells += [f"over {CUT}", "", "", ""]
            else:
                cells += [f"{book['seconds']:.2f}", book["steps"]]
                cells += [f"{book['seconds'] / own['seconds']:.1f}"]
                cells += [f"{abs(own['ll'] / book['ll'] - 1):.0e}"]
            cells.append("" if imputer is None else f"{imputer['seconds']:.2f}")
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
