"""The best order of variables by A*, in Python and NumPy; see order_search.h."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gml.kernel.layout import (
    NEVER,
    NO_BOUND,
    SEARCH_DONE,
    SEARCH_FAR,
    SEARCH_FULL,
    SEARCH_MORE,
)
from gml.kernel.reference.subsets import Sets, Units, best_within
from gml.stopping import check_stopped


def losses_to_go(
    masks: Sets, units: Units, starts: NDArray[np.int64], low: int, to_go: NDArray[np.uint64]
) -> None:
    """The least losses of variables that are left, for all sets of them."""
    m = len(starts) - 1
    size, everything = 1 << low, (1 << m) - 1
    lists = [(masks[a:b], units[a:b]) for a, b in itertools.pairwise(starts)]
    to_go[0] = 0
    for hi in reversed(range(1 << (m - low))):
        best = {x: best_within(*lists[x], low, hi) for x in range(m) if not hi << low >> x & 1}
        for lo in reversed(range(size)):
            check_stopped()
            left = ~(hi << low | lo) & everything
            sums = [
                int(lists[x][1][0]) - int(best[x][lo]) + int(to_go[left ^ 1 << x])
                for x in _members(left)
                if best[x][lo] != NEVER and to_go[left ^ 1 << x] != NO_BOUND
            ]
            if left:
                to_go[left] = min(sums, default=NO_BOUND)


class _Lists:
    """For each variable, its sets of parents, the best first, and what each loses against that."""

    def __init__(self, masks: Sets, units: Units, starts: NDArray[np.int64]) -> None:
        self.m = len(starts) - 1
        self.everything = (1 << self.m) - 1
        self.of = [
            [
                (mask, int(units[a]) - value)
                for mask, value in zip(masks[a:b].tolist(), units[a:b].tolist(), strict=True)
            ]
            for a, b in itertools.pairwise(starts.tolist())
        ]

    def loss(self, x: int, before: int) -> int:
        """What x loses if it comes after these variables."""
        return next((loss for mask, loss in self.of[x] if not mask & ~before), SEARCH_FAR)

    def with_free_ones(self, placed: int) -> int:
        """The set with all variables that lose nothing after it, and after these."""
        while True:
            free = [
                x for x in _members(self.everything & ~placed) if not self.of[x][0][0] & ~placed
            ]
            if not free:
                return placed
            placed |= sum(1 << x for x in free)


def improve_order(
    masks: Sets, units: Units, starts: NDArray[np.int64], order: NDArray[np.int32]
) -> int:
    """Move variables of an order until no move gains anything; returns the sum of losses."""
    lists = _Lists(masks, units, starts)
    found = order.tolist()
    idle, x = 0, 0
    while idle < lists.m:
        check_stopped()
        idle = 0 if _move_one(lists, found, found.index(x)) else idle + 1
        x = (x + 1) % lists.m
    order[:] = found
    return sum(lists.loss(x, sum(1 << y for y in found[:i])) for i, x in enumerate(found))


def _move_one(lists: _Lists, order: list[int], place: int) -> bool:
    """Move the variable at a place to where it gains most, and return whether it moved."""
    x = order[place]
    before = sum(1 << y for y in order[:place])
    own = lists.loss(x, before)
    gains = {place: 0}
    others, within = 0, before
    for i in reversed(range(place)):
        y = order[i]
        within &= ~(1 << y)
        others += lists.loss(y, within) - lists.loss(y, within | 1 << x)
        gains[i] = others + own - lists.loss(x, within)
    others, within = 0, before
    for i in range(place + 1, lists.m):
        y = order[i]
        others += lists.loss(y, within | 1 << x) - lists.loss(y, within)
        within |= 1 << y
        gains[i] = others + own - lists.loss(x, within)
    best = max(gains, key=gains.__getitem__)
    order.insert(best, order.pop(place))
    return best != place


class OrderSearch:
    """A* over sets of variables that come first in an order."""

    def __init__(
        self,
        masks: Sets,
        units: Units,
        starts: NDArray[np.int64],
        sizes: NDArray[np.int32],
        to_go: NDArray[np.uint64],
        bound: int,
        most: int,
    ) -> None:
        self._lists = _Lists(masks, units, starts)
        self._groups: list[tuple[int, int, NDArray[np.uint64]]] = []
        first, at = 0, 0
        for size in sizes.tolist():
            self._groups.append((first, (1 << size) - 1, to_go[at : at + (1 << size)]))
            first, at = first + size, at + (1 << size)
        self._most = most
        self._f: dict[int, int] = {}
        self._before: dict[int, int | None] = {}
        self._closed: set[int] = set()
        self._heap: list[tuple[int, int, int]] = []
        self._last: int | None = None
        self.bound = bound
        self.reached = 0
        self.expanded = 0
        root = self._lists.with_free_ones(0)
        f = self._at_least(self._lists.everything & ~root)
        if f < bound:
            self._reach(root, f, None)
            if root == self._lists.everything:
                self.bound, self._last = 0, root

    @property
    def states(self) -> int:
        """How many sets are held."""
        return len(self._f)

    def run(self, expansions: int) -> int:
        """Look at some more sets; returns whether there are more, none, or no room."""
        for _ in range(expansions):
            check_stopped()
            while self._heap and self._heap[0][2] in self._closed:
                heapq.heappop(self._heap)
            if not self._heap or self._heap[0][0] >= self.bound:
                return SEARCH_DONE
            self.reached, _, placed = heapq.heappop(self._heap)
            self.expanded += 1
            self._closed.add(placed)
            if not self._expand(placed):
                return SEARCH_FULL
        return SEARCH_MORE

    def path(self) -> list[int] | None:
        """The sets on the way to the order found, the smallest first; None without one."""
        if self._last is None:
            return None
        found: list[int] = []
        at: int | None = self._last
        while at is not None:
            found.append(at)
            at = self._before[at]
        return found[::-1]

    def _at_least(self, rest: int) -> int:
        """The least that the remaining variables lose."""
        parts = [int(to_go[rest >> first & inside]) for first, inside, to_go in self._groups]
        return NO_BOUND if NO_BOUND in parts else sum(parts)

    def _reach(self, placed: int, f: int, before: int | None) -> bool:
        if placed in self._closed or f >= self._f.get(placed, NO_BOUND):
            return True
        if placed not in self._f and len(self._f) == self._most:
            return False
        self._f[placed] = f
        self._before[placed] = before
        heapq.heappush(self._heap, (f, -placed.bit_count(), placed))
        return True

    def _expand(self, placed: int) -> bool:
        lists = self._lists
        rest = lists.everything & ~placed
        so_far = self._f[placed] - self._at_least(rest)
        wanted, losses = {}, {}
        for x in _members(rest):
            limit = self.bound - so_far - self._at_least(rest ^ 1 << x)
            if limit <= 0:
                return True
            wanted[x] = 0
            for mask, loss in lists.of[x]:
                if loss >= limit:
                    break
                if not mask & ~placed:
                    losses[x] = loss
                    break
                wanted[x] |= mask & ~placed
        for x in _members(_source_component(wanted, rest)):
            if x not in losses:
                continue
            larger = lists.with_free_ones(placed | 1 << x)
            f = so_far + losses[x] + self._at_least(lists.everything & ~larger)
            if f >= self.bound:
                continue
            if larger == lists.everything:
                self.bound, self._last = f, placed
            elif not self._reach(larger, f, placed):
                return False
        return True


def _source_component(wanted: dict[int, int], rest: int) -> int:
    """A strongly connected component of those left that wants nothing from the others."""
    x = next(_members(rest))
    component = _ancestors(wanted, x)
    others = component & ~(1 << x)
    while others:
        y = next(_members(others))
        above = _ancestors(wanted, y)
        others &= others - 1
        if not above >> x & 1:
            x, component, others = y, above, above & ~(1 << y)
    return component


def _ancestors(wanted: dict[int, int], x: int) -> int:
    reached = new = 1 << x
    while new:
        more = 0
        for y in _members(new):
            more |= wanted[y]
        new = more & ~reached
        reached |= new
    return reached


def _members(bits: int) -> Iterator[int]:
    while bits:
        yield (bits & -bits).bit_length() - 1
        bits &= bits - 1
