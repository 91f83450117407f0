"""The tests themselves: what two files need stands in one place."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent


def trees():
    for path in sorted(HERE.rglob("*.py")):
        yield path.relative_to(HERE).as_posix(), ast.parse(path.read_text())


def without_docstring(function):
    """The code of a function and of its decorators, without its name."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    parts = [*function.decorator_list, function.args, *body]
    return "\n".join(map(ast.unparse, parts))


def test_no_helper_and_no_fixture_is_written_twice():
    files = defaultdict(set)
    for name, tree in trees():
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("test_"):
                files[without_docstring(node)].add(f"{name}: {node.name}")
    assert [sorted(found) for found in files.values() if len(found) > 1] == []


def test_no_private_name_is_imported_from_the_package():
    """The compiled kernel is a module of that name."""
    found = [
        f"{name}: {node.module}.{alias.name}"
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gml")
        for alias in node.names
        if alias.name.startswith("_") and alias.name != "_kernel"
    ]
    assert found == []
