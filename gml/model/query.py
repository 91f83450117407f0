"""Questions to a model, of levels or of numbers: distributions, and best assignments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gml.errors import UsageError, parameter
from gml.model.answer import (
    Answer,
    BestValues,
    Distribution,
    Explanation,
    Joint,
    Marginals,
    Moments,
)
from gml.model.evidence import Circumstances, circumstances
from gml.model.gaussian import gaussian_posterior
from gml.model.inference import Inference
from gml.model.mixed.questions import best_mixed, query_mixed
from gml.model.model import AskedModel
from gml.model.network import Network

Names = str | Sequence[str] | None


def query(
    net: AskedModel,
    target: Names = None,
    evidence: Mapping[str, Any] | None = None,
    *,
    do: Mapping[str, Any] | None = None,
    each: bool = False,
    interval: float | None = None,
    max_memory: int | None = None,
) -> Answer:
    """Return what a model says about the target, given evidence.

    Parameters
    ----------
    net
        Of levels, of numbers or of both, with or without arrows.
    target
        A node; or several, for their joint distribution. Without it, every node that is not
        observed has its own distribution in the answer.
    evidence
        Values observed: levels, or numbers, which for a node of intervals mean the one that they
        lie in.
    do
        Values that are set by hand first, which cuts nodes off from their parents.
    each
        Whether the targets are answered one by one, not jointly.
    interval
        The probability that the outer quantiles of each number have between them, in a network of
        labels and numbers.
    max_memory
        Bytes that tables may take; by default half of what is free.

    Examples
    --------
    >>> import gml
    >>> net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
    >>> answer = query(net, "lung", {"xray": "yes"})
    >>> round(answer["lung"]["yes"], 4)
    0.4783
    >>> query(net, ["lung", "bronc"], {"xray": "yes"}).table.shape
    (2, 2)
    """
    given, names = circumstances(net, evidence, do), names_of(target)
    joint = len(names) > 1 and not each
    answer = _distributions(given, names, joint=joint, interval=interval, max_memory=max_memory)
    return replace(answer, rests_on=given.warn_of_open_arrows(names))


def _distributions(
    given: Circumstances[AskedModel],
    names: tuple[str, ...],
    *,
    joint: bool,
    interval: float | None,
    max_memory: int | None,
) -> Answer:
    mixed = as_mixed(given)
    if mixed is not None:
        _require_marginals(interval, joint=joint)
        return query_mixed(mixed, names, joint=joint, interval=interval, max_memory=max_memory)
    if interval is not None:
        raise UsageError(
            f"{parameter('interval')} is for networks of labels and numbers, or for the rows of "
            + parameter("batch")
        )
    if isinstance(given.net, Network) and given.net.is_gaussian:
        return _moments(given.net, given, names, joint=joint)
    inference = Inference(given.net, max_memory=max_memory)
    if joint:
        table, log_evidence = inference.joint(names, given.evidence)
        variables = tuple(given.net.variables[given.net.index(name)] for name in names)
        return Joint(given.evidence, given.do, log_evidence, variables, table)
    found, log_evidence = inference.posterior(given.evidence, names or None)
    distributions = {
        name: Distribution(given.net.variables[given.net.index(name)], table)
        for name, table in found.items()
    }
    return Marginals(given.evidence, given.do, log_evidence, distributions)


def best(
    net: AskedModel,
    target: Names = None,
    evidence: Mapping[str, Any] | None = None,
    *,
    do: Mapping[str, Any] | None = None,
    max_memory: int | None = None,
) -> Answer:
    """Return the most probable joint values of the target, or of all nodes not observed.

    Examples
    --------
    >>> import gml
    >>> net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
    >>> best(net, ["lung", "tub"], {"xray": "yes"})
    P(xray=yes) = 0.10317
    P(this | evidence) = 0.474069
    node  level
    lung  yes
    tub   no
    """
    given, names = circumstances(net, evidence, do), names_of(target)
    answer = _best_values(given, names, max_memory)
    return replace(answer, rests_on=given.warn_of_open_arrows(names))


def _best_values(
    given: Circumstances[AskedModel], names: tuple[str, ...], max_memory: int | None
) -> Answer:
    mixed = as_mixed(given)
    if mixed is not None:
        return best_mixed(mixed, names, max_memory=max_memory)
    if isinstance(given.net, Network) and given.net.is_gaussian:
        found = gaussian_posterior(given.net, _numbers(given), names or None)
        values = dict(zip(found.names, found.mean.tolist(), strict=True))
        return BestValues(_numbers(given), given.do, found.log_density, values)
    inference = Inference(given.net, max_memory=max_memory)
    assignment = inference.map(names, given.evidence) if names else inference.mpe(given.evidence)
    return Explanation(
        given.evidence,
        given.do,
        assignment.log_evidence,
        assignment.levels,
        min(0.0, assignment.log_probability),
    )


def names_of(target: Names) -> tuple[str, ...]:
    """Return the names asked for; a plain string is one name."""
    if target is None:
        return ()
    one = isinstance(target, str) or not isinstance(target, Iterable)
    names: tuple[Any, ...] = (target,) if one else tuple(target)
    if not all(isinstance(name, str) for name in names):
        raise UsageError(f"{parameter('target')} must be a name or a list of names, not {target!r}")
    return names


def as_mixed(given: Circumstances[AskedModel]) -> Circumstances[Network] | None:
    """Return circumstances of a network of labels and numbers as such; None for other models."""
    if not isinstance(given.net, Network) or not given.net.is_mixed:
        return None
    return Circumstances(given.net, given.do, given.evidence, given.drawn)


def _require_marginals(interval: float | None, *, joint: bool) -> None:
    if interval is not None and joint:
        raise UsageError(
            f"{parameter('interval')} is about each target by itself; say {parameter('each')}"
        )


def _numbers(given: Circumstances[AskedModel]) -> dict[str, float]:
    return {name: float(value) for name, value in given.evidence.items()}


def _moments(
    net: Network, given: Circumstances[AskedModel], names: tuple[str, ...], *, joint: bool
) -> Moments:
    """Mean and standard deviation of each node; several targets with their correlations too."""
    found = gaussian_posterior(net, _numbers(given), names or None)
    pairs = None
    if joint:
        pairs = {
            (name, other): found.r(i, j)
            for i, name in enumerate(found.names)
            for j, other in enumerate(found.names)
        }
    deviations = np.array([found.sd(k) for k in range(len(found.names))])
    return Moments(
        _numbers(given), given.do, found.log_density, found.names, found.mean, deviations, pairs
    )
