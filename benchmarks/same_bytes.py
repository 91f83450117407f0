"""The same bytes from every engine: memory, stream, Spark and count files.

    python benchmarks/same_bytes.py [--tables alarm,wide,gaps] [--engines stream,spark,counts]
        [--rows 100000] [--only TEXT] [--master 'local[2]']

Each command runs as a process of its own in memory, and then with every other engine; those with
Spark run in this process, one after the other, as Spark takes ten seconds to start. The file that a
command writes must be the same, byte for byte, but for what depends on where the rows were: the
hash of the input (`learning.data`, and those under `hash`, that of the file itself among them), and
with count files the name of DATA in a report and the reading options, which `gml count` had.

same       nothing else differs; or both refuse, in the same words
less       some fields are left out (or null), which take the rows themselves; all others are the
           same. Of checks, fewer are made, and each of them has the same numbers
refused    exit code and reason, in one line; no file is written, or a report that says the same
DIFFERENT  anything else: a defect, and the exit code of the script is 1

In the end a stream is interrupted in the middle of its passes, and one has its pipe closed.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from same_bytes_cases import TABLES, Case, Table

from tests.command_line import run_here

_GML = [sys.executable, "-m", "gml.cli"]
_WITH_HASHES = {"hash", "data"}
_SHOWN = 110
# Adjusted for the other checks of a run, and so for their number; p-values themselves are not.
_ADJUSTED = {"p_adjusted", "log10_p_adjusted", "q_value", "status"}


@dataclass(frozen=True)
class Run:
    """What a command did: its exit code, what it wrote, and its last line of errors."""

    code: int
    written: bytes
    said: str

    @property
    def refused(self) -> bool:
        """Whether there is no answer; 1 is one."""
        return self.code not in (0, 1)


class Bench:
    """Runs the cases of a table in a folder of its own."""

    def __init__(self, table: Table, folder: Path, master: str) -> None:
        self._folder, self._table, self._master = folder, table, master
        self._places = {"DATA": str(table.path)}
        self._counted: dict[str, Path] = {}
        for name, command in table.prepared.items():
            if " " not in command:
                self._places[name] = command
                continue
            made = folder / f"{name}.json"
            self._gml(self._words(command), made).require()
            self._places[name] = str(made)

    def _words(self, command: str, **places: str) -> list[str]:
        known = {**self._places, **places}
        return [known.get(word, word) for word in command.split()]

    def _gml(self, words: Sequence[str], output: Path, *, here: bool = False) -> _Done:
        output.unlink(missing_ok=True)
        whole = [*words, "-o", str(output)]
        if here:
            return _Done(run_here(whole, self._folder), output)
        return _Done(subprocess.run([*_GML, *whole], capture_output=True, check=False), output)

    def run(self, case: Case, engine: str) -> Run:
        """Run a case with an engine."""
        words = self._words(case.command)
        suffix = "parquet" if words[-1] == "parquet" else "json"
        # The suffix says so; no command but count has this format.
        words = words[:-2] if suffix == "parquet" else words
        output = self._folder / f"{engine}.{suffix}"
        if engine == "counts":
            assert case.counted is not None
            how = f"count DATA {case.reading} {case.counted}"
            if how not in self._counted:
                self._counted[how] = self._folder / f"counts{len(self._counted)}.parquet"
                self._gml(self._words(how), self._counted[how]).require()
            counted = self._counted[how]
            return self._gml(self._words(case.command, DATA=str(counted)), output).run()
        words += [*self._words(case.reading), "--engine", engine]
        if engine == "spark":
            words += ["--master", self._master]
        if engine == "beyond":
            words[-1] = "stream"
            words += ["--max-memory", str(self._table.bytes_in_memory)]
        return self._gml(words, output, here=engine == "spark").run()


@dataclass(frozen=True)
class _Done:
    process: subprocess.CompletedProcess[bytes]
    output: Path

    def run(self) -> Run:
        lines = self.process.stderr.decode().strip().splitlines()
        written = self.output.read_bytes() if self.output.exists() else b""
        said = lines[-1].replace(f"{self.output.parent}/", "") if lines else ""
        return Run(self.process.returncode, written, said)

    def require(self) -> None:
        if self.process.returncode != 0:
            raise SystemExit(f"{self.process.args}: {self.process.stderr}")


def cleared(written: bytes, *, of_counts: bool) -> Any:
    """What a command wrote without what depends on where the rows were."""
    if written.startswith(b"PAR1"):
        return _parquet(written)
    return _without(json.loads(written), of_counts) if written else None


def _parquet(written: bytes) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(pa.BufferReader(written))
    about = json.loads(table.schema.metadata[b"gml/1"])
    return [table.to_pydict(), _without(about, False)]


def _without(content: Any, of_counts: bool) -> Any:
    if isinstance(content, list):
        return [_without(part, of_counts) for part in content]
    if not isinstance(content, dict):
        return content
    left_out = _WITH_HASHES | ({"options"} if of_counts and "command" in content else set())
    return {k: _without(part, of_counts) for k, part in content.items() if k not in left_out}


def verdict(memory: Run, other: Run, engine: str) -> str:
    """Compare a run with the one in memory."""
    if memory.refused and (other.code, other.said) == (memory.code, memory.said):
        return f"same (both refuse, exit {memory.code})"
    if other.refused and not memory.refused:
        told = not other.written or _is_rejection(other)
        one_line = other.said.startswith("gml: error: ") and told
        return f"refused, exit {other.code}: {other.said[12:]}" if one_line else "DIFFERENT: failed"
    if memory.code != other.code:
        return f"DIFFERENT: exit {other.code}, not {memory.code}: {other.said}"
    of_counts = engine == "counts"
    left, right = (cleared(run.written, of_counts=of_counts) for run in (memory, other))
    if json.dumps(left) == json.dumps(right):
        return "same"
    if isinstance(left, dict) and "checks" in left:
        return _of_checks(left["checks"], right["checks"])
    lacking = _left_out(left, right, "")
    if lacking:
        return f"less: without {', '.join(sorted(lacking))}"
    return f"DIFFERENT: {_first_difference(json.dumps(left), json.dumps(right))}"


def _is_rejection(run: Run) -> bool:
    """Whether what was written is a report that has the reason alone."""
    content = json.loads(run.written)
    return not content["checks"] and content["error"]["exit"] == run.code


def _of_checks(left: list[Any], right: list[Any]) -> str:
    """Compare checks of which some were not made, or have no answer."""
    known = {check["id"]: _unadjusted(check) for check in left}
    right = [check for check in right if not _is_unanswered(check) or check in left]
    wrong = [check["id"] for check in right if known.get(check["id"]) != _unadjusted(check)]
    if wrong:
        return f"DIFFERENT: {len(wrong)} checks, such as {wrong[0]}"
    made = {check["id"] for check in right}
    lacking = {name.split(":")[0] for name in known if name not in made}
    return f"less: {len(right)} of {len(left)} checks, without some of {', '.join(sorted(lacking))}"


def _is_unanswered(check: dict[str, Any]) -> bool:
    """Whether there was nothing to look at."""
    return check["status"] == "insufficient" and check["test"] is None


def _unadjusted(check: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in check.items() if key not in _ADJUSTED}


def _left_out(left: Any, right: Any, at: str) -> set[str]:
    """The names of fields that only the first has, or nothing if something else differs."""
    if isinstance(left, dict) and isinstance(right, dict):
        if not set(right) <= set(left):
            return set()
        gone = {key for key in left if right.get(key) is None and left[key] is not None}
        parts = [(left[key], right[key], key) for key in left if key not in gone]
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        gone, parts = set(), [(a, b, at) for a, b in zip(left, right, strict=True)]
    else:
        return set()
    for a, b, key in parts:
        if a != b:
            within = _left_out(a, b, key)
            if not within:
                return set()
            gone |= within
    return gone


def _first_difference(first: str, second: str) -> str:
    pairs = zip(first, second, strict=False)
    at = next((k for k, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))
    start = max(0, at - 40)
    return f"{first[start : at + 40]!r} / {second[start : at + 40]!r}"


def interrupted(path: Path, folder: Path) -> str:
    """Interrupt a stream after some passes; nothing may be left."""
    spool = folder / "spool"
    spool.mkdir()
    words = ["hc", str(path), "--engine", "stream", "--spool", str(spool), "-v", "--tabu", "20"]
    with subprocess.Popen([*_GML, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stderr is not None
        for line in run.stderr:
            if b"pass 3:" in line:
                break
        began = time.perf_counter()
        run.send_signal(signal.SIGINT)
        written, said = run.communicate(timeout=60)
    seconds = time.perf_counter() - began
    last = said.strip().splitlines()[-1].decode()
    left = [entry.name for entry in spool.iterdir()]
    good = (run.returncode, written, last, left) == (130, b"", "gml: error: interrupted", [])
    return f"{'same' if good else 'DIFFERENT'}: exit {run.returncode} after {seconds:.1f} s, {last}"


def piped(path: Path) -> str:
    """Read one line of what a stream leads to, and close the pipe."""
    words = [*_GML, "indtest", str(path), "--all-pairs", "-f", "csv", "--engine", "stream"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout is not None and run.stderr is not None
        first = run.stdout.readline()
        run.stdout.close()
        said = run.stderr.read()
        run.wait()
    good = run.returncode == 0 and not said and first.startswith(b"x,y")
    return f"{'same' if good else 'DIFFERENT'}: exit {run.returncode} {said.decode().strip()}"


def main() -> int:
    """Print a line per command and engine, and how many were the same."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", default=",".join(TABLES))
    engines = "of stream, beyond (half of the memory would not hold the rows), spark, counts"
    parser.add_argument("--engines", default="stream,beyond,spark,counts", help=engines)
    parser.add_argument("--rows", type=int, default=100_000, help="of alarm; others have fewer")
    parser.add_argument("--only", default="", help="commands that contain this")
    parser.add_argument("--master", default="local[2]")
    given = parser.parse_args()
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    rows = {"alarm": given.rows, "wide": given.rows // 50, "gaps": given.rows // 5}
    found: Counter[tuple[str, str, str]] = Counter()
    with tempfile.TemporaryDirectory(prefix="gml-same-") as name:
        for kind in given.tables.split(","):
            folder = Path(name) / kind
            folder.mkdir()
            table = TABLES[kind](folder, rows[kind])
            bench = Bench(table, folder, given.master)
            for case in table.cases:
                if given.only not in case.title:
                    continue
                memory = bench.run(case, "memory")
                for engine in given.engines.split(","):
                    if engine == "counts" and case.counted is None:
                        continue
                    began = time.perf_counter()
                    said = verdict(memory, bench.run(case, engine), engine)
                    seconds = time.perf_counter() - began
                    found[kind, engine, said.split(",")[0].split(":")[0].split()[0]] += 1
                    title = f"{kind:6} {case.title[:70]:70}"
                    print(f"{title} {engine:7} {seconds:6.1f} s  {said[:_SHOWN]}", flush=True)
            if "stream" in given.engines and kind == "alarm" and not given.only:
                for title, said in (
                    ("Ctrl-C in the middle of passes", interrupted(table.path, folder)),
                    ("| head -1", piped(table.path)),
                ):
                    found[kind, "stream", said.split(":")[0]] += 1
                    print(f"{kind:6} {title:70} stream            {said}", flush=True)
    for (kind, engine, said), number in found.items():
        print(f"{kind:6} {engine:7} {said:10} {number:4}")
    return 1 if any(said == "DIFFERENT" for _, _, said in found) else 0


if __name__ == "__main__":
    raise SystemExit(main())
