"""The operators of greedy equivalence search: insert, delete and turn an edge of a CPDAG.

For a target y with parents Pa, undirected neighbours Ne and N = Ne ∩ adj(x), every operator names a
clique C of Ne that points to y, and all others of Ne become children of y:

- insert x → y: C ⊇ N, and every semi-directed path from y to x meets C (Chickering 2002, theorems
  15 and 16); gain s(y | Pa, C, x) − s(y | Pa, C);
- delete x → y or x — y: C ⊆ N (theorems 17 and 18); gain s(y | Pa ∖ x, C) − s(y | Pa, C, x);
- turn y → x into x → y: C ⊇ N, and every other semi-directed path from y to x meets C ∪ Ne(x)
  (Hauser & Bühlmann 2012, proposition 31); gain s(y | Pa, C, x) − s(y | Pa, C) + s(x | Pa(x) ∖ y)
  − s(x | Pa(x));
- direct x — y as x → y: C ⊆ Ne ∖ x, C ⊄ adj(x), and C ∩ N separates C ∖ N from N ∖ C within Ne
  (proposition 34); gain s(y | Pa, C, x) − s(y | Pa, C) + s(x | Pa(x), C ∩ N) − s(x | Pa(x), C ∩ N,
  y).

In the papers T is C ∖ N and H is N ∖ C. The gains of a target are kept until its parents, its
neighbours or the edges of these change; whether a path is in the way is checked only for the
operator that would be next.

Ties go to the operator that comes first by the names of x and y, then to the clique whose last
member comes first.
"""

from __future__ import annotations

import heapq
import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from gml.graph.bits import members, positions
from gml.graph.essential import EssentialGraph
from gml.learners.local_scores import LocalScores, Wanted
from gml.progress import Deadline

# Searches that go back and try something else come to the same targets again.
_MOST_KNOWN = 1 << 15

Family = tuple[int, int]
"""A child and its parents."""

# Scores requested at a time: many, but not so many that time or memory runs out unnoticed.
_BLOCK = 1 << 15


class Classes(Protocol):
    """The classes to search; from which nodes edges to each may be inserted, or must be there."""

    max_parents: int
    may_be_inserted: list[int]
    must_be_adjacent: list[int]

    def respected_by(self, graph: EssentialGraph) -> bool:
        """Whether a class is one to search."""


class OutOfTime(Exception):
    """The deadline passed while operators were looked for."""


class Operator(NamedTuple):
    """A change of the edge between x and y with the clique that points to y; the least is best."""

    loss: int
    x: int
    y: int
    clique: int


_NONE = Operator(1 << 200, 0, 0, 0)


class Phase(ABC):
    """The operators of one kind: those of each target that gain, the best first.

    They are kept together with the part of the graph that they depend on, and so are those of
    earlier graphs.
    """

    name = ""

    def __init__(self, local: LocalScores, classes: Classes, deadline: Deadline) -> None:
        self._local = local
        self._classes = classes
        self._deadline = deadline
        self._seen: dict[int, tuple[int, ...]] = {}
        self._operators: dict[int, list[Operator]] = {}
        self._known: dict[tuple[int, tuple[int, ...]], list[Operator]] = {}
        self._reached: dict[tuple[int, int], int] = {}

    def best(self, graph: EssentialGraph) -> tuple[Operator, EssentialGraph] | None:
        """Return the valid operator that gains most, and the class it leads to."""
        if self._deadline.passed:
            raise OutOfTime
        self._refresh(graph)
        self._reached = {}
        queue = [(operators[0], 0) for operators in self._operators.values() if operators]
        heapq.heapify(queue)
        while queue:
            operator, k = queue[0]
            if self._is_valid(graph, operator):
                found = EssentialGraph(self._result(graph, operator))
                if self._classes.respected_by(found):
                    return operator, found
            operators = self._operators[operator.y]
            if k + 1 < len(operators):
                heapq.heapreplace(queue, (operators[k + 1], k + 1))
            else:
                heapq.heappop(queue)
        return None

    def _refresh(self, graph: EssentialGraph) -> None:
        """Find the operators again for the targets around which the graph has changed."""
        seen = {y: self._sees(graph, y) for y in range(len(graph.dag))}
        changed = [(y, what) for y, what in seen.items() if self._seen.get(y) != what]
        found: dict[int, list[Operator]] = {
            y: [] for y, what in changed if (y, what) not in self._known
        }
        for block in self._blocks(graph, found):
            self._local.make_room()
            for operator in self._gaining(block):
                found[operator.y].append(operator)
        known = {y: self._known[y, what] for y, what in changed if y not in found}
        known |= {y: sorted(operators) for y, operators in found.items()}
        self._seen = seen
        self._operators |= known
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        self._known |= {(y, what): known[y] for y, what in changed}

    def _blocks(self, graph: EssentialGraph, targets: Iterable[int]) -> Iterator[list[Any]]:
        """Yield the candidates of some targets, as many at a time as are worth a batch."""
        block: list[Any] = []
        for y in targets:
            for candidate in self._candidates(graph, y):
                block.append(candidate)
                if len(block) * self._size_of_candidate(graph) >= _BLOCK:
                    yield block
                    block = []
        if block:
            yield block

    def _size_of_candidate(self, graph: EssentialGraph) -> int:
        """The most scores that a candidate needs."""
        return 4

    @abstractmethod
    def _candidates(self, graph: EssentialGraph, y: int) -> Iterator[Any]:
        """Yield what may become operators of a target."""

    @abstractmethod
    def _gaining(self, candidates: list[Any]) -> Iterator[Operator]:
        """Yield the operators that gain."""

    def _cliques(self, graph: EssentialGraph, y: int, within: int, spare: int = 0) -> Iterator[int]:
        """Yield the cliques that can point to y and leave it room for `spare` more parents."""
        most = self._classes.max_parents - spare - graph.parents[y].bit_count()
        for clique in graph.cliques(within, most):
            if self._deadline.passed:
                raise OutOfTime
            yield clique

    @abstractmethod
    def _sees(self, graph: EssentialGraph, y: int) -> tuple[int, ...]:
        """The part of the graph that the operators of a target and their gains depend on."""

    def _is_valid(self, graph: EssentialGraph, operator: Operator) -> bool:
        """Whether no path is in the way."""
        return True

    @abstractmethod
    def _result(self, graph: EssentialGraph, operator: Operator) -> list[int]:
        """Return the parents in a DAG of the class that a valid operator leads to."""

    @abstractmethod
    def move(self, graph: EssentialGraph, operator: Operator) -> str:
        """What an operator does to its edge, in one word."""


class Forward(Phase):
    """Insert an edge."""

    name = "forward"

    def _sees(self, graph: EssentialGraph, y: int) -> tuple[int, ...]:
        around, adjacent = graph.neighbours[y], graph.adjacent
        allowed = self._classes.may_be_inserted[y]
        seen = [adjacent[v] for v in members(around)]
        return (graph.parents[y], around, adjacent[y], allowed, *seen)

    def _size_of_candidate(self, graph: EssentialGraph) -> int:
        return len(graph.dag)

    def _gaining(self, candidates: list[tuple[int, int, int, int]]) -> Iterator[Operator]:
        local, n = self._local, len(self._local.names)
        local.expect(self._likely)
        local.know((y, given) for y, given, _, _ in candidates)
        local.expect(self._likely)
        local.prepare((y, given, more) for y, given, more, _ in candidates)
        for y, given, more, clique in candidates:
            at = positions(more, n)
            gains = local.gains(local.with_one(y, given, at), local.value(y, given))
            for k in np.flatnonzero(gains > 0).tolist():
                yield Operator(-int(gains[k]), int(at[k]), y, clique)

    def _likely(self) -> Iterator[Wanted]:
        """The columns that are wanted after the best insertions, one for each target."""
        best = sorted(operators[0] for operators in self._operators.values() if operators)
        for operator in best:
            y = operator.y
            given = self._seen[y][0] | operator.clique | 1 << operator.x
            if given.bit_count() < self._classes.max_parents:
                yield y, given, self._classes.may_be_inserted[y] & ~given

    def _candidates(self, graph: EssentialGraph, y: int) -> Iterator[tuple[int, int, int, int]]:
        """Yield y, its other parents afterwards, the nodes x that can be added, and the clique."""
        apart = self._classes.may_be_inserted[y] & ~graph.adjacent[y]
        if not apart:
            return
        around = graph.neighbours[y]
        for clique in self._cliques(graph, y, around, spare=1):
            given = graph.parents[y] | clique
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
        """What an operator does to its edge, in one word."""
        return "insert"


Change = tuple[Operator, list[Family], list[Family]]
"""An operator without its gain, and the families that it adds and removes."""


class _ByFamilies(Phase):
    """Operators that are listed with the families they change."""

    def _gaining(self, candidates: list[Change]) -> Iterator[Operator]:
        local = self._local
        local.know(
            family for _, gained, lost in candidates for family in itertools.chain(gained, lost)
        )
        for operator, gained, lost in candidates:
            change = sum(local.value(*family) for family in gained)
            change -= sum(local.value(*family) for family in lost)
            if local.unit(change) > 0:
                yield operator._replace(loss=-local.unit(change))


class Backward(_ByFamilies):
    """Delete an edge."""

    name = "backward"

    def of_each_edge(self, graph: EssentialGraph) -> list[Operator]:
        """Return the deletion of each x → y that loses least, those that lose least first."""
        local = self._local
        found: dict[Family, Operator] = {}
        for block in self._blocks(graph, range(len(graph.dag))):
            local.know(family for _, gained, lost in block for family in (*gained, *lost))
            for operator, (gained,), (lost,) in block:
                loss = -local.unit(local.value(*gained) - local.value(*lost))
                edge = operator.x, operator.y
                found[edge] = min(operator._replace(loss=loss), found.get(edge, _NONE))
        return sorted(found.values())

    def made(self, graph: EssentialGraph, operator: Operator) -> EssentialGraph | None:
        """Return the class that a deletion leads to, if it is possible and one to search."""
        _, x, y, clique = operator
        around = graph.neighbours[y]
        if not (graph.parents[y] | around) >> x & 1 or clique & ~(around & graph.adjacent[x]):
            return None
        if any(clique & ~(graph.adjacent[v] | 1 << v) for v in members(clique)):
            return None
        found = EssentialGraph(self._result(graph, operator))
        return found if self._classes.respected_by(found) else None

    def _sees(self, graph: EssentialGraph, y: int) -> tuple[int, ...]:
        around = graph.neighbours[y]
        known = graph.parents[y] | around
        return (graph.parents[y], around, *[graph.adjacent[v] for v in members(known)])

    def _candidates(self, graph: EssentialGraph, y: int) -> Iterator[Change]:
        parents, around = graph.parents[y], graph.neighbours[y]
        for x in members((parents | around) & ~self._classes.must_be_adjacent[y]):
            for clique in self._cliques(graph, y, around & graph.adjacent[x]):
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
        """What an operator does to its edge, in one word."""
        return "delete"


class Turning(_ByFamilies):
    """Turn an edge, directed or not."""

    name = "turning"

    def _sees(self, graph: EssentialGraph, y: int) -> tuple[int, ...]:
        around = graph.neighbours[y] | graph.children[y]
        seen = [graph.parents[y], graph.neighbours[y], graph.children[y]]
        for v in members(around):
            seen += (graph.adjacent[v], graph.parents[v])
        return tuple(seen)

    def _candidates(self, graph: EssentialGraph, y: int) -> Iterator[Change]:
        parents, around = graph.parents[y], graph.neighbours[y]
        for clique in self._cliques(graph, y, around, spare=1):
            given = parents | clique
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
        """What an operator does to its edge, in one word."""
        return "turn" if graph.children[operator.y] >> operator.x & 1 else "direct"
