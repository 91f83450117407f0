"""Cells of generators that no row is in: maxima at infinity make them impossible.

Once a cell is excluded, a number that is added to the table of its generator there changes nothing:
the terms are no longer unique. The ones reported are those with the least sum of squares over the
cells of all terms, as of exact fits: those without any part along such changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter
from gml.errors import CannotAnswer, parameter
from gml.model.undirected.clique_margins import CliqueMargins
from gml.model.undirected.cliques_of_cells import excluded_cells
from gml.model.undirected.coefficients import Coefficients, Vector, level_contrasts
from gml.model.undirected.facial_set import facial_set
from gml.model.undirected.fitting import Penalty, Support
from gml.model.undirected.observed import tables_over
from gml.model.undirected.terms import Scope, Terms
from gml.progress import Deadline

_MOST_ROUNDS = 1000


def empty_cells(counter: Counter, terms: Terms, penalty: Penalty) -> dict[Scope, NDArray[np.bool_]]:
    """Return the cells that no row is in, of terms that no penalty or smoothing holds back."""
    if penalty.smoothing:
        return {}
    scopes = terms.generators
    if penalty.l1 or penalty.l2:
        scopes = tuple((k,) for k in range(len(terms.variables)))
    tables = tables_over(counter, terms, scopes)
    return {
        scope: table == 0 for scope, table in zip(scopes, tables, strict=True) if not table.all()
    }


def require_finite(
    counter: Counter,
    terms: Terms,
    zeros: Mapping[Scope, NDArray[np.bool_]],
    *,
    deadline: Deadline,
    max_memory: int | None = None,
) -> bool:
    """Refuse a maximum of the likelihood at infinity for more than empty cells.

    The answer is whether there is certainly none: without a junction tree, or in too short a time,
    nobody knows.
    """
    try:
        cliques = CliqueMargins(terms, terms.generators, max_memory=max_memory).cliques
        supports = facial_set(counter, terms, cliques, max_memory=max_memory, deadline=deadline)
        scopes = (*zeros, *(support.scope for support in supports))
        engine = CliqueMargins(terms, scopes, max_memory=max_memory)
    except CannotAnswer:
        return False
    walls = [Support(scope, ~zero).wall for scope, zero in zeros.items()]
    free = [np.zeros(support.possible.shape) for support in supports]
    margins = engine.of([*walls, *free]).margins[len(zeros) :]
    beyond = [
        Support(support.scope, support.possible | (margin == 0))
        for support, margin in zip(supports, margins, strict=True)
    ]
    cell = next(excluded_cells(terms, beyond), None)
    if cell is not None:
        named = ", ".join(f"{name} = {level}" for name, level in cell.items())
        raise CannotAnswer(
            f"the maximum of the likelihood lies at infinity, where {named} is impossible; use "
            f"{parameter('method', 'exact')}, {parameter('l2')} or {parameter('smoothing')}"
        )
    return not deadline.passed


def without_flat_part(
    coefficients: Coefficients, vector: Vector, zeros: Mapping[Scope, NDArray[np.bool_]]
) -> Vector:
    """Take off what only changes the tables of generators in excluded cells.

    What is left is orthogonal to the changes over the cells of all terms. The normal equations of
    the changes by single cells are solved by conjugate gradients: there may be many, and each has
    few coefficients.
    """
    if not zeros:
        return vector
    rows, columns, values = _changes(coefficients, zeros)
    n_cells = int(columns[-1]) + 1
    # The length over all cells is the plain one of coefficients times the roots of cells.
    scale = np.sqrt(coefficients.cells)
    values = values * scale[rows]

    def spread(amounts: Vector) -> Vector:
        found = np.bincount(rows, weights=values * amounts[columns], minlength=coefficients.size)
        return found.astype(np.float64)

    def gathered(change: Vector) -> Vector:
        found = np.bincount(columns, weights=values * change[rows], minlength=n_cells)
        return found.astype(np.float64)

    left = vector * scale
    residual = gathered(left)
    direction, square = residual.copy(), float(residual @ residual)
    least = 1e-26 * float(left @ left) * float(values @ values) / n_cells
    for _ in range(_MOST_ROUNDS):
        if square <= least:
            break
        moved = spread(direction)
        length = float(moved @ moved)
        if length <= 0:
            break
        left -= square / length * moved
        residual = gathered(left)
        before, square = square, float(residual @ residual)
        direction = residual + square / before * direction
    return left / scale


def _changes(
    coefficients: Coefficients, zeros: Mapping[Scope, NDArray[np.bool_]]
) -> tuple[NDArray[np.int64], NDArray[np.int64], Vector]:
    """Coefficients of the tables that are 1 in one excluded cell: where, of which, and how much."""
    terms = coefficients.terms
    position = {scope: t for t, scope in enumerate(terms.all)}
    rows, columns, values, first = [], [], [], 0
    for scope, zero in zeros.items():
        cells = np.argwhere(zero)
        number = first + np.arange(len(cells))
        first += len(cells)
        for size in range(1, len(scope) + 1):
            for axes in combinations(range(len(scope)), size):
                product = np.full((len(cells), 1), 1.0 / zero.size)
                for axis in axes:
                    factor = level_contrasts(zero.shape[axis])[cells[:, axis]]
                    product = (product[:, :, None] * factor[:, None, :]).reshape(len(cells), -1)
                places = coefficients.of(position[tuple(scope[axis] for axis in axes)])
                rows.append(np.tile(places.reshape(-1), len(cells)))
                columns.append(np.repeat(number, product.shape[1]))
                values.append(product.reshape(-1))
    order = np.argsort(np.concatenate(columns), kind="stable")
    return (
        np.concatenate(rows)[order],
        np.concatenate(columns)[order],
        np.concatenate(values)[order],
    )
