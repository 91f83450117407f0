"""Score-based searches of tables with numbers beside labels, against pgmpy and pybnesian.

    python benchmarks/mixed_search.py --peer PYTHON [--columns 20] [--rows 2000] [--seeds 3]
                                      [--tools gml-hc-dg,pybnesian] [--seconds 600]

PYTHON is an interpreter that has pgmpy, pybnesian and pandas. All read the same CSV file; half of
its columns are labels of two to four levels. The data come from a random DAG in which labels come
before numbers: tables of labels, and for each number linear regressions that differ by the first
label among its parents. Times are CPU seconds of the search alone, with one thread; what the others
run is hill climbing by the BIC of conditional Gaussian networks. Skeletons are compared with the
true one: `wrong` counts pairs that are adjacent in one and not in the other. A search that takes
longer than --seconds is cut off and marked.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

TOOLS = ("gml-hc-dg", "gml-ges-dg", "gml-hc-cg", "gml-ges-cg", "pybnesian", "pgmpy")
DEGREE = 2.0


def draw(columns: int, rows: int, seed: int) -> tuple[dict[str, np.ndarray], list[list[str]]]:
    """Columns by name, shuffled, and the edges of the DAG behind them."""
    rng = np.random.default_rng(seed)
    n_labels = columns // 2
    values: list[np.ndarray] = []
    edges = []
    for child in range(columns):
        parents = np.flatnonzero(rng.random(child) < DEGREE / (columns - 1))[-4:].tolist()
        edges += [[f"v{parent:03d}", f"v{child:03d}"] for parent in parents]
        if child < n_labels:
            levels = int(rng.integers(2, 5))
            pull = np.zeros((rows, levels))
            for parent in parents:
                pull += rng.normal(scale=1.2, size=(4, levels))[values[parent]]
            noise = rng.gumbel(size=(rows, levels))
            values.append((pull + noise).argmax(axis=1))
            continue
        labels = [parent for parent in parents if parent < n_labels]
        group = values[labels[0]] if labels else np.zeros(rows, dtype=int)
        level = rng.normal(scale=1.5, size=4)[group]
        for parent in labels[1:]:
            level = level + rng.normal(scale=1.5, size=4)[values[parent]]
        for parent in parents[len(labels) :]:
            level = level + (rng.uniform(0.5, 1.0, 4) * rng.choice([-1, 1]))[group] * values[parent]
        values.append(level + rng.uniform(0.5, 1.5, 4)[group] * rng.normal(size=rows))
    order = rng.permutation(columns)
    return {f"v{j:03d}": values[j] for j in order.tolist()}, edges


def is_label(name: str, columns: int) -> bool:
    """Whether a column has labels."""
    return int(name[1:]) < columns // 2


def gml_search(path: str, columns: int, how: str) -> tuple[float, list[list[str]]]:
    """CPU seconds and the edges, by gml."""
    import gml

    _, learner, score = how.split("-")
    header = Path(path).read_text().partition("\n")[0].split(",")
    data = gml.read(path, numeric=[name for name in header if not is_label(name, columns)])
    counter = gml.MemoryCounter(data, threads=1)
    # Modules are loaded when they are first used; those of the others are when they are imported.
    pair = gml.MemoryCounter(data.select(data.names[:2]), threads=1)
    getattr(gml, learner)(pair, score=f"bic-{score}", threads=1)
    start = time.process_time()
    found = getattr(gml, learner)(counter, score=f"bic-{score}", threads=1).graph
    seconds = time.process_time() - start
    return seconds, [[e.source, e.target] for e in found.edges]


def _frame(path: str, columns: int) -> Any:
    import pandas as pd

    frame = pd.read_csv(path)
    for name in frame:
        if is_label(name, columns):
            frame[name] = frame[name].astype(str).astype("category")
    return frame


def pybnesian_search(path: str, columns: int) -> tuple[float, list[list[str]]]:
    """The same by pybnesian."""
    import pybnesian as pb

    frame = _frame(path, columns)
    start = time.process_time()
    found = pb.hc(frame, bn_type=pb.CLGNetworkType(), score="bic", operators=["arcs"])
    return time.process_time() - start, [list(arc) for arc in found.arcs()]


def pgmpy_search(path: str, columns: int) -> tuple[float, list[list[str]]]:
    """The same by pgmpy."""
    warnings.simplefilter("ignore")
    from pgmpy.estimators import HillClimbSearch

    frame = _frame(path, columns)
    start = time.process_time()
    found = HillClimbSearch(frame).estimate(scoring_method="bic-cg", show_progress=False)
    return time.process_time() - start, [list(edge) for edge in found.edges()]


def run_one(tool: str, path: str, columns: int) -> None:
    """Print the result of one search as JSON."""
    if tool.startswith("gml"):
        seconds, edges = gml_search(path, columns, tool)
    else:
        seconds, edges = (pybnesian_search if tool == "pybnesian" else pgmpy_search)(path, columns)
    print(json.dumps({"seconds": seconds, "edges": edges}))


def searched(tool: str, python: str, path: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """The result of one search in its own process; None for one that was cut off or failed."""
    command = [python, __file__, "--columns", str(asked.columns), "--run", tool, str(path)]
    environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=asked.seconds
        )
    except subprocess.TimeoutExpired:
        return {"seconds": None, "why": f"cut off at {asked.seconds} s"}
    if done.returncode:
        return {"seconds": None, "why": done.stderr.strip().splitlines()[-1][:100]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Run all tools in turns, and print a row for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peer")
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--run", nargs=2, metavar=("TOOL", "FILE"))
    asked = parser.parse_args()
    if asked.run:
        run_one(*asked.run, asked.columns)
        return
    tools = asked.tools.split(",")
    found: dict[str, list[tuple[float | None, int | None]]] = {tool: [] for tool in tools}
    why: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(asked.seeds):
            table, edges = draw(asked.columns, asked.rows, seed)
            path = Path(folder) / f"{seed}.csv"
            lines = [
                ",".join(table),
                *(",".join(map(str, row)) for row in zip(*table.values(), strict=True)),
            ]
            path.write_text("\n".join(lines) + "\n")
            truth = {frozenset(edge) for edge in edges}
            for tool in tools:
                python = sys.executable if tool.startswith("gml") else asked.peer
                result = searched(tool, python, path, asked)
                wrong = None
                if result["seconds"] is None:
                    why[tool] = result["why"]
                else:
                    wrong = len(truth ^ {frozenset(edge) for edge in result["edges"]})
                found[tool].append((result["seconds"], wrong))
    first = statistics.mean(seconds for seconds, _ in found[tools[0]] if seconds is not None)
    print(f"{asked.columns} columns, {asked.rows} rows, {asked.seeds} seeds")
    for tool, results in found.items():
        done = [(seconds, wrong) for seconds, wrong in results if seconds is not None]
        if not done:
            print(f"  {tool:11s} {why[tool]}")
            continue
        mean = statistics.mean(seconds for seconds, _ in done)
        wrong = statistics.mean(wrong for _, wrong in done if wrong is not None)
        failed = f"  ({len(results) - len(done)} x {why[tool]})" if tool in why else ""
        print(f"  {tool:11s} {mean:9.4f} s  {mean / first:8.1f}x  wrong {wrong:5.1f}{failed}")


if __name__ == "__main__":
    main()
