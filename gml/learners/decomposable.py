"""Greedy search over decomposable (chordal) undirected graphs: add or delete an edge.

From a start, the change of one edge with the largest gain is made until none gains. A chordal graph
is scored as any DAG with its edges and no colliders (gml.graph.chordal), so that with a score that
gives equivalent DAGs the same value everything is in closed form: with S the common neighbours of
a and b, the edge a — b is worth

    s(a | S ∪ {b}) − s(a | S),

gained if it is added and lost if it is deleted (Dawid & Lauritzen 1993, Ann. Statist. 21:1272;
Højsgaard, Edwards & Lauritzen 2012, section 2.3.4). The graph stays chordal iff

- a — b is added and S separates a from b: with neighbours of a taken away, the component of b then
  has no boundary but S (Giudici & Green 1999, Biometrika 86:785; Deshpande, Garofalakis & Jordan
  2001, UAI);
- a — b is deleted and S is complete: the edge is in one clique only (Frydenberg & Lauritzen 1989,
  Biometrika 76:539).

Adding or deleting x — y changes S only for pairs of x with neighbours of y, and of y with those of
x: only they are scored again, whether they may be edges now or not. Whether they may is found when
such a pair comes first, for all pairs of one of its nodes at once. What was found illegal stays so
while edges are added, except where S changes or, for edges, the nodes in S are joined.

Gains are compared in whole units (gml.learners.search); ties go to the pair that is first by name,
so that the order of columns has no effect.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import numpy as np

from gml.errors import DataError, GraphError, UsageError, parameter, require_whole, unknown_name
from gml.graph.bits import members, positions
from gml.graph.chordal import are_joined, neighbour_bits, perfect_parents, perfect_sequence
from gml.graph.edges import Mark
from gml.graph.graph import Graph
from gml.learners.local_scores import LocalScores
from gml.learners.search import Course, SearchResult, Trace, dag_of
from gml.progress import Deadline, reporter
from gml.scores.base import Score, as_score

_NEVER = -(1 << 61)


def forward_decomposable(
    score: Score,
    *,
    max_clique: int | None = None,
    start: Graph | None = None,
    max_memory: int | None = None,
    deadline: Deadline | None = None,
    trace: Trace | None = None,
) -> SearchResult:
    """Learn a chordal undirected graph that no single edge improves.

    Parameters
    ----------
    score : Score
        One that gives equivalent DAGs the same value.
    max_clique : int, optional
        The most nodes of a clique.
    start : Graph, optional
        Where to begin: a chordal undirected graph; by default no edges.
    max_memory : int, optional
        The most bytes of local scores to keep.
    deadline : Deadline, optional
        When to stop with the graph so far.
    trace : callable, optional
        Called with every Step; its `others` are the common neighbours.

    Examples
    --------
    >>> import gml
    >>> score = gml.SCORES["bic"](gml.MemoryCounter(gml.read("sample_data/asia.csv")))
    >>> result = forward_decomposable(score)
    >>> result.graph.kind, result.graph.n_edges, round(result.score, 2)
    ('undirected', 10, -11216.36)
    """
    require_whole(1, max_clique=max_clique)
    if not as_score(score).equivalent:
        raise UsageError(
            "a search over undirected graphs needs a score that gives equivalent DAGs the same "
            f"value, which {as_score(score).name} does not"
        )
    local = LocalScores(score, max_memory)
    most = len(local.names) if max_clique is None else max_clique
    constant = {score.names[j] for j in as_score(score).constants()}
    alone = [j for j, name in enumerate(local.names) if name in constant]
    state = _State(local, most, alone, _first_neighbours(start, local.names, most))
    course = Course(local, deadline or Deadline(), trace)
    # Only the score at the start is missing from what the moves gain.
    reached = local.unit(local.total(state.parents()))
    while not course.out_of_time():
        move = state.best_move()
        if move is None:
            break
        x, y, gain = move
        reached += gain
        kind, common = state.make(x, y)
        course.tell_move("climb", kind, (x, y), common, gain, reached)
    reporter().status(None)
    parents = state.parents()
    return SearchResult(
        graph=_undirected(state.neighbours, local.names, score.names),
        dag=dag_of(parents, local.names, score.names),
        score=local.total(parents),
        families=local.computed,
        steps=course.steps,
        complete=not course.stopped,
    )


def _first_neighbours(start: Graph | None, names: list[str], max_clique: int) -> list[int]:
    """Return the neighbours in the graph to start with, nodes in the order of names."""
    if start is None:
        return [0] * len(names)
    rank = {name: k for k, name in enumerate(names)}
    for name in start.names:
        if name not in rank:
            raise GraphError(f"the graph to start with: {unknown_name('column', name, names)}")
    found = perfect_sequence(start)
    if found is None:
        raise GraphError("the graph to start with has a cycle without a chord")
    if max(map(len, found.cliques), default=0) > max_clique:
        raise DataError(f"the graph to start with has a clique above {parameter('max_clique')}")
    neighbours = [0] * len(names)
    for node, others in enumerate(neighbour_bits(start)):
        for other in members(others):
            neighbours[rank[start.names[node]]] |= 1 << rank[start.names[other]]
    return neighbours


def _undirected(neighbours: list[int], names: list[str], order: Iterable[str]) -> Graph:
    """The graph of neighbours over `names`, its nodes in another order."""
    nodes = tuple(order)
    at = {name: i for i, name in enumerate(nodes)}
    marks = np.zeros((len(nodes), len(nodes)), dtype=np.uint8)
    for node, others in enumerate(neighbours):
        for other in members(others):
            marks[at[names[node]], at[names[other]]] = Mark.TAIL
    return Graph(nodes, marks, "undirected")


class _State:
    """A chordal graph, and what each change of an edge would gain; pairs are (x, y) with x < y."""

    def __init__(
        self, local: LocalScores, max_clique: int, alone: list[int], neighbours: list[int]
    ) -> None:
        self.local = local
        self.n = len(local.names)
        self.neighbours = list(neighbours)
        self._max_clique = max_clique
        self._everything = (1 << self.n) - 1
        self._gain = np.full((self.n, self.n), _NEVER, dtype=np.int64)
        self._barred = np.zeros(self.n, dtype=bool)
        self._barred[alone] = True
        self._weigh_alone()
        linked = [(x, y) for x in range(self.n) for y in range(x + 1, self.n) if self._common(x, y)]
        edges = [(x, y) for x in range(self.n) for y in members(self.neighbours[x]) if x < y]
        self._weigh({*linked, *edges})
        # The gains, but for pairs whose change was found to break the graph.
        self._possible = self._gain.copy()

    def parents(self) -> list[int]:
        """Return the parents of a DAG with the same models."""
        found = perfect_parents(_undirected(self.neighbours, self.local.names, self.local.names))
        assert found is not None
        return found

    def best_move(self) -> tuple[int, int, int] | None:
        """Return the pair whose change gains most, and its gain; None if no change gains."""
        while self.n:
            x, y = divmod(int(np.argmax(self._possible)), self.n)
            gain = int(self._possible[x, y])
            if gain <= 0:
                return None
            self._settle(x, y)
            if self._possible[x, y] == gain:
                return x, y, gain
        return None

    def make(self, x: int, y: int) -> tuple[str, int]:
        """Change a pair; returns what was done and the common neighbours."""
        common = self._common(x, y)
        kind = "delete" if self.neighbours[x] >> y & 1 else "add"
        self.neighbours[x] ^= 1 << y
        self.neighbours[y] ^= 1 << x
        touched = {_pair(x, y)}
        touched.update(_pair(x, w) for w in members(self.neighbours[y] & ~(1 << x)))
        touched.update(_pair(y, w) for w in members(self.neighbours[x] & ~(1 << y)))
        self._weigh(touched)
        if kind == "delete":
            self._possible = self._gain.copy()
        else:
            for a, b in (*touched, *combinations(members(common), 2)):
                self._possible[a, b] = self._gain[a, b]
        return kind, common

    def _common(self, x: int, y: int) -> int:
        return self.neighbours[x] & self.neighbours[y]

    def _weigh_alone(self) -> None:
        """Weigh all pairs as if there were no edges."""
        self.local.prepare(
            (x, 0, self._everything & ~((2 << x) - 1)) for x in range(self.n) if not self._barred[x]
        )
        if self._max_clique < 2:
            return
        for x in range(self.n):
            if not self._barred[x]:
                later = np.arange(x + 1, self.n)
                worth = self.local.with_one(x, 0, later) - self.local.value(x, 0)
                self._gain[x, later] = np.where(
                    self._barred[later], _NEVER, self.local.units(worth)
                )

    def _weigh(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Weigh some pairs with their common neighbours."""
        asked = []
        for x, y in sorted(pairs):
            given = self._common(x, y)
            self._gain[x, y] = _NEVER
            if not (self._barred[x] or self._barred[y]):
                asked.append((x, y, given))
        self.local.make_room()
        self.local.know(
            family for x, y, given in asked for family in ((x, given), (x, given | 1 << y))
        )
        for x, y, given in asked:
            worth = self.local.unit(
                self.local.value(x, given | 1 << y) - self.local.value(x, given)
            )
            if self.neighbours[x] >> y & 1:
                self._gain[x, y] = -worth
            elif given.bit_count() + 2 <= self._max_clique:
                self._gain[x, y] = worth

    def _settle(self, x: int, y: int) -> None:
        """Find out whether changing a pair keeps the graph chordal, with others on the way."""
        if self.neighbours[x] >> y & 1:
            if not are_joined(self.neighbours, self._common(x, y)):
                self._possible[x, y] = _NEVER
            return
        apart = self._everything & ~self.neighbours[x] & ~(1 << x)
        illegal = positions(apart & ~self._may_be_added(x), self.n)
        self._possible[np.minimum(illegal, x), np.maximum(illegal, x)] = _NEVER

    def _may_be_added(self, x: int) -> int:
        """The nodes that x may be joined to: common neighbours separate them from it."""
        neighbours = self.neighbours[x]
        left = self._everything & ~neighbours & ~(1 << x)
        found = 0
        while left:
            component, new, reached = 0, left & -left, 0
            while new:
                component |= new
                around = 0
                for node in members(new):
                    around |= self.neighbours[node]
                reached |= around
                new = around & left & ~component
            left &= ~component
            legal = component
            for node in members(reached & neighbours):
                legal &= self.neighbours[node]
            found |= legal
        return found


def _pair(a: int, b: int) -> tuple[int, int]:
    return (a, b) if a < b else (b, a)
