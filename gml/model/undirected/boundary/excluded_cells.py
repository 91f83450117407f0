"""Cells of generators that no row is in: maxima at infinity make them impossible.

Once a cell is excluded, a number that is added to the table of its generator there changes nothing:
the terms are no longer unique. The ones reported are those with the least sum of squares over the
cells of all terms: those without any part along such changes.

Of a decomposable model, nothing else is open. A function that is a sum over the cliques, and 0
wherever all cliques are possible, is a sum of functions that are 0 but for impossible cells of
single cliques: along a perfect sequence, what a clique adds where it is possible depends on its
separator alone, and can be moved to the rest.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter
from gml.errors import CannotAnswer, parameter
from gml.model.undirected.boundary.cliques_of_cells import excluded_cells
from gml.model.undirected.boundary.facial_set import facial_set
from gml.model.undirected.coefficients import (
    Coefficients,
    Vector,
    along,
    with_constant,
)
from gml.model.undirected.exact.clique_margins import CliqueMargins
from gml.model.undirected.fitting import Penalty, Support
from gml.model.undirected.observed import tables_over
from gml.model.undirected.terms import Scope, Terms
from gml.progress import Deadline
from gml.stopping import check_stopped

_MOST_ROUNDS = 10_000
_NOTHING = 1e-15
_RESTS = 1e-14


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
    """Take off what only changes tables in excluded cells.

    What is left is orthogonal to such changes over the cells of all terms: the residual of least
    squares, by conjugate gradients (Björck 1996, algorithm 7.4.1). A change has at most the length
    of its cells times the root of the number of tables, so that a slope is nothing if it is nothing
    beside the vector itself.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> terms = Terms.of([Variable(name, ("n", "y")) for name in "AB"], [["A", "B"]])
    >>> excluded = {(0, 1): np.array([[False, False], [False, True]])}
    >>> only_there = Coefficients(terms).vector([np.array([-1.0, 1.0])] * 2 + [np.eye(2) * 2 - 1])
    >>> bool(np.abs(without_flat_part(Coefficients(terms), only_there, excluded)).max() < 1e-15)
    True
    """
    if not zeros:
        return vector
    changes = _Changes(coefficients, zeros)
    # The length over all cells is the plain one of coefficients times the roots of cells.
    left = vector * changes.scale
    slope = changes.gathered(left)
    direction, square = slope.copy(), float(slope @ slope)
    least = _NOTHING**2 * float(left @ left)
    for _ in range(min(_MOST_ROUNDS, 4 * len(slope))):
        if square <= least:
            break
        check_stopped()
        moved = changes.spread(direction)
        length = float(moved @ moved)
        if length <= _NOTHING * float(direction @ direction):
            break
        left -= square / length * moved
        slope = changes.gathered(left)
        before, square = square, float(slope @ slope)
        direction = slope + square / before * direction
    found = left / changes.scale
    # The rest of numbers that cancel out.
    found[np.abs(found) <= _RESTS * np.abs(vector).max()] = 0.0
    return found


class _Changes:
    """Between amounts in excluded cells and the coefficients of all terms, times roots of cells."""

    def __init__(
        self, coefficients: Coefficients, zeros: Mapping[Scope, NDArray[np.bool_]]
    ) -> None:
        self.scale = np.sqrt(coefficients.cells)
        alike: dict[tuple[int, ...], list[Scope]] = {}
        for scope, zero in zeros.items():
            alike.setdefault(zero.shape, []).append(scope)
        # Tables of the same shape are one, with a first axis for the scopes.
        self._zeros = [np.stack([zeros[scope] for scope in scopes]) for scopes in alike.values()]
        self._places = [
            np.stack([coefficients.places_in(scope) for scope in scopes])
            for scopes in alike.values()
        ]
        self._ends = np.cumsum([np.count_nonzero(zero) for zero in self._zeros])[:-1]

    def spread(self, amounts: Vector) -> Vector:
        """Return the coefficients of tables with these amounts."""
        found = np.zeros(len(self.scale) + 1)
        for zero, places, part in zip(
            self._zeros, self._places, np.split(amounts, self._ends), strict=True
        ):
            table = np.zeros(zero.shape)
            table[zero] = part
            for axis, size in enumerate(zero.shape[1:], start=1):
                table = along(with_constant(size).T / size, table, axis)
            found += np.bincount(places.reshape(-1), table.reshape(-1), minlength=len(found))
        return found[:-1] * self.scale

    def gathered(self, change: Vector) -> Vector:
        """Return the transpose of `spread` times a vector."""
        padded = np.append(change * self.scale, 0.0)
        found = []
        for zero, places in zip(self._zeros, self._places, strict=True):
            table = padded[places]
            for axis, size in enumerate(zero.shape[1:], start=1):
                table = along(with_constant(size) / size, table, axis)
            found.append(table[zero])
        return np.concatenate(found)
