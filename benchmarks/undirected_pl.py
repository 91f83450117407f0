"""Time the pseudo-likelihood of many binary columns against scikit-learn, one node at a time.

    python benchmarks/undirected_pl.py [--columns 200] [--rows 100000] [--nodes 8] [--python PATH]

Both fit the complete model of pairs to the same rows, drawn from a sparse Ising model, in turns and
in one run. scikit-learn's loop is one LogisticRegression per column on all others, without a
penalty; it is run for some of the columns, and its time is scaled to all of them. `--python` names
an interpreter that has scikit-learn. Both stop at what is said to be the same accuracy: the largest
derivative per row.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path

import numpy as np

import gml
from gml.data.dataset import Dataset, Variable
from gml.model.undirected.pseudo.likelihood import fit_pseudo
from gml.model.undirected.terms import Terms

PEER = """
import json, sys, time, warnings
import numpy as np
from sklearn.linear_model import LogisticRegression
warnings.simplefilter("ignore")
path, nodes, solver, tol = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3], float(sys.argv[4])
x = np.load(path).astype(float) * 2 - 1
n = len(x)
seconds = cpu = worst = 0.0
for k in nodes:
    others, y = np.ascontiguousarray(np.delete(x, k, axis=1)), x[:, k] > 0
    t, u = time.perf_counter(), time.process_time()
    model = LogisticRegression(C=np.inf, solver=solver, tol=tol, max_iter=1000)
    model.fit(others, y)
    seconds += time.perf_counter() - t
    cpu += time.process_time() - u
    residual = y - model.predict_proba(others)[:, 1]
    # In the coding of gml, where log-odds are twice the coefficients.
    worst = max(worst, 2 * np.abs(others.T @ residual).max() / n, 2 * abs(residual.sum()) / n)
print(json.dumps({"seconds": seconds, "cpu": cpu, "gradient": worst}))
"""


def ising_rows(n_columns: int, n_rows: int, seed: int) -> np.ndarray:
    """Rows of 0 and 1 from an Ising model of degree 3, by 60 sweeps of a Gibbs sampler."""
    rng = np.random.default_rng(seed)
    coupling = np.zeros((n_columns, n_columns))
    degree = np.zeros(n_columns, dtype=int)
    for i, j in rng.permutation(list(combinations(range(n_columns), 2))):
        if degree[i] < 3 and degree[j] < 3:
            coupling[i, j] = coupling[j, i] = rng.choice([-1, 1]) * rng.uniform(0.2, 0.5)
            degree[[i, j]] += 1
    fields = rng.normal(0, 0.2, n_columns)
    spins = rng.choice([-1.0, 1.0], (n_columns, n_rows)).astype(np.float32)
    for _ in range(60):
        for k in range(n_columns):
            near = coupling[k] != 0
            logs = coupling[k, near].astype(np.float32) @ spins[near] + fields[k]
            up = rng.random(n_rows, dtype=np.float32) < 1 / (1 + np.exp(-2 * logs))
            spins[k] = np.where(up, 1, -1)
    return (spins > 0).astype(np.uint8)


def main() -> None:
    """Print one JSON object per program, and the ratio."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--columns", type=int, default=200)
    options.add_argument("--rows", type=int, default=100_000)
    options.add_argument("--nodes", type=int, default=8)
    options.add_argument("--python", default=sys.executable)
    given = options.parse_args()
    spins = ising_rows(given.columns, given.rows, seed=1)
    variables = tuple(Variable(f"v{k:04d}", ("down", "up")) for k in range(given.columns))
    counter = gml.MemoryCounter(Dataset(variables, tuple(spins)))
    terms = Terms.of(variables, combinations([v.name for v in variables], 2))

    start, cpu = time.perf_counter(), time.process_time()
    found = fit_pseudo(counter, terms)
    ours = {
        "program": "gml",
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - cpu,
        "gradient": found.gradient,
        "steps": found.iterations,
    }
    print(json.dumps(ours), flush=True)
    nodes = np.linspace(0, given.columns - 1, given.nodes).astype(int).tolist()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, spins.T)
        for solver, tolerance in (("lbfgs", 1e-4), ("lbfgs", 1e-8), ("newton-cholesky", 1e-8)):
            command = [given.python, "-c", PEER, path, json.dumps(nodes), solver, str(tolerance)]
            peer = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
            for key in ("seconds", "cpu"):
                peer[key] *= given.columns / given.nodes
            ratios = {f"ratio_{key}": peer[key] / ours[key] for key in ("seconds", "cpu")}
            print(json.dumps({"program": f"sklearn {solver} {tolerance:g}", **peer, **ratios}))


if __name__ == "__main__":
    main()
