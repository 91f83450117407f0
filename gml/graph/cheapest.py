"""The class of DAGs over a skeleton that contradicts what is known about it the least.

Every unshielded triple x — k — y has a weight w, as in `gml.graph.extension`: the class pays |w|
where it contradicts the sign. Every arrow i → j of the CPDAG (with knowledge: of the maximally
oriented PDAG) pays `against[i, j]` besides; edges that the class leaves undirected pay nothing.

The least cost is found by branch and bound over the triples of each connected component, those of
the largest |w| first: each is decided, and what follows by Meek's rules 1 and 2 is directed. They
are applied to triples already decided only, so that every arrow so far is one of each class below,
and its price part of the bound. A component that takes more than `MOST_WORK` (steps times triples)
keeps the best that was found by then. That is at least as good as what the greedy rule of
`gml.graph.extension` finds, with the prices of arrows or without. Ties go to what was found first:
greedily, then with the fewest decisions against the weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.graph.extension import Triple, extend, first_broken, left_open
from gml.graph.orientation import Matrix, maximally_oriented

MOST_WORK = 400_000

Costs = NDArray[np.float64]


class Cheapest(NamedTuple):
    """A DAG of the class, and whether no other class costs less."""

    dag: Matrix
    proven: bool


def cheapest(
    adjacent: Matrix,
    weights: Mapping[Triple, float],
    against: Costs,
    forced: Matrix,
    *,
    most_work: int = MOST_WORK,
) -> Cheapest:
    """Return a DAG of the class that costs least; `weights` by (x, k, y) with x < y.

    `forced` must have no cycle on the skeleton; its arrows have no price.
    """
    dag, proven = np.zeros_like(adjacent), True
    for nodes in _components(adjacent):
        part = np.ix_(nodes, nodes)
        place = {node: i for i, node in enumerate(nodes)}
        own = {
            (place[x], place[k], place[y]): weight
            for (x, k, y), weight in weights.items()
            if k in place
        }
        price = np.where(forced | forced.T, 0.0, against)[part]
        most_steps = most_work // max(1, len(own))
        search = _Search(adjacent[part], own, price, forced[part], most_steps)
        search.run()
        dag[part] = search.best
        proven &= search.steps <= most_steps
    return Cheapest(dag, proven)


def cost_of(dag: Matrix, weights: Mapping[Triple, float], against: Costs, forced: Matrix) -> float:
    """What the class of a DAG pays for triples and for arrows."""
    paid = [
        abs(weight)
        for (x, k, y), weight in weights.items()
        if weight and bool(dag[x, k] and dag[y, k]) != (weight > 0)
    ]
    paid += against[maximally_oriented(dag, forced)].tolist()
    return math.fsum(paid)


def _components(adjacent: Matrix) -> list[list[int]]:
    """The nodes of each connected component, by first node; single nodes left out."""
    left, found = set(range(len(adjacent))), []
    for first in range(len(adjacent)):
        if first not in left:
            continue
        reached, waiting = {first}, [first]
        while waiting:
            for near in np.flatnonzero(adjacent[waiting.pop()]).tolist():
                if near not in reached:
                    reached.add(near)
                    waiting.append(near)
        left -= reached
        if len(reached) > 1:
            found.append(sorted(reached))
    return found


class _State(NamedTuple):
    """Triples decided so far (True: a collider), and the arrows that follow."""

    decided: dict[Triple, bool]
    directed: Matrix


class _Search:
    """Branch and bound over the triples of one component."""

    def __init__(
        self,
        adjacent: Matrix,
        weights: Mapping[Triple, float],
        against: Costs,
        forced: Matrix,
        most_steps: int,
    ) -> None:
        self._adjacent = adjacent
        self._weights = weights
        self._against = against
        self._forced = forced & adjacent
        self._most_steps = most_steps
        self._order = sorted(weights, key=lambda triple: (-abs(weights[triple]), triple))
        self.steps = 0
        free = left_open(weights, self._forced)
        tried = [
            extend(adjacent, free, self._forced),
            extend(adjacent, free, self._forced, against=against),
        ]
        costs = [cost_of(dag, weights, against, self._forced) for dag in tried]
        self._least = min(costs)
        self.best = tried[costs.index(self._least)]

    def run(self) -> None:
        """Look through all classes that could cost less than the best one."""
        if self._least == 0:
            return
        waiting = [_State({}, self._forced.copy())]
        while waiting:
            self.steps += 1
            if self.steps > self._most_steps:
                return
            state = waiting.pop()
            triple = next((t for t in self._order if t not in state.decided), None)
            if triple is None:
                self._try(state)
                continue
            likely = self._weights[triple] > 0
            # The last is taken up first.
            for collider in (not likely, likely):
                below = self._with(state, triple, collider)
                if below is not None and self._bound(below) < self._least:
                    waiting.append(below)

    def _try(self, state: _State) -> None:
        """Take the class of a state in which all triples are decided, if there is one."""
        wanted = {triple: 1.0 if made else -1.0 for triple, made in state.decided.items()}
        dag = extend(self._adjacent, wanted, state.directed)
        if first_broken(dag, wanted) is None:
            cost = cost_of(dag, self._weights, self._against, self._forced)
            if cost < self._least:
                self._least, self.best = cost, dag

    def _bound(self, state: _State) -> float:
        """What every class below a state pays at least."""
        paid = [
            abs(self._weights[triple])
            for triple, made in state.decided.items()
            if self._weights[triple] and made != (self._weights[triple] > 0)
        ]
        return math.fsum([*paid, *self._against[state.directed].tolist()])

    def _with(self, state: _State, triple: Triple, collider: bool) -> _State | None:
        """The state after one more decision and all that follows; None if they contradict."""
        decided = {**state.decided, triple: collider}
        directed = state.directed.copy()
        x, k, y = triple
        if collider:
            directed[x, k] = directed[y, k] = True
        return self._closed(_State(decided, directed))

    def _closed(self, state: _State) -> _State | None:
        decided, directed = state
        changed = True
        while changed:
            changed = False
            for (x, k, y), made in list(decided.items()):
                if made:
                    continue
                # Rule 1: what is no collider has its second edge directed away from the first.
                for a, c in ((x, y), (y, x)):
                    if directed[a, k] and not directed[k, c]:
                        directed[k, c] = changed = True
            reach = _reachable(directed)
            # Rule 2, for paths of any length.
            follows = self._adjacent & reach & ~directed
            if follows.any():
                directed |= follows
                changed = True
            if (directed & directed.T).any() or reach.diagonal().any():
                return None
            for triple in self._order:
                x, k, y = triple
                is_made = bool(directed[x, k] and directed[y, k])
                if not (is_made or directed[k, x] or directed[k, y]):
                    continue
                if decided.setdefault(triple, is_made) != is_made:
                    return None
        return state


def _reachable(directed: Matrix) -> Matrix:
    """Whether a directed path leads from i to j."""
    reach = directed.copy()
    for k in range(len(directed)):
        reach |= np.outer(reach[:, k], reach[k])
    return reach
