"""Maximum entropy: the time that all pairs of many variables take, and the conditions at random.

    python benchmarks/maxent.py time [--python PEERS]     # gml, and others by their Python
    python -m benchmarks.maxent conditions                # 2 000 solutions and 500 contradictions

The rows behind the pairs depend on three hidden factors. Of gml, `seconds` is the whole process:
start-up, reading 2n(n − 1) probabilities from a file, the solution and writing the model; `fit` is
the solution alone, which is what the others are timed for. They enumerate the states, and take part
while there is room: up to 15 variables. Their gap is the largest difference of a margin that they
leave, where gml promises 1e-9.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
SIZES = (10, 15, 20, 25, 30)
PEERS = ("scipy-maxentropy", "mbi")
MOST_OF_PEERS = 15
N_FEASIBLE, N_CONTRADICTING = 2000, 500


def pairs_of(n, seed=1):
    """Probabilities of 1s and of pairs of them, among rows that hidden factors tie together."""
    rng = np.random.default_rng(seed)
    factors, loadings = rng.normal(size=(20_000, 3)), rng.normal(size=(3, n)) / 2
    noise = rng.normal(size=(20_000, n)) + rng.normal(size=n) / 2
    rows = (factors @ loadings + noise > 0).astype(float)
    return rows.T @ rows / len(rows)


def constraints(pairs):
    """The margins of all pairs as a file has them."""
    found = []
    for i, j in combinations(range(len(pairs)), 2):
        p, q, both = pairs[i, i], pairs[j, j], pairs[i, j]
        cells = {"n": {"n": 1 - p - q + both, "y": q - both}, "y": {"n": p - both, "y": both}}
        found.append({"margin": [f"v{i:02}", f"v{j:02}"], "probabilities": cells})
    return {"constraints": found}


def timed(n, python):
    """Return a line per program."""
    import gml

    pairs = pairs_of(n)
    given = constraints(pairs)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pairs.json")
        path.write_text(json.dumps(given))
        started = time.perf_counter()
        command = [Path(sys.executable).parent / "gml", "maxent", path, "-q", "-o"]
        subprocess.run([*command, Path(folder, "model.json")], check=True)
        whole = time.perf_counter() - started
    before, started = time.process_time(), time.perf_counter()
    net = gml.maxent(given)
    fit, cpu = time.perf_counter() - started, time.process_time() - before
    told = net.learning["maxent"]
    yield [
        "gml",
        f"{whole:.2f}",
        f"{fit:.3f}",
        f"{cpu:.2f}",
        f"{told['residual']:.1e}",
        told["algorithm"],
    ]
    for peer in PEERS if python and n <= MOST_OF_PEERS else ():
        done = subprocess.run(
            [python, HERE / "maxent_peers.py", peer],
            input=json.dumps(pairs.tolist()),
            capture_output=True,
            text=True,
            check=False,
        )
        found = (
            json.loads(done.stdout.splitlines()[-1])
            if done.stdout
            else {"error": done.stderr[-200:]}
        )
        if "error" in found:
            yield [peer, "", "", "", "", found["error"]]
        else:
            yield [peer, "", f"{found['seconds']:.3f}", "", f"{found['gap']:.1e}", ""]


def time_all(python, sizes):
    print("variables | program | seconds | fit | CPU of fit | largest gap | algorithm")
    for n in sizes:
        for line in timed(n, python):
            print(" | ".join([str(n), *line]), flush=True)
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def conditions():
    from tests.property.test_entropy import require_contradiction, require_solution

    started = time.perf_counter()
    for seed in range(N_FEASIBLE):
        require_solution(seed)
    print(f"{N_FEASIBLE} solutions meet their conditions: {time.perf_counter() - started:.0f} s")
    started, n_found, seed = time.perf_counter(), 0, 0
    while n_found < N_CONTRADICTING:
        seed += 1
        n_found += require_contradiction(seed)
    print(f"{n_found} contradictions are irreducible: {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["time", "conditions"])
    parser.add_argument("--python", help="a Python that has the other packages")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    asked = parser.parse_args()
    if asked.what == "time":
        time_all(asked.python, [int(size) for size in asked.sizes.split(",")])
    else:
        conditions()
