"""How a difference of moments becomes a step of stochastic approximation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gml.model.undirected.chains.gibbs import GibbsChains
from gml.model.undirected.chains.moment_gaps import largest_eigenvalue
from gml.model.undirected.chains.moments import ChainMoments
from gml.model.undirected.coefficients import Vector

_BURN_IN, _SAMPLES, _FEW_SAMPLES = 30, 30, 2
_LEAST_VARIANCE = 1e-3


def step_scaling(
    features: ChainMoments,
    chains: GibbsChains,
    move: Callable[[], object],
    ridge: Vector,
    *,
    full: bool,
) -> Callable[[Vector], Vector]:
    """Return what turns a difference into a step, from sweeps with the first parameters.

    `full` is the inverse of the covariance of the features and the second derivatives `ridge` of a
    penalty; else they are only scaled by variances, and by the largest eigenvalue of correlations.
    """
    size = len(ridge)
    n_samples = _SAMPLES if full else _FEW_SAMPLES
    means, squares = np.zeros(size), np.zeros(size)
    second = np.zeros((size, size)) if full else None
    samples = []
    for sweep in range(_BURN_IN + n_samples):
        move()
        if sweep < _BURN_IN:
            continue
        each = features.each(chains.states)
        means += each.mean(axis=0) / n_samples
        squares += (each**2).mean(axis=0) / n_samples
        if second is not None:
            second += each.T @ each / (len(each) * n_samples)
        else:
            samples.append(each)
    variances = np.maximum(squares - means**2, _LEAST_VARIANCE)
    if second is not None:
        covariance = second - np.outer(means, means)
        # Few samples make small eigenvalues too small; steps along them would be too long.
        share = min(0.5, size / (n_samples * chains.n_chains) + 0.01)
        covariance = (1 - share) * covariance + share * np.diag(variances) + np.diag(ridge)
        inverse = np.linalg.inv(covariance)
        return lambda difference: inverse @ difference
    largest = largest_eigenvalue([(each - means) / np.sqrt(variances) for each in samples])
    return lambda difference: difference / (variances * largest)
