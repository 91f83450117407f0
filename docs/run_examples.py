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
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


def refreshed(text: str) -> str:
    """Return a page with the output of its examples as it is now."""
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copytree(ROOT / "sample_data", Path(scratch) / "sample_data")
        return _BLOCK.sub(lambda match: f"```console\n{_run(match[1], scratch)}```", text)


def _run(block: str, folder: str) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    out = []
    for line in block.splitlines():
        if line.startswith("$ "):
            done = subprocess.run(
                ["bash", "-c", line[2:]],
                cwd=folder,
                env={**os.environ, "PATH": path},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=120,
            )
            out.append(f"{line}\n{done.stdout}")
    return "".join(out)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(refreshed(page.read_text(encoding="utf-8")), encoding="utf-8")
