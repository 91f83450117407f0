"""The loop: cases in child processes that may crash, hang or eat memory, and what came of them.

This process imports everything, stays single-threaded and forks. A child runs some hundred cases
under a limit of address space; before each it notes which one it is, so that a child that dies
names its case. A case that takes over 10 seconds of processor time is a finding, and so is one that
sleeps for three minutes.
"""

from __future__ import annotations

import faulthandler
import itertools
import json
import os
import pickle
import random
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.fuzz import seeds
from tests.fuzz.case import Case, case_of
from tests.fuzz.kinds import KINDS
from tests.fuzz.oracle import Finding, Room, bottom, examine

FINDINGS = Path(__file__).parent / "findings"
CASES_PER_CHILD = 300
ADDRESS_SPACE = 3 << 30
SECONDS_OF_WORK = 10.0
SECONDS_ASLEEP = 180.0
_MINIMISING_SECONDS = 20.0


def prepare(kinds: Sequence[str]) -> None:
    """Import what the commands import, and make the seeds in a child, as that may start threads."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import importlib

    import pyarrow.parquet  # noqa: F401

    from gml.cli.main import COMMANDS

    for name in COMMANDS:
        importlib.import_module(f"gml.cli.commands.{name.replace('-', '_')}")
    seeds.adopt(_in_child(lambda: seeds.make_all()))
    for kind in kinds:
        KINDS[kind].seeds()


def _in_child(function: Callable[[], Any]) -> Any:
    """The result of a function that is called in a child."""
    with tempfile.TemporaryFile() as file:
        child = os.fork()
        if not child:
            code = 1
            try:
                file.write(pickle.dumps(function()))
                file.flush()
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        if status:
            raise RuntimeError("a child that prepares failed")
        file.seek(0)
        return pickle.load(file)


class Child:
    """A child process that examines cases, and what is known of it."""

    def __init__(self, cases: Callable[[], Any], folder: Path, until: float) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=folder))
        self._progress = self.folder / "progress"
        self._progress.write_bytes(struct.pack("<q", -1))
        self.pid = os.fork()
        if not self.pid:
            self._work(cases, until)

    def _work(self, cases: Callable[[], Any], until: float) -> None:
        code = 99
        try:
            resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            trace = (self.folder / "trace").open("w")
            faulthandler.enable(trace)
            faulthandler.register(signal.SIGPROF, trace, all_threads=True, chain=True)
            room = Room(self.folder)
            with (
                self._progress.open("r+b", buffering=0) as progress,
                (self.folder / "found").open("a") as found,
            ):
                for index, case, rng in cases():
                    if time.monotonic() > until:
                        break
                    progress.seek(0)
                    progress.write(struct.pack("<q", index))
                    signal.setitimer(signal.ITIMER_PROF, SECONDS_OF_WORK)
                    outcome, findings = examine(case, room, rng)
                    signal.setitimer(signal.ITIMER_PROF, 0)
                    record = [
                        index,
                        outcome.code,
                        [[f.what, f.signature, f.detail] for f in findings],
                        outcome.growth,
                        outcome.stdout[:2000].decode("utf-8", "replace"),
                        outcome.stderr[-2000:].decode("utf-8", "replace"),
                    ]
                    found.write(json.dumps(record) + "\n")
                    found.flush()
            code = 0
        except BaseException:
            (self.folder / "failure").write_text(traceback.format_exc())
        finally:
            os._exit(code)

    def wait(self) -> tuple[list[list[Any]], int, Finding | None]:
        """Wait for the end; returns records, the last case begun, and how the child died if it did."""
        last, since = -2, time.monotonic()
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                break
            begun = self._begun()
            if begun != last:
                last, since = begun, time.monotonic()
            elif time.monotonic() - since > SECONDS_ASLEEP:
                os.kill(self.pid, signal.SIGKILL)
            time.sleep(0.005)
        records = [
            json.loads(line) for line in self._text("found").splitlines() if line.endswith("]")
        ]
        death = self._death(os.waitstatus_to_exitcode(status))
        begun = self._begun()
        shutil.rmtree(self.folder, ignore_errors=True)
        return records, begun, death

    def _begun(self) -> int:
        return int(struct.unpack("<q", self._progress.read_bytes())[0])

    def _text(self, name: str) -> str:
        path = self.folder / name
        return path.read_text(errors="replace") if path.exists() else ""

    def _death(self, code: int) -> Finding | None:
        if code == 0:
            return None
        if code == 99:
            text = self._text("failure")
            return Finding("harness", f"harness {bottom(text)}", text[-4000:])
        trace = self._text("trace")
        place = bottom("\n".join(reversed(trace.split("\n")))).rpartition(" in ")[2]
        # faulthandler has the innermost frame first.
        what = {-signal.SIGPROF: "slow", -signal.SIGKILL: "hang"}.get(code, f"died {code}")
        return Finding(what, f"{what} in {place}", trace[-4000:])


def examine_in_child(case: Case, folder: Path) -> tuple[list[Any] | None, list[Finding]]:
    """Examine one case in a child of its own."""
    cases = lambda: iter([(0, case, None)])  # noqa: E731
    records, _, death = Child(cases, folder, time.monotonic() + 10**6).wait()
    if death is not None:
        return None, [death]
    return records[0], [Finding(*found) for found in records[0][2]]


class Campaign:
    """A run over kinds for some time or some cases; keeps the first case of each signature."""

    def __init__(self, kinds: Sequence[str], seed: int, *, echo: Callable[[str], None]) -> None:
        self.kinds = list(kinds)
        self.seed = seed
        self.echo = echo
        self.n_cases = 0
        self.codes: Counter[tuple[str, Any]] = Counter()
        self.found: dict[str, tuple[Finding, Case]] = {}
        self.times: Counter[str] = Counter()
        self.most_growth = 0
        shm = Path("/dev/shm")
        base = shm if shm.is_dir() and os.access(shm, os.W_OK) else None
        self.folder = Path(tempfile.mkdtemp(prefix="gml-fuzz-", dir=base))

    def run(self, *, seconds: float | None = None, cases: int | None = None) -> None:
        """Go through the kinds in turn until the time is over, or so many cases of each are done."""
        end = time.monotonic() + (seconds if seconds is not None else 10**9)
        position = dict.fromkeys(self.kinds, 0)
        batch = CASES_PER_CHILD if seconds is None else max(20, min(CASES_PER_CHILD, int(seconds)))
        for kind in itertools.cycle(self.kinds):
            first = position[kind]
            count = batch if cases is None else min(batch, cases - first)
            if count > 0:
                position[kind] = self._batch(kind, first, count, end)
            over = cases is not None and all(done >= cases for done in position.values())
            if over or time.monotonic() >= end:
                return

    def _batch(self, name: str, first: int, count: int, end: float) -> int:
        kind = KINDS[name]
        stop = first + count
        while first < stop and time.monotonic() < end:
            begin = first

            def cases(begin: int = begin) -> Any:
                for index in range(begin, stop):
                    yield (
                        index,
                        case_of(kind, self.seed, index),
                        random.Random(f"further/{self.seed}/{index}"),
                    )

            records, begun, death = Child(cases, self.folder, end).wait()
            for index, code, findings, growth, *_ in records:
                self.n_cases += 1
                self.codes[name, code] += 1
                self.most_growth = max(self.most_growth, growth)
                for found in findings:
                    self._note(Finding(*found), name, index)
            first = stop if death is None else begun + 1
            if death is not None:
                self.n_cases += 1
                self._note(death, name, begun)
        return stop

    def _note(self, finding: Finding, kind: str, index: int) -> None:
        self.times[finding.signature] += 1
        if finding.signature in self.found:
            return
        case = case_of(KINDS[kind], self.seed, index) if index >= 0 else Case(kind, ())
        self.found[finding.signature] = finding, case
        self.echo(f"found: {finding.signature}  [{kind} {self.seed}/{index}]\n")

    def close(self) -> None:
        """Remove the scratch folder."""
        shutil.rmtree(self.folder, ignore_errors=True)


# --- making findings small ---------------------------------------------------------------------


def minimised(
    case: Case, signature: str, folder: Path, seconds: float = _MINIMISING_SECONDS
) -> tuple[Case, bool]:
    """A smaller case with the same finding, and whether the finding comes back at all."""
    end = time.monotonic() + seconds

    def fails(candidate: Case) -> bool:
        return any(found.signature == signature for found in examine_in_child(candidate, folder)[1])

    if not fails(case):
        return case, False
    needed = {word for word in case.args if word in case.files}
    for name in [name for name in case.files if name not in needed]:
        fewer = case.with_(files={k: v for k, v in case.files.items() if k != name})
        if time.monotonic() < end and fails(fewer):
            case = fewer
    for k in range(len(case.args) - 1, 0, -1):
        fewer = case.with_(args=case.args[:k] + case.args[k + 1 :])
        if time.monotonic() < end and case.args[k] not in ("--max-memory", "64M") and fails(fewer):
            case = fewer
    for name in sorted(case.files, key=lambda name: seeds.is_support(name)):
        if name.endswith(".parquet") or seeds.is_support(name):
            continue
        case = _with_less(case, name, fails, end)
    if case.stdin:
        case = case.with_(stdin=shrunk(case.stdin, lambda data: fails(case.with_(stdin=data)), end))
    return case, True


def _with_less(case: Case, name: str, fails: Callable[[Case], bool], end: float) -> Case:
    def put(data: bytes) -> Case:
        return case.with_(files={**case.files, name: data})

    return put(shrunk(case.files[name], lambda data: fails(put(data)), end))


def shrunk(data: bytes, fails: Callable[[bytes], bool], end: float) -> bytes:
    """Take out pieces, large ones first, as long as it still fails (delta debugging)."""
    size = max(1, len(data) // 2)
    while size and time.monotonic() < end:
        at, changed = 0, False
        while at < len(data) and time.monotonic() < end:
            fewer = data[:at] + data[at + size :]
            if fails(fewer):
                data, changed = fewer, True
            else:
                at += size
        if not changed or size > 1:
            size = size // 2
    return data


def write_finding(finding: Finding, case: Case, again: bool) -> Path:
    """Write a finding to its folder: the case, its files, and what went wrong."""
    import hashlib

    folder = (
        FINDINGS
        / f"{finding.what.replace(' ', '-')}-{hashlib.sha256(finding.signature.encode()).hexdigest()[:10]}"
    )
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "case.json").write_text(case.to_json())
    for name, data in case.files.items():
        path = folder / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    if case.stdin:
        (folder / "stdin").write_bytes(case.stdin)
    alone = "" if again else "Only seen after other cases in one process, or by a further run.\n"
    readme = f"{finding.signature}\n\n{case.line!a}\n\n{alone}\n{finding.detail}\n"
    (folder / "README.txt").write_text(readme, errors="backslashreplace")
    return folder


def say(text: str) -> None:
    """Write to standard error."""
    sys.stderr.write(text)
    sys.stderr.flush()
