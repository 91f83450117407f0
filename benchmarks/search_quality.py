"""How good the graphs are that score-based searches find: gml and the peers, on the same data.

    python benchmarks/search_quality.py run --tools gml        # or peers, or names with commas
    python benchmarks/search_quality.py run --score bdeu --networks asia,alarm --rows 1000,5000
    python benchmarks/search_quality.py report

One sample of each network and size (BIF files and the sampler of the shared folder beside the
checkout). What varies is the names: they are permuted at random and the columns put in their order,
so that searches that break ties by name and those that do so by position both see another order; a
search that does not depend on either gives the same graph each time. Every graph is scored by gml
and compared as a CPDAG with that of the true network; a graph with undirected edges is compared as
it is and scored by a DAG of it. A peer has a limit of CPU time; a search that is over it is not
tried on more rows of the network. Slow searches get fewer renamings. Results go to
benchmarks/data/search_quality.jsonl, one line each, and are not computed twice. Peers run in
benchmarks/.venv (see run.py), each call a process.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
import zlib
from collections import defaultdict
from pathlib import Path

import numpy as np
from run import ENVIRONMENT, install_peers
from search_peers import TOOLS
from structure import PEER_PYTHON, SHARED, as_dataset, marks_of, measures, write_csv

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "data" / "search_quality.jsonl"
NETWORKS = ("asia", "insurance", "alarm", "hailfinder", "andes")
ROWS = (1000, 5000, 50000)
SCORES = ("bic", "bdeu")
# label: module, learner, its options
OWN = {
    "gml hc": ("hillclimb", "hill_climb", {}),
    "gml hc tabu": ("hillclimb", "hill_climb", {"tabu": 15}),
    "gml hc restarts": ("hillclimb", "hill_climb", {"tabu": 15, "restarts": 50}),
    "gml ges": ("ges", "ges", {}),
    "gml ges restarts": ("ges", "ges", {"restarts": 50}),
    "gml ges two-phase": ("ges", "ges", {"phases": ("forward", "backward")}),
}
PEERS = tuple(TOOLS)
# causal-learn has no BIC of labels.
ONLY = {"causallearn ges": "bdeu"}
RENAMINGS = 10
SECONDS = 200
# What all renamings of one search on one sample may take, after the first two.
BUDGET = 100


# ---------------------------------------------------------------------- data


@functools.lru_cache(maxsize=1)
def sampled(network, rows):
    """Columns by name, and the true arcs."""
    sys.path.insert(0, str(SHARED / "tools"))
    from gen_data import read_bif, sample

    states, parents, tables = read_bif(SHARED / "data" / "networks" / f"{network}.bif")
    seed = zlib.crc32(f"{network}:{rows}".encode())
    columns = sample(states, parents, tables, rows, seed)
    return {name: columns[name] for name in states}, [(a, b) for b in states for a in parents[b]]


def renamed(network, rows, renaming):
    """The sample with its names permuted, columns in name order, and the true arcs."""
    columns, arcs = sampled(network, rows)
    rng = np.random.default_rng([zlib.crc32(network.encode()), renaming])
    new = dict(zip(columns, rng.permutation(sorted(columns)).tolist(), strict=True))
    old = {name: before for before, name in new.items()}
    return {name: columns[old[name]] for name in sorted(old)}, [(new[a], new[b]) for a, b in arcs]


# ---------------------------------------------------------------------- runs


def run_gml(tool, score, dataset):
    import gml

    module, learner, options = OWN[tool]
    search = getattr(importlib.import_module(f"gml.learners.{module}"), learner)
    start = time.process_time()
    rule = gml.SCORES[score](gml.MemoryCounter(dataset, threads=1))
    result = search(rule, **options, deadline=gml.Deadline(SECONDS))
    if not result.complete:
        return None, "over"
    return (result.graph.names, result.graph.marks), time.process_time() - start


def limit_time():
    os.nice(10)
    # At the hard limit a process would be killed like by anyone else.
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 10))


def run_peer(tool, score, path, names):
    command = [PEER_PYTHON, HERE / "search_peers.py", tool, score, path]
    done = subprocess.run(command, capture_output=True, preexec_fn=limit_time, env=ENVIRONMENT)
    if done.returncode == -signal.SIGXCPU:
        return None, "over"
    if done.returncode:
        return None, f"exit {done.returncode}: {done.stderr.decode()[-200:]}"
    answer = json.loads(done.stdout.splitlines()[-1])
    return (names, marks_of(names, answer["arcs"], answer["lines"])), answer["seconds"]


def measured(names, marks, arcs, dataset):
    """Score gaps to the true DAG, and the measures of structure."""
    import gml
    from gml.graph.extension import extend
    from gml.graph.orientation import maximally_oriented, unshielded_triples

    order = [names.index(name) for name in dataset.names]
    marks = marks[np.ix_(order, order)]
    heads = (marks == 2) & (marks.T != 2)
    weights = {
        (x, k, y): 1.0 if heads[x, k] and heads[y, k] else -1.0
        for x, k, y in unshielded_triples(marks > 0)
    }
    lines = (marks == 1) & (marks.T == 1)
    dag = extend(marks > 0, weights, np.zeros_like(lines)) if lines.any() else heads
    if not lines.any():
        marks = np.where(maximally_oriented(dag), 2, np.where(marks > 0, 1, 0)).astype(np.uint8)
    counter = gml.MemoryCounter(dataset, threads=1)
    found = gml.Graph.from_edges(
        dataset.names,
        [
            (dataset.names[i], "-->", dataset.names[j])
            for i, j in zip(*np.nonzero(dag), strict=True)
        ],
    )
    truth = gml.Graph.from_edges(dataset.names, [(a, "-->", b) for a, b in arcs])
    gaps = {}
    for score in SCORES:
        rule = gml.SCORES[score](counter)
        gaps[f"{score}_gap"] = gml.total(rule, found) - gml.total(rule, truth)
    return {**gaps, **measures(dataset.names, marks, arcs)}


def options_of(tool):
    """The options of our own searches, as they come back from a file."""
    return json.loads(json.dumps(OWN[tool][2])) if tool in OWN else {}


def load():
    """The results, one a run; those of other options than now do not count."""
    found = {}
    for text in RESULTS.read_text().splitlines() if RESULTS.exists() else []:
        r = json.loads(text)
        if r.get("options", {}) == options_of(r["tool"]):
            found[r["tool"], r["score"], r["network"], r["rows"], r["renaming"]] = r
    return list(found.values())


def chosen_tools(text):
    """Tools from `gml`, `peers` or names with commas."""
    groups = {"gml": tuple(OWN), "peers": PEERS}
    return [tool for name in text.split(",") for tool in groups.get(name, (name,))]


def run(options):
    RESULTS.parent.mkdir(exist_ok=True)
    tools = [t for t in chosen_tools(options.tools) if ONLY.get(t, options.score) == options.score]
    if not set(tools) <= set(OWN):
        install_peers()
    done, spent, over = set(), defaultdict(float), set()
    for r in load():
        if r["score"] == options.score:
            done.add((r["tool"], r["network"], r["rows"], r["renaming"]))
            spent[r["tool"], r["network"], r["rows"]] += r.get("seconds", 0)
            if "error" in r:
                over.add((r["tool"], r["network"], r["rows"]))
    path = RESULTS.parent / f"search_quality.{os.getpid()}.csv"
    for rows in map(int, options.rows.split(",")):
        for network in options.networks.split(","):
            for renaming in range(options.renamings):
                left = [
                    tool
                    for tool in tools
                    if (tool, network, rows, renaming) not in done
                    and not hopeless(tool, network, rows, over)
                    and not (renaming >= 2 and spent[tool, network, rows] >= BUDGET)
                ]
                if not left:
                    continue
                columns, arcs = renamed(network, rows, renaming)
                dataset = as_dataset(columns)
                write_csv(columns, path)
                for tool in left:
                    if tool in OWN:
                        graph, seconds = run_gml(tool, options.score, dataset)
                    else:
                        graph, seconds = run_peer(tool, options.score, path, list(columns))
                    line = {"tool": tool, "score": options.score, "network": network}
                    line |= {"rows": rows, "renaming": renaming, "options": options_of(tool)}
                    if graph is None:
                        line["error"] = seconds
                        over.add((tool, network, rows))
                    else:
                        line |= measured(*graph, arcs, dataset) | {"seconds": seconds}
                        spent[tool, network, rows] += seconds
                    with RESULTS.open("a") as file:
                        file.write(json.dumps(line) + "\n")
    path.unlink(missing_ok=True)


def hopeless(tool, network, rows, over):
    """Whether a search was over its time, or failed, on no more rows of the network."""
    return any((tool, network, fewer) in over for fewer in ROWS if fewer <= rows)


# ---------------------------------------------------------------------- report


def report():
    for score in SCORES:
        table, over = defaultdict(list), set()
        for r in load():
            if r["score"] == score and "error" in r:
                over.add((r["tool"], r["network"], r["rows"]))
            elif r["score"] == score:
                table[r["tool"], r["network"], r["rows"]].append(r)
        tools = [tool for tool in (*OWN, *PEERS) if any(key[0] == tool for key in table)]
        cells = [(n, r) for n in NETWORKS for r in ROWS if any(key[1:] == (n, r) for key in table)]
        if not cells:
            continue
        show = functools.partial(print_table, table, over, tools, cells)
        print(f"\n## Search by {score}: mean (least to most) over renamings; the best in bold")
        show(
            f"{score} minus that of the true DAG, nats",
            functools.partial(mean_and_range, f"{score}_gap", "{:+.0f}"),
            functools.partial(mean, f"{score}_gap", sign=-1),
        )
        show(
            "SHD of CPDAGs",
            functools.partial(mean_and_range, "shd", "{:.0f}"),
            functools.partial(mean, "shd"),
        )
        show("Arrowheads: mean precision / recall (best: mean F1)", heads, lambda r: -head_f1(r))
        show(
            "CPU seconds, mean",
            lambda runs: f"{mean('seconds', runs):.2g}",
            functools.partial(mean, "seconds"),
        )
        for tool in tools:
            valid = [r["valid"] for key in table if key[0] == tool for r in table[key]]
            if not all(valid):
                print(f"{tool}: {valid.count(False)} of {len(valid)} graphs are not a CPDAG")


def print_table(table, over, tools, cells, title, shown, key):
    """One measure: a row for each sample, a column for each tool, the best mean in bold."""
    print(f"\n**{title}**\n")
    print("| network | rows | " + " | ".join(tools) + " |")
    print("|---|---|" + "---|" * len(tools))
    for network, rows in cells:
        runs = {tool: table[tool, network, rows] for tool in tools if table[tool, network, rows]}
        best = min(round(key(some), 6) for some in runs.values())
        texts = []
        for tool in tools:
            if tool not in runs:
                texts.append("over" if hopeless(tool, network, rows, over) else "·")
                continue
            text = shown(runs[tool])
            if round(key(runs[tool]), 6) == best:
                text = f"**{text}**"
            if len(runs[tool]) < RENAMINGS:
                text += f" ×{len(runs[tool])}"
            texts.append(text)
        print(f"| {network} | {rows} | " + " | ".join(texts) + " |")


def mean(measure, runs, sign=1):
    return sign * np.mean([r[measure] for r in runs])


def mean_and_range(measure, form, runs):
    values = [r[measure] for r in runs]
    middle, least, most = (form.format(f(values)) for f in (np.mean, min, max))
    return middle if least == most else f"{middle} ({least} to {most})"


def heads(runs):
    return f"{mean('head_precision', runs):.2f} / {mean('head_recall', runs):.2f}"


def head_f1(runs):
    pairs = [(r["head_precision"], r["head_recall"]) for r in runs]
    return np.mean([2 * p * q / (p + q) if p + q else 0.0 for p, q in pairs])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("--score", choices=SCORES, default="bic")
    parser.add_argument("--tools", default="gml,peers")
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--rows", default=",".join(map(str, ROWS)))
    parser.add_argument("--renamings", type=int, default=RENAMINGS)
    options = parser.parse_args()
    report() if options.what == "report" else run(options)


if __name__ == "__main__":
    main()
