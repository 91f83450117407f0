"""What every learner checks in its input."""

from __future__ import annotations

from collections.abc import Sequence

from gml.errors import UsageError, parameter, unknown_name
from gml.graph.knowledge import Knowledge


def checked_knowledge(knowledge: Knowledge | None, names: Sequence[str]) -> Knowledge:
    """Return the knowledge about some variables; contradictions and unknown names are errors."""
    knowledge = knowledge or Knowledge()
    known = set(names)
    for name in knowledge.names:
        if name not in known:
            raise UsageError(unknown_name("variable", name, names))
    knowledge.require_consistent()
    return knowledge


def require_not_negative(**given: int | None) -> None:
    """Refuse a number below 0, naming its parameter."""
    for name, value in given.items():
        if value is not None and value < 0:
            raise UsageError(f"{parameter(name)} must be 0 or more, not {value}")
