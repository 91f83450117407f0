"""Commands that run long, and how fast they end when they are interrupted.

`python -m tests.hostile.interrupts 300` interrupts commands at random so many times and prints the
slowest reaction of each; `--startup 400` does so within the first moments of a command.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

INTERRUPTED = b"gml: error: interrupted\n"
_GUARD_SECONDS = 60
_START_SECONDS = 20
_HUGE = "1000000000000"
# By name; each runs for longer than anyone waits, or for seconds where that cannot be had.
COMMANDS = {
    "chowliu": "chowliu wide.csv -o out.json",
    "count": "count wide.csv --pairs -o out.parquet",
    "profile": "profile wide.csv -o out.json",
    "pc": "pc columns.csv --alpha 0.9 -o out.json",
    "pc log": "pc columns.csv --alpha 0.9 --test-log out.jsonl",
    "pc permutation": f"pc columns.csv --test permutation --permutations {_HUGE}",
    "pc bootstrap": "pc columns.csv --alpha 0.2 --bootstrap 1000000000 -o out.json",
    "permutation": "indtest columns.csv A B -z C,D --test permutation --permutations 100000000",
    "permutation endless": f"indtest columns.csv A B --test permutation --permutations {_HUGE}",
    "permutation one thread": "indtest columns.csv A B --test permutation --permutations "
    f"{_HUGE} --threads 1",
    "hc": "hc columns.csv --restarts 1000000000 --tabu 20 -o out.json",
    "ges": "ges columns.csv --restarts 1000000000 -o out.json",
    "exact": "exact columns.csv --score bdeu --max-parents 19 -o out.json",
    "average hc": "average columns.csv --by hc --bootstrap 1000000000 -o out.json",
    "average hc restarts": "average columns.csv --by hc --restarts 1000000000 -o out.json",
    "average ges": "average columns.csv --by ges --bootstrap 1000000000 -o out.json",
    "average pc": "average columns.csv --by pc --bootstrap 1000000000 --alpha 0.2 -o out.json",
    "average exact": "average columns.csv --by exact --max-parents 12 -o out.json",
    "average order-mcmc": "average columns.csv --by order-mcmc --iterations 1000000000 -o out.json",
    "score folds": "score columns.csv graph.dot -c A,B,C,D --folds 1000 -o out.json",
    "plan": "plan hc columns.csv --restarts 1000000000 -o out.json",
    "sample": "sample net.json -n 1000000000000 -o out.csv",
    "query": "query net.json --target n0 -o out.json",
    "check": "check rows.csv net.json -o out.json",
    "fifo": "chowliu fifo -o out.json",
    "stdin": "chowliu - -o out.json",
}


class Reaction(NamedTuple):
    """How a process ended, how long after the interrupt, and what it left in its folder."""

    code: int
    stderr: bytes
    seconds: float
    left: list[str]

    @property
    def is_clean(self) -> bool:
        """Whether it ended as promised, or was done before the interrupt came."""
        if self.code in (0, 1, 4):
            return b"Traceback" not in self.stderr
        return (self.code, self.stderr, self.left) == (130, INTERRUPTED, [])


def make_inputs(folder: Path) -> None:
    """Write the data, the graph and the network that the commands read."""
    from gml.data.dataset import Variable
    from gml.formats.models import write_model
    from gml.model.bayesnet import CPT, BayesNet
    from gml.model.sample import sample

    rng = np.random.default_rng(0)
    hidden = rng.random((4000, 1))
    names = "ABCDEFGHIJKLMNOPQRST"
    rows = (rng.random((4000, 20)) < 0.3 + 0.4 * hidden).astype(int)
    _write_csv(folder / "columns.csv", names, rows)
    _write_csv(
        folder / "wide.csv", [f"c{j}" for j in range(1200)], rng.integers(0, 3, (3000, 1200))
    )
    (folder / "graph.dot").write_text("digraph { A -> B -> C; D -> C; }")
    # Each node has parents far back: cliques become large.
    variables = [Variable(f"n{j}", ("a", "b")) for j in range(150)]
    cpts = []
    for j, variable in enumerate(variables):
        chosen = sorted(rng.choice(j, min(j, 2), replace=False).tolist()) if j else []
        parents = tuple(variables[i] for i in chosen)
        cpts.append(CPT(variable, parents, rng.dirichlet([1, 1], 2 ** len(parents))))
    net = BayesNet(tuple(cpts))
    write_model(net, folder / "net.json")
    rows = np.column_stack(sample(net, 5_000).columns)
    _write_csv(folder / "rows.csv", [v.name for v in variables], np.array(["a", "b"])[rows], "%s")
    os.mkfifo(folder / "fifo")


def _write_csv(path: Path, names: Iterable[str], rows: np.ndarray, form: str = "%d") -> None:
    with path.open("w") as file:
        file.write(",".join(names) + "\n")
        np.savetxt(file, rows, fmt=form, delimiter=",")


def interrupt(
    folder: Path, line: str, delay: float, *, once_ready: bool = False, once_there: str = ""
) -> Reaction:
    """Start a command in the folder, interrupt it after some seconds, and wait for its end.

    `once_ready`: the seconds count from when the command, not Python, has to answer; `once_there`:
    from when there is a file of such a name in the folder, which is also that of temporary files.
    """
    before = set(os.listdir(folder))
    given, silent = os.pipe()
    fifo = os.open(folder / "fifo", os.O_RDWR) if "fifo" in line else None
    with tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "gml.cli", *line.split()],
            stdin=given,
            stdout=subprocess.DEVNULL,
            stderr=err,
            cwd=folder,
            env=os.environ | {"TMPDIR": str(folder)},
            # A job in the background may ignore interrupts, and with it what it starts.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        try:
            if once_ready:
                _wait_until_ready(process)
            if once_there:
                _wait_for_file(process, folder, once_there)
            time.sleep(delay)
            process.send_signal(signal.SIGINT)
            sent = time.monotonic()
            code = process.wait(_GUARD_SECONDS)
            seconds = time.monotonic() - sent
        except subprocess.TimeoutExpired:
            process.kill()
            code, seconds = process.wait(), float(_GUARD_SECONDS)
        finally:
            os.close(given)
            os.close(silent)
            if fifo is not None:
                os.close(fifo)
        err.seek(0)
        stderr = err.read()
    left = sorted(set(os.listdir(folder)) - before)
    for name in left:
        if (folder / name).is_dir():
            shutil.rmtree(folder / name)
        else:
            (folder / name).unlink()
    return Reaction(code, stderr, seconds, left)


def _wait_until_ready(process: subprocess.Popen[bytes]) -> None:
    status = Path(f"/proc/{process.pid}/status")
    if not status.exists():
        time.sleep(1)
        return
    end = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < end:
        blocked = int(re.search(r"SigBlk:\s*(\w+)", status.read_text())[1], 16)
        if blocked >> (signal.SIGINT - 1) & 1:
            return
        time.sleep(0.005)


def _wait_for_file(process: subprocess.Popen[bytes], folder: Path, pattern: str) -> None:
    end = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < end and not any(folder.glob(pattern)):
        time.sleep(0.005)


def _measure(folder: Path, times: int, rng: random.Random, wanted: str) -> None:
    found: dict[str, list[Reaction]] = {name: [] for name in COMMANDS if wanted in name}
    for k in range(times):
        name = list(found)[k % len(found)]
        reaction = interrupt(folder, COMMANDS[name], rng.uniform(0.5, 3.0))
        found[name].append(reaction)
        if not reaction.is_clean:
            print(f"{name}: {reaction.code} {reaction.stderr[-300:]!r} {reaction.left}", flush=True)
    print(f"{'command':24} {'n':>4} {'median':>8} {'worst':>8}  not interrupted, not clean")
    for name, reactions in found.items():
        caught = sorted(r.seconds for r in reactions if r.code not in (0, 1, 4)) or [0.0]
        done = sum(r.code in (0, 1, 4) for r in reactions)
        bad = sum(not r.is_clean for r in reactions)
        middle = caught[len(caught) // 2]
        print(f"{name:24} {len(reactions):4} {middle:8.3f} {caught[-1]:8.3f}  {done} {bad}")


def _measure_startup(folder: Path, times: int, rng: random.Random) -> None:
    kinds: dict[str, int] = {}
    for k in range(times):
        line = "pc columns.csv" if k % 2 else "--help"
        reaction = interrupt(folder, line, rng.uniform(0, 0.3))
        kind = f"exit {reaction.code}"
        if b"Traceback" in reaction.stderr:
            # Python's own start is nobody's to mend.
            ours = re.search(rb'File "[^"]*gml/(?!cli/__main__)', reaction.stderr)
            kind += ", traceback through gml" if ours else ", traceback before gml"
            if ours:
                print(reaction.stderr.decode())
        if reaction.code == 130 and not reaction.is_clean:
            kind += f", {reaction.stderr!r}"
        kinds[kind] = kinds.get(kind, 0) + 1
    for kind, count in sorted(kinds.items()):
        print(f"{count:5} {kind}")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("times", type=int, nargs="?", default=0)
    parser.add_argument("--startup", type=int, default=0)
    parser.add_argument("--command", default="")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_inputs(folder)
        if given.startup:
            _measure_startup(folder, given.startup, random.Random(given.seed))
        if given.times:
            _measure(folder, given.times, random.Random(given.seed), given.command)


if __name__ == "__main__":
    main()
