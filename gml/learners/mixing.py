"""Whether Markov chains have forgotten where they began: split R̂ and the effective sample size.

Gelman et al., Bayesian Data Analysis, 3rd ed., equations 11.4 and 11.8; the sum of correlations
ends where a pair of them is no longer positive (Geyer 1992, Stat. Sci. 7:473).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


def split_r_hat(traces: Numbers) -> float:
    """Return R̂ over the halves of chains, one per row.

    Examples
    --------
    >>> split_r_hat(np.array([[0.0, 1, 0, 1], [1, 0, 1, 0]]))
    0.7071067811865476
    """
    half = traces.shape[1] // 2
    halves = np.concatenate([traces[:, :half], traces[:, traces.shape[1] - half :]])
    spreads = halves.var(axis=1, ddof=1) if half > 1 else np.zeros(len(halves))
    return float(r_hat_of(halves.mean(axis=1), spreads, half))


def r_hat_of(centres: Numbers, spreads: Numbers, size: int) -> Numbers:
    """Return R̂ from means and variances of stretches of `size` samples; 1 if nothing varies."""
    between = centres.var(axis=0, ddof=1)
    within = spreads.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (size - 1) / size + between / within
    found: Numbers = np.sqrt(np.where(within > 0, ratio, np.where(between > 0, np.inf, 1.0)))
    return found


def effective_size(traces: Numbers) -> float:
    """Return the number of independent samples that all chains, one per row, are worth.

    Examples
    --------
    >>> effective_size(np.array([[0.0, 1, 0, 1, 1, 0], [1, 0, 1, 0, 0, 1]])) <= 12
    True
    """
    chains, length = traces.shape
    centred = traces - traces.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, 2 * length, axis=1)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, 2 * length, axis=1)[:, :length] / length
    within = covariance[:, 0].mean() * length / max(length - 1, 1)
    total = within * (length - 1) / length + traces.mean(axis=1).var(ddof=1)
    if not total > 0:
        return float(chains * length)
    correlation = 1 - (within - covariance.mean(axis=0)) / total
    correlation[0] = 1.0
    time = -1.0
    for lag in range(0, length - 1, 2):
        pair = correlation[lag] + correlation[lag + 1]
        if pair <= 0:
            break
        time += 2 * pair
    return float(min(chains * length, chains * length / max(time, 1.0 / length)))
