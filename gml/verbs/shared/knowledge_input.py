"""What a learner is told beforehand: knowledge from keywords, and from a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from gml.data.options import names_of
from gml.errors import DataError, UsageError, parameter, unknown_name
from gml.graph.knowledge import Knowledge

Arcs = Sequence[tuple[str, str]] | tuple[str, str]
"""Pairs of names, from cause to effect; or one pair."""

Tiers = Sequence[str | Sequence[str]]
"""Groups of names, from causes to effects; a plain string is a group of one."""


_FORMS = {
    "require": '[("A", "B")]',
    "forbid": '[("A", "B")]',
    "tiers": '[["A", "B"], ["C"]] for A and B before C',
}


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
    if not isinstance(knowledge, Knowledge | str | os.PathLike | None):
        raise UsageError(
            f"{parameter('knowledge')} must be a Knowledge or a path, not {knowledge!r}"
        )
    told = Knowledge(
        _arcs("require", require),
        _arcs("forbid", forbid),
        tuple(names_of("tiers", tier) for tier in _several("tiers", tiers)),
    )
    told = told.renamed(_padded_names(told.names, names))
    if isinstance(knowledge, Knowledge):
        told += knowledge
    known = set(names)
    for name in told.names:
        if name not in known:
            raise UsageError(unknown_name("column", name, names))
    if isinstance(knowledge, str | os.PathLike):
        from gml.formats.knowledge import read_knowledge

        from_file = read_knowledge(knowledge)
        for name in from_file.names:
            if name not in known:
                raise DataError(f"{os.fspath(knowledge)}: {unknown_name('column', name, names)}")
        told += from_file
    told.require_consistent()
    return told


def _arcs(keyword: str, given: object) -> tuple[tuple[str, str], ...]:
    arcs = _several(keyword, given)
    if len(arcs) == 2 and all(isinstance(name, str) for name in arcs):
        arcs = (arcs,)
    for arc in arcs:
        is_pair = isinstance(arc, list | tuple) and len(arc) == 2
        if not is_pair or not all(isinstance(name, str) for name in arc):
            raise UsageError(
                f"{parameter(keyword)} must be pairs of names, (cause, effect), not {arc!r}"
            )
    return tuple((cause, effect) for cause, effect in arcs)


def _several(keyword: str, given: object) -> tuple[Any, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise UsageError(
            f"{parameter(keyword)} must be a list, not {given!r}; for example {_FORMS[keyword]}"
        )
    return tuple(given)


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
