"""The structural intervention distance (Peters & Bühlmann 2015, Neural Computation 27:771–799).

SID(G, H) counts the ordered pairs (i, j) for which adjusting for the parents of i in H gives a
wrong distribution of j under do(i) for some distribution over G. With Z = pa_H(i):

- j ∈ Z: H has no effect of i on j, which is wrong iff j is a descendant of i in G;
- j ∉ Z: wrong unless Z is a valid adjustment set in G, their condition (*): no node of Z descends
  from a node other than i on a directed path from i to j, and Z blocks every path from i to j that
  is not directed.

Both follow for all j at once from one walk through G. Walks may repeat nodes where the paper's
paths do not; that makes a difference only where Z has a node that the first half of (*) forbids.

For a graph that stands for several DAGs the answer is their least and greatest SID. The
DAGs of a CPDAG are the products of those of its chain components, each with one source (He, Jia &
Yu 2015, JMLR 16:2589). A source leaves smaller components whose nodes have the same parents
(their algorithm 1), so that the best sum over a component follows from those over smaller ones,
each computed once. After `_MOST_STATES` of them, and for a PDAG, whose DAGs are not all of the
class, every node has its own least and greatest number of errors instead, over the cliques of its
open neighbours: still bounds, but possibly wide ones.
"""

from __future__ import annotations

from typing import NamedTuple

from gml.errors import GraphError
from gml.graph.bits import bits_of, lowest, members
from gml.graph.edges import Mark
from gml.graph.graph import Graph
from gml.graph.order import topological_order
from gml.progress import tracked

# Each about a second or two of work for a component.
_MOST_STATES = 5000
_MOST_CLIQUES = 512


class SidBounds(NamedTuple):
    """Least and greatest SID of the DAGs that a graph stands for.

    If `exact`, some DAG attains each; otherwise they are bounds that no DAG may reach.
    """

    lower: int
    upper: int
    exact: bool = True


def sid_bounds(truth: Graph, other: Graph, *, is_class: bool = True) -> SidBounds:
    """Return the SID of a graph to the true DAG, over the same nodes in the same order.

    `other` is a DAG or, if `is_class`, the CPDAG of one; otherwise it is a PDAG, in which every
    edge that differs between its DAGs is undirected.

    Examples
    --------
    >>> chain = Graph.from_edges("ABC", [("A", "-->", "B"), ("B", "-->", "C")])
    >>> fork = Graph.from_edges("ABC", [("B", "-->", "A"), ("B", "-->", "C")])
    >>> line = Graph.from_edges("ABC", [("A", "---", "B"), ("B", "---", "C")], kind="cpdag")
    >>> sid_bounds(chain, fork)[:2], sid_bounds(chain, line)[:2]
    ((3, 3), (0, 6))
    """
    if truth.names != other.names:
        raise GraphError("the graphs have different nodes, or the same nodes in another order")
    return _Bounds(_Truth(truth), other, is_class).all_nodes()


class _Truth:
    """The true DAG: where adjusting for a set goes wrong."""

    def __init__(self, dag: Graph) -> None:
        n = len(dag.names)
        self._parents = [bits_of(parents) for parents in dag.parent_sets()]
        self._children = [0] * n
        # Every node is among its own ancestors and descendants.
        self._ancestors = [1 << j for j in range(n)]
        self._descendants = [1 << j for j in range(n)]
        order = topological_order(dag)
        for j in order:
            for i in members(self._parents[j]):
                self._children[i] |= 1 << j
                self._ancestors[j] |= self._ancestors[i]
        for i in reversed(order):
            for j in members(self._children[i]):
                self._descendants[i] |= self._descendants[j]

    def errors(self, i: int, given: int) -> int:
        """The nodes on which the effect of i is wrong if `given` are taken as its parents."""
        below = self._descendants[i] & ~(1 << i)
        above_given = self._union(self._ancestors, given)
        hidden = self._union(self._descendants, below & above_given)
        reached = self._not_only_forward(i, given, above_given)
        return ((hidden | reached) & ~given | below & given) & ~(1 << i)

    @staticmethod
    def _union(sets: list[int], nodes: int) -> int:
        found = 0
        for node in members(nodes):
            found |= sets[node]
        return found

    def _not_only_forward(self, i: int, given: int, above_given: int) -> int:
        """The nodes that open walks from i reach which are neither directed nor back through i."""
        others = ~(1 << i)
        forward_seen = up_seen = down_seen = 0
        forward, up, down = self._children[i], self._parents[i], 0
        while forward or up or down:
            forward_seen |= forward
            up_seen |= up
            down_seen |= down
            turned = self._union(self._parents, (forward | down) & above_given)
            passed = up & ~given
            next_up = turned | self._union(self._parents, passed)
            next_down = self._union(self._children, passed | down & ~given)
            next_forward = self._union(self._children, forward & ~given)
            forward = next_forward & ~forward_seen
            up = next_up & ~up_seen & others
            down = next_down & ~down_seen & others
        return up_seen | down_seen


class _TooMany(Exception):
    """There are too many orientations to look at."""


class _Bounds:
    """Sums of errors over the DAGs that a graph stands for."""

    def __init__(self, truth: _Truth, graph: Graph, is_class: bool) -> None:
        self._truth = truth
        self._is_class = is_class
        self._nodes = range(len(graph.names))
        arrows, tails = graph.marks == Mark.ARROW, graph.marks == Mark.TAIL
        self._parents = [
            bits_of((arrows[:, j] & tails[j]).nonzero()[0].tolist()) for j in self._nodes
        ]
        self._lines = [bits_of((tails[:, j] & tails[j]).nonzero()[0].tolist()) for j in self._nodes]
        adjacent = graph.marks != Mark.NONE
        self._adjacent = [bits_of(adjacent[j].nonzero()[0].tolist()) for j in self._nodes]
        self._known: dict[tuple[int, int], int] = {}
        self._best: dict[tuple[int, int], tuple[int, int]] = {}

    def all_nodes(self) -> SidBounds:
        """The least and greatest number of errors of all nodes together."""
        lower = upper = 0
        exact = True
        components = list(self._components(bits_of(self._nodes), self._lines))
        for component in tracked("comparing", components):
            single = component & component - 1 == 0
            try:
                if not (single or self._is_class):
                    raise _TooMany
                low, high = self._of_component(component, self._parents[lowest(component)])
            except _TooMany:
                exact = False
                each = [self._of_node(v) for v in members(component)]
                low, high = sum(some for some, _ in each), sum(most for _, most in each)
            lower, upper = lower + low, upper + high
        return SidBounds(lower, upper, exact)

    def _errors(self, i: int, parents: int) -> int:
        if (i, parents) not in self._known:
            self._known[i, parents] = self._truth.errors(i, parents).bit_count()
        return self._known[i, parents]

    # ------------------------------------------------------------------ a chain component

    def _of_component(self, component: int, parents: int) -> tuple[int, int]:
        """Bounds over all orientations of a component whose nodes have these parents outside it."""
        key = (component, parents)
        if key in self._best:
            return self._best[key]
        if len(self._best) >= _MOST_STATES:
            raise _TooMany
        found = []
        for source in members(component):
            low = high = self._errors(source, parents)
            for part, above in self._parts_below(component, source):
                some, most = self._of_component(part, parents | above)
                low, high = low + some, high + most
            found.append((low, high))
        best = min(low for low, _ in found), max(high for _, high in found)
        self._best[key] = best
        return best

    def _parts_below(self, component: int, source: int) -> list[tuple[int, int]]:
        """What a single source leaves open: chain components, each with the parents it got."""
        parts: list[tuple[int, int]] = []
        level = seen = 1 << source
        while True:
            below = 0
            for node in members(level):
                below |= self._lines[node]
            below &= component & ~seen
            if not below:
                return parts
            above, left = self._directed_within(below, level)
            parts += [(part, above[lowest(part)]) for part in self._components(below, left)]
            level, seen = below, seen | below

    def _directed_within(self, below: int, level: int) -> tuple[dict[int, int], dict[int, int]]:
        """Parents and open neighbours of nodes under a level, after rule 1 of Meek among them."""
        above = {node: self._lines[node] & level for node in members(below)}
        left = {node: self._lines[node] & below for node in members(below)}
        changed = True
        while changed:
            changed = False
            for b in members(below):
                for c in members(left[b]):
                    if above[b] & ~self._lines[c]:
                        above[c] |= 1 << b
                        left[b] &= ~(1 << c)
                        left[c] &= ~(1 << b)
                        changed = True
        return above, left

    @staticmethod
    def _components(nodes: int, lines: dict[int, int] | list[int]) -> list[int]:
        """The sets of nodes that undirected edges join."""
        parts = []
        while nodes:
            part = new = nodes & -nodes
            while new:
                around = 0
                for node in members(new):
                    around |= lines[node]
                new = around & ~part
                part |= new
            parts.append(part)
            nodes &= ~part
        return parts

    # ------------------------------------------------------------------ one node

    def _of_node(self, v: int) -> tuple[int, int]:
        """Bounds over the cliques of its open neighbours; the trivial ones if there are many."""
        counts: set[int] = set()
        waiting = [(0, self._lines[v])]
        asked = 0
        while waiting:
            clique, candidates = waiting.pop()
            asked += 1
            if asked > _MOST_CLIQUES:
                return 0, len(self._nodes) - 1
            counts.add(self._errors(v, self._parents[v] | clique))
            for u in members(candidates):
                candidates &= ~(1 << u)
                waiting.append((clique | 1 << u, candidates & self._adjacent[u]))
        return min(counts), max(counts)
