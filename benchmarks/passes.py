"""Rows in a file against rows in memory: CPU time and peak memory of the same learners.

python benchmarks/passes.py --rows 5000000 --columns 40 --max-memory 64M

Each engine runs in a process of its own, over the same pieces of a table, which are drawn one by
one: a column copies one of the two before it in seven rows of ten. Times are CPU seconds (user and
system, all threads): those of taking the pieces in, and of each learner. Peak memory is that of the
process. The results must be equal to the last bit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np

from gml.counts.counter import Counter
from gml.counts.memory import MemoryCounter
from gml.counts.open_stream import stream_of_pieces
from gml.data.dataset import Dataset, Variable
from gml.independence.registry import TESTS
from gml.learners.chowliu import chow_liu
from gml.learners.hillclimb import hill_climb
from gml.learners.pc import pc
from gml.resources import limited_to, parse_size
from gml.scores.registry import SCORES

PIECE = 250_000


def pieces(rows: int, columns: int) -> Iterator[Dataset]:
    """Draw the table in pieces."""
    variables = tuple(Variable(f"v{j:03d}", tuple("abcd"[: 2 + j % 3])) for j in range(columns))
    for start in range(0, rows, PIECE):
        rng = np.random.default_rng([7, start])
        n = min(PIECE, rows - start)
        cells: list[np.ndarray] = []
        for j, variable in enumerate(variables):
            levels = len(variable.levels or ())
            codes = rng.integers(0, levels, n, dtype=np.uint8)
            if j:
                before = cells[max(0, j - 1 - j % 2)]
                codes = np.where(rng.random(n) < 0.7, before % levels, codes).astype(np.uint8)
            cells.append(codes)
        yield Dataset(variables, tuple(cells))


def engine(kind: str, rows: int, columns: int) -> Counter:
    """Take the pieces in."""
    drawn = pieces(rows, columns)
    if kind == "stream":
        return stream_of_pieces(drawn, threads=1)
    first = next(drawn)
    cells = [np.empty(rows, dtype=np.uint8) for _ in range(columns)]
    at = 0
    for piece in (first, *drawn):
        for column, part in zip(cells, piece.columns, strict=True):
            column[at : at + piece.n_rows] = part
        at += piece.n_rows
    return MemoryCounter(Dataset(first.variables, tuple(cells)), threads=1)


LEARNERS = {
    "chowliu": lambda counter: chow_liu(counter).graph,
    "pc": lambda counter: pc(TESTS["g"](counter), max_cond=2).graph,
    "hc": lambda counter: hill_climb(SCORES["bic"](counter), max_parents=3).graph,
}


def run(kind: str, rows: int, columns: int) -> None:
    """Measure one engine, and print what was found."""
    began = time.process_time()
    for _ in pieces(rows, columns):
        pass
    drawing = time.process_time() - began
    began = time.process_time()
    counter = engine(kind, rows, columns)
    found: dict[str, object] = {"take in": time.process_time() - began - drawing}
    for name, learn in LEARNERS.items():
        began = time.process_time()
        graph = learn(counter)
        found[name] = time.process_time() - began
        found[f"{name} graph"] = hashlib.sha256(np.asarray(graph.marks).tobytes()).hexdigest()
    found["peak MiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(found))


def main() -> None:
    """Run both engines, and show the ratios."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=40)
    parser.add_argument("--max-memory", type=parse_size, default=parse_size("64M"))
    parser.add_argument("--engine", choices=["memory", "stream"])
    asked = parser.parse_args()
    if asked.engine:
        with limited_to(asked.max_memory):
            run(asked.engine, asked.rows, asked.columns)
        return
    found = {}
    for kind in ("memory", "stream"):
        command = [sys.executable, __file__, *sys.argv[1:], "--engine", kind]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found[kind] = json.loads(done.stdout)
    print(f"{asked.rows:,} rows, {asked.columns} columns{'':6}memory  stream   ratio")
    for name in ("take in", *LEARNERS, "peak MiB"):
        mine, theirs = found["stream"][name], found["memory"][name]
        print(f"{name:32}{theirs:10.2f}{mine:8.2f}{mine / theirs:8.2f}")
    same = all(found["stream"][f"{k} graph"] == found["memory"][f"{k} graph"] for k in LEARNERS)
    print("the graphs are", "equal" if same else "DIFFERENT")


if __name__ == "__main__":
    main()
