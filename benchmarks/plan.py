"""Plans against runs: are times and memory within a factor of two, and learners within their range?

python benchmarks/plan.py NETWORKS [--cells tuning|trial] [--out FILE.jsonl]

NETWORKS is a folder of BIF files, as the bnlearn repository has them. Tables are drawn from each
with 1 000 to 1 000 000 rows; each command is planned and then run. Reading, and the memory of a
Chow–Liu tree, are measured in a process of their own. All times are CPU seconds of one thread. The
widths of ranges were chosen on the cells for tuning; those of the trial come from other networks. A
run that takes over a minute is left out, and said so.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gml
from gml.formats.reports.plans import as_object

TUNING = {
    "asia": (1_000, 10_000, 100_000, 1_000_000),
    "alarm": (1_000, 10_000, 100_000, 1_000_000),
    "insurance": (1_000, 10_000, 100_000, 1_000_000),
    "survey": (1_000, 100_000),
}
TRIAL = {
    "sachs": (10_000, 100_000),
    "hailfinder": (10_000, 100_000),
    "cancer": (1_000,),
    "mildew": (10_000,),
    "andes": (10_000,),
    "earthquake": (1_000_000,),
}
FIXED = ("chowliu", "count", "indtest", "score", "fit-params", "check")
LEARNERS = ("pc", "hc", "ges", "imap", "exact", "average")
FEW = 12
_LONGEST = 60

_READ = """
import json, resource, sys, time
import gml
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
gml.chow_liu(gml.read("sample_data/asia.csv"))
before, began = peak(), time.process_time()
data = gml.read(sys.argv[1])
reading = time.process_time() - began
gml.chow_liu(data, threads=1)
print(json.dumps({"reading": reading, "memory": peak() - before}))
"""


def cells(which: dict[str, tuple[int, ...]]) -> Iterator[tuple[str, int]]:
    """Yield networks and numbers of rows."""
    for network, sizes in which.items():
        for rows in sizes:
            yield network, rows


def commands(columns: list[str], model: Any) -> Iterator[tuple[str, list[Any], dict[str, Any]]]:
    """Yield commands with what they are given beside the table."""
    yield "chowliu", [], {}
    yield "count", [], {"pairs": True}
    yield "indtest", [], {"all_pairs": True}
    yield "score", [model], {}
    yield "fit-params", [model], {}
    yield "check", [model], {}
    yield "pc", [], {}
    yield "hc", [], {}
    yield "ges", [], {}
    yield "imap", [columns], {}
    if len(columns) <= FEW:
        yield "exact", [], {}
    yield "average", ["hc"], {"bootstrap": 10}


def planned(command: str, path: Path, given: list[Any], options: dict[str, Any]) -> Any:
    """Return the plan of a command, and how long planning took: CPU seconds."""
    began = time.process_time()
    plan = gml.plan(command, path, *given, threads=1, **options)
    return as_object(plan), time.process_time() - began


def really(command: str, data: gml.Dataset, given: list[Any], options: dict[str, Any]) -> Any:
    """Run the command on rows that were read; returns its CPU seconds, None if these are many."""
    verb = getattr(gml, command.replace("-", "_"))
    stoppable = {} if command in FIXED else {"max_seconds": _LONGEST}
    began = time.process_time()
    result = verb(data, *given, threads=1, **options, **stoppable)
    return time.process_time() - began if getattr(result, "complete", True) else None


def measured(network: str, rows: int, folder: Path, nets: Path, skip: set[str]) -> Iterator[Any]:
    """Plan and run every command on a table of a network."""
    source = next(p for p in nets.iterdir() if p.name.split(".")[0] == network)
    path = folder / f"{network}_{rows}.csv"
    true = gml.read_model(source)
    line = ["-q", "sample", source, "-n", str(rows), "--seed", "1", "-o", path]
    subprocess.run([sys.executable, "-m", "gml.cli", *line], check=True)
    data = gml.read(path)
    model = gml.fit(data, true)
    read = subprocess.run([sys.executable, "-c", _READ, path], capture_output=True, check=True)
    table = json.loads(read.stdout.splitlines()[-1])
    for command, given, options in commands(list(data.names), model):
        if command in skip:
            continue
        plan, seconds = planned(command, path, given, options)
        found = {"network": network, "rows": rows, "command": command, "planning": seconds}
        if plan["refused"]:
            yield {**found, "refused": plan["refused"]}
            continue
        then = really(command, data, given, options)
        yield {**found, "plan": plan, "run": then and {**table, "then": then}}
    path.unlink()


def ratio(planned_: float, real: float, floor: float) -> float:
    """How far a number is off, where what is below a floor does not matter."""
    return max(planned_, floor) / max(real, floor)


def summarise(found: list[dict[str, Any]]) -> None:
    """Print shares of cells that were planned well."""
    usable = [one for one in found if one.get("run")]
    left_out = len(found) - len(usable)
    print(f"{len(usable)} cells; {left_out} left out (refused, or over {_LONGEST} s)")
    quantities: dict[str, list[bool]] = {}
    for one in usable:
        plan, run = one["plan"], one["run"]
        seconds = plan["seconds"]
        then = sum(seconds[part]["likely"] for part in ("counting", "other"))
        within = quantities.setdefault
        if one["command"] == "chowliu":
            off = ratio(seconds["reading"], run["reading"], 0.01)
            within("reading: time within a factor of 2", []).append(0.5 <= off <= 2)
            off = ratio(plan["memory"]["peak"], run["memory"], 16 << 20)
            within("reading and tables: memory within a factor of 2", []).append(0.5 <= off <= 2)
        if one["command"] in FIXED:
            off = ratio(then, run["then"], 0.01)
            within("tables: time within a factor of 2", []).append(0.5 <= off <= 2)
        else:
            low, high = (
                sum(math.inf if seconds[part][end] is None else seconds[part][end]
                    for part in ("counting", "other"))
                for end in ("low", "high")
            )  # fmt: skip
            held = low <= run["then"] <= high or (run["then"] < 0.01 and high < 0.02)
            within("learners: within the range", []).append(held)
            within(f"  {one['command']}", []).append(held)
            within("learners: upper end of the range known", []).append(math.isfinite(high))
    for name, good in quantities.items():
        print(f"{name:<52}{sum(good):>4} of {len(good):<4}{sum(good) / len(good):>6.0%}")
    times = sorted(one["planning"] for one in found)
    print(
        f"planning took {times[len(times) // 2]:.1f} CPU seconds (median), {times[-1]:.1f} at most"
    )


def main() -> None:
    """Measure all cells, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("networks", type=Path)
    parser.add_argument("--cells", choices=("tuning", "trial"), default="trial")
    parser.add_argument("--only", default="", help="Only these networks, with commas.")
    parser.add_argument("--skip", default="", help="Leave these commands out, with commas.")
    parser.add_argument("--most-rows", type=int, default=10**9)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    chosen = TUNING if asked.cells == "tuning" else TRIAL
    found: list[dict[str, Any]] = []
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        for network, rows in cells(chosen):
            if rows > asked.most_rows or (asked.only and network not in asked.only.split(",")):
                continue
            skip = set(asked.skip.split(","))
            for one in measured(network, rows, Path(name), asked.networks, skip):
                found.append(one)
                if asked.out is not None:
                    with asked.out.open("a") as file:
                        file.write(json.dumps(one) + "\n")
    summarise(found)


if __name__ == "__main__":
    main()
