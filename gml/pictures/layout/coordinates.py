"""How far right each member of a rank is: links upright where they can be, long ones above all.

Gansner, Koutsofios, North & Vo (1993), section 4.2: the sum over links of how far they go aside,
each by its weight, is the least that the order and the room of the members allow. That is a network
simplex again, with a node more per link, at the end that is further left; links are measured from
port to port. All lengths are whole pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import ceil

from gml.pictures.layout.layers import Layers
from gml.pictures.layout.network_simplex import Span, shortest_ranks
from gml.pictures.layout.ports import Ports

_WEIGHTS = (1, 2, 8)
"""Of a piece of a link by how many of its ends are bends, as in the paper."""

Apart = Callable[[int, int], float]
"""The least distance of the middles of two neighbours in a rank."""


def coordinates(
    layers: Layers, ranks: Sequence[Sequence[int]], ports: Ports, apart: Apart
) -> list[float]:
    """Return how far right the middle of each member is; the ranks are ordered."""
    n_members = len(layers.above)
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
            spans.append(Span(end, upper, max(aside, 0), _WEIGHTS[bends]))
            spans.append(Span(end, lower, max(-aside, 0), _WEIGHTS[bends]))
            end += 1
    # Tiers may hold parts together that share no rank: their first members are drawn together.
    for first, second in pairwise(ranks):
        spans += [Span(end, first[0], 0, 0), Span(end, second[0], 0, 0)]
        end += 1
    return [float(x) for x in shortest_ranks(end, spans)[:n_members]]
