"""Searches by a score on incomplete rows: structural EM around hc and ges."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from gml.counts.memory import MemoryCounter
from gml.counts.poor_groups import poor_group
from gml.data.column_kinds import kinds_of
from gml.data.dataset import Dataset
from gml.errors import CannotAnswer, listing, parameter, quote
from gml.graph.equivalence import as_chosen
from gml.graph.graph import Graph
from gml.learners.search import SearchResult, Step, Trace
from gml.model.bayesnet import BayesNet
from gml.model.conditional_fit import NoEstimate
from gml.model.em.fitting import EmFit, EmSettings, fit_em
from gml.model.fit import fit
from gml.progress import Deadline
from gml.scores.base import DecomposableScore
from gml.structural.available_forest import available_forest, strongest_lost
from gml.structural.seen_families import FittableScore, SeenFamilies
from gml.structural.single_edges import SingleEdges, pairs_seen
from gml.structural.structural_em import Fitted, Learned, structural_em
from gml.verbs.shared.em_report import AT_RANDOM, tell_assumption
from gml.verbs.shared.em_request import observing
from gml.verbs.shared.em_scores import observed_score, price_of, prior_size, require_by_em
from gml.verbs.shared.graph_input import GivenGraph
from gml.verbs.shared.score_search import OpenSearch, ReadSearch

# The share of the objective that EM may leave between two searches, and at the end where the score
# is the height of the climb: no parameter is told.
_ENOUGH = 1e-7
_AT_THE_END = 1e-10
_LARGEST = 1e300

Learner = Callable[[OpenSearch, Graph | None, Trace | None], SearchResult]
"""Searches by an open score, beginning with a DAG if there is one and it can do that."""


def search_incomplete(
    read: ReadSearch,
    learn: Learner,
    *,
    shown: Callable[[Graph], Graph],
    seed: int,
    threads: int | None,
    start: GivenGraph | None = None,
    trace: Trace | None = None,
) -> SearchResult:
    """Learn from rows with gaps; where there are none after all, as from any other table.

    `shown` is what the search makes of a DAG for its answer.
    """
    rows = read.counter.require_rows("structural EM")
    begin = None if start is None else start.graph
    if not rows.missing:
        opened = read.over(None)
        return opened.finished(learn(opened, begin, trace))
    require_by_em([read.chosen], kinds_of(rows.variables))
    tell_assumption()
    asked = _Asked(read, learn, observing(rows), seed, threads, trace)
    asked.require_fit()
    asked.require_strongest()
    if start is None:
        firsts = [asked.forest, asked.without_edges]
    else:
        start.require_columns(rows.names)
        firsts = [asked.given(start)]
    found = structural_em(
        asked.rows,
        firsts,
        asked.learned,
        asked,
        shown=shown,
        edges=SingleEdges(
            asked.scored,
            knowledge=read.knowledge,
            max_parents=read.max_parents,
            trace=trace,
        ),
        seed=seed,
        deadline=read.deadline,
    )
    about = {
        "missing": AT_RANDOM,
        "pairs_seen": pairs_seen(asked.rows),
        "log_likelihood": found.fitted.log_likelihood,
        "start": found.start,
        "rounds": [asdict(one) for one in found.rounds],
    }
    # Changes of single edges know nothing of the class.
    dag = as_chosen(found.search.dag, read.knowledge)
    search = replace(found.search, dag=dag, graph=shown(dag))
    return read.finished(search, found.by, structural_em=about)


@dataclass
class _Asked:
    """What structural EM asks for: searches, fits and first graphs."""

    read: ReadSearch
    learn: Learner
    rows: Dataset
    seed: int
    threads: int | None
    trace: Trace | None
    seen: SeenFamilies = field(init=False)
    counter: MemoryCounter = field(init=False)
    begin: Graph | None = field(init=False, default=None)
    """Where searches begin, unless they have a graph already."""

    def __post_init__(self) -> None:
        self.counter = MemoryCounter(self.rows, threads=self.threads)
        self.seen = SeenFamilies(self.counter)

    def require_fit(self) -> None:
        """Refuse numbers that completed rows may pass, and required edges without regressions.

        Where a number has none, no graph has a score.
        """
        for variable, column in zip(self.rows.variables, self.rows.columns, strict=True):
            if variable.is_continuous and np.fmax.reduce(np.abs(column), initial=0.0) > _LARGEST:
                raise CannotAnswer(
                    f"column {quote(variable.name)} has numbers above {_LARGEST:g}, which those of "
                    "completed rows might be too large for; give it in other units"
                )
        for child, parents in self._unfit(self.without_edges()):
            if not parents:
                raise CannotAnswer(
                    f"column {quote(child)} has too few different numbers for a normal "
                    f"distribution; leave it out ({parameter('exclude', [child])})"
                )
            raise CannotAnswer(
                f"{quote(child)} given {listing(parents)}, which is required: too few rows with "
                "all of it were seen in a group of the labels, so no graph has a score; leave out "
                f"what requires it ({parameter('require')})"
            )

    def require_strongest(self) -> None:
        """Refuse tables whose strongest relation no graph could have: a part is not the whole."""
        if len(kinds_of(self.rows.variables)) < 2:
            return
        lost = strongest_lost(
            self.counter,
            self.rows,
            lambda n: price_of(self.read.chosen, n),
            self.read.knowledge,
            self.read.deadline or Deadline(),
        )
        if lost is None:
            return
        child, parent = (self.rows.names[j] for j in lost)
        why = poor_group(self.counter, lost.child, (lost.parent,))
        ways = [
            f"cut numbers into intervals ({parameter('bins', 4)})",
            f"keep complete rows alone ({parameter('missing', 'drop')})",
            f"leave out one of the two ({parameter('exclude', [parent])})",
        ]
        if not self.rows.variables[lost.parent].is_continuous:
            ways.append(f"rule the edge out ({parameter('forbid')})")
        raise CannotAnswer(
            f"no relation of these columns is stronger than that of {quote(parent)} and "
            f"{quote(child)}, and {self.read.chosen.name}, the score of incomplete rows, would "
            f"lose it: {why}; {', '.join(ways[:-1])} or {ways[-1]}"
        )

    def _unfit(self, dag: Graph) -> list[tuple[str, list[str]]]:
        """Families of a DAG that cannot be fitted to what was seen."""
        if len(kinds_of(self.rows.variables)) < 2:
            return []
        place = [self.rows.index(name) for name in dag.names]
        sets = [tuple(sorted(parents)) for parents in dag.parent_sets()]
        families = [(place[j], tuple(place[i] for i in some)) for j, some in enumerate(sets)]
        return [
            (dag.names[j], [dag.names[i] for i in sets[j]])
            for j in np.flatnonzero(~self.seen.fit(families)).tolist()
        ]

    def given(self, start: GivenGraph) -> Callable[[], Graph]:
        """The graph of the caller; searches begin there if it can be fitted."""
        dag = self.read.chosen.dag_of(start, self.rows.variables)
        self.begin = None if self._unfit(dag) else start.graph
        return lambda: dag

    def forest(self) -> Graph:
        """What pairs of columns say."""
        return available_forest(
            self.counter,
            self.rows,
            lambda n: price_of(self.read.chosen, n),
            knowledge=self.read.knowledge,
            max_parents=self.read.max_parents,
            edge_penalty=self.read.chosen.edge_penalty,
            deadline=self.read.deadline,
        )

    def without_edges(self) -> Graph:
        """No edges but those that are required."""
        arcs = [(a, "-->", b) for a, b in self.read.knowledge.require]
        return Graph.from_edges(list(self.rows.names), arcs, kind="dag")

    def learned(
        self, completion: Dataset, begin: Graph | None, *, start: int, round: int
    ) -> Learned:
        """Search on completed rows."""
        opened = self._opened(completion)
        told: Trace | None = None
        if self.trace is not None:
            trace = self.trace

            def told(step: Step) -> None:
                trace(step._replace(start=start, round=round))

        return Learned(self.learn(opened, begin or self.begin, told), opened.score)

    def scored(self, completion: Dataset) -> DecomposableScore:
        """Make the score over completed rows."""
        return self._opened(completion).score

    def _opened(self, completion: Dataset) -> OpenSearch:
        counter = MemoryCounter(completion.select(self.rows.names), threads=self.threads)
        opened = self.read.over(counter)
        if len(kinds_of(self.rows.variables)) > 1:
            opened = replace(opened, score=FittableScore(opened.score, self.seen))
        return opened

    def roughly(self, dag: Graph, completed: Dataset | None) -> Fitted:
        """Fit by EM as far as a comparison needs it, from what completed rows of labels say."""
        start = None
        if completed is not None and not any(v.is_continuous for v in completed.variables):
            counter = MemoryCounter(completed, threads=self.threads)
            start = fit(dag, counter, method="bayes", prior="jeffreys")
        return self._fitted(dag, start, _ENOUGH)

    def to_the_end(self, rough: Fitted) -> Fitted:
        """Climb on to where nothing is left to gain.

        Where there is a prior, the score is not what EM maximises, and moves with every parameter.
        """
        enough = _AT_THE_END if prior_size(self.read.chosen) is None else None
        return self._fitted(rough.net.graph, rough.net, enough)

    def _fitted(self, dag: Graph, start: BayesNet | None, enough: float | None) -> Fitted:
        """Fit by EM, with a prior of one row where there is no other estimate."""
        ess = prior_size(self.read.chosen)
        prior: dict[str, Any] = {} if ess is None else {"method": "bayes", "ess": ess}
        settings = EmSettings(
            restarts=1,
            seed=self.seed,
            deadline=self.read.deadline,
            information=False,
            expected_counts=ess is not None,
            enough=enough,
            start=start,
        )
        flaw: str | None = None
        try:
            found = self._fit(dag, settings, prior)
        except NoEstimate as error:
            found = self._fit(dag, settings, {"method": "bayes"})
            score, flaw = -math.inf, str(error)
        else:
            score = observed_score(self.read.chosen, found, self.rows.in_rows(self.rows.n), dag)
        report = found.report
        return Fitted(found.net, score, report.log_likelihood, flaw, report.in_time)

    def _fit(self, dag: Graph, settings: EmSettings, prior: dict[str, Any]) -> EmFit:
        return fit_em(dag, self.rows, settings=settings, threads=self.threads, **prior)
