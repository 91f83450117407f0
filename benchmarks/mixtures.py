"""Latent classes beside StepMix, and Gaussian mixtures beside scikit-learn's.

    python benchmarks/mixtures.py --python PYTHON_WITH_STEPMIX_AND_SKLEARN

Every figure is the CPU time of one thread, the packages taking turns on the same rows in one run.
Latent classes are fitted from ten starts each; StepMix stops where the average log-likelihood
gains less than 1e-10 in a step, gml where Aitken's extrapolation leaves 1e-9 to gain in all, and no
parameter to move by 1e-9. Gaussian mixtures take as many steps of EM from the same start; what gml
needs to put the rows in order is in its time, the loading of code in that of neither: both have
fitted 200 rows before they are timed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

TABLES = (
    (1_000, 8, 3, 3),
    (1_000, 8, 3, 5),
    (10_000, 12, 4, 3),
    (10_000, 12, 4, 5),
    (100_000, 12, 4, 4),
)
GAUSSIANS = ((100_000, 10, 5, 20), (1_000_000, 10, 5, 10))
STARTS = 10
COVARIANCES = (("VVV", "full"), ("EEE", "tied"), ("VVI", "diag"), ("VII", "spherical"))

PEER = """
import json, sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
what, path, n_classes, number, kind = sys.argv[1:]
given = np.load(path)
n_classes, number = int(n_classes), int(number)
if what == "table":
    from stepmix.stepmix import StepMix
    model = StepMix(n_components=n_classes, measurement="categorical", n_init=number,
                    max_iter=100000, abs_tol=1e-10, rel_tol=0.0, random_state=0, progress_bar=0)
    StepMix(n_components=n_classes, measurement="categorical", n_init=1, max_iter=5,
            random_state=0, progress_bar=0).fit(given[:200])
    began = time.process_time()
    model.fit(given)
    seconds = time.process_time() - began
    found = float(model.score(given) * len(given))
else:
    from sklearn.mixture import GaussianMixture
    start = {"full": np.tile(np.eye(10), (n_classes, 1, 1)), "tied": np.eye(10),
             "diag": np.ones((n_classes, 10)), "spherical": np.ones(n_classes)}[kind]
    model = GaussianMixture(n_classes, covariance_type=kind, tol=0.0, max_iter=number,
                            reg_covar=0.0, weights_init=np.full(n_classes, 1 / n_classes),
                            means_init=given[:n_classes], precisions_init=start,
                            init_params="random_from_data", random_state=0)
    began = time.process_time()
    model.fit(given)
    seconds = time.process_time() - began
    found = float(model.score(given) * len(given))
print(json.dumps({"seconds": seconds, "found": found}))
"""
OWN = """
import json, sys, time, warnings
import numpy as np
from gml import kernel
from gml.data.dataset import Dataset, Variable
from gml.model.mixtures.covariances import MODELS
from gml.model.mixtures.fitting import MixtureData, MixtureSettings, fit_mixture
from gml.model.mixtures.parameters import MixtureParameters
from gml.model.mixtures.problem import MixtureProblem
from gml.model.mixtures.rows import mixture_rows
what, path, n_classes, number, kind = sys.argv[1:]
given = np.load(path)
kernel.active()
n_classes, number = int(n_classes), int(number)
names = [f"x{j:02}" for j in range(given.shape[1])]
if what == "table":
    levels = tuple(map(str, range(int(given.max()) + 1)))
    table = Dataset(tuple(Variable(name, levels) for name in names),
                    tuple(column.astype(np.uint8) for column in given.T))
    some = MixtureData(mixture_rows(table.rows(np.arange(table.n_rows) < 200)))
    fit_mixture(some, n_classes, MODELS["VVV"], MixtureSettings(restarts=1, most_steps=5))
    began = time.process_time()
    data = MixtureData(mixture_rows(table))
    fit = fit_mixture(data, n_classes, MODELS["VVV"], MixtureSettings(restarts=number))
    seconds, found = time.process_time() - began, fit.log_likelihood
else:
    table = Dataset(tuple(Variable(name, None) for name in names),
                    tuple(np.ascontiguousarray(column) for column in given.T))
    began = time.process_time()
    rows = mixture_rows(table)
    model = MODELS[kind]
    rows = rows.in_common_units() if model.form == "sphere" else rows
    problem = MixtureProblem(rows, n_classes, model, reference=None)
    size = len(names)
    variances = 1 / rows.scale**2
    entries = 1 if model.is_shared else n_classes
    start = {"full": np.tile(np.diag(variances), (entries, 1, 1)),
             "diagonal": np.tile(variances, (entries, 1)),
             "sphere": np.full(entries, variances.mean())}[model.form]
    at = MixtureParameters(np.full(n_classes, 1 / n_classes), np.empty((0, n_classes)),
                           (given[:n_classes] - rows.centre) / rows.scale, start).vector()
    for _ in range(number):
        at = problem.step(at).parameters
    seconds = time.process_time() - began
    found = problem.plain(problem.space.of(at)).objective
print(json.dumps({"seconds": seconds, "found": found}))
"""


def labels(rows: int, columns: int, levels: int, n_classes: int) -> np.ndarray:
    """Rows of latent classes, drawn with one seed."""
    rng = np.random.default_rng(1)
    of_row = rng.integers(n_classes, size=rows)
    tables = rng.dirichlet(np.full(levels, 0.6), (columns, n_classes))
    drawn = rng.random((rows, columns))
    ends = np.cumsum(tables, axis=2)
    return np.column_stack(
        [(drawn[:, j, None] > ends[j][of_row][:, :-1]).sum(axis=1) for j in range(columns)]
    ).astype(np.int64)


def numbers(rows: int, columns: int, n_classes: int) -> np.ndarray:
    """Rows of a Gaussian mixture, drawn with one seed."""
    rng = np.random.default_rng(2)
    means = 2 * rng.normal(size=(n_classes, columns))
    turns = rng.normal(size=(n_classes, columns, columns)) / np.sqrt(columns)
    of_row = rng.integers(n_classes, size=rows)
    found = np.empty((rows, columns))
    for k in range(n_classes):
        own = of_row == k
        found[own] = means[k] + rng.normal(size=(int(own.sum()), columns)) @ turns[k]
    return found


def run(python: str, code: str, *arguments: str) -> dict[str, float]:
    """Run a script in a process with one thread."""
    one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(
        [python, "-c", code, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **one},
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(peer: str, what: str, path: Path, n_classes: int, number: int, kinds: tuple) -> str:
    """Let both take turns; the cells of a line of the table."""
    own, other = [], []
    for _ in range(2):
        arguments = (what, str(path), str(n_classes), str(number))
        own.append(run(sys.executable, OWN, *arguments, kinds[0]))
        other.append(run(peer, PEER, *arguments, kinds[1]))
    mine = min(one["seconds"] for one in own)
    theirs = min(one["seconds"] for one in other)
    return (
        f"{mine:.3g} | {theirs:.3g} | {theirs / mine:.1f} | {own[0]['found']:.4f} | "
        f"{other[0]['found']:.4f} |"
    )


def main() -> None:
    """Print the tables of benchmarks/README.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable)
    peer = parser.parse_args().python
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "given.npy"
        print(
            "| rows | columns | levels | classes | gml | StepMix | times | ll of gml | of StepMix |"
        )
        print("|---|---|---|---|---|---|---|---|---|")
        for rows, columns, levels, n_classes in TABLES:
            np.save(path, labels(rows, columns, levels, n_classes))
            cells = compare(peer, "table", path, n_classes, STARTS, ("", ""))
            print(f"| {rows} | {columns} | {levels} | {n_classes} | {cells}", flush=True)
        print(
            "\n| rows | steps | model | gml | scikit-learn | times | ll of gml | of scikit-learn |"
        )
        print("|---|---|---|---|---|---|---|---|")
        for rows, columns, n_classes, steps in GAUSSIANS:
            np.save(path, numbers(rows, columns, n_classes))
            for kinds in COVARIANCES:
                cells = compare(peer, "numbers", path, n_classes, steps, kinds)
                print(f"| {rows} | {steps} | {kinds[0]} | {cells}", flush=True)


if __name__ == "__main__":
    main()
