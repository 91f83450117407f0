"""Memory of commands on incomplete rows: does it grow by more than the codes of the rows?

    python benchmarks/missing_memory.py [--rows 100000,1000000,4000000] [fit mixture impute draws]

Rows of asia, a fifth of the cells missing, are written to a file; a line per command and number of
rows has the largest resident memory of the process and its CPU time. Codes take a byte per cell.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

COMMANDS = {
    "fit": ["fit-params", "rows.csv", "asia.dot", "--missing", "em", "--em-restarts", "1"],
    "mixture": ["mixture", "rows.csv", "--components", "3", "--em-restarts", "1"],
    "impute": ["impute", "rows.csv", "asia.json"],
    "draws": ["impute", "rows.csv", "asia.json", "--draws", "1"],
}


def measured(command, folder):
    """Run a command; the largest resident memory in megabytes, and CPU seconds."""
    gml = Path(sys.executable).parent / "gml"
    started = subprocess.Popen([gml, *command, "-q"], cwd=folder)
    _, status, usage = os.wait4(started.pid, 0)
    started.returncode = status
    if status:
        sys.exit(f"{' '.join(command)} failed")
    return usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


def study(rows, chosen):
    with tempfile.TemporaryDirectory() as folder:
        here = Path(__file__).resolve().parent.parent / "sample_data"
        for name in ("asia.csv", "asia.dot"):
            Path(folder, name).write_bytes((here / name).read_bytes())
        measured(["fit-params", "asia.csv", "asia.dot", "-o", "asia.json"], folder)
        for n in rows:
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
