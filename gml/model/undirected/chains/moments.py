"""Moments of chains of a Gibbs sampler: means of the products of contrasts that terms match.

In models of pairs they are products of a matrix of contrasts with itself; other terms are counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter
from gml.data.resampling import sorted_equal_cells
from gml.model.undirected.coefficients import Coefficients, Vector, level_contrasts
from gml.model.undirected.pseudo.rows import PairLayout
from gml.model.undirected.terms import Terms

States = NDArray[Any]
"""Variables × chains."""


class ChainMoments:
    """Features of states, in the order of a vector of coefficients."""

    def __init__(self, coefficients: Coefficients) -> None:
        self._coefficients = coefficients
        generators = coefficients.terms.generators
        is_pairwise = max(map(len, generators), default=0) <= 2
        self._layout = PairLayout(coefficients) if is_pairwise else None

    def means(self, states: States) -> Vector:
        """Return the mean features of all chains."""
        if self._layout is not None:
            coded = self._layout.encoded(states[self._layout.order].T)
            # Both halves of the product are added up.
            return self._layout.gathered(coded.T @ coded / 2, coded.sum(axis=0)) / len(coded)
        terms = self._coefficients.terms
        margins = []
        for scope in terms.all:
            shape = terms.shape(scope)
            flat = np.ravel_multi_index(tuple(states[k].astype(np.int64) for k in scope), shape)
            counts = np.bincount(flat, minlength=int(np.prod(shape)))
            margins.append(counts.reshape(shape) / states.shape[1])
        return self._coefficients.moments(margins)

    def each(self, states: States) -> NDArray[np.float64]:
        """Return the features of each chain: chains × coefficients."""
        if self._layout is not None:
            coded = self._layout.encoded(states[self._layout.order].T)
            return self._layout.products(coded)
        terms = self._coefficients.terms
        found = np.empty((states.shape[1], self._coefficients.size))
        for t, scope in enumerate(terms.all):
            product = np.ones((states.shape[1], 1))
            for k in scope:
                factor = level_contrasts(terms.sizes[k])[states[k]]
                product = (product[:, :, None] * factor[:, None, :]).reshape(len(product), -1)
            found[:, self._coefficients.of(t).reshape(-1)] = product
        return found

    def group_means(self, states: States, n_groups: int) -> NDArray[np.float64]:
        """Return the mean features of groups of chains; a rest that fills no group is left out."""
        per_group = states.shape[1] // n_groups
        states = states[:, : n_groups * per_group]
        if self._layout is not None:
            coded = self._layout.encoded(states[self._layout.order].T)
            sums = self._layout.group_products(coded.reshape(n_groups, per_group, -1))
            return np.asarray(sums / per_group, dtype=np.float64)
        each = self.each(states)
        means: NDArray[np.float64] = each.reshape(n_groups, per_group, -1).mean(axis=1)
        return means


class RowSource:
    """Draws rows of the data, whatever their order is."""

    def __init__(self, counter: Counter, terms: Terms, seed: int) -> None:
        chosen = counter.require_rows("contrastive divergence").select(terms.names)
        firsts, counts = sorted_equal_cells(chosen.columns, chosen.weights)
        self._codes = np.array([column[firsts] for column in chosen.columns])
        missing = np.array(
            [column > size - 1 for column, size in zip(self._codes, terms.sizes, strict=True)]
        ).any(axis=0)
        self._codes = self._codes[:, ~missing]
        self._ends = np.cumsum(counts[~missing])
        self._rng = np.random.default_rng([seed, 1])

    def draw(self, n: int) -> States:
        """Return n rows, with replacement: variables × rows."""
        at = np.searchsorted(self._ends, self._rng.integers(0, self._ends[-1], n), side="right")
        drawn: States = self._codes[:, at]
        return drawn
