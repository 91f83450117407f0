"""Integers for nodes such that edges are at least so long, and least long altogether.

The network simplex of Gansner, Koutsofios, North & Vo (1993, IEEE Transactions on Software
Engineering 19:214), section 2: a spanning tree of edges that are as short as they may be; a tree
edge whose cut value is negative leaves it, and the shortest edge that joins the halves again
enters. Among several the first one does.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from gml.progress import reporter
from gml.stopping import check_stopped

_MOST_WORK = 600_000
"""Nodes looked at; where more would be needed, ranks are good but not the best."""
_SCANNED = 16
"""How many values are compared while one node is looked at."""


class Span(NamedTuple):
    """An edge whose head is at least `least` below its tail; each step of it costs `weight`."""

    tail: int
    head: int
    least: int = 1
    weight: int = 1


def shortest_ranks(
    n_nodes: int, spans: Sequence[Span], start: Sequence[int] | None = None
) -> list[int]:
    """Return the rank of each node, the first one 0; the graph is connected and has no cycle.

    Ranks to start from, which are long enough for all edges, make it faster if they are good.

    Examples
    --------
    >>> shortest_ranks(4, [Span(0, 1), Span(1, 2), Span(3, 2)])
    [0, 1, 2, 1]
    """
    if n_nodes <= 1:
        return [0] * n_nodes
    return _Simplex(n_nodes, spans, start or _earliest(n_nodes, spans)).solve()


class _Simplex:
    def __init__(self, n_nodes: int, spans: Sequence[Span], start: Sequence[int]) -> None:
        self.spans = spans
        self.tails = [span.tail for span in spans]
        self.heads = [span.head for span in spans]
        self.out_of: list[list[int]] = [[] for _ in range(n_nodes)]
        self.into: list[list[int]] = [[] for _ in range(n_nodes)]
        for index, span in enumerate(spans):
            self.out_of[span.tail].append(index)
            self.into[span.head].append(index)
        self.rank = list(start)
        self.in_tree = [False] * len(spans)
        self.cut = [0] * len(spans)
        # The tree: the neighbours of each node in it, with the edges to them. It hangs from node 0,
        # and `line` has the nodes that hang from one behind it, from `first` to `last`.
        self.tree: list[dict[int, int]] = [{} for _ in range(n_nodes)]
        self.parent = [-1] * n_nodes
        self.line = [0] * n_nodes
        self.first = [0] * n_nodes
        self.last = [0] * n_nodes
        self.work = 0

    def solve(self) -> list[int]:
        self._grow_tight_tree()
        self._hang(0)
        for node in reversed(self.line[1:]):
            self.cut[self.tree[node][self.parent[node]]] = self._cut_value(node)
        self.work = 0
        while self.work < _MOST_WORK and (leaving := self._negative()) is not None:
            check_stopped()
            self._exchange(leaving)
            reporter().advance("placing nodes", self.work, None, is_paced=False)
        top = min(self.rank)
        return [rank - top for rank in self.rank]

    def _slack(self, index: int) -> int:
        span = self.spans[index]
        return self.rank[span.head] - self.rank[span.tail] - span.least

    def _grow_tight_tree(self) -> None:
        """Join the nodes by tight edges: again and again the edge of least slack becomes tight.

        All nodes of the tree move together for that, so that they are kept as if none had moved.
        """
        moved = 0
        unmoved: list[int | None] = [None] * len(self.rank)
        leaving: list[tuple[int, int]] = []
        entering: list[tuple[int, int]] = []
        joining = 0
        while True:
            place = self.rank[joining] - moved
            unmoved[joining] = place
            for index in self.out_of[joining]:
                head = self.heads[index]
                if unmoved[head] is None:
                    heappush(leaving, (self.rank[head] - place - self.spans[index].least, index))
            for index in self.into[joining]:
                tail = self.tails[index]
                if unmoved[tail] is None:
                    heappush(entering, (place - self.rank[tail] - self.spans[index].least, index))
            while leaving and unmoved[self.heads[leaving[0][1]]] is not None:
                heappop(leaving)
            while entering and unmoved[self.tails[entering[0][1]]] is not None:
                heappop(entering)
            if not leaving and not entering:
                break
            if leaving and (not entering or leaving[0][0] - moved <= entering[0][0] + moved):
                slack, index = heappop(leaving)
                moved, joining = slack, self.heads[index]
            else:
                slack, index = heappop(entering)
                moved, joining = -slack, self.tails[index]
            self._join(index)
        self.rank = [place + moved for place in unmoved if place is not None]

    def _join(self, index: int) -> None:
        tail, head = self.tails[index], self.heads[index]
        self.in_tree[index] = True
        self.tree[tail][head] = self.tree[head][tail] = index

    def _hang(self, root: int) -> None:
        """Line up the tree under a root whose parent and place are right."""
        number = start = self.first[root]
        stack = [root]
        parent, line, first, last = self.parent, self.line, self.first, self.last
        while stack:
            node = stack.pop()
            line[number] = node
            first[node] = last[node] = number
            number += 1
            above = parent[node]
            for child in self.tree[node]:
                if child != above:
                    parent[child] = node
                    stack.append(child)
        for node in reversed(line[start + 1 : number]):
            above = parent[node]
            last[above] = max(last[above], last[node])
        self.work += number - start

    def _cut_value(self, child: int) -> int:
        """Return the cut value of the edge above a node, from those of the edges below it."""
        up = self.tree[child][self.parent[child]]
        points_up = self.tails[up] == child
        total = self.spans[up].weight
        for index in (*self.out_of[child], *self.into[child]):
            if index == up:
                continue
            span = self.spans[index]
            same_way = (span.tail == child) == points_up
            total += span.weight if same_way else -span.weight
            if self.in_tree[index]:
                total += -self.cut[index] if same_way else self.cut[index]
        return total

    def _negative(self) -> int | None:
        """Return the tree edge of the least cut value, the first of several."""
        worst = min(self.cut)
        self.work += len(self.cut) // _SCANNED
        return self.cut.index(worst) if worst < 0 else None

    def _exchange(self, leaving: int) -> None:
        tail, head = self.tails[leaving], self.heads[leaving]
        tail_is_below = self.parent[tail] == head
        below = tail if tail_is_below else head
        entering = self._entering(below, tail_is_below)
        step = self._slack(entering)
        if step:
            for node in self.line[self.first[below] : self.last[below] + 1]:
                self.rank[node] += -step if tail_is_below else step
        value = self.cut[leaving]
        first, second = self.tails[entering], self.heads[entering]
        top = first
        while not self.first[top] <= self.first[second] <= self.last[top]:
            top = self.parent[top]
        self._add_along(first, top, value, from_tail=True)
        self._add_along(second, top, value, from_tail=False)
        self.cut[leaving], self.cut[entering] = 0, -value
        self.in_tree[leaving] = False
        del self.tree[tail][head], self.tree[head][tail]
        self._join(entering)
        self._hang(top)

    def _entering(self, below: int, tail_is_below: bool) -> int:
        """Return the edge of least slack that joins the halves the other way round."""
        low, high = self.first[below], self.last[below]
        small = 2 * (high - low) < len(self.rank)
        nodes = self.line[low : high + 1] if small else self.line[:low] + self.line[high + 1 :]
        # From the half looked at, the edges that enter it are wanted, or those that leave it.
        inwards = tail_is_below == small
        near, far = (self.into, self.tails) if inwards else (self.out_of, self.heads)
        best, least = -1, -1
        self.work += len(nodes)
        for node in nodes:
            for index in near[node]:
                if (low <= self.first[far[index]] <= high) != small and not self.in_tree[index]:
                    slack = self._slack(index)
                    if best < 0 or (slack, index) < (least, best):
                        best, least = index, slack
        return best

    def _add_along(self, node: int, top: int, value: int, *, from_tail: bool) -> None:
        """Change the cut values between an end of the entering edge and where its path turns."""
        while node != top:
            above = self.parent[node]
            index = self.tree[node][above]
            along = (self.tails[index] == node) == from_tail
            self.cut[index] += value if along else -value
            node = above


def _earliest(n_nodes: int, spans: Sequence[Span]) -> list[int]:
    """Return the first rank that each node may have."""
    below: list[list[Span]] = [[] for _ in range(n_nodes)]
    waiting = [0] * n_nodes
    for span in spans:
        below[span.tail].append(span)
        waiting[span.head] += 1
    rank = [0] * n_nodes
    ready = [node for node in range(n_nodes) if not waiting[node]]
    for node in ready:
        for span in below[node]:
            rank[span.head] = max(rank[span.head], rank[node] + span.least)
            waiting[span.head] -= 1
            if not waiting[span.head]:
                ready.append(span.head)
    return rank
