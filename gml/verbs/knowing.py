"""What a learner is told beforehand: knowledge from keywords, and from a file."""

from __future__ import annotations

import os
from collections.abc import Sequence

from gml.errors import DataError, UsageError, unknown_name
from gml.formats.knowledge import read_knowledge
from gml.graph.knowledge import Knowledge

Arcs = Sequence[tuple[str, str]]
Tiers = Sequence[Sequence[str]]


def known_of(
    names: Sequence[str],
    knowledge: Knowledge | str | os.PathLike[str] | None,
    require: Arcs = (),
    forbid: Arcs = (),
    tiers: Tiers = (),
) -> Knowledge:
    """Return what is known about variables of these names; contradictions are errors.

    Blanks at either end of a name may be left out, but not in a file.
    """
    told = Knowledge(tuple(require), tuple(forbid), tuple(tuple(tier) for tier in tiers))
    told = told.renamed(_padded_names(told.names, names))
    if isinstance(knowledge, Knowledge):
        told += knowledge
    known = set(names)
    for name in told.names:
        if name not in known:
            raise UsageError(unknown_name("column", name, names))
    if isinstance(knowledge, str | os.PathLike):
        from_file = read_knowledge(knowledge)
        for name in from_file.names:
            if name not in known:
                raise DataError(f"{os.fspath(knowledge)}: {unknown_name('column', name, names)}")
        told += from_file
    told.require_consistent()
    return told


def _padded_names(wanted: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """The columns that names mean from which blanks at either end were left out."""
    known = set(names)
    stripped: dict[str, list[str]] = {}
    for column in names:
        stripped.setdefault(column.strip(), []).append(column)
    return {
        name: stripped[name][0]
        for name in wanted
        if name not in known and len(stripped.get(name, ())) == 1
    }
