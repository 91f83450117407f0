"""The errors E of a label's indicators, as its levels and what regressions take from them.

Within a configuration E = X − BC, where X has the indicators, the columns of B are orthogonal and
C = B′X. So for weights s of the rows, with D = diag(s), U = B′DX and T = B′DB,

    E′DE = X′DX − K − K′,    K = Σ (U − ½TC)′C over configurations,

where X′DX is diagonal. All of it needs one pass over the rows, whereas the products of all pairs of
columns of E are squares of the number of levels, row by row: gigabytes for a country or a postcode.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gml.model.regression_rows import Vector


@dataclass(frozen=True)
class LevelErrors:
    """Rows in the order of configurations: the column of each one's level, or `size` if none.

    `basis` (rows × terms) has B of each configuration, and zeros for terms that it lacks.
    """

    codes: NDArray[np.int64]
    size: int
    basis: Vector
    ends: tuple[int, ...]

    @cached_property
    def _groups(self) -> NDArray[np.int64]:
        sizes = np.diff([0, *self.ends])
        return np.repeat(np.arange(len(self.ends)), sizes)

    @cached_property
    def _cells(self) -> NDArray[np.int64]:
        """The place of each row in a table of configurations × levels."""
        cells: NDArray[np.int64] = self._groups * (self.size + 1) + self.codes
        return cells

    @cached_property
    def _taken(self) -> Vector:
        """C: configurations × terms × levels."""
        return self._by_level(np.ones(len(self.codes)))

    def _by_level(self, weights: Vector) -> Vector:
        """B′DX: configurations × terms × levels."""
        shape = len(self.ends), self.size + 1
        found = [
            np.bincount(self._cells, weights * column, shape[0] * shape[1]).reshape(shape)
            for column in self.basis.T
        ]
        by_level: Vector = np.stack(found, axis=1)[:, :, : self.size].astype(np.float64, copy=False)
        return by_level

    def sums(self, values: Vector) -> Vector:
        """E′ times values of the rows."""
        own = np.bincount(self.codes, values, self.size + 1)[: self.size]
        shares = [
            np.bincount(self._groups, values * column, len(self.ends)) for column in self.basis.T
        ]
        left: Vector = own - np.einsum("jg,gjk->k", np.array(shares), self._taken)
        return left

    def spread(self, weights: Vector) -> Vector:
        """E′DE for weights of the rows."""
        own = np.bincount(self.codes, weights, self.size + 1)[: self.size]
        terms = self.basis.shape[1]
        between = np.empty((len(self.ends), terms, terms))
        for i in range(terms):
            for j in range(i + 1):
                product = weights * self.basis[:, i] * self.basis[:, j]
                between[:, i, j] = np.bincount(self._groups, product, len(self.ends))
                between[:, j, i] = between[:, i, j]
        taken = self._taken
        halved = self._by_level(weights) - 0.5 * np.einsum("gij,gjk->gik", between, taken)
        flat = (len(self.ends) * terms, self.size)
        crossed = np.einsum("ak,al->kl", halved.reshape(flat), taken.reshape(flat))
        spread: Vector = np.diag(own) - crossed - crossed.T
        return spread
