"""Where links leave and enter nodes: side by side around the middle, as their other ends lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from math import floor
from types import MappingProxyType

from gml.pictures.layout.geometry import Link, Size
from gml.pictures.layout.layers import Layers

_STEP = 12.0
"""Between neighbouring links: arrow heads stay apart."""
_MARGIN = 10.0
"""From the corners of a node, which may be round."""

# Sums of steps that are no whole numbers may be a little less than they are.
_ROUNDING = 1e-9
_MOST_MOVED = 11
"""How far a port may move to make its link upright."""
_LEAST_APART = 7
"""How near ports may come to each other, even without marks."""
_BETWEEN_MARKS = 2

Ports = list[dict[int, int]]
"""For each member, and each of its neighbours, how far right of the middle their link begins."""

Rooms = Mapping[tuple[int, int], float]
"""For a node and its neighbour, the room that their link needs at the node, if that is much."""


def least_room(width: float, mark: Size) -> float:
    """Return the room that the end of a link needs beside others, where there is enough."""
    return max(_LEAST_APART, width + _BETWEEN_MARKS, mark.width + _BETWEEN_MARKS)


def roomy(sizes: Sequence[Size], links: Sequence[Link]) -> list[Size]:
    """Return boxes wide enough for their links; those without direction may end on either side.

    Examples
    --------
    >>> roomy([Size(40.0, 20.0)] * 2 + [Size(20.0, 20.0)], [Link(0, 2), Link(1, 2)])
    [Size(width=40.0, height=20.0), Size(width=40.0, height=20.0), Size(width=27.0, height=20.0)]
    """
    above, below, either = ([0.0] * len(sizes) for _ in range(3))
    for link in links:
        ends = (
            (link.source, link.source_mark, below if link.directed else either),
            (link.target, link.target_mark, above if link.directed else either),
        )
        for node, mark, side in ends:
            side[node] += least_room(link.width, mark)
    return [
        # The outermost links need but half of their room between the corners.
        Size(max(width, round(max(a, b, (a + b + e) / 2) - _LEAST_APART + 2 * _MARGIN, 2)), height)
        for (width, height), a, b, e in zip(sizes, above, below, either, strict=True)
    ]


def rooms_of(layers: Layers, links: Sequence[Link]) -> Rooms:
    """Return the rooms of links, which all go down, at their ends."""
    rooms = {}
    for link, chain in zip(links, layers.chains, strict=True):
        rooms[chain[0], chain[1]] = least_room(link.width, link.source_mark)
        rooms[chain[-1], chain[-2]] = least_room(link.width, link.target_mark)
    return rooms


def ports_of(
    layers: Layers, ranks: Sequence[Sequence[int]], widths: Sequence[float], rooms: Rooms
) -> Ports:
    """Return the ports of all members, whose ranks are ordered; bends have theirs in the middle."""
    place = {member: i for rank in ranks for i, member in enumerate(rank)}
    ports: Ports = []
    for member, width in enumerate(widths):
        found: dict[int, int] = {}
        for side in (layers.above[member], layers.below[member]):
            room = max(width - 2 * _MARGIN, width / 2)
            line = sorted(side, key=place.__getitem__)
            steps = _steps([rooms.get((member, other), _LEAST_APART) for other in line], room)
            middle = sum(steps) / 2
            for other, before in zip(line, accumulate(steps, initial=0.0), strict=False):
                found[other] = floor(before - middle + _ROUNDING)
        ports.append(found)
    return ports


def _steps(rooms: Sequence[float], whole: float) -> list[float]:
    """Return how far neighbouring ports are apart: as they like it, but less in a small node."""
    least = [_mean(pair) for pair in pairwise(rooms)]
    liked = [max(_STEP, step) for step in least]
    needed, wanted = sum(least), sum(liked)
    if wanted <= whole:
        return liked
    if needed >= whole:
        return [step * whole / needed for step in least]
    part = (whole - needed) / (wanted - needed)
    return [low + part * (high - low) for low, high in zip(least, liked, strict=True)]


def _mean(pair: tuple[float, float]) -> float:
    return (pair[0] + pair[1]) / 2


def straightened(
    layers: Layers,
    ports: Ports,
    widths: Sequence[float],
    x: Sequence[float],
    rooms: Rooms = MappingProxyType({}),
) -> Ports:
    """Return ports, in the same order, from which links go straight down that nearly did.

    Parameters
    ----------
    layers, ports, widths, rooms
        As before.
    x
        How far right the middle of each member is.
    """
    moved = [dict(found) for found in ports]
    for member in range(layers.n_nodes):
        most = max(widths[member] / 2 - _MARGIN, 0)
        for side in (layers.above[member], layers.below[member]):
            line = sorted(side, key=moved[member].__getitem__)
            apart = [
                _mean(pair)
                for pair in pairwise(rooms.get((member, other), _LEAST_APART) for other in line)
            ]
            for i, other in enumerate(line):
                wanted = round(x[other] - x[member]) + moved[other][member]
                before = moved[member][line[i - 1]] + apart[i - 1] if i else -most
                after = moved[member][line[i + 1]] - apart[i] if i + 1 < len(line) else most
                is_near = abs(wanted - moved[member][other]) <= _MOST_MOVED
                if is_near and before <= wanted <= after:
                    moved[member][other] = wanted
    return moved
