"""The distributions that the nodes of a drawn model show: marginals, or posteriors with priors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gml.errors import CannotAnswer
from gml.pictures.distributions import Parts
from gml.pictures.graph_picture import Bars, Bell
from gml.progress import reporter

if TYPE_CHECKING:
    from gml.model.answer import Answer
    from gml.model.conditional.field import ConditionalField
    from gml.model.mixed.mixture import NumberDistribution
    from gml.model.model import AskedModel

Distributions = dict[str, Bars | Bell]

# Parts of a mixture that are lighter are not seen in a picture.
_LEAST_WEIGHT = 1e-3


def distributions_of(
    net: AskedModel,
    nodes: Sequence[str],
    evidence: Mapping[str, Any],
    max_memory: int | None = None,
) -> Distributions:
    """Return the distribution of each node given evidence; none, with a warning, if too costly.

    Evidence is asked about for certain: what it costs too much to answer is an error.
    """
    try:
        prior = marginals_of(net, nodes, max_memory)
    except CannotAnswer as error:
        if evidence:
            raise
        reporter().warn(f"the nodes show no distributions: {error}")
        return {}
    if not evidence:
        return prior
    answer = _answer(net, nodes, evidence, max_memory)
    found = _shown(answer)
    for name, value in answer.evidence.items():
        if name in prior:
            found[name] = _observed(prior[name], value)
    return {name: _beside(found[name], prior[name]) for name in nodes}


def distributions_of_field(
    field: ConditionalField,
    nodes: Sequence[str],
    evidence: Mapping[str, Any],
    max_memory: int | None = None,
) -> Distributions:
    """Return the distributions of targets given all inputs, and what is observed."""
    from gml.model.conditional.questions import query_field

    levels = {variable.name: variable.levels or () for variable in field.variables}
    answer = query_field(field, None, evidence, max_memory=max_memory)
    found = _shown(answer)
    for name, value in {**answer.given, **answer.evidence}.items():
        if name in field.scales:
            found[name] = Bell(float(value), 0.0, observed=True)
            continue
        shares = tuple(float(level == value) for level in levels[name])
        found[name] = Bars(levels[name], shares, levels[name].index(str(value)))
    return {name: found[name] for name in nodes}


def marginals_of(net: AskedModel, nodes: Sequence[str], max_memory: int | None) -> Distributions:
    """Return the distribution of each node where nothing is known, an error if too costly."""
    return _shown(_answer(net, nodes, {}, max_memory))


def _answer(
    net: AskedModel, nodes: Sequence[str], evidence: Mapping[str, Any], max_memory: int | None
) -> Answer:
    from gml.model.query import query

    wanted = [name for name in nodes if name not in evidence]
    return query(net, wanted, evidence, each=len(wanted) > 1, max_memory=max_memory)


def _shown(answer: Answer) -> Distributions:
    from gml.model.answer import Marginals, Moments
    from gml.model.mixed.answers import MixedMarginals
    from gml.model.mixed.mixture import NumberDistribution

    if isinstance(answer, Moments):
        return {name: Bell(*answer[name]) for name in answer.names}
    assert isinstance(answer, Marginals | MixedMarginals)
    return {
        name: Bell(found.mean, found.sd, parts=_parts(found))
        if isinstance(found, NumberDistribution)
        else Bars(found.levels, tuple(found.table.tolist()))
        for name, found in answer.distributions.items()
    }


def _parts(found: NumberDistribution) -> Parts:
    """The normal distributions that one is a mixture of; none if some are points, or unknown."""
    if found.weight is None:
        return ()
    figures = zip(
        found.weight.tolist(),
        found.component_mean.tolist(),
        found.component_sd.tolist(),
        strict=True,
    )
    parts = tuple(part for part in figures if part[0] >= _LEAST_WEIGHT)
    return parts if len(parts) > 1 and all(sd > 0 for _, _, sd in parts) else ()


def _observed(before: Bars | Bell, value: str | float) -> Bars | Bell:
    if isinstance(before, Bell):
        return Bell(float(value), 0.0, observed=True)
    at = before.levels.index(str(value))
    return Bars(before.levels, tuple(float(k == at) for k in range(len(before.levels))), at)


def _beside(found: Bars | Bell, before: Bars | Bell) -> Bars | Bell:
    if isinstance(found, Bars) and isinstance(before, Bars):
        return replace(found, prior=before.shares)
    assert isinstance(found, Bell) and isinstance(before, Bell)
    return replace(found, prior=(before.mean, before.sd), prior_parts=before.parts)
