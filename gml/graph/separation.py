"""Separation in a DAG and in an undirected graph, by reachability.

Sets of nodes are bits of an integer. d-separation follows trails (Koller & Friedman 2009, algorithm
3.1). A trail arrives at a node from a child (`up`) or from a parent
(`down`): a node that is not observed passes an upward trail on in every direction and a downward
one to its children; a node with an observed descendant turns a downward trail up again.

In an undirected graph, nodes separate x from y if every path between them passes one. The
*separator close to x* are those neighbours of x that a path from y reaches before any other of
them: the boundary of the component of y once x and its neighbours are taken away. Each of its nodes
has neighbours on both sides, so that none can be left out (Dirac 1961; Kloks & Kratsch 1998, SIAM
J. Comput. 27:605).
"""

from __future__ import annotations

from collections.abc import Iterable

from gml.errors import GraphError
from gml.graph.bits import bits_of, lowest, members
from gml.graph.chordal import neighbour_bits
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
        self._parents = [bits_of(parents) for parents in dag.parent_sets()]
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


class UndirectedSeparation:
    """Answers questions of separation over one undirected graph.

    Examples
    --------
    >>> chain = Graph.from_edges("ABC", [("A", "---", "B"), ("B", "---", "C")], kind="undirected")
    >>> separation = UndirectedSeparation(chain)
    >>> separation.separated(0, 2), separation.separated(0, 2, [1]), separation.separator(0, 2)
    (False, True, (1,))
    """

    def __init__(self, graph: Graph) -> None:
        self._neighbours = neighbour_bits(graph)
        self._everything = (1 << len(self._neighbours)) - 1
        self._close: dict[int, dict[int, int]] = {}

    def separated(self, x: int, y: int, given: Iterable[int] = ()) -> bool:
        """Whether every path from x to y passes one of the nodes `given`."""
        return not self._component(x, self._everything & ~bits_of(given)) >> y & 1

    def separator(self, x: int, y: int) -> tuple[int, ...]:
        """Return nodes that separate x from y, none of which can be left out.

        It is the smaller of those close to x and close to y; if they are equally large, the former.
        """
        if x == y or self._neighbours[x] >> y & 1:
            raise GraphError("nothing separates neighbours, or a node from itself")
        close = (self._close_to(x, y), self._close_to(y, x))
        return tuple(members(min(close, key=int.bit_count)))

    def _close_to(self, x: int, y: int) -> int:
        """The separator close to x."""
        if x not in self._close:
            self._close[x] = self._separators_close_to(x)
        for separator, behind in self._close[x].items():
            if behind >> y & 1:
                return separator
        return 0

    def _separators_close_to(self, x: int) -> dict[int, int]:
        """The separators close to x that are not empty, and what is behind each of them."""
        found: dict[int, int] = {}
        left = self._everything & ~self._neighbours[x] & ~(1 << x)
        while left:
            component = self._component(lowest(left), left)
            left &= ~component
            boundary = 0
            for node in members(component):
                boundary |= self._neighbours[node]
            boundary &= self._neighbours[x]
            if boundary:
                found[boundary] = found.get(boundary, 0) | component
        return found

    def _component(self, x: int, within: int) -> int:
        """The nodes that paths from x reach within a set of nodes."""
        found, new = 0, 1 << x
        while new:
            found |= new
            reached = 0
            for node in members(new):
                reached |= self._neighbours[node]
            new = reached & within & ~found
        return found
