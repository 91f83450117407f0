"""Whether chains have converged: split R̂ and the effective sample size of the model's moments.

What is looked at are the shares of levels, and of pairs of levels of variables that a term joins,
but for the first level of each, which follows from the others. Each chain is cut in half, and

    R̂² = ((N − 1)/N · W + B/N) / W,

with W the mean variance within the halves, N long, and B/N the variance of their means (Gelman et
al. 2013, section 11.4). Rank-normalising changes nothing here, as it maps two values to two. The
effective sample size divides the number of draws by the autocorrelation time 1 + 2 Σ ρ_t, summed
over Geyer's initial monotone sequence, with ρ_t from all halves together (Vehtari et al. 2021,
equations 10 and 11). A share that is the same in all draws says nothing, and is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.model.undirected.terms import Terms
from gml.stopping import check_stopped

Numbers = NDArray[np.float64]

# Numbers of the series that are transformed together.
_NUMBERS_AT_ONCE = 1 << 20


class Convergence(NamedTuple):
    """The worst of all moments."""

    r_hat: float
    samples: float
    """The effective sample size; of all draws, if no moment varies."""
    draws: int
    """Draws of all chains together."""

    @property
    def autocorrelation_time(self) -> float:
        """How many draws of a chain are worth one that is independent."""
        return self.draws / self.samples if self.samples else math.inf


def convergence(terms: Terms, draws: NDArray[Any]) -> Convergence:
    """Judge draws × variables × chains of codes; at least four draws of two chains.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> terms = Terms.of([Variable("A", ("n", "y"))], [])
    >>> stuck = np.zeros((100, 1, 4), dtype=np.uint8)
    >>> stuck[:, :, 2:] = 1
    >>> convergence(terms, stuck).r_hat
    inf
    """
    n_draws, _, n_chains = draws.shape
    total = n_draws * n_chains
    at_once = max(1, _NUMBERS_AT_ONCE // total)
    worst, samples = 1.0, float(total)
    for series in _series(terms, draws, at_once):
        check_stopped()
        worst = max(worst, float(split_r_hat(series).max()))
        samples = min(samples, float(effective_samples(series).min()))
    return Convergence(worst, samples, total)


def _series(terms: Terms, draws: NDArray[Any], at_once: int) -> Iterator[Numbers]:
    """Moments × draws × chains, some moments at a time; those that vary."""
    batch: list[NDArray[np.bool_]] = []
    for scope in terms.all:
        if len(scope) > 2:
            break
        for cell in np.ndindex(*(size - 1 for size in terms.shape(scope))):
            series = np.ones((draws.shape[0], draws.shape[2]), dtype=bool)
            for k, code in zip(scope, cell, strict=True):
                series &= draws[:, k] == code + 1
            if series.any() and not series.all():
                batch.append(series)
            if len(batch) == at_once:
                yield np.stack(batch).astype(np.float64)
                batch = []
    if batch:
        yield np.stack(batch).astype(np.float64)


def _halves(series: Numbers) -> Numbers:
    """Cut the chains in half, the middle draw of an odd number left out."""
    half = series.shape[1] // 2
    return np.concatenate([series[:, :half], series[:, -half:]], axis=2)


def split_r_hat(series: Numbers) -> Numbers:
    """Return R̂ of each moment, of moments × draws × chains; ∞ for chains that are stuck apart."""
    halves = _halves(series)
    n = halves.shape[1]
    within = halves.var(axis=1, ddof=1).mean(axis=1)
    between = halves.mean(axis=1).var(axis=1, ddof=1)
    apart = np.divide(between, within, out=np.full_like(within, np.inf), where=within > 0)
    apart[(within == 0) & (between == 0)] = 1 / n
    found: Numbers = np.sqrt((n - 1) / n + apart)
    return found


def effective_samples(series: Numbers) -> Numbers:
    """Return the effective sample size of each moment, of moments × draws × chains."""
    halves = _halves(series)
    _, n, n_halves = halves.shape
    covariances = _autocovariances(halves)
    within = covariances[:, 0] * n / (n - 1)
    whole = within * (n - 1) / n + halves.mean(axis=1).var(axis=1, ddof=1)
    correlations = 1 - (within[:, None] - covariances * n / (n - 1)) / whole[:, None]
    correlations[:, 0] = 1
    # Sums of two neighbours are positive and fall; noise sets in where they do not.
    pairs = correlations[:, : n // 2 * 2].reshape(len(halves), -1, 2).sum(axis=2)
    positive = np.logical_and.accumulate(pairs > 0, axis=1)
    falling = np.minimum.accumulate(pairs, axis=1)
    times = 2 * np.where(positive, falling, 0).sum(axis=1) - 1
    total = n * n_halves
    # Draws that repel each other are worth more than independent ones, but not without limit.
    found: Numbers = total / np.maximum(times, 1 / math.log10(total))
    return found


def _autocovariances(halves: Numbers) -> Numbers:
    """Autocovariances by lag, averaged over the chains, by Fourier transforms."""
    n = halves.shape[1]
    centred = halves - halves.mean(axis=1, keepdims=True)
    transformed = np.fft.rfft(centred, 2 * n, axis=1)
    power = (transformed.real**2 + transformed.imag**2).mean(axis=2)
    found: Numbers = np.fft.irfft(power, 2 * n, axis=1)[:, :n] / n
    return found
