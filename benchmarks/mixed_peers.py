"""Searches of other packages on tables with numbers: one call in one process, a JSON line each.

    echo '{"tool": "xges", "path": "table.npz", "cut": 600}' | python mixed_peers.py

Run by mixed_structure.py in the environment that has the packages. Packages are imported once, and
each request has a child of its own, which is cut after so many seconds of CPU time. Settings are
those that a user gets, with BIC and a single thread; integer columns hold labels. CPU seconds are
those of the search alone. pgmpy and pybnesian have no arcs from numbers to labels.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Arcs = list[tuple[str, str]]
Search = Callable[[], tuple[Arcs, Arcs]]
Columns = dict[str, Any]


def _frame(columns: Columns) -> Any:
    import pandas as pd

    made = {
        name: pd.Categorical([f"L{code}" for code in column]) if _is_label(column) else column
        for name, column in columns.items()
    }
    return pd.DataFrame(made)


def _is_label(column: Any) -> bool:
    return bool(column.dtype.kind in "iu")


def pybnesian_hc(columns: Columns) -> Search:
    """pybnesian: greedy hill climbing of (conditional) linear Gaussian networks."""
    import pyarrow as pa
    import pybnesian as pb

    names = list(columns)
    arrays = [
        pa.DictionaryArray.from_arrays(
            pa.array(column.astype(np.int8)), [f"L{code}" for code in range(int(column.max()) + 1)]
        )
        if _is_label(column)
        else pa.array(column)
        for column in columns.values()
    ]
    batch = pa.RecordBatch.from_arrays(arrays, names)
    mixed = any(map(_is_label, columns.values()))

    def search() -> tuple[Arcs, Arcs]:
        types = [
            (name, pb.DiscreteFactorType() if _is_label(column) else pb.LinearGaussianCPDType())
            for name, column in columns.items()
        ]
        start = pb.CLGNetwork(names, types) if mixed else pb.GaussianNetwork(names)
        found = pb.GreedyHillClimbing().estimate(pb.ArcOperatorSet(), pb.BIC(batch), start)
        return list(found.arcs()), []

    return search


def _pgmpy_score(columns: Columns, frame: Any) -> Any:
    from pgmpy.structure_score import BICCondGauss, BICGauss

    mixed = any(map(_is_label, columns.values()))
    return BICCondGauss(frame) if mixed else BICGauss(frame)


def pgmpy_hc(columns: Columns) -> Search:
    """pgmpy: hill climbing, which has a tabu list of 100 moves."""
    import logging

    from pgmpy.causal_discovery import HillClimbSearch

    logging.disable(logging.WARNING)
    frame = _frame(columns)

    def search() -> tuple[Arcs, Arcs]:
        climber = HillClimbSearch(
            _pgmpy_score(columns, frame), return_type="dag", show_progress=False
        )
        return [(str(a), str(b)) for a, b in climber.fit(frame).causal_graph_.edges()], []

    return search


def pgmpy_ges(columns: Columns) -> Search:
    """pgmpy: greedy equivalence search."""
    import logging

    from pgmpy.causal_discovery import GES

    logging.disable(logging.WARNING)
    frame = _frame(columns)

    def search() -> tuple[Arcs, Arcs]:
        found = GES(_pgmpy_score(columns, frame)).fit(frame).causal_graph_
        arcs = [(str(a), str(b)) for a, b in found.directed_edges]
        return arcs, [(str(a), str(b)) for a, b in found.undirected_edges]

    return search


def _matrix(columns: Columns) -> Any:
    return np.column_stack([np.asarray(column, dtype=float) for column in columns.values()])


def _ends(names: list[str], ends: Any) -> tuple[Arcs, Arcs]:
    """causal-learn: 1 at the end of an arrow, −1 at a tail."""
    arcs, lines = [], []
    for i, j in zip(*np.nonzero(ends), strict=True):
        if ends[i, j] == -1 and ends[j, i] == 1:
            arcs.append((names[i], names[j]))
        elif ends[i, j] == ends[j, i] and i < j:
            lines.append((names[i], names[j]))
    return arcs, lines


def causallearn_ges(columns: Columns) -> Search:
    """causal-learn: greedy equivalence search by the Gaussian BIC."""
    from causallearn.search.ScoreBased.GES import ges

    names, matrix = list(columns), _matrix(columns)
    return lambda: _ends(names, ges(matrix, "local_score_BIC")["G"].graph)


def causallearn_pc(columns: Columns) -> Search:
    """causal-learn: PC by Fisher's z at 0.01."""
    from causallearn.search.ConstraintBased.PC import pc

    names, matrix = list(columns), _matrix(columns)
    return lambda: _ends(names, pc(matrix, 0.01, "fisherz", show_progress=False).G.graph)


def xges_search(columns: Columns) -> Search:
    """xges: extremely greedy equivalence search by the Gaussian BIC, with its penalty of 2."""
    import xges

    names, matrix = list(columns), _matrix(columns)

    def search() -> tuple[Arcs, Arcs]:
        found = xges.XGES()
        found.fit(matrix)
        graph = found.get_pdag()
        nodes = range(len(names))
        arcs = [(names[i], names[j]) for i in nodes for j in graph.get_children(i)]
        lines = [(names[i], names[j]) for i in nodes for j in graph.get_neighbors(i) if i < j]
        return arcs, lines

    return search


TOOLS: dict[str, Callable[[Columns], Search]] = {
    "pybnesian hc": pybnesian_hc,
    "pgmpy hc": pgmpy_hc,
    "pgmpy ges": pgmpy_ges,
    "causallearn ges": causallearn_ges,
    "causallearn pc": causallearn_pc,
    "xges": xges_search,
}
PACKAGES = {
    "pybnesian": ("pyarrow", "pybnesian"),
    "pgmpy": ("pandas", "pgmpy.structure_score", "pgmpy.causal_discovery"),
    "causallearn": (
        "causallearn.search.ScoreBased.GES",
        "causallearn.search.ConstraintBased.PC",
    ),
    "xges": ("xges",),
}
FOR_NUMBERS = ("causallearn ges", "causallearn pc", "xges")


def search(tool: str, path: str) -> dict[str, Any]:
    """Read a table and search."""
    with np.load(path) as stored:
        columns = {name: stored[name] for name in stored["names of columns"].tolist()}
    run = TOOLS[tool](columns)
    before = time.process_time()
    arcs, lines = run()
    return {"arcs": arcs, "lines": lines, "seconds": time.process_time() - before}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Search in a child, whose CPU time is limited."""
    with tempfile.TemporaryFile("w+") as file:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                resource.setrlimit(resource.RLIMIT_CPU, (request["cut"], request["cut"] + 10))
                json.dump(search(request["tool"], request["path"]), file)
                file.flush()
                code = 0
            except Exception as error:
                json.dump({"error": f"{type(error).__name__}: {error}"[:200]}, file)
                file.flush()
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            cut = os.WTERMSIG(status) == signal.SIGXCPU
            return {"error": "over" if cut else f"signal {os.WTERMSIG(status)}"}
        file.seek(0)
        return dict(json.load(file))


def main() -> None:
    """Answer requests, one per line."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # packages print what they like
    imported: set[str] = set()
    for line in sys.stdin:
        request = json.loads(line)
        for package in PACKAGES[request["tool"].split()[0]]:
            if package not in imported:
                importlib.import_module(package)
                imported.add(package)
        print(json.dumps(answer(request)), file=answers, flush=True)


if __name__ == "__main__":
    main()
