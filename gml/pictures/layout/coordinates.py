"""How far right each member of a rank is: links upright where they can be, long ones above all.

Gansner, Koutsofios, North & Vo (1993), section 4.2: the sum over links of how far they go aside,
each by its weight, is the least that the order and the room of the members allow. That is a network
simplex again, with a node more per link, at the end that is further left; links are measured from
port to port. All lengths are whole pixels. It starts from sweeps over the ranks, which save most of
its exchanges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from math import ceil

from gml.pictures.layout.layers import Layers
from gml.pictures.layout.network_simplex import Span, shortest_ranks
from gml.pictures.layout.ports import Ports

_WEIGHTS = (1, 2, 8)
"""Of a piece of a link by how many of its ends are bends, as in the paper."""

_SWEEPS = 8

Apart = Callable[[int, int], float]
"""The least distance of the middles of two neighbours in a rank."""


def coordinates(
    layers: Layers, ranks: Sequence[Sequence[int]], ports: Ports, apart: Apart
) -> list[float]:
    """Return how far right the middle of each member is; the ranks are ordered."""
    n_members = len(layers.above)
    start = _relaxed(layers, ranks, ports, apart)
    spans = [
        Span(left, right, ceil(apart(left, right)), 0)
        for rank in ranks
        for left, right in pairwise(rank)
    ]
    end = n_members
    for upper in range(n_members):
        for lower in layers.below[upper]:
            bends = (upper >= layers.n_nodes) + (lower >= layers.n_nodes)
            aside = ports[lower][upper] - ports[upper][lower]
            start.append(min(start[upper] - max(aside, 0), start[lower] - max(-aside, 0)))
            spans.append(Span(end, upper, max(aside, 0), _WEIGHTS[bends]))
            spans.append(Span(end, lower, max(-aside, 0), _WEIGHTS[bends]))
            end += 1
    # Tiers may hold parts together that share no rank: their first members are drawn together.
    for first, second in pairwise(ranks):
        start.append(min(start[first[0]], start[second[0]]))
        spans += [Span(end, first[0], 0, 0), Span(end, second[0], 0, 0)]
        end += 1
    return [float(x) for x in shortest_ranks(end, spans, start)[:n_members]]


def _relaxed(
    layers: Layers, ranks: Sequence[Sequence[int]], ports: Ports, apart: Apart
) -> list[int]:
    """Return places to start from: each rank in turn as near as it can be to its neighbours."""
    x = [0] * len(layers.above)
    for turn in range(_SWEEPS):
        for rank in ranks if turn % 2 == 0 else ranks[::-1]:
            offsets = [0, *accumulate(ceil(apart(*pair)) for pair in pairwise(rank))]
            wanted = []
            for member, offset in zip(rank, offsets, strict=True):
                near = layers.above[member] + (layers.below[member] if turn else [])
                pulls = sorted(x[o] + ports[o][member] - ports[member][o] for o in near)
                wanted.append((pulls[(len(pulls) - 1) // 2] if pulls else x[member]) - offset)
            for member, offset, place in zip(rank, offsets, _isotonic(wanted), strict=True):
                x[member] = place + offset
    return x


def _isotonic(wanted: Sequence[int]) -> list[int]:
    """Return the values nearest to those wanted that never fall: runs that do get their mean."""
    runs: list[tuple[int, int]] = []
    for value in wanted:
        total, count = value, 1
        while runs and runs[-1][0] * count > total * runs[-1][1]:
            earlier, more = runs.pop()
            total, count = total + earlier, count + more
        runs.append((total, count))
    return [total // count for total, count in runs for _ in range(count)]
