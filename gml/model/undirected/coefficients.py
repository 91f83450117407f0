"""The free parameters of sum-to-zero terms, as one vector.

A table that adds up to 0 over every axis is a combination of products of contrasts, one per axis.
The contrasts of r levels are r − 1 columns that add up to 0 and are orthogonal, with squares that
add up to r (Helmert's, scaled): for two levels −1 and 1, so that the coefficient of a term of two
levels each is its J. By this scale the length of a term's coefficients is the root mean square of
its cells, which is the strength that penalties are on; its square times the number of cells is the
sum of the squares of the cells.

A moment is the mean of a product of contrasts, and no cell of a margin differs from the observed
one by more than the moments do at most: the products have the mean square 1 over the cells.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.model.undirected.terms import Scope, Terms

Table = NDArray[np.float64]
Vector = NDArray[np.float64]

_MOST_PRODUCTS = 1 << 20


@functools.cache
def level_contrasts(n_levels: int) -> Table:
    """Return the contrasts of so many levels, one per column.

    Examples
    --------
    >>> level_contrasts(2).tolist()
    [[-1.0], [1.0]]
    >>> bool(np.allclose(level_contrasts(3).T @ level_contrasts(3), 3 * np.eye(2)))
    True
    """
    found = np.zeros((n_levels, n_levels - 1))
    for column in range(n_levels - 1):
        found[: column + 1, column] = -1.0
        found[column + 1, column] = column + 1.0
        found[:, column] *= math.sqrt(n_levels / ((column + 1.0) * (column + 2.0)))
    found.flags.writeable = False
    return found


@functools.cache
def with_constant(n_levels: int) -> Table:
    """Return the constant and the contrasts, as columns."""
    found = np.hstack([np.ones((n_levels, 1)), level_contrasts(n_levels)])
    found.flags.writeable = False
    return found


def along(matrix: Table, table: Table, axis: int) -> Table:
    """Return the product of a table with a matrix along one axis."""
    return np.moveaxis(np.tensordot(matrix, table, axes=(1, axis)), 0, axis)


def contrasts_of(sizes: Sequence[int]) -> Table:
    """Return the products of contrasts of a table: cells × coefficients."""
    found: Table = np.ones((1, 1))
    for size in sizes:
        found = np.kron(found, level_contrasts(size)).astype(np.float64)
    return found


def _times(stacked: Table, shape: Sequence[int], matrices: Sequence[Table]) -> Table:
    """Return tables of a shape, one per row, times a matrix along each axis, as rows again."""
    found = stacked.reshape(-1, *shape)
    for axis, matrix in enumerate(matrices, start=1):
        found = along(matrix, found, axis)
    return found.reshape(len(stacked), -1)


def _is_wide(shape: Sequence[int]) -> bool:
    """Whether all products of contrasts have no room beside the table, axes one by one have."""
    return math.prod(shape) * math.prod(size - 1 for size in shape) > _MOST_PRODUCTS


class _Alike(NamedTuple):
    """Terms of the same shape: which of all they are, and where their coefficients are."""

    shape: tuple[int, ...]
    members: NDArray[np.int64]
    places: NDArray[np.int64]


class Coefficients:
    """Where the coefficients of each term are in the vector of all of them.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> terms = Terms.of([Variable(name, ("n", "y")) for name in "AB"], [["A", "B"]])
    >>> found = Coefficients(terms).tables(np.array([0.1, 0.2, 0.5]))
    >>> [table.tolist() for table in found]
    [[-0.1, 0.1], [-0.2, 0.2], [[0.5, -0.5], [-0.5, 0.5]]]
    """

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        lengths = [math.prod(terms.sizes[k] - 1 for k in scope) for scope in terms.all]
        self.starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        """Where each term begins, and the length of the vector."""
        self.group = np.repeat(np.arange(len(lengths)), lengths)
        """The term of each coefficient."""
        self.is_joint = np.repeat([len(scope) > 1 for scope in terms.all], lengths)
        """Which coefficients belong to terms of two or more variables."""
        self.containing: list[list[int]] = [[] for _ in terms.variables]
        """The terms that each variable is in."""
        self._within: dict[Scope, NDArray[np.int64]] = {}
        members: dict[tuple[int, ...], list[int]] = {}
        for t, scope in enumerate(terms.all):
            members.setdefault(terms.shape(scope), []).append(t)
            for k in scope:
                self.containing[k].append(t)
        self._alike = [
            _Alike(shape, np.array(at), self._places(at)) for shape, at in members.items()
        ]

    @functools.cached_property
    def slices(self) -> list[slice]:
        """Where the coefficients of each term are."""
        return [slice(start, stop) for start, stop in pairwise(self.starts.tolist())]

    @functools.cached_property
    def _position(self) -> dict[Scope, int]:
        return {scope: t for t, scope in enumerate(self.terms.all)}

    @functools.cached_property
    def cells(self) -> Vector:
        """The number of cells of each coefficient's term."""
        counts = [float(math.prod(self.terms.shape(scope))) for scope in self.terms.all]
        return np.array(counts)[self.group]

    @functools.cached_property
    def _in_generators(self) -> list[list[tuple[NDArray[np.intp], slice]]]:
        """Where the terms of each generator are in a table of its coefficients, and in the vector.

        Such a table has the constant first on every axis: it is for variables that a term lacks.
        """
        found: dict[Scope, list[tuple[NDArray[np.intp], slice]]] = {
            scope: [] for scope in self.terms.generators
        }
        for scope, at in zip(self.terms.all, self.slices, strict=True):
            if at.start < at.stop:
                home = self.terms.generator_of(scope)
                shape = self.terms.shape(home)
                numbers = np.arange(math.prod(shape)).reshape(shape)
                own = numbers[tuple(slice(1, None) if k in scope else 0 for k in home)]
                found[home].append((own.reshape(-1), at))
        return list(found.values())

    def _places(self, members: Sequence[int]) -> NDArray[np.int64]:
        length = int(self.starts[members[0] + 1] - self.starts[members[0]])
        return self.starts[list(members)][:, None] + np.arange(length)

    @property
    def size(self) -> int:
        """The number of coefficients, which is the dimension of the model."""
        return int(self.starts[-1])

    def of(self, t: int) -> NDArray[np.int64]:
        """Return the places of a term's coefficients, with one axis per variable."""
        scope: Scope = self.terms.all[t]
        shape = [self.terms.sizes[k] - 1 for k in scope]
        return np.arange(self.starts[t], self.starts[t + 1]).reshape(shape)

    def places_in(self, scope: Scope) -> NDArray[np.int64]:
        """Return the places of all terms within a scope: a table with the constant first per axis.

        The constant of all axes has no place: the length of the vector stands for it.
        """
        found = self._within.get(scope)
        if found is None:
            found = np.full(self.terms.shape(scope), self.size)
            for size in range(1, len(scope) + 1):
                for axes in combinations(range(len(scope)), size):
                    own = tuple(slice(1, None) if axis in axes else 0 for axis in range(len(scope)))
                    found[own] = self.of(self._position[tuple(scope[axis] for axis in axes)])
            self._within[scope] = found
        return found

    def tables(self, vector: Vector) -> list[Table]:
        """Return the terms of a vector, in the order of `terms.all`."""
        found: list[Table] = [np.empty(0)] * len(self.terms.all)
        for shape, members, places in self._alike:
            if _is_wide(shape):
                matrices = [level_contrasts(size) for size in shape]
                values = _times(vector[places], [size - 1 for size in shape], matrices)
            else:
                values = vector[places] @ contrasts_of(shape).T
            for t, table in zip(members, values.reshape(-1, *shape), strict=True):
                found[t] = table
        return found

    def generators_of(self, vector: Vector) -> list[Table]:
        """Return log-potentials over the generators; further axes of the vector are theirs, too.

        A term is in the first generator that has it.
        """
        found = []
        more = vector.shape[1:]
        for scope, places in zip(self.terms.generators, self._in_generators, strict=True):
            shape = self.terms.shape(scope)
            coefficients = np.zeros((math.prod(shape), *more))
            for cells, at in places:
                coefficients[cells] = vector[at]
            table = coefficients.reshape(*shape, *more)
            for axis, size in enumerate(shape):
                table = along(with_constant(size), table, axis)
            found.append(table)
        return found

    def moments_of_generators(self, margins: Sequence[Table]) -> Vector:
        """Return the expected products of contrasts, given margins of the generators.

        That is the gradient of the sum of cells × `generators_of`; further axes are kept.
        """
        generators = self.terms.generators
        more = margins[0].shape[len(generators[0]) :] if margins else ()
        found = np.zeros((self.size, *more))
        for table, scope, places in zip(margins, generators, self._in_generators, strict=True):
            for axis, size in enumerate(self.terms.shape(scope)):
                table = along(with_constant(size).T, table, axis)
            flat = table.reshape(-1, *more)
            for cells, at in places:
                found[at] = flat[cells]
        return found

    def vector(self, tables: Sequence[Table]) -> Vector:
        """Return the coefficients of sum-to-zero terms."""
        return self._against_contrasts(tables, mean=True)

    def moments(self, margins: Sequence[Table]) -> Vector:
        """Return the expected products of contrasts, given the margin of each term."""
        return self._against_contrasts(margins, mean=False)

    def mean_squares(self, margins: Sequence[Table]) -> Vector:
        """Return the expected squares of the products of contrasts."""
        return self._against_contrasts(margins, mean=False, power=2)

    def _against_contrasts(self, tables: Sequence[Table], *, mean: bool, power: int = 1) -> Vector:
        found = np.zeros(self.size)
        for shape, members, places in self._alike:
            stacked = np.stack([tables[t].reshape(-1) for t in members])
            if _is_wide(shape):
                matrices = [level_contrasts(size).T ** power for size in shape]
                products = _times(stacked, shape, matrices)
            else:
                products = stacked @ contrasts_of(shape) ** power
            found[places] = products / (math.prod(shape) if mean else 1)
        return found

    def strengths(self, vector: Vector) -> Vector:
        """Return the length of each term's coefficients: the root mean square of its cells."""
        squares = np.bincount(self.group, weights=vector**2, minlength=len(self.terms.all))
        lengths: Vector = np.sqrt(squares)
        return lengths

    def summed_strengths(self, vector: Vector) -> Vector:
        """Return, per variable, the sum of the strengths of its terms: a scale of its log-odds."""
        strengths = self.strengths(vector)
        return np.array([strengths[at].sum() for at in self.containing])
