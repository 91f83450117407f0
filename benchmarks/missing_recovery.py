"""What is recovered from incomplete rows: parameters, graphs and cells, on alarm and insurance.

    python benchmarks/missing_recovery.py run [--seeds 20] [--parts parameters,structure,cells]
    python benchmarks/missing_recovery.py run --parts peers --python PYTHON [--seeds 2]
    python benchmarks/missing_recovery.py report      # Markdown, as in the README

Rows are drawn from a network, and 5, 20 or 40 % of all cells blanked (missing_recovery_data.py):
`mcar` whatever they hold, `mar` more often in rows where another column, which is always seen, does
not have its most frequent value. Every run is a line of results/missing_recovery.jsonl, and what is
there is not computed again.

- parameters: KL from the true network to the true graph with tables fitted by EM (one start, at
  most 200 steps), to available cases and to complete cases, all with the prior bdeu of one row, so
  that nothing is infinite; and to all rows as they were before cells were blanked, the bound.
- structure: structural Hamming distance between CPDAGs.
- cells: the share of blanked cells that `gml impute` fills rightly by the graph of
  `ges --missing em`, fitted by EM; the most frequent value of each column beside it.
- peers: pyAgrum's EM (same prior, cut at ten minutes of CPU or --cut), scikit-learn's
  IterativeImputer on codes, and miceforest (one data set, two iterations, values as predicted: its
  mean matching fails where a predicted probability is 1), each in a process of its own with one
  thread. miceforest 6.0.5 needs lightgbm below 4.6.

Seconds are CPU time of one thread.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
import warnings
from pathlib import Path

import numpy as np
from missing_recovery_data import MECHANISMS, NETWORKS, SHARES, blanked, true_network
from missing_recovery_peers import CUT, run_peer
from missing_recovery_report import report

RESULTS = Path(__file__).resolve().parent / "results" / "missing_recovery.jsonl"
ROWS = 2000
STEPS = 200
PARAMETERS = ("complete data", "em", "available cases", "complete cases")
STRUCTURE = (
    "ges, complete data",
    "hc, complete data",
    "ges em",
    "hc em",
    "ges drop",
    "hc drop",
    "pc available",
    "hc pnal",
    "hc nal",
    "pc, complete data",
)
CELLS = ("mode", "gml mpe", "gml marginal")
PEERS = ("pyagrum em", "sklearn iterative", "miceforest")


def parameters(method, network, whole, holed):
    """KL from the truth to tables on the true graph."""
    import gml
    from gml.model.compare import kl_divergence
    from gml.model.em.fitting import EmSettings, fit_em
    from gml.model.fit import fit

    began = time.process_time()
    graph, extra = network.graph, {}
    if method == "em":
        settings = EmSettings(restarts=1, most_steps=STEPS, information=False)
        found = fit_em(graph, holed, method="bayes", settings=settings, threads=1)
        net = found.net
        extra = {"steps": found.report.steps, "converged": found.report.converged}
    else:
        rows = {"complete data": whole, "available cases": holed}.get(method)
        if rows is None:
            rows = holed.rows(complete_rows(holed))
        net = fit(graph, gml.MemoryCounter(rows, threads=1), method="bayes")
    seconds = time.process_time() - began
    return {"kl": kl_divergence(network, net).total, "cpu": seconds, **extra}


def complete_rows(data):
    """Which rows have no gap."""
    from gml.data.dataset import missing_mask

    return ~np.any([missing_mask(column) for column in data.columns], axis=0)


def structure(method, network, whole, holed):
    """SHD of CPDAGs; null where a method refuses the rows."""
    import gml

    learner, _, way = method.partition(" ")
    rows, options = holed, {"missing": way}
    if "complete data" in method:
        learner, rows, options = method.split(",")[0], whole, {}
    elif learner == "hc" and way in ("pnal", "nal"):
        options = {"missing": "available", "score": way}
    began = time.process_time()
    try:
        found = getattr(gml, learner)(rows.to_frame(), threads=1, **options)
    except gml.GmlError as error:
        return {"shd": None, "refused": str(error), "cpu": time.process_time() - began}
    seconds = time.process_time() - began
    compared = gml.compare(network.graph, found.graph, as_="cpdag").to_frame()
    answer = {"shd": int(compared["shd"].iloc[0]), "edges": found.graph.n_edges, "cpu": seconds}
    if way == "em":
        answer["score"] = found.score
        answer["rounds"] = len(found.graph.learning.written()["structural_em"]["rounds"])
        dag = getattr(found, "dag", found.graph)
        answer["dag"] = [[e.source, e.target] for e in dag.edges]
    return answer


def cells(method, network, whole, holed, arcs):
    """The share of blanked cells that are filled rightly."""
    import gml
    from gml.model.em.fitting import EmSettings, fit_em

    began = time.process_time()
    frame = holed.to_frame().astype(object)
    if method == "mode":
        filled = frame.fillna(frame.mode().iloc[0])
    else:
        graph = gml.Graph.from_edges(list(holed.names), [(a, "-->", b) for a, b in arcs])
        settings = EmSettings(restarts=1, most_steps=STEPS, information=False)
        net = fit_em(graph, holed, method="bayes", settings=settings, threads=1).net
        filled = gml.impute(frame, net, method=method.split()[1], threads=1).to_frame()
    return {"right": share_right(whole, holed, filled), "cpu": time.process_time() - began}


def share_right(whole, holed, filled):
    """Cells that are right, of those that were blanked."""
    gaps = holed.to_frame().isna().to_numpy()
    right = whole.to_frame().astype(str).to_numpy() == filled.astype(str).to_numpy()
    return float(right[gaps].mean())


def done():
    """The lines that are there, by what they are about."""
    if not RESULTS.exists():
        return {}
    lines = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    return {
        (x["network"], x["how"], x["share"], x["seed"], x["part"], x["method"]): x for x in lines
    }


def jobs(parts, seeds, mechanisms):
    """What to run, all cells of a seed before the next seed."""
    methods = {"parameters": PARAMETERS, "structure": STRUCTURE, "cells": CELLS, "peers": PEERS}
    for seed, how, part in itertools.product(range(seeds), mechanisms, parts):
        for share, name in itertools.product(SHARES, NETWORKS):
            for method in methods[part]:
                yield part, seed, how, share, name, method


def run(chosen):
    """Run what is not there yet."""
    warnings.simplefilter("ignore")
    RESULTS.parent.mkdir(exist_ok=True)
    for part, seed, how, share, name, method in jobs(
        chosen.parts.split(","), chosen.seeds, chosen.mechanisms.split(",")
    ):
        if chosen.methods and method not in chosen.methods.split(","):
            continue
        found = done()
        key = (name, how, share, seed, part, method)
        if key in found:
            continue
        network = true_network(name)
        whole, holed = blanked(network, ROWS, share, how, seed)
        if part == "parameters":
            answer = parameters(method, network, whole, holed)
        elif part == "structure":
            answer = structure(method, network, whole, holed)
        elif part == "cells":
            learned = found.get((name, how, share, seed, "structure", "ges em"))
            if learned is None and method != "mode":
                continue
            answer = cells(method, network, whole, holed, (learned or {}).get("dag"))
        else:
            answer = run_peer(chosen.python, method, name, whole, holed, chosen.cut)
        about = {"network": name, "how": how, "share": share, "seed": seed, "rows": ROWS}
        about |= {"complete": int(complete_rows(holed).sum()), "part": part, "method": method}
        with RESULTS.open("a") as file:
            file.write(json.dumps({**about, **answer}) + "\n")


def main():
    """Run, or print what was found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=("run", "report"))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--parts", default="parameters,structure,cells")
    parser.add_argument("--mechanisms", default=",".join(MECHANISMS))
    parser.add_argument("--methods", default="", help="only these")
    parser.add_argument("--python", help="a Python with pyagrum, scikit-learn and miceforest")
    parser.add_argument("--cut", type=int, default=CUT, help="CPU seconds of a peer's run")
    chosen = parser.parse_args()
    if chosen.command == "run":
        run(chosen)
    else:
        print(report(list(done().values())))


if __name__ == "__main__":
    main()
