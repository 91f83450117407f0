"""d-separation in a DAG, by reachability (Koller & Friedman 2009, algorithm 3.1).

Sets of nodes are bits of an integer. A trail arrives at a node from a child (`up`) or from a parent
(`down`): a node that is not observed passes an upward trail on in every direction and a downward
one to its children; a node with an observed descendant turns a downward trail up again.
"""

from __future__ import annotations

from collections.abc import Iterable

from gml.errors import GraphError
from gml.graph.bits import bits_of, members
from gml.graph.graph import Graph

# Queries come in runs that share x and the nodes given.
_MOST_KNOWN = 1 << 16


class Separation:
    """Answers d-separation queries over one DAG.

    Examples
    --------
    >>> collider = Graph.from_edges("ABC", [("A", "-->", "B"), ("C", "-->", "B")])
    >>> Separation(collider).separated(0, 2), Separation(collider).separated(0, 2, [1])
    (True, False)
    """

    def __init__(self, dag: Graph) -> None:
        if dag.kind != "dag":
            raise GraphError(f"d-separation needs a DAG, not a graph of kind {dag.kind}")
        n = len(dag.names)
        self._parents = [bits_of(dag.parents(j)) for j in range(n)]
        self._children = [0] * n
        self._known: dict[tuple[int, int], int] = {}
        for j in range(n):
            for i in members(self._parents[j]):
                self._children[i] |= 1 << j

    def separated(self, x: int, y: int, given: Iterable[int] = ()) -> bool:
        """Whether the nodes `given` d-separate x from y."""
        key = (x, bits_of(given))
        if key not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[key] = self._connected(*key)
        return not self._known[key] >> y & 1

    def _connected(self, x: int, observed: int) -> int:
        """The nodes that a trail from x reaches."""
        above_observed = self._with_ancestors(observed)
        up_seen = down_seen = 0
        up, down = 1 << x, 0
        while up or down:
            up_seen |= up
            down_seen |= down
            next_up = next_down = 0
            for node in members(up & ~observed):
                next_up |= self._parents[node]
                next_down |= self._children[node]
            for node in members(down & ~observed):
                next_down |= self._children[node]
            for node in members(down & above_observed):
                next_up |= self._parents[node]
            up, down = next_up & ~up_seen, next_down & ~down_seen
        return up_seen | down_seen

    def _with_ancestors(self, nodes: int) -> int:
        found, new = 0, nodes
        while new:
            found |= new
            above = 0
            for node in members(new):
                above |= self._parents[node]
            new = above & ~found
        return found
