"""What every learner checks in its input."""

from __future__ import annotations

from collections.abc import Sequence

from gml.errors import UsageError, unknown_name
from gml.graph.knowledge import Knowledge
from gml.scores.base import Score, as_score


def checked_knowledge(knowledge: Knowledge | None, names: Sequence[str]) -> Knowledge:
    """Return the knowledge about some variables; contradictions and unknown names are errors."""
    knowledge = knowledge or Knowledge()
    known = set(names)
    for name in knowledge.names:
        if name not in known:
            raise UsageError(unknown_name("variable", name, names))
    knowledge.require_consistent()
    return knowledge


def limited_knowledge(score: Score, knowledge: Knowledge | None) -> Knowledge:
    """Return the knowledge with what a score demands of graphs; contradictions are errors."""
    return as_score(score).limited(knowledge or Knowledge())
