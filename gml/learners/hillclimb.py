"""Greedy search over DAGs: add, delete or reverse an edge, with a tabu list and restarts.

From a start, the move with the largest gain is made until none gains (Heckerman, Geiger &
Chickering 1995, section 7). A move touches one family, a reversal two. If `change[x, y]` is the
gain of adding x to the parents of y, or of removing it, then adding or deleting x → y gains
`change[x, y]`, and reversing it gains `change[x, y] + change[y, x]`; so after a move only the
columns of the one or two children that it touched are scored again.

With a tabu list (Glover 1986) the best move is made even at a loss, until `tabu` moves have found
nothing better; the edges of the last `tabu` moves are left alone, unless that gives the best graph
so far. A restart makes `perturb` random moves from the best graph and climbs again
(`gml.learners.restarts`).

With an equivalent score x → y and y → x often gain the same, and which of them comes first decides
where the climb ends. Of the two, the one is added after which another parent of its child gains
more. Other ties go to the edge that comes first by the names of source and target, then to adding
before deleting before reversing. So names matter little, and the order of columns never does.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.errors import DataError, GraphError, parameter, quote, require_whole, unknown_name
from gml.graph.bits import bits_of, members, positions, sets_in_columns
from gml.graph.equivalence import as_chosen
from gml.graph.extension import consistent_extension, equivalent_with
from gml.graph.graph import Graph
from gml.graph.knowledge import Knowledge
from gml.learners.checked_input import limited_knowledge
from gml.learners.expected_families import expect_pairs
from gml.learners.local_scores import LocalScores, Units, Wanted
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

_NEVER = -(1 << 61)
# Legal moves gain more than this; two illegal ones can be added without overflow.
_LEGAL = -(1 << 60)
# Parents that a child is expected to get one after the other, where it pays to look ahead.
_LIKELY = 2
_ADD, _DELETE, _REVERSE = range(3)
_MOVES = ("add", "delete", "reverse")


class Move(NamedTuple):
    """A change of the edge source → target, with its gain in units; the least is the best."""

    loss: int
    source: int
    target: int
    kind: int


def hill_climb(
    score: Score,
    *,
    max_parents: int | None = None,
    knowledge: Knowledge | None = None,
    start: Graph | None = None,
    tabu: int = 0,
    restarts: int = 0,
    perturb: int | None = None,
    seed: int = 0,
    max_memory: int | None = None,
    threads: int | None = 1,
    deadline: Deadline | None = None,
    trace: Trace | None = None,
) -> SearchResult:
    """Learn a DAG that no single change of an edge improves.

    Parameters
    ----------
    score : Score
        Any object with `names` and `local(child, parents)`.
    max_parents : int, optional
        The most parents that a node may have.
    knowledge : Knowledge, optional
        Required and forbidden edges, tiers.
    start : Graph, optional
        Where to begin: a DAG, or a graph that stands for DAGs; by default the required edges.
    tabu : int
        Length of the tabu list, and how many moves may pass without a better graph.
    restarts, perturb : int
        How often to start again, and after how many random moves from the best graph; by default
        a number drawn each time, up to the number of variables.
    seed : int
        Seed of the random moves.
    max_memory : int, optional
        The most bytes of local scores to keep, in each process.
    threads : int, optional
        Processes for restarts; None for all cores. They change nothing but the time.
    deadline : Deadline, optional
        When to stop with the best graph so far.
    trace : callable, optional
        Called with every Step.

    Examples
    --------
    >>> import gml
    >>> score = gml.SCORES["bic"](gml.MemoryCounter(gml.read("sample_data/asia.csv")))
    >>> result = hill_climb(score)
    >>> result.graph.kind, result.graph.n_edges, result.steps
    ('dag', 7, 7)
    """
    require_whole(0, tabu=tabu, restarts=restarts, perturb=perturb)
    expect_pairs(score)
    knowledge = limited_knowledge(score, knowledge)
    limits = Limits.of(score, max_parents, knowledge)
    local = LocalScores(score, max_memory)
    state = _State(local, limits, _first_parents(start, limits))
    course = Course(local, deadline or Deadline(), trace)
    run = _Run(state, tabu, course, limits, perturb)
    run.climb("climb")
    restart(run, local, as_score(score), restarts=restarts, seed=seed, threads=threads)
    # Another process may have found the best graph, whose families this one does not know.
    families = local.computed
    dag = as_chosen(dag_of(run.best, local.names, score.names), knowledge)
    return SearchResult(
        graph=dag,
        dag=dag,
        score=local.total(run.best),
        families=families,
        steps=course.steps,
        complete=not course.stopped,
    )


def _first_parents(start: Graph | None, limits: Limits) -> list[int]:
    """Return the parents in the graph to start with, which must respect the limits."""
    names = limits.names
    n = len(names)
    if start is None:
        return sets_in_columns(limits.required)
    rank = {name: i for i, name in enumerate(names)}
    for name in start.names:
        if name not in rank:
            raise GraphError(f"the graph to start with: {unknown_name('column', name, names)}")
    extended = consistent_extension(start)
    dag = np.zeros((n, n), dtype=bool)
    for j, given in enumerate(extended.parent_sets()):
        dag[[rank[extended.names[i]] for i in given], rank[extended.names[j]]] = True
    if start.kind != "dag":
        found = equivalent_with(dag, limits.required | limits.forbidden.T)
        dag = dag if found is None else found
    for what, wrong in (
        ("has {}, which knowledge (or a column of one value) forbids", dag & limits.forbidden),
        ("lacks {}, which knowledge requires", limits.required & ~dag),
    ):
        for x, y in np.argwhere(wrong).tolist():
            arc = f"{quote(names[x])} -> {quote(names[y])}"
            raise DataError(f"the graph to start with {what.format(arc)}")
    for y in range(n):
        if dag[:, y].sum() > limits.max_parents:
            raise DataError(
                f"the graph to start with gives {quote(names[y])} more parents than "
                f"{parameter('max_parents')}"
            )
    return sets_in_columns(dag)


Pair = frozenset[int]


def _pair(move: Move) -> Pair:
    return frozenset((move.source, move.target))


class _State:
    """A DAG, and what each change of an edge would gain."""

    def __init__(self, local: LocalScores, limits: Limits, parents: list[int]) -> None:
        self.local = local
        self.n = len(local.names)
        self._limits = limits
        able = sets_in_columns(~limits.forbidden)
        self._may_be_parent = [some & ~(1 << y) for y, some in enumerate(able)]
        self._change = np.full((self.n, self.n), _NEVER, dtype=np.int64)
        self._values = [0.0] * self.n
        self._score: int | None = None
        self.go_to(parents)

    def go_to(self, parents: Sequence[int]) -> None:
        """Continue from another DAG."""
        self.parents = list(parents)
        self._edge = np.zeros((self.n, self.n), dtype=bool)
        for y, given in enumerate(self.parents):
            for x in members(given):
                self._edge[x, y] = True
        self._find_ancestors()
        self._rescore(range(self.n))

    @property
    def score(self) -> int:
        """The score of the graph, in units."""
        if self._score is None:
            self._score = self.local.unit(math.fsum(self._values))
        return self._score

    def best_move(self, barred: Container[Pair] = (), aspiration: int = 0) -> Move | None:
        """Return the legal move with the largest gain.

        An edge between a barred pair is changed only if that gains more than the aspiration.
        """
        add, delete, reverse, source, target = self._gains()
        while True:
            moves = []
            if add.size:
                at = int(np.argmax(add))
                x, y = divmod(at, self.n)
                moves.append(Move(-int(add.flat[at]), x, y, _ADD))
            for kind, gains in ((_DELETE, delete), (_REVERSE, reverse)):
                if len(gains):
                    at = int(np.argmax(gains))
                    x, y = int(source[at]), int(target[at])
                    moves.append(Move(-int(gains[at]), x, y, kind))
            best = min(moves, default=None)
            if best is None or best.loss >= -_LEGAL:
                return None
            if -best.loss > aspiration or _pair(best) not in barred:
                if best.kind == _ADD and add[best.target, best.source] == -best.loss:
                    turned = best._replace(source=best.target, target=best.source)
                    now, then = self._next_gains((best, turned))
                    return turned if then > now else best
                return best
            if best.kind == _ADD:
                add[best.source, best.target] = _NEVER
            else:
                at = int(np.flatnonzero((source == best.source) & (target == best.target))[0])
                (delete if best.kind == _DELETE else reverse)[at] = _NEVER

    def _next_gains(self, moves: Iterable[Move]) -> list[int]:
        """The most that another parent of the child gains after each of some edges is added."""
        wanted, able = [], []
        for _, x, y, _ in moves:
            given = self.parents[y] | 1 << x
            below = bits_of(self._above[:, y].nonzero()[0].tolist())
            more = self._may_be_parent[y] & ~given & ~below
            is_full = given.bit_count() >= self._limits.max_parents
            able.append(0 if is_full else more)
            # All candidates at once: if the edge is added, all of them are needed next.
            wanted.append((y, given, self._may_be_parent[y] & ~given))
        self.local.make_room()
        self.local.expect(self._likely)
        self.local.prepare(some for some, more in zip(wanted, able, strict=True) if more)
        return [
            self._most_gained(y, given, more) if more else 0
            for (y, given, _), more in zip(wanted, able, strict=True)
        ]

    def _likely(self) -> Iterator[Wanted]:
        """Columns that are wanted after the best additions: of one parent to each child, of two."""
        best: list[tuple[int, int, list[int]]] = []
        for y in range(self.n):
            gains = np.where(self._edge[:, y], 0, self._change[:, y])
            few = np.argsort(-gains, kind="stable")[:_LIKELY].tolist()
            some = [x for x in few if gains[x] > 0]
            if some:
                best.append((-int(gains[some[0]]), y, some))
        for depth in range(1, _LIKELY + 1):
            for _, y, some in sorted(best):
                given = self.parents[y] | bits_of(some[:depth])
                if len(some) >= depth and given.bit_count() < self._limits.max_parents:
                    yield y, given, self._may_be_parent[y] & ~given

    def _most_gained(self, y: int, given: int, more: int) -> int:
        then = self.local.with_one(y, given, positions(more, self.n))
        return max(0, self.local.unit(float(then.max()) - self.local.value(y, given)))

    def make(self, move: Move) -> None:
        """Make a legal move."""
        _, x, y, kind = move
        if kind == _ADD:
            self.parents[y] |= 1 << x
            self._edge[x, y] = True
            self._above[self._above[:, y]] |= self._above[x]
            self._rescore([y])
            return
        self.parents[y] &= ~(1 << x)
        self._edge[x, y] = False
        if kind == _REVERSE:
            self.parents[x] |= 1 << y
            self._edge[y, x] = True
        self._find_ancestors()
        self._rescore([y] if kind == _DELETE else [x, y])

    def _gains(self) -> tuple[Units, Units, Units, NDArray[np.int64], NDArray[np.int64]]:
        """Gains of adding [x, y], and of deleting and reversing the edges source → target."""
        add = np.where(self._above | self._edge, _NEVER, self._change)
        source, target = self._edge.nonzero()
        delete = self._change[source, target]
        reverse = delete + self._change[target, source]
        # Another path from the source to the target would become a cycle.
        paths = (self._edge[source] & self._above[target]).sum(axis=1)
        reverse[paths > 1] = _NEVER
        required = self._limits.required[source, target]
        delete[required] = _NEVER
        reverse[required] = _NEVER
        return add, delete, reverse, source, target

    def _find_ancestors(self) -> None:
        """above[y, x]: x is y or an ancestor of y."""
        self._above = np.eye(self.n, dtype=bool)
        waiting = self._edge.sum(axis=0).tolist()
        ready = [y for y in range(self.n) if waiting[y] == 0]
        children: list[list[int]] = [[] for _ in range(self.n)]
        for y, given in enumerate(self.parents):
            for x in members(given):
                children[x].append(y)
        while ready:
            x = ready.pop()
            for y in children[x]:
                self._above[y] |= self._above[x]
                waiting[y] -= 1
                if waiting[y] == 0:
                    ready.append(y)

    def _rescore(self, children: Iterable[int]) -> None:
        """The gain of adding each node to the parents of a child, or of removing it."""
        wanted = []
        for y in children:
            full = self.parents[y].bit_count() >= self._limits.max_parents
            more = 0 if full else self._may_be_parent[y] & ~self.parents[y]
            wanted.append((y, self.parents[y], more))
        self._score = None
        self.local.make_room()
        self.local.expect(self._likely)
        self.local.prepare(wanted)
        for y, given, more in wanted:
            now = self.local.value(y, given)
            self._values[y] = now
            column = self._change[:, y]
            column.fill(_NEVER)
            at = positions(more, self.n)
            column[at] = self.local.gains(self.local.with_one(y, given, at), now)
            for x, value in self.local.without_one(y, given):
                column[x] = max(_NEVER, self.local.unit(value - now))


class _Run:
    """A search: where it is, and the best graph so far."""

    def __init__(
        self, state: _State, tabu: int, course: Course, limits: Limits, perturb: int | None
    ) -> None:
        self._state = state
        self._tabu = tabu
        self._limits = limits
        self._perturb = perturb
        self.course = course
        self.best = list(state.parents)
        self.best_score = state.score

    def climb(self, phase: str) -> None:
        """Make the best move until none gains, or too many have passed without a better graph."""
        state = self._state
        recent: deque[Pair] = deque(maxlen=self._tabu)
        top, since = state.score, 0
        while since <= self._tabu:
            if self.course.out_of_time():
                break
            move = state.best_move(recent, self.best_score - state.score)
            if move is None or (move.loss >= 0 and not self._tabu):
                break
            self._make(move, phase)
            recent.append(_pair(move))
            since += 1
            if state.score > top:
                top, since = state.score, 0
        reporter().status(None)

    def climb_again(self, rng: np.random.Generator, phase: str) -> None:
        """Make random moves from the best graph, and climb again."""
        self._state.go_to(perturbed(self.best, rng, self._perturb, self._limits))
        score = self._state.score
        self.course.tell_restart(phase, score - self.best_score, score)
        self.climb(phase)

    def _make(self, move: Move, phase: str) -> None:
        self._state.make(move)
        score = self._state.score
        if score > self.best_score:
            self.best, self.best_score = list(self._state.parents), score
        edge = move.source, move.target
        self.course.tell_move(phase, _MOVES[move.kind], edge, 0, -move.loss, score)
