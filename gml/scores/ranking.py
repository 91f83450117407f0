"""Graphs ranked by their scores: how good each is, and how far behind the best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from gml.counts.counter import Family
from gml.graph.graph import Graph
from gml.scores.base import DecomposableScore, FamilyScore, add_up, families_of, rounded


class Judged(Protocol):
    """How good the predictions of a column are; the lower its log loss, the better."""

    @property
    def log_loss(self) -> float: ...

    def figures(self) -> dict[str, float]: ...


@dataclass(frozen=True)
class ScoredGraph:
    """What is known about one graph; `explained` has (entropy, information) by node, in nats.

    A graph that is explained has scores by node too.
    """

    graph: str
    scores: dict[str, float]
    dim: float
    parents: dict[str, list[str]]
    dims: dict[str, float]
    differences: dict[str, float] = field(default_factory=dict)
    log10_bayes_factors: dict[str, float] = field(default_factory=dict)
    heldout: float | None = None
    heldout_by_fold: tuple[float, ...] = ()
    prediction: Judged | None = None
    """Of a column of the same rows that were held out."""
    is_baseline: bool = False
    """Whether the others are compared with this one."""
    nodes: dict[str, dict[str, float]] | None = None
    explained: dict[str, tuple[float, float]] | None = None
    approximations: Mapping[str, str] = field(default_factory=dict)
    """By what name scores are known that are not exact."""
    em: Mapping[str, Any] | None = None
    """How EM went, where rows were incomplete."""
    in_time: bool = True


def scored_graph(
    title: str,
    dag: Graph,
    scores: Sequence[DecomposableScore],
    likelihood: FamilyScore,
    *,
    per_node: bool = False,
    explain: bool = False,
) -> ScoredGraph:
    """Score a DAG, which reports call `title`."""
    names = dag.names
    families = families_of(likelihood, dag)
    values = {score.name: score.batch(families) for score in scores}
    dims = dict(zip(names, likelihood.dimensions(families).tolist(), strict=True))
    scored = ScoredGraph(
        title,
        {name: add_up(likelihood.names, families, found) for name, found in values.items()},
        sum(dims.values()),
        {name: dag.parents(name) for name in names},
        dims,
    )
    if per_node:
        of_node = {
            name: {score: float(found[k]) for score, found in values.items()}
            for k, name in enumerate(names)
        }
        scored = replace(scored, nodes=of_node)
    if explain:
        scored = replace(scored, explained=_explained(likelihood, names, families))
    return scored


def _explained(
    likelihood: FamilyScore, names: Sequence[str], families: Sequence[Family]
) -> dict[str, tuple[float, float]]:
    """H(x) and I(x;pa) of each node: the likelihood without its parents, and what they add."""
    alone = likelihood.batch([(child, ()) for child, _ in families])
    gain = likelihood.batch(families) - alone
    return {
        name: (float(-alone[k]) / likelihood.n, float(gain[k]) / likelihood.n)
        for k, name in enumerate(names)
    }


def decisive_values(scored: Sequence[ScoredGraph], score: str) -> list[float]:
    """The value that ranks a graph, rounded so that last bits never decide; higher is better."""
    return [_decisive(found, score) for found in scored]


def _decisive(scored: ScoredGraph, score: str) -> float:
    if scored.prediction is not None:
        loss = scored.prediction.log_loss
    elif scored.heldout is not None:
        loss = scored.heldout
    else:
        return rounded(scored.scores[score])
    return rounded(-loss) if math.isfinite(loss) else -loss


def ranked(
    scored: Sequence[ScoredGraph], decisive: Sequence[float], with_bayes_factors: Sequence[str]
) -> list[ScoredGraph]:
    """The best first, ties in the order given, with the difference from the best by each score."""
    if len(scored) == 1:
        return list(scored)
    best = {name: max(found.scores[name] for found in scored) for name in scored[0].scores}
    found = []
    for k in sorted(range(len(scored)), key=lambda k: -decisive[k]):
        # Graphs that a score excludes are all alike to it.
        differences = {
            name: value - best[name] if value != best[name] else 0.0
            for name, value in scored[k].scores.items()
        }
        factors = {name: differences[name] / math.log(10) for name in with_bayes_factors}
        found.append(replace(scored[k], differences=differences, log10_bayes_factors=factors))
    return found
