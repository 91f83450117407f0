"""Read who imports whom in gml, and print the graph of its rooms that architecture.md shows.

python docs/import_graph.py            # print it; make docs writes it into the page
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parent.parent / "gml"
# From the bottom up: no room may use a later one.
ROOMS = (
    "kernel", "graph", "data", "counts", "independence", "scores", "learners", "model",
    "gate", "structural", "planning", "formats", "pictures", "verbs", "cli",
)  # fmt: skip
FLOOR = (
    "errors", "path_kinds", "printable_text", "terminal_style", "text_table", "stopping", "signals",
    "name_order", "parameters", "ledger", "resources", "atomic", "pace", "progress", "calls",
    "synonyms",
)  # fmt: skip


class Import(NamedTuple):
    """A module or a name in it that is imported: when its file is, in a call, or for types only."""

    name: str
    at_top: bool
    for_types: bool


def modules() -> list[Path]:
    """Return the Python files of gml."""
    return sorted(PACKAGE.rglob("*.py"))


def place_of(path: Path) -> str:
    """Return the path within gml, as messages and pages name it."""
    return path.relative_to(PACKAGE).as_posix()


def room_of(path: Path) -> str:
    """Return the room of a file; a file of the floor is a room of its own."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def imports_of(path: Path) -> tuple[Import, ...]:
    """Return all that a file imports; what it takes from a module of gml, by its whole name."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = set(map(id, tree.body))
    typed = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    found: list[Import] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"{place_of(path)}: imports are absolute")
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        found += [Import(name, id(node) in top, id(node) in typed) for name in names]
    return tuple(found)


def room_imported(name: str) -> str | None:
    """Return the room of gml that an import is from; None for a name of gml itself or of others."""
    parts = name.split(".")
    if parts[0] != "gml" or len(parts) == 1:
        return None
    is_room = (PACKAGE / parts[1]).is_dir() or (PACKAGE / f"{parts[1]}.py").is_file()
    return parts[1] if is_room else None


def cycles_within_rooms() -> list[tuple[str, ...]]:
    """Return the sets of modules of one room that need one another, wherever they import."""
    by_name = {
        ".".join(("gml", *place_of(path).removesuffix(".py").split("/"))).removesuffix(
            ".__init__"
        ): path
        for path in modules()
    }
    needs = {}
    for module, path in by_name.items():
        found = set()
        for name, _, for_types in imports_of(path):
            target = name if name in by_name else name.rpartition(".")[0]
            if not for_types and target in by_name and target != module:
                found.add(target)
        needs[module] = sorted(n for n in found if room_of(by_name[n]) == room_of(path))
    reached = {module: _reached(module, needs) for module in needs}
    knots = {
        tuple(sorted(place_of(by_name[other]) for other in some if module in reached[other]))
        for module, some in reached.items()
        if module in some
    }
    return sorted(knots)


def _reached(start: str, needs: dict[str, list[str]]) -> set[str]:
    found: set[str] = set()
    to_see = [start]
    while to_see:
        for other in needs[to_see.pop()]:
            if other not in found:
                found.add(other)
                to_see.append(other)
    return found


def import_graph() -> str:
    """Return the rooms from the top down, each with those that it uses when it runs."""
    uses: dict[str, set[str]] = {}
    for path in modules():
        seen = uses.setdefault(room_of(path), set())
        seen |= {
            room_imported(found.name) or "" for found in imports_of(path) if not found.for_types
        }
    lines = []
    for room in reversed(ROOMS):
        if room in uses:
            below = [other for other in reversed(ROOMS) if other in uses[room] - {room}]
            lines.append(f"{room:<13}→ {', '.join(below) or 'the floor alone'}")
    for room in reversed(FLOOR):
        below = [other for other in reversed(FLOOR) if other in uses[room] - {room}]
        lines.append(f"{room:<13}→ {', '.join(below) or 'nothing'}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(import_graph(), end="")
