"""Gibbs sampling of undirected models: many chains at once.

A sweep draws every variable, in the order of names, from its distribution given all others (Geman
& Geman 1984). The random number of a draw depends only on the seed, the sweep, the name of the
variable and the chain, so that no number of threads shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gml.model.undirected.terms import Scope, Terms

Table = NDArray[np.float64]


class GibbsChains:
    """The states of some chains, and the tables that they are drawn from.

    Parameters
    ----------
    terms
        The variables, in the order of names.
    scopes, tables
        Log-potentials, one table per scope; −∞ is allowed where a start is possible.
    n_chains
        How many chains there are.
    seed
        Seed of the random numbers.
    fixed
        Levels, by variable, that are observed and stay.
    """

    def __init__(
        self,
        terms: Terms,
        scopes: Sequence[Scope],
        tables: Sequence[Table],
        *,
        n_chains: int,
        seed: int = 0,
        fixed: Mapping[int, int] | None = None,
    ) -> None:
        self.terms = terms
        self.scopes = tuple(scopes)
        self._fixed = dict(fixed or {})
        self._rng = np.random.default_rng(seed)
        self.states = np.stack(
            [self._rng.integers(0, size, n_chains) for size in terms.sizes]
        ).astype(np.uint16)
        """Variables × chains: the codes that each chain is at."""
        for k, code in self._fixed.items():
            self.states[k] = code
        self.set_tables(tables)

    def set_tables(self, tables: Sequence[Table]) -> None:
        """Go on with other log-potentials of the same scopes."""
        self._tables = [np.asarray(table, dtype=np.float64) for table in tables]

    def sweep(self, n_sweeps: int = 1, *, beta: float = 1.0) -> None:
        """Draw every variable of every chain so many times; log-potentials count `beta` times."""
        for _ in range(n_sweeps):
            for k, size in enumerate(self.terms.sizes):
                if k not in self._fixed:
                    self._draw(k, size, beta)

    def _draw(self, k: int, size: int, beta: float) -> None:
        n_chains = self.states.shape[1]
        logs = np.zeros((size, n_chains))
        for scope, table in zip(self.scopes, self._tables, strict=True):
            if k in scope:
                at = scope.index(k)
                moved = np.moveaxis(table, at, 0)
                others = tuple(self.states[j] for j in scope if j != k)
                logs += beta * moved[(slice(None), *others)].reshape(size, -1)
        weights = np.exp(logs - logs.max(axis=0))
        ends = np.cumsum(weights, axis=0)
        drawn = self._rng.random(n_chains) * ends[-1]
        self.states[k] = (drawn >= ends[:-1]).sum(axis=0)

    def margins(self, scopes: Sequence[Scope]) -> list[Table]:
        """Return the shares of chains in the cells of each scope."""
        found = []
        for scope in scopes:
            shape = self.terms.shape(scope)
            flat = np.ravel_multi_index(tuple(self.states[k] for k in scope), shape)
            counts = np.bincount(flat, minlength=int(np.prod(shape)))
            found.append(counts.reshape(shape) / self.states.shape[1])
        return found
