"""Compare gml with other packages: CPU seconds on one core, ratios within one run.

    python benchmarks/run.py            # or: make bench
    python benchmarks/run.py pc models  # some parts: foundation pc models search check

Installs the others into benchmarks/.venv. bnlearn takes part where Rscript has it. Wall times on a
shared machine mislead, so every figure is CPU time of a process pinned to one core with one thread,
the smallest of several processes; the packages take turns.
"""

from __future__ import annotations

import compileall
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from data import SHARED, dataset

HERE = Path(__file__).resolve().parent
PEERS = HERE / ".venv"
PEER_PYTHON = PEERS / "bin" / "python"
GML = Path(sys.executable).parent / "gml"
PACKAGES = ["pgmpy", "pyagrum", "pybnesian", "causal-learn", "pyarrow", "pandas", "networkx"]
PROCESSES = 4
PC_PEERS = ("gml", "pybnesian", "pyagrum", "causallearn")

PYAGRUM_SCRIPT = """
import sys, itertools, pyagrum as gum, networkx as nx
learner = gum.BNLearner(sys.argv[1]); names = list(learner.names())
graph = nx.Graph()
graph.add_weighted_edges_from(
    (a, b, learner.mutualInformation(a, b)) for a, b in itertools.combinations(names, 2))
print(list(nx.maximum_spanning_edges(graph, data=False)))
"""


def install_peers() -> None:
    """Make the environment of the other packages."""
    if not PEER_PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", PEERS], check=True)
        subprocess.run([PEER_PYTHON, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)


def pinned() -> None:
    """Keep a child on one core with one thread."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


ENVIRONMENT = {
    **os.environ,
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}


def in_process(package: str, task: str, path: Path) -> float | None:
    """CPU seconds of a task within one process."""
    if package == "bnlearn":
        command = ["Rscript", str(HERE / "bnlearn.R"), str(path)]
    else:
        python = sys.executable if package == "gml" else str(PEER_PYTHON)
        command = [python, str(HERE / "cells.py"), package, task, str(path)]
    done = subprocess.run(
        command, capture_output=True, preexec_fn=pinned, env=ENVIRONMENT, timeout=900
    )
    if done.returncode:
        print(f"  {package} {task}: {done.stderr.decode()[-200:]}", file=sys.stderr)
        return None
    return float(json.loads(done.stdout.splitlines()[-1])["seconds"])


def compare(task: str, path: Path, packages: Sequence[str]) -> dict[str, float | None]:
    """The smallest time of each package; they take turns, so that noise meets all alike."""
    best: dict[str, float | None] = dict.fromkeys(packages, float("inf"))
    for turn in range(PROCESSES):
        for package in packages:
            before = best[package]
            if before is None or (turn and before > 5):
                continue
            seconds = in_process(package, task, path)
            best[package] = None if seconds is None else min(before, seconds)
    return best


def whole_command(command: list[str]) -> tuple[float, float]:
    """CPU seconds and peak memory in MB of a whole command."""
    seconds, memory = float("inf"), 0.0
    for _ in range(2 * PROCESSES + 1):
        with tempfile.TemporaryFile() as out:
            process = subprocess.Popen(command, stdout=out, preexec_fn=pinned, env=ENVIRONMENT)
            _, status, usage = os.wait4(process.pid, 0)
        assert status == 0, command
        seconds = min(seconds, usage.ru_utime + usage.ru_stime)
        memory = max(memory, usage.ru_maxrss / 1024)
        if seconds > 5:
            break
    return seconds, memory


def table(title: str, rows: list[tuple[str, dict[str, float | None]]]) -> None:
    """Print figures with their ratio to gml."""
    print(f"\n**{title}**\n")
    print("| what | gml | others (times gml) |")
    print("|---|---|---|")
    for what, figures in rows:
        own = figures["gml"]
        assert own is not None
        others = ", ".join(
            f"{name} {value:.4g} ({value / own:.1f}x)"
            for name, value in figures.items()
            if name != "gml" and value is not None
        )
        print(f"| {what} | {own:.4g} | {others} |", flush=True)


def have_bnlearn() -> bool:
    """Whether R has bnlearn."""
    if shutil.which("Rscript") is None:
        return False
    return not subprocess.run(["Rscript", "-e", "library(bnlearn)"], capture_output=True).returncode


def bench_pc() -> None:
    """PC by the peers' test and rules, by ours, and what a test costs."""
    table(
        "PC in process by G with full df and first sepsets at 0.01, CPU seconds "
        "(causallearn: adjusted df; pyagrum: its own)",
        [
            ("alarm_5000", compare("pc-same", dataset("alarm", 5000), PC_PEERS)),
            ("alarm_100000", compare("pc-same", dataset("alarm", 100_000), PC_PEERS)),
            ("andes_5000", compare("pc-same", dataset("andes", 5000), PC_PEERS[:3])),
        ],
    )
    table(
        "PC in process as gml does it by default, CPU seconds",
        [
            (path.stem, compare("pc", path, PC_PEERS[:3]))
            for path in (dataset("alarm", 5000), dataset("alarm", 100_000), dataset("andes", 5000))
        ],
    )
    command = [str(GML), "pc", str(dataset("link", 5000)), "--max-cond", "3", "-q"]
    before = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    print(f"\npc link_5000 --max-cond 3, all cores: {time.monotonic() - before:.1f} s of wall time")
    cost_of_a_test()


def cost_of_a_test() -> None:
    """Microseconds a test by rows, levels and size of the conditioning set."""
    import numpy as np

    import gml
    from gml.counts.counter import TripleArray
    from gml.data.dataset import Dataset, Variable

    print("\n**One test in a batch of a thousand, microseconds of one core**\n")
    print("| rows | levels | " + " | ".join(f"given {k}" for k in range(5)) + " |")
    print("|---|---|" + "---|" * 5)
    rng = np.random.default_rng(0)
    for rows in (1000, 10_000, 100_000, 1_000_000):
        for levels in (2, 3, 5):
            names = tuple(f"v{j}" for j in range(14))
            labels = tuple(map(str, range(levels)))
            columns = tuple(rng.integers(0, levels, rows).astype(np.uint8) for _ in names)
            data = Dataset(tuple(Variable(name, labels) for name in names), columns)
            counter = gml.MemoryCounter(data, threads=1)
            shown = []
            for given in range(5):
                sets = [rng.choice(14, 2 + given, replace=False) for _ in range(1000)]
                triples = TripleArray(np.array(sets, dtype=np.int32))
                counter.statistics(triples)
                times = []
                for _ in range(3):
                    before = time.process_time()
                    counter.statistics(triples)
                    times.append(time.process_time() - before)
                shown.append(f"{min(times) * 1e3:.2g}")
            print(f"| {rows} | {levels} | " + " | ".join(shown) + " |", flush=True)


def main() -> None:
    """Run everything, or the parts named."""
    install_peers()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # As an installation does it; where Python must not write bytecode, every run would compile.
    compileall.compile_dir(HERE.parent / "gml", quiet=1)
    parts = {
        "foundation": bench_foundation,
        "pc": bench_pc,
        "models": bench_models,
        "search": bench_search,
        "check": bench_check,
    }
    for name in sys.argv[1:] or parts:
        parts[name]()


def bench_search() -> None:
    """Hill climbing against others, and GES, of which the others take minutes for alarm."""
    table(
        "Hill climbing from the empty graph by BIC in process, CPU seconds",
        [
            (path.stem, compare("hc-bic", path, ("gml", "pybnesian", "pyagrum")))
            for path in (
                *(dataset("alarm", 5000), dataset("alarm", 100_000)),
                *(dataset("hailfinder", 5000), dataset("andes", 5000), dataset("pigs", 5000)),
            )
        ],
    )
    table(
        "The same by BDeu, ess 1",
        [
            (path.stem, compare("hc-bdeu", path, ("gml", "pybnesian", "pyagrum")))
            for path in (dataset("alarm", 5000), dataset("alarm", 100_000))
        ],
    )
    table(
        "GES with turning by BIC in process, CPU seconds",
        [
            (path.stem, compare("ges-bic", path, ("gml",)))
            for path in (
                *(dataset("alarm", 5000), dataset("alarm", 100_000)),
                *(dataset("andes", 5000), dataset("pigs", 5000), dataset("link", 5000)),
            )
        ],
    )
    command = [str(GML), "ges", str(dataset("link", 5000)), "-q"]
    before = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    print(
        f"\nges link_5000, whole command, all cores: {time.monotonic() - before:.1f} s of wall time"
    )


PYAGRUM_SAMPLE = """
import sys, pyagrum as gum
net = gum.loadBN(sys.argv[1])
generator = gum.BNDatabaseGenerator(net)
generator.drawSamples(int(sys.argv[2]))
generator.toCSV(sys.argv[3])
"""


def bench_check() -> None:
    """A check of a million rows beside reading them, as whole processes."""
    rows, few = dataset("alarm", 1_000_000), dataset("alarm", 100_000)
    with tempfile.TemporaryDirectory() as folder:
        graph, model = f"{folder}/graph.json", f"{folder}/model.json"
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": True}
        subprocess.run([str(GML), "hc", str(few), "-o", graph], **quiet)
        subprocess.run([str(GML), "fit-params", str(few), graph, "-o", model], **quiet)
        accept = ["--write-baseline", f"{folder}/accepted.json", "-o", "/dev/null", "-f", "text"]
        subprocess.run([str(GML), "check", str(few), model, *accept], **quiet)
        known = ["--baseline", f"{folder}/accepted.json", "--warn-only"]
        check = [str(GML), "check", str(rows), model, *known, "-o", "/dev/null", "-f", "text"]
        read = [sys.executable, "-c", f"import gml; gml.read({str(rows)!r})"]
        reading = whole_command(read)[0]
        checking = whole_command([*check, "--threads", "1"])[0]
        print("\n**A check of alarm_1000000, whole processes, CPU seconds of one core**\n")
        print("| what | seconds | times reading |\n|---|---|---|")
        print(f"| reading the file | {reading:.3g} | 1 |")
        print(f"| gml check | {checking:.3g} | {checking / reading:.2f} |")
        walls = [float("inf")] * 2
        for _ in range(2 * PROCESSES):
            for k, command in enumerate((read, check)):
                before = time.monotonic()
                subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
                walls[k] = min(walls[k], time.monotonic() - before)
        print(
            f"\nWall time with all cores: {walls[1]:.3g} s, reading {walls[0]:.3g} s: "
            f"{walls[1] / walls[0]:.2f} times."
        )


def bench_models() -> None:
    """Scores, parameters, posteriors and rows."""
    peers = ("gml", "pybnesian", "pyagrum", "pgmpy")
    small, big = dataset("alarm", 5000), dataset("alarm", 1_000_000)
    for task, title, packages in (
        ("score-bic", "BIC of the true graph", peers),
        ("score-bdeu", "BDeu of the true graph", peers),
        ("fit-mle", "Tables of the true graph (pyagrum: with a prior of 1e-9)", peers[:3]),
    ):
        table(
            f"{title} in process, CPU seconds",
            [(path.stem, compare(task, path, packages)) for path in (small, big)],
        )
    networks = SHARED / "data" / "networks"
    if not networks.is_dir():
        print("\nno networks beside the checkout: nothing to ask or to sample")
        return
    table(
        "Posterior marginals of all nodes in process, CPU seconds",
        [
            (name, compare("marginals", networks / f"{name}.bif", ("gml", "pyagrum")))
            for name in ("asia", "alarm", "hailfinder", "andes", "pigs")
        ],
    )
    bench_sampling(networks / "alarm.bif")


def bench_sampling(model: Path) -> None:
    """A million rows of a network as a CSV file, whole commands."""
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "rows.csv")
        n = str(1_000_000)
        options = ["-n", n, "--threads", "1", "-o", out, "-q"]
        own = whole_command([str(GML), "sample", str(model), *options])
        peer = whole_command([str(PEER_PYTHON), "-c", PYAGRUM_SAMPLE, str(model), n, out])
    figures = {"gml": own[0], "pyagrum": peer[0]}
    table("Whole command, CPU seconds", [(f"sample {n} rows of alarm to CSV", figures)])
    figures = {"gml": own[1], "pyagrum": peer[1]}
    table("Peak memory, MB", [(f"sample {n} rows of alarm to CSV", figures)])


def bench_foundation() -> None:
    """Reading, counting, trees."""
    bnlearn = ["bnlearn"] if have_bnlearn() else []
    big, middle, small = (
        dataset("alarm", 1_000_000),
        dataset("alarm", 100_000),
        dataset("alarm", 5000),
    )
    asia, link = dataset("asia", 10_000), dataset("link", 5000)

    table(
        "Reading a CSV file, CPU seconds",
        [
            (
                f"{path.stem} ({path.stat().st_size >> 20} MB)",
                compare("read", path, ("gml", "pyarrow", "pandas", "pyagrum")),
            )
            for path in (middle, big)
        ],
    )
    table(
        "Chow-Liu in process, CPU seconds",
        [
            (small.stem, compare("chowliu", small, ("gml", "pyagrum", "pgmpy", *bnlearn))),
            (middle.stem, compare("chowliu", middle, ("gml", "pyagrum", *bnlearn))),
            (link.stem, compare("chowliu", link, ("gml", *bnlearn))),
        ],
    )
    table(
        "G and p-value of all pairs in process, CPU seconds (pyagrum: mutual information only)",
        [
            (path.stem, compare("pairs", path, ("gml", "pybnesian", "pyagrum")))
            for path in (small, middle)
        ],
    )
    table(
        "One test given two columns in process, CPU seconds",
        [(big.stem, compare("citest", big, ("gml", "pybnesian", "pyagrum")))],
    )
    commands, memory = [], []
    for path in (asia, big):
        own = whole_command([str(GML), "chowliu", str(path), "--threads", "1"])
        peer = whole_command([str(PEER_PYTHON), "-c", PYAGRUM_SCRIPT, str(path)])
        commands.append((f"chowliu {path.stem}", {"gml": own[0], "pyagrum": peer[0]}))
        memory.append((f"chowliu {path.stem}", {"gml": own[1], "pyagrum": peer[1]}))
    nothing = whole_command([sys.executable, "-c", "pass"])[0]
    commands.append(
        ("--help", {"gml": whole_command([str(GML), "--help"])[0], "python -c pass": nothing})
    )
    table("Whole commands, CPU seconds", commands)
    table("Peak memory, MB", memory)


if __name__ == "__main__":
    main()
