"""Where links leave and enter nodes: side by side around the middle, as their other ends lie."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

from gml.pictures.layout.layers import Layers

_STEP = 12.0
"""Between neighbouring links: arrow heads stay apart."""
_MARGIN = 10.0
"""From the corners of a node, which may be round."""

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
