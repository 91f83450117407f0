"""The member of an equivalence class that a score likes best, for scores that tell members apart.

The edges of a CPDAG without a direction make chordal graphs, whose directions do not depend on one
another. In each, every node is tried as the only one without parents among the others, which are
then ordered by maximum cardinality search (Tarjan & Yannakakis 1984; ties by name); in a tree these
are all members of the class. The best root is taken. From there covered edges, x → y whose parents
are the same but for x (Chickering 1995, UAI, theorem 2), are reversed, the one that gains most
first, until none gains. In graphs that are no trees there may be a better member still.

With knowledge only covered edges are reversed. Either way the search begins at the one DAG that
stands for the class, so that it finds the same for all members. Gains are rounded to 2⁻²⁰ nats;
ties go to the first root, or the first source, then target, by name.
"""

from __future__ import annotations

import numpy as np

from gml.counts.counter import Family
from gml.graph.bits import bits_of, members
from gml.graph.edges import Mark
from gml.graph.equivalence import equivalence_class, representative
from gml.graph.graph import Graph
from gml.graph.knowledge import Knowledge
from gml.learners.search import dag_of
from gml.scores.base import Score, add_up, as_score, rounded
from gml.stopping import check_stopped

Parents = dict[int, int]
"""Sets of parents by node, as bits."""


def best_member(
    score: Score, dag: Graph, knowledge: Knowledge | None = None
) -> tuple[Graph, float]:
    """Return a DAG equivalent to a DAG that no reversal of an edge improves, and its score.

    With knowledge, which the DAG obeys, only reversals that it allows are made.

    Examples
    --------
    >>> import gml
    >>> data = gml.read("sample_data/flats.csv", numeric=["size", "rent", "heating"])
    >>> score = gml.SCORES["bic-glm"](gml.MemoryCounter(data))
    >>> arc = Graph.from_edges(data.names, [("heating", "-->", "condition")])
    >>> [(edge.source, edge.target) for edge in best_member(score, arc)[0].edges]
    [('condition', 'heating')]
    """
    names = tuple(sorted(dag.names))
    at = np.array([dag.names.index(name) for name in names], dtype=np.intp)
    shown = equivalence_class(dag, knowledge).marks[np.ix_(at, at)]
    first = representative(dag, knowledge).marks[np.ix_(at, at)] == Mark.ARROW
    parents = {y: bits_of(np.flatnonzero(first[:, y]).tolist()) for y in range(len(names))}
    local = _Families(score, names)
    if not knowledge:
        lines = (shown == Mark.TAIL) & (shown.T == Mark.TAIL)
        neighbours = [bits_of(np.flatnonzero(row).tolist()) for row in lines]
        _choose_roots(parents, neighbours, local)
    allowed = np.ones((len(names),) * 2, dtype=bool)
    if knowledge:
        allowed = ~(knowledge.forbidden(names) | knowledge.required(names).T)
    _reverse(parents, allowed, local)
    found = [parents[y] for y in range(len(names))]
    return dag_of(found, names, dag.names), local.total(parents)


class _Families:
    """Scores of families of nodes in name order, each computed once."""

    def __init__(self, score: Score, names: tuple[str, ...]) -> None:
        self._score = as_score(score)
        self._names = names
        self._at = [list(score.names).index(name) for name in names]
        self._known: dict[tuple[int, int], float] = {}

    def require(self, wanted: list[tuple[int, int]]) -> None:
        """Score families that are not known yet, all at once."""
        new = sorted(set(wanted) - set(self._known))
        values = self._score.batch([self._family(*one) for one in new])
        self._known.update(zip(new, values.tolist(), strict=True))

    def gain(self, before: Parents, after: Parents) -> float:
        """What a change of the parents of some nodes gains."""
        return rounded(
            sum(self._known[y, given] - self._known[y, before[y]] for y, given in after.items())
        )

    def total(self, parents: Parents) -> float:
        """The score of a DAG."""
        self.require([*parents.items()])
        families = [self._family(*one) for one in parents.items()]
        values = np.array([self._known[one] for one in parents.items()])
        return add_up(self._score.names, families, values)

    def _family(self, child: int, given: int) -> Family:
        return self._at[child], tuple(self._at[j] for j in members(given))


def _choose_roots(parents: Parents, neighbours: list[int], local: _Families) -> None:
    """Direct each part of a class away from its best root."""
    left = bits_of(y for y, others in enumerate(neighbours) if others)
    while left:
        part = _connected(left & -left, neighbours)
        left &= ~part
        ways: list[Parents] = []
        for root in members(part):
            check_stopped()
            before, way = 0, {}
            for y in _by_cardinality(root, part, neighbours):
                way[y] = (parents[y] & ~neighbours[y]) | (neighbours[y] & before)
                before |= 1 << y
            ways.append(way)
        now = {y: parents[y] for y in members(part)}
        local.require([family for way in (now, *ways) for family in way.items()])
        gains = [local.gain(now, way) for way in ways]
        if max(gains) > 0:
            parents.update(ways[gains.index(max(gains))])


def _connected(part: int, neighbours: list[int]) -> int:
    """All nodes that lines join to some."""
    new = part
    while new:
        around = 0
        for y in members(new):
            around |= neighbours[y]
        new = around & ~part
        part |= new
    return part


def _by_cardinality(root: int, part: int, neighbours: list[int]) -> list[int]:
    """The nodes from a root on, next the one with most neighbours before it."""
    order, left, before = [root], part & ~(1 << root), 1 << root
    while left:
        y = max(members(left), key=lambda node: ((neighbours[node] & before).bit_count(), -node))
        order.append(y)
        left &= ~(1 << y)
        before |= 1 << y
    return order


def _reverse(parents: Parents, allowed: np.ndarray, local: _Families) -> None:
    """Reverse covered edges until no reversal gains."""
    while True:
        check_stopped()
        turned: list[Parents] = []
        for x in parents:
            for y in parents:
                is_covered = parents[y] >> x & 1 and parents[x] == parents[y] & ~(1 << x)
                if is_covered and allowed[y, x]:
                    turned.append({x: parents[x] | 1 << y, y: parents[y] & ~(1 << x)})
        ends = {y for way in turned for y in way}
        local.require([(y, parents[y]) for y in ends])
        local.require([family for way in turned for family in way.items()])
        gains = [local.gain(parents, way) for way in turned]
        if max(gains, default=0.0) <= 0:
            return
        parents.update(turned[gains.index(max(gains))])
