"""The order of each rank from left to right: few crossings.

Sweeps down and up sort every rank by the mean place of its neighbours in the rank before (Sugiyama,
Tagawa & Toda 1981, IEEE Transactions on Systems, Man, and Cybernetics 11:109). After each sweep a
copy is improved: in each rank, between its two neighbours, the member is moved whose move removes
most crossings, until none removes any (sifting, Matuszewski, Schönfeld & Molitor 1999, Graph
Drawing, LNCS 1731:217, with the best move first). Sweeps begin from several orders; the best that
they find is disturbed in a few ranks and improved again, again and again.

All ends when the budget is spent. It grows with the size of the graph and counts work, never time,
and what is random has a fixed seed, so that a graph always gets the same order. Of equally good
ones the first stays among starts; a disturbed one replaces its equal, which leads off plateaus.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from random import Random

import numpy as np

from gml.errors import parameter
from gml.pictures.layout.layers import Layers
from gml.pictures.layout.rank_crossings import Matrix, Order, Side
from gml.progress import reporter
from gml.resources import FEW_BYTES, require_memory
from gml.stopping import check_stopped

_SWEEPS = 16
_PATIENCE = 5
"""How many sweeps from one start may fail to find anything better."""
_BUDGET = 1600
"""Work per member; a unit is less than a microsecond."""
_MOST_WORK = 2_000_000
_BENDS_PER_NODE = 3
"""More bends than these earn no work: among so many, nobody follows a link."""
_WIDEST = 1500
"""Ranks of more members are sorted only: a matrix of all pairs would be too large."""
_CELL_BYTES = 4
_SUMMED = 10
"""The room of sums over a matrix, by its own."""

Orders = list[Order]


def order_ranks(layers: Layers) -> list[list[int]]:
    """Return the members of each rank of a connected graph from left to right."""
    _require_room([len(rank) for rank in layers.ranks])
    best = _Search(layers).best()
    return [
        [members[place] for place in order.tolist()]
        for members, order in zip(layers.ranks, best, strict=True)
    ]


def _require_room(widths: Sequence[int]) -> None:
    """Refuse ranks whose matrices would not fit into memory."""
    between = [upper * lower for upper, lower in pairwise(widths)]
    sifted = max((width for width in widths if width <= _WIDEST), default=0) ** 2
    # Links down and up, and what is summed over one of them.
    n_bytes = _CELL_BYTES * (2 * sum(between) + _SUMMED * max([*between, sifted]))
    if n_bytes > FEW_BYTES:
        require_memory(
            n_bytes,
            None,
            "ordering the nodes of the picture",
            f"; draw what is near some nodes ({parameter('around')})",
        )


class _Search:
    """A search over orders, in which members are known by their places in `layers.ranks`."""

    def __init__(self, layers: Layers) -> None:
        self.layers = layers
        self.place = {member: i for rank in layers.ranks for i, member in enumerate(rank)}
        self.below: list[Side] = []
        self.above: list[Side] = []
        for upper, lower in pairwise(layers.ranks):
            self.below.append(self._side(upper, layers.below, lower))
            self.above.append(self._side(lower, layers.above, upper))
        bends = min(len(layers.above) - layers.n_nodes, _BENDS_PER_NODE * layers.n_nodes)
        self.budget = min(_BUDGET * (layers.n_nodes + bends), _MOST_WORK)
        self.work = 0.0

    def _side(self, rank: list[int], near: list[list[int]], others: list[int]) -> Side:
        places = [[self.place[other] for other in near[member]] for member in rank]
        return Side(places, len(others))

    def best(self) -> Orders:
        """Return the best orders that the budget allows."""
        best, fewest = self._sweep(next(self._starts()))
        for start in self._starts(skip=1):
            if not fewest or self.work > self.budget / 2:
                break
            orders, found = self._sweep(start)
            if found < fewest:
                best, fewest = orders, found
        random = Random(0)
        while fewest and self.work < self.budget:
            reporter().advance("ordering nodes", int(self.work), self.budget, is_paced=False)
            orders = list(best)
            self._polish(orders, self._disturb(orders, random))
            more = self._added_crossings(best, orders)
            if more <= 0:
                best, fewest = orders, fewest + more
        return best

    def _starts(self, skip: int = 0) -> Iterator[Orders]:
        """Walk over the links from the top and from the bottom, in breadth and in depth."""
        top, bottom = self.layers.ranks[0], self.layers.ranks[-1]
        walks = [(bottom, False), (top, True), (bottom, True), (top, False)]
        for roots, depth_first in walks[skip:]:
            yield self._walk(roots, depth_first=depth_first)

    def _walk(self, roots: Sequence[int], *, depth_first: bool) -> Orders:
        """Return each rank in the order in which a walk meets its members."""
        layers = self.layers
        rank_of = {member: r for r, rank in enumerate(layers.ranks) for member in rank}
        orders: list[list[int]] = [[] for _ in layers.ranks]
        seen: set[int] = set()
        for root in [*roots, *range(len(layers.above))]:
            line = [root]
            # A stack is read from its end; a queue from its beginning, and never cut.
            read = 0
            while read < len(line):
                member = line.pop() if depth_first else line[read]
                read += not depth_first
                if member in seen:
                    continue
                seen.add(member)
                orders[rank_of[member]].append(self.place[member])
                beside = [*layers.below[member], *layers.above[member]]
                line += [other for other in beside if other not in seen]
        return [np.array(order, dtype=np.intp) for order in orders]

    def _sweep(self, orders: Orders) -> tuple[Orders, int]:
        """Sort the ranks down and up, improve what comes of each sweep; return the best."""
        best, fewest, failed = orders, -1, 0
        for turn in range(_SWEEPS):
            reporter().advance("ordering nodes", int(self.work), self.budget, is_paced=False)
            last = len(orders) - 1
            for r in range(1, last + 1) if turn % 2 == 0 else range(last - 1, -1, -1):
                self._sort(orders, r, from_above=turn % 2 == 0)
            improved = list(orders)
            self._polish(improved, range(len(orders)))
            found = self._crossings(improved, range(len(self.below)))
            if fewest < 0 or found < fewest:
                best, fewest, failed = improved, found, 0
            else:
                failed += 1
            if not fewest or failed == _PATIENCE or self.work > self.budget:
                break
        return best, fewest

    def _sort(self, orders: Orders, r: int, *, from_above: bool) -> None:
        side = self.above[r - 1] if from_above else self.below[r]
        mean = side.mean_places(orders[r], orders[r - 1] if from_above else orders[r + 1])
        orders[r] = orders[r][np.argsort(mean[orders[r]], kind="stable")]
        self.work += 25

    def _disturb(self, orders: Orders, random: Random) -> range:
        """Shuffle a part of a rank, sort a few around it; return the ranks to improve."""
        r = random.randrange(len(orders))
        while len(orders[r]) < 2:
            r = random.randrange(len(orders))
        n = len(orders[r])
        length = random.randint(2, max(2, n // 2))
        start = random.randint(0, n - length)
        part = orders[r][start : start + length].tolist()
        random.shuffle(part)
        orders[r] = np.concatenate(
            [orders[r][:start], np.array(part, dtype=np.intp), orders[r][start + length :]]
        )
        reach = random.randint(0, 2)
        first, last = max(r - reach, 0), min(r + reach, len(orders) - 1)
        for below in range(r + 1, last + 1):
            self._sort(orders, below, from_above=True)
        for above in range(r - 1, first - 1, -1):
            self._sort(orders, above, from_above=False)
        return range(max(first - 1, 0), min(last + 2, len(orders)))

    def _polish(self, orders: Orders, ranks: Sequence[int]) -> None:
        """Improve ranks, and those beside them, until nothing helps."""
        waiting = [False] * len(orders)
        for r in ranks:
            waiting[r] = True
        while any(waiting) and self.work < self.budget:
            for r in range(len(orders)):
                check_stopped()
                if waiting[r] and self.work < self.budget:
                    waiting[r] = False
                    if self._sift(orders, r):
                        for near in (r - 1, r + 1):
                            if 0 <= near < len(orders):
                                waiting[near] = True

    def _crossings(self, orders: Orders, gaps: Sequence[int]) -> int:
        """Return the crossings in gaps below ranks."""
        self.work += sum(20 + self.below[r].matrix.size / 150 for r in gaps)
        return sum(self.below[r].crossings(orders[r], orders[r + 1]) for r in gaps)

    def _added_crossings(self, before: Orders, after: Orders) -> int:
        """Return how many crossings more other orders have; ranks that are the same are shared."""
        changed = [one is not other for one, other in zip(before, after, strict=True)]
        gaps = [r for r in range(len(self.below)) if changed[r] or changed[r + 1]]
        return self._crossings(after, gaps) - self._crossings(before, gaps)

    def _sift(self, orders: Orders, r: int) -> bool:
        """Make the moves within a rank that remove most crossings; return whether there was one."""
        order = orders[r]
        n = len(order)
        if not 1 < n <= _WIDEST:
            return False
        costs = self._costs(orders, r)[np.ix_(order, order)]
        rows = np.arange(n)
        sums = np.zeros((n, n + 1), dtype=np.int32)
        improved = False
        while True:
            # sums[i, e]: what it costs that member i is left of the first e members, more than
            # right of them; where it is largest, i wants to stand.
            np.cumsum(costs, axis=1, out=sums[:, 1:])
            wanted = sums.argmax(axis=1)
            gains = sums[rows, wanted] - sums[rows, rows]
            member = int(gains.argmax())
            self.work += 25 + n * n / 80
            if gains[member] <= 0 or self.work > self.budget:
                break
            improved = True
            to = int(wanted[member])
            line = [i for i in range(n) if i != member]
            line.insert(to - (to > member), member)
            order = order[line]
            costs = costs[line][:, line]
        orders[r] = order
        return improved

    def _costs(self, orders: Orders, r: int) -> Matrix:
        """Return how many crossings more it costs that i is left of j than the reverse."""
        n = len(orders[r])
        costs: Matrix = np.zeros((n, n), dtype=np.int32)
        if r:
            costs += self.above[r - 1].left_of(orders[r - 1])
        if r + 1 < len(orders):
            costs += self.below[r].left_of(orders[r + 1])
        self.work += 60 + n * n / 100
        return costs - costs.T
