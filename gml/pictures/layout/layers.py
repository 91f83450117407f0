"""Ranks with the bends of long links in them: every piece of a link joins neighbouring ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gml.pictures.layout.orientation import Pair


@dataclass(frozen=True)
class Layers:
    """Nodes and, numbered after them, the bends of links that pass other ranks.

    `ranks` has the members of each rank from left to right, `chains` those that each link passes
    from its upper end to its lower one, `above` and `below` the neighbours of each member.
    """

    n_nodes: int
    ranks: list[list[int]]
    chains: list[list[int]]
    above: list[list[int]]
    below: list[list[int]]


def layers_of(pairs: Sequence[Pair], rank: Sequence[int]) -> Layers:
    """Return the layers of links, the upper end first, between nodes that have their ranks.

    Examples
    --------
    >>> layers_of([(0, 1), (1, 2), (0, 2)], [0, 1, 2])
    Layers(n_nodes=3, ranks=[[0], [1, 3], [2]], chains=[[0, 1], [1, 2], [0, 3, 2]], \
above=[[], [0], [1, 3], [0]], below=[[1, 3], [2], [], [2]])
    """
    ranks: list[list[int]] = [[] for _ in range(max(rank, default=-1) + 1)]
    for node, level in enumerate(rank):
        ranks[level].append(node)
    above: list[list[int]] = [[] for _ in rank]
    below: list[list[int]] = [[] for _ in rank]
    chains = []
    for upper, lower in pairs:
        chain = [upper]
        for level in range(rank[upper] + 1, rank[lower]):
            bend = len(above)
            ranks[level].append(bend)
            above.append([])
            below.append([])
            chain.append(bend)
        chain.append(lower)
        chains.append(chain)
        for first, second in zip(chain, chain[1:], strict=False):
            below[first].append(second)
            above[second].append(first)
    return Layers(len(rank), ranks, chains, above, below)
