"""Stop commands by signals while they write, hundreds of times, and look at what is left.

`python -m tests.hostile.kills 500` stops 500 runs: half of them at a random time, half at a call
that matters (the temporary file made, locked, synchronised, renamed or removed). Every kind of
output is written over an old file, and every signal is sent, some of them again and again. Then
each output must be the old file or the new one, whole, and no temporary file may be left; SIGKILL
may leave one, which the next run removes. Prints the figures, and exits 1 if a run broke a promise.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from gml.cli.entry import main

SAMPLE_DATA = Path(__file__).resolve().parent.parent.parent / "sample_data"
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGXCPU", "SIGKILL")
CALLS = ("open", "flock", "fsync", "fchmod", "replace", "unlink")
OLD = b"the old file\n"
# A run that no signal stops must not fill the disk.
_LARGEST_FILE = 100 << 20

KINDS = {
    "graph": "chowliu d.csv -o out.json",
    "depfile": "chowliu d.csv -o out.json --depfile out.d",
    "model": "fit-params d.csv g.dot -o out.json",
    "tables": "fit-params d.csv g.dot --cpt-dir tables -o out.json",
    "rows": "sample model.json -n 60000 -o out.csv",
    "answers": "query model.json --batch d.csv -t lung -o out.csv",
    "counts": "count d.csv --pairs -o out.parquet",
    "reports": "check d.csv model.json -o out.txt --report json=out.json --report junit=out.xml",
    "baseline": "check d.csv model.json -o out.txt --write-baseline out.json",
    "log": "pc d.csv -o out.json --test-log out.jsonl --sepsets out.csv",
    "trace": "hc d.csv -o out.json --trace out.csv",
    "probabilities": "average d.csv --by hc --bootstrap 4 -o out.json --probabilities out.csv",
}


class Moment(NamedTuple):
    """A call of the system, by its name and number, and whether the signal comes behind it."""

    call: str
    number: int
    behind: bool


class Stop(NamedTuple):
    """How a run is stopped: the signal, how often, and when."""

    signal: str
    times: int
    when: float | Moment
    real: bool
    """Whether it is a process of its own from the start, or a fork of this one."""


class Bench:
    """A folder with inputs, and what each kind of run writes there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("asia.csv", "asia.dot"):
            (folder / name).write_bytes((SAMPLE_DATA / name).read_bytes())
        lines = (folder / "asia.csv").read_bytes().splitlines(keepends=True)
        (folder / "d.csv").write_bytes(b"".join(lines[:1001]))
        (folder / "asia.dot").rename(folder / "g.dot")
        assert self._finished("fit-params asia.csv g.dot -o model.json") == 0
        self._inputs = set(folder.rglob("*"))
        self.new: dict[str, dict[Path, bytes]] = {}
        self.seconds: dict[str, float] = {}
        for kind in KINDS:
            began = time.monotonic()
            assert self._finished(KINDS[kind]) in (0, 1), kind
            self.seconds[kind] = time.monotonic() - began
            self.new[kind] = self._outputs()
            self._clear()

    def stopped(self, kind: str, stop: Stop) -> tuple[int, str | None]:
        """Stop a run over old files; returns how it ended and what is wrong with what is left."""
        for path in self.new[kind]:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(OLD)
        status = self._ended(KINDS[kind], stop)
        found = self._outputs()
        hidden = [path.name for path in found if path.name.startswith(".")]
        wrong = None
        if stop.signal == "SIGKILL" and hidden:
            self._finished(KINDS[kind])
            found = self._outputs()
            if found != self.new[kind]:
                wrong = f"not removed by the next run: {hidden}"
        elif hidden:
            wrong = f"left: {hidden}"
        elif {*found} != {*self.new[kind]}:
            wrong = f"there are {sorted(map(str, found))}"
        elif any(found[path] not in (OLD, new) for path, new in self.new[kind].items()):
            wrong = "neither the old file nor the new one"
        number = getattr(signal, stop.signal)
        # Ctrl-C before gml begins is Python's, which ends by the signal: 130 in a shell as well.
        ends = {0, 1, -number} | ({130} if number == signal.SIGINT else set())
        if wrong is None and status not in ends:
            wrong = f"ended with {status}"
        self._clear()
        return status, wrong

    def _outputs(self) -> dict[Path, bytes]:
        paths = [path for path in self.folder.rglob("*") if path not in self._inputs]
        return {path: path.read_bytes() for path in paths if path.is_file()}

    def _clear(self) -> None:
        for path in {*self.folder.iterdir()} - self._inputs:
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _finished(self, call: str) -> int:
        return self._ended(call, None)

    def _ended(self, call: str, stop: Stop | None) -> int:
        """Run a command, stopped or not; returns its exit code or minus the signal."""
        child = self._process(call) if stop is not None and stop.real else self._fork(call, stop)
        if stop is not None and not isinstance(stop.when, Moment):
            time.sleep(stop.when)
            for _ in range(stop.times):
                os.kill(child, getattr(signal, stop.signal))
                time.sleep(0.002)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def _process(self, call: str) -> int:
        return subprocess.Popen(
            [sys.executable, "-m", "gml.cli", *call.split()],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=_prepare,
        ).pid

    def _fork(self, call: str, stop: Stop | None) -> int:
        child = os.fork()
        if child:
            return child
        code = 70
        try:
            os.chdir(self.folder)
            _prepare()
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(nowhere, stream)
            if stop is not None and isinstance(stop.when, Moment):
                _signal_at(stop, stop.when)
            sys.argv[1:] = call.split()
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            os._exit(code)


def _prepare() -> None:
    """Give a child what a shell gives it: all signals have their default action."""
    for name in SIGNALS[1:-1]:
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_LARGEST_FILE, _LARGEST_FILE))


def _signal_at(stop: Stop, moment: Moment) -> None:
    """Let a call send the signal to its own process, and the calls that follow send it again."""
    seen, sent = 0, 0

    def send() -> None:
        nonlocal sent
        sent += 1
        os.kill(os.getpid(), getattr(signal, stop.signal))

    def patch(module: Any, name: str) -> None:
        original: Callable[..., Any] = getattr(module, name)

        def patched(*args: Any, **kwargs: Any) -> Any:
            nonlocal seen
            if isinstance(args[0], str) and not os.path.basename(args[0]).startswith("."):
                return original(*args, **kwargs)
            is_now = name == moment.call and seen == moment.number
            seen += name == moment.call
            if (is_now and not moment.behind) or 0 < sent < stop.times:
                send()
            result = original(*args, **kwargs)
            if is_now and moment.behind:
                send()
            return result

        setattr(module, name, patched)

    for name in CALLS:
        patch(fcntl if name == "flock" else os, name)


def stops(draw: random.Random, count: int, seconds: dict[str, float]) -> list[tuple[str, Stop]]:
    """Draw runs to stop: every kind with every signal, at a call and at a time, in random order."""
    lap = list(itertools.product(KINDS, SIGNALS, (False, True)))
    draw.shuffle(lap)
    places = itertools.cycle(itertools.product(CALLS, (False, True)))
    found = []
    for kind, name, at_call in itertools.islice(itertools.cycle(lap), count):
        times = draw.choice([1, 1, 3])
        if at_call:
            call, behind = next(places)
            stop = Stop(name, times, Moment(call, draw.choice([0, 0, 1]), behind), False)
        else:
            real = draw.random() < 0.25
            span = seconds[kind] + (0.4 if real else 0)
            stop = Stop(name, times, draw.uniform(0, 1.1 * span), real)
        found.append((kind, stop))
    return found


def campaign(count: int, seed: int) -> dict[str, Any]:
    """Stop runs and return the figures."""
    wrong = []
    ends: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder).resolve())
        drawn = stops(random.Random(seed), count, bench.seconds)
        for kind, stop in drawn:
            status, found = bench.stopped(kind, stop)
            ends["stopped" if status < 0 or status == 130 else "finished before"] += 1
            if found is not None:
                wrong.append(f"{kind}, {stop}: {found}")
    return {"runs": count, "seed": seed, **ends, "broken": len(wrong), "examples": wrong[:10]}


if __name__ == "__main__":
    figures = campaign(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    sys.stdout.write(json.dumps(figures, indent=1) + "\n")
    sys.exit(1 if figures["broken"] else 0)
