"""Free parameters of the terms, and the covariance of their features: the Fisher information.

A sum-to-zero term is λ_c = (⊗ H_k) β_c, where the columns of H_k, orthonormal and each with the sum
0, are contrasts of the levels of a variable (Helmert's), so β_c are the ∏ (r − 1) free parameters.
The second derivatives of ln Z with respect to β are the covariances of the features (Koller &
Friedman 2009, proposition 20.3). They follow from joint margins of pairs of cells, for which the
junction tree is asked once per cell of a generator: what are the margins of all others, given it?
Where the tree takes more than the budget, chains of a Gibbs sampler stand in for it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gml.model.undirected.clique_margins import CliqueMargins
from gml.model.undirected.fitting import Fitted, Support
from gml.model.undirected.gauge import tables_of_terms
from gml.model.undirected.gibbs import GibbsChains
from gml.model.undirected.terms import Scope, Terms
from gml.progress import reporter
from gml.resources import require_memory
from gml.stopping import check_stopped

Table = NDArray[np.float64]

_CHAINS = 2000
_BURN_IN = 500
_DRAWS = 20
_BETWEEN = 10
_RANK_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Free:
    """The free parameters of all terms, one after the other in the order of `terms.all`."""

    terms: Terms

    @functools.cached_property
    def slices(self) -> list[slice]:
        """Where the parameters of each term stand."""
        sizes = [math.prod(self.terms.sizes[k] - 1 for k in scope) for scope in self.terms.all]
        ends = np.cumsum([0, *sizes]).tolist()
        return [slice(start, end) for start, end in pairwise(ends)]

    @property
    def n(self) -> int:
        """How many there are."""
        return self.terms.dimension

    def contrasts(self, scope: Scope) -> Table:
        """The cells of a term × its parameters: λ_c is this times β_c."""
        found: Table = np.ones((1, 1))
        for k in scope:
            found = np.kron(found, helmert(self.terms.sizes[k])).astype(np.float64)
        return found

    def design(self) -> Table:
        """The cells of all generators × all parameters; each term counts in one generator."""
        starts = np.cumsum([0, *(math.prod(self.terms.shape(g)) for g in self.terms.generators)])
        at = dict(zip(self.terms.generators, starts.tolist(), strict=False))
        found = np.zeros((int(starts[-1]), self.n))
        for scope, part in zip(self.terms.all, self.slices, strict=True):
            home = self.terms.generator_of(scope)
            cells = np.indices(self.terms.shape(home)).reshape(len(home), -1)
            own = tuple(cells[home.index(k)] for k in scope)
            rows = np.ravel_multi_index(own, self.terms.shape(scope))
            found[at[home] : at[home] + cells.shape[1], part] = self.contrasts(scope)[rows]
        return found


def helmert(size: int) -> Table:
    """Return orthonormal contrasts of so many levels: each level against those before it.

    Examples
    --------
    >>> (helmert(3) * [2**0.5, 6**0.5]).round(12).tolist()
    [[-1.0, -1.0], [1.0, -1.0], [0.0, 2.0]]
    """
    found = np.zeros((size, size - 1))
    for k in range(1, size):
        found[:k, k - 1] = -1.0
        found[k, k - 1] = k
        found[:, k - 1] /= math.sqrt(k * (k + 1))
    return found


def log_tables(terms: Terms, fitted: Fitted) -> tuple[tuple[Scope, ...], list[Table]]:
    """Return a fitted model as log-potentials over the generators and the supports."""
    return _with_supports(terms, tables_of_terms(terms, fitted.tables), fitted.supports)


def _with_supports(
    terms: Terms, tables: Sequence[Table], supports: Sequence[Support]
) -> tuple[tuple[Scope, ...], list[Table]]:
    walls = [np.where(support.possible, 0.0, -math.inf) for support in supports]
    return (*terms.generators, *(support.scope for support in supports)), [*tables, *walls]


def feature_covariance(
    terms: Terms,
    scopes: Sequence[Scope],
    tables: Sequence[Table],
    *,
    max_memory: int | None = None,
) -> Table:
    """Return the covariance of the features; the generators are the first of the scopes."""
    n_cells = sum(math.prod(terms.shape(generator)) for generator in terms.generators)
    require_memory(8 * 3 * n_cells**2, max_memory, "the covariance of the model's terms")
    margins = CliqueMargins(terms, scopes, max_memory=max_memory)
    n_generators = len(terms.generators)

    def cells_of(tables: Sequence[Table]) -> Table:
        found = margins.of(tables).margins[:n_generators]
        return np.concatenate([np.empty(0), *(table.reshape(-1) for table in found)])

    shares = cells_of(tables)
    joint = np.zeros((n_cells, n_cells))
    row = 0
    with reporter().counting("covariance of terms", n_cells) as count:
        for place in range(n_generators):
            for cell in range(tables[place].size):
                check_stopped()
                if shares[row] > 0:
                    given = np.full(tables[place].shape, -math.inf)
                    given.flat[cell] = tables[place].flat[cell]
                    joint[row] = shares[row] * (
                        cells_of([*tables[:place], given, *tables[place + 1 :]]) - shares
                    )
                row += 1
                count(row)
    design = Free(terms).design()
    found: Table = design.T @ joint @ design
    return (found + found.T) / 2


def sampled_covariance(
    terms: Terms,
    scopes: Sequence[Scope],
    tables: Sequence[Table],
    *,
    seed: int = 0,
    max_memory: int | None = None,
) -> Table:
    """Return the covariance of the features among rows that a Gibbs sampler draws."""
    free = Free(terms)
    require_memory(
        8 * (2 * free.n**2 + _CHAINS * free.n), max_memory, "the covariance of the model's terms"
    )
    chains = GibbsChains(terms, scopes, tables, n_chains=_CHAINS, seed=seed)
    chains.sweep(_BURN_IN)
    sums, squares = np.zeros(free.n), np.zeros((free.n, free.n))
    for _ in range(_DRAWS):
        check_stopped()
        chains.sweep(_BETWEEN)
        drawn = features_of(free, chains.states)
        sums += drawn.sum(axis=0)
        squares += drawn.T @ drawn
    n = _CHAINS * _DRAWS
    mean = sums / n
    found: Table = squares / n - np.outer(mean, mean)
    return found


def features_of(free: Free, codes: NDArray[np.integer]) -> Table:
    """Return the features of rows, whose codes are variables × rows."""
    terms = free.terms
    found = np.empty((codes.shape[1], free.n))
    for scope, part in zip(terms.all, free.slices, strict=True):
        cells = np.ravel_multi_index(tuple(codes[k] for k in scope), terms.shape(scope))
        found[:, part] = free.contrasts(scope)[cells]
    return found


def face_directions(
    terms: Terms, supports: Sequence[Support], *, max_memory: int | None = None
) -> Table:
    """Return a basis (parameters × rank) of the directions that change what a face allows.

    The face is what the supports leave. Along all other directions a feature is the same on every
    cell of it, so the data cannot tell anything about them.
    """
    zeros = [np.zeros(terms.shape(generator)) for generator in terms.generators]
    scopes, tables = _with_supports(terms, zeros, supports)
    covariance = feature_covariance(terms, scopes, tables, max_memory=max_memory)
    scale = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    scale[scale <= _RANK_TOLERANCE] = 1.0
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    kept = vectors[:, values > _RANK_TOLERANCE * max(1.0, float(values.max(initial=0.0)))]
    directions: Table = np.linalg.qr(scale[:, None] * kept)[0]
    return directions


def cells_of_face(
    terms: Terms, supports: Sequence[Support], *, max_memory: int | None = None
) -> int:
    """Return how many cells of the joint table the supports leave."""
    if not supports:
        return math.prod(terms.sizes)
    scopes, tables = _with_supports(
        terms, [np.zeros(terms.shape(g)) for g in terms.generators], supports
    )
    return round(math.exp(CliqueMargins(terms, scopes, max_memory=max_memory).of(tables).log_z))
