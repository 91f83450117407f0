"""Compare fields of one target with scikit-learn's multinomial logistic regression.

    python benchmarks/crf_tables.py [--rows 20000] [--python PATH]

Tables are drawn at random: inputs of several levels that depend on one another, and a target that
depends on them. Both programs fit each table with each penalty, in turns and in one run, and the
largest difference of a weight is reported, beside the ratio of their CPU times. scikit-learn gets
one-hot columns, a column of ones and no intercept; C = 1/(2·l2) for three or more levels of the
target, and 1/l2 for two, where its single weights are differences of ours. `--python` names an
interpreter that has scikit-learn.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import gml
from gml.data.dataset import Dataset, Variable

PEER = """
import json, sys, time, warnings
import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression
warnings.simplefilter("ignore")
held = np.load(sys.argv[1])
penalty, solver, tol = float(sys.argv[2]), sys.argv[3], float(sys.argv[4])
y, codes, sizes = held["y"], held["x"], held["sizes"]
start = time.process_time()
x = np.hstack([np.ones((len(y), 1)), *(np.eye(size)[codes[k]] for k, size in enumerate(sizes))])
C = 1 / penalty if y.max() < 2 else 1 / (2 * penalty)
model = LogisticRegression(C=C, fit_intercept=False, solver=solver, tol=tol, max_iter=100000)
model.fit(x, y)
seconds = time.process_time() - start
found = {"seconds": seconds, "weights": model.coef_.tolist(), "version": sklearn.__version__}
print(json.dumps(found))
"""
CASES = (
    # levels of the target, and of the inputs
    (2, (2, 3, 2)),
    (3, (2, 2, 4, 5)),
    (5, (3,) * 8),
    (4, (10, 20, 5, 2, 2, 2)),
)
PENALTIES = (10.0, 1.0, 0.01)
SOLVERS = (("lbfgs", 1e-4), ("lbfgs", 1e-11), ("newton-cholesky", 1e-11))


def table(levels: int, sizes: tuple[int, ...], n: int, seed: int) -> Dataset:
    """Rows whose inputs depend on the one before, and whose target depends on all."""
    rng = np.random.default_rng(seed)
    columns: list[np.ndarray] = []
    for k, size in enumerate(sizes):
        column = rng.integers(0, size, n)
        if k:
            same = rng.random(n) < 0.3
            column[same] = columns[-1][same] % size
        columns.append(column)
    logs = rng.normal(0, 0.5, levels) + sum(
        rng.normal(0, 0.8, (size, levels))[column]
        for size, column in zip(sizes, columns, strict=True)
    )
    y = np.argmax(logs + rng.gumbel(size=(n, levels)), axis=1)
    variables = [Variable(f"x{k}", tuple(map(str, range(size)))) for k, size in enumerate(sizes)]
    variables.append(Variable("y", tuple(map(str, range(levels)))))
    return Dataset(tuple(variables), tuple(c.astype(np.uint8) for c in (*columns, y)))


def weights_of(net: gml.ConditionalField) -> np.ndarray:
    """Weights as scikit-learn has them: levels × features, or one row of differences."""
    found = np.hstack(
        [net.tables["y",][:, None], *(net.tables["y", v.name] for v in net.terms.inputs)]
    )
    return found[1:] - found[:1] if len(found) == 2 else found


def main() -> None:
    """Print one JSON object per table, penalty and solver."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=20_000)
    options.add_argument("--python", default=sys.executable)
    given = options.parse_args()
    # What is loaded for the first fit is not timed.
    gml.crf(table(2, (2,), 100, seed=0), target="y")
    worst = 0.0
    for number, (levels, sizes) in enumerate(CASES):
        data = table(levels, sizes, given.rows, seed=number)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.npz"
            np.savez(path, y=data.columns[-1], x=np.array(data.columns[:-1]), sizes=sizes)
            for l2 in PENALTIES:
                start = time.process_time()
                net = gml.crf(data, target="y", l2=l2)
                seconds = time.process_time() - start
                for solver, tolerance in SOLVERS:
                    command = [given.python, "-c", PEER, path, str(l2), solver, str(tolerance)]
                    done = subprocess.run(command, check=True, capture_output=True)
                    peer = json.loads(done.stdout)
                    apart = float(np.abs(weights_of(net) - np.array(peer["weights"])).max())
                    if solver == "newton-cholesky":
                        worst = max(worst, apart)
                    about = {
                        "levels": levels,
                        "inputs": len(sizes),
                        "l2": l2,
                        "peer": f"scikit-learn {peer['version']} {solver} {tolerance:g}",
                        "apart": apart,
                        "seconds": round(seconds, 3),
                        "ratio": round(peer["seconds"] / seconds, 2),
                    }
                    print(json.dumps(about), flush=True)
    print(json.dumps({"largest_difference": worst}))


if __name__ == "__main__":
    main()
