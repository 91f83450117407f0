"""What is said about colliders and arrows that the evidence contradicts or leaves open."""

from __future__ import annotations

from collections.abc import Sequence

from gml.errors import parameter
from gml.learners.averaging import Averaged
from gml.learners.pc import PcResult, WeighedTriple
from gml.progress import reporter


def warn_of_contradictions(triples: Sequence[WeighedTriple], what: str) -> None:
    """Name the triples in which the graph contradicts their own evidence."""
    changed = [triple for triple in triples if triple.changed]
    reasons = ((False, f"{what} contradict one another"), (True, "against knowledge"))
    for by_knowledge, why in reasons:
        some = [triple for triple in changed if triple.by_knowledge is by_knowledge]
        broken = [shown_collider(triple) for triple in some if not triple.collider]
        made = [shown_collider(triple) for triple in some if triple.collider]
        for shown, what in ((broken, "not colliders"), (made, "colliders")):
            if shown:
                reporter().warn(
                    f"{why}; the weaker evidence gave way, and these are {what}: "
                    + ", ".join(shown)
                )


def shown_collider(triple: WeighedTriple) -> str:
    """A triple as a collider."""
    return f"{triple.x} -> {triple.k} <- {triple.y}"


def warn_of_ambiguity(result: PcResult) -> None:
    """Name the triples that the tests leave open, and those of which they say both."""
    silent = [t for t in result.ambiguous if not t.disputed]
    if silent:
        reporter().warn(
            "the tests leave open whether these are colliders, so none is made without need: "
            + _shown_triples(silent)
        )
    disputed = [t for t in result.ambiguous if t.disputed]
    if disputed:
        shown = ", ".join(
            shown_collider(t) if t.collider else _shown_triples([t]) for t in disputed
        )
        reporter().warn(
            f"ambiguous: {shown}; sets with the middle variable and sets without it separate the "
            f"outer two, the larger p decides ({parameter('colliders', 'conservative')} does not)"
        )


def warn_of_average(averaged: Averaged, what: str) -> None:
    """Name what the averaged graph contradicts, and say if another might contradict less."""
    warn_of_contradictions(averaged.triples, what)
    minority = ", ".join(
        f"{source} -> {target} ({direction:.3g})" for source, target, direction in averaged.minority
    )
    if minority:
        reporter().warn(
            "arrows against the majority, as every other choice contradicts more (share of the "
            f"direction): {minority}"
            if averaged.proven
            else f"arrows against the majority (share of the direction): {minority}"
        )
    if not averaged.proven:
        reporter().warn(
            "too many combinations of arrows to compare all, so the best found was taken: another "
            "may contradict less"
        )


def _shown_triples(triples: Sequence[WeighedTriple]) -> str:
    return ", ".join(f"{t.x} - {t.k} - {t.y}" for t in triples)
