"""How well searches recover graphs of numbers and labels: gml and the peers, on the same tables.

    python benchmarks/mixed_structure.py run --seeds 0:20
    python benchmarks/mixed_structure.py run --tools gml --kinds cg --columns 20 --rows 500
    python benchmarks/mixed_structure.py run --tools peers --cut 60 --budget 60
    python benchmarks/mixed_structure.py report

Tables are those of mixed_tables.py. Every graph is compared, as a CPDAG, with that of the true one;
a DAG stands for its class, and so does a DAG of the graph where the tiers of cg direct more. A run
of a peer is cut at ten minutes of CPU time, or at --cut seconds, and marked; it is then not tried
on as many rows or columns of the same kind again, unless with a later cut. A peer that has used
--budget seconds in a cell gets no more seeds there. In the report the number of seeds is in
brackets, and bold is what no other tool beats by its mean over the seeds that both ran. Results go
to benchmarks/results/mixed_structure.jsonl, one line each, and are not computed twice. Peers run in
the environment that --python names.
"""

from __future__ import annotations

import argparse
import json
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
OWN = {
    "gml ges": ("ges", {}),
    "gml ges extended": ("ges", {"extended": True}),
    "gml ges extended penalty 2": ("ges", {"extended": True, "penalty": 2.0}),
    "gml ges either extended penalty 2": (
        "ges",
        {"extended": True, "penalty": 2.0, "score": "bic-either"},
    ),
    "gml ges cg": ("ges", {"score": "bic-cg"}),
    "gml hc": ("hc", {}),
    "gml hc cg": ("hc", {"score": "bic-cg"}),
    "gml pc": ("pc", {}),
}
FOR_MIXED = ("gml ges cg", "gml hc cg", "gml ges either extended penalty 2")
# On numbers alone bic-either is bic-g, and the search is the very same.
SAME_ON_NUMBERS = {"gml ges either extended penalty 2": "gml ges extended penalty 2"}
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
    learner, options = OWN[tool]
    start = time.process_time()
    result = getattr(gml, learner)(dataset, threads=1, max_seconds=SECONDS, **options)
    seconds = time.process_time() - start
    if not result.complete:
        return None, "over"
    return (result.dag.names, completed(result.dag.marks)), seconds


class Peers:
    """The process that the peers run in, started when it is first needed."""

    def __init__(self, python):
        self._command = [python, HERE / "mixed_peers.py"]
        self._process = None

    def run(self, tool, path, names, cut):
        """Returns names and marks, or None, and CPU seconds, or what went wrong."""
        if self._process is None:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            self._process = subprocess.Popen(
                self._command, env=ENVIRONMENT, text=True, stderr=subprocess.DEVNULL, **pipes
            )
        request = {"tool": tool, "path": str(path), "cut": cut}
        print(json.dumps(request), file=self._process.stdin, flush=True)
        answer = json.loads(self._process.stdout.readline())
        if "error" in answer:
            return None, answer["error"]
        marks = marks_of(names, answer["arcs"], answer["lines"])
        return (names, completed(marks)), answer["seconds"]

    def close(self):
        if self._process is not None:
            self._process.communicate()


def completed(marks):
    """The class of a DAG; a graph with lines as it is."""
    from gml.graph.orientation import maximally_oriented

    if (marks == 1)[marks.T == 1].any():
        return marks
    return np.where(maximally_oriented(marks == 2), 2, np.where(marks > 0, 1, 0)).astype(np.uint8)


def load():
    """The last result of each run: one that was cut may have been tried again."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    results = map(json.loads, lines)
    return list({key(r): r for r in results}.values())


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
    again = {key(r) for r in results if r.get("error") == "over" and r["cut"] < options.cut}
    done = {key(r) for r in results} - again
    over = {key(r)[:5] for r in results if r.get("error") == "over" and key(r) not in again}
    spent = defaultdict(float)
    for r in results:
        spent[key(r)[:5]] += r.get("seconds", 0.0)
    groups = {"gml": tuple(OWN), "peers": tuple(TOOLS)}
    tools = [tool for name in options.tools.split(",") for tool in groups.get(name, (name,))]
    first, last = map(int, options.seeds.split(":"))
    peers = Peers(options.python)
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
                and (tool in OWN or spent[tool, *cell] <= options.budget)
                and tool not in (FOR_MIXED if kind == "gaussian" else FOR_NUMBERS)
            ]
            if not left:
                continue
            columns, arcs = draw(kind, n_columns, degree, rows, seed)
            np.savez(path, **{"names of columns": np.array(list(columns))}, **columns)
            for tool in left:
                graph, seconds = (
                    run_gml(tool, columns)
                    if tool in OWN
                    else peers.run(tool, path, list(columns), options.cut)
                )
                line = {"tool": tool, "kind": kind, "columns": n_columns, "degree": degree}
                line |= {"rows": rows, "seed": seed}
                if graph is None:
                    line |= {"error": seconds, "cut": options.cut}
                    if seconds == "over":
                        over.add(key(line)[:5])
                else:
                    line |= measures(*graph, arcs) | {"seconds": seconds}
                    spent[tool, *cell] += seconds
                with RESULTS.open("a") as file:
                    file.write(json.dumps(line) + "\n")
    peers.close()
    folder.cleanup()


# ---------------------------------------------------------------------- report


def report():
    table, cuts = defaultdict(dict), defaultdict(int)
    for r in load():
        if "error" not in r:
            table[key(r)[:5]][r["seed"]] = r
        elif r["error"] == "over":
            cuts[key(r)[:5]] = max(cuts[key(r)[:5]], r["cut"])
    for tool, same in SAME_ON_NUMBERS.items():
        of_numbers = [k[1:] for k in table if k[0] == same and k[1] == "gaussian"]
        for cell in of_numbers:
            table[tool, *cell] = table[same, *cell]
    cells = sorted({k[1:] for k in table}, key=lambda c: (KINDS.index(c[0]), *c[1:]))
    print_means("SHD of CPDAGs", lambda r: r["shd"], table, cells, cuts, "{:.1f}")
    print_means("F1 of arrowheads", head_f1, table, cells, cuts, "{:.3f}", sign=-1)
    print_means("CPU seconds", lambda r: r["seconds"], table, cells, cuts, "{:.2g}")


def head_f1(r):
    p, q = r["head_precision"], r["head_recall"]
    return 2 * p * q / (p + q) if p + q else 0.0


def print_means(title, measure, table, cells, cuts, form, sign=1):
    """One row per cell; counts how often no peer does better than each of ours."""
    values = {
        k: {seed: sign * measure(r) for seed, r in results.items()} for k, results in table.items()
    }
    tools = [tool for tool in (*OWN, *TOOLS) if any(k[0] == tool for k in (*table, *cuts))]
    print(f"\n**{title}**\n")
    print("| table | degree | columns | rows | " + " | ".join(tools) + " |")
    print("|---|---|---|---|" + "---|" * len(tools))
    ahead, compared = defaultdict(int), defaultdict(int)
    for cell in cells:
        kind, columns, degree, rows = cell
        here = {tool: values[tool, *cell] for tool in tools if values.get((tool, *cell))}
        peers = {tool: of_seed for tool, of_seed in here.items() if tool in TOOLS}
        texts = []
        for tool in tools:
            if tool not in here:
                cut = cut_of(tool, cell, cuts)
                texts.append(f"over {cut} s" if cut else "·")
                continue
            text = form.format(sign * np.mean(list(here[tool].values())))
            text = f"**{text}**" if unbeaten(here[tool], here.values()) else text
            texts.append(f"{text} ({len(here[tool])})")
        print(f"| {kind} | {degree} | {columns} | {rows} | " + " | ".join(texts) + " |")
        won = False
        for tool in set(here) & set(OWN) if peers else ():
            compared[tool] += 1
            ahead[tool] += unbeaten(here[tool], peers.values())
            won |= unbeaten(here[tool], peers.values())
        compared["any"] += bool(peers and set(here) & set(OWN))
        ahead["any"] += won
    counts = [f"{tool} {ahead[tool]} of {compared[tool]}" for tool in (*OWN, "any")]
    print(f"\nCells in which no peer is better: {', '.join(counts)}.")


def unbeaten(one, others):
    """Whether no other tool has a better mean over the seeds that both ran."""
    for other in others:
        shared = set(one) & set(other)
        if shared and sum(one[seed] - other[seed] for seed in shared) > 1e-9:
            return False
    return True


def cut_of(tool, cell, cuts):
    """The seconds at which a tool was cut on a table of this kind that is not larger."""
    kind, columns, degree, rows = cell
    return max(
        (
            cut
            for (t, k, c, d, r), cut in cuts.items()
            if (tool, kind, degree) == (t, k, d) and c <= columns and r <= rows
        ),
        default=0,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("--python", default=str(HERE / ".venv" / "bin" / "python"))
    parser.add_argument("--tools", default="gml,peers")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--columns", default=",".join(map(str, COLUMNS)))
    parser.add_argument("--rows", default=",".join(map(str, ROWS)))
    parser.add_argument("--seeds", default="0:20")
    parser.add_argument("--cut", type=int, default=SECONDS, help="CPU seconds of a peer's run")
    parser.add_argument("--budget", type=float, default=float("inf"), help="per peer and cell")
    options = parser.parse_args()
    report() if options.what == "report" else run(options)


if __name__ == "__main__":
    main()
