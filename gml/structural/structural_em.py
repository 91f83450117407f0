"""Structural EM: learn a graph from incomplete rows.

Friedman (1997, "Learning belief networks in the presence of missing values and hidden variables",
ICML): complete the rows by the model so far (completions.py), learn a graph from the expected
counts, fit it to the incomplete rows by EM, and go on until the graph stays the same. What is
maximised is the score of the observed data: a graph is taken only if this rises, by more than
2⁻²⁰ nats, and the last one that did is the answer. So where completions are draws, a bad draw costs
a round at the most. What a round takes is the height of EM's climb, not its last digits: a climb
begins with the tables of the completed rows, which are Friedman's M-step and never lower the score,
and ends when less than 1e-7 of the likelihood is left to gain. Scores that are less than a nat
apart after that, and the answer, are climbed to the end.

What comes out depends on the model that completes the first rows. There are
two, unless the caller has one: a forest (available_forest.py) and a graph without edges. Neither is
an answer itself: the first graph that is learned is taken as it is, if it can be fitted. Of the two
ends the better one counts, that of the forest if they are equal.

A graph whose regressions the rows do not determine is worth −∞; a prior of one row then makes the
model that completes them. Time is looked at before each round and within completions, searches and
climbs of EM: where it is up, the best graph so far is the answer, and not complete.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from gml.data.dataset import Dataset
from gml.errors import CannotAnswer
from gml.graph.equivalence import equivalence_class
from gml.graph.graph import Graph
from gml.learners.search import SearchResult
from gml.model.bayesnet import BayesNet
from gml.progress import Deadline, reporter
from gml.scores.base import RESOLUTION, DecomposableScore, rounded
from gml.structural.completions import OutOfTime, completed

MOST_ROUNDS = 100
# Scores of climbs that were broken off may be wrong by this much.
_DOUBT = 1.0


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
    """What came of one completion."""

    score: float
    """That of the observed data, of the graph that was learned."""
    expected_score: float
    """That by which it was learned, on the completed rows."""
    n_edges: int
    taken: bool
    drawn: int | float
    """Rows that are draws, not all their states."""


@dataclass(frozen=True)
class StructuralResult:
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
        The graph that stands for a DAG in the answer, if time is up before anything is learned.
    """
    limit = deadline or Deadline()
    ends: list[StructuralResult] = []
    for number, first in enumerate(firsts, start=1):
        if ends and limit.passed:
            break
        climb = _Rounds(rows, learn, fitting, shown, number, seed, limit)
        ends.append(climb.from_first(first()))
    best = max(ends, key=lambda end: rounded(end.search.score))
    if best.fitted.flaw is not None:
        raise CannotAnswer(
            f"no graph that was learned can be fitted to these rows: {best.fitted.flaw}"
        )
    complete = len(ends) == len(firsts) and all(end.complete for end in ends)
    return replace(best, search=replace(best.search, complete=complete))


@dataclass
class _Rounds:
    """One start of structural EM."""

    rows: Dataset
    learn: Learn
    fitting: Fitting
    shown: Callable[[Graph], Graph]
    start: int
    seed: int
    limit: Deadline

    def from_first(self, first: Graph) -> StructuralResult:
        """Complete rows, learn and fit until the graph stays, or the score does not rise."""
        best = self.fitting.roughly(first, None)
        found = SearchResult(self.shown(first), first, best.score, 0)
        by: DecomposableScore | None = None
        families, steps = 0, 0
        rounds: list[Round] = []
        ended = False
        while len(rounds) < MOST_ROUNDS and not self.limit.passed:
            try:
                completion = completed(best.net, self.rows, seed=self.seed, deadline=self.limit)
            except OutOfTime:
                break
            learned, score = self.learn(
                completion.rows,
                found.dag if rounds else None,
                start=self.start,
                round=len(rounds) + 1,
            )
            families, steps = families + learned.families, steps + learned.steps
            if rounds and equivalence_class(learned.dag) == equivalence_class(found.dag):
                ended = learned.complete
                break
            fitted = self.fitting.roughly(learned.dag, completion.rows)
            if rounds and abs(fitted.score - best.score) < _DOUBT:
                best = self.fitting.to_the_end(best)
                fitted = self.fitting.to_the_end(fitted)
            taken = fitted.flaw is None and (not rounds or fitted.score > best.score + RESOLUTION)
            rounds.append(
                Round(fitted.score, learned.score, learned.graph.n_edges, taken, completion.drawn)
            )
            reporter().note(
                f"structural EM, start {self.start}, round {len(rounds)}: "
                f"{learned.graph.n_edges} edges, score {fitted.score:.6f} on what was observed"
                f"{'' if taken else ', not taken'}"
            )
            if not taken:
                ended = learned.complete and fitted.in_time
                break
            best, found, by = fitted, learned, score
            if not learned.complete:
                break
        ended = ended or len(rounds) == MOST_ROUNDS
        if best.flaw is None:
            best = self.fitting.to_the_end(best)
            ended = ended and best.in_time
        taken_last = [k for k, one in enumerate(rounds) if one.taken]
        if taken_last:
            rounds[taken_last[-1]] = replace(rounds[taken_last[-1]], score=best.score)
        result = replace(found, score=best.score, families=families, steps=steps, complete=ended)
        return StructuralResult(result, best, tuple(rounds), self.start, by)
