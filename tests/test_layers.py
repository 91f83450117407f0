"""Imports go strictly down, and heavy packages keep to their rooms."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "gml"

# Each room with the rooms it may use, itself and the floor aside.
FLOOR = {"errors", "ledger", "signals", "atomic", "progress", "resources", "stopping"}
MAY_USE = {
    "errors": set(),
    "ledger": {"errors"},
    "signals": set(),
    "atomic": {"errors", "ledger", "signals"},
    "progress": {"errors", "stopping"},
    "resources": {"errors"},
    "stopping": set(),
    "kernel": set(),
    "graph": set(),
    "data": {"kernel"},
    "counts": {"data", "kernel"},
    "independence": {"counts", "data", "kernel", "graph"},
    "scores": {"counts", "data", "kernel", "graph"},
    "learners": {"independence", "scores", "counts", "data", "kernel", "graph"},
    "model": {"independence", "scores", "counts", "data", "kernel", "graph"},
    "gate": {"learners", "model", "independence", "scores", "counts", "data", "kernel", "graph"},
    "formats": {"gate", "learners", "model", "independence", "scores", "counts", "data", "kernel", "graph"},
    "pictures": {"formats", "gate", "learners", "model", "independence", "scores", "counts", "data", "kernel", "graph"},
    "verbs": {"formats", "gate", "learners", "model", "independence", "scores", "counts", "data", "kernel", "graph"},
    "cli": {
        "verbs", "pictures", "formats", "gate", "learners", "model", "independence", "scores", "counts", "data", "kernel",
        "graph",
    },
}  # fmt: skip

# Packages that may be imported only in some places, and there only inside a function.
HEAVY = {
    "pandas": {"data/dataset.py", "model/answer.py", "model/network.py", "model/predict.py"},
    "networkx": {"formats/graphml.py", "graph/graph.py"},
    "pyarrow": {"counts/count_parquet.py", "data/parquet.py"},
    "zstandard": {"data/source.py"},
    "scipy": {"model/fit.py"},
    "pydot": set(),
}


def modules():
    return sorted(PACKAGE.rglob("*.py"))


def room_of(path):
    parts = path.relative_to(PACKAGE).parts
    return parts[0].removesuffix(".py")


def imports(tree):
    """(name, whether at module level and executed) of everything imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            if node.module == "gml":
                yield from ((f"gml.{alias.name}", node) for alias in node.names)
            else:
                yield node.module, node


def type_checking_nodes(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            yield from (inner for statement in node.body for inner in ast.walk(statement))


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports(path):
    room = room_of(path)
    if room == "__init__":
        return
    assert room in MAY_USE, f"{room} is a room that nobody planned"
    tree = ast.parse(path.read_text())
    for name, _ in imports(tree):
        if name.startswith("gml."):
            target = name.split(".")[1]
            if target in FLOOR and room not in FLOOR:
                continue
            if target == "__version__":
                continue
            assert target == room or target in MAY_USE[room], f"{room} must not use {target}"
        if name.split(".")[0] == "click":
            assert room == "cli"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_heavy_packages(path):
    tree = ast.parse(path.read_text())
    place = path.relative_to(PACKAGE).as_posix()
    for_types = set(map(id, type_checking_nodes(tree)))
    top = {id(node) for node in tree.body}
    for name, node in imports(tree):
        package = name.split(".")[0]
        if package in HEAVY and id(node) not in for_types:
            assert place in HEAVY[package], f"{package} does not belong in {place}"
            assert id(node) not in top, f"{package} is imported when {place} is"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_star_imports_and_a_docstring(path):
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert all(alias.name != "*" for alias in node.names)
    assert ast.get_docstring(tree), "a module says what it is for"
