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
an answer itself, the first graph that is learned is taken as it is; of the two ends the better one
counts, that of the forest if they are equal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from gml.data.dataset import Dataset
from gml.graph.equivalence import equivalence_class
from gml.graph.graph import Graph
from gml.learners.search import SearchResult
from gml.model.bayesnet import BayesNet
from gml.progress import Deadline, reporter
from gml.scores.base import RESOLUTION
from gml.structural.completions import completed

MOST_ROUNDS = 100
# Scores of climbs that were broken off may be wrong by this much.
_DOUBT = 1.0


class Fitted(NamedTuple):
    """A model fitted to incomplete rows, and the score of its graph on what was observed."""

    net: BayesNet
    score: float
    log_likelihood: float


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

    @property
    def complete(self) -> bool:
        """Whether the search ended by itself."""
        return self.search.complete


def structural_em(
    rows: Dataset,
    first: Graph,
    learn: Callable[[Dataset, Graph | None], SearchResult],
    fitting: Fitting,
    *,
    seed: int = 0,
    deadline: Deadline | None = None,
) -> StructuralResult:
    """Learn a graph from incomplete rows.

    Parameters
    ----------
    rows
        The table, with gaps.
    first
        The DAG that the first rows are completed by.
    learn
        Learns from complete rows with weights, beginning with a DAG if the search can do that.
    fitting
        Fits DAGs to the incomplete rows.
    """
    limit = deadline or Deadline()
    best = fitting.roughly(first, None)
    found = SearchResult(first, first, best.score, 0, complete=False)
    families, steps = 0, 0
    rounds: list[Round] = []
    ended = False
    while len(rounds) < MOST_ROUNDS and not (limit.passed and rounds):
        completion = completed(best.net, rows, seed=seed)
        learned = learn(completion.rows, found.dag if rounds else None)
        families, steps = families + learned.families, steps + learned.steps
        if rounds and equivalence_class(learned.dag) == equivalence_class(found.dag):
            ended = learned.complete
            break
        fitted = fitting.roughly(learned.dag, completion.rows)
        if rounds and abs(fitted.score - best.score) < _DOUBT:
            best, fitted = fitting.to_the_end(best), fitting.to_the_end(fitted)
        taken = not rounds or fitted.score > best.score + RESOLUTION
        rounds.append(
            Round(fitted.score, learned.score, learned.graph.n_edges, taken, completion.drawn)
        )
        reporter().note(
            f"structural EM, round {len(rounds)}: {learned.graph.n_edges} edges, score "
            f"{fitted.score:.6f} on what was observed{'' if taken else ', not taken'}"
        )
        if not taken:
            ended = True
            break
        best, found = fitted, learned
        if not learned.complete:
            break
    best = fitting.to_the_end(best)
    if rounds:
        last = max(k for k, one in enumerate(rounds) if one.taken)
        rounds[last] = replace(rounds[last], score=best.score)
    result = replace(
        found, score=best.score, families=families, steps=steps, complete=ended or not rounds
    )
    return StructuralResult(result, best, tuple(rounds))
