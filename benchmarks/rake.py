"""Time raking against ipfn on the same rows: from file to file, and without reading and writing.

    python benchmarks/rake.py [--rows 1000000] [--python PATH]

Five columns of labels and their five margins. ipfn gets the rows as a frame with a weight each, as
its documentation shows, and then the table of their counts as an array, whose cells are handed back
to the rows: a way round that its users would have to write themselves. Both of its runs, and ours,
are done one after the other in processes of their own, and the weights are compared. ipfn stops at
a gap of 1e-12; its second tolerance, which stops it early, is 0. The parts of a run are in seconds
of CPU time, its whole in both. `--python` names an interpreter that has ipfn and pandas.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

LEVELS = {"age": 6, "education": 5, "income": 4, "region": 8, "sex": 2}

PEER = """
import json, sys, time
import numpy as np, pandas as pd
from ipfn import ipfn
folder, form = sys.argv[1:]
targets = json.load(open(f"{folder}/targets.json"))
names = list(targets)
t = [time.process_time()]
rows = pd.read_csv(f"{folder}/rows.csv", dtype=str)
t.append(time.process_time())
n = len(rows)
settings = {"convergence_rate": 1e-12, "rate_tolerance": 0.0, "max_iteration": 200}
if form == "frame":
    frame = rows[names].copy()
    frame["total"] = 1.0
    frame["row"] = np.arange(n)
    sums = [pd.Series(targets[name], name="total").rename_axis(name) * n for name in names]
    done = ipfn.ipfn(frame, sums, [[name] for name in names], **settings).iteration()
    weights = done.sort_values("row")["total"].to_numpy()
else:
    codes = [pd.Categorical(rows[name], categories=list(targets[name])).codes for name in names]
    shape = [len(targets[name]) for name in names]
    cell = np.ravel_multi_index([c.astype(np.int64) for c in codes], shape)
    table = np.bincount(cell, minlength=int(np.prod(shape))).astype(float).reshape(shape)
    sums = [np.array(list(targets[name].values())) * n for name in names]
    done = ipfn.ipfn(table.copy(), sums, [[k] for k in range(len(names))], **settings).iteration()
    ratio = np.divide(done, table, out=np.zeros(shape), where=table > 0)
    weights = ratio.ravel()[cell]
t.append(time.process_time())
rows["weight"] = weights
rows.to_csv(f"{folder}/peer.csv", index=False)
t.append(time.process_time())
np.save(f"{folder}/{form}.npy", weights)
print(json.dumps({"reading": t[1] - t[0], "raking": t[2] - t[1], "writing": t[3] - t[2]}))
"""

OURS = """
import json, sys, time
import gml
from gml import rake, read
folder = sys.argv[1]
t = [time.process_time()]
data = read(f"{folder}/rows.csv")
t.append(time.process_time())
found = rake(data, f"{folder}/targets.csv")
t.append(time.process_time())
import numpy as np
np.save(f"{folder}/ours.npy", found.weights)
print(json.dumps({"reading": t[1] - t[0], "raking": t[2] - t[1], "steps": found.iterations,
                  "residual": found.largest_residual}))
"""


def make_rows(folder: Path, n_rows: int) -> None:
    """Write rows of dependent columns, and margins that are some way from theirs."""
    rng = np.random.default_rng(1)
    hidden = rng.integers(0, 3, n_rows)
    columns, targets = [], {}
    for name, size in LEVELS.items():
        shares = rng.dirichlet(np.full(size, 4.0), 3)
        draws = (rng.random(n_rows)[:, None] > shares.cumsum(axis=1)[hidden]).sum(axis=1)
        labels = np.array([f"{name}{k}" for k in range(size)])
        columns.append(labels[np.minimum(draws, size - 1)])
        target = 0.6 * shares.mean(axis=0) + 0.4 * rng.dirichlet(np.full(size, 8.0))
        targets[name] = dict(zip(labels.tolist(), (target / target.sum()).tolist(), strict=True))
    with (folder / "rows.csv").open("w") as file:
        file.write(",".join(LEVELS) + "\n")
        file.writelines(",".join(row) + "\n" for row in zip(*columns, strict=True))
    (folder / "targets.json").write_text(json.dumps(targets))
    lines = [",".join([*LEVELS, "probability"])]
    for j, (name, cells) in enumerate(targets.items()):
        after = "," * (len(LEVELS) - 1 - j)
        lines += [f"{',' * j}{label}{after},{value!r}" for label, value in cells.items()]
        assert name == list(LEVELS)[j]
    (folder / "targets.csv").write_text("\n".join(lines) + "\n")


def timed(command: list[str]) -> tuple[float, float, str]:
    """Return the seconds and the CPU seconds of a process, and what it printed."""
    start, before = time.perf_counter(), os.times()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    after = os.times()
    cpu = (after.children_user - before.children_user) + (
        after.children_system - before.children_system
    )
    return time.perf_counter() - start, cpu, done.stdout


def main() -> None:
    """Print one JSON object per program, with its ratios to ours."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--python", default=sys.executable)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_rows(folder, given.rows)
        command = [sys.executable, "-m", "gml.cli", "rake", f"{name}/rows.csv", "--quiet"]
        files = ["--targets", f"{name}/targets.csv", "-o", f"{name}/w.csv"]
        whole, cpu, _ = timed([*command, *files])
        ours = json.loads(timed([sys.executable, "-c", OURS, name])[2])
        print(json.dumps({"program": "gml", "whole": whole, "cpu": cpu, **ours}), flush=True)
        own = np.load(folder / "ours.npy")
        for form in ("array", "frame"):
            seconds, peer_cpu, text = timed([given.python, "-c", PEER, name, form])
            peer = json.loads(text.splitlines()[-1])
            weights = np.load(folder / f"{form}.npy")
            found = {
                "program": f"ipfn ({form})",
                "whole": seconds,
                "cpu": peer_cpu,
                **peer,
                "ratio_whole": seconds / whole,
                "ratio_cpu": peer_cpu / cpu,
                "ratio_raking": peer["raking"] / ours["raking"],
                "largest_difference": float(np.abs(weights / own - 1).max()),
            }
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
