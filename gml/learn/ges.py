"""Greedy equivalence search over CPDAGs.

Chickering (2002, JMLR 3:507): from the class without edges the best valid *insertion* is made until
none gains, then the best *deletion*; Hauser & Bühlmann (2012, JMLR 13:2409, section 4) add the best
*turning* of an edge. The phases are repeated until none of them gains. With a score that is
consistent and equivalent the limit of the first two is the true class.

For a target y with parents Pa, undirected neighbours Ne and N = Ne ∩ adj(x), every operator names a
clique C of Ne that points to y, and all others of Ne become children of y:

- insert x → y: C ⊇ N, and every semi-directed path from y to x meets C (theorems 15, 16);
  gain s(y | Pa, C, x) − s(y | Pa, C);
- delete x → y or x — y: C ⊆ N (theorems 17, 18); gain s(y | Pa ∖ x, C) − s(y | Pa, C, x);
- turn y → x into x → y: C ⊇ N, and every other semi-directed path from y to x meets C ∪ Ne(x)
  (proposition 31); gain s(y | Pa, C, x) − s(y | Pa, C) + s(x | Pa(x) ∖ y) − s(x | Pa(x));
- turn x — y into x → y: C ⊆ Ne ∖ x, C ⊄ adj(x), and C ∩ N separates C ∖ N from N ∖ C within Ne
  (proposition 34); gain s(y | Pa, C, x) − s(y | Pa, C) + s(x | Pa(x), C ∩ N) − s(x | Pa(x), C ∩ N,
  y).

In the papers' terms T or H is C ∖ N or N ∖ C. The gains of a target are kept until its parents, its
neighbours or edges among these and their neighbours change; whether a path is in the way is looked
at only for the operator that would be next.

Knowledge: the search is over the classes with at least one DAG that respects it, from the class of
the required edges; the result is the maximally oriented PDAG of such a DAG. A restart makes random
valid deletions and insertions from the best class and searches again.

Ties go to the operator that is first by the names of x and of y, then to the clique whose last
member comes first.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from gml.errors import UsageError
from gml.graph.bits import bits_of, members, positions
from gml.graph.essential import EssentialGraph
from gml.graph.extension import equivalent_with
from gml.graph.graph import Graph, Mark
from gml.graph.knowledge import Knowledge
from gml.graph.orientation import Matrix, maximally_oriented
from gml.learn.local_scores import LocalScores, unit
from gml.learn.search import SearchResult, Step, Trace, checked_knowledge, dag_of, perturbed
from gml.progress import Deadline, reporter
from gml.scores.base import RESOLUTION, Score

PHASES = ("forward", "backward", "turning")


class Operator(NamedTuple):
    """A change of the edge between x and y with the clique that points to y; the least is best."""

    loss: int
    x: int
    y: int
    clique: int


Family = tuple[int, int]


def ges(
    score: Score,
    *,
    phases: Sequence[str] = PHASES,
    max_parents: int | None = None,
    knowledge: Knowledge | None = None,
    restarts: int = 0,
    perturb: int | None = None,
    seed: int = 0,
    deadline: Deadline | None = None,
    trace: Trace | None = None,
) -> SearchResult:
    """Learn a CPDAG that no insertion, deletion or turning of an edge improves.

    Parameters
    ----------
    score : Score
        Any object with `names` and `local(child, parents)`; it has to be score equivalent.
    phases : sequence of {"forward", "backward", "turning"}
        Repeated in this order until none of them gains.
    max_parents : int, optional
        Most parents of a node in the DAGs the search goes through; the limit is then no longer the
        true class.
    knowledge : Knowledge, optional
        Required and forbidden edges, tiers; the result is then the maximally oriented PDAG.
    restarts, perturb : int
        How often to begin anew, after how many random changes of an edge in the best class.
    seed : int
        Of the random changes.
    deadline : Deadline, optional
        When to stop with the best class so far.
    trace : callable, optional
        Gets every Step; its other nodes are the clique that points to the target.

    Examples
    --------
    >>> import gml
    >>> score = gml.SCORES["bic"](gml.MemoryCounter(gml.read("sample_data/asia.csv")))
    >>> result = ges(score)
    >>> result.graph.kind, result.graph.n_edges, result.steps
    ('cpdag', 7, 8)
    """
    for phase in phases:
        if phase not in PHASES:
            raise UsageError(f"phases are some of {', '.join(PHASES)}")
    if min(restarts, perturb or 0, max_parents or 0) < 0:
        raise UsageError("restarts, perturb and max_parents are not negative")
    knowledge = checked_knowledge(knowledge, score.names)
    local = LocalScores(score)
    limits = _Limits(local.names, max_parents, knowledge)
    run = _Run(local, limits, phases, deadline or Deadline(), trace)
    run.search("")
    rng = np.random.default_rng(seed)
    for restart in range(restarts):
        if run.deadline.passed:
            break
        run.perturb(rng, perturb)
        run.search(f"restart {restart + 1}: ")
    graph, dag = limits.described(run.best, score.names)
    return SearchResult(
        graph=graph,
        dag=dag,
        score=local.total(run.best.dag),
        families=local.computed,
        steps=run.steps,
        complete=not run.stopped,
    )


class _Limits:
    """What a class may be: with few enough parents, and a DAG that respects the knowledge."""

    def __init__(self, names: Sequence[str], max_parents: int | None, knowledge: Knowledge) -> None:
        n = len(names)
        self._names = names
        self._knows = bool(knowledge)
        self._required = knowledge.required(names)
        self._forbidden = knowledge.forbidden(names)
        self.max_parents = n if max_parents is None else max_parents
        never = self._forbidden & self._forbidden.T
        either = self._required | self._required.T
        self.may_be_adjacent = [_set(~never[y]) & ~(1 << y) for y in range(n)]
        self.must_be_adjacent = [_set(either[y]) for y in range(n)]

    def first(self) -> EssentialGraph:
        """The class of the required edges."""
        graph = EssentialGraph([_set(column) for column in self._required.T])
        return graph

    def respected_by(self, graph: EssentialGraph) -> bool:
        """Whether some DAG of the class respects the knowledge."""
        return not self._knows or self._respecting(graph) is not None

    def _respecting(self, graph: EssentialGraph) -> Matrix | None:
        dag = _matrix(graph.dag)
        if (self._required & ~(dag | dag.T)).any():
            return None
        return equivalent_with(dag, self._required | self._forbidden.T)

    def described(self, graph: EssentialGraph, order: Sequence[str]) -> tuple[Graph, Graph]:
        """Return the CPDAG or maximally oriented PDAG, and a DAG of it, nodes in another order."""
        dag, decided = _matrix(graph.dag), None
        if self._knows:
            found = self._respecting(graph)
            assert found is not None
            dag, decided = found, self._required | self._forbidden.T
        directed = maximally_oriented(dag, decided)
        parents = [_set(column) for column in dag.T]
        drawn = dag_of(parents, self._names, order)
        rank = {name: i for i, name in enumerate(self._names)}
        at = [rank[name] for name in order]
        marks = drawn.marks.copy()
        undirected = (dag | dag.T) & ~directed & ~directed.T
        marks[undirected[np.ix_(at, at)]] = Mark.TAIL
        return Graph(tuple(order), marks, "pdag" if self._knows else "cpdag"), drawn


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
        limits: _Limits,
        phases: Sequence[str],
        deadline: Deadline,
        trace: Trace | None,
    ) -> None:
        self.deadline = deadline
        self.steps = 0
        self.stopped = False
        self._local = local
        self._limits = limits
        self._phases = [_KINDS[phase](local, limits) for phase in phases]
        self._trace = trace
        self._graph = self.best = limits.first()
        self._best_score = self._score()

    def search(self, prefix: str) -> None:
        """Go through the phases until none of them gains."""
        gained = True
        while gained and not self.stopped:
            gained = False
            for phase in self._phases:
                while not self.stopped:
                    if self.deadline.passed:
                        self.stopped = True
                        break
                    found = phase.best(self._graph)
                    if found is None:
                        break
                    gained = True
                    self._make(prefix + phase.name, phase.move(self._graph, found[0]), *found)
        score = self._score()
        if score > self._best_score:
            self.best, self._best_score = self._graph, score
        reporter().status(None)

    def perturb(self, rng: np.random.Generator, moves: int | None) -> None:
        """Change random edges of a DAG of the best class."""
        dag = perturbed(self.best.dag, rng, moves)
        graph = EssentialGraph(dag)
        self._graph = graph if self._limits.respected_by(graph) else self.best

    def _score(self) -> int:
        return unit(self._local.total(self._graph.dag))

    def _make(self, phase: str, move: str, operator: Operator, graph: EssentialGraph) -> None:
        self._graph = graph
        self.steps += 1
        gain, score = -operator.loss * RESOLUTION, self._score() * RESOLUTION
        if self._trace is not None:
            names = self._local.names
            clique = tuple(names[j] for j in members(operator.clique))
            edge = names[operator.x], names[operator.y]
            self._trace(Step(phase, move, *edge, clique, gain, score))
        reporter().status(f"{phase}: {self.steps} steps, score {score:.2f}")


class _Phase(ABC):
    """The operators of one kind: those of each target that gain, the best first.

    They are kept with what of the graph they depend on.
    """

    name = ""

    def __init__(self, local: LocalScores, limits: _Limits) -> None:
        self._local = local
        self._limits = limits
        self._seen: dict[int, tuple[int, ...]] = {}
        self._operators: dict[int, list[Operator]] = {}
        self._reached: dict[tuple[int, int], int] = {}

    def best(self, graph: EssentialGraph) -> tuple[Operator, EssentialGraph] | None:
        """Return the valid operator that gains most, and the class it leads to."""
        self._refresh(graph)
        self._reached = {}
        queue = [(operators[0], 0) for operators in self._operators.values() if operators]
        heapq.heapify(queue)
        while queue:
            operator, k = queue[0]
            if self._is_valid(graph, operator):
                found = EssentialGraph(self._result(graph, operator))
                if self._limits.respected_by(found):
                    return operator, found
            operators = self._operators[operator.y]
            if k + 1 < len(operators):
                heapq.heapreplace(queue, (operators[k + 1], k + 1))
            else:
                heapq.heappop(queue)
        return None

    def _refresh(self, graph: EssentialGraph) -> None:
        """Find anew the operators of the targets around which the graph has changed."""
        stale = []
        for y in range(len(graph.dag)):
            seen = self._sees(graph, y)
            if self._seen.get(y) != seen:
                self._seen[y] = seen
                stale.append(y)
        for y, operators in zip(stale, self._find(graph, stale), strict=True):
            self._operators[y] = sorted(operators)

    @abstractmethod
    def _sees(self, graph: EssentialGraph, y: int) -> tuple[int, ...]:
        """What of the graph the operators of a target and their gains depend on."""

    @abstractmethod
    def _find(self, graph: EssentialGraph, targets: list[int]) -> Iterator[list[Operator]]:
        """Yield the operators that gain of each target."""

    def _is_valid(self, graph: EssentialGraph, operator: Operator) -> bool:
        """Whether no path is in the way."""
        return True

    @abstractmethod
    def _result(self, graph: EssentialGraph, operator: Operator) -> list[int]:
        """Return the parents in a DAG of the class that a valid operator leads to."""

    @abstractmethod
    def move(self, graph: EssentialGraph, operator: Operator) -> str:
        """What an operator does to its edge, in a word."""


class _Forward(_Phase):
    """Insert an edge."""

    name = "forward"

    def _sees(self, graph: EssentialGraph, y: int) -> tuple[int, ...]:
        around, adjacent = graph.neighbours[y], graph.adjacent
        return (graph.parents[y], around, adjacent[y], *[adjacent[v] for v in members(around)])

    def _find(self, graph: EssentialGraph, targets: list[int]) -> Iterator[list[Operator]]:
        groups = [list(self._groups(graph, y)) for y in targets]
        flat = [group for some in groups for group in some]
        self._local.know((y, given) for y, given, _, _ in flat)
        self._local.prepare((y, given, more) for y, given, more, _ in flat)
        n = len(graph.dag)
        for some in groups:
            operators = []
            for y, given, more, clique in some:
                at = positions(more, n)
                gains = self._local.with_one(y, given, at) - self._local.value(y, given)
                for k in np.flatnonzero(gains > RESOLUTION / 2).tolist():
                    loss = -unit(float(gains[k]))
                    if loss < 0:
                        operators.append(Operator(loss, int(at[k]), y, clique))
            yield operators

    def _groups(self, graph: EssentialGraph, y: int) -> Iterator[tuple[int, int, int, int]]:
        """Yield y, its other parents then, the nodes x that can be one more, and the clique."""
        apart = self._limits.may_be_adjacent[y] & ~graph.adjacent[y]
        around = graph.neighbours[y]
        for clique in graph.cliques(around):
            given = graph.parents[y] | clique
            if given.bit_count() >= self._limits.max_parents:
                continue
            more = apart
            for v in members(around & ~clique):
                more &= ~graph.adjacent[v]
            if more:
                yield y, given, more, clique

    def _is_valid(self, graph: EssentialGraph, operator: Operator) -> bool:
        key = (operator.y, operator.clique)
        if key not in self._reached:
            self._reached[key] = graph.reached(*key)
        return not self._reached[key] >> operator.x & 1

    def _result(self, graph: EssentialGraph, operator: Operator) -> list[int]:
        dag = list(graph.dag)
        for node, given in graph.directed_from([*members(operator.clique), operator.y]).items():
            dag[node] = given
        dag[operator.y] |= 1 << operator.x
        return dag

    def move(self, graph: EssentialGraph, operator: Operator) -> str:
        """What an operator does to its edge, in a word."""
        return "insert"


class _Listed(_Phase):
    """Operators few enough to be listed with the families that they gain and lose."""

    def _find(self, graph: EssentialGraph, targets: list[int]) -> Iterator[list[Operator]]:
        listed = [list(self._list(graph, y)) for y in targets]
        self._local.know(
            family for some in listed for _, gained, lost in some for family in (*gained, *lost)
        )
        value = self._local.value
        for some in listed:
            operators = []
            for operator, gained, lost in some:
                change = sum(value(*family) for family in gained)
                change -= sum(value(*family) for family in lost)
                if unit(change) > 0:
                    operators.append(operator._replace(loss=-unit(change)))
            yield operators

    @abstractmethod
    def _list(
        self, graph: EssentialGraph, y: int
    ) -> Iterator[tuple[Operator, list[Family], list[Family]]]:
        """Yield the operators of a target with the families that come and go."""


class _Backward(_Listed):
    """Delete an edge."""

    name = "backward"

    def _sees(self, graph: EssentialGraph, y: int) -> tuple[int, ...]:
        around = graph.neighbours[y]
        known = graph.parents[y] | around
        return (graph.parents[y], around, *[graph.adjacent[v] for v in members(known)])

    def _list(
        self, graph: EssentialGraph, y: int
    ) -> Iterator[tuple[Operator, list[Family], list[Family]]]:
        parents, around = graph.parents[y], graph.neighbours[y]
        for x in members((parents | around) & ~self._limits.must_be_adjacent[y]):
            for clique in graph.cliques(around & graph.adjacent[x]):
                less = (parents | clique) & ~(1 << x)
                yield Operator(0, x, y, clique), [(y, less)], [(y, less | 1 << x)]

    def _result(self, graph: EssentialGraph, operator: Operator) -> list[int]:
        _, x, y, clique = operator
        dag = list(graph.dag)
        before = [x] if graph.neighbours[y] >> x & 1 else []
        for node, given in graph.directed_from([*members(clique), *before, y]).items():
            dag[node] = given
        dag[y] &= ~(1 << x)
        return dag

    def move(self, graph: EssentialGraph, operator: Operator) -> str:
        """What an operator does to its edge, in a word."""
        return "delete"


class _Turning(_Listed):
    """Turn an edge, directed or not."""

    name = "turning"

    def _sees(self, graph: EssentialGraph, y: int) -> tuple[int, ...]:
        around = graph.neighbours[y] | graph.children[y]
        seen = [graph.parents[y], graph.neighbours[y], graph.children[y]]
        for v in members(around):
            seen += (graph.adjacent[v], graph.parents[v])
        return tuple(seen)

    def _list(
        self, graph: EssentialGraph, y: int
    ) -> Iterator[tuple[Operator, list[Family], list[Family]]]:
        parents, around = graph.parents[y], graph.neighbours[y]
        for clique in graph.cliques(around):
            given = parents | clique
            if given.bit_count() >= self._limits.max_parents:
                continue
            for x in members((graph.children[y] | around) & ~clique):
                shared = around & graph.adjacent[x]
                if graph.children[y] >> x & 1:
                    if shared & ~clique:
                        continue
                    of_x = graph.parents[x] & ~(1 << y)
                else:
                    here = clique & shared
                    if not clique & ~shared or not graph.separates(
                        here, clique & ~shared, shared & ~clique, around
                    ):
                        continue
                    of_x = graph.parents[x] | here
                gained = [(y, given | 1 << x), (x, of_x)]
                yield Operator(0, x, y, clique), gained, [(y, given), (x, of_x | 1 << y)]

    def _is_valid(self, graph: EssentialGraph, operator: Operator) -> bool:
        _, x, y, clique = operator
        if not graph.children[y] >> x & 1:
            return True
        blocked = clique | graph.neighbours[x]
        return not graph.reached(y, blocked, without=1 << x) >> x & 1

    def _result(self, graph: EssentialGraph, operator: Operator) -> list[int]:
        _, x, y, clique = operator
        dag = list(graph.dag)
        directed = graph.directed_from([*members(clique), y], prefer=x)
        if graph.children[y] >> x & 1:
            directed |= graph.directed_from([x])
        for node, given in directed.items():
            dag[node] = given
        dag[x] &= ~(1 << y)
        dag[y] |= 1 << x
        return dag

    def move(self, graph: EssentialGraph, operator: Operator) -> str:
        """What an operator does to its edge, in a word."""
        return "turn" if graph.children[operator.y] >> operator.x & 1 else "direct"


_KINDS: dict[str, type[_Phase]] = {kind.name: kind for kind in (_Forward, _Backward, _Turning)}
