"""Pseudo-likelihood from counts: one table of a variable and its neighbours per variable.

Given its neighbours, a variable is a multinomial logistic regression on products of their contrasts
(Besag 1975), whose coefficients it shares with the regressions of the neighbours. Rows that agree
in a variable and its neighbours are one case with a weight.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter, TableSet
from gml.errors import CannotAnswer, parameter
from gml.model.undirected.coefficients import Coefficients, Vector, level_contrasts
from gml.model.undirected.fitting import NoPseudoMaximum
from gml.model.undirected.terms import Scope, Terms
from gml.resources import require_memory

Table = NDArray[np.float64]

# Numbers of the factor of second derivatives that are made at once.
_FACTOR_NUMBERS = 1 << 20


@dataclass(frozen=True)
class _Regression:
    """One variable given its neighbours."""

    design: Table
    """Cases × products of contrasts of neighbours, the constant first."""
    places: NDArray[np.int64]
    """Products × contrasts of the variable: which coefficients they have."""
    counts: Table
    """Cases × levels: shares of all rows."""
    totals: Table
    contrasts: Table
    dead: NDArray[np.bool_] | None
    """Cases × levels: those that a maximum at infinity excludes."""

    def add(self, vector: Vector, gradient: Vector) -> float:
        """Add its part to the gradient, and return its log-likelihood."""
        logs = self.design @ (vector[self.places] @ self.contrasts.T)
        if self.dead is not None:
            logs[self.dead] = -np.inf
        logs -= logs.max(axis=1, keepdims=True)
        weights = np.exp(logs)
        sums = weights.sum(axis=1, keepdims=True)
        residuals = self.counts - self.totals * (weights / sums)
        gradient[self.places] += self.design.T @ (residuals @ self.contrasts)
        seen = self.counts > 0
        return float((self.counts[seen] * (logs - np.log(sums))[seen]).sum())

    def _shares(self, vector: Vector) -> Table:
        """The probabilities of levels in each case."""
        logs = self.design @ (vector[self.places] @ self.contrasts.T)
        if self.dead is not None:
            logs[self.dead] = -np.inf
        shares: Table = np.exp(logs - logs.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        return shares

    def add_change(self, vector: Vector, direction: Vector, change: Vector) -> None:
        """Add how minus its part of the gradient changes along a direction."""
        shares = self._shares(vector)
        moved = self.design @ (direction[self.places] @ self.contrasts.T)
        moved -= (shares * moved).sum(axis=1, keepdims=True)
        change[self.places] += self.design.T @ ((self.totals * shares * moved) @ self.contrasts)

    def add_curvature(self, vector: Vector, second: Table) -> None:
        """Add its part to the matrix of minus the second derivatives."""
        shares = self._shares(vector)
        means = shares @ self.contrasts
        own = np.zeros((self.places.size, self.places.size))
        step = max(1, _FACTOR_NUMBERS // max(1, self.places.size))
        for first in range(0, len(shares), step):
            some = slice(first, first + step)
            for level, contrast in enumerate(self.contrasts):
                weights = np.sqrt(self.totals[some] * shares[some, level : level + 1])
                factor = (self.design[some] * weights)[:, :, None]
                factor = (factor * (contrast - means[some])[:, None, :]).reshape(len(weights), -1)
                own += factor.T @ factor
        second[np.ix_(self.places.reshape(-1), self.places.reshape(-1))] += own


class FamilyObjective:
    """Minus the pseudo-log-likelihood per row, and its gradient, from tables of families."""

    def __init__(
        self,
        counter: Counter,
        coefficients: Coefficients,
        *,
        smoothing: float = 0.0,
        zeros: Mapping[Scope, NDArray[np.bool_]] | None = None,
        max_memory: int | None = None,
    ) -> None:
        terms = coefficients.terms
        self._size = coefficients.size
        self._max_memory = max_memory
        # A variable of one level is certain.
        members = [k for k, size in enumerate(terms.sizes) if size > 1]
        blankets = _blankets(terms)
        n = counter.n * counter.unit + smoothing
        needed = family_numbers(coefficients, counter.n)
        require_memory(8 * needed, max_memory, "the tables of variables and their neighbours")
        self._regressions = []
        for k, (configs, counts) in zip(
            members, _cases(counter, terms, members, blankets, smoothing, max_memory), strict=True
        ):
            columns = dict(zip(blankets[k], configs.T, strict=True))
            design, places = _design(coefficients, k, columns, len(configs))
            shares = counts / n
            totals = shares.sum(axis=1, keepdims=True)
            contrasts = level_contrasts(terms.sizes[k])
            dead = _dead(terms, k, columns, zeros or {}, counts.shape)
            self._regressions.append(_Regression(design, places, shares, totals, contrasts, dead))

    def __call__(self, vector: Vector) -> tuple[float, Vector]:
        """Return the value and the gradient at a vector of coefficients."""
        gradient = np.zeros(self._size)
        parts = [regression.add(vector, gradient) for regression in self._regressions]
        return -math.fsum(parts), -gradient

    def change(self, vector: Vector, direction: Vector) -> Vector:
        """Return the second derivatives times a direction."""
        found = np.zeros(self._size)
        for regression in self._regressions:
            regression.add_change(vector, direction, found)
        return found

    def curvature(self, vector: Vector) -> Table:
        """Return the matrix of second derivatives."""
        # One regression at a time has a matrix and a factor of its own, and copies of both.
        factor = max((len(r.design) * r.places.size for r in self._regressions), default=0)
        numbers = 4 * self._size**2 + 3 * min(factor, _FACTOR_NUMBERS)
        require_memory(8 * numbers, self._max_memory, "the second derivatives")
        second = np.zeros((self._size, self._size))
        for regression in self._regressions:
            regression.add_curvature(vector, second)
        return second


def _blankets(terms: Terms) -> list[tuple[int, ...]]:
    """The variables that share a term with each variable, in order."""
    found: list[set[int]] = [set() for _ in terms.variables]
    for scope in terms.generators:
        for k in scope:
            found[k].update(scope)
    return [tuple(sorted(members - {k})) for k, members in enumerate(found)]


def family_numbers(coefficients: Coefficients, rows: int) -> int:
    """Bound how many numbers the regressions of all variables hold."""
    terms, found = coefficients.terms, 0
    for k, blanket in enumerate(_blankets(terms)):
        cases = min(rows, math.prod(terms.sizes[j] for j in blanket))
        products = sum(
            math.prod(terms.sizes[j] - 1 for j in terms.all[t] if j != k)
            for t in coefficients.containing[k]
        )
        found += cases * (products + len(blanket) + 2 * terms.sizes[k])
    return found


def _cases(
    counter: Counter,
    terms: Terms,
    members: Sequence[int],
    blankets: Sequence[tuple[int, ...]],
    smoothing: float,
    max_memory: int | None,
) -> Iterator[tuple[NDArray[np.int64], Table]]:
    """Yield, per variable, the configurations of its neighbours and the rows of each level."""
    position = {variable.name: j for j, variable in enumerate(counter.variables)}
    columns = [position[name] for name in terms.names]
    sets = [TableSet((columns[k],), tuple(columns[j] for j in blankets[k])) for k in members]
    for k, counts in zip(members, counter.tables(sets), strict=True):
        table = (counts.table.reshape(-1, terms.sizes[k]) * counter.unit).astype(np.float64)
        configs: NDArray[np.int64] = counts.configs.reshape(len(table), len(blankets[k]))
        if smoothing:
            configs, table = _smoothed(terms, k, blankets[k], configs, table, smoothing, max_memory)
        yield configs, table


def _smoothed(
    terms: Terms,
    k: int,
    blanket: tuple[int, ...],
    configs: NDArray[np.int64],
    table: Table,
    smoothing: float,
    max_memory: int | None,
) -> tuple[NDArray[np.int64], Table]:
    """Spread rows evenly over all configurations, seen or not."""
    shape = terms.shape(blanket)
    n_configs = math.prod(shape)
    try:
        require_memory(8 * n_configs * (len(blanket) + terms.sizes[k]), max_memory, "the table")
    except CannotAnswer:
        raise NoPseudoMaximum(
            f"{parameter('smoothing')} with pseudo-likelihood needs every configuration of the "
            f"neighbours of {terms.names[k]!r}, and there are {n_configs:.3g}; "
            f"{parameter('l2')} does without"
        ) from None
    whole = np.full((n_configs, terms.sizes[k]), smoothing / (n_configs * terms.sizes[k]))
    if blanket:
        whole[np.ravel_multi_index(tuple(configs.T), shape)] += table
    else:
        whole += table
    every = np.indices(shape).reshape(len(shape), n_configs).T
    return every, whole


def _design(
    coefficients: Coefficients, k: int, columns: Mapping[int, NDArray[np.int64]], n_cases: int
) -> tuple[Table, NDArray[np.int64]]:
    """The products of contrasts of neighbours per case, and the coefficients that they have."""
    terms = coefficients.terms
    parts, places = [], []
    for t in coefficients.containing[k]:
        scope = terms.all[t]
        product = np.ones((n_cases, 1))
        for j in scope:
            if j != k:
                factor = level_contrasts(terms.sizes[j])[columns[j]]
                product = (product[:, :, None] * factor[:, None, :]).reshape(n_cases, -1)
        parts.append(product)
        moved = np.moveaxis(coefficients.of(t), scope.index(k), -1)
        places.append(moved.reshape(product.shape[1], terms.sizes[k] - 1))
    return np.concatenate(parts, axis=1), np.concatenate(places)


def _dead(
    terms: Terms,
    k: int,
    columns: Mapping[int, NDArray[np.int64]],
    zeros: Mapping[Scope, NDArray[np.bool_]],
    shape: tuple[int, ...],
) -> NDArray[np.bool_] | None:
    """Which levels are impossible in which cases."""
    found = np.zeros(shape, dtype=bool)
    for scope, zero in zeros.items():
        if k in scope:
            moved = np.moveaxis(zero, scope.index(k), -1)
            found |= moved[tuple(columns[j] for j in scope if j != k)]
    return found if found.any() else None
