"""Run the examples of the documentation and write down what they print.

Blocks marked `console` hold lines `$ command` and what the command prints, both streams together.

    python docs/run_examples.py            # or: make docs
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


def refreshed(text: str, run: Callable[[str, str], str] | None = None) -> str:
    """Return a page with the output of its examples as it is now.

    `run` gets a command and a folder, and returns what it prints there; by default in a shell.
    """
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copytree(ROOT / "sample_data", Path(scratch) / "sample_data")
        return _BLOCK.sub(
            lambda match: f"```console\n{_outputs(match[1], scratch, run or in_a_shell)}```", text
        )


def in_a_shell(command: str, folder: str) -> str:
    """Run a command in a folder, with gml on the path; returns both streams together."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    return done.stdout


def _outputs(block: str, folder: str, run: Callable[[str, str], str]) -> str:
    lines = [line for line in block.splitlines() if line.startswith("$ ")]
    return "".join(f"{line}\n{run(line[2:], folder)}" for line in lines)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(refreshed(page.read_text(encoding="utf-8")), encoding="utf-8")
