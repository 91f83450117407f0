"""Decomposable graphs by `forward`: how long the search takes, and how good its graphs are.

Each network is sampled and read once; then the search runs on one thread. Seconds are CPU seconds
of the search alone, the smallest of three. The score is given per row beside those of the best
forest by the same score, of hill climbing over DAGs, and of the network's own DAG, all fitted to
the same rows (bic, in nats; higher is better). `largest` is the largest clique.

    python -m benchmarks.undirected_structure [NETWORK:ROWS …]
"""

from __future__ import annotations

import sys
import time

import gml
from benchmarks.data import SHARED, dataset
from gml.graph.chordal import perfect_sequence
from gml.learners.chowliu import chow_liu
from gml.learners.decomposable import forward_decomposable
from gml.learners.hillclimb import hill_climb
from gml.scores.base import total

DEFAULT = ["asia:5000", "alarm:10000", "alarm:100000", "andes:10000", "link:10000"]
COLUMNS = [
    "data", "columns", "seconds", "moves", "local scores", "edges", "largest",
    "bic per row", "forest", "hc", "seconds of hc", "true DAG",
]  # fmt: skip
REPEATS = 3


def timed(learn, repeats=REPEATS):
    """What a function returns, and the smallest CPU time that it took."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        result = learn()
        seconds.append(time.process_time() - start)
    return result, min(seconds)


def row(name: str, rows: int) -> list[str]:
    """One line of the table."""
    counter = gml.MemoryCounter(gml.read(dataset(name, rows)), threads=1)

    def score():
        # A new one each time, as scores remember.
        return gml.SCORES["bic"](gml.MemoryCounter(counter.rows(), threads=1))

    found, seconds = timed(lambda: forward_decomposable(score()))
    climbed, seconds_of_hc = timed(lambda: hill_climb(score()), repeats=1)
    forest = chow_liu(counter, prune="bic").graph
    cliques = perfect_sequence(found.graph).cliques
    path = SHARED / "data" / "networks" / f"{name}.bif"
    truth = f"{total(score(), gml.read_graph(path)) / rows:.4f}" if path.exists() else ""
    return [
        f"{name}, {rows:,} rows", str(len(counter.variables)), f"{seconds:.3f}",
        str(found.steps), str(found.families), str(found.graph.n_edges),
        str(max(map(len, cliques))), f"{found.score / rows:.4f}",
        f"{total(score(), forest) / rows:.4f}", f"{climbed.score / rows:.4f}",
        f"{seconds_of_hc:.3f}", truth,
    ]  # fmt: skip


def main(wanted: list[str]) -> None:
    """Print the table."""
    for line in (COLUMNS, ["---"] * len(COLUMNS)):
        print("| " + " | ".join(line) + " |")
    for name, rows in (one.split(":") for one in wanted):
        print("| " + " | ".join(row(name, int(rows))) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or DEFAULT)
