"""Meek's orientation rules (Meek 1995, UAI, figure 1) and the equivalence class of a DAG.

An undirected edge b — c becomes b → c when the other direction would make a cycle, or a collider
that is not there:

1. a → b, with a and c not adjacent;
2. b → a → c;
3. b — a → c and b — d → c, with a and d not adjacent;
4. b — a → d → c, with b and d adjacent, a and c not adjacent (needed with knowledge only).

The closure under the rules is unique. Starting from the colliders of a DAG it is the CPDAG (Meek's
theorem 3); with edges directed by knowledge as well, the maximally oriented PDAG (theorem 4). Which
rule is named as the reason for an edge depends on the order of the rules, then of the nodes.

Graphs are Boolean matrices here: `adjacent` symmetric, `directed[i, j]` for i → j.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.graph.bits import bits_of, lowest, members
from gml.resources import require_memory

Matrix = NDArray[np.bool_]
Reasons = dict[tuple[int, int], "Reason"]

# Bytes of a triple and of its entry in a dictionary.
_TRIPLE_BYTES = 250
_FEW_TRIPLES = 1_000_000


class Reason(NamedTuple):
    """Why an edge is directed (`collider`, `knowledge`, `rule 1` to `rule 4`), by which nodes."""

    rule: str
    nodes: tuple[int, ...]


def close_under_rules(adjacent: Matrix, directed: Matrix, reasons: Reasons | None = None) -> Matrix:
    """Return the closure of `directed` under Meek's rules; adds to `reasons` if given."""
    graph = _Orientation(adjacent, directed)
    open_edges = [(b, c) for b, c in np.argwhere(adjacent & ~directed & ~directed.T).tolist()]
    found = True
    while found:
        found = False
        for b, c in open_edges:
            if graph.is_open(b, c):
                reason = graph.reason(b, c)
                if reason is not None:
                    graph.direct(b, c)
                    found = True
                    if reasons is not None:
                        reasons[b, c] = reason
        open_edges = [(b, c) for b, c in open_edges if graph.is_open(b, c)]
    return graph.matrix()


class _Orientation:
    """A graph that is being directed; sets of nodes are bits of an integer."""

    def __init__(self, adjacent: Matrix, directed: Matrix) -> None:
        self._directed = directed.copy()
        n = len(adjacent)
        self._adjacent = [bits_of(np.flatnonzero(row).tolist()) for row in adjacent]
        self._parents = [bits_of(np.flatnonzero(directed[:, j]).tolist()) for j in range(n)]
        self._children = [bits_of(np.flatnonzero(directed[j]).tolist()) for j in range(n)]
        self._open = [self._adjacent[j] & ~self._parents[j] & ~self._children[j] for j in range(n)]

    def is_open(self, b: int, c: int) -> bool:
        """Whether b — c is not directed yet."""
        return bool(self._open[b] >> c & 1)

    def direct(self, b: int, c: int) -> None:
        """Make it b → c."""
        self._directed[b, c] = True
        self._open[b] &= ~(1 << c)
        self._open[c] &= ~(1 << b)
        self._children[b] |= 1 << c
        self._parents[c] |= 1 << b

    def matrix(self) -> Matrix:
        """The edges directed so far."""
        return self._directed

    def reason(self, b: int, c: int) -> Reason | None:
        """Return the first rule that turns b — c into b → c."""
        one = self._parents[b] & ~self._adjacent[c] & ~(1 << c)
        if one:
            return Reason("rule 1", (lowest(one),))
        two = self._children[b] & self._parents[c]
        if two:
            return Reason("rule 2", (lowest(two),))
        if not self._parents[c]:
            return None
        via = self._open[b] & self._parents[c]
        for a in members(via):
            apart = via & ~self._adjacent[a] & ~(1 << a)
            if apart:
                return Reason("rule 3", (a, lowest(apart)))
        for a in members(self._open[b] & ~self._adjacent[c] & ~(1 << c)):
            middle = self._children[a] & self._parents[c] & self._adjacent[b]
            if middle:
                return Reason("rule 4", (a, lowest(middle)))
        return None


def unshielded_triples(adjacent: Matrix) -> list[tuple[int, int, int]]:
    """Return (x, k, y) with x — k — y, x and y not adjacent, x < y; by k, then x, then y."""
    neighbours = [np.flatnonzero(row).tolist() for row in adjacent]
    sets = list(map(set, neighbours))
    _require_triples(neighbours)
    return [
        (x, k, y)
        for k, around in enumerate(neighbours)
        for i, x in enumerate(around)
        for y in around[i + 1 :]
        if y not in sets[x]
    ]


def _require_triples(neighbours: list[list[int]]) -> None:
    """Refuse a graph whose triples would not fit; a star has about n²/2 of them."""
    if sum(len(around) ** 2 for around in neighbours) // 2 < _FEW_TRIPLES:
        return
    bits = list(map(bits_of, neighbours))
    # Among the neighbours of k, x is not counted as its own.
    apart = sum(
        (bits[k] & ~bits[x]).bit_count() - 1 for k, around in enumerate(neighbours) for x in around
    )
    require_memory(
        apart // 2 * _TRIPLE_BYTES, None, f"{apart // 2} pairs of neighbours that are not adjacent"
    )


def maximally_oriented(
    dag: Matrix, decided: Matrix | None = None, reasons: Reasons | None = None
) -> Matrix:
    """Return the directed edges of the CPDAG of a DAG, or of its maximally oriented PDAG.

    `decided[i, j]` says that knowledge directs the edge between i and j, if there is one.
    """
    adjacent = dag | dag.T
    directed = np.zeros_like(dag)
    if decided is not None:
        directed |= dag & (decided | decided.T)
        if reasons is not None:
            reasons.update(
                {(i, j): Reason("knowledge", ()) for i, j in np.argwhere(directed).tolist()}
            )
    bits = [bits_of(np.flatnonzero(row).tolist()) for row in adjacent]
    for k in range(len(dag)):
        parents = np.flatnonzero(dag[:, k]).tolist()
        parent_bits = bits_of(parents)
        for x in parents:
            apart = parent_bits & ~bits[x] & ~(1 << x)
            if apart:
                if not directed[x, k] and reasons is not None:
                    reasons[x, k] = Reason("collider", (lowest(apart),))
                directed[x, k] = True
    return close_under_rules(adjacent, directed, reasons)
