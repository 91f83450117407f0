"""The rank of each node: links as short as possible, tiers one below the other, no rank too wide.

Links point down at least one rank, and their total length is the least (`network_simplex`). Between
two tiers is a boundary, an unseen node that no node of the earlier tier is below and that all of
the later one are. Where that leaves a choice, a node goes to the rank with the most room. Then
ranks that are much wider than the drawing should be are folded: nodes with a single link move on,
down if it comes from above and up if it goes down, the last names first. Nodes with more links
stay, as moving them would cost crossings.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt

from gml.pictures.layout.geometry import Size
from gml.pictures.layout.layers import require_few_pieces
from gml.pictures.layout.network_simplex import Span, shortest_ranks
from gml.pictures.layout.orientation import Pair

_FOLDED_ASPECT = 1.8
"""A rank is folded if it is so much wider than a square with room for all nodes."""
_FEWEST_IN_A_ROW = 8
"""So many nodes of mean width always have room beside each other."""
_MOST_FOLDED = 200
"""Graphs of more nodes are not folded: nobody reads them as a whole, and more bends cost time."""
_LEAST_FULL = 0.4
"""The part of that width which nodes keep, however many links pass."""


def boundaries(tiers: Sequence[int | None]) -> list[Pair]:
    """Return what tiers demand, as pairs of nodes: one is added at the end between two tiers.

    Examples
    --------
    >>> boundaries([0, 1, None, 0, 7])
    [(0, 5), (3, 5), (5, 1), (1, 6), (6, 4)]
    """
    known = sorted({tier for tier in tiers if tier is not None})
    pairs = []
    for boundary, (earlier, later) in enumerate(pairwise(known), len(tiers)):
        pairs += [(node, boundary) for node, tier in enumerate(tiers) if tier == earlier]
        pairs += [(boundary, node) for node, tier in enumerate(tiers) if tier == later]
    return pairs


def ranks_of(
    sizes: Sequence[Size], pairs: Sequence[Pair], limits: Sequence[Pair], gap: Size, bend_gap: float
) -> list[int]:
    """Return the rank of each node of a graph that links and limits connect.

    Parameters
    ----------
    sizes
        The room of each node.
    pairs
        The links, the upper end first.
    limits
        What tiers demand: see `boundaries`.
    gap
        The space beside and below a node.
    bend_gap
        The room that a link takes in a rank that it passes.
    """
    n_nodes = len(sizes)
    n_all = max([n_nodes - 1, *(max(pair) for pair in limits)]) + 1
    spans = [Span(upper, lower) for upper, lower in pairs]
    spans += [Span(upper, lower, int(upper >= n_nodes), 0) for upper, lower in limits]
    rank = shortest_ranks(n_all, spans)
    require_few_pieces(len(pairs), sum(rank[lower] - rank[upper] - 1 for upper, lower in pairs))
    widths = [size.width + gap.width for size in sizes]
    area = sum(
        width * (size.height + gap.height) for width, size in zip(widths, sizes, strict=True)
    )
    room = _Room(rank, spans, widths, bend_gap)
    room.balance()
    if n_nodes <= _MOST_FOLDED:
        room.fold(max(_FOLDED_ASPECT * sqrt(area), _FEWEST_IN_A_ROW * sum(widths) / n_nodes))
    return _without_gaps(room.rank[:n_nodes])


def _without_gaps(rank: Sequence[int]) -> list[int]:
    """Return the ranks without those that no node has."""
    renamed = {level: i for i, level in enumerate(sorted(set(rank)))}
    return [renamed[level] for level in rank]


class _Room:
    """Ranks, how wide they are, and how nodes may move."""

    def __init__(
        self, rank: list[int], spans: Sequence[Span], widths: Sequence[float], bend_gap: float
    ) -> None:
        self.rank = rank
        self.widths = widths
        self.bend_gap = bend_gap
        self.above: list[list[Span]] = [[] for _ in rank]
        self.below: list[list[Span]] = [[] for _ in rank]
        for span in spans:
            self.below[span.tail].append(span)
            self.above[span.head].append(span)

    def used(self) -> dict[int, float]:
        """Return the width of each rank, with the links that pass it."""
        used = dict.fromkeys(range(min(self.rank), max(self.rank) + 1), 0.0)
        for node, width in enumerate(self.widths):
            used[self.rank[node]] += width
            for span in self.below[node]:
                for level in range(self.rank[node] + 1, self.rank[span.head]):
                    used[level] += self.bend_gap * span.weight
        return used

    def balance(self) -> None:
        """Move nodes that make no link longer by it to the rank with the most room."""
        used = self.used()
        for node, width in enumerate(self.widths):
            if _weight(self.above[node]) != _weight(self.below[node]):
                continue
            first = max((self.rank[s.tail] + s.least for s in self.above[node]), default=min(used))
            last = min((self.rank[s.head] - s.least for s in self.below[node]), default=max(used))
            here = self.rank[node]
            used[here] -= width
            best = min(range(first, last + 1), key=lambda level: (used[level], abs(level - here)))
            used[best] += width
            self.rank[node] = best

    def fold(self, limit: float) -> None:
        """Move nodes out of ranks that are wider than a limit: leaves down, then roots up."""
        self._push(limit, 1)
        self._push(limit, -1)

    def _push(self, limit: float, step: int) -> None:
        ends, stays = (self.below, self.above) if step > 0 else (self.above, self.below)
        free = [
            node
            for node in reversed(range(len(self.widths)))
            if not _weight(ends[node]) and _weight(stays[node]) == 1
        ]
        used = self.used()
        level = min(used) if step > 0 else max(used)
        while level in used:
            full = sum(w for node, w in enumerate(self.widths) if self.rank[node] == level)
            for node in free:
                if used[level] <= limit or full - self.widths[node] < _LEAST_FULL * limit:
                    break
                if self.rank[node] == level and self._may_go(node, ends):
                    full -= self.widths[node]
                    used[level] += self.bend_gap - self.widths[node]
                    used[level + step] = used.get(level + step, 0.0) + self.widths[node]
                    self.rank[node] += step
            level += step

    def _may_go(self, node: int, ends: Sequence[Sequence[Span]]) -> bool:
        """Return whether the tiers let a node move."""
        return all(self.rank[span.head] - self.rank[span.tail] > span.least for span in ends[node])


def _weight(spans: Sequence[Span]) -> int:
    return sum(span.weight for span in spans)
