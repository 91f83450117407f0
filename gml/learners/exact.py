"""The DAG of the highest score, by dynamic programming over sets of variables or by A*.

Silander & Myllymäki (2006, UAI): an optimal DAG has a sink, whose parents are the best within the
rest, and without that sink it is an optimal DAG of the rest. So best(T) = max over x in T of
best(T∖x) + the best set of parents of x within T∖x, for all 2^m sets T of m variables; the kernel
works through them in slices, and keeps the best sets of parents for one slice only. Where m is
large, A* looks for the best order among fewer sets (`gml.learners.a_star`), and gives way to the
above where it would take more memory.

Before that the problem is taken apart (Fan, Malone & Yuan 2014, UAI). Draw y → x wherever y is in a
set of parents that x may want (`parent_sets.py`). No DAG of these sets has a cycle through two
strongly connected components, so each is solved on its own: its variables take what they want from
the components above. What is left of the sets within a component may fall apart again.

Scores are whole numbers of units of 2⁻²⁰ nats here. Ties go to the first of several sinks by name,
then to the smallest of several sets of parents, then to the first in the order of names. A* finds
an order of its own, so among DAGs with exactly the same score it may return another one. If the
score is the same for equivalent DAGs, the result is the DAG that stands for the class of the
optimum (`gml.graph.equivalence`), so that the rounding does not choose within a class.

At the deadline only the sets scored so far are used, and variables that are not solved yet are
ordered greedily: last comes the one that loses least if all the others may be its parents. A*
returns the best order that it has met.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.errors import CannotAnswer, listing, parameter, quote
from gml.graph.bits import bits_of, lowest, members
from gml.graph.equivalence import as_chosen, representative
from gml.graph.graph import Graph
from gml.graph.knowledge import Knowledge
from gml.kernel.layout import NEVER
from gml.learners.a_star import packed, search_order
from gml.learners.checked_input import limited_knowledge
from gml.learners.hillclimb import hill_climb
from gml.learners.parent_sets import (
    BYTES_PER_KEPT_SET,
    ParentSets,
    Sets,
    Units,
    best_parent_sets,
    choices_of,
)
from gml.learners.search import SearchResult
from gml.progress import Deadline, reporter
from gml.resources import budget_in_force, format_size
from gml.scores.base import Score, as_score, total

# The climb after time has run out.
_TABU, _RESTARTS = 15, 5
_LOW_BITS = 14
_SETS_PER_CALL = 1 << 20
_BYTES_PER_SET = 9
# All sets of this many variables are soon done: where lists are dense, no search is faster.
_FEW = 25
# Lists longer than this are not searched for sets that others make superfluous.
_MOST_COMPARED = 4096
_HINT = (
    f"; limit {parameter('max_parents')}, use fewer columns, give {parameter('tiers')}, or "
    "search with gml ges"
)


@dataclass(frozen=True)
class ExactResult(SearchResult):
    """The optimum; the number of sets of parents worth having, and the parts that were solved.

    `components` has the sizes of the parts with more than one variable, the largest first.
    """

    kept: int = 0
    components: tuple[int, ...] = ()


def exact(
    score: Score,
    *,
    max_parents: int | None = None,
    knowledge: Knowledge | None = None,
    max_memory: int | None = None,
    deadline: Deadline | None = None,
) -> ExactResult:
    """Learn the DAG of the highest score.

    Parameters
    ----------
    score : Score
        Any object with `names` and `local`.
    max_parents : int, optional
        The most parents that a node may have.
    knowledge : Knowledge, optional
        Required and forbidden edges, tiers.
    max_memory : int, optional
        Bytes for sets of parents and of variables; by default half of what is free.
    deadline : Deadline, optional
        When to stop with the best so far; the result is then not `complete`.

    Examples
    --------
    >>> import gml
    >>> score = gml.SCORES["bic"](gml.MemoryCounter(gml.read("sample_data/asia.csv")))
    >>> result = gml.exact(score)
    >>> result.graph.n_edges, round(result.score, 3), result.components
    (7, -11182.742, (7,))
    """
    deadline = deadline or Deadline()
    budget = budget_in_force(max_memory)
    full = as_score(score)
    knowledge = limited_knowledge(score, knowledge)
    choices = choices_of(full, max_parents=max_parents, knowledge=knowledge)
    found = best_parent_sets(full, choices, max_memory=budget, deadline=deadline)
    solver = _Solver(found, budget, deadline)
    names = choices.names
    parents = solver.solve()
    edges = [(names[y], "-->", names[x]) for x, some in enumerate(parents) for y in members(some)]
    dag = Graph.from_edges(score.names, edges, kind="dag")
    complete = found.complete and not solver.interrupted
    if not complete:
        # Lists that are cut short make a poor graph; a climb of one second makes a better one.
        limits: dict[str, Any] = {"max_parents": max_parents, "knowledge": knowledge}
        climbed = hill_climb(score, **limits, tabu=_TABU, restarts=_RESTARTS)
        dag = climbed.dag if climbed.score > total(score, dag) else dag
    dag = representative(dag, knowledge) if full.equivalent else as_chosen(dag, knowledge)
    return ExactResult(
        graph=dag,
        dag=dag,
        score=total(score, dag),
        families=found.families,
        complete=complete,
        kept=found.kept,
        components=tuple(sorted(solver.solved, reverse=True)),
    )


@dataclass(frozen=True)
class _Part:
    """Some variables, and the sets of parents of each among them: the best come first.

    `whole[x]` holds, for each set, the full set of parents that it is a part of.
    """

    variables: tuple[int, ...]
    sets: tuple[Sets, ...]
    units: tuple[Units, ...]
    whole: tuple[Sets, ...]

    def within(self, inside: int) -> _Part:
        """The part with these variables; sets that another makes superfluous are left out."""
        chosen = [k for k, x in enumerate(self.variables) if inside >> x & 1]
        kept = [self._within(k, inside) for k in chosen]
        return _Part(
            tuple(self.variables[k] for k in chosen),
            tuple(
                self.sets[k][rows] & np.uint64(inside) for k, rows in zip(chosen, kept, strict=True)
            ),
            tuple(self.units[k][rows] for k, rows in zip(chosen, kept, strict=True)),
            tuple(self.whole[k][rows] for k, rows in zip(chosen, kept, strict=True)),
        )

    def _within(self, k: int, inside: int) -> NDArray[np.int64]:
        """Rows of the sets of variable k that are worth having within some variables."""
        sets = self.sets[k] & np.uint64(inside)
        # The first of equal ones is the best of them.
        rows: NDArray[np.int64] = np.sort(np.unique(sets, return_index=True)[1])
        if len(rows) > _MOST_COMPARED:
            return rows
        kept: list[int] = []
        for row in rows.tolist():
            before = sets[kept]
            if not (before & ~sets[row] == 0).any():
                kept.append(row)
        return np.array(kept, dtype=np.int64)

    def components(self) -> list[int]:
        """The strongly connected components of the graph of possible parents."""
        wanted = {
            x: int(np.bitwise_or.reduce(sets))
            for x, sets in zip(self.variables, self.sets, strict=True)
        }
        return strong_components(wanted)


class _Solver:
    """Takes the problem apart, solves the parts, and puts the parents of all together."""

    def __init__(self, found: ParentSets, budget: int, deadline: Deadline) -> None:
        self._found = found
        self._budget = budget
        self._deadline = deadline
        self._parents = [0] * len(found.sets)
        self.solved: list[int] = []
        self.interrupted = False

    def solve(self) -> list[int]:
        """Return the parents of each variable."""
        orders = [
            _best_first(*lists) for lists in zip(self._found.sets, self._found.units, strict=True)
        ]
        sets = tuple(s[order] for s, order in zip(self._found.sets, orders, strict=True))
        units = tuple(u[order] for u, order in zip(self._found.units, orders, strict=True))
        for name, some in zip(self._found.choices.names, sets, strict=True):
            if len(some) == 0:
                raise CannotAnswer(f"the score excludes {quote(name)}, whatever its parents")
        waiting = [_Part(tuple(range(len(sets))), sets, units, sets)]
        whole: list[_Part] = []
        while waiting:
            part = waiting.pop()
            components = part.components()
            if len(components) == 1:
                whole.append(part)
            else:
                waiting += [part.within(component) for component in components]
        # The largest first, so that a part that cannot be solved is reported at once.
        for part in sorted(whole, key=lambda part: (-len(part.variables), part.variables)):
            self._solve_whole(part)
        return self._parents

    def _solve_whole(self, part: _Part) -> None:
        m = len(part.variables)
        order = [0] if m == 1 else self._best_order(part)
        before = 0
        for k in order:
            self._choose(part, k, before)
            before |= 1 << part.variables[k]
        if m > 1:
            self.solved.append(m)

    def _choose(self, part: _Part, k: int, before: int) -> None:
        rows = np.flatnonzero(part.sets[k] & ~np.uint64(before) == 0)
        self._parents[part.variables[k]] = int(part.whole[k][rows[0]])

    def _best_order(self, part: _Part) -> list[int]:
        """Positions in the part, each after its parents."""
        if self._deadline.passed:
            self.interrupted = True
            return self._greedy_order(part)
        m = len(part.variables)
        room = self._budget - BYTES_PER_KEPT_SET * self._found.kept
        bytes_for_all = _BYTES_PER_SET * 2**m + 8 * m * 2 ** min(m, _LOW_BITS)
        fits = bytes_for_all <= room
        if m <= _FEW and fits:
            return self._order_by_all_sets(part)
        found = search_order(
            [packed(sets, part.variables) for sets in part.sets],
            part.units,
            self._greedy_order(part),
            # Looking at all sets is better than a search that keeps many of them.
            room=bytes_for_all // 4 if fits else max(0, room),
            deadline=self._deadline,
        )
        if found.no_room and fits:
            return self._order_by_all_sets(part)
        if found.no_room:
            raise CannotAnswer(
                f"a search for the best order of {m} variables that depend on one another takes "
                f"more than {parameter('max_memory')} allows ({format_size(self._budget)}){_HINT}"
            )
        reporter().note(f"{found.expanded:,} sets of {m} variables were looked at by A*")
        self.interrupted = self.interrupted or not found.best
        return found.order

    def _order_by_all_sets(self, part: _Part) -> list[int]:
        m = len(part.variables)
        low = min(m, _LOW_BITS)
        masks = np.concatenate([packed(sets, part.variables) for sets in part.sets])
        units = np.concatenate(part.units)
        starts = np.cumsum([0, *map(len, part.sets)], dtype=np.int64)
        best = np.full(1 << m, NEVER)
        best[0] = 0
        sinks = np.zeros(1 << m, dtype=np.uint8)
        step = max(1, _SETS_PER_CALL >> low)
        slices = 1 << (m - low)
        for first in range(0, slices, step):
            if self._deadline.passed:
                self.interrupted = True
                return self._greedy_order(part)
            last = min(first + step, slices)
            kernel.active().best_sinks(masks, units, starts, low, first, last, best, sinks)
            seen, states = last << low, 1 << m
            reporter().status(
                f"orders of {m} variables: {seen:,} of {states:,} states", seen, states
            )
        reporter().status(None)
        order, left = [], (1 << m) - 1
        if best[left] == NEVER:
            raise CannotAnswer(f"the score excludes every DAG{self._of(part)}")
        while left:
            sink = int(sinks[left])
            order.append(sink)
            left ^= 1 << sink
        return order[::-1]

    def _of(self, part: _Part) -> str:
        return " of " + listing([self._found.choices.names[x] for x in part.variables])

    def _greedy_order(self, part: _Part) -> list[int]:
        order: list[int] = []
        left = bits_of(part.variables)
        first = {x: int(units[0]) for x, units in zip(part.variables, part.units, strict=True)}
        while left:
            losses = []
            for k, x in enumerate(part.variables):
                others = left & ~(1 << x)
                needed = any(
                    left >> y & 1 and not (part.sets[j] & ~np.uint64(others & ~(1 << y)) == 0).any()
                    for j, y in enumerate(part.variables)
                    if y != x
                )
                if left >> x & 1 and not needed:
                    rows = np.flatnonzero(part.sets[k] & ~np.uint64(others) == 0)
                    losses.append((first[x] - int(part.units[k][rows[0]]), k))
            if not losses:
                raise CannotAnswer(
                    f"{parameter('max_seconds')} ran out before a DAG was found that the score "
                    f"does not exclude{self._of(part)}"
                )
            _, sink = min(losses)
            order.append(sink)
            left &= ~(1 << part.variables[sink])
        return order[::-1]


def _best_first(sets: Sets, units: Units) -> NDArray[np.int64]:
    """Order by score, then by size, then by names; impossible sets are left out."""
    reverse = np.zeros(len(sets), dtype=np.uint64)
    for j in range(64):
        reverse |= (sets >> np.uint64(j) & np.uint64(1)) << np.uint64(63 - j)
    order = np.lexsort([~reverse, np.bitwise_count(sets), -np.maximum(units, NEVER + 1)])
    possible: NDArray[np.int64] = order[units[order] != NEVER]
    return possible


def strong_components(parents: dict[int, int]) -> list[int]:
    """Return the strongly connected components, as bits, of a graph given by parents, as bits.

    Parents without an entry are ignored. Components are in the order of their first node.

    Examples
    --------
    >>> strong_components({0: 0b010, 1: 0b101, 2: 0b000, 3: 0b001})
    [3, 4, 8]
    """
    nodes = bits_of(parents)
    children = dict.fromkeys(parents, 0)
    for x, some in parents.items():
        for y in members(some & nodes):
            children[y] |= 1 << x
    found, left = [], nodes
    while left:
        first = lowest(left)
        component = _reached(first, parents, left) & _reached(first, children, left)
        found.append(component)
        left &= ~component
    return found


def _reached(start: int, neighbours: dict[int, int], within: int) -> int:
    reached = new = 1 << start
    while new:
        more = 0
        for x in members(new):
            more |= neighbours[x] & within
        new = more & ~reached
        reached |= new
    return reached
