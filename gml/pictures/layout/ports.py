"""Where links leave and enter nodes: side by side around the middle, as their other ends lie."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

from gml.pictures.layout.layers import Layers

_STEP = 12.0
"""Between neighbouring links: arrow heads stay apart."""
_MARGIN = 10.0
"""From the corners of a node, which may be round."""

_MOST_MOVED = 11
"""How far a port may move to make its link upright."""
_LEAST_APART = 7
"""How near ports may come to each other by that."""

Ports = list[dict[int, int]]
"""For each member, and each of its neighbours, how far right of the middle their link begins."""


def ports_of(layers: Layers, ranks: Sequence[Sequence[int]], widths: Sequence[float]) -> Ports:
    """Return the ports of all members, whose ranks are ordered; bends have theirs in the middle."""
    place = {member: i for rank in ranks for i, member in enumerate(rank)}
    ports: Ports = []
    for member, width in enumerate(widths):
        found: dict[int, int] = {}
        for side in (layers.above[member], layers.below[member]):
            room = max(width - 2 * _MARGIN, width / 2)
            step = min(_STEP, room / max(len(side) - 1, 1))
            for i, other in enumerate(sorted(side, key=place.__getitem__)):
                found[other] = floor((i - (len(side) - 1) / 2) * step)
        ports.append(found)
    return ports


def straightened(
    layers: Layers, ports: Ports, widths: Sequence[float], x: Sequence[float]
) -> Ports:
    """Return ports, in the same order, from which links go straight down that nearly did.

    Parameters
    ----------
    layers, ports, widths
        As before.
    x
        How far right the middle of each member is.
    """
    moved = [dict(found) for found in ports]
    for member in range(layers.n_nodes):
        most = max(widths[member] / 2 - _MARGIN, 0)
        for side in (layers.above[member], layers.below[member]):
            line = sorted(side, key=moved[member].__getitem__)
            for i, other in enumerate(line):
                wanted = round(x[other] - x[member]) + moved[other][member]
                before = moved[member][line[i - 1]] + _LEAST_APART if i else -most
                after = moved[member][line[i + 1]] - _LEAST_APART if i + 1 < len(line) else most
                is_near = abs(wanted - moved[member][other]) <= _MOST_MOVED
                if is_near and before <= wanted <= after:
                    moved[member][other] = wanted
    return moved
