"""How well searches recover graphs of numbers and labels: gml and the peers, on the same tables.

    python benchmarks/mixed_structure.py run --seeds 0:20
    python benchmarks/mixed_structure.py run --tools gml --kinds cg --columns 20 --rows 500
    python benchmarks/mixed_structure.py report

Tables are those of mixed_tables.py. Every graph is compared, as a CPDAG, with that of the true one;
a DAG that a peer returns stands for its class. A run of a peer is cut at ten minutes of CPU time
and marked; it is then not tried on as many rows or columns of the same kind again. Results go to
benchmarks/results/mixed_structure.jsonl, one line each, and are not computed twice. Peers run in
the environment that --python names.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
from mixed_peers import FOR_NUMBERS, TOOLS
from mixed_tables import KINDS, draw
from run import ENVIRONMENT
from structure import marks_of, measures

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "mixed_structure.jsonl"
OWN = ("gml ges", "gml hc", "gml pc")
COLUMNS = (20, 50, 100)
ROWS = (500, 2000, 10000)
DEGREES = {"cg": (2,), "lh": (2,), "gaussian": (2, 4)}
SECONDS = 600


def as_dataset(columns):
    from gml.data.dataset import Dataset, Variable

    variables, cells = [], []
    for name, column in columns.items():
        is_label = column.dtype.kind in "iu"
        levels = tuple(f"L{k}" for k in range(int(column.max()) + 1)) if is_label else None
        variables.append(Variable(name, levels))
        cells.append(column.astype(np.uint8 if is_label else np.float64))
    return Dataset(tuple(variables), tuple(cells))


def run_gml(tool, columns):
    import gml

    dataset = as_dataset(columns)
    learner = getattr(gml, tool.removeprefix("gml "))
    start = time.process_time()
    result = learner(dataset, threads=1, max_seconds=SECONDS)
    seconds = time.process_time() - start
    if not result.complete:
        return None, "over"
    return (result.graph.names, completed(result.graph.marks)), seconds


def limit_time():
    os.nice(5)
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 10))


def run_peer(python, tool, path, names):
    command = [python, HERE / "mixed_peers.py", tool, path]
    done = subprocess.run(command, capture_output=True, preexec_fn=limit_time, env=ENVIRONMENT)
    if done.returncode == -signal.SIGXCPU:
        return None, "over"
    if done.returncode:
        return None, f"exit {done.returncode}: {done.stderr.decode()[-200:]}"
    answer = json.loads(done.stdout.splitlines()[-1])
    marks = marks_of(names, answer["arcs"], answer["lines"])
    return (names, completed(marks)), answer["seconds"]


def completed(marks):
    """The class of a DAG; a graph with lines as it is."""
    from gml.graph.orientation import maximally_oriented

    if (marks == 1)[marks.T == 1].any():
        return marks
    return np.where(maximally_oriented(marks == 2), 2, np.where(marks > 0, 1, 0)).astype(np.uint8)


def load():
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return [json.loads(line) for line in lines]


def key(r):
    return r["tool"], r["kind"], r["columns"], r["degree"], r["rows"], r["seed"]


def hopeless(tool, cell, over):
    """Whether a tool was cut on a table of this kind that is not larger."""
    kind, columns, degree, rows = cell
    return any(
        (tool, kind, degree) == (t, k, d) and c <= columns and r <= rows for t, k, c, d, r in over
    )


def run(options):
    results = load()
    done = {key(r) for r in results}
    over = {key(r)[:5] for r in results if "error" in r}
    groups = {"gml": OWN, "peers": tuple(TOOLS)}
    tools = [tool for name in options.tools.split(",") for tool in groups.get(name, (name,))]
    first, last = map(int, options.seeds.split(":"))
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "table.npz"
    cells = [
        (kind, columns, degree, rows)
        for columns in map(int, options.columns.split(","))
        for rows in map(int, options.rows.split(","))
        for kind in options.kinds.split(",")
        for degree in DEGREES[kind]
    ]
    for seed in range(first, last):
        for cell in cells:
            kind, n_columns, degree, rows = cell
            left = [
                tool
                for tool in tools
                if (tool, *cell, seed) not in done
                and not hopeless(tool, cell, over)
                and (kind == "gaussian" or tool not in FOR_NUMBERS)
            ]
            if not left:
                continue
            columns, arcs = draw(kind, n_columns, degree, rows, seed)
            np.savez(path, **{"names of columns": np.array(list(columns))}, **columns)
            for tool in left:
                graph, seconds = (
                    run_gml(tool, columns)
                    if tool in OWN
                    else run_peer(options.python, tool, path, list(columns))
                )
                line = {"tool": tool, "kind": kind, "columns": n_columns, "degree": degree}
                line |= {"rows": rows, "seed": seed}
                if graph is None:
                    line["error"] = seconds
                    over.add(key(line)[:5])
                else:
                    line |= measures(*graph, arcs) | {"seconds": seconds}
                with RESULTS.open("a") as file:
                    file.write(json.dumps(line) + "\n")
    folder.cleanup()


# ---------------------------------------------------------------------- report


def report():
    table, over = defaultdict(list), set()
    for r in load():
        if "error" in r:
            over.add(key(r)[:5])
        else:
            table[key(r)[:5]].append(r)
    cells = sorted({k[1:] for k in table}, key=lambda c: (KINDS.index(c[0]), *c[1:]))
    tools = [tool for tool in (*OWN, *TOOLS) if any(k[0] == tool for k in table)]
    print_means("SHD of CPDAGs", lambda r: r["shd"], table, cells, tools, over, "{:.1f}")
    print_means("F1 of arrowheads", head_f1, table, cells, tools, over, "{:.3f}", sign=-1)
    print_means("CPU seconds", lambda r: r["seconds"], table, cells, tools, over, "{:.2g}")


def head_f1(r):
    p, q = r["head_precision"], r["head_recall"]
    return 2 * p * q / (p + q) if p + q else 0.0


def print_means(title, measure, table, cells, tools, over, form, sign=1):
    """One row per cell, the best mean in bold; counts how often that is ours."""
    print(f"\n**{title}: mean over seeds, the best in bold**\n")
    print("| table | degree | columns | rows | seeds | " + " | ".join(tools) + " |")
    print("|---|---|---|---|---|" + "---|" * len(tools))
    ours = 0
    for cell in cells:
        kind, columns, degree, rows = cell
        means = {
            tool: np.mean([measure(r) for r in table[(tool, *cell)]])
            for tool in tools
            if table[(tool, *cell)]
        }
        best = min(means, key=lambda tool: sign * means[tool])
        ours += best in OWN
        texts = []
        for tool in tools:
            if tool not in means:
                texts.append("over" if hopeless(tool, cell, over) else "·")
                continue
            text = form.format(means[tool])
            texts.append(f"**{text}**" if means[tool] == means[best] else text)
        seeds = max(len(table[(tool, *cell)]) for tool in tools)
        print(f"| {kind} | {degree} | {columns} | {rows} | {seeds} | " + " | ".join(texts) + " |")
    print(f"\ngml is best in {ours} of {len(cells)} cells.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("--python", default=str(HERE / ".venv" / "bin" / "python"))
    parser.add_argument("--tools", default="gml,peers")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--columns", default=",".join(map(str, COLUMNS)))
    parser.add_argument("--rows", default=",".join(map(str, ROWS)))
    parser.add_argument("--seeds", default="0:20")
    options = parser.parse_args()
    report() if options.what == "report" else run(options)


if __name__ == "__main__":
    main()
