"""What `average` does over orders of the columns: the posterior probability of each edge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gml.counts.counter import Counter
from gml.data.options import Undeclared
from gml.errors import parameter
from gml.learners.averaging import Averaged, average_probabilities
from gml.learners.order_mcmc import CHAINS, ITERATIONS, OrderSample, order_mcmc
from gml.learners.order_posterior import OrderPosterior, edge_posteriors
from gml.progress import reporter
from gml.verbs.shared.chosen_methods import ChosenScore
from gml.verbs.shared.over_samples import Limits


@dataclass(frozen=True)
class Posterior:
    """All DAGs by their posterior probability, or those of sampled orders."""

    by: str
    score: ChosenScore
    max_parents: int | None
    chain: Mapping[str, Any]
    seed: int

    @property
    def undeclared(self) -> Undeclared:
        """What columns hold that nobody declared."""
        return self.score.undeclared

    @property
    def shown(self) -> dict[str, Any]:
        """What the provenance says of it."""
        chains = {}
        if self.by == "order-mcmc":
            chains = {
                "iterations": self.chain.get("iterations", ITERATIONS),
                "chains": self.chain.get("chains", CHAINS),
                "seed": self.seed,
            }
        return {**chains, "score": self.score.name, "max_parents": self.max_parents}

    def average(self, counter: Counter, limits: Limits) -> tuple[Averaged, dict[str, Any]]:
        """Average DAGs; returns the average, and what the provenance says of it."""
        settings: dict[str, Any] = {
            "max_parents": self.max_parents,
            "threads": limits.threads,
            "knowledge": limits.knowledge,
            "deadline": limits.deadline,
        }
        score = self.score.make(counter)
        found: dict[str, Any] = {}
        posterior: OrderPosterior | OrderSample
        complete = True
        if self.by == "exact":
            posterior = edge_posteriors(score, **settings)
            found["log_marginal_likelihood"] = posterior.log_marginal
        else:
            posterior = order_mcmc(score, seed=self.seed, **self.chain, **settings)
            found = {
                "candidates": posterior.candidates,
                "r_hat": posterior.r_hat,
                "r_hat_edges": posterior.r_hat_edges,
                "effective_size": posterior.effective_size,
                "largest_standard_error": float(posterior.errors.max()),
                "accepted": list(posterior.accepted),
            }
            complete = posterior.complete
            if not complete:
                found["complete"] = False
                reporter().warn(
                    f"stopped by {parameter('max_seconds')}: the orders sampled so far are averaged"
                )
        for remark in score.remarks():
            reporter().warn(remark)
        averaged = average_probabilities(
            posterior.names,
            posterior.edges,
            threshold=0.5 if limits.threshold is None else limits.threshold,
            knowledge=limits.knowledge,
        )
        found |= {"scores_computed": posterior.families, "threshold": averaged.threshold}
        return replace(averaged, complete=complete), {"prior": posterior.prior, **found}
