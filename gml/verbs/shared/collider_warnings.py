"""What is said about colliders that the evidence contradicts."""

from __future__ import annotations

from collections.abc import Sequence

from gml.learners.pc import WeighedTriple
from gml.progress import reporter


def warn_of_contradictions(triples: Sequence[WeighedTriple], what: str) -> None:
    """Name the triples in which the graph contradicts their own evidence."""
    changed = [triple for triple in triples if triple.changed]
    reasons = ((False, f"{what} contradict one another"), (True, "against knowledge"))
    for by_knowledge, why in reasons:
        some = [triple for triple in changed if triple.by_knowledge is by_knowledge]
        broken = [shown_collider(triple) for triple in some if not triple.collider]
        made = [shown_collider(triple) for triple in some if triple.collider]
        if broken:
            reporter().warn(f"{why}; the weaker gave way, no collider: {', '.join(broken)}")
        if made:
            reporter().warn(f"{why}; the weaker gave way, a collider: {', '.join(made)}")


def shown_collider(triple: WeighedTriple) -> str:
    """A triple as a collider."""
    return f"{triple.x} -> {triple.k} <- {triple.y}"
