"""How far right each member of a rank is: long links straight, nodes under their neighbours.

Brandes & Köpf (2001, Graph Drawing, LNCS 2265:31): members are aligned with the middle one of their
neighbours, in four ways (with those above or below, from the left or from the right), and the mean of
the two middle results is taken. Between bends a link comes first, so that long links stand upright.
Two deviations: links meet a node at their ports, not in its middle, and aligned blocks are placed by
longest paths in the graph of what is beside what, first as far left and then as far right as they can
be, instead of in classes, whose shifts may overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gml.pictures.layout.layers import Layers
from gml.pictures.layout.ports import Ports

Ranks = Sequence[Sequence[int]]
Apart = Callable[[int, int], float]
"""The least distance of the middles of two neighbours in a rank."""


def coordinates(layers: Layers, ranks: Ranks, ports: Ports, apart: Apart) -> list[float]:
    """Return how far right the middle of each member is."""
    conflicts = _conflicts(layers, ranks)
    found = []
    for down in (True, False):
        for from_left in (True, False):
            sign = 1 if from_left else -1
            seen = [list(rank)[::sign] for rank in (ranks if down else ranks[::-1])]
            near = layers.above if down else layers.below
            blocks = _Blocks(seen, near, ports, sign, conflicts)
            found.append([sign * x for x in blocks.placed(seen, apart)])
    return _balanced(found)


def _balanced(found: Sequence[Sequence[float]]) -> list[float]:
    """Return the mean of the two middle places, all aligned with the narrowest layout."""
    ends = [(min(xs), max(xs)) for xs in found]
    left, right = min(ends, key=lambda end: end[1] - end[0])
    moved = []
    for i, (xs, (low, high)) in enumerate(zip(found, ends, strict=True)):
        shift = left - low if i % 2 == 0 else right - high
        moved.append([x + shift for x in xs])
    return [sum(sorted(xs)[1:3]) / 2 for xs in zip(*moved, strict=True)]


def _conflicts(layers: Layers, ranks: Ranks) -> set[tuple[int, int]]:
    """Return the links, upper end first, that cross one between two bends."""
    n_nodes, found = layers.n_nodes, set()
    place = {member: i for rank in ranks for i, member in enumerate(rank)}
    for upper, lower in zip(ranks, ranks[1:], strict=False):
        left, start = -1, 0
        for i, member in enumerate(lower):
            inner = next(
                (o for o in layers.above[member] if o >= n_nodes and member >= n_nodes), None
            )
            if inner is None and i + 1 < len(lower):
                continue
            right = len(upper) if inner is None else place[inner]
            for other in lower[start : i + 1]:
                for near in layers.above[other]:
                    is_inner = near >= n_nodes and other >= n_nodes
                    if not is_inner and not left <= place[near] <= right:
                        found.add((near, other))
            left, start = right, i
    return found


class _Blocks:
    """Members that are aligned: each with its root, and how far it stands from it."""

    def __init__(
        self,
        ranks: Ranks,
        near: Sequence[Sequence[int]],
        ports: Ports,
        sign: int,
        conflicts: set[tuple[int, int]],
    ) -> None:
        place = {member: i for rank in ranks for i, member in enumerate(rank)}
        self.root = list(range(len(near)))
        self.offset = [0.0] * len(near)
        taken = [False] * len(near)
        for rank in ranks[1:]:
            reached = -1
            for member in rank:
                others = sorted(near[member], key=place.__getitem__)
                middle = (len(others) - 1) / 2
                for which in dict.fromkeys((int(middle), int(middle + 0.5))):
                    if not others:
                        break
                    other = others[which]
                    crossed = (other, member) in conflicts or (member, other) in conflicts
                    if crossed or place[other] <= reached or taken[other]:
                        continue
                    taken[other] = True
                    reached = place[other]
                    self.root[member] = self.root[other]
                    aside = ports[other][member] - ports[member][other]
                    self.offset[member] = self.offset[other] + sign * aside
                    break

    def placed(self, ranks: Ranks, apart: Apart) -> list[float]:
        """Return the places of all members, each block as far left as it can be, then right."""
        after: dict[int, list[tuple[int, float]]] = {root: [] for root in self.root}
        before: dict[int, list[tuple[int, float]]] = {root: [] for root in self.root}
        for rank in ranks:
            for first, second in zip(rank, rank[1:], strict=False):
                least = apart(first, second) + self.offset[first] - self.offset[second]
                after[self.root[first]].append((self.root[second], least))
                before[self.root[second]].append((self.root[first], least))
        line = _sorted_blocks(after, before)
        x: dict[int, float] = {}
        for root in line:
            x[root] = max((x[other] + least for other, least in before[root]), default=0.0)
        for root in reversed(line):
            if after[root]:
                x[root] = max(x[root], min(x[other] - least for other, least in after[root]))
        return [x[root] + offset for root, offset in zip(self.root, self.offset, strict=True)]


def _sorted_blocks(
    after: dict[int, list[tuple[int, float]]], before: dict[int, list[tuple[int, float]]]
) -> list[int]:
    """Return the blocks, those on the left first."""
    waiting = {root: len(found) for root, found in before.items()}
    line = [root for root, count in waiting.items() if not count]
    for root in line:
        for other, _ in after[root]:
            waiting[other] -= 1
            if not waiting[other]:
                line.append(other)
    return line
