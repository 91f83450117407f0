"""Structural EM: learn a graph from incomplete rows.

Friedman (1997, "Learning belief networks in the presence of missing values and hidden variables",
ICML): complete the rows by the model so far (completions.py), learn a graph from the expected
counts, fit it to the incomplete rows by EM, and go on until the graph stays the same. What is
maximised is the score of the observed data: a graph is taken only if this rises, by more than 2⁻²⁰
nats, and the last one that did is the answer. So where completions are draws, a bad draw costs a
round at the most. What a round takes is the height of EM's climb, not its last digits: a climb
begins with the tables of the completed rows, which are Friedman's M-step and never lower the score
(where there are numbers, with what rows say that have all of a family), and ends when less than
1e-7 of the likelihood is left to gain. Scores that are less than a nat apart after that, of one
round and the next or of two starts, are climbed to the end, as is the answer: until less than 1e-10
is left, by Aitken's extrapolation. Parameters may be thousands of steps from where they would end,
but nobody is told of these. (bdeu depends on them: there a climb ends where they do, which priors
bring near.) A graph that was fitted in the same start, or one equivalent to it, is not fitted
again: a round that reaches it is the last.

What comes out depends on the model that completes the rows: they speak for what it has, and against
what it lacks. Let a share c of the rows have both columns of an edge. If the model lacks the edge,
the other rows are completed as if there were none, and the likelihood that expected counts promise
for it is near c² of what the whole rows would give, whereas the observed data give c; if the model
has the edge, they promise all of it. (In general the quotient is one less the fraction of missing
information of the edge's parameters: the gradient is the same, the information is not.) So where
much is missing, rounds end long before the observed data do. There are three remedies, and the
score of the observed data decides about each:

- Two models to begin with, unless the caller has one: a forest (available_forest.py) and a graph
  without edges. Neither is an answer itself: the first graph that is learned is taken as it is, if
  it can be fitted. Of the two ends the better one counts, that of the forest if they are equal.
- Richer rounds: from the best graph so far, one search counts every row 1/c times, c the mean
  share of rows that have both columns of a pair, at least 0.2; so it takes the edges that the
  observed data would pay for. The model of this graph completes the rows from which ordinary rounds
  go on.
- Single edges (single_edges.py): those that expected counts leave in doubt are added or deleted one
  by one, and fitted.

The last two take turns until neither raises the score by a nat, which is what a climb that was not
ended may be wrong by: to end all of them would take most of the time, for less than that.

A graph whose regressions the rows do not determine is worth −∞; a prior of one row then makes the
model that completes them. Time is looked at before each round and within completions, searches and
climbs of EM: where it is up, the best graph so far is the answer, and not complete.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from gml.data.dataset import Dataset
from gml.errors import CannotAnswer
from gml.graph.equivalence import class_key
from gml.graph.graph import Graph
from gml.learners.search import SearchResult
from gml.model.bayesnet import BayesNet
from gml.progress import Deadline, reporter
from gml.scores.base import RESOLUTION, DecomposableScore, rounded
from gml.structural.completions import Completion, OutOfTime, completed
from gml.structural.single_edges import SingleEdges, counted_again, pairs_seen
from gml.synonyms import AnswersSynonyms

MOST_ROUNDS = 100
PLAIN, RICHER, EDGES = "plain", "richer", "edges"
"""The kinds of rounds."""
# Scores of climbs that were broken off may be wrong by this much.
_DOUBT = 1.0
# Rows are not counted more often than once by this.
_LEAST_SHARE = 0.2


class Fitted(NamedTuple):
    """A model fitted to incomplete rows, and the score of its graph on what was observed."""

    net: BayesNet
    score: float
    log_likelihood: float
    flaw: str | None = None
    """Why the graph is worth −∞, if it is; the model then has a prior."""
    in_time: bool = True
    """False if time was up before EM had climbed to its end."""


class Learned(NamedTuple):
    """What a search found, and the score that it searched by."""

    search: SearchResult
    by: DecomposableScore


class Learn(Protocol):
    """A search on complete rows with weights, beginning with a DAG if it can do that."""

    def __call__(self, rows: Dataset, /, begin: Graph | None, *, start: int, round: int) -> Learned:
        """Learn; the numbers say which search this is, from 1."""


class Fitting(Protocol):
    """Fits DAGs to the incomplete rows by EM, and scores them on what was observed."""

    def roughly(self, dag: Graph, completed: Dataset | None) -> Fitted:
        """Climb until little is left to gain, from what completed rows say if there are any."""

    def to_the_end(self, rough: Fitted) -> Fitted:
        """Climb on to where nothing is left to gain."""


@dataclass(frozen=True)
class Round:
    """What came of one search on completed rows, or of trying single edges."""

    score: float
    """That of the observed data, of the graph that was learned."""
    expected_score: float
    """That by which it was learned, on the completed rows, each counted more than once if it is to
    be richer."""
    n_edges: int
    taken: bool
    drawn: int | float
    """Rows that are draws, not all their states."""
    kind: str = PLAIN


@dataclass(frozen=True)
class StructuralResult(AnswersSynonyms):
    """The graph, the model of it, and the rounds that led there."""

    search: SearchResult
    fitted: Fitted
    rounds: tuple[Round, ...]
    start: int
    """The number of the start that led there."""
    by: DecomposableScore | None
    """The score by which the graph was learned; None if time was up before that."""

    @property
    def complete(self) -> bool:
        """Whether the search ended by itself."""
        return self.search.complete


def structural_em(
    rows: Dataset,
    firsts: Sequence[Callable[[], Graph]],
    learn: Learn,
    fitting: Fitting,
    *,
    shown: Callable[[Graph], Graph],
    edges: SingleEdges | None = None,
    seed: int = 0,
    deadline: Deadline | None = None,
) -> StructuralResult:
    """Learn a graph from incomplete rows, from several starts.

    Parameters
    ----------
    rows
        The table, with gaps.
    firsts
        What make the DAGs that the first rows are completed by.
    learn
        Learns from complete rows with weights.
    fitting
        Fits DAGs to the incomplete rows.
    shown
        The graph that stands for a DAG, where no search has made it.
    edges
        Changes of single edges; without them the best end of the starts is the answer, and no
        richer graph is looked for.
    """
    limit = deadline or Deadline()
    climbs: list[_Climb] = []
    for number, first in enumerate(firsts, start=1):
        if climbs and limit.passed:
            break
        climb = _Climb(rows, learn, fitting, shown, number, seed, limit)
        climb.begin(first())
        climbs.append(climb)
    if len(climbs) > 1 and abs(climbs[0].best.score - climbs[1].best.score) < _DOUBT:
        for climb in climbs:
            climb.finish()
    best = max(climbs, key=lambda climb: rounded(climb.best.score))
    complete = len(climbs) == len(firsts) and all(climb.ended for climb in climbs)
    if edges is not None and best.best.flaw is None:
        best.refine(edges)
    if best.best.flaw is not None:
        raise CannotAnswer(
            f"no graph that was learned can be fitted to these rows: {best.best.flaw}"
        )
    best.finish()
    return best.result(complete and best.ended)


@dataclass
class _Climb:
    """One start of structural EM: the best graph so far, and the rounds that led there."""

    rows: Dataset
    learn: Learn
    fitting: Fitting
    shown: Callable[[Graph], Graph]
    start: int
    seed: int
    limit: Deadline
    rounds: list[Round] = field(default_factory=list)
    best: Fitted = field(init=False)
    found: SearchResult = field(init=False)
    by: DecomposableScore | None = None
    ended: bool = True
    """Whether nothing was cut short."""
    families: int = 0
    steps: int = 0
    _completion: tuple[BayesNet, Completion] | None = None
    _finished: BayesNet | None = None
    _scores: dict[bytes, float] = field(default_factory=dict)
    """Of what was fitted, by equivalence class."""

    def begin(self, first: Graph) -> None:
        """Complete rows, learn and fit until the graph stays, or the score does not rise."""
        self.best = self.fitting.roughly(first, None)
        self.found = SearchResult(self.shown(first), first, self.best.score, 0)
        self._rounds(self.best, None)

    def refine(self, edges: SingleEdges) -> None:
        """Look for richer graphs and change single edges, in turns until neither gains."""
        share = max(pairs_seen(self.rows), _LEAST_SHARE)
        while self.ended and len(self.rounds) < MOST_ROUNDS:
            n_rounds = len(self.rounds)
            try:
                self._richer(share)
                self._single_edges(edges, share)
            except OutOfTime:
                self.ended = False
            if not any(one.taken for one in self.rounds[n_rounds:]):
                break

    def result(self, complete: bool) -> StructuralResult:
        """What came of it."""
        search = replace(
            self.found,
            score=self.best.score,
            families=self.families,
            steps=self.steps,
            complete=complete,
        )
        return StructuralResult(search, self.best, tuple(self.rounds), self.start, self.by)

    def _rounds(self, model: Fitted, begin: Graph | None) -> None:
        """Go on from a model; the first graph that is learned need not be better than that."""
        dag: Graph | None = None
        while len(self.rounds) < MOST_ROUNDS:
            if self.limit.passed:
                self.ended = False
                return
            try:
                completion = self._completed(model)
            except OutOfTime:
                self.ended = False
                return
            learned, by = self._learned(completion.rows, begin)
            if self._is_known(PLAIN, learned, completion):
                return
            fitted = self._fitted(learned.dag, completion)
            rises = fitted.flaw is None
            is_better = rises and fitted.score > self.best.score + _DOUBT
            if dag is not None:
                was_best = model is self.best
                fitted, model = self._comparable(fitted, model)
                rises = rises and fitted.score > model.score + RESOLUTION
                if was_best:
                    self.best, is_better = model, rises
            taken = is_better or (rises and self.by is None)
            self._judged(PLAIN, fitted, learned, by, completion, taken=taken)
            if not rises:
                self.ended = self.ended and fitted.in_time
                return
            if not self.ended:
                return
            model, dag, begin = fitted, learned.dag, learned.dag

    def _richer(self, share: float) -> None:
        """Complete rows by a graph with edges for which the observed data would pay."""
        completion = self._completed(self.best)
        rows = counted_again(completion.rows, 1 / share)
        learned, by = self._learned(rows, self.found.dag)
        if self._is_known(RICHER, learned, completion):
            return
        fitted = self._fitted(learned.dag, completion)
        is_fit = fitted.flaw is None
        taken = is_fit and fitted.score > self.best.score + _DOUBT
        self._judged(RICHER, fitted, learned, by, completion, taken=taken)
        self.ended = self.ended and fitted.in_time
        if is_fit:
            self._rounds(fitted, learned.dag)

    def _single_edges(self, edges: SingleEdges, share: float) -> None:
        """Add and delete edges that expected counts leave in doubt, one by one."""
        if not self.ended:
            return
        completion = self._completed(self.best)
        doubts = edges.in_doubt(self.found.dag, completion.rows, share)
        taken = False
        for done, change in enumerate(doubts.changes, start=1):
            if self.limit.passed:
                self.ended = False
                break
            dag = doubts.changed(self.found.dag, change)
            if dag is None or class_key(dag) in self._scores:
                continue
            reporter().advance("single edges", done, len(doubts.changes))
            fitted = self._fitted(dag, completion)
            if fitted.flaw is None and fitted.score > self.best.score + _DOUBT:
                self.steps += 1
                gain = fitted.score - self.best.score
                number = len(self.rounds) + 1
                edges.tell(change, gain, fitted.score, start=self.start, round=number)
                self.best, taken = fitted, True
                self.found = SearchResult(self.shown(dag), dag, fitted.score, 0)
        if doubts.changes:
            expected = edges.expected_score(self.found.dag, completion.rows)
            self._record(EDGES, self.best.score, expected, self.found.graph, taken, completion)

    def _completed(self, model: Fitted) -> Completion:
        if self._completion is None or self._completion[0] is not model.net:
            found = completed(model.net, self.rows, seed=self.seed, deadline=self.limit)
            self._completion = model.net, found
        return self._completion[1]

    def _learned(self, rows: Dataset, begin: Graph | None) -> Learned:
        learned = self.learn(rows, begin, start=self.start, round=len(self.rounds) + 1)
        self.families += learned.search.families
        self.steps += learned.search.steps
        self.ended = self.ended and learned.search.complete
        return learned

    def _fitted(self, dag: Graph, completion: Completion) -> Fitted:
        fitted = self.fitting.roughly(dag, completion.rows)
        self._scores[class_key(dag)] = fitted.score
        return fitted

    def _is_known(self, kind: str, learned: SearchResult, completion: Completion) -> bool:
        """Whether what was learned was fitted before: it leads where it led then."""
        score = self._scores.get(class_key(learned.dag))
        if score is None:
            return False
        self._record(kind, score, learned.score, learned.graph, False, completion)
        return True

    def _comparable(self, one: Fitted, other: Fitted) -> tuple[Fitted, Fitted]:
        """Both climbed to the end, where their scores are too near to say which is higher."""
        if abs(one.score - other.score) < _DOUBT:
            return self.fitting.to_the_end(one), self.fitting.to_the_end(other)
        return one, other

    def _judged(
        self,
        kind: str,
        fitted: Fitted,
        learned: SearchResult,
        by: DecomposableScore,
        completion: Completion,
        *,
        taken: bool,
    ) -> None:
        """Tell of a graph that was fitted, and take it if it is to be taken."""
        self._record(kind, fitted.score, learned.score, learned.graph, taken, completion)
        if taken:
            self.best, self.found, self.by = fitted, learned, by

    def _record(
        self,
        kind: str,
        score: float,
        expected: float,
        graph: Graph,
        taken: bool,
        completion: Completion,
    ) -> None:
        self.rounds.append(Round(score, expected, graph.n_edges, taken, completion.drawn, kind))
        name = "" if kind == PLAIN else f" ({kind})"
        reporter().note(
            f"structural EM, start {self.start}, round {len(self.rounds)}{name}: "
            f"{graph.n_edges} edges, score {score:.6f} on what was observed"
            f"{'' if taken else ', not taken'}"
        )

    def finish(self) -> None:
        """Climb to the end of EM with the best graph."""
        if self.best.flaw is not None or self.best.net is self._finished:
            return
        self.best = self.fitting.to_the_end(self.best)
        self._finished = self.best.net
        self.ended = self.ended and self.best.in_time
        taken = [k for k, one in enumerate(self.rounds) if one.taken]
        if taken:
            self.rounds[taken[-1]] = replace(self.rounds[taken[-1]], score=self.best.score)
