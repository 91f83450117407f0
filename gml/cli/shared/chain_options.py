"""Averages over DAGs by their posterior probability: the options, and the graph that comes out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gml.cli.shared.numbers import WholeRange

if TYPE_CHECKING:
    from gml.graph.knowledge import Knowledge
    from gml.learners.averaging import Averaged
    from gml.learners.order_mcmc import OrderSample
    from gml.learners.order_posterior import OrderPosterior
    from gml.progress import Deadline
    from gml.scores.base import Score

Function = TypeVar("Function", bound=Callable[..., Any])

CHAIN_OPTIONS = ("candidates", "iterations", "burn_in", "thin", "chains")
MOST_PARENTS = 3
"""Parents of a node that order-mcmc allows unless told otherwise."""


def chain_options(function: Function) -> Function:
    """What order-mcmc does, injected as `chain` with what was given."""

    @click.option(
        "--candidates",
        type=WholeRange(min=1, max=63),
        metavar="K",
        help="Variables that may be parents of each; all of up to 17, else the 16 that tell most.",
    )
    @click.option(
        "--iterations",
        type=WholeRange(min=20),
        default=100_000,
        show_default=True,
        metavar="N",
        help="Steps of each chain of order-mcmc that count.",
    )
    @click.option(
        "--burn-in", type=WholeRange(min=0), metavar="N", help="Steps before; a fifth as many."
    )
    @click.option(
        "--thin",
        type=WholeRange(min=1),
        metavar="N",
        help="Steps from one sample to the next; a thousandth.",
    )
    @click.option(
        "--chains",
        type=WholeRange(min=4),
        default=4,
        show_default=True,
        metavar="N",
        help="Chains from orders of their own; R̂ says whether they agree.",
    )
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        chain = {name: kwargs.pop(name) for name in CHAIN_OPTIONS}
        return function(*args, chain=chain, **kwargs)

    return wrapper  # type: ignore[return-value]


def average_orders(
    score: Score,
    by: str,
    settings: dict[str, Any],
    *,
    threshold: float | None,
    knowledge: Knowledge,
    deadline: Deadline,
) -> tuple[Averaged, dict[str, Any]]:
    """Average DAGs by their posterior probability, all of them or those of sampled orders."""
    from gml.learners.averaging import average_probabilities

    found: dict[str, Any] = {}
    posterior: OrderPosterior | OrderSample
    if by == "exact":
        from gml.learners.order_posterior import edge_posteriors

        posterior = edge_posteriors(score, knowledge=knowledge, deadline=deadline, **settings)
        found["log_marginal_likelihood"] = posterior.log_marginal
    else:
        from gml.learners.order_mcmc import order_mcmc

        posterior = order_mcmc(score, knowledge=knowledge, deadline=deadline, **settings)
        found = {
            "candidates": posterior.candidates,
            "r_hat": posterior.r_hat,
            "r_hat_edges": posterior.r_hat_edges,
            "effective_size": posterior.effective_size,
            "largest_standard_error": float(posterior.errors.max()),
            "accepted": list(posterior.accepted),
        }
        if not posterior.complete:
            found["complete"] = False
    averaged = average_probabilities(
        posterior.names,
        posterior.edges,
        threshold=0.5 if threshold is None else threshold,
        knowledge=knowledge,
    )
    found |= {"scores_computed": posterior.families, "threshold": averaged.threshold}
    return averaged, {"prior": posterior.prior, **found}
