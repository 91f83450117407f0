"""How well PC recovers networks: gml with its tests and rules, and the peers, on the same data.

    python benchmarks/structure.py run --seeds 0:10 --networks asia,alarm --rows 1000,5000 --peers
    python benchmarks/structure.py report

Samples of the benchmark networks (BIF files and the sampler of the shared folder beside the
checkout), variables renamed and columns shuffled at random, so that neither names nor order help.
Every result is compared with the CPDAG of the true network; what a peer returns is compared as it
is, and counted as invalid if it is not the CPDAG of any DAG. Results go to
benchmarks/data/structure.jsonl, one line each, and are not computed twice. Peers run in
benchmarks/.venv (see run.py), each call a process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import zlib
from collections import defaultdict
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
SHARED = HERE.parent.parent / "shared"
RESULTS = HERE / "data" / "structure.jsonl"
PEER_PYTHON = HERE / ".venv" / "bin" / "python"
NETWORKS = ("asia", "alarm", "insurance", "hailfinder", "andes")
ROWS = (1000, 5000, 50000)
PEERS = ("pybnesian", "causallearn", "pyagrum", "pgmpy")
SECONDS = 200
ALPHA = 0.01
# label: test, its options, what to do with insufficient tests
VARIANTS = {
    "auto/auto": ("auto", {}, "auto"),
    "auto/keep": ("auto", {}, "keep"),
    "auto/drop": ("auto", {}, "drop"),
    "g full/drop": ("g", {"df": "full"}, "drop"),
    "g full/auto": ("g", {"df": "full"}, "auto"),
    "g adjusted/auto": ("g", {"df": "adjusted"}, "auto"),
    "g adjusted/drop": ("g", {"df": "adjusted"}, "drop"),
    "chi2 full/auto": ("chi2", {"df": "full"}, "auto"),
    "chi2 adjusted/auto": ("chi2", {"df": "adjusted"}, "auto"),
    "mi-threshold/auto": ("mi-threshold", {}, "auto"),
}
DEFAULT = "auto/auto"


# ---------------------------------------------------------------------- data


def draw(network, rows, seed):
    """Columns by new name, in a new order, and the true arcs."""
    sys.path.insert(0, str(SHARED / "tools"))
    from gen_data import read_bif, sample

    states, parents, tables = read_bif(SHARED / "data" / "networks" / f"{network}.bif")
    rng = np.random.default_rng([zlib.crc32(network.encode()), rows, seed])
    cells = sample(states, parents, tables, rows, int(rng.integers(2**31)))
    names = list(states)
    new = dict(zip(names, (f"V{k:03d}" for k in rng.permutation(len(names))), strict=True))
    columns = {new[names[i]]: cells[names[i]] for i in rng.permutation(len(names))}
    return columns, [(new[a], new[b]) for b in parents for a in parents[b]]


def as_dataset(columns):
    from gml.data.dataset import Dataset, Variable

    variables, codes = [], []
    for name, column in columns.items():
        levels, code = np.unique(column, return_inverse=True)
        variables.append(Variable(name, tuple(map(str, levels))))
        codes.append(code.astype(np.uint8))
    return Dataset(tuple(variables), tuple(codes))


def write_csv(columns, path):
    """For peers; columns with one value only, which some of them refuse, are left out."""
    names = [name for name, column in columns.items() if len(np.unique(column)) > 1]
    with open(path, "w") as file:
        file.write(",".join(names) + "\n")
        np.savetxt(file, np.column_stack([columns[n] for n in names]), fmt="L%d", delimiter=",")


# ---------------------------------------------------------------------- measures


def marks_of(names, arcs, lines):
    """Marks as in gml.Graph: 1 a tail, 2 an arrow, at the second index."""
    index = {name: i for i, name in enumerate(names)}
    marks = np.zeros((len(names), len(names)), dtype=np.uint8)
    for a, b in [*lines, *(line[::-1] for line in lines)]:
        marks[index[a], index[b]] = 1
    for a, b in arcs:
        marks[index[b], index[a]] = max(1, marks[index[b], index[a]])
        marks[index[a], index[b]] = 2
    # An arc given both ways is a line in the peers that do so.
    both = (marks == 2) & (marks.T == 2)
    marks[both] = 1
    return marks


def measures(names, marks, arcs):
    """SHD of CPDAGs, precision and recall of edges and of arrowheads, validity."""
    from gml.graph.extension import extend
    from gml.graph.orientation import maximally_oriented, unshielded_triples

    dag = marks_of(names, arcs, []) == 2
    truth = np.where(dag | dag.T, 1, 0)
    truth[maximally_oriented(dag)] = 2
    edges, true_edges = np.triu(marks > 0), np.triu(truth > 0)
    heads, true_heads = marks == 2, truth == 2
    adjacent = marks > 0
    weights = {
        (x, k, y): 1.0 if marks[x, k] == 2 and marks[y, k] == 2 else -1.0
        for x, k, y in unshielded_triples(adjacent)
    }
    back = maximally_oriented(extend(adjacent, weights, np.zeros_like(adjacent)))
    return {
        "shd": int(np.triu((marks != truth) | (marks.T != truth.T)).sum()),
        "edge_precision": share(edges & true_edges, edges),
        "edge_recall": share(edges & true_edges, true_edges),
        "head_precision": share(heads & true_heads, heads),
        "head_recall": share(heads & true_heads, true_heads),
        "valid": bool(np.array_equal(back, heads)),
    }


def share(part, whole):
    return float(part.sum() / whole.sum()) if whole.any() else 1.0


# ---------------------------------------------------------------------- runs


def run_gml(columns, arcs, variant):
    import gml
    from gml.learners.pc import pc

    name, options, policy = VARIANTS[variant]
    counter = gml.MemoryCounter(as_dataset(columns), threads=1)
    start = time.process_time()
    result = pc(
        gml.TESTS[name](counter, **options),
        alpha=ALPHA,
        on_insufficient=policy,
        deadline=gml.Deadline(SECONDS),
    )
    if not result.complete:
        return {"error": "out of time"}
    found = measures(result.graph.names, result.graph.marks, arcs)
    return {**found, "seconds": time.process_time() - start}


def run_peer(path, columns, arcs, peer):
    command = [PEER_PYTHON, __file__, "peer", peer, path]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, env=environment)
    except subprocess.TimeoutExpired:
        return {"error": "out of time"}
    if done.returncode:
        return {"error": done.stderr.decode()[-200:]}
    answer = json.loads(done.stdout)
    names = list(columns)
    found = measures(names, marks_of(names, answer["arcs"], answer["undirected"]), arcs)
    return {**found, "seconds": answer["seconds"]}


def call_peer(peer, path):
    """Runs in the peers' environment."""
    sys.path.insert(0, str(SHARED / "tools"))
    import bench_peers

    _, _, call, graph_of = getattr(bench_peers, f"cell_{peer}")("pc", path, {})
    start = time.process_time()
    answer = call()
    seconds = time.process_time() - start
    print(json.dumps({**graph_of(answer), "seconds": seconds}))


def load():
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return [json.loads(line) for line in lines]


def run(options):
    RESULTS.parent.mkdir(exist_ok=True)
    results = load()
    done = {(r["network"], r["rows"], r["seed"], r["tool"]) for r in results}
    hopeless = {(r["network"], r["rows"], r["tool"]) for r in results if "error" in r}
    first, last = map(int, options.seeds.split(":"))
    path = RESULTS.parent / "structure.csv"
    for seed in range(first, last):
        for rows in map(int, options.rows.split(",")):
            for network in options.networks.split(","):
                columns, arcs = draw(network, rows, seed)
                if options.peers:
                    write_csv(columns, path)
                for tool in (*VARIANTS, *(PEERS if options.peers else ())):
                    if (network, rows, seed, tool) in done or (network, rows, tool) in hopeless:
                        continue
                    if tool in VARIANTS:
                        found = run_gml(columns, arcs, tool)
                    else:
                        found = run_peer(path, columns, arcs, tool)
                    if "error" in found:
                        hopeless.add((network, rows, tool))
                    where = {"network": network, "rows": rows, "seed": seed, "tool": tool}
                    with RESULTS.open("a") as file:
                        file.write(json.dumps(where | found) + "\n")


# ---------------------------------------------------------------------- report


def report():
    table = defaultdict(dict)
    for r in load():
        if "error" not in r:
            table[r["network"], r["rows"], r["tool"]][r["seed"]] = r
    cells = sorted({key[:2] for key in table}, key=lambda c: (NETWORKS.index(c[0]), c[1]))
    tools = [*VARIANTS, *PEERS]
    print("Mean SHD\n")
    print("| network | rows | " + " | ".join(tools) + " |")
    print("|---|---|" + "---|" * len(tools))
    for network, rows in cells:
        shown = [shd_of(table[network, rows, tool]) for tool in tools]
        print(f"| {network} | {rows} | " + " | ".join(shown) + " |")
    print("\nThe default and the peers: SHD, edge precision/recall, arrowhead precision/recall\n")
    print("| network | rows | seeds | " + " | ".join((DEFAULT, *PEERS)) + " |")
    print("|---|---|---|" + "---|" * (1 + len(PEERS)))
    for network, rows in cells:
        shown = [profile_of(table[network, rows, tool]) for tool in (DEFAULT, *PEERS)]
        seeds = len(table[network, rows, DEFAULT])
        print(f"| {network} | {rows} | {seeds} | " + " | ".join(shown) + " |")
    print("\nDefault minus the best single peer, paired by seed, with its 95 % interval\n")
    for group in (("pybnesian", "causallearn"), PEERS):
        print("| network | rows | best of " + ", ".join(group) + " | difference |")
        print("|---|---|---|---|")
        for network, rows in cells:
            print(f"| {network} | {rows} | {paired(table, network, rows, group)} |")
        print()
    for peer in (DEFAULT, *PEERS):
        runs = [r for key, seeds in table.items() if key[2] == peer for r in seeds.values()]
        bad = sum(not r["valid"] for r in runs)
        print(f"{peer}: {bad} of {len(runs)} results are not a CPDAG")


def shd_of(seeds):
    return f"{np.mean([r['shd'] for r in seeds.values()]):.1f}" if seeds else "·"


def profile_of(seeds):
    if not seeds:
        return "·"
    keys = ("edge_precision", "edge_recall", "head_precision", "head_recall")
    a, b, c, d = (np.mean([r[key] for r in seeds.values()]) for key in keys)
    return f"{shd_of(seeds)} · {a:.2f}/{b:.2f} · {c:.2f}/{d:.2f}"


def paired(table, network, rows, peers):
    ours = table[network, rows, DEFAULT]
    there = [peer for peer in peers if table[network, rows, peer]]
    if not there:
        return "none ended | ·"
    best = min(there, key=lambda p: np.mean([r["shd"] for r in table[network, rows, p].values()]))
    theirs = table[network, rows, best]
    gaps = np.array(
        [ours[s]["shd"] - theirs[s]["shd"] for s in sorted(ours.keys() & theirs.keys())]
    )
    if len(gaps) < 2:
        return f"{best} | {gaps.mean() if len(gaps) else float('nan'):+.1f} ({len(gaps)} seed)"
    half = 1.96 * gaps.std(ddof=1) / np.sqrt(len(gaps))
    return f"{best} | {gaps.mean():+.1f} ± {half:.1f} ({len(gaps)} seeds)"


def main():
    if sys.argv[1:2] == ["peer"]:
        call_peer(*sys.argv[2:4])
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("--seeds", default="0:5")
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--rows", default=",".join(map(str, ROWS)))
    parser.add_argument("--peers", action="store_true")
    options = parser.parse_args()
    report() if options.what == "report" else run(options)


if __name__ == "__main__":
    main()
