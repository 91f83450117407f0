"""Graphs scored on incomplete rows: by the likelihood of what was seen, at its maximum.

bic = ll − ½ k ln n and aic = ll − k, with n the rows that have some value and k the parameters, as
many as of a fit to complete rows. bdeu is the approximation of Cheeseman and Stutz.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gml.counts.counter import Counter
from gml.data.column_kinds import kinds_of
from gml.data.dataset import Variable
from gml.data.options import EM
from gml.errors import UsageError, listing, parameter
from gml.graph.graph import Graph
from gml.model.em.fitting import EmFit, fit_em
from gml.model.em.marginal_likelihood import NAME, cheeseman_stutz
from gml.parameters import LABELS, NUMBERS
from gml.progress import Deadline, reporter
from gml.scores.options import PENALTY
from gml.scores.ranking import ScoredGraph
from gml.verbs.shared.chosen_methods import ChosenScore
from gml.verbs.shared.em_fitting import Incomplete
from gml.verbs.shared.em_report import tell_report, written
from gml.verbs.shared.em_request import EmRequest, em_request
from gml.verbs.shared.graph_input import GivenGraph

_PRICES: dict[str, Callable[[float], float]] = {
    "loglik": lambda n: 0.0,
    "aic": lambda n: 1.0,
    "bic": lambda n: 0.5 * math.log(n),
}
"""The price of a parameter, by the number of rows."""
_BDEU = "bdeu"
_ANY = (LABELS, NUMBERS)
_ENDINGS = {(LABELS,): "", (NUMBERS,): "-g", _ANY: "-cg"}
EM_FAMILIES = {
    name: {kinds: f"{name}{ending}" for kinds, ending in _ENDINGS.items()} for name in _PRICES
}
"""The families of scores that incomplete rows have, by the kinds of the columns."""


def em_requests(
    given: Sequence[GivenGraph],
    reading: dict[str, Any],
    hidden: Mapping[str, int] | None,
    is_read: bool,
    ways: Mapping[str, Any],
    seed: int | None,
) -> list[EmRequest]:
    """What is asked of EM for each graph, whose file may say that it has hidden nodes."""
    asked = reading.get("missing")
    found = []
    how = {name: value for name, value in ways.items() if name != "max_seconds"}
    deadline = Deadline(ways["max_seconds"])
    for some in given:
        reading["missing"] = asked
        request = em_request(
            some,
            reading,
            hidden=hidden,
            is_read=is_read,
            deadline=deadline,
            seed=seed,
            others={"max_seconds": ways["max_seconds"]},
            **how,
        )
        found += [] if request is None else [request]
    if found and len(found) < len(given):
        raise UsageError("some graphs have hidden nodes and others none: they have other columns")
    return found


def em_scored(
    given: Sequence[GivenGraph],
    counter: Counter,
    requests: Sequence[EmRequest],
    chosen: Sequence[ChosenScore],
    threads: int | None,
) -> tuple[list[ScoredGraph], list[ChosenScore], float]:
    """Return the graphs with their scores, these as the columns choose them, and how many rows."""
    found = []
    scores: list[ChosenScore] = []
    rows = 0.0
    for some, request in zip(given, requests, strict=True):
        seen = [variable for variable in counter.variables if variable.name not in request.named]
        there = {variable.name for variable in seen}
        hidden = [Variable(name, ("1",)) for name in request.hidden if name not in there]
        scores = [one.for_columns([*seen, *hidden]) for one in chosen]
        require_by_em(scores, kinds_of([*seen, *hidden]))
        incomplete = Incomplete.of(counter, request, threads)
        rows = incomplete.rows.in_rows(incomplete.rows.n)
        dag = some.dag_of_kinds(counter.variables)
        of = some.name if len(given) > 1 else ""
        found.append(_scored(some.name, dag, incomplete, scores, rows, of))
    if any(one.approximations for one in found):
        reporter().tell(f"bdeu of incomplete rows is approximate, by {NAME}")
    return found, scores, rows


def _scored(
    name: str,
    dag: Graph,
    incomplete: Incomplete,
    scores: Sequence[ChosenScore],
    rows: float,
    of: str,
) -> ScoredGraph:
    fits: dict[float | None, EmFit] = {}

    def fitted(ess: float | None) -> EmFit:
        """The fit of highest likelihood, or that with this many rows of the prior bdeu."""
        if ess not in fits:
            how: dict[str, Any] = {} if ess is None else {"method": "bayes", "ess": ess}
            # Whether the model is identified is asked once.
            settings = replace(
                incomplete.request.settings, information=not fits, expected_counts=ess is not None
            )
            fits[ess] = fit_em(
                dag,
                incomplete.rows,
                hidden=incomplete.hidden,
                settings=settings,
                threads=incomplete.threads,
                **how,
            )
            if not incomplete.is_complete:
                by = [] if ess is None else [_BDEU]
                tell_report(fits[ess].report, ", ".join([*([of] if of else []), *by]))
        return fits[ess]

    values = {
        some.name: observed_score(some, fitted(prior_size(some)), rows, dag) for some in scores
    }
    first = next(iter(fits.values())).report
    is_approximate = _BDEU in values and not incomplete.is_complete
    return ScoredGraph(
        name,
        values,
        first.n_parameters,
        {},
        {},
        approximations={_BDEU: NAME} if is_approximate else {},
        em=written(first),
        in_time=all(one.report.in_time for one in fits.values()),
    )


def prior_size(some: ChosenScore) -> float | None:
    """The rows of the prior of the fit that a score is about; None for the likelihood alone."""
    ess: float | None = some.options.get("ess", 1.0) if some.name == _BDEU else None
    return ess


def price_of(some: ChosenScore, rows: float) -> float:
    """Nats that a parameter costs; for bdeu, which has no such price, that of bic."""
    price = _PRICES.get(some.name.partition("-")[0], _PRICES["bic"])(rows)
    return price * float(some.options.get(PENALTY.name, PENALTY.default))


def observed_score(some: ChosenScore, found: EmFit, rows: float, dag: Graph) -> float:
    """Return the score of a graph that was fitted to so many incomplete rows."""
    ess = prior_size(some)
    if ess is not None:
        value = cheeseman_stutz(found, ess)
    else:
        value = found.report.log_likelihood - price_of(some, rows) * found.report.n_parameters
    return value - some.edge_penalty * dag.n_edges


def require_by_em(scores: Sequence[ChosenScore], kinds: tuple[str, ...]) -> None:
    """Refuse scores that incomplete rows of such columns do not have."""
    ending = _ENDINGS.get(kinds, "")
    known = [f"{name}{ending}" for name in _PRICES] + [_BDEU] * (kinds == (LABELS,))
    others = [some.name for some in scores if some.name not in known]
    if others:
        raise UsageError(
            f"incomplete rows ({parameter('missing', EM)}, or hidden nodes) have no score by "
            f"{', '.join(others)}; use {', '.join(known)}"
        )


def refuse_beside_em(asked: Mapping[str, Any], undirected: Sequence[str]) -> None:
    """Refuse what needs scores of single nodes, or rows that were not fitted."""
    for name, value in asked.items():
        if value:
            raise UsageError(
                f"{parameter(name)} does not go with {parameter('missing', EM)} or "
                f"{parameter('hidden')}: the likelihood of incomplete rows is no sum over nodes"
                if name in ("per_node", "explain")
                else f"{parameter(name)} does not go with {parameter('missing', EM)} or "
                + parameter("hidden")
            )
    if undirected:
        raise UsageError(
            f"{listing(undirected)}: an undirected graph that is not decomposable is not fitted by "
            "EM"
        )
