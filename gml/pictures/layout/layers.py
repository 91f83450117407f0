"""Ranks with the bends of long links in them: every piece of a link joins neighbouring ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from gml.errors import CannotAnswer, counted, parameter
from gml.pictures.layout.orientation import Pair

_MOST_PIECES = 40_000
"""Of links between neighbouring ranks: some seconds of work."""


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


def require_few_pieces(n_links: int, n_bends: int = 0) -> None:
    """Refuse a picture that nobody could read, and that would take long to make.

    Examples
    --------
    >>> require_few_pieces(499_500, 166_167_000)
    Traceback (most recent call last):
    gml.errors.CannotAnswer: 499500 edges, which pass 166167000 ranks of nodes, are too many for \
one picture; draw what is near some nodes (`around`), or a heat map (`kind='matrix'`)
    """
    if n_links + n_bends > _MOST_PIECES:
        said = f", which pass {n_bends} ranks of nodes," if n_bends else ""
        raise CannotAnswer(
            f"{counted(n_links, 'edge')}{said} are too many for one picture; draw what is near "
            f"some nodes ({parameter('around')}), or a heat map ({parameter('kind', 'matrix')})"
        )


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
        for first, second in pairwise(chain):
            below[first].append(second)
            above[second].append(first)
    return Layers(len(rank), ranks, chains, above, below)


def restricted(layers: Layers, nodes: Sequence[int]) -> tuple[list[int], Layers]:
    """Return the layers of nodes whose links lead to no others, and their members' old numbers.

    Ranks that none of them is in are left out.

    Examples
    --------
    >>> restricted(layers_of([(0, 1), (2, 3)], [0, 1, 0, 1]), [2, 3])
    ([2, 3], Layers(n_nodes=2, ranks=[[0], [1]], chains=[[0, 1]], above=[[], [0]], below=[[1], []]))
    """
    chosen = set(nodes)
    chains = [chain for chain in layers.chains if chain[0] in chosen]
    members = [*nodes, *(bend for chain in chains for bend in chain[1:-1])]
    number = {member: i for i, member in enumerate(members)}
    kept = [[number[member] for member in rank if member in number] for rank in layers.ranks]
    return members, Layers(
        len(nodes),
        [rank for rank in kept if rank],
        [[number[member] for member in chain] for chain in chains],
        [[number[other] for other in layers.above[member]] for member in members],
        [[number[other] for other in layers.below[member]] for member in members],
    )
