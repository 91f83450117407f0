"""Checks of a relation, without an answer yet: those of an independence, and those of an edge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gml.gate.check import EDGE, INDEPENDENCE, INSUFFICIENT, Check
from gml.gate.check_ids import edge_id, independence_id, link_id
from gml.model.baseline import Reference


def independence_check(
    u: str, v: str, given: Sequence[str], reference: Reference | None, *, rows: int
) -> Check:
    """The check of u ⟂ v | given that the new rows cannot answer, with what was accepted."""
    check = Check(
        id=independence_id(u, v, given),
        family="structure",
        kind=INDEPENDENCE,
        variables=(u, v),
        given=tuple((name, None) for name in given),
        message=f"{u} and {v}{given_text(given)}: the rows cannot tell",
        rows_new=rows,
        status=INSUFFICIENT,
    )
    if reference is None:
        return check
    nats = max(0.0, reference.statistic - reference.df) / (2 * max(1, reference.n))
    old = {"nats": nats, "statistic": reference.statistic}
    return replace(check, old=old, rows_old=reference.n)


def edge_check(source: str, target: str, others: Sequence[str], *, directed: bool = True) -> Check:
    """The check of an edge, beside other parents of its target, that the rows cannot answer."""
    return Check(
        id=edge_id(source, target) if directed else link_id(source, target),
        family="structure",
        kind=EDGE,
        variables=(source, target),
        given=tuple((name, None) for name in others),
        message=f"{edge_text(source, target, directed=directed)}: not enough rows to compare",
        status=INSUFFICIENT,
    )


def given_text(given: Sequence[str]) -> str:
    """What a relation is given, for the middle of a message; empty if nothing."""
    return f" given {', '.join(given)}" if given else ""


def edge_text(source: str, target: str, *, directed: bool = True) -> str:
    """An edge as messages have it."""
    return f"{source} {'->' if directed else '---'} {target}"


def too_weak(check: Check, *, directed: bool = True) -> str:
    """Say that an edge cannot be lost, as the model's own rows hardly show it."""
    edge = edge_text(*check.variables, directed=directed)
    return f"{edge}: too weak in the model's own rows to be missed"
