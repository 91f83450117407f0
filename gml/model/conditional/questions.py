"""Questions to a conditional field: given values of all inputs, it is an undirected model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gml.errors import UsageError, listing, parameter, quote
from gml.model.answer import Answer
from gml.model.evidence import resolved
from gml.model.query import Names, best, names_of, query

if TYPE_CHECKING:
    from gml.model.conditional.field import ConditionalField


def query_field(
    field: ConditionalField,
    target: Names = None,
    evidence: Mapping[str, Any] | None = None,
    *,
    do: Mapping[str, Any] | None = None,
    each: bool = False,
    max_memory: int | None = None,
) -> Answer:
    """Return what a field says about targets, given values of all inputs and maybe of targets.

    Examples
    --------
    >>> import gml
    >>> net = gml.crf("sample_data/asia.csv", target="lung", columns=["lung", "smoke", "xray"])
    >>> answer = query_field(net, "lung", {"smoke": "yes", "xray": "yes"})
    >>> round(answer["lung"]["yes"], 4), dict(answer.given)
    (0.6569, {'smoke': 'yes', 'xray': 'yes'})
    """
    names = names_of(target)
    inputs, observed = split_evidence(field, names, evidence, do)
    net = field.given(inputs)
    answer = query(net, names, observed, each=each, max_memory=max_memory)
    return replace(answer, given=inputs)


def best_of_field(
    field: ConditionalField,
    target: Names = None,
    evidence: Mapping[str, Any] | None = None,
    *,
    do: Mapping[str, Any] | None = None,
    max_memory: int | None = None,
) -> Answer:
    """Return the most probable values of targets together, or of all that are not observed."""
    names = names_of(target)
    inputs, observed = split_evidence(field, names, evidence, do)
    answer = best(field.given(inputs), names, observed, max_memory=max_memory)
    return replace(answer, given=inputs)


def split_evidence(
    field: ConditionalField,
    names: Sequence[str],
    evidence: Mapping[str, Any] | None,
    do: Mapping[str, Any] | None,
) -> tuple[dict[str, str | float], dict[str, str | float]]:
    """Return values of inputs, and of targets; refuse what a field cannot be asked."""
    if do:
        raise UsageError(
            f"{parameter('do')} cuts nodes off from their parents, and a conditional field has none"
        )
    require_targets(field, names)
    inputs = {variable.name for variable in field.inputs}
    values = resolved(field.variables, evidence)
    return (
        {name: value for name, value in values.items() if name in inputs},
        {name: value for name, value in values.items() if name not in inputs},
    )


def require_targets(field: ConditionalField, names: Sequence[str]) -> None:
    """Refuse a question about an input."""
    inputs = {variable.name for variable in field.inputs}
    for name in names:
        if name in inputs:
            known = listing(target.name for target in field.targets)
            raise UsageError(
                f"{quote(name)} is an input of the conditional field, which says nothing about it; "
                f"it can be asked about {known}"
            )
