"""Meek's orientation rules (Meek 1995, UAI, figure 1) and the equivalence class of a DAG.

An undirected edge b — c becomes b → c when the other direction would make a cycle, or a collider
that is not there:

1. a → b, with a and c not adjacent;
2. b → a → c;
3. b — a → c and b — d → c, with a and d not adjacent;
4. b — a → d → c, with b and d adjacent, a and c not adjacent (needed with knowledge only).

The closure under the rules is unique. Starting from the colliders of a DAG it is the CPDAG (Meek's
theorem 3), with edges directed by knowledge as well the maximally oriented PDAG (theorem 4). Which
rule is named as the reason for an edge depends on the order of the rules, then of the nodes.

Graphs are Boolean matrices here: `adjacent` symmetric, `directed[i, j]` for i → j.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.bool_]
Reasons = dict[tuple[int, int], "Reason"]


class Reason(NamedTuple):
    """Why an edge is directed: `collider`, `knowledge` or `rule 1` to `rule 4`, by which nodes."""

    rule: str
    nodes: tuple[int, ...]


def close_under_rules(adjacent: Matrix, directed: Matrix, reasons: Reasons | None = None) -> Matrix:
    """Return the closure of `directed` under Meek's rules; adds to `reasons` if given."""
    directed = directed.copy()
    apart = ~adjacent & ~np.eye(len(adjacent), dtype=bool)
    while True:
        undirected = adjacent & ~directed & ~directed.T
        if not undirected.any():
            return directed
        found = _first_rules(apart, directed, undirected)
        if not found.any():
            found = _last_rules(adjacent, apart, directed, undirected)
        if not found.any():
            return directed
        for b, c in np.argwhere(found):
            # Two neighbours may have been found at once for the same edge.
            if not directed[c, b]:
                directed[b, c] = True
                if reasons is not None:
                    reasons[int(b), int(c)] = _reason(adjacent, apart, directed, int(b), int(c))


def _first_rules(apart: Matrix, directed: Matrix, undirected: Matrix) -> Matrix:
    arrows = directed.astype(np.float32)
    by_collider = arrows.T @ apart.astype(np.float32) > 0
    by_cycle = arrows @ arrows > 0
    found: Matrix = undirected & (by_collider | by_cycle)
    return found


def _last_rules(adjacent: Matrix, apart: Matrix, directed: Matrix, undirected: Matrix) -> Matrix:
    found = np.zeros_like(directed)
    for b, c in np.argwhere(undirected):
        found[b, c] = bool(
            _rule3(apart, directed, undirected, b, c)
            or _rule4(adjacent, apart, directed, undirected, b, c)
        )
    return found


def _rule3(apart: Matrix, directed: Matrix, undirected: Matrix, b: int, c: int) -> tuple[int, ...]:
    via = np.flatnonzero(undirected[b] & directed[:, c])
    return next(((int(a), int(d)) for a in via for d in via if a < d and apart[a, d]), ())


def _rule4(
    adjacent: Matrix, apart: Matrix, directed: Matrix, undirected: Matrix, b: int, c: int
) -> tuple[int, ...]:
    starts = np.flatnonzero(undirected[b] & apart[c])
    middles = np.flatnonzero(directed[:, c] & adjacent[b])
    return next(((int(a), int(d)) for a in starts for d in middles if directed[a, d]), ())


def _reason(adjacent: Matrix, apart: Matrix, directed: Matrix, b: int, c: int) -> Reason:
    undirected = adjacent & ~directed & ~directed.T
    undirected[b, c] = undirected[c, b] = True
    one = np.flatnonzero(directed[:, b] & apart[c])
    two = np.flatnonzero(directed[b] & directed[:, c])
    if one.size:
        return Reason("rule 1", (int(one[0]),))
    if two.size:
        return Reason("rule 2", (int(two[0]),))
    three = _rule3(apart, directed, undirected, b, c)
    if three:
        return Reason("rule 3", three)
    return Reason("rule 4", _rule4(adjacent, apart, directed, undirected, b, c))


def unshielded_triples(adjacent: Matrix) -> list[tuple[int, int, int]]:
    """Return (x, k, y) with x — k — y, x and y not adjacent, x < y; by k, then x, then y."""
    found = []
    for k in range(len(adjacent)):
        around = np.flatnonzero(adjacent[k])
        apart = np.triu(~adjacent[np.ix_(around, around)], 1)
        found += [(int(around[i]), k, int(around[j])) for i, j in np.argwhere(apart)]
    return found


def maximally_oriented(
    dag: Matrix, decided: Matrix | None = None, reasons: Reasons | None = None
) -> Matrix:
    """Return the directed edges of the CPDAG of a DAG, or of its maximally oriented PDAG.

    `decided[i, j]` says that knowledge directs the edge of i and j, if there is one.
    """
    adjacent = dag | dag.T
    directed = np.zeros_like(dag)
    for x, k, y in unshielded_triples(adjacent):
        if dag[x, k] and dag[y, k]:
            for end, other in ((x, y), (y, x)):
                if not directed[end, k] and reasons is not None:
                    reasons[end, k] = Reason("collider", (other,))
                directed[end, k] = True
    if decided is not None:
        for i, j in np.argwhere(dag & (decided | decided.T) & ~directed):
            directed[i, j] = True
            if reasons is not None:
                reasons[int(i), int(j)] = Reason("knowledge", ())
    return close_under_rules(adjacent, directed, reasons)


def matrix_of(n: int, arcs: Iterable[tuple[int, int]]) -> Matrix:
    """Return the Boolean matrix of some arcs over n nodes."""
    matrix = np.zeros((n, n), dtype=bool)
    for i, j in arcs:
        matrix[i, j] = True
    return matrix
