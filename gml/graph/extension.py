"""A DAG for a skeleton and its colliders: Dor & Tarsi's algorithm, made to always answer.

Dor & Tarsi (1992, UCLA technical report R-185) remove one node at a time: a *valid sink*, whose
remaining edges can all become arrows into it without making a new collider or breaking an old one.
Every order of valid sinks gives a DAG with the colliders asked for; no valid sink is left exactly
when no such DAG exists, as for a chordless cycle of four nodes without a collider.

Here every unshielded triple x — k — y has a weight w: above 0 it should be a collider, below 0 it
should not, and |w| is the cost of the opposite. When no valid sink is left, the node whose removal
costs least is removed. Ties, among valid sinks too, go to the node that makes the fewest undecided
triples (w = 0) into colliders, then to the first node. `forced[i, j]` directs an edge i → j at any
price.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gml.errors import DataError, GraphError, quote
from gml.graph.bits import sets_in_columns
from gml.graph.edges import EDGE_TYPES, Mark
from gml.graph.graph import Graph, require_marks
from gml.graph.open_arrows import decided_arrows, with_compelled, without_compelled
from gml.graph.orientation import Matrix, maximally_oriented, unshielded_triples
from gml.name_order import NameOrder

Triple = tuple[int, int, int]

# Matrices of n × n bytes that are held at one time.
_MATRICES = 8


def left_open(weights: Mapping[Triple, float], forced: Matrix) -> dict[Triple, float]:
    """Return the weights of the triples that forced arrows do not decide."""
    return {
        (x, k, y): weight
        for (x, k, y), weight in weights.items()
        if not (forced[k, x] or forced[k, y] or (forced[x, k] and forced[y, k]))
    }


def extend(
    adjacent: Matrix,
    weights: Mapping[Triple, float],
    forced: Matrix,
    *,
    against: NDArray[np.float64] | None = None,
) -> Matrix:
    """Return a DAG over the skeleton `adjacent`; `weights` by (x, k, y) with x < y.

    `forced` must have no cycle on the skeleton; `against[i, j]` is the price of an arrow i → j.
    """
    n = len(adjacent)
    dag = np.zeros((n, n), dtype=bool)
    neighbours = [set(np.flatnonzero(row).tolist()) for row in adjacent]
    triples_of: list[list[Triple]] = [[] for _ in range(n)]
    for triple in sorted(weights):
        for node in triple:
            triples_of[node].append(triple)
    left = set(range(n))

    def cost(v: int) -> tuple[float, int]:
        """The cost of removing v now: the weight lost, and the undecided triples made colliders."""
        if any(forced[v, u] for u in neighbours[v]):
            return math.inf, 0
        lost, undecided = [], 0
        for x, k, y in triples_of[v]:
            if (x in left) and (k in left) and (y in left):
                w = weights[x, k, y]
                lost.append(max(0.0, -w if k == v else w))
                undecided += w == 0 and k == v
        if against is not None:
            lost += [float(against[u, v]) for u in neighbours[v]]
        return math.fsum(lost), undecided

    costs = [cost(v) for v in range(n)]
    queue = [(costs[v], v) for v in range(n)]
    heapq.heapify(queue)
    while left:
        price, sink = heapq.heappop(queue)
        if sink not in left or price != costs[sink]:
            continue
        if math.isinf(price[0]):
            raise DataError("the required directions make a cycle")
        left.remove(sink)
        touched = set(neighbours[sink])
        for u in neighbours[sink]:
            dag[u, sink] = True
            neighbours[u].remove(sink)
        for triple in triples_of[sink]:
            touched.update(triple)
        for v in touched & left:
            new = cost(v)
            if new != costs[v]:
                costs[v] = new
                heapq.heappush(queue, (new, v))
    return dag


def equivalent_with(dag: Matrix, arcs: Matrix) -> Matrix | None:
    """Return a DAG equivalent to another in which every edge that `arcs` directs has its way."""
    adjacent = dag | dag.T
    forced = adjacent & arcs
    if (forced & forced.T).any():
        return None
    weights = _wanted(adjacent, dag)
    try:
        found = extend(adjacent, weights, forced)
    except DataError:
        return None
    return found if first_broken(found, weights) is None else None


def _wanted(adjacent: Matrix, arrows: Matrix) -> dict[Triple, float]:
    """Weights that ask for the colliders of some arrows, and for no others."""
    return {
        (x, k, y): 1.0 if arrows[x, k] and arrows[y, k] else -1.0
        for x, k, y in unshielded_triples(adjacent)
    }


def first_broken(dag: Matrix, weights: Mapping[Triple, float]) -> Triple | None:
    """Return the first triple in which a DAG differs from what the weight asks for."""
    for (x, k, y), weight in weights.items():
        if (dag[x, k] and dag[y, k]) != (weight > 0):
            return x, k, y
    return None


def consistent_extension(graph: Graph, *, sources: Collection[str] = ()) -> Graph:
    """Return a DAG with the edges, arrows and colliders of a graph; a DAG is returned as it is.

    Undirected edges between `sources` and other nodes point away from the sources. Ties are broken
    by name, whatever the order of the nodes. Edges say whether they are `compelled`: whether the
    graph leaves no other direction.

    Examples
    --------
    >>> line = Graph.from_edges("ABC", [("A", "---", "B"), ("B", "---", "C")])
    >>> [(edge.source, edge.target) for edge in consistent_extension(line).edges]
    [('B', 'A'), ('C', 'B')]
    >>> consistent_extension(line).attributes
    {(0, 1): {'compelled': False}, (1, 2): {'compelled': False}}
    """
    if graph.kind == "dag":
        return graph
    if graph.kind == "pag":
        raise GraphError("a PAG stands for no single DAG")
    require_marks(len(graph.names), _MATRICES)
    order = NameOrder(graph.names)
    marks = order.matrix(graph.marks)
    adjacent, arrows = marks != Mark.NONE, marks == Mark.ARROW
    weights = _wanted(adjacent, arrows)
    first = np.array([name in sources for name in order.names])
    outwards = adjacent & first[:, None] & ~first[None, :] & ~arrows.T
    directed = extend(adjacent, weights, arrows | outwards)
    broken = first_broken(directed, weights)
    if broken is not None:
        triple = ", ".join(quote(order.names[node]) for node in broken)
        raise GraphError(
            f"this is {graph.kind_in_words}, and no DAG has its edges and colliders: it fails at "
            + triple
        )
    found = order.restored(directed)
    tail, arrow = EDGE_TYPES["-->"]
    new_marks = np.zeros_like(graph.marks)
    new_marks[found.T] = tail
    new_marks[found] = arrow
    compelled = maximally_oriented(found, decided_arrows(graph))
    chosen = replace(without_compelled(graph), marks=new_marks, kind="dag")
    return with_compelled(chosen, sets_in_columns(compelled))
