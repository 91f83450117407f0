"""Minimal I-maps for an order: each variable gets its parents from those before it.

A DAG is an I-map of a distribution if it claims no independence that does not hold, and minimal if
no edge can be removed. For an order, the parents of x are a smallest set of predecessors that makes
x independent of the others (Koller & Friedman 2009, algorithm 3.2). Where the distribution has the
intersection property (for example, if it is positive) there is only one such set.

*By tests* (`minimal_imap`) it is found by growing and shrinking (Margaritis 2003) among the
predecessors: the one most dependent on x given those that have joined joins next, until none is
dependent; then those that are independent of x given the rest leave, the weakest first. Under
composition and intersection, which a distribution faithful to a DAG has, the result is the minimal
I-map. Only a test that says *dependent* makes or keeps an edge. A test that cannot tell does not:
where both variables vary in no stratum, the rows are predicted as well without the edge. Most
dependent is the smallest margin (ln p − ln α), then the largest n·I (the statistic, if a test has
no I), both rounded to 2⁻²⁰, then the first name; weakest is the reverse.

*By a score* (`greedy_imap`) the predecessor that improves the local score most joins, until none
does: the K2 algorithm (Cooper & Herskovits 1992, Machine Learning 9:309, section 3.1), with any
decomposable score. K2 never looks back; here a parent then leaves if that improves the score, and
both are repeated until nothing does, as the first to join may be useless beside the others.
Local scores are rounded to 2⁻²⁰ nats before they are compared; ties go to the first name.

Required parents are always in and forbidden ones never; these, and a limit on the number of
parents, may leave a graph that is not an I-map. All variables take each step together, so that the
engine is asked for many tables at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Family, Triple
from gml.errors import require_share
from gml.graph.graph import Graph
from gml.graph.knowledge import Knowledge
from gml.independence.adapted_test import as_test
from gml.independence.base import CITest, IndependenceTest, ResultArrays
from gml.learners.checked_input import limited_knowledge
from gml.learners.ordered_families import OrderedFamilies
from gml.progress import Deadline, reporter
from gml.scores.base import DecomposableScore, Score, add_up, as_score, rounded
from gml.synonyms import AnswersSynonyms

# Questions asked at once: enough for threads, few enough for a deadline.
_BATCH = 1 << 13


@dataclass(frozen=True)
class ImapResult(AnswersSynonyms):
    """The DAG; the number of tests run or families scored; whether there was enough time.

    `score` is that of the DAG, if a score was used; `strained` says of each test, if the test can
    tell, whether its table was too sparse for it.
    """

    graph: Graph
    asked: int
    complete: bool = True
    score: float | None = None
    strained: NDArray[np.bool_] | None = None


def minimal_imap(
    test: CITest,
    order: Sequence[str],
    *,
    alpha: float = 0.01,
    max_parents: int | None = None,
    knowledge: Knowledge | None = None,
    deadline: Deadline | None = None,
) -> ImapResult:
    """Learn the minimal I-map for an order of all variables by independence tests.

    Parameters
    ----------
    test : CITest
        Any object with `names` and a call (x, y, given) that returns a CIResult.
    order : sequence of str
        Every variable once; edges lead from earlier to later ones.
    alpha : float
        Level of the tests.
    max_parents : int, optional
        The most parents that a node may have: growing stops there.
    knowledge : Knowledge, optional
        Required and forbidden edges, tiers; the order must agree with them.
    deadline : Deadline, optional
        When to stop with what has been found.

    Examples
    --------
    >>> import gml
    >>> chain = gml.Graph.from_edges("ABC", [("A", "-->", "B"), ("B", "-->", "C")])
    >>> found = gml.minimal_imap(gml.OracleTest(chain), ["A", "C", "B"]).graph
    >>> [(e.source, e.target) for e in found.edges]
    [('A', 'B'), ('A', 'C'), ('C', 'B')]
    """
    require_share(alpha=alpha)
    families = OrderedFamilies(test.names, order, knowledge or Knowledge(), max_parents)
    search = _Tests(as_test(test), alpha, families, deadline or Deadline())
    complete = search.grow() and search.shrink()
    return ImapResult(families.graph(), search.asked, complete, strained=search.strained())


def greedy_imap(
    score: Score,
    order: Sequence[str],
    *,
    max_parents: int | None = None,
    knowledge: Knowledge | None = None,
    deadline: Deadline | None = None,
) -> ImapResult:
    """Learn a DAG for an order of all variables by a score, greedily for each node on its own.

    Parameters are those of `minimal_imap`; `score` is any object with `names` and
    `local(child, parents)`.

    Examples
    --------
    >>> import gml
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    >>> order = ["asia", "smoke", "tub", "lung", "bronc", "either", "xray", "dysp"]
    >>> found = gml.greedy_imap(gml.SCORES["k2"](counter), order)
    >>> found.graph.n_edges, round(found.score, 3)
    (9, -11181.138)
    """
    knowledge = limited_knowledge(score, knowledge)
    families = OrderedFamilies(score.names, order, knowledge, max_parents)
    search = _Scores(as_score(score), families, deadline or Deadline())
    complete = search.climb()
    return ImapResult(families.graph(), search.asked, complete, search.total())


# ---------------------------------------------------------------------- by tests


class _Tests:
    """Growing and shrinking, each step for all variables together."""

    def __init__(
        self, test: IndependenceTest, alpha: float, families: OrderedFamilies, deadline: Deadline
    ) -> None:
        self._test = test
        self._alpha = alpha
        self._families = families
        self._deadline = deadline
        self._strained: list[NDArray[np.bool_]] = []
        self.asked = 0

    def strained(self) -> NDArray[np.bool_] | None:
        """Whether each test was on too sparse a table, if the test can tell."""
        return np.concatenate(self._strained) if self._strained else None

    def grow(self) -> bool:
        """Let variables join; False if time ran out."""
        families = self._families
        growing = families.nodes
        while growing:
            questions = [
                (x, j, tuple(families.parents[x]))
                for x in growing
                for j in families.that_may_join(x)
            ]
            evidence = self._ask(questions)
            if evidence is None:
                return False
            best: dict[int, tuple[float, float, int]] = {}
            for k, (x, j, _) in enumerate(questions):
                # Questions are in the order of names: the first of equals stays.
                found = (evidence.key[k], -evidence.effect[k], j)
                if evidence.dependent[k] and (x not in best or found[:2] < best[x][:2]):
                    best[x] = found
            for x, (_, _, j) in best.items():
                families.parents[x] = list(families.with_(x, j))
            growing = [x for x in growing if x in best]
            reporter().advance("growing", len(families.nodes) - len(growing), len(families.nodes))
        return True

    def shrink(self) -> bool:
        """Drop the variables that are not needed beside the others; False if time ran out."""
        families = self._families
        shrinking = families.nodes
        while shrinking:
            questions = [
                (x, j, families.without(x, j)) for x in shrinking for j in families.that_may_go(x)
            ]
            evidence = self._ask(questions)
            if evidence is None:
                return False
            worst: dict[int, tuple[float, float, int]] = {}
            for k, (x, j, _) in enumerate(questions):
                # The last of equals goes.
                found = (evidence.key[k], -evidence.effect[k], j)
                if not evidence.dependent[k] and (x not in worst or found[:2] >= worst[x][:2]):
                    worst[x] = found
            for x, (_, _, j) in worst.items():
                families.parents[x] = list(families.without(x, j))
            shrinking = [x for x in shrinking if x in worst]
            reporter().advance(
                "shrinking", len(families.nodes) - len(shrinking), len(families.nodes)
            )
        return True

    def _ask(self, questions: Sequence[Triple]) -> _Evidence | None:
        parts = []
        for start in range(0, len(questions), _BATCH):
            if self._deadline.passed:
                return None
            some = questions[start : start + _BATCH]
            results = self._test.batch(some)
            self.asked += len(some)
            if results.strained is not None:
                self._strained.append(results.strained)
            parts.append((self._test.margins(results, self._alpha), _effects(results)))
        margins, effects = (
            np.concatenate([np.empty(0), *(part[k] for part in parts)]) for k in (0, 1)
        )
        return _Evidence(margins, effects)


class _Evidence:
    """What tests say: whether dependent, and keys that put the most dependent first."""

    def __init__(self, margins: NDArray[np.float64], effects: NDArray[np.float64]) -> None:
        self.dependent = (margins < 0).tolist()
        # Without an answer nothing speaks for an edge.
        self.key = np.where(np.isnan(margins), np.inf, rounded(margins)).tolist()
        self.effect = rounded(effects).tolist()


def _effects(results: ResultArrays) -> NDArray[np.float64]:
    """n·I, or the size of the statistic of tests that have no I; 0 where there is neither."""
    sizes = np.abs(results.statistic)
    if results.mi is not None:
        sizes = np.where(np.isnan(results.mi), sizes, results.mi * results.n)
    return np.nan_to_num(sizes, nan=0.0, posinf=np.inf)


# ---------------------------------------------------------------------- by a score


class _Scores:
    """Climbing, each step for all variables together."""

    def __init__(
        self, score: DecomposableScore, families: OrderedFamilies, deadline: Deadline
    ) -> None:
        self._score = score
        self._families = families
        self._deadline = deadline
        self.asked = 0
        start: list[Family] = [(x, tuple(families.parents[x])) for x in families.nodes]
        self._values = dict(zip(families.nodes, score.batch(start).tolist(), strict=True))
        self.asked += len(start)

    def climb(self) -> bool:
        """Let variables join and leave while that pays; False if time ran out."""
        families = self._families
        joining = dict.fromkeys(families.nodes, True)
        last_chance = dict.fromkeys(families.nodes, False)
        climbing = families.nodes
        while climbing:
            questions: list[Family] = []
            for x in climbing:
                if joining[x]:
                    questions += [(x, families.with_(x, j)) for j in families.that_may_join(x)]
                else:
                    questions += [(x, families.without(x, j)) for j in families.that_may_go(x)]
            values = self._ask(questions)
            if values is None:
                return False
            improved = self._take_best(questions, values)
            left = []
            for x in climbing:
                # Done when nothing may join and, with no change in between, nothing may leave.
                if x not in improved and last_chance[x]:
                    continue
                if x not in improved:
                    joining[x] = not joining[x]
                last_chance[x] = x not in improved
                left.append(x)
            climbing = left
            reporter().advance("climbing", len(families.nodes) - len(climbing), len(families.nodes))
        return True

    def _take_best(self, questions: Sequence[Family], values: NDArray[np.float64]) -> set[int]:
        """Change the parents of the variables that can improve, and return these."""
        best: dict[int, tuple[float, int]] = {}
        for k, (x, _) in enumerate(questions):
            value = rounded(float(values[k]))
            least = best[x][0] if x in best else rounded(self._values[x])
            if value > least:
                best[x] = (value, k)
        for x, (_, k) in best.items():
            self._families.parents[x] = list(questions[k][1])
            self._values[x] = float(values[k])
        return set(best)

    def _ask(self, questions: Sequence[Family]) -> NDArray[np.float64] | None:
        parts = [np.empty(0)]
        for start in range(0, len(questions), _BATCH):
            if self._deadline.passed:
                return None
            some = questions[start : start + _BATCH]
            parts.append(self._score.batch(some))
            self.asked += len(some)
        return np.concatenate(parts)

    def total(self) -> float:
        """The score of the DAG."""
        families: list[Family] = [(x, ()) for x in self._families.nodes]
        return add_up(self._score.names, families, np.array([self._values[x] for x, _ in families]))
