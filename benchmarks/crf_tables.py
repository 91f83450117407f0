"""Compare fields of one target with scikit-learn's multinomial logistic regression.

    python benchmarks/crf_tables.py [--rows 20000] [--python PATH]
    python benchmarks/crf_tables.py --record tests/golden/data/logistic.json [--python PATH]

Tables are drawn at random: inputs of several levels that depend on one another, numbers, and a
target that depends on them. Both programs fit each table with each penalty, in turns and in one
run, and the largest difference of a weight is reported, beside the ratio of their CPU times.
scikit-learn gets one-hot columns, numbers from its StandardScaler, a column of ones and no
intercept; C = 1/(2·l2) for three or more levels of the target, and 1/l2 for two, where its single
weights are differences of ours. `--python` names an interpreter that has scikit-learn.

`--record` writes what scikit-learn finds for the tables of tests/golden/test_conditional_fields.py:
the flats of sample_data, whose rows count as often as WEIGHTS says, and Fisher's irises.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import gml
from gml.data.dataset import Dataset, Variable

PEER = """
import json, sys, time, warnings
import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression
warnings.simplefilter("ignore")
from sklearn.preprocessing import StandardScaler
held = np.load(sys.argv[1])
penalty, solver, tol = float(sys.argv[2]), sys.argv[3], float(sys.argv[4])
y, codes, sizes, numbers, times = (held[k] for k in ("y", "x", "sizes", "numbers", "times"))
start = time.process_time()
parts = [np.ones((len(y), 1)), *(np.eye(size)[codes[k]] for k, size in enumerate(sizes))]
scaler = StandardScaler()
if len(numbers):
    parts.append(scaler.fit_transform(numbers.T, sample_weight=times))
C = 1 / penalty if y.max() < 2 else 1 / (2 * penalty)
model = LogisticRegression(C=C, fit_intercept=False, solver=solver, tol=tol, max_iter=100000)
x = np.hstack(parts)
model.fit(x, y, sample_weight=times)
seconds = time.process_time() - start
logs = model.predict_log_proba(x)[np.arange(len(y)), y]
found = {"seconds": seconds, "weights": model.coef_.tolist(), "version": sklearn.__version__}
found["objective"] = float(times @ logs) - penalty * float((model.coef_**2).sum())
if len(numbers):
    found |= {"mean": scaler.mean_.tolist(), "sd": scaler.scale_.tolist()}
print(json.dumps(found))
"""
CASES = (
    # levels of the target, and of the inputs; 0 for numbers
    (2, (2, 3, 2)),
    (3, (2, 2, 4, 5)),
    (5, (3,) * 8),
    (4, (10, 20, 5, 2, 2, 2)),
    (3, (0,) * 6),
    (4, (3, 2, 0, 0, 0)),
)
# How often rows count, again and again.
WEIGHTS = [1, 2, 0, 3, 1]
PENALTIES = (10.0, 1.0, 0.01)
SOLVERS = (("lbfgs", 1e-4), ("lbfgs", 1e-11), ("newton-cholesky", 1e-11))


def table(levels: int, sizes: tuple[int, ...], n: int, seed: int) -> Dataset:
    """Rows whose inputs depend on the one before, and whose target depends on all."""
    rng = np.random.default_rng(seed)
    columns: list[np.ndarray] = []
    for k, size in enumerate(sizes):
        if not size:
            column = rng.normal(100.0 * k, 3.0**k, n)
            if k:
                column += columns[-1]
            columns.append(column)
            continue
        column = rng.integers(0, size, n)
        if k:
            same = rng.random(n) < 0.3
            column[same] = columns[-1][same] % size
        columns.append(column.astype(np.uint8))
    logs = rng.normal(0, 0.5, levels) + sum(
        rng.normal(0, 0.8, (size, levels))[column]
        if size
        else ((column - column.mean()) / column.std())[:, None] * rng.normal(0, 0.8, levels)
        for size, column in zip(sizes, columns, strict=True)
    )
    y = np.argmax(logs + rng.gumbel(size=(n, levels)), axis=1)
    variables = [
        Variable(f"x{k}", tuple(map(str, range(size))) if size else None)
        for k, size in enumerate(sizes)
    ]
    variables.append(Variable("y", tuple(map(str, range(levels)))))
    return Dataset(tuple(variables), (*columns, y.astype(np.uint8)))


def written(data: Dataset, target: str, times: np.ndarray, path: Path) -> None:
    """Write a table for scikit-learn: codes, then numbers, each in the order of their names."""
    inputs = sorted((v for v in data.variables if v.name != target), key=lambda v: v.name)
    columns = {name: data.columns[data.index(name)] for name in data.names}
    labels = [v for v in inputs if v.levels is not None]
    np.savez(
        path,
        y=columns[target],
        x=np.array([columns[v.name] for v in labels], dtype=int),
        sizes=[len(v.levels) for v in labels],
        numbers=np.array([columns[v.name] for v in inputs if v.levels is None]),
        times=times.astype(float),
    )


def weights_of(net: gml.ConditionalField) -> np.ndarray:
    """Weights as scikit-learn has them: levels × features, or one row of differences."""
    inputs = sorted(net.terms.inputs, key=lambda v: v.is_continuous)
    found = np.hstack([net.tables["y",][:, None], *(net.tables["y", v.name] for v in inputs)])
    return found[1:] - found[:1] if len(found) == 2 else found


def asked(python: str, path: Path, l2: float, solver: str, tolerance: float) -> dict[str, Any]:
    """What scikit-learn says of a table that was written."""
    command = [python, "-c", PEER, str(path), str(l2), solver, str(tolerance)]
    done = subprocess.run(command, check=True, capture_output=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def record(python: str, into: Path) -> None:
    """Write what scikit-learn says of the tables of the golden tests."""
    found: dict[str, Any] = {"weights_of_flats": WEIGHTS}
    for name, (data, target) in golden_tables().items():
        ones = np.ones(data.n_rows) if data.weights is None else data.weights
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.npz"
            written(data, target, ones, path)
            for l2 in (1.0, 0.01):
                peer = asked(python, path, l2, "newton-cholesky", 1e-13)
                del peer["seconds"]
                found[f"{name} {l2:g}"] = peer
    into.write_text(json.dumps(found, indent=1) + "\n")


def golden_tables() -> dict[str, tuple[Dataset, str]]:
    """The tables of the golden tests, and their targets."""
    root = Path(__file__).parents[1]
    sys.path.insert(0, str(root))
    from tests.golden.iris import COLUMNS, iris

    flats = gml.read(root / "sample_data/flats.csv", numeric=["size", "rent", "heating"])
    weighted = replace(flats, weights=np.resize(WEIGHTS, flats.n_rows).astype(np.int64))
    flowers = gml.Dataset.from_frame(iris(), numeric=list(COLUMNS))
    return {"flats": (weighted, "condition"), "iris": (flowers, "Species")}


def main() -> None:
    """Print one JSON object per table, penalty and solver."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=20_000)
    options.add_argument("--python", default=sys.executable)
    options.add_argument("--record", type=Path)
    given = options.parse_args()
    if given.record is not None:
        record(given.python, given.record)
        return
    # What is loaded for the first fit is not timed.
    gml.crf(table(2, (2,), 100, seed=0), target="y")
    worst = 0.0
    for number, (levels, sizes) in enumerate(CASES):
        data = table(levels, sizes, given.rows, seed=number)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.npz"
            written(data, "y", np.ones(data.n_rows), path)
            for l2 in PENALTIES:
                start = time.process_time()
                net = gml.crf(data, target="y", l2=l2)
                seconds = time.process_time() - start
                for solver, tolerance in SOLVERS:
                    peer = asked(given.python, path, l2, solver, tolerance)
                    apart = float(np.abs(weights_of(net) - np.array(peer["weights"])).max())
                    if solver == "newton-cholesky":
                        worst = max(worst, apart)
                    about = {
                        "levels": levels,
                        "inputs": len(sizes),
                        "numeric": sizes.count(0),
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
