"""Compare two checkouts of gml in alternating runs: CPU time and peak memory of whole commands.

    python benchmarks/alternate.py OLD NEW [--runs 7] [--only pc,ges]

OLD and NEW are Python interpreters that import the one and the other, such as
`old/.venv/bin/python`. Runs alternate, so that what else the machine does falls on both; each
figure is the median of the ratios NEW/OLD of neighbouring runs.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data"

# Name, and arguments; @ stands for the folder of data made here.
COMMANDS = {
    "help": "--help",
    "import": "",
    "chowliu small": "chowliu @asia.csv",
    "chowliu large": "chowliu @alarm_large.csv -o /dev/null",
    "indtest": "indtest @asia.csv --all-pairs -o /dev/null",
    "pc": "pc @alarm.csv -o /dev/null -q",
    "hc": "hc @alarm.csv --tabu 10 -o /dev/null -q",
    "ges": "ges @alarm.csv -o /dev/null -q",
    "exact": "exact @asia.csv -o /dev/null",
    "average": "average @asia.csv --by hc --bootstrap 50 -o /dev/null -q",
    "score": "score @alarm.csv @alarm.json --score bic,bdeu -o /dev/null",
    "fit-params": "fit-params @alarm.csv @alarm.json -o /dev/null -f json",
    "query": "query @alarm.bif -o /dev/null",
    "sample": "sample @alarm.bif -n 100000 -o /dev/null",
    "check": "check @alarm.csv @model.json -o /dev/null -q",
    "count": "count @alarm.csv --pairs -o @pairs.parquet -q",
}


def prepare(python: str, folder: Path) -> None:
    """Make the data that commands read."""

    def gml(*args: str) -> None:
        subprocess.run([python, "-m", "gml.cli", *args], check=True, cwd=folder)

    (folder / "asia.csv").symlink_to(ROOT / "sample_data" / "asia.csv")
    (folder / "alarm.bif").symlink_to(next(SHARED.rglob("alarm.bif*")))
    gml("sample", "alarm.bif", "-n", "5000", "--seed", "1", "-o", "alarm.csv")
    gml("sample", "alarm.bif", "-n", "1000000", "--seed", "2", "-o", "alarm_large.csv")
    gml("hc", "alarm.csv", "-q", "-o", "alarm.json")
    gml("fit-params", "alarm.csv", "alarm.json", "-q", "-o", "model.json")


def run(python: str, arguments: str, folder: Path) -> tuple[float, int]:
    """Return the CPU seconds and the peak memory in bytes of one command."""
    given = arguments.replace("@", f"{folder}/").split()
    command = [python, "-m", "gml.cli", *given] if given else [python, "-c", "import gml"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def main() -> None:
    """Run everything, and print a row per command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--only", help="Names of commands, separated by commas.")
    options = parser.parse_args()
    wanted = options.only.split(",") if options.only else list(COMMANDS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(options.old, folder)
        print(f"{'command':15} {'old s':>8} {'new s':>8} {'time':>6} {'memory':>7}")
        for title in wanted:
            old, new = [], []
            run(options.new, COMMANDS[title], folder)
            for _ in range(options.runs):
                old.append(run(options.old, COMMANDS[title], folder))
                new.append(run(options.new, COMMANDS[title], folder))
            time = statistics.median(b[0] / a[0] for a, b in zip(old, new, strict=True))
            memory = statistics.median(b[1] / a[1] for a, b in zip(old, new, strict=True))
            seconds = [statistics.median(s for s, _ in some) for some in (old, new)]
            print(f"{title:15} {seconds[0]:8.3f} {seconds[1]:8.3f} {time:6.3f} {memory:7.3f}")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
