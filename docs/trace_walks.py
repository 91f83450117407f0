"""Follow commands through gml: its files in the order in which they are first called.

python docs/trace_walks.py             # print the walks; make docs writes them into architecture.md
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
import os
import pkgutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType

import gml

PACKAGE = Path(gml.__file__).resolve().parent
ROOT = PACKAGE.parent
# One thread, as the order of calls must not depend on how threads are scheduled.
WALKS = (
    "pc sample_data/asia.csv --threads 1 -f text",
    "ges sample_data/asia.csv --threads 1 -f text",
    "check sample_data/asia.csv {model} --threads 1",
)
_MODEL = "fit-params sample_data/asia.csv sample_data/asia.dot -o {model}"


def walks() -> str:
    """Return all walks, as a part of a page; each is taken in a process of its own."""
    parts = []
    with tempfile.TemporaryDirectory() as scratch:
        model = str(Path(scratch) / "model.json")
        _traced(_MODEL.format(model=model))
        for line in WALKS:
            shown = line.replace("{model}", "model.json").replace(" --threads 1", "")
            parts.append(f"`gml {shown}`\n\n```text\n{_traced(line.format(model=model))}```\n")
    return "\n".join(parts)


def _traced(line: str) -> str:
    """Walk in a fresh process, where nothing is kept from before and no setting comes in."""
    done = subprocess.run(
        [sys.executable, __file__, *line.split()],
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if not k.startswith("GML_")},
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    )
    return done.stdout


def walk(args: list[str]) -> str:
    """Run a command and return the files that it calls, with the first function called in each."""
    _import_all()
    first: dict[str, str] = {}

    def look(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(PACKAGE)):
            place = Path(code.co_filename).relative_to(PACKAGE).as_posix()
            # Without a compiler the same work is done by the reference, which is no other walk.
            if not place.startswith("kernel/reference/"):
                first.setdefault(place, code.co_qualname.replace(".<locals>", ""))

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        _run_quietly(args)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    widths = [max(map(len, column)) for column in (first.keys(), first.values())]
    lines = (
        f"{place:<{widths[0]}}  {function:<{widths[1]}}  {_purpose(place)}"
        for place, function in first.items()
    )
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _run_quietly(args: list[str]) -> None:
    from gml.cli.main import run

    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), encoding="utf-8")):
        code = run(args)
    if code not in (0, 1):
        raise SystemExit(f"gml {' '.join(args)} ended with {code}")


def _import_all() -> None:
    """Import every module, so that what runs on import is no part of a walk."""
    for found in pkgutil.walk_packages(gml.__path__, "gml."):
        if not found.name.endswith(("__main__", "_kernel")):
            importlib.import_module(found.name)


def _purpose(place: str) -> str:
    """Return the first line of what a file says of itself."""
    docstring = ast.get_docstring(ast.parse((PACKAGE / place).read_text(encoding="utf-8")))
    return (docstring or "").partition("\n")[0]


if __name__ == "__main__":
    print(walk(sys.argv[1:]) if sys.argv[1:] else walks(), end="")
