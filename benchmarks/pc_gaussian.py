"""PC with Fisher's z on many columns of numbers, against causal-learn on the same file.

    python benchmarks/pc_gaussian.py --peer PYTHON [--columns 200] [--rows 10000] [--degree 2]

PYTHON is an interpreter that has causal-learn. Both read the same NumPy file, use the level 0.01
and PC-stable with one thread; times are CPU seconds of the learning alone, without reading. The
data come from a random DAG with so many neighbours per node on average, coefficients between 0.5
and 1 in size, and unit errors.
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

ALPHA = 0.01


def draw(columns: int, rows: int, degree: float, seed: int) -> np.ndarray:
    """Rows of a random linear Gaussian network, columns in random order."""
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(rows, columns))
    for child in range(columns):
        parents = np.flatnonzero(rng.random(child) < degree / (columns - 1))
        signs = rng.choice([-1.0, 1.0], len(parents))
        data[:, child] += data[:, parents] @ (signs * rng.uniform(0.5, 1.0, len(parents)))
    return np.ascontiguousarray(data[:, rng.permutation(columns)])


def gml_pc(data: np.ndarray) -> tuple[float, list[tuple[int, int]], int]:
    """CPU seconds, the skeleton, and the number of tests."""
    import gml

    names = [f"v{j:04d}" for j in range(data.shape[1])]
    table = gml.Dataset(
        tuple(gml.Variable(name, None) for name in names),
        tuple(np.ascontiguousarray(column) for column in data.T),
    )
    start = time.process_time()
    found = gml.pc(table, test="fisher-z", alpha=ALPHA, colliders="sepset", threads=1)
    seconds = time.process_time() - start
    edges = [found.graph.pair(edge) for edge in found.graph.edges]
    return seconds, edges, sum(found.tests)


def causal_learn_pc(data: np.ndarray) -> tuple[float, list[tuple[int, int]], int]:
    """The same by causal-learn."""
    from causallearn.search.ConstraintBased.PC import pc

    start = time.process_time()
    found = pc(data, ALPHA, "fisherz", stable=True, show_progress=False)
    seconds = time.process_time() - start
    graph = found.G.graph
    pairs = np.argwhere(np.triu((graph != 0) | (graph.T != 0), 1))
    return seconds, [(int(a), int(b)) for a, b in pairs], 0


def main() -> None:
    """Run both, or one of them in its own interpreter."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer", required=True)
    parser.add_argument("--columns", type=int, default=200)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--degree", type=float, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--run", nargs=2, metavar=("TOOL", "FILE"))
    asked = parser.parse_args()
    if asked.run:
        tool, path = asked.run
        learn = gml_pc if tool == "gml" else causal_learn_pc
        seconds, edges, tests = learn(np.load(path))
        print(json.dumps({"seconds": seconds, "edges": edges, "tests": tests}))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npy"
        np.save(path, draw(asked.columns, asked.rows, asked.degree, asked.seed))
        found = {}
        for tool, python in (("gml", sys.executable), ("causal-learn", asked.peer)):
            command = [python, __file__, "--peer", asked.peer, "--run", tool, str(path)]
            environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
            output = subprocess.run(
                command, check=True, capture_output=True, text=True, env=environment
            )
            found[tool] = json.loads(output.stdout.splitlines()[-1])
    ours, theirs = found["gml"], found["causal-learn"]
    skeletons = [{tuple(sorted(edge)) for edge in one["edges"]} for one in (ours, theirs)]
    print(
        f"{asked.columns} columns, {asked.rows} rows, degree {asked.degree:g}: "
        f"gml {ours['seconds']:.3f} s ({ours['tests']} tests), "
        f"causal-learn {theirs['seconds']:.3f} s ({theirs['seconds'] / ours['seconds']:.1f}x), "
        f"skeletons differ in {len(skeletons[0] ^ skeletons[1])} of {len(skeletons[0])} edges"
    )


if __name__ == "__main__":
    main()
