"""How often tests without a model err, what they find, and how fast they are, beside others.

    python benchmarks/row_tests.py rates --peers PYTHON [--draws 1000] [--rows 100] [--given 0,1]
    python benchmarks/row_tests.py table         # of what has been run so far, as Markdown
    python benchmarks/row_tests.py speed --peers PYTHON

`--peers` is a Python that has causal-learn and hyppo (pip install causal-learn hyppo); without it,
gml runs alone. Every cell is a line of results/row_tests.jsonl; a cell that is there is not run
again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

# One thread per process: only then are CPU times those of the work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from row_tests_data import ALTERNATIVES, NULLS, draw

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "row_tests.jsonl"
LEVELS = (0.01, 0.05)
OWN = ("hsic", "dcor", "kci", "rcit")
PEERS = ("causal-learn", "hyppo-hsic", "hyppo-dcor")
UNCONDITIONAL = ("hsic", "dcor", "hyppo-hsic", "hyppo-dcor")
# Tests were tuned on tables of smaller seeds than this.
FIRST_SEED = 1_000_000


def counter_of(x, y, z, labels):
    """The columns as an engine of gml."""
    import gml

    columns = [x, y, *z.T]
    names = ["x", "y", *(f"z{j}" for j in range(z.shape[1]))]
    variables, cells = [], []
    for j, (name, column) in enumerate(zip(names, columns, strict=True)):
        if j not in labels:
            variables.append(gml.Variable(name, None))
            cells.append(column.astype(np.float64))
            continue
        levels, codes = np.unique(column, return_inverse=True)
        variables.append(gml.Variable(name, tuple(map(str, levels))))
        cells.append(codes.astype(np.uint8))
    return gml.MemoryCounter(gml.Dataset(tuple(variables), tuple(cells)), threads=1)


def own_p_values(tool: str, what: str, kind: str, n: int, size: int, draws: int) -> list[float]:
    """p of gml's test in each draw; permutations are fewer than by default."""
    import gml

    options = {"permutations": 199} if tool in UNCONDITIONAL else {}
    found = []
    for seed in range(FIRST_SEED, FIRST_SEED + draws):
        test = gml.TESTS[tool](
            counter_of(*draw(what, kind, n, size, seed)),
            threads=1,
            **options,
            **({} if tool == "kci" else {"seed": seed}),
        )
        result = test(0, 1, tuple(range(2, 2 + size)))
        found.append(float(np.exp(result.log_p)))
    return found


def peer_p_values(python: str, tool: str, *cell: object) -> list[float]:
    """p of a peer's test in each draw."""
    what, kind, n, size, draws = cell
    command = [python, HERE / "row_tests_peers.py", tool, what, kind, n, size]
    command += [FIRST_SEED, FIRST_SEED + draws]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True)
    return [float(line) for line in done.stdout.split()]


def known() -> dict[tuple[object, ...], dict[str, object]]:
    """The cells that have been run."""
    if not RESULTS.exists():
        return {}
    cells = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    keys = ("tool", "what", "kind", "n", "given")
    return {tuple(cell[key] for key in keys): cell for cell in cells}


def rates(arguments: argparse.Namespace) -> None:
    """Run the cells that are missing."""
    tools = [*OWN, *(PEERS if arguments.peers else ())]
    tools = [tool for tool in tools if not arguments.tools or tool in arguments.tools.split(",")]
    done = known()
    for n in map(int, arguments.rows.split(",")):
        for size in map(int, arguments.given.split(",")):
            for what, kinds in (("null", NULLS), ("alternative", ALTERNATIVES)):
                for kind in kinds:
                    for tool in tools:
                        if size and tool in UNCONDITIONAL:
                            continue
                        if arguments.kinds and kind not in arguments.kinds.split(","):
                            continue
                        if (tool, what, kind, n, size) not in done:
                            run_cell(arguments, tool, what, kind, n, size)


def run_cell(arguments, tool, what, kind, n, size) -> None:
    draws = arguments.draws if what == "null" else max(arguments.draws // 5, 50)
    if tool in PEERS:
        p = peer_p_values(arguments.peers, tool, what, kind, n, size, draws)
    else:
        p = own_p_values(tool, what, kind, n, size, draws)
    cell = {"tool": tool, "what": what, "kind": kind, "n": n, "given": size, "draws": draws}
    cell |= {str(level): float(np.mean(np.array(p) <= level)) for level in LEVELS}
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a") as out:
        out.write(json.dumps(cell) + "\n")
    print(cell, flush=True)


def table(arguments: argparse.Namespace) -> None:
    """Print what has been run: levels at 0.01 and 0.05, power at 0.05."""
    cells = known()
    tools = [tool for tool in (*OWN, *PEERS) if any(key[0] == tool for key in cells)]
    for what, kinds in (("null", NULLS), ("alternative", ALTERNATIVES)):
        print(f"\n**{what}**\n")
        print("| " + " | ".join(["", "n", "given", *tools]) + " |")
        print("|---" * (3 + len(tools)) + "|")
        for kind in kinds:
            own = [key for key in cells if key[0] in OWN]
            rows = sorted({key[3:] for key in own if key[1:3] == (what, kind)})
            for n, size in rows:
                shown = [_shown(cells.get((tool, what, kind, n, size)), what) for tool in tools]
                print("| " + " | ".join([kind, str(n), str(size), *shown]) + " |")


def _shown(cell: dict[str, object] | None, what: str) -> str:
    if cell is None:
        return ""
    if what == "null":
        return f"{cell['0.01']:.3f} {cell['0.05']:.3f}"
    return f"{cell['0.05']:.2f}"


def speed(arguments: argparse.Namespace) -> None:
    """CPU seconds of one test on one thread, the smallest of three; the packages take turns."""
    import gml

    print("| test | rows | given | gml | causal-learn |\n|---|---|---|---|---|")
    cases = [("kci", n, size) for n in (1000, 300, 2000) for size in (1, 3, 0)]
    cases += [(tool, n, 1) for tool in ("rcit",) for n in (1000, 10_000, 100_000)]
    cases += [("dcor", n, 0) for n in (1000, 10_000, 100_000)]
    for tool, n, size in cases:
        test = gml.TESTS[tool](counter_of(*draw("null", "linear", n, size, 0)), threads=1)
        own, peer = [], []
        for _ in range(3):
            start = time.process_time()
            test(0, 1, tuple(range(2, 2 + size)))
            own.append(time.process_time() - start)
            if tool == "kci" and arguments.peers:
                peer.append(_peer_time(arguments.peers, n, size))
        shown = f"{min(peer):.3f} ({min(peer) / min(own):.1f}x)" if peer else ""
        print(f"| {tool} | {n} | {size} | {min(own):.4f} | {shown} |", flush=True)


def _peer_time(python: str, n: int, size: int) -> float:
    command = [python, HERE / "row_tests_peers.py", "time", "causal-learn", n, size]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["rates", "table", "speed"])
    parser.add_argument("--peers", help="a Python that has causal-learn and hyppo")
    parser.add_argument("--tools", help="only these")
    parser.add_argument("--kinds", help="only these")
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--rows", default="100,300,1000")
    parser.add_argument("--given", default="0,1,2,3")
    arguments = parser.parse_args()
    {"rates": rates, "table": table, "speed": speed}[arguments.command](arguments)


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    main()
