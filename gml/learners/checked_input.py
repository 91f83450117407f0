"""What every learner checks in its input."""

from __future__ import annotations

from collections.abc import Sequence

from gml.counts.answers import Moments
from gml.errors import DataError, UsageError, listing, parameter, unknown_name
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


def constant_among(moments: Moments, names: Sequence[str]) -> list[str]:
    """Return the columns with only one value, by name."""
    return sorted(name for j, name in enumerate(names) if moments.cross[j][j] == 0)


def require_variance(moments: Moments, names: Sequence[str]) -> None:
    """Refuse columns with only one value, which no correlation exists of."""
    constant = constant_among(moments, names)
    if len(constant) == 1:
        raise DataError(
            f"column {listing(constant)} has only one value, so no correlation; leave it out "
            f"({parameter('exclude')})"
        )
    if constant:
        raise DataError(
            f"columns {listing(constant)} have only one value, so no correlation; leave them out "
            f"({parameter('exclude')})"
        )
