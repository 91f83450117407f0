"""Memory of commands on incomplete rows: does it grow by more than the codes of the rows?

    python benchmarks/missing_memory.py [--rows 100000,1000000,4000000]
        [fit mixture impute draws numbers normals]

Rows of asia, a fifth of the cells missing, are written to a file, and for `numbers` (a network of
regressions) and `normals` (a mixture, six steps of EM) rows of five numbers with as many gaps; a
line per command and number of rows has the largest resident memory of the process and its CPU time.
A code takes a byte, a number eight.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

COMMANDS = {
    "fit": ["fit-params", "rows.csv", "asia.dot", "--missing", "em", "--em-restarts", "1"],
    "mixture": ["mixture", "rows.csv", "--components", "3", "--em-restarts", "1"],
    "impute": ["impute", "rows.csv", "asia.json"],
    "draws": ["impute", "rows.csv", "asia.json", "--draws", "1"],
    "numbers": [
        *("fit-params", "numbers.csv", "numbers.dot", "--numeric", "a,b,c,d,e"),
        *("--missing", "em", "--em-restarts", "1"),
    ],
    "normals": [
        *("mixture", "numbers.csv", "--numeric", "a,b,c,d,e", "--components", "3"),
        *("--covariance", "VVV", "--em-restarts", "1", "--em-steps", "6"),
    ],
}
OF_NUMBERS = ("numbers", "normals")
GRAPH = "digraph { a -> b; a -> c; b -> c; c -> d; d -> e; a -> e }"


def measured(command, folder):
    """Run a command; the largest resident memory in megabytes, and CPU seconds."""
    gml = Path(sys.executable).parent / "gml"
    started = subprocess.Popen([gml, *command, "-q"], cwd=folder)
    _, status, usage = os.wait4(started.pid, 0)
    started.returncode = status
    if status:
        sys.exit(f"{' '.join(command)} failed")
    return usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


def write_numbers(path, n):
    """Numbers that all have a correlation of a half, a fifth of them missing."""
    rng = np.random.default_rng(1)
    with open(path, "w", encoding="utf-8") as file:
        file.write("a,b,c,d,e\n")
        for start in range(0, n, 1 << 16):
            size = min(1 << 16, n - start)
            cells = rng.standard_normal((size, 5)) + rng.standard_normal((size, 1))
            gaps = rng.random((size, 5)) < 0.2
            for row, lacking in zip(cells.tolist(), gaps.tolist(), strict=True):
                pairs = zip(row, lacking, strict=True)
                file.write(",".join("" if gap else f"{x:.4f}" for x, gap in pairs) + "\n")


def study(rows, chosen):
    with tempfile.TemporaryDirectory() as folder:
        here = Path(__file__).resolve().parent.parent / "sample_data"
        for name in ("asia.csv", "asia.dot"):
            Path(folder, name).write_bytes((here / name).read_bytes())
        measured(["fit-params", "asia.csv", "asia.dot", "-o", "asia.json"], folder)
        for n in rows:
            if not {*chosen}.isdisjoint(OF_NUMBERS):
                Path(folder, "numbers.dot").write_text(GRAPH, encoding="utf-8")
                write_numbers(Path(folder, "numbers.csv"), n)
            sample = ["sample", "asia.json", "-n", str(n), "--missing-rate", "0.2", "--seed", "1"]
            measured([*sample, "-o", "rows.csv"], folder)
            for name in chosen:
                output = "-o", "out.csv" if name in ("impute", "draws") else "out.json"
                memory, seconds = measured([*COMMANDS[name], *output], folder)
                print(f"{name:8} {n:9} rows {memory:8.0f} MB {seconds:8.1f} CPU s", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commands", nargs="*", default=list(COMMANDS))
    parser.add_argument("--rows", default="100000,1000000,4000000")
    asked = parser.parse_args()
    study([int(n) for n in asked.rows.split(",")], asked.commands)
