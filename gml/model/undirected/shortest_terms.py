"""Of all finite terms that give the same distribution, the shortest: where cells are impossible.

A function that is a sum over the cliques of a decomposable model, and 0 wherever all cliques are
possible, is a sum of functions that are 0 but for impossible cells of single cliques: along a
perfect sequence, what a clique adds depends on its separator alone, and can be moved to the rest.
So the terms may change by those of the indicators of impossible cells, and by nothing else; what is
left after the best combination of them (least squares over all cells of all terms, by conjugate
gradients; Björck 1996, algorithm 7.4.1) is the shortest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml.model.undirected.gauge import terms_of_tables
from gml.model.undirected.terms import Terms
from gml.stopping import check_stopped

Table = NDArray[np.float64]

_EXACT = 1e-30


def shortest_terms(
    terms: Terms, tables: Sequence[Table], possible: Sequence[NDArray[np.bool_]]
) -> list[Table]:
    """Return the shortest terms; `possible` has the cells of each generator that stay as they are.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> terms = Terms.of([Variable(name, ("n", "y")) for name in "AB"], [["A", "B"]])
    >>> long = terms_of_tables(terms, {(0, 1): np.array([[0.0, 0.0], [0.0, -30.0]])})
    >>> seen = [np.array([[True, True], [True, False]])]
    >>> [bool((np.abs(table) < 1e-12).all()) for table in shortest_terms(terms, long, seen)]
    [True, True, True]
    """
    free = [~cells for cells in possible]
    ends = np.cumsum([int(cells.sum()) for cells in free])
    if not len(ends) or not ends[-1]:
        return list(tables)

    def image(values: Table) -> Table:
        by_scope = {}
        for scope, cells, part in zip(
            terms.generators, free, np.split(values, ends[:-1]), strict=True
        ):
            table = np.zeros(cells.shape)
            table[cells] = part
            by_scope[scope] = table
        return _flat(terms_of_tables(terms, by_scope))

    def adjoint(vector: Table) -> Table:
        parts = _split(terms, vector)
        found = []
        for scope, cells in zip(terms.generators, free, strict=True):
            table = np.zeros(cells.shape)
            for subset, part in parts.items():
                if set(subset) <= set(scope):
                    shape = [terms.sizes[k] if k in subset else 1 for k in scope]
                    table += part.reshape(shape) * (part.size / table.size)
            found.append(table[cells])
        return np.concatenate(found)

    residual = _flat(tables)
    slope = adjoint(residual)
    direction, norm = slope.copy(), float(slope @ slope)
    first = norm
    for _ in range(4 * len(slope)):
        if norm <= _EXACT * first:
            break
        check_stopped()
        moved = image(direction)
        length = float(moved @ moved)
        if length == 0:
            break
        residual -= (norm / length) * moved
        slope = adjoint(residual)
        before, norm = norm, float(slope @ slope)
        direction = slope + (norm / before) * direction
    return [part.reshape(terms.shape(scope)) for scope, part in _split(terms, residual).items()]


def _flat(tables: Sequence[Table]) -> Table:
    return np.concatenate([np.asarray(table).reshape(-1) for table in tables])


def _split(terms: Terms, vector: Table) -> dict[tuple[int, ...], Table]:
    found, start = {}, 0
    for scope in terms.all:
        size = int(np.prod(terms.shape(scope)))
        found[scope] = vector[start : start + size]
        start += size
    return found
