"""Ways to average graphs: over samples of the rows, and over all DAGs by their probability."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gml.counts.counter import Counter
from gml.counts.memory import MemoryCounter
from gml.data.dataset import Dataset
from gml.data.options import Undeclared
from gml.errors import CannotAnswer, parameter
from gml.graph.equivalence import equivalence_class
from gml.graph.graph import Graph
from gml.graph.knowledge import Knowledge
from gml.learners import bootstrap
from gml.learners.averaging import Averaged, average_graphs, average_probabilities
from gml.learners.ges import ges
from gml.learners.hillclimb import hill_climb
from gml.learners.order_mcmc import CHAINS, ITERATIONS, OrderSample, order_mcmc
from gml.learners.order_posterior import OrderPosterior, edge_posteriors
from gml.learners.pc import PcResult
from gml.learners.search import SearchResult
from gml.progress import Deadline, reporter
from gml.verbs.choosing import ChosenScore
from gml.verbs.pc import PcSettings


@dataclass(frozen=True)
class Limits:
    """What holds for every way to average."""

    threshold: float | None
    knowledge: Knowledge
    deadline: Deadline
    threads: int | None


@dataclass(frozen=True)
class PcSamples:
    """PC on half-samples."""

    settings: PcSettings

    @property
    def undeclared(self) -> Undeclared:
        return self.settings.test.undeclared

    @property
    def shown(self) -> dict[str, Any]:
        return self.settings.shown

    def samples(self, rows: Dataset, replicates: int, seed: int) -> Iterable[Dataset]:
        return bootstrap.half_samples(rows, replicates, seed=seed)

    def learn(self, counter: Counter, limits: Limits) -> PcResult:
        return self.settings.learn(counter, 1, knowledge=limits.knowledge, deadline=limits.deadline)


@dataclass(frozen=True)
class SearchSamples:
    """A search by a score on bootstrap samples."""

    by: str
    score: ChosenScore
    max_parents: int | None
    tabu: int
    restarts: int
    perturb: int | None
    seed: int

    @property
    def undeclared(self) -> Undeclared:
        return self.score.undeclared

    @property
    def shown(self) -> dict[str, Any]:
        tabu = {"tabu": self.tabu} if self.by == "hc" else {}
        return {
            "score": self.score.name,
            "max_parents": self.max_parents,
            **tabu,
            "restarts": self.restarts,
        }

    def samples(self, rows: Dataset, replicates: int, seed: int) -> Iterable[Dataset]:
        return bootstrap.bootstrap_samples(rows, replicates, seed=seed)

    def learn(self, counter: Counter, limits: Limits) -> SearchResult:
        settings: dict[str, Any] = {
            "max_parents": self.max_parents,
            "restarts": self.restarts,
            "perturb": self.perturb,
            "seed": self.seed,
            "knowledge": limits.knowledge,
            "deadline": limits.deadline,
        }
        score = self.score.make(counter)
        if self.by == "ges":
            return ges(score, **settings)
        result = hill_climb(score, tabu=self.tabu, **settings)
        # Which DAG of a class a search ends in is up to the names, the same each time: averaged, it
        # would look like certainty.
        return replace(result, graph=equivalence_class(result.dag, limits.knowledge))


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
        return self.score.undeclared

    @property
    def shown(self) -> dict[str, Any]:
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
        averaged = average_probabilities(
            posterior.names,
            posterior.edges,
            threshold=0.5 if limits.threshold is None else limits.threshold,
            knowledge=limits.knowledge,
        )
        found |= {"scores_computed": posterior.families, "threshold": averaged.threshold}
        return replace(averaged, complete=complete), {"prior": posterior.prior, **found}


def average_samples(
    counter: Counter,
    learner: PcSamples | SearchSamples,
    replicates: int,
    seed: int,
    limits: Limits,
    what: str,
) -> tuple[Averaged, dict[str, Any]]:
    """Average the graphs of samples; returns the average, and what the provenance says of it."""

    def learn(sample: Dataset) -> Graph | None:
        result = learner.learn(MemoryCounter(sample, threads=1), limits)
        return result.graph if result.complete else None

    graphs = bootstrap.learn_replicates(
        learn,
        learner.samples(counter.require_rows(what), replicates, seed),
        total=replicates,
        threads=limits.threads,
        deadline=limits.deadline,
    )
    if not graphs:
        raise CannotAnswer(
            f"{parameter('max_seconds')} was over before the first replicate was learned"
        )
    averaged = average_graphs(graphs, threshold=limits.threshold, knowledge=limits.knowledge)
    reporter().note(
        f"{averaged.replicates} replicates; edges of strength {averaged.threshold:g} or more"
    )
    found: dict[str, Any] = {"replicates": averaged.replicates, "threshold": averaged.threshold}
    if averaged.replicates == replicates:
        return averaged, found
    reporter().warn(
        f"stopped by {parameter('max_seconds')}: {averaged.replicates} of {replicates} replicates "
        "are averaged"
    )
    return replace(averaged, complete=False), {**found, "complete": False}
