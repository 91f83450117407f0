"""What `average` does over samples of the rows: learn a graph from each, and average these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gml.counts.counter import Counter
from gml.counts.memory import MemoryCounter
from gml.data.dataset import Dataset
from gml.data.options import Undeclared
from gml.data.resampling import bootstrap_samples
from gml.errors import CannotAnswer, parameter
from gml.graph.equivalence import equivalence_class
from gml.graph.graph import Graph
from gml.graph.knowledge import Knowledge
from gml.learners.averaging import Averaged, average_graphs
from gml.learners.bootstrap import half_samples, learn_replicates
from gml.learners.ges import ges
from gml.learners.hillclimb import hill_climb
from gml.learners.pc import PcResult
from gml.learners.search import SearchResult
from gml.progress import Deadline, reporter
from gml.verbs.shared.chosen_methods import ChosenScore
from gml.verbs.shared.pc_settings import PcSettings
from gml.verbs.shared.undirected_structures import ChosenStructure, Learned


@dataclass(frozen=True)
class Limits:
    """What holds for every way to average."""

    threshold: float | None
    knowledge: Knowledge
    deadline: Deadline
    threads: int | None


@dataclass(frozen=True)
class PcOnSamples:
    """PC on half-samples."""

    settings: PcSettings

    @property
    def undeclared(self) -> Undeclared:
        """What columns hold that nobody declared."""
        return self.settings.test.undeclared

    @property
    def shown(self) -> dict[str, Any]:
        """What the provenance says of it."""
        return self.settings.shown

    def samples(self, rows: Dataset, replicates: int, seed: int) -> Sequence[Dataset]:
        """The samples to learn from."""
        return half_samples(rows, replicates, seed=seed)

    def learn(self, counter: Counter, limits: Limits) -> PcResult:
        """Learn a graph from one sample."""
        return self.settings.learn(counter, 1, knowledge=limits.knowledge, deadline=limits.deadline)


@dataclass(frozen=True)
class SearchOnSamples:
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
        """What columns hold that nobody declared."""
        return self.score.undeclared

    @property
    def shown(self) -> dict[str, Any]:
        """What the provenance says of it."""
        tabu = {"tabu": self.tabu} if self.by == "hc" else {}
        return {
            "score": self.score.name,
            "max_parents": self.max_parents,
            **tabu,
            "restarts": self.restarts,
        }

    def samples(self, rows: Dataset, replicates: int, seed: int) -> Sequence[Dataset]:
        """The samples to learn from."""
        return bootstrap_samples(rows, replicates, seed=seed)

    def learn(self, counter: Counter, limits: Limits) -> SearchResult:
        """Learn a graph from one sample."""
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
class UndirectedOnSamples:
    """Undirected graphs: by a score on bootstrap samples, by tests or penalties on half-samples.

    Half-samples are those of stability selection (Meinshausen & Bühlmann 2010, J. R. Stat. Soc. B
    72:417), in complementary pairs.
    """

    structure: ChosenStructure
    seed: int

    undeclared: Undeclared = "auto"
    """What columns hold that nobody declared."""

    @property
    def shown(self) -> dict[str, Any]:
        """What the provenance says of it."""
        return self.structure.shown

    def samples(self, rows: Dataset, replicates: int, seed: int) -> Sequence[Dataset]:
        """The samples to learn from."""
        draw = half_samples if self.structure.tests else bootstrap_samples
        return draw(rows, replicates, seed=seed)

    def learn(self, counter: Counter, limits: Limits) -> Learned:
        """Learn a graph from one sample."""
        return self.structure.learn(counter, deadline=limits.deadline, threads=1, seed=self.seed)


OnSamples = PcOnSamples | SearchOnSamples | UndirectedOnSamples


def over_samples(
    counter: Counter,
    learner: OnSamples,
    replicates: int,
    seed: int,
    limits: Limits,
    what: str,
) -> tuple[Averaged, dict[str, Any]]:
    """Average the graphs of samples; returns the average, and what the provenance says of it."""

    def learn(sample: Dataset) -> Graph | None:
        try:
            result = learner.learn(MemoryCounter(sample, threads=1), limits)
        except CannotAnswer:
            # A learner without a graph until it is done; those before are averaged.
            if limits.deadline.passed:
                return None
            raise
        return result.graph if result.complete else None

    graphs = learn_replicates(
        learn,
        learner.samples(counter.require_rows(what), replicates, seed),
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
