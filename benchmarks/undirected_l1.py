"""Recovery of random Ising graphs by neighbourhood selection: ours against R's glmnet.

Graphs are random with degree 3, couplings of random sign between 0.2 and 0.5, fields between -0.2
and 0.2 (±1); rows come from as many chains of a Gibbs sampler as there are rows, 200 sweeps each.
The peer runs glmnet's path for every column and chooses its penalty by the same extended BIC
(gamma 0.25), as IsingFit does; both then keep the edges that both regressions chose. The whole path
of 100 penalties is run for two seeds per cell. For all of them the peer is given the first half of
that very path, in which all choices lie: it takes minutes per table to walk to where the classes
are nearly separated, and gml ends its own paths earlier, too. A choice at the end of the half path
would be an error, and stops the study.
Times are CPU seconds of one thread for all regressions of a table, reading it not included. Each
table is one line of results/undirected_l1.jsonl, so that a run can go on where it was stopped.

    python benchmarks/undirected_l1.py run [--nodes 30 100 200] [--rows 500 2000 10000] [--seeds 20]
    python benchmarks/undirected_l1.py report

Needs Rscript with glmnet (Debian: r-base-core r-cran-glmnet).
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from check_setup import Results

import gml
from gml.data.dataset import Dataset, Variable
from gml.learners.neighbourhoods import neighbourhood_graph

SWEEPS = 200
DEGREE = 3
HALF, WHOLE = 50, 100
WHOLE_SEEDS = 2

PEER = """
suppressMessages(library(glmnet))
paths <- commandArgs(trailingOnly = TRUE)
steps <- as.integer(paths[3])
x <- as.matrix(read.csv(paths[1], header = FALSE))
n <- nrow(x); p <- ncol(x); chosen <- matrix(0, p, p)
start <- proc.time()
for (j in 1:p) {
  found <- glmnet(x[, -j], x[, j], family = "binomial", nlambda = steps,
                  lambda.min.ratio = 10^(-4 * (steps - 1) / 99))
  odds <- predict(found, x[, -j])
  loss <- colSums(log1p(exp(-abs(odds))) + pmax(odds, 0) - x[, j] * odds)
  k <- colSums(as.matrix(found$beta) != 0)
  value <- 2 * loss + k * log(n) + 2 * 0.25 * k * log(p - 1)
  best <- which.min(value)
  if (steps < 100 && best > steps - 5) stop("the choice may lie beyond the half path")
  chosen[j, -j] <- as.numeric(found$beta[, best] != 0)
}
used <- proc.time() - start
cat(used[["user.self"]] + used[["sys.self"]], "\\n")
write.table(chosen, paths[2], row.names = FALSE, col.names = FALSE)
"""


def random_graph(rng: np.random.Generator, nodes: int) -> np.ndarray:
    """Couplings of a graph in which every node has DEGREE neighbours, but for a few at most."""
    couplings = np.zeros((nodes, nodes))
    pairs = np.array([(i, j) for i in range(nodes) for j in range(i)])
    for i, j in rng.permutation(pairs):
        if max(np.count_nonzero(couplings[i]), np.count_nonzero(couplings[j])) < DEGREE:
            couplings[i, j] = couplings[j, i] = rng.uniform(0.2, 0.5) * rng.choice([-1, 1])
    return couplings


def sampled(rng: np.random.Generator, couplings: np.ndarray, rows: int) -> np.ndarray:
    """Rows of 0 and 1, each the end of a chain of its own."""
    nodes = len(couplings)
    fields = rng.uniform(-0.2, 0.2, nodes)
    states = rng.choice([-1.0, 1.0], (nodes, rows))
    near = [np.flatnonzero(couplings[k]) for k in range(nodes)]
    for _ in range(SWEEPS):
        for k in range(nodes):
            pull = fields[k] + couplings[k, near[k]] @ states[near[k]]
            states[k] = np.where(rng.random(rows) * (1 + np.exp(-2 * pull)) < 1, 1.0, -1.0)
    return ((states.T + 1) / 2).astype(np.uint8)


def ours(table: np.ndarray) -> tuple[np.ndarray, float]:
    nodes = table.shape[1]
    names = [f"v{k:04}" for k in range(nodes)]
    data = Dataset(
        tuple(Variable(name, ("0", "1")) for name in names),
        tuple(np.ascontiguousarray(table[:, k]) for k in range(nodes)),
    )
    start = time.process_time()
    graph = neighbourhood_graph(gml.MemoryCounter(data), threads=1).graph
    return graph.marks > 0, time.process_time() - start


def glmnets(table: np.ndarray, penalties: int) -> tuple[np.ndarray, float]:
    with tempfile.TemporaryDirectory() as folder:
        source, script, answer = (Path(folder) / name for name in ("x.csv", "peer.R", "edges"))
        np.savetxt(source, table, fmt="%d", delimiter=",")
        script.write_text(PEER)
        command = ["Rscript", "--vanilla", script, source, answer, str(penalties)]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        chosen = np.loadtxt(answer) > 0
    return chosen & chosen.T, float(said.split()[-1])


def f1(found: np.ndarray, truth: np.ndarray) -> float:
    return 2 * np.sum(found & truth) / max(1, np.sum(found) + np.sum(truth))


def run(results: Results, nodes: list[int], rows: list[int], seeds: int) -> None:
    for seed, size, length in itertools.product(range(seeds), nodes, rows):
        for penalties in (HALF, WHOLE) if seed < WHOLE_SEEDS else (HALF,):
            setting = f"nodes={size} rows={length} seed={seed} penalties={penalties}"
            if setting in results:
                continue
            rng = np.random.default_rng([seed, size, length])
            truth = random_graph(rng, size)
            table = sampled(rng, truth, length)
            (here, seconds), (there, theirs) = ours(table), glmnets(table, penalties)
            results.add(
                setting,
                nodes=size,
                rows=length,
                penalties=penalties,
                f1=f1(here, truth != 0),
                f1_glmnet=f1(there, truth != 0),
                differing_edges=int(np.sum(here != there)) // 2,
                seconds=seconds,
                seconds_glmnet=theirs,
            )


def report(results: Results) -> None:
    heads = ["nodes", "rows", "seeds", "F1", "F1, glmnet", "same graph"]
    heads += ["CPU seconds", "glmnet's", "ratio", "ratio, whole paths"]
    print("| " + " | ".join(heads) + " |")
    print("|" + "---:|" * len(heads))
    for nodes, rows in sorted({(line["nodes"], line["rows"]) for line in results.lines}):
        lines = [line for line in results.lines if (line["nodes"], line["rows"]) == (nodes, rows)]
        cell = [line for line in lines if line["penalties"] == HALF]
        whole = [line for line in lines if line["penalties"] == WHOLE]
        same = sum(line["differing_edges"] == 0 for line in cell)
        print(
            f"| {nodes} | {rows} | {len(cell)} | {_mean(cell, 'f1'):.4f} "
            f"| {_mean(cell, 'f1_glmnet'):.4f} | {same} | {_mean(cell, 'seconds'):.3f} "
            f"| {_mean(cell, 'seconds_glmnet'):.2f} | {_ratio(cell):.0f}x | {_ratio(whole):.0f}x |"
        )


def _mean(lines: list[dict[str, float]], name: str) -> float:
    return float(np.mean([line[name] for line in lines]))


def _ratio(lines: list[dict[str, float]]) -> float:
    return _mean(lines, "seconds_glmnet") / _mean(lines, "seconds")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("step", choices=["run", "report"])
    parser.add_argument("--nodes", type=int, nargs="+", default=[30, 100, 200])
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 2000, 10000])
    parser.add_argument("--seeds", type=int, default=20)
    chosen = parser.parse_args()
    results = Results("undirected_l1")
    if chosen.step == "run":
        run(results, chosen.nodes, chosen.rows, chosen.seeds)
    report(results)


if __name__ == "__main__":
    main()
