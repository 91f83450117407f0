"""Run a case in this process, and judge what it left.

What is promised of every run, whatever the input: an exit code that the command documents, never 70
and never an exception; on standard error nothing but lines of gml without control characters; if it
failed, no output; inputs as they were; no file, thread or other thing left behind; no more memory
than the budget explains. Of some runs more is asked: a second run gives the same bytes, the kernel
in Python says the same as the compiled one, what `convert` wrote reads back as the same, and what
is called JSON or XML is.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import tempfile
import threading
import traceback
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from tests.command_line import content_of, interpreter_state, standard_streams
from tests.fuzz.case import Case

# With a budget of 64 MiB: what is read is held once more as text, and pyarrow has a pool.
MOST_GROWTH = 400 << 20
_ANSWERS = {"check", "indtest", "score", "compare", "verify"}
_TIMED = {"mixture", "fit-params", "score", "average", "exact", "ges", "hc", "imap", "pc"}


@dataclass(frozen=True)
class Finding:
    """A promise that was not kept; the signature is the same for the same cause."""

    what: str
    signature: str
    detail: str


@dataclass
class Outcome:
    """What a run left."""

    code: int | None
    stdout: bytes
    stderr: bytes
    files: dict[str, bytes]
    growth: int = 0
    threads: int = 0
    raised: str = ""
    temporary: list[str] = field(default_factory=list)


class Room:
    """A scratch folder, and the three standard streams as files in it."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.temporary = folder / "temporary"
        self.temporary.mkdir(parents=True)
        tempfile.tempdir = str(self.temporary)
        os.environ["TMPDIR"] = str(self.temporary)
        self._streams = [(folder / name).open("w+b", buffering=0) for name in ("in", "out", "err")]

    def run(self, case: Case) -> Outcome:
        """Run a case from scratch."""
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        for name, content in case.files.items():
            path = self.work / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        os.chdir(self.work)
        return self.again(case)

    def again(self, case: Case) -> Outcome:
        """Run a case with the files that are there."""
        from gml.cli.main import run

        code, raised = None, ""
        threads = threading.active_count()
        with standard_streams(self._streams, case.stdin), _surroundings(case.env):
            before = _reset_peak()
            try:
                code = run(list(case.args))
            except BaseException as error:
                raised = "".join(traceback.format_exception(error))
            growth = _peak() - before
        _, out, err = self._streams
        outcome = Outcome(
            code, content_of(out), content_of(err), _files(self.work), growth, raised=raised
        )
        outcome.threads = threading.active_count() - threads
        outcome.temporary = os.listdir(self.temporary)
        for name in outcome.temporary:
            path = self.temporary / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        return outcome


@contextlib.contextmanager
def _surroundings(env: dict[str, str]) -> Iterator[None]:
    """The environment of a case, with the kernel that it asks for."""
    from gml import kernel

    kernel._loaded = None
    try:
        with interpreter_state(env):
            yield
    finally:
        kernel._loaded = None
        if hasattr(compiled := kernel.active(), "limit_instructions"):
            compiled.limit_instructions(compiled.INSTRUCTIONS[-1])


def _files(folder: Path) -> dict[str, bytes]:
    found = {}
    for parent, _, names in os.walk(os.fsencode(folder)):
        for name in names:
            path = os.path.join(parent, name)
            relative = os.fsdecode(os.path.relpath(path, os.fsencode(folder)))
            with open(path, "rb") as file:
                found[relative] = file.read()
    return found


def _reset_peak() -> int:
    """Forget the peak of memory so far; returns the memory in use."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _peak() -> int:
    return _status("VmHWM")


def _status(key: str) -> int:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(key):
                return int(line.split()[1]) * 1024
    return 0


# --- judging ---------------------------------------------------------------------------------


def codes_of(case: Case) -> set[int]:
    """The exit codes that the command documents."""
    codes = {0, 2, 3, 4}
    if case.command in _ANSWERS:
        codes.add(1)
    if case.command in _TIMED and any("--max-seconds" in word for word in case.args):
        codes.add(5)
    return codes


def examine(
    case: Case, room: Room, rng: random.Random | None = None
) -> tuple[Outcome, list[Finding]]:
    """Run a case and judge it; with a generator some runs are judged by further runs too."""
    outcome = room.run(case)
    found = judge(case, outcome)
    if any(finding.what == "code" and outcome.code == 70 for finding in found):
        debugged = room.run(case.with_(args=(case.args[0], "--debug", *case.args[1:])))
        trace = debugged.stderr.decode("utf-8", "replace")
        found = [Finding("bug", f"bug {bottom(trace)}", trace[-4000:])]
    if not found and rng is not None:
        found = list(_further(case, outcome, room, rng))
    return outcome, found


def judge(case: Case, outcome: Outcome) -> list[Finding]:
    """Compare what a run left with what is promised of every run."""
    if outcome.raised:
        return [Finding("exception", f"exception {bottom(outcome.raised)}", outcome.raised[-4000:])]
    found = []
    error = outcome.stderr.decode("utf-8", "replace")
    if outcome.code not in codes_of(case):
        found.append(Finding("code", f"code {outcome.code} by {case.command}", error[-2000:]))
    found += _judge_streams(case, outcome, error)
    found += _judge_files(case, outcome)
    if outcome.growth > MOST_GROWTH or "gml: error: out of memory" in error:
        detail = f"{outcome.growth >> 20} MiB more; {error[-300:]}"
        found.append(Finding("memory", f"memory {case.kind} {case.command}", detail))
    if outcome.threads > 0:
        found.append(
            Finding("thread", f"thread left by {case.command}", f"{outcome.threads} threads")
        )
    return found


def _judge_streams(case: Case, outcome: Outcome, error: str) -> Iterator[Finding]:
    for line in error.split("\n")[:-1] if error.endswith("\n") else error.split("\n"):
        if not line and not error:
            continue
        if not line.startswith("gml: "):
            kind = re.sub(r"[\d'\"].*", "", line.rpartition("/")[2])[:60]
            yield Finding("stderr", f"stderr {kind}", error[-2000:])
            break
        if any(unicodedata.category(c) in ("Cc", "Zl", "Zp") for c in line):
            place = case.command if case.kind in ("options", "environment") else _tail(line)
            yield Finding("control", f"control character in {place}", ascii(line[:500]))
            break
    failed = outcome.code in (2, 3, 4)
    if failed and not error:
        yield Finding("silent", f"silent {outcome.code} by {case.command}", "")
    if failed and outcome.stdout and not _may_print(case, outcome.code):
        yield Finding(
            "stdout",
            f"stdout with {outcome.code} by {case.command}",
            repr(outcome.stdout[:300]) + error[-500:],
        )


def _may_print(case: Case, code: int | None) -> bool:
    """Whether a result comes with this code: verdicts on files, tests that could not be decided, rows."""
    if case.command == "verify":
        return code == 3
    if case.command == "check":
        # Reports say why there is nothing to report on.
        return code in (3, 4)
    if case.command == "indtest":
        return code == 4 and "--expect" in case.args
    # Answers to the rows before a bad one are out already.
    return case.command == "query" and "--batch" in case.args


def _judge_files(case: Case, outcome: Outcome) -> Iterator[Finding]:
    for name, content in case.files.items():
        if outcome.files.get(name) != content:
            yield Finding("input", f"input changed by {case.command}", name)
    words = " ".join([*case.args, *case.env.values()])
    new = [name for name in outcome.files if name not in case.files]
    for name in new:
        first = name.split("/")[0]
        # Settings and options of the case may name any file, but none as temporary ones are called.
        settings = any(path.endswith(".toml") for path in case.files) or "--cpt-dir=" in case.args
        if (
            not first.startswith("out")
            and first not in words
            and not (settings and not first.startswith("."))
        ):
            yield Finding("left", f"file left by {case.command}", name)
        elif outcome.code in (2, 3, 4) and not _may_print(case, outcome.code):
            yield Finding(
                "partial",
                f"output with {outcome.code} by {case.command}",
                name + ": " + ascii(outcome.stderr[-300:]),
            )
    for name in outcome.temporary:
        yield Finding("left", f"temporary file left by {case.command}", name)
    reports = case.command == "check" and outcome.code in (3, 4) and outcome.stdout
    if outcome.code in (0, 1, 5) or reports:
        yield from _judge_formats(case, outcome)
        yield from _judge_text(case, outcome)


def _judge_text(case: Case, outcome: Outcome) -> Iterator[Finding]:
    """What is for people holds no control characters, and begins no line as commands of a CI do."""
    asked = [
        word
        for flag, word in zip(case.args, case.args[1:], strict=False)
        if flag in ("-f", "--format")
    ]
    by_default = case.command in ("check", "compare", "explain", "indtest", "score", "verify")
    if (asked[-1] if asked else "text" if by_default else "") not in ("text", "markdown", "github"):
        return
    text = outcome.stdout.decode("utf-8", "replace")
    if any(unicodedata.category(c) == "Cc" for c in text.replace("\n", "")):
        yield Finding("text", f"control character in the text of {case.command}", ascii(text[:700]))
    if asked[-1:] != ["github"] and re.search(r"^::", text, re.MULTILINE):
        yield Finding("text", f"workflow command in the text of {case.command}", ascii(text[:700]))


def _judge_formats(case: Case, outcome: Outcome) -> Iterator[Finding]:
    """JSON is strict JSON and XML is XML, where the command line says that it is one."""
    asked = [
        word
        for flag, word in zip(case.args, case.args[1:], strict=False)
        if flag in ("-f", "--format")
    ]
    other = case.env or {"--batch", "--depfile", "--report"} & {
        word.split("=")[0] for word in case.args
    }
    if other or case.command in ("sample", "rake", "count", "merge"):
        return
    texts = {
        name: text
        for name, text in outcome.files.items()
        if name in ("out.json", "out.graphml", "out.svg") and not asked
    }
    if (
        asked
        and asked[-1] == "json"
        and not {"-o", "--output"} & set(case.args)
        and case.command != "convert"
    ):
        texts["standard output.json"] = outcome.stdout
    for name, text in texts.items():
        try:
            if name.endswith(".json"):
                json.loads(text.decode("utf-8"), parse_constant=_no_constant)
            else:
                ElementTree.fromstring(text)
        except (ValueError, SyntaxError) as error:
            yield Finding(
                "format",
                f"format {Path(name).suffix} by {case.command}",
                f"{name}: {error}: {text[:200]!r}",
            )


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _shape(line: str) -> str:
    """A message without what differs from case to case."""
    line = re.sub(r"'[^']*'|\"[^\"]*\"|[^\x20-\x7e]+", "…", line)
    return re.sub(r"\d+", "0", line)[:90]


def _tail(line: str) -> str:
    """The end of a message, behind the last place where an input is quoted."""
    return re.split(r"[^\x20-\x7e]", line)[-1].rpartition("'")[2][-60:] or _shape(line)


def bottom(trace: str) -> str:
    """The exception and the last place in gml that a traceback names."""
    frames = re.findall(r'File "[^"]*?/gml/([^"]+)", line (\d+),? in (\w+)', trace)
    place = "{0}:{2}".format(*frames[-1]) if frames else "?"
    lines = [
        line
        for line in trace.strip().split("\n")
        if re.match(r"[\w.]+(Error|Exception|Exit|Interrupt|Warning)\b", line)
    ]
    return f"{lines[-1].split(':')[0] if lines else '?'} in {place}"


# --- further runs -----------------------------------------------------------------------------


def _further(case: Case, outcome: Outcome, room: Room, rng: random.Random) -> Iterator[Finding]:
    from tests.fuzz.kinds import KINDS

    timed = any("--max-seconds" in word for word in case.args)
    if rng.random() < 0.1 and not timed:
        yield from _difference("twice", case, outcome, room.run(case))
    if KINDS[case.kind].same_in_python and rng.random() < 0.25 and not timed:
        python = room.run(case.with_(env={**case.env, "GML_KERNEL": "reference"}))
        yield from _kernel_difference(case, outcome, python)
    if case.command == "convert" and outcome.code == 0 and rng.random() < 0.5:
        yield from _read_back(case, outcome, room)
    elif outcome.code in (0, 1) and "out.json" in outcome.files and rng.random() < 0.3:
        verified = room.run(
            Case(case.kind, ("verify", "out.json"), {"out.json": outcome.files["out.json"]})
        )
        if verified.code != 0 and b'"hash"' in outcome.files["out.json"]:
            yield Finding(
                "verify",
                f"verify refuses what {case.command} wrote",
                verified.stderr.decode()[-500:],
            )


def _difference(what: str, case: Case, one: Outcome, two: Outcome) -> Iterator[Finding]:
    # Arrow's threads may come upon one of two defects first.
    seen = (
        ("code", "stdout", "files")
        if "parquet" in case.kind
        else ("code", "stdout", "stderr", "files")
    )
    for name in seen:
        a, b = getattr(one, name), getattr(two, name)
        if a != b:
            detail = f"{name}: {str(a)[-700:]} | {str(b)[-700:]} {two.raised[-700:]}"
            yield Finding(what, f"{what} {name} by {case.command}", detail)
            return


def _kernel_difference(case: Case, one: Outcome, two: Outcome) -> Iterator[Finding]:
    """Numbers may differ in the last digits; what is read may not."""
    if one.code != two.code or one.stderr != two.stderr or case.command == "profile":
        yield from _difference("kernels", case, one, two)


def _read_back(case: Case, outcome: Outcome, room: Room) -> Iterator[Finding]:
    """What convert wrote, converted to the same format again, is the same."""
    words = set(case.args)
    target = next(
        (
            name
            for name in outcome.files
            if name in words and name.startswith("out") and name != "out.d"
        ),
        None,
    )
    if target is None or target.endswith((".txt", ".svg")) or {"-f", "--format"} & words:
        return
    written = outcome.files[target]
    # A name that does not begin as outputs do is an input.
    again = room.run(
        Case(case.kind, ("convert", f"given_{target}", target), {f"given_{target}": written})
    )
    second = again.files.get(target, b"")
    if target.endswith(".json"):
        written, second = (_without_hash(text) for text in (written, second))
    if again.code != 0 or second != written:
        detail = f"{again.code} {again.stderr.decode()[-500:]} {written[:400]!r} | {second[:400]!r}"
        yield Finding(
            "read back",
            f"read back {Path(target).suffix} {again.code} {_shape(again.stderr.decode())[:60]}",
            detail,
        )


def _without_hash(text: bytes) -> bytes:
    try:
        tree = json.loads(text)
        tree.pop("hash", None)
        tree.get("graph", {}).pop("hash", None)
        return json.dumps(tree).encode()
    except (ValueError, AttributeError):
        return text
