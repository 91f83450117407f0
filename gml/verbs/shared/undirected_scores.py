"""Scores of undirected graphs and models that no DAG stands for: by maximum likelihood.

A decomposable graph is scored as a DAG with the same edges and no colliders, by every score that
gives equivalent DAGs the same value. Others have no closed form: their terms are fitted, and scores
that only need the likelihood and the number of parameters are known of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from gml.counts.counter import Counter, rows_counted
from gml.errors import UsageError, parameter
from gml.graph.chordal import maximal_cliques, perfect_sequence
from gml.progress import reporter
from gml.scores.options import PENALTY
from gml.scores.ranking import ScoredGraph
from gml.verbs.shared.chosen_methods import ChosenScore
from gml.verbs.shared.graph_input import GivenGraph

Factors = list[tuple[str, ...]]
"""The largest terms of a model, by name."""

_BY_LIKELIHOOD: dict[str, Callable[[float], float]] = {
    "loglik": lambda n: 0.0,
    "aic": lambda n: 1.0,
    "bic": lambda n: 0.5 * math.log(n),
}
"""The price of a parameter, by the number of rows."""


def factors_to_fit(given: GivenGraph) -> Factors | None:
    """Return the largest terms of an undirected graph or model; None if a DAG stands for it.

    Of a model these are its own terms, of a graph the maximal cliques.
    """
    from gml.model.markovnet import MarkovNet

    graph = given.graph
    if graph.kind != "undirected":
        return None
    if isinstance(given.model, MarkovNet):
        terms = given.model.terms
        if terms.is_decomposable:
            return None
        return [tuple(terms.names[k] for k in scope) for scope in terms.generators]
    if perfect_sequence(graph) is not None:
        return None
    return [tuple(graph.names[k] for k in clique) for clique in maximal_cliques(graph)]


def default_prior(factors: Sequence[Factors | None]) -> str:
    """Return the prior of fits that predict other rows, if none is asked for.

    That of Jeffreys counts cells, and so is not the same for tables of a DAG and for terms that
    have no closed form; the rows of bdeu are.
    """
    return "jeffreys" if all(fitted is None for fitted in factors) else "bdeu"


def warn_of_different_priors(
    prior: str, given: Sequence[GivenGraph], factors: Sequence[Factors | None]
) -> None:
    """Say so where graphs are judged under priors that cannot be compared."""
    looped = [some.name for some, fitted in zip(given, factors, strict=True) if fitted is not None]
    if prior != "bdeu" and looped and len(given) > 1:
        reporter().warn(
            f"{parameter('prior', prior)} adds rows per cell of the largest factor of {looped[0]}, "
            "which is not decomposable, and of each table of a DAG: losses are not under the same "
            f"prior; {parameter('prior', 'bdeu')} is the same for all"
        )


def require_by_likelihood(given: GivenGraph, scores: Sequence[ChosenScore]) -> None:
    """Refuse scores that are known of decomposable graphs alone."""
    others = [some.name for some in scores if some.name not in _BY_LIKELIHOOD]
    if others:
        what = "graph" if given.model is None else "model"
        raise UsageError(
            f"{given.name}: an undirected {what} that is not decomposable has no score by "
            f"{', '.join(others)}, which has no closed form for it; use "
            f"{', '.join(_BY_LIKELIHOOD)}"
        )


def fitted_scores(
    given: GivenGraph, factors: Factors, counter: Counter, scores: Sequence[ChosenScore]
) -> ScoredGraph:
    """Score an undirected model at the maximum of its likelihood."""
    from gml.model.undirected.scoring import largest_log_likelihood
    from gml.model.undirected.terms import Terms

    terms = Terms.of(counter.variables, factors)
    loglik = largest_log_likelihood(counter, terms, name=given.name)
    n, edges = rows_counted(counter), terms.graph.n_edges
    found = {}
    for some in scores:
        penalty = some.options.get(PENALTY.name, PENALTY.default)
        price = penalty * _BY_LIKELIHOOD[some.name](n)
        found[some.name] = loglik - price * terms.dimension - some.edge_penalty * edges
    return ScoredGraph(given.name, found, terms.dimension, {}, {})
