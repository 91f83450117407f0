"""The covariance of the features of a fitted model: its Fisher information per row.

The second derivatives of ln Z with respect to the coefficients of the terms are the covariances of
the features, products of contrasts (Koller & Friedman 2009, proposition 20.3). The junction tree
has them (margin_derivatives.py); where it takes more than the budget, chains of a Gibbs sampler
stand in for it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml.errors import parameter
from gml.model.undirected.chains.gibbs import GibbsChains
from gml.model.undirected.chains.moments import ChainMoments
from gml.model.undirected.coefficients import Coefficients
from gml.model.undirected.exact.clique_margins import CliqueMargins
from gml.model.undirected.exact.margin_derivatives import covariance_on_tree
from gml.model.undirected.fitting import Fitted, OutOfTime
from gml.model.undirected.gauge import tables_of_terms
from gml.model.undirected.terms import Scope, Terms
from gml.progress import Deadline
from gml.resources import require_memory

Table = NDArray[np.float64]

_CHAINS = 2000
_BURN_IN = 500
_DRAWS = 20
_BETWEEN = 10


def log_tables(terms: Terms, fitted: Fitted) -> tuple[tuple[Scope, ...], list[Table]]:
    """Return a fitted model as log-potentials over the generators and the supports."""
    scopes = (*terms.generators, *(support.scope for support in fitted.supports))
    walls = (support.wall for support in fitted.supports)
    return scopes, [*tables_of_terms(terms, fitted.tables), *walls]


def feature_covariance(
    terms: Terms,
    scopes: Sequence[Scope],
    tables: Sequence[Table],
    *,
    max_memory: int | None = None,
) -> Table:
    """Return the covariance of the features; the generators are the first of the scopes."""
    engine = CliqueMargins(terms, scopes, max_memory=max_memory)
    engine.of(tables)
    return covariance_on_tree(engine, Coefficients(terms), max_memory=max_memory)


def sampled_covariance(
    terms: Terms,
    scopes: Sequence[Scope],
    tables: Sequence[Table],
    *,
    seed: int = 0,
    threads: int | None = None,
    max_memory: int | None = None,
    deadline: Deadline | None = None,
) -> Table:
    """Return the covariance of the features among rows that a Gibbs sampler draws."""
    deadline = deadline or Deadline()
    coefficients = Coefficients(terms)
    d = coefficients.size
    require_memory(8 * (2 * d**2 + _CHAINS * d), max_memory, "the covariance of the model's terms")
    features = ChainMoments(coefficients)
    chains = GibbsChains(terms, scopes, tables, n_chains=_CHAINS, seed=seed, threads=threads)
    for _ in range(_BURN_IN // _BETWEEN):
        _require_time(deadline)
        chains.sweep(_BETWEEN)
    sums, squares = np.zeros(d), np.zeros((d, d))
    for _ in range(_DRAWS):
        _require_time(deadline)
        chains.sweep(_BETWEEN)
        drawn = features.each(chains.states)
        sums += drawn.sum(axis=0)
        squares += drawn.T @ drawn
    n = _CHAINS * _DRAWS
    mean = sums / n
    found: Table = squares / n - np.outer(mean, mean)
    return found


def _require_time(deadline: Deadline) -> None:
    if deadline.passed:
        raise OutOfTime(f"{parameter('max_seconds')} passed while the model's rows were drawn")
