"""Reading a text file with several threads against one, and against pandas and pyarrow.

    python benchmarks/reading.py --rows 1000000 --threads 2 --runs 9

Tables of labels, of numbers and of quoted text are drawn and written once. Then the ways take
turns: one core (everything pinned to it, the hash of the file too), one thread (the hash in a
second one), and several threads. Each figure is the median of wall times; the ratio is the median
of those of neighbouring runs. On a busy machine wall times mean little, so CPU seconds of all
threads and of the one that hands out the work come with them, and the ratio that they allow on idle
cores: that of one core to the longer of an even share of all work and the part of one thread. What
was read must be the same to the last byte.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gml.counts.memory import MemoryCounter
from gml.data.dataset import Dataset
from gml.data.options import reading_options
from gml.data.reading import read_dataset
from gml.independence.mutual_information import mutual_information
from gml.resources import available_threads

WORDS = np.array(["no", "yes", "low", "normal", "high", "severe", "none", "mild"])
PIECE = 100_000


class Measured(NamedTuple):
    """Seconds of one run: by the clock, of all threads, of the one that hands out the work."""

    wall: float
    cpu: float
    main: float


def write(path: Path, kind: str, rows: int) -> None:
    """Write a table in pieces."""
    columns = {"labels": 40, "numbers": 12, "quoted": 20}[kind]
    rng = np.random.default_rng(3)
    with path.open("w") as file:
        file.write(",".join(f"v{j:02d}" for j in range(columns)) + "\n")
        for start in range(0, rows, PIECE):
            n = min(PIECE, rows - start)
            if kind == "numbers":
                cells = np.char.mod("%.6g", rng.normal(size=(n, columns)))
            else:
                cells = WORDS[rng.integers(0, len(WORDS), (n, columns))]
            if kind == "quoted":
                cells = np.char.add(np.char.add('"', cells), ', as seen"')
            file.write("\n".join(",".join(row) for row in cells.tolist()) + "\n")


def measured(work: Callable[[], object], cores: set[int]) -> tuple[Measured, object]:
    """Do some work on some cores only."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        wall, cpu, main = time.perf_counter(), time.process_time(), time.thread_time()
        found = work()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        return Measured(wall, cpu, time.thread_time() - main), found
    finally:
        os.sched_setaffinity(0, before)


def fingerprint(data: Dataset) -> str:
    """Return a hash of what was read."""
    sha = hashlib.sha256(repr(data.variables).encode())
    for column in data.columns:
        sha.update(np.ascontiguousarray(column).data)
    return sha.hexdigest()


def ways(path: Path, kind: str) -> dict[str, Callable[[int], Dataset]]:
    """Return what is measured, given a number of threads."""
    numbers = kind == "numbers"
    options = replace(reading_options(), undeclared="numbers" if numbers else "labels")

    def reading(threads: int) -> Dataset:
        return read_dataset(path, replace(options, threads=threads))

    def hashed(threads: int) -> Dataset:
        return read_dataset(path, replace(options, threads=threads, digest=True))

    def counted(threads: int) -> Dataset:
        data = hashed(threads)
        mutual_information(MemoryCounter(data, threads=threads))
        return data

    found = {"read": reading, "read and hash": hashed}
    if not numbers:
        found["read, hash, count pairs"] = counted
    return found


def others(path: Path, threads: int) -> dict[str, Callable[[], object]]:
    """Return the readers of other packages that are installed."""
    found: dict[str, Callable[[], object]] = {}
    try:
        import pyarrow as pa
        from pyarrow import csv

        def arrow() -> object:
            pa.set_cpu_count(threads)
            return csv.read_csv(path)

        found["pyarrow"] = arrow
    except ModuleNotFoundError:
        pass
    try:
        import pandas as pd

        found["pandas"] = lambda: pd.read_csv(path)
    except ModuleNotFoundError:
        pass
    return found


def compare(path: Path, kind: str, threads: int, runs: int) -> None:
    """Let the ways take turns over one file, and print what they took."""
    everywhere = os.sched_getaffinity(0)
    one = {min(everywhere)}
    for title, work in ways(path, kind).items():
        taken: dict[str, list[Measured]] = {"one core": [], "one thread": [], "threads": []}
        prints = set()
        for run in range(runs + 1):
            for name, count, cores in (
                ("one core", 1, one),
                ("one thread", 1, everywhere),
                ("threads", threads, everywhere),
            ):
                spent, data = measured(lambda count=count, work=work: work(count), cores)
                # The first run finds the file in no cache.
                if run:
                    taken[name].append(spent)
                else:
                    prints.add(fingerprint(data))
        assert len(prints) == 1, "threads change what is read"
        show(f"{path.name}: {title}", taken, threads)
    size = path.stat().st_size
    for name, work in others(path, threads).items():
        spent = [measured(work, everywhere)[0] for _ in range(3)]
        wall = statistics.median(s.wall for s in spent)
        cpu = min(s.cpu for s in spent)
        print(f"  {name}, {threads} threads: wall {wall:.3f}, CPU {cpu:.3f}", flush=True)
    print(f"  {size / 1e6:.0f} MB; load of the machine {os.getloadavg()[0]:.1f}", flush=True)


def show(title: str, taken: dict[str, list[Measured]], threads: int) -> None:
    """Print the figures of one kind of work."""
    print(title)
    for name, spent in taken.items():
        wall = statistics.median(s.wall for s in spent)
        cpu, main = min(s.cpu for s in spent), min(s.main for s in spent)
        print(f"  {name:12} wall {wall:7.3f}   CPU {cpu:6.3f}   of it main thread {main:6.3f}")
    for name in ("one core", "one thread"):
        ratio = statistics.median(
            a.wall / b.wall for a, b in zip(taken[name], taken["threads"], strict=True)
        )
        print(f"  {name} / {threads} threads: {ratio:.2f} by the clock")
    least = min(max(s.cpu / min(threads, available_threads()), s.main) for s in taken["threads"])
    single = min(s.cpu for s in taken["one core"])
    print(f"  CPU times allow {single / least:.2f} on idle cores", flush=True)


def main() -> None:
    """Write the tables, and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--only", default="labels,numbers,quoted,gzip")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for kind in asked.only.split(","):
            drawn = "labels" if kind == "gzip" else kind
            path = Path(folder) / (f"{drawn}.csv.gz" if kind == "gzip" else f"{drawn}.csv")
            write(path, drawn, asked.rows if kind != "quoted" else asked.rows // 2)
            if kind == "gzip":
                path.write_bytes(gzip.compress(path.read_bytes(), 6))
            compare(path, drawn, asked.threads, asked.runs)
            path.unlink()


if __name__ == "__main__":
    main()
