"""Record what the command lines print and write, or compare two records.

    python -m tests.recorded.record OUT.json          # with the gml of this checkout
    python -m tests.recorded.record A.json B.json     # what differs

A record has, for each line, the exit code, both streams and every file that the line made or
changed. Standard error is recorded and shown, but does not count as a difference.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.recorded.command_lines import command_lines

ROOT = Path(__file__).resolve().parent.parent.parent
_LONGEST_KEPT = 20_000


def record() -> dict[str, dict[str, object]]:
    """Run all lines; a line that stands there twice keeps its last record."""
    found: dict[str, dict[str, object]] = {}
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        (scratch / "s").symlink_to(ROOT / "sample_data")
        shared = ROOT.parent / "shared" / "data"
        if shared.is_dir():
            (scratch / "r").symlink_to(shared)
        tools = scratch / ".bin"
        tools.mkdir()
        for tool, module in (("gml", "-m gml.cli "), ("python3", "")):
            script = tools / tool
            script.write_text(f'#!/bin/sh\nexec {sys.executable} {module}"$@"\n')
            script.chmod(0o755)
        for line in command_lines():
            if " r/" not in line or shared.is_dir():
                found[line] = _run(line, scratch)
    return found


def _run(line: str, scratch: Path) -> dict[str, object]:
    before = _files(scratch)
    path = f"{scratch / '.bin'}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, cwd=scratch, env=environment, timeout=300
    )
    after = _files(scratch)
    return {
        "code": done.returncode,
        "stdout": _kept(done.stdout),
        "stderr": _kept(done.stderr),
        "files": {name: text for name, text in after.items() if before.get(name) != text},
    }


def _files(scratch: Path) -> dict[str, str]:
    return {
        str(path.relative_to(scratch)): _kept(path.read_bytes())
        for top in scratch.iterdir()
        if not top.is_symlink() and top.name != ".bin"
        for path in ([top] if top.is_file() else sorted(top.rglob("*")))
        if path.is_file()
    }


def _kept(content: bytes) -> str:
    """Text if it is short, else its hash."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = None
    if text is None or len(text) > _LONGEST_KEPT:
        return f"sha256:{hashlib.sha256(content).hexdigest()} ({len(content)} bytes)"
    return text


def compare(a: dict[str, dict[str, object]], b: dict[str, dict[str, object]]) -> int:
    """Print what differs; returns how many lines do, standard error aside."""
    differing = 0
    for line in dict.fromkeys([*a, *b]):
        old, new = a.get(line), b.get(line)
        if old == new:
            continue
        if old is None or new is None:
            print(f"=== {line}\nonly in {'the second' if old is None else 'the first'}")
            differing += 1
            continue
        differing += {**old, "stderr": ""} != {**new, "stderr": ""}
        print(f"=== {line}")
        for part in old:
            if old[part] != new[part]:
                texts = [
                    json.dumps(side[part], indent=1, ensure_ascii=False) for side in (old, new)
                ]
                lines = [text.replace("\\n", "\n").splitlines() for text in texts]
                shown = list(
                    difflib.unified_diff(*lines, f"{part} before", f"{part} after", "", "", 0, "")
                )
                print("\n".join(shown[:40]))
    print(f"{differing} of {len(b)} lines differ beyond standard error")
    return differing


def main(arguments: list[str]) -> int:
    """Record to one file, or compare two."""
    if len(arguments) == 1:
        Path(arguments[0]).write_text(json.dumps(record(), indent=1, ensure_ascii=False))
        return 0
    first, second = (json.loads(Path(name).read_text()) for name in arguments)
    return 1 if compare(first, second) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
