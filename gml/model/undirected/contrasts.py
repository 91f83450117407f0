"""Coordinates of the terms of a model: orthonormal contrasts, one per free parameter.

A sum-to-zero term over variables c is λ_c = (⊗ Q_k) w_c, where the columns of Q_k are orthonormal
and add up to 0 (Helmert's contrasts): the length of w is that of the terms over all their cells, so
that what is shortest in these coordinates is shortest in the gauge of the file, whichever contrasts
are taken. A table over a generator is the transform of a table of coefficients along every axis, in
which the constant stands for a variable that a term does not have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml.model.undirected.terms import Scope, Terms

Table = NDArray[np.float64]


class Contrasts:
    """From coordinates to tables of generators, and from differences of margins to gradients.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> terms = Terms.of([Variable(name, ("n", "y")) for name in "AB"], [["A", "B"]])
    >>> contrasts = Contrasts(terms)
    >>> [table.round(3).tolist() for table in contrasts.terms_of(np.array([0.0, 0.0, 2.0]))]
    [[0.0, 0.0], [0.0, 0.0], [[1.0, -1.0], [-1.0, 1.0]]]
    >>> contrasts.generators_of(np.array([0.0, 0.0, 2.0]))[0].round(3).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.slices: list[slice] = []
        """Where the coordinates of each term are, in the order of `Terms.all`."""
        self._bases = [_orthonormal(size) for size in terms.sizes]
        self._places: list[list[tuple[NDArray[np.intp], slice, float]]] = [
            [] for _ in terms.generators
        ]
        which = {scope: g for g, scope in enumerate(terms.generators)}
        start = 0
        for scope in terms.all:
            found = slice(start, start + math.prod(terms.sizes[k] - 1 for k in scope))
            self.slices.append(found)
            start = found.stop
            if found.start < found.stop:
                home = terms.generator_of(scope)
                self._places[which[home]].append((self._cells(home, scope), found, 1.0))
        self.dimension = start
        self._places = [
            [(cells, at, self._scale(home, cells)) for cells, at, _ in places]
            for home, places in zip(terms.generators, self._places, strict=True)
        ]

    def _cells(self, home: Scope, scope: Scope) -> NDArray[np.intp]:
        """Where the coefficients of a term are among those of its generator."""
        shape = self.terms.shape(home)
        numbers = np.arange(math.prod(shape)).reshape(shape)
        return numbers[tuple(slice(1, None) if k in scope else 0 for k in home)].reshape(-1)

    def _scale(self, home: Scope, cells: NDArray[np.intp]) -> float:
        """The length of the constant over the variables of a generator that a term lacks."""
        at = np.unravel_index(int(cells[0]), self.terms.shape(home))
        return math.sqrt(
            math.prod(self.terms.sizes[k] for k, i in zip(home, at, strict=True) if i == 0)
        )

    def generators_of(self, w: Table) -> list[Table]:
        """Return log-potentials over the generators; further axes of w are theirs, too."""
        found = []
        more = w.shape[1:]
        for scope, places in zip(self.terms.generators, self._places, strict=True):
            shape = self.terms.shape(scope)
            coefficients = np.zeros((math.prod(shape), *more))
            for cells, at, scale in places:
                coefficients[cells] = scale * w[at]
            table = coefficients.reshape(*shape, *more)
            for axis, k in enumerate(scope):
                table = _along(self._bases[k], table, axis)
            found.append(table)
        return found

    def gradient(self, differences: Sequence[Table]) -> Table:
        """Return the derivatives by w of the sum of cells × tables; further axes are kept."""
        more = differences[0].shape[len(self.terms.generators[0]) :] if differences else ()
        found = np.zeros((self.dimension, *more))
        for scope, table, places in zip(
            self.terms.generators, differences, self._places, strict=True
        ):
            for axis, k in enumerate(scope):
                table = _along(self._bases[k].T, table, axis)
            flat = table.reshape(-1, *more)
            for cells, at, scale in places:
                found[at] = scale * flat[cells]
        return found

    def terms_of(self, w: Table) -> list[Table]:
        """Return the sum-to-zero tables of the terms, in the order of `Terms.all`."""
        found = []
        for scope, at in zip(self.terms.all, self.slices, strict=True):
            table = w[at].reshape([self.terms.sizes[k] - 1 for k in scope])
            for axis, k in enumerate(scope):
                table = _along(self._bases[k][:, 1:], table, axis)
            found.append(table)
        return found

    def coordinates(self, tables: Sequence[Table]) -> Table:
        """Return the coordinates of sum-to-zero tables of the terms."""
        w = np.zeros(self.dimension)
        for scope, table, at in zip(self.terms.all, tables, self.slices, strict=True):
            for axis, k in enumerate(scope):
                table = _along(self._bases[k][:, 1:].T, table, axis)
            w[at] = table.reshape(-1)
        return w


def _along(matrix: Table, table: Table, axis: int) -> Table:
    """Multiply a table by a matrix along one axis."""
    return np.moveaxis(np.tensordot(matrix, table, axes=(1, axis)), 0, axis)


def _orthonormal(size: int) -> Table:
    """The constant and Helmert's contrasts, as columns of length 1."""
    found = np.zeros((size, size))
    found[:, 0] = 1 / math.sqrt(size)
    for j in range(1, size):
        found[:j, j] = -1 / math.sqrt(j * (j + 1))
        found[j, j] = j / math.sqrt(j * (j + 1))
    return found
