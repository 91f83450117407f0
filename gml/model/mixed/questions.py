"""Questions to a network of labels and numbers: distributions, joint ones, best values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gml.errors import CannotAnswer
from gml.model.answer import Answer, Distribution
from gml.model.evidence import Circumstances
from gml.model.mixed.answers import (
    JointOfLabels,
    MixedExplanation,
    MixedJoint,
    MixedMarginals,
    MomentsOfMixtures,
)
from gml.model.mixed.inference import MixedInference, MixedPosterior
from gml.model.mixed.mixture import NumberDistribution, check_level
from gml.model.network import Network
from gml.progress import reporter


def query_mixed(
    given: Circumstances[Network],
    names: Sequence[str],
    *,
    joint: bool,
    interval: float | None = None,
    max_memory: int | None = None,
) -> Answer:
    """Return what a network says about nodes, each on its own or together.

    Labels together have their joint table, numbers their correlations, and both together the
    moments of the numbers given each configuration of the labels.
    """
    if interval is not None:
        check_level(interval)
    net = given.net
    found = MixedInference(net, max_memory=max_memory).given(given.evidence)
    if joint:
        return _joint(given, found, names)
    if not names:
        names = [name for name in net.names if name not in given.evidence]
    variables = {variable.name: variable for variable in net.variables}
    labels = [name for name in names if name not in variables or not variables[name].is_continuous]
    tables = found.label_marginals(labels)
    distributions: dict[str, Distribution | NumberDistribution] = {}
    for name in names:
        if name in tables:
            distributions[name] = Distribution(variables[name], tables[name])
        else:
            distributions[name] = _number(found, name, interval)
    return MixedMarginals(given.evidence, given.do, found.log_evidence, distributions, interval)


def _number(found: MixedPosterior, name: str, interval: float | None) -> NumberDistribution:
    number = found.number(name)
    if number.weight is None:
        if interval is not None:
            raise CannotAnswer(number.reason)
        reporter().warn(number.reason)
    return number


def _joint(given: Circumstances[Network], found: MixedPosterior, names: Sequence[str]) -> Answer:
    net = given.net
    seen, do, log_p = given.evidence, given.do, found.log_evidence
    labels = [name for name in names if name not in net.names or not _is_number(net, name)]
    numbers = [name for name in names if name not in labels]
    variables = tuple(net.variables[net.index(name)] for name in labels if name in net.names)
    if not numbers:
        return JointOfLabels(seen, do, log_p, variables, found.joint(names))
    moments = found.numbers_given_labels(numbers, labels)
    if labels:
        return MixedJoint(seen, do, log_p, variables, tuple(numbers), moments)
    pairs = {
        (name, other): None if np.isnan(moments.r[i, j]) else float(moments.r[i, j])
        for i, name in enumerate(numbers)
        for j, other in enumerate(numbers)
    }
    return MomentsOfMixtures(seen, do, log_p, tuple(numbers), moments.mean, moments.sd, pairs)


def _is_number(net: Network, name: str) -> bool:
    return net.variables[net.index(name)].is_continuous


def best_mixed(
    given: Circumstances[Network], names: Sequence[str], *, max_memory: int | None = None
) -> Answer:
    """Return the values of all nodes that are most probable together, or those of some labels."""
    posterior = MixedInference(given.net, max_memory=max_memory).given(given.evidence)
    found = posterior.best_labels(names) if names else posterior.best()
    order = names or [name for name in given.net.names if name in found.values]
    values = {name: found.values[name] for name in order}
    return MixedExplanation(given.evidence, given.do, found.log_evidence, values, found.log_density)
