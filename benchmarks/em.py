"""EM on tables with missing values, beside pyAgrum's.

    python benchmarks/em.py --python PYTHON_WITH_PYAGRUM [--rows 1000,10000]

Rows are drawn from the network of sample_data/asia, a fifth of the cells is blanked at random, and
both packages fit the true graph to the same file, one after the other in one run. Figures are CPU
seconds of all threads, without reading the file. pyAgrum's EM runs once and stops when the
likelihood changes by less than 1e-8; gml's runs from 20 starts, stops as docs/missing.md says, and
looks at the information that is missing, too. Last comes alarm's size: 37 columns, a tenth missing.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import gml
from gml.data.dataset import missing_code
from gml.model.em.fitting import EmSettings, fit_em

CUT = 600

PEER = """
import json, sys, time
import pyagrum as gum
path, arcs, names = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
learner = gum.BNLearner(path, ["?"])
dag = gum.DAG()
for name in names:
    dag.addNodeWithId(learner.idFromName(name))
for a, b in arcs:
    dag.addArc(learner.idFromName(a), learner.idFromName(b))
learner.useEM(1e-8)
began = time.process_time()
bn = learner.learnParameters(dag)
print(json.dumps({"seconds": time.process_time() - began,
                  "tables": {name: bn.cpt(name).toarray().reshape(-1).tolist() for name in names}}))
"""


def with_holes(data, share, seed=0):
    """Blank cells at random."""
    rng = np.random.default_rng(seed)
    columns = []
    for column in data.columns:
        holed = column.copy()
        holed[rng.random(len(column)) < share] = missing_code(column)
        columns.append(holed)
    return replace(data, columns=tuple(columns))


def write(data, path):
    """Write the labels, with ? where a cell is missing."""
    frame = data.to_frame().astype(object)
    frame.where(frame.notna(), "?").to_csv(path, index=False)


def own(graph, data, restarts):
    """CPU seconds and the report of a fit."""
    began = time.process_time()
    found = fit_em(graph, data, settings=EmSettings(restarts=restarts))
    return time.process_time() - began, found


def peer(python, graph, data, cut):
    """CPU seconds of pyAgrum's EM, and whether it ended; None if it failed."""
    arcs = [
        (graph.names[i], graph.names[j])
        for j, parents in enumerate(graph.parent_sets())
        for i in parents
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        write(data, path)
        command = [python, "-c", PEER, str(path), json.dumps(arcs), json.dumps(graph.names)]
        before = _of_children()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=cut, check=False)
        except subprocess.TimeoutExpired:
            return _of_children() - before, False
    if done.returncode:
        sys.stderr.write(done.stderr)
        return None
    return json.loads(done.stdout)["seconds"], True


def _of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def alarm_like(n):
    """A network of the size of alarm: 37 nodes of 2 to 4 levels, 46 edges; and rows of it."""
    rng = np.random.default_rng(1)
    names = [f"n{k:02d}" for k in range(37)]
    edges = set()
    while len(edges) < 46:
        a, b = sorted(rng.integers(0, 37, 2).tolist())
        if 0 < b - a < 12 and sum(to == b for _, to in edges) < 4:
            edges.add((a, b))
    graph = gml.Graph.from_edges(names, [(names[a], "-->", names[b]) for a, b in sorted(edges)])
    sizes = rng.integers(2, 5, 37)
    cpts = []
    variables = [
        gml.Variable(name, tuple(str(k) for k in range(size)))
        for name, size in zip(names, sizes, strict=True)
    ]
    for j, parents in enumerate(graph.parent_sets()):
        rows = int(np.prod([sizes[i] for i in parents], dtype=int))
        table = rng.dirichlet(np.full(sizes[j], 0.4), rows)
        cpts.append(gml.CPT(variables[j], tuple(variables[i] for i in parents), table))
    return graph, gml.BayesNet(tuple(cpts)).sample(n, seed=1)


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", default=None)
    parser.add_argument("--rows", default="1000,10000")
    parser.add_argument("--cut", type=float, default=CUT, help="seconds after which pyAgrum is cut")
    chosen = parser.parse_args()
    graph = gml.read_graph("sample_data/asia.dot")
    net = gml.fit(gml.read("sample_data/asia.csv"), graph)
    print("| rows | gml, 20 starts | gml, one start | pyAgrum | times |\n|---|---|---|---|---|")
    for n in map(int, chosen.rows.split(",")):
        data = with_holes(net.sample(n, seed=1), 0.2)
        many, _ = own(graph, data, 20)
        once, _ = own(graph, data, 1)
        other = chosen.python and peer(chosen.python, graph, data, chosen.cut)
        shown = "failed |"
        if other:
            over = "" if other[1] else "over "
            shown = f"{over}{other[0]:.1f} | {over}{other[0] / once:.0f}"
        print(f"| {n} | {many:.3f} | {once:.3f} | {shown} |", flush=True)
    print("\n| rows of 37 columns | starts | CPU s | wall s | steps | times best |")
    print("|---|---|---|---|---|---|")
    for n, restarts in ((100_000, 1), (100_000, 20)):
        graph, data = alarm_like(n)
        began = time.monotonic()
        seconds, found = own(graph, with_holes(data, 0.1), restarts)
        wall = time.monotonic() - began
        report = found.report
        print(
            f"| {n} | {restarts} | {seconds:.2f} | {wall:.2f} | {report.steps} | "
            f"{report.times_best} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
