"""One core against two: wall time of what is repeated, in alternating runs.

    python benchmarks/two_cores.py [--runs 5] [--only replicates,restarts-hc] [--small]

Each command runs with --threads 1 and --threads 2 in turn; figures are medians, and of the ratios
of neighbouring runs. The outputs must be the same bytes. The load of the machine is printed beside
them: where others work on it, the ratios say little. What a process costs is measured too: a fork
and the end of a worker, from a process of the size of gml.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gml.kernel.processes import in_processes

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data"

# Name, arguments for a long run, and for a short one; @ stands for the folder of data made here.
COMMANDS = {
    "replicates": ("average @alarm.csv --by ges --bootstrap {}", 400, 40),
    "half-samples": ("pc @alarm.csv --bootstrap {}", 100, 20),
    "restarts-hc": ("hc @alarm_large.csv --restarts {}", 300, 40),
    "restarts-tabu": ("hc @alarm_large.csv --tabu 10 --restarts {}", 200, 30),
    "restarts-ges": ("ges @alarm_large.csv --restarts {}", 200, 30),
    "folds-score": ("score @alarm_large.csv @alarm.json --folds {}", 20, 10),
    "folds-mixture": ("mixture @asia.csv --components 1..4 --criterion folds --folds {}", 10, 5),
    "folds-crf": ("crf @asia.csv --target lung,bronc --exclude either --l2 auto --folds {}", 10, 5),
    "check": ("check @alarm.csv @model.json --seed {}", 1, 1),
}


def prepare(folder: Path) -> None:
    """Make the data that commands read."""

    def gml(*args: str) -> None:
        subprocess.run([sys.executable, "-m", "gml.cli", *args], check=True, cwd=folder)

    (folder / "asia.csv").symlink_to(ROOT / "sample_data" / "asia.csv")
    (folder / "alarm.bif").symlink_to(next(SHARED.rglob("alarm.bif*")))
    gml("sample", "alarm.bif", "-n", "5000", "--seed", "1", "-q", "-o", "alarm.csv")
    gml("sample", "alarm.bif", "-n", "50000", "--seed", "2", "-q", "-o", "alarm_large.csv")
    gml("hc", "alarm.csv", "-q", "-o", "alarm.json")
    gml("fit-params", "alarm.csv", "alarm.json", "-q", "-o", "model.json")


def run(arguments: str, folder: Path, threads: int) -> tuple[float, bytes]:
    """Return the wall time of one command, and its output."""
    given = arguments.replace("@", f"{folder}/").split()
    command = [sys.executable, "-m", "gml.cli", *given, "-q", "--threads", str(threads)]
    began = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    # A check that finds something ends with 1.
    if done.returncode > 1:
        raise SystemExit(f"{arguments}: exit code {done.returncode}")
    return time.monotonic() - began, done.stdout


def cost_of_a_fork() -> float:
    """Milliseconds for two workers that have next to nothing to do."""
    seconds = []
    for _ in range(20):
        began = time.monotonic()
        list(in_processes(abs, 2, 2))
        seconds.append(time.monotonic() - began)
    return 1000 * statistics.median(seconds)


def main() -> None:
    """Run everything, and print a row per command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", help="Names of commands, separated by commas.")
    parser.add_argument("--small", action="store_true", help="Few repetitions of each.")
    options = parser.parse_args()
    wanted = options.only.split(",") if options.only else list(COMMANDS)
    print(f"two workers that do nothing: {cost_of_a_fork():.1f} ms")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        print(f"{'what':15} {'one s':>8} {'two s':>8} {'gain':>6} {'load':>6}  bytes")
        for title in wanted:
            form, many, few = COMMANDS[title]
            arguments = form.format(few if options.small else many)
            run(arguments, folder, 1)
            runs = [[run(arguments, folder, k) for k in (1, 2)] for _ in range(options.runs)]
            gain = statistics.median(one[0] / two[0] for one, two in runs)
            one, two = (statistics.median(pair[k][0] for pair in runs) for k in (0, 1))
            same = len({found for pair in runs for _, found in pair}) == 1
            load = os.getloadavg()[0]
            what = "equal" if same else "DIFFERENT"
            print(f"{title:15} {one:8.2f} {two:8.2f} {gain:6.2f} {load:6.1f}  {what}", flush=True)


if __name__ == "__main__":
    main()
