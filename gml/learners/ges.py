"""Greedy equivalence search over CPDAGs.

Chickering (2002, JMLR 3:507): from the class without edges the best valid *insertion* is made until
none gains, then the best *deletion*; Hauser & Bühlmann (2012, JMLR 13:2409, section 4) add the best
*turning* of an edge. The phases are repeated until none of them gains; `gml.learners.ges_operators`
has their operators. With a consistent and equivalent score, the limit of the first two phases is
the true class.

The *extended* search follows Nazaret & Blei (2024, UAI, Extremely greedy equivalence search):
deletions that gain go before turnings, and these before insertions, so that few wrong edges are
there to mislead the next choice. Where nothing gains, something is taken out and the search goes on
from there; what ends better is kept. First each node loses all its edges in turn, by name (which is
not in the paper; the class of what is left is that of the other nodes, whichever DAG it is read
from). Then each edge is deleted, the one first whose deletion loses least, and x → y may not come
back, though y → x may. The rest of a list is tried on whatever is best by then, and new lists are
made until nothing in them leads to anything better. Of the deletions of an edge as x → y, with this
clique or that, only the one is tried that loses least (the paper tries all).

Knowledge: the search is over the classes with at least one DAG that respects it, from the class of
the required edges; the result is the maximally oriented PDAG of such a DAG. A restart changes a few
edges of a DAG of the best class at random and searches again (`gml.learners.restarts`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from gml.errors import UsageError, parameter, require_whole
from gml.graph.bits import bits_of, members
from gml.graph.equivalence import equivalence_class, representative
from gml.graph.essential import EssentialGraph
from gml.graph.extension import equivalent_with
from gml.graph.knowledge import Knowledge
from gml.graph.orientation import Matrix
from gml.learners.checked_input import limited_knowledge
from gml.learners.expected_families import expect_pairs
from gml.learners.ges_operators import (
    Backward,
    Forward,
    Operator,
    OutOfTime,
    Phase,
    Turning,
)
from gml.learners.local_scores import LocalScores
from gml.learners.restarts import restart
from gml.learners.search import (
    Course,
    Limits,
    SearchResult,
    Trace,
    dag_of,
    perturbed,
)
from gml.progress import Deadline, reporter
from gml.scores.base import Score, as_score

_PHASES: dict[str, type[Phase]] = {kind.name: kind for kind in (Forward, Backward, Turning)}
PHASES = tuple(_PHASES)


def ges(
    score: Score,
    *,
    phases: Sequence[str] = PHASES,
    extended: bool = False,
    max_parents: int | None = None,
    knowledge: Knowledge | None = None,
    restarts: int = 0,
    perturb: int | None = None,
    seed: int = 0,
    max_memory: int | None = None,
    threads: int | None = 1,
    deadline: Deadline | None = None,
    trace: Trace | None = None,
) -> SearchResult:
    """Learn a CPDAG that no insertion, deletion or turning of an edge improves.

    Parameters
    ----------
    score : Score
        Any object with `names` and `local(child, parents)`; it must be score equivalent.
    phases : sequence of {"forward", "backward", "turning"}
        Repeated in this order until none of them gains.
    extended : bool
        Prefer deletions, and try what comes of taking out each edge and all edges of each node;
        needs all phases.
    max_parents : int, optional
        The most parents of a node in the DAGs that the search visits; the limit is then no longer
        the true class.
    knowledge : Knowledge, optional
        Required and forbidden edges, tiers; the result is then the maximally oriented PDAG.
    restarts, perturb : int
        How often to start again, and after how many random changes of an edge in the best class;
        by default a number drawn each time, up to the number of variables.
    seed : int
        Seed of the random changes.
    max_memory : int, optional
        The most bytes of local scores to keep, in each process.
    threads : int, optional
        Processes for restarts; None for all cores. They change nothing but the time.
    deadline : Deadline, optional
        When to stop with the best class so far.
    trace : callable, optional
        Called with every Step, whose other nodes are the clique that points to the target.

    Examples
    --------
    >>> import gml
    >>> score = gml.SCORES["bic"](gml.MemoryCounter(gml.read("sample_data/asia.csv")))
    >>> result = ges(score)
    >>> result.graph.kind, result.graph.n_edges, result.steps
    ('cpdag', 7, 7)
    """
    for phase in phases:
        if phase not in PHASES:
            raise UsageError(f"{parameter('phases')} must be some of {', '.join(PHASES)}")
    if extended and set(phases) != set(PHASES):
        raise UsageError(f"{parameter('extended')} needs all of {', '.join(PHASES)}")
    require_whole(0, restarts=restarts, perturb=perturb)
    expect_pairs(score)
    knowledge = limited_knowledge(score, knowledge)
    limits = Limits.of(score, max_parents, knowledge)
    local = LocalScores(score, max_memory)
    classes = Classes(limits, knows=bool(knowledge))
    deadline = deadline or Deadline()
    course = Course(local, deadline, trace)
    kinds = [_PHASES[phase](local, classes, deadline) for phase in phases]
    run = (_ExtendedRun if extended else _Run)(local, classes, kinds, course, perturb)
    run.search("")
    restart(run, local, as_score(score), restarts=restarts, seed=seed, threads=threads)
    # Another process may have found the best class, whose families this one does not know.
    families = local.computed
    member = [_set(column) for column in classes.member(run.best).T]
    dag = representative(dag_of(member, local.names, score.names), knowledge)
    return SearchResult(
        graph=equivalence_class(dag, knowledge),
        dag=dag,
        score=local.total(run.best.dag),
        families=families,
        steps=course.steps,
        complete=not course.stopped,
    )


Move = tuple[str, str, tuple[int, int], int, int, int]
"""A move as it is told: phase, what is done to which edge, the clique, gain and score in units."""


class Classes:
    """The classes to search: with few enough parents, and a DAG that respects the knowledge."""

    def __init__(self, limits: Limits, *, knows: bool) -> None:
        self.limits = limits
        self._knows = knows
        self._decided = limits.required | limits.forbidden.T
        never = limits.forbidden & limits.forbidden.T
        either = limits.required | limits.required.T
        everyone = range(len(never))
        self.max_parents = limits.max_parents
        self.may_be_inserted = [_set(~never[y]) & ~(1 << y) for y in everyone]
        self.must_be_adjacent = [_set(either[y]) for y in everyone]

    @contextmanager
    def without(self, x: int, y: int) -> Iterator[None]:
        """Keep x → y from being inserted for a while."""
        allowed = self.may_be_inserted
        before = allowed[y]
        allowed[y] = before & ~(1 << x)
        try:
            yield
        finally:
            allowed[y] = before

    def first(self) -> EssentialGraph:
        """The class of the required edges."""
        return EssentialGraph([_set(column) for column in self.limits.required.T])

    def respected_by(self, graph: EssentialGraph) -> bool:
        """Whether a class is one to search."""
        return not self._knows or self._respecting(graph) is not None

    def member(self, graph: EssentialGraph) -> Matrix:
        """Return a DAG of the class that respects the knowledge."""
        found = self._respecting(graph) if self._knows else _matrix(graph.dag)
        assert found is not None
        return found

    def _respecting(self, graph: EssentialGraph) -> Matrix | None:
        dag = _matrix(graph.dag)
        if (self.limits.required & ~(dag | dag.T)).any():
            return None
        return equivalent_with(dag, self._decided)


def _set(flags: Matrix) -> int:
    return bits_of(np.flatnonzero(flags).tolist())


def _matrix(dag: Sequence[int]) -> Matrix:
    matrix = np.zeros((len(dag), len(dag)), dtype=bool)
    for y, given in enumerate(dag):
        matrix[list(members(given)), y] = True
    return matrix


class _Run:
    """A search: where it is, and the best class so far."""

    def __init__(
        self,
        local: LocalScores,
        classes: Classes,
        phases: Sequence[Phase],
        course: Course,
        perturb: int | None,
    ) -> None:
        self._local = local
        self._classes = classes
        self._phases = phases
        self._perturb = perturb
        self.course = course
        self._graph = self.best = classes.first()
        self.best_score = self._score()

    def search(self, prefix: str) -> None:
        """Go through the phases until none of them gains."""
        try:
            self._climb(prefix)
        except OutOfTime:
            self.course.stopped = True
        score = self._score()
        if score > self.best_score:
            self.best, self.best_score = self._graph, score
        reporter().status(None)

    def _climb(self, prefix: str) -> None:
        """Make moves until none gains, or they come round.

        The latter happens where families worth −∞ make members of a class score differently: a gain
        is that of two members, and the next one may begin at others.
        """
        gained, seen = True, {tuple(self._graph.dag)}
        while gained:
            gained = False
            for phase in self._phases:
                while (found := phase.best(self._graph)) is not None:
                    gained = True
                    move = phase.move(self._graph, found[0])
                    self._make(prefix + phase.name, move, *found)
                    if self._comes_round(seen):
                        return

    def _comes_round(self, seen: set[tuple[int, ...]]) -> bool:
        """Whether a climb was here before; takes note that it is now."""
        here = tuple(self._graph.dag)
        comes_round = here in seen
        seen.add(here)
        return comes_round

    def climb_again(self, rng: np.random.Generator, phase: str) -> None:
        """Change random edges of a DAG of the best class, and search again."""
        member = [_set(column) for column in self._classes.member(self.best).T]
        self._graph = EssentialGraph(perturbed(member, rng, self._perturb, self._classes.limits))
        score = self._score()
        self.course.tell_restart(phase, score - self.best_score, score)
        self.search(f"{phase}: ")

    def _score(self) -> int:
        return self._local.unit(self._local.total(self._graph.dag))

    def _make(self, phase: str, move: str, operator: Operator, graph: EssentialGraph) -> None:
        self._graph = graph
        edge = operator.x, operator.y
        self._tell(phase, move, edge, operator.clique, -operator.loss, self._score())

    def _tell(self, *move: *Move) -> None:
        """Report a move."""
        self.course.tell_move(*move)


class _ExtendedRun(_Run):
    """A search that prefers deletions, and looks for what comes of taking edges out."""

    def __init__(
        self,
        local: LocalScores,
        classes: Classes,
        phases: Sequence[Phase],
        course: Course,
        perturb: int | None,
    ) -> None:
        super().__init__(local, classes, phases, course, perturb)
        first = (Backward, Turning, Forward)
        self._preferred = sorted(phases, key=lambda phase: first.index(type(phase)))
        (self._deletions,) = (phase for phase in phases if isinstance(phase, Backward))
        self._trial: list[Move] | None = None
        self._kept = False

    def _climb(self, prefix: str) -> None:
        self._make_preferred(prefix)
        while self._isolate_nodes(prefix) or self._delete_edges(prefix):
            self._make_preferred(prefix)

    def _make_preferred(self, prefix: str) -> None:
        """Make moves, the first kind that has any first, until none gains, or they come round."""
        seen = {tuple(self._graph.dag)}
        while True:
            for phase in self._preferred:
                found = phase.best(self._graph)
                if found is not None:
                    move = phase.move(self._graph, found[0])
                    self._make(prefix + phase.name, move, *found)
                    if self._comes_round(seen):
                        return
                    break
            else:
                return

    def _isolate_nodes(self, prefix: str) -> bool:
        """Take all edges from each node in turn; returns whether that led to something better."""
        better = False
        for node, required in enumerate(self._classes.must_be_adjacent):
            if self._graph.adjacent[node] and not required:
                with self._trying():
                    self._isolate(prefix, node)
                    self._make_preferred(f"{prefix}extended ")
                better |= self._kept
        return better

    def _isolate(self, prefix: str, node: int) -> None:
        """Delete the edges of a node one by one, those of its parents first."""
        dag, score = list(self._graph.dag), self._score()
        edges = [(x, node) for x in members(dag[node])]
        edges += [(node, y) for y, given in enumerate(dag) if given >> node & 1]
        for x, y in edges:
            dag[y] &= ~(1 << x)
            before, score = score, self._local.unit(self._local.total(dag))
            self._tell(f"{prefix}extended", "delete", (x, y), 0, score - before, score)
        self._graph = EssentialGraph(dag)

    def _delete_edges(self, prefix: str) -> bool:
        """Delete edges in turn; returns whether that led to something better."""
        better = False
        for operator in self._deletions.of_each_edge(self._graph):
            without = self._deletions.made(self._graph, operator)
            if without is not None:
                with self._trying(), self._classes.without(operator.x, operator.y):
                    self._delete(prefix, operator, without)
                    self._make_preferred(f"{prefix}extended ")
                better |= self._kept
        return better

    def _delete(self, prefix: str, operator: Operator, without: EssentialGraph) -> None:
        """Delete an edge; the operator may be one of an earlier class, and lose another amount."""
        before, self._graph = self._score(), without
        score = self._score()
        edge = operator.x, operator.y
        self._tell(f"{prefix}extended", "delete", edge, operator.clique, score - before, score)

    @contextmanager
    def _trying(self) -> Iterator[None]:
        """Go back to where the search is now, unless what follows ends higher."""
        start, score = self._graph, self._score()
        made: list[Move] = []
        self._trial = made
        try:
            yield
        finally:
            self._trial = None
            self._kept = self._score() > score
            if self._kept:
                for move in made:
                    self.course.tell_move(*move)
            else:
                self._graph = start

    def _tell(self, *move: *Move) -> None:
        """Report a move, once it is known that it is kept."""
        if self._trial is None:
            super()._tell(*move)
        else:
            self._trial.append(move)
