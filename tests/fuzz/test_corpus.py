"""The regression corpus: inputs that once were trouble, each with its command line and exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz import large
from tests.fuzz.case import BUDGET, Case

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
CORPUS = HERE / "corpus"
ENTRIES = json.loads((CORPUS / "manifest.json").read_text())

pytest.importorskip("pyarrow")
pytest.importorskip("zstandard")


def case_of(entry: dict[str, Any]) -> Case:
    """The case of an entry of the manifest; `run` is a list where a word has blanks."""
    words = entry["run"].split() if isinstance(entry["run"], str) else entry["run"]
    if "--max-memory" not in words:
        words = [words[0], "--max-memory", BUDGET, *words[1:]]
    files = {name: (CORPUS / file).read_bytes() for name, file in entry.get("files", {}).items()}
    files |= {name: getattr(large, maker)() for name, maker in entry.get("made", {}).items()}
    return Case(
        "corpus", tuple(words), files, entry.get("env", {}), entry.get("stdin", "").encode()
    )


@pytest.fixture(scope="module")
def examine() -> Iterator[Callable[[Case], dict[str, Any]]]:
    """Examine a case in a child of a process that has everything imported."""
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.fuzz", "--serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    )

    def ask(case: Case) -> dict[str, Any]:
        assert server.stdin and server.stdout
        server.stdin.write(case.to_json() + "\n")
        server.stdin.flush()
        answer = server.stdout.readline()
        assert answer, "the process that examines cases died"
        found: dict[str, Any] = json.loads(answer)
        return found

    with server:
        yield ask
        assert server.stdin
        server.stdin.close()


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry["name"] for entry in ENTRIES])
def test_corpus(entry, request, tmp_path):
    case = case_of(entry)
    if entry.get("process"):
        code, stdout, stderr = _as_process(case, tmp_path)
        assert stderr.startswith("gml: ") or not stderr
    else:
        answer = request.getfixturevalue("examine")(case)
        assert answer["findings"] == []
        _, code, _, _, stdout, stderr = answer["record"]
    assert code in entry["expect"], stderr
    if entry.get("clean"):
        # Control characters would reach a terminal, and what follows a line feed the log of a job.
        assert not any(unicodedata.category(c) == "Cc" for c in stdout.replace("\n", ""))
        assert "\n::" not in stdout


def _as_process(case: Case, folder: Path) -> tuple[int, str, str]:
    for name, content in case.files.items():
        (folder / name).write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-m", "gml.cli", *case.args],
        cwd=folder,
        env={**os.environ, **case.env},
        capture_output=True,
        timeout=60,
    )
    encoding = case.env.get("PYTHONIOENCODING", "utf-8").split(":")[0]
    return done.returncode, done.stdout.decode("utf-8"), done.stderr.decode(encoding)


def test_every_file_is_in_the_manifest():
    named = {file for entry in ENTRIES for file in entry.get("files", {}).values()}
    assert named == {path.name for path in CORPUS.iterdir()} - {"manifest.json"}
    assert len({entry["name"] for entry in ENTRIES}) == len(ENTRIES)
