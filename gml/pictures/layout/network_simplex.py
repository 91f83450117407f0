"""Integers for nodes such that edges are at least so long, and least long altogether.

The network simplex of Gansner, Koutsofios, North & Vo (1993, IEEE Transactions on Software
Engineering 19:214), section 2: a spanning tree of edges that are as short as they may be; a tree
edge whose cut value is negative leaves it, and the shortest edge that joins the halves again enters.
Among several the first one does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Span(NamedTuple):
    """An edge whose head is at least `least` below its tail; each step of it costs `weight`."""

    tail: int
    head: int
    least: int = 1
    weight: int = 1


def shortest_ranks(n_nodes: int, spans: Sequence[Span]) -> list[int]:
    """Return the rank of each node, the first one 0; the graph is connected and has no cycle.

    Examples
    --------
    >>> shortest_ranks(4, [Span(0, 1), Span(1, 2), Span(3, 2)])
    [0, 1, 2, 1]
    """
    if n_nodes <= 1:
        return [0] * n_nodes
    return _Simplex(n_nodes, spans).solve()


class _Simplex:
    def __init__(self, n_nodes: int, spans: Sequence[Span]) -> None:
        self.spans = spans
        self.at: list[list[int]] = [[] for _ in range(n_nodes)]
        for index, span in enumerate(spans):
            self.at[span.tail].append(index)
            self.at[span.head].append(index)
        self.rank = _earliest(n_nodes, spans)
        self.in_tree = [False] * len(spans)
        self.cut = [0] * len(spans)
        # The tree hangs from node 0: `edge_up` leads to the parent, and the nodes under one are
        # those whose `low` and `lim` are within its own.
        self.parent = [-1] * n_nodes
        self.edge_up = [-1] * n_nodes
        self.low = [0] * n_nodes
        self.lim = [0] * n_nodes

    def solve(self) -> list[int]:
        self._grow_tight_tree()
        self._hang(0, -1, -1, 0)
        for node in sorted(range(len(self.rank)), key=self.lim.__getitem__):
            if self.parent[node] >= 0:
                self.cut[self.edge_up[node]] = self._cut_value(node)
        while (leaving := self._negative()) is not None:
            self._exchange(leaving)
        top = min(self.rank)
        return [rank - top for rank in self.rank]

    def _slack(self, index: int) -> int:
        span = self.spans[index]
        return self.rank[span.head] - self.rank[span.tail] - span.least

    def _grow_tight_tree(self) -> None:
        """Join the nodes by tight edges, moving all that are joined where none is left."""
        n_nodes = len(self.rank)
        inside = [False] * n_nodes
        inside[0] = True
        members, fresh = [0], [0]
        while True:
            while fresh:
                node = fresh.pop()
                for index in self.at[node]:
                    span = self.spans[index]
                    other = span.head if span.tail == node else span.tail
                    if not inside[other] and self._slack(index) == 0:
                        inside[other] = self.in_tree[index] = True
                        members.append(other)
                        fresh.append(other)
            if len(members) == n_nodes:
                return
            crossing = (
                index
                for index, span in enumerate(self.spans)
                if inside[span.tail] != inside[span.head]
            )
            best = min(crossing, key=self._slack)
            step = self._slack(best) if inside[self.spans[best].tail] else -self._slack(best)
            for node in members:
                self.rank[node] += step
            fresh = list(members)

    def _hang(self, root: int, parent: int, edge: int, low: int) -> None:
        """Number the tree under a root from `low` on, children before their parent."""
        self.parent[root], self.edge_up[root], self.low[root] = parent, edge, low
        stack = [(root, iter(self.at[root]))]
        number = low
        while stack:
            node, edges = stack[-1]
            for index in edges:
                if self.in_tree[index] and index != self.edge_up[node]:
                    span = self.spans[index]
                    child = span.head if span.tail == node else span.tail
                    self.parent[child], self.edge_up[child] = node, index
                    self.low[child] = number
                    stack.append((child, iter(self.at[child])))
                    break
            else:
                self.lim[node] = number
                number += 1
                stack.pop()

    def _cut_value(self, child: int) -> int:
        """Return the cut value of the edge above a node, from those of the edges below it."""
        up = self.edge_up[child]
        points_up = self.spans[up].tail == child
        total = self.spans[up].weight
        for index in self.at[child]:
            if index == up:
                continue
            span = self.spans[index]
            same_way = (span.tail == child) == points_up
            total += span.weight if same_way else -span.weight
            if self.in_tree[index]:
                total += -self.cut[index] if same_way else self.cut[index]
        return total

    def _negative(self) -> int | None:
        """Return the tree edge that is worst, the first of several."""
        worst, found = 0, None
        for index, value in enumerate(self.cut):
            if value < worst and self.in_tree[index]:
                worst, found = value, index
        return found

    def _exchange(self, leaving: int) -> None:
        span = self.spans[leaving]
        # The half of the tree that hangs below the leaving edge.
        below = span.tail if self.parent[span.tail] == span.head else span.head
        tail_is_below = below == span.tail
        entering = self._entering(below, tail_is_below)
        step = self._slack(entering)
        if step:
            move = -step if tail_is_below else step
            low, lim = self.low[below], self.lim[below]
            for node, number in enumerate(self.lim):
                if low <= number <= lim:
                    self.rank[node] += move
        entered = self.spans[entering]
        value = self.cut[leaving]
        top = self._common(entered.tail, entered.head)
        self._add_along(entered.tail, top, value, from_tail=True)
        self._add_along(entered.head, top, value, from_tail=False)
        self.cut[entering] = -value
        self.cut[leaving] = 0
        self.in_tree[leaving] = False
        self.in_tree[entering] = True
        self._hang(top, self.parent[top], self.edge_up[top], self.low[top])

    def _entering(self, below: int, tail_is_below: bool) -> int:
        """Return the edge of least slack that joins the halves the other way round."""
        low, lim = self.low[below], self.lim[below]
        best, least = -1, -1
        for index, span in enumerate(self.spans):
            if self.in_tree[index]:
                continue
            tail_in = low <= self.lim[span.tail] <= lim
            head_in = low <= self.lim[span.head] <= lim
            if tail_in != head_in and head_in == tail_is_below:
                slack = self._slack(index)
                if best < 0 or slack < least:
                    best, least = index, slack
                    if not slack:
                        break
        return best

    def _common(self, first: int, second: int) -> int:
        """Return the lowest node of the tree that both hang from."""
        node = first
        while not self.low[node] <= self.lim[second] <= self.lim[node]:
            node = self.parent[node]
        return node

    def _add_along(self, node: int, top: int, value: int, *, from_tail: bool) -> None:
        """Change the cut values between an end of the entering edge and where its path turns."""
        while node != top:
            index = self.edge_up[node]
            along = (self.spans[index].tail == node) == from_tail
            self.cut[index] += value if along else -value
            node = self.parent[node]


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
