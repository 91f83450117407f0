"""The graphical lasso beside scikit-learn's and R's glasso, and notears beside dagma.

    python benchmarks/glasso.py --python PYTHON_WITH_SKLEARN_AND_DAGMA

Every figure is the CPU time of one thread, the smallest of up to three, the packages taking turns
on the same matrices in one run. scikit-learn stops at its default gap of 1e-4, R's glasso at its
default tolerance, gml at a gap of 1e-9. A peer that takes longer than two minutes is cut.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

PROBLEMS = (
    (20, 200, 0.2),
    (20, 200, 0.05),
    (50, 500, 0.1),
    (100, 500, 0.2),
    (100, 500, 0.1),
    (200, 1000, 0.2),
    (200, 100, 0.3),
)
DAGS = ((10, 15, 0), (10, 15, 1), (20, 40, 0), (20, 40, 1), (30, 60, 0), (30, 60, 1))
CUT = 120

PEER = """
import json, sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
what, path, number = sys.argv[1:]
given = np.load(path)
if what == "sklearn":
    from sklearn.covariance import graphical_lasso
    graphical_lasso(np.eye(2) + 0.1, 0.01)
    times = []
    while not times or (len(times) < 3 and sum(times) < 5):
        began = time.process_time()
        found = graphical_lasso(given, float(number), max_iter=1000)[1]
        times.append(time.process_time() - began)
else:
    from dagma.linear import DagmaLinear
    began = time.process_time()
    found = DagmaLinear(loss_type="l2").fit(given, lambda1=float(number))
    times = [time.process_time() - began]
print(json.dumps({"seconds": min(times), "found": found.tolist()}))
"""
GLASSO_R = """
suppressMessages(library(glasso)); given <- commandArgs(TRUE)
s <- as.matrix(read.csv(given[1], header = FALSE))
times <- sapply(1:3, function(k) {
  sum(system.time(glasso(s, rho = as.numeric(given[2]), penalize.diagonal = FALSE))[1:2])
})
cat(min(times))
"""
OWN = """
import json, sys, time
import numpy as np
what, path, number = sys.argv[1:]
given = np.load(path)
if what == "glasso":
    from gml.learners.sparse_precision import sparse_precision
    penalties = float(number) * (1 - np.eye(len(given)))
    sparse_precision(np.eye(2) + 0.1, np.full((2, 2), 0.01))
    times = []
    while len(times) < 3:
        began = time.process_time()
        found = sparse_precision(given, penalties)
        times.append(time.process_time() - began)
    shown = {"seconds": min(times), "found": found.precision.tolist(), "gap": found.gap}
    print(json.dumps(shown))
else:
    import pandas as pd, warnings, gml
    warnings.simplefilter("ignore")
    frame = pd.DataFrame(given, columns=[f"v{k:03}" for k in range(given.shape[1])])
    began = time.process_time()
    found = gml.notears(frame, raw=True, l1=float(number))
    seconds = time.process_time() - began
    weights = np.where(np.abs(found.weights) >= found.threshold, found.weights, 0)
    print(json.dumps({"seconds": seconds, "found": weights.tolist()}))
"""


def correlations(size: int, rows: int) -> np.ndarray:
    """Correlations of rows of a sparse Gaussian graph, two edges per column."""
    rng = np.random.default_rng(size + rows)
    precision = np.zeros((size, size))
    for i in range(size):
        for j in rng.choice(size, 2, replace=False).tolist():
            if i != j:
                precision[i, j] = precision[j, i] = rng.uniform(0.3, 0.8) * rng.choice([-1, 1])
    precision += np.diag(np.abs(precision).sum(axis=1) + 0.1)
    drawn = rng.multivariate_normal(np.zeros(size), np.linalg.inv(precision), size=rows)
    return np.corrcoef(drawn.T)


def equal_variances(size: int, edges: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A thousand rows of a random linear DAG with standard normal errors, and its weights."""
    rng = np.random.default_rng(seed)
    order, weights = rng.permutation(size), np.zeros((size, size))
    pairs = [(i, j) for i in range(size) for j in range(i + 1, size)]
    for which in rng.choice(len(pairs), edges, replace=False).tolist():
        i, j = pairs[which]
        weights[order[i], order[j]] = rng.uniform(0.5, 2) * rng.choice([-1, 1])
    return rng.normal(size=(1000, size)) @ np.linalg.inv(np.eye(size) - weights), weights


def timed(python: str, program: str, *args: object) -> dict | None:
    """What a program prints, or None if it takes too long or fails."""
    command = [python, "-c", program, *map(str, args)]
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"}
    try:
        done = subprocess.run(command, capture_output=True, timeout=CUT, env=one_thread, check=True)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return None
    return json.loads(done.stdout.splitlines()[-1])


def of_r(path: Path, l1: float) -> str:
    """The seconds of R's glasso, if there is one."""
    if shutil.which("Rscript") is None:
        return "-"
    try:
        command = ["Rscript", "-e", GLASSO_R, path, str(l1)]
        done = subprocess.run(command, capture_output=True, timeout=CUT, check=True)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return "cut or missing"
    return f"{float(done.stdout):.3f}"


def distance(found: np.ndarray, truth: np.ndarray) -> int:
    """The structural Hamming distance; a wrong direction counts once."""
    have, real = found != 0, truth != 0
    wrong = (have | have.T) ^ (real | real.T)
    turned = (have | have.T) & (real | real.T) & (have != real)
    return int(np.triu(wrong).sum() + np.triu(turned).sum())


def lassos(python: str, folder: Path) -> None:
    """One row per problem: seconds, and times ours."""
    print("| columns | rows | l1 | edges | gml | gap | scikit-learn | times | R glasso |")
    print("|---|---|---|---|---|---|---|---|---|")
    for size, rows, l1 in PROBLEMS:
        matrix, path = correlations(size, rows), folder / "s.npy"
        np.save(path, matrix)
        np.savetxt(folder / "s.csv", matrix, delimiter=",", fmt="%.17g")
        own = timed(sys.executable, OWN, "glasso", path, l1)
        peer = timed(python, PEER, "sklearn", path, l1)
        edges = (np.count_nonzero(own["found"]) - size) // 2
        theirs = f"over {CUT} or failed" if peer is None else f"{peer['seconds']:.3f}"
        ratio = "" if peer is None else f"{peer['seconds'] / own['seconds']:.1f}"
        print(
            f"| {size} | {rows} | {l1} | {edges} | {own['seconds']:.4f} | {own['gap']:.0e} | "
            f"{theirs} | {ratio} | {of_r(folder / 's.csv', l1)} |",
            flush=True,
        )


def dags(python: str, folder: Path) -> None:
    """One row per random DAG: seconds and distances on raw and on standardised columns."""
    print("\n| columns | edges | seed | gml | dagma | times | SHD raw | SHD standardised |")
    print("|---|---|---|---|---|---|---|---|")
    for size, edges, seed in DAGS:
        rows, truth = equal_variances(size, edges, seed)
        standardised = (rows - rows.mean(axis=0)) / rows.std(axis=0)
        shown, seconds = [], []
        for given in (rows, standardised):
            path = folder / "x.npy"
            np.save(path, given)
            runs = [
                timed(sys.executable, OWN, "notears", path, 0.03),
                timed(python, PEER, "dagma", path, 0.03),
            ]
            seconds.append([run["seconds"] if run else np.nan for run in runs])
            shown.append([distance(np.array(run["found"]), truth) if run else "-" for run in runs])
        own, peer = np.mean(seconds, axis=0)
        print(
            f"| {size} | {edges} | {seed} | {own:.2f} | {peer:.2f} | {peer / own:.1f} | gml "
            f"{shown[0][0]}, dagma {shown[0][1]} | gml {shown[1][0]}, dagma {shown[1][1]} |",
            flush=True,
        )


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True, help="one that has scikit-learn and dagma")
    python = parser.parse_args().python
    with tempfile.TemporaryDirectory() as folder:
        lassos(python, Path(folder))
        dags(python, Path(folder))


if __name__ == "__main__":
    main()
