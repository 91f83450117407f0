"""The order of variables along which a DAG loses least, by A*, where there are too many sets.

Yuan & Malone (2013, JAIR 48:23): an order is a path from no variable to all of them through sets of
those that come first; a step adds x and costs the difference between the best parents of x among
them and the best parents of x overall. A* visits the sets in the order of f: the cost so far plus
the least that the other variables lose. For this the variables are in groups, and a table holds for
each group and each of its subsets the least that these lose if all variables of other groups are
available (a static pattern database, their §5). No step lowers f, so each set is visited once.

Three additions to the paper keep the number of sets small:

- A variable whose best set of parents is available comes next, as that costs nothing and takes
  nothing from the others (Karan & Zola 2016, IEEE Big Data).
- There is an order to begin with, found by moving one variable at a time (Alonso-Barba, de la Ossa
  & Puerta 2011, ECSQARU) from the given order and from orders that differ somewhat from the best
  one. What cannot beat it is never kept; most often it is the optimum, and the search proves that.
- Among the remaining variables, draw y → x where y is in a set of parents that x may still want:
  better than what is available, and without losing so much that the order cannot beat the best. A
  strongly connected component that wants nothing from the others can come first, and only its
  variables are tried next.

Groups begin as clusters of variables that lose much without one another; variables change groups
as long as that raises the overall bound, which the search by moves estimates quickly. The order
found does not depend on the order of columns: variables are sorted by name, and random moves come
from one seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.graph.bits import members
from gml.kernel.layout import NO_BOUND, SEARCH_DONE, SEARCH_FAR, SEARCH_FULL
from gml.learners.parent_sets import Sets, Units
from gml.progress import Deadline, reporter
from gml.scores.base import RESOLUTION

_LARGEST_GROUP = 22
_LOW_BITS = 14
_EXPANSIONS_PER_CALL = 20_000
_ROUNDS = 300
_LEAST_STATES = 4096
_BYTES_PER_STATE = 36
# Bytes of a set of parents and its score: in the lists, in those of the groups, and in between.
_BYTES_PER_SET = 64


@dataclass(frozen=True)
class FoundOrder:
    """An order, by positions; whether it is proved best, and whether memory ran out before that."""

    order: list[int]
    best: bool
    no_room: bool
    expanded: int


def search_order(
    sets: Sequence[Sets],
    units: Sequence[Units],
    first: Sequence[int],
    *,
    room: int,
    deadline: Deadline,
) -> FoundOrder:
    """Look for the best order of variables with these sets of parents, the best sets first.

    It begins with the order `first`, along which there is a DAG; `room` is the number of bytes
    that the search may take.
    """
    m = len(sets)
    lists = _Lists(sets, units)
    start = _StartingOrder(lists, first, deadline)
    room -= _BYTES_PER_SET * sum(map(len, sets))
    limit = _limit_of_groups(m, room // 2)
    if limit == 0:
        return FoundOrder(start.order, best=False, no_room=True, expanded=0)
    groups = _Groups(sets, units, start.order, limit).found
    variables = [x for group in groups for x in group]
    lists = _Lists([packed(sets[x], variables) for x in variables], [units[x] for x in variables])
    sizes = [len(group) for group in groups]
    to_go = lists.to_go(sizes)
    most = (room - to_go.nbytes) // _BYTES_PER_STATE
    if most < _LEAST_STATES:
        return FoundOrder(start.order, best=False, no_room=True, expanded=0)
    search = kernel.active().OrderSearch(
        *lists.flat, np.array(sizes, dtype=np.int32), to_go, start.losses, most
    )
    code = None
    while code not in (SEARCH_DONE, SEARCH_FULL) and not deadline.passed:
        code = search.run(_EXPANSIONS_PER_CALL)
        # In nats below the sum of the best parents of all variables, which may form a cycle.
        best, bound = (losses * RESOLUTION for losses in (search.bound, search.reached))
        reporter().status(
            f"orders of {m} variables: {search.expanded:,} states, the best loses {best:.3f} nats, "
            f"bound {bound:.3f}",
            search.expanded,
        )
    reporter().status(None)
    path = search.path()
    order = start.order if path is None else [variables[k] for k in lists.order_along(path)]
    return FoundOrder(order, code == SEARCH_DONE, code == SEARCH_FULL, search.expanded)


def packed(sets: Sets, variables: Sequence[int]) -> Sets:
    """Renumber sets so that bit k stands for the k-th of some variables."""
    found = np.zeros(len(sets), dtype=np.uint64)
    for k, x in enumerate(variables):
        found |= (sets >> np.uint64(x) & np.uint64(1)) << np.uint64(k)
    return found


class _Lists:
    """Sets of parents of variables, by position, the best first."""

    def __init__(self, sets: Sequence[Sets], units: Sequence[Units]) -> None:
        self._sets = sets
        self._units = units
        self.flat = (
            np.concatenate(sets),
            np.concatenate(units),
            np.cumsum([0, *map(len, sets)], dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self._sets)

    def of_group(self, group: Sequence[int]) -> _Lists:
        """The sets of a group, when all other variables are available."""
        sets, units = [], []
        for x in group:
            inside = packed(self._sets[x], group)
            # The first of equal ones is the best of them.
            rows = np.sort(np.unique(inside, return_index=True)[1])
            sets.append(inside[rows])
            units.append(self._units[x][rows])
        return _Lists(sets, units)

    def to_go(self, sizes: Sequence[int]) -> NDArray[np.uint64]:
        """The least that each set of a group loses when it is what remains, for all groups."""
        losses = np.empty(sum(1 << size for size in sizes), dtype=np.uint64)
        first, at = 0, 0
        for size in sizes:
            group = self.of_group(range(first, first + size))
            kernel.active().losses_to_go(
                *group.flat, min(size, _LOW_BITS), losses[at : at + (1 << size)]
            )
            first, at = first + size, at + (1 << size)
        return losses

    def order_along(self, path: Sequence[int]) -> list[int]:
        """The best order, through sets of variables as the search visits them."""
        order: list[int] = []
        before = 0
        for goal in [*path, (1 << len(self)) - 1]:
            order += self._step(before, goal)
            before = goal
        return order

    def _step(self, before: int, goal: int) -> list[int]:
        free = self._free_ones(before)
        if before | _bits(free) == goal:
            return free
        ways = [
            (self._loss(x, before), [x, *self._free_ones(before | 1 << x)])
            for x in members(goal & ~before)
        ]
        return min(way for way in ways if before | _bits(way[1]) == goal)[1]

    def _free_ones(self, before: int) -> list[int]:
        """Add the variables whose best set is available, and those for which it then becomes so."""
        found: list[int] = []
        while True:
            new = [
                x
                for x in members(((1 << len(self)) - 1) & ~before)
                if not int(self._sets[x][0]) & ~before
            ]
            if not new:
                return found
            found += new
            before |= _bits(new)

    def _loss(self, x: int, before: int) -> int:
        rows = np.flatnonzero(self._sets[x] & ~np.uint64(before) == 0)
        return int(self._units[x][0]) - int(self._units[x][rows[0]]) if len(rows) else SEARCH_FAR


class _StartingOrder:
    """A good order: the best one reached by moves from variations of the best so far."""

    def __init__(self, lists: _Lists, first: Sequence[int], deadline: Deadline) -> None:
        m = len(lists)
        rng = np.random.default_rng(0)
        self.order = list(first)
        self.losses = NO_BOUND
        for k in range(_ROUNDS):
            order = list(self.order)
            for _ in range(max(2, m // 8) if k else 0):
                order.insert(int(rng.integers(m)), order.pop(int(rng.integers(m))))
            moved = np.array(order, dtype=np.int32)
            losses = kernel.active().improve_order(*lists.flat, moved)
            if losses <= self.losses:
                self.order, self.losses = moved.tolist(), losses
            if deadline.passed:
                break


class _Groups:
    """Put variables into groups of limited size, so that the sum of the groups' losses is large."""

    def __init__(
        self, sets: Sequence[Sets], units: Sequence[Units], order: Sequence[int], limit: int
    ) -> None:
        self._lists = _Lists(sets, units)
        self._order = order
        self._limit = limit
        self._bounds: dict[tuple[int, ...], int] = {}
        needs = _needs(sets, units)
        starts = [
            _clusters(weights, size)
            for size in range(max(1, limit - 8), limit + 1)
            for weights in (needs + needs.T, np.minimum(needs, needs.T))
        ]
        self.found = self._moved(max(starts, key=lambda groups: sum(map(self._bound, groups))))

    def _bound(self, group: Sequence[int]) -> int:
        """An estimate of the least that a group loses, never too low."""
        key = tuple(sorted(group))
        if key not in self._bounds:
            order = [key.index(x) for x in self._order if x in key]
            self._bounds[key] = (
                kernel.active().improve_order(
                    *self._lists.of_group(key).flat, np.array(order, dtype=np.int32)
                )
                if key
                else 0
            )
        return self._bounds[key]

    def _moved(self, groups: list[list[int]]) -> list[list[int]]:
        """Move variables between groups as long as the sum of bounds grows."""
        group_of = {x: k for k, group in enumerate(groups) for x in group}
        idle, x = 0, 0
        while idle < len(group_of):
            own = group_of[x]
            without = [y for y in groups[own] if y != x]
            lost = self._bound(groups[own]) - self._bound(without)
            gains = [
                (self._bound([*group, x]) - self._bound(group) - lost, -k)
                for k, group in enumerate(groups)
                if k != own and len(group) < self._limit
            ]
            gain, best = max(gains, default=(0, 0))
            idle += 1
            if gain > 0:
                groups[own] = without
                groups[-best].append(x)
                group_of[x] = -best
                idle = 0
            x = (x + 1) % len(group_of)
        return [sorted(group) for group in groups if group]


def _needs(sets: Sequence[Sets], units: Sequence[Units]) -> NDArray[np.float64]:
    """What each variable (one per row) loses without each other one."""
    m = len(sets)
    needs = np.zeros((m, m))
    for x in range(m):
        for y in range(m):
            rows = np.flatnonzero(sets[x] >> np.uint64(y) & np.uint64(1) == 0)
            needs[x, y] = units[x][0] - units[x][rows[0]] if len(rows) else SEARCH_FAR
    return needs


def _clusters(weights: NDArray[np.float64], limit: int) -> list[list[int]]:
    """Join the two groups with the largest sum of weights between them, as long as they fit."""
    links = weights.copy()
    groups = [[x] for x in range(len(weights))]
    while True:
        sizes = np.array([len(group) for group in groups])
        fits = np.triu(sizes[:, None] + sizes[None, :] <= limit, 1)
        if not fits.any():
            return groups
        a, b = np.unravel_index(np.argmax(np.where(fits, links, -1.0)), links.shape)
        groups[a] += groups.pop(b)
        links[a] += links[b]
        links[:, a] += links[:, b]
        links = np.delete(np.delete(links, b, axis=0), b, axis=1)


def _limit_of_groups(m: int, room: int) -> int:
    """The largest groups whose tables fit; 0 if none do."""
    for limit in range(min(m, _LARGEST_GROUP), 0, -1):
        slices = 8 * limit << min(limit, _LOW_BITS)
        # Groups of the largest size take the most memory.
        if (8 * -(-m // limit) << limit) + slices <= room:
            return limit
    return 0


def _bits(some: Sequence[int]) -> int:
    return sum(1 << x for x in some)
