"""Searches by a score on incomplete rows: structural EM around hc and ges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from gml.counts.memory import MemoryCounter
from gml.data.column_kinds import kinds_of
from gml.data.dataset import Dataset
from gml.graph.graph import Graph
from gml.learners.search import SearchResult
from gml.model.bayesnet import BayesNet
from gml.model.em.fitting import EmSettings, fit_em
from gml.model.fit import fit
from gml.progress import Deadline
from gml.scores.base import DecomposableScore, rounded
from gml.structural.available_forest import available_forest
from gml.structural.structural_em import Fitted, structural_em
from gml.verbs.shared.chosen_methods import ChosenScore
from gml.verbs.shared.em_report import AT_RANDOM, tell_assumption
from gml.verbs.shared.em_request import observing
from gml.verbs.shared.em_scores import observed_score, prior_size, require_by_em
from gml.verbs.shared.score_search import OpenSearch, ReadSearch

# The share of the objective that EM may leave between two searches.
_ENOUGH = 1e-7

Learner = Callable[[OpenSearch, Graph | None], SearchResult]
"""Searches by an open score, beginning with a DAG if there is one and it can do that."""


@dataclass(frozen=True)
class _Fits:
    """Fits by EM for a score."""

    rows: Dataset
    chosen: ChosenScore
    seed: int
    deadline: Deadline
    threads: int | None

    def roughly(self, dag: Graph, completed: Dataset | None) -> Fitted:
        start = None
        if completed is not None and not any(v.is_continuous for v in completed.variables):
            counter = MemoryCounter(completed, threads=self.threads)
            start = fit(dag, counter, method="bayes", prior="jeffreys")
        return self._fitted(dag, start, _ENOUGH)

    def to_the_end(self, rough: Fitted) -> Fitted:
        return self._fitted(rough.net.graph, rough.net, None)

    def _fitted(self, dag: Graph, start: BayesNet | None, enough: float | None) -> Fitted:
        ess = prior_size(self.chosen)
        prior: dict[str, Any] = {} if ess is None else {"method": "bayes", "ess": ess}
        settings = EmSettings(
            restarts=1,
            seed=self.seed,
            deadline=self.deadline,
            information=False,
            expected_counts=ess is not None,
            enough=enough,
            start=start,
        )
        found = fit_em(dag, self.rows, settings=settings, threads=self.threads, **prior)
        score = observed_score(self.chosen, found, self.rows.in_rows(self.rows.n), dag)
        return Fitted(found.net, score, found.report.log_likelihood)


def search_incomplete(
    read: ReadSearch, learn: Learner, *, seed: int, threads: int | None, start: Graph | None = None
) -> SearchResult:
    """Learn from rows with gaps; where there are none after all, as from any other table."""
    rows = read.counter.require_rows("structural EM")
    if not rows.missing:
        opened = read.over(None)
        return opened.finished(learn(opened, start))
    require_by_em([read.chosen], kinds_of(rows.variables))
    tell_assumption()
    rows = observing(rows)
    searches: list[OpenSearch] = []

    def learn_completed(completion: Dataset, begin: Graph | None) -> SearchResult:
        counter = MemoryCounter(completion.select(rows.names), threads=threads)
        searches.append(read.over(counter))
        return learn(searches[-1], begin or start)

    def score_of(some: Dataset) -> DecomposableScore:
        return read.over(MemoryCounter(some, threads=1)).score

    empty = Graph.from_edges(list(rows.names), [], kind="dag")
    firsts = [available_forest(rows, score_of), empty] if start is None else [start]
    fitting = _Fits(rows, read.chosen, seed, read.deadline, threads)
    ends = [
        structural_em(rows, first, learn_completed, fitting, seed=seed, deadline=read.deadline)
        for first in firsts
    ]
    found = max(ends, key=lambda end: rounded(end.search.score))
    rounds: list[dict[str, Any]] = [asdict(one) for one in found.rounds]
    about = {
        "missing": AT_RANDOM,
        "log_likelihood": found.fitted.log_likelihood,
        "rounds": rounds,
    }
    return searches[-1].finished(found.search, structural_em=about)
