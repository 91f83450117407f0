"""Do two rows of counts come from one distribution?

G = 2 Σ O ln(O/E) of the 2×r table of a row of old counts and one of new ones, E from its margins,
against χ² with r−1 degrees of freedom over the levels that either has. Where an expected count is
below 5 that is too rough, and exact tests over all ways to divide the rows between the two samples
are used: by enumeration for two levels (Fisher's exact test, ordered by G), by drawing for more. A
p-value that may decide is settled in this way as well, where the χ² distribution cannot be trusted
that far out. Old probabilities in place of old counts make it a one-sample test.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.gate.monte_carlo import MonteCarlo

G, EXACT = "g", "exact"

SPARSE_EXPECTED = 5.0
# Far out in its tail χ² errs even where expected counts are moderate.
TRUSTED_EXPECTED = 200.0
# A draw of more rows than this takes too long, whatever it would show.
MOST_ROWS = 1 << 32
_SLACK = 1e-9


@dataclass(frozen=True)
class Homogeneity:
    """The tests of many rows: G, its degrees of freedom, ln p by χ², smallest expected count."""

    g: NDArray[np.float64]
    df: NDArray[np.float64]
    log_p: NDArray[np.float64]
    least_expected: NDArray[np.float64]

    def is_sparse(self, row: int) -> bool:
        """Whether χ² is too rough whatever the p-value."""
        return bool(self.least_expected[row] < SPARSE_EXPECTED)

    def is_trusted(self, row: int) -> bool:
        """Whether χ² holds far out in its tail."""
        return bool(self.least_expected[row] >= TRUSTED_EXPECTED)


def compare_rows(old: NDArray[np.int64], new: NDArray[np.int64]) -> Homogeneity:
    """Test each row of old counts against the row of new ones.

    Examples
    --------
    >>> found = compare_rows(np.array([[30, 20]]), np.array([[15, 35]]))
    >>> round(float(found.g[0]), 4), float(found.df[0])
    (9.2402, 1.0)
    """
    pooled = old + new
    total = pooled.sum(axis=1, keepdims=True)
    g, least = np.zeros(len(old)), np.full(len(old), np.inf)
    for counts in (old, new):
        expected = counts.sum(axis=1, keepdims=True) * (pooled / np.maximum(total, 1))
        g += _deviance(counts, expected)
        least = np.minimum(least, np.where(pooled > 0, expected, np.inf).min(axis=1))
    return _judged(g, np.count_nonzero(pooled, axis=1) - 1, least)


def compare_with_probabilities(
    probabilities: NDArray[np.float64], new: NDArray[np.int64]
) -> Homogeneity:
    """Test each row of new counts against probabilities; what has probability 0 cannot occur."""
    expected = new.sum(axis=1, keepdims=True) * probabilities
    possible = probabilities > 0
    g = _deviance(np.where(possible, new, 0), expected)
    least = np.where(possible, expected, np.inf).min(axis=1)
    found = _judged(g, np.count_nonzero(possible, axis=1) - 1, least)
    impossible = np.where(possible, 0, new).any(axis=1)
    found.g[impossible], found.log_p[impossible] = np.inf, -np.inf
    return found


def _deviance(counts: NDArray[np.int64], expected: NDArray[np.float64]) -> NDArray[np.float64]:
    seen = counts > 0
    ratio = np.where(seen, counts, 1) / np.where(seen, expected, 1)
    twice: NDArray[np.float64] = 2 * np.where(seen, counts * np.log(ratio), 0).sum(axis=1)
    return twice


def _judged(
    g: NDArray[np.float64], df: NDArray[np.int64], least: NDArray[np.float64]
) -> Homogeneity:
    g = np.maximum(g, 0.0)
    freedom = np.maximum(df, 0).astype(np.float64)
    log_p = np.zeros(len(g))
    varies = freedom > 0
    log_p[varies] = kernel.active().log_chi2_upper(
        np.ascontiguousarray(g[varies]), np.ascontiguousarray(freedom[varies])
    )
    return Homogeneity(g, freedom, log_p, least)


# ---------------------------------------------------------------------- exact


def settle_rows(
    old: NDArray[np.int64], new: NDArray[np.int64], g: float, name: str, monte_carlo: MonteCarlo
) -> tuple[float, str]:
    """Return ln p over all ways to divide the rows between two samples, and how it was obtained."""
    seen = (old + new) > 0
    table = np.stack([old[seen], new[seen]]).astype(np.int64)
    if table.shape[1] == 2:
        return _log_fisher(table, g), EXACT
    draws = kernel.active().permutation_draws
    strata = np.ascontiguousarray(table[None])
    return monte_carlo.log_p(
        name, lambda key, first, last: draws(strata, key, first, last), g, table.shape[1]
    )


def settle_with_probabilities(
    probabilities: NDArray[np.float64],
    new: NDArray[np.int64],
    g: float,
    name: str,
    monte_carlo: MonteCarlo,
) -> tuple[float, str]:
    """Return ln p over all counts that the probabilities make possible, and how it was obtained."""
    possible = probabilities > 0
    p, n = probabilities[possible] / probabilities[possible].sum(), int(new.sum())
    if len(p) == 2:
        return _log_binomial_reaching(p, new[possible], g), EXACT

    def draw(key: tuple[int, int], first: int, last: int) -> NDArray[np.float64]:
        rows = np.random.default_rng([*key, first]).multinomial(n, p, size=last - first)
        return _deviance(rows, np.tile(n * p, (last - first, 1)))

    return monte_carlo.log_p(name, draw, g, len(p))


def _log_binomial_reaching(p: NDArray[np.float64], new: NDArray[np.int64], g: float) -> float:
    """Sum of the binomial probabilities of the outcomes whose G is at least as large."""
    n, rare = int(new.sum()), int(np.argmin(p))
    expected = n * float(p[rare])
    # Outcomes farther out have no probability that a float could hold.
    most = max(expected + 40 * math.sqrt(expected) + 500, float(new[rare]) + 100)
    counts = np.arange(min(n, int(most)) + 1)
    here = counts[:-1].astype(np.float64)
    steps = np.log((n - here) / (here + 1)) + math.log(p[rare] / p[1 - rare])
    rows = np.column_stack([counts, n - counts])
    shares = np.array([p[rare], p[1 - rare]])
    return _log_reaching(steps, _deviance(rows, np.tile(n * shares, (len(counts), 1))), g)


def _log_fisher(table: NDArray[np.int64], g: float) -> float:
    """Sum of the hypergeometric probabilities of the tables whose G is at least as large."""
    (n_old, n_new), (first, second) = table.sum(axis=1).tolist(), table.sum(axis=0).tolist()
    counts = np.arange(max(0, n_new - second), min(n_new, first) + 1)
    here = counts[:-1].astype(np.float64)
    steps = np.log((first - here) * (n_new - here) / ((here + 1) * (second - n_new + here + 1)))
    new = np.column_stack([counts, n_new - counts])
    old = np.array([first, second]) - new
    pooled = np.array([first, second]) / (n_old + n_new)
    deviance = _deviance(new, np.tile(n_new * pooled, (len(counts), 1)))
    deviance += _deviance(old, np.tile(n_old * pooled, (len(counts), 1)))
    return _log_reaching(steps, deviance, g)


def _log_reaching(
    steps: NDArray[np.float64], statistics: NDArray[np.float64], observed: float
) -> float:
    """ln of the share of the outcomes whose statistic is at least as large as the one observed.

    `steps` are the logarithms of the ratios of successive probabilities.
    """
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    logs -= logs.max()
    reaching = statistics >= observed - _SLACK
    if not reaching.any():
        return -math.inf
    total = math.log(math.fsum(np.exp(logs).tolist()))
    largest = float(logs[reaching].max())
    share = math.fsum(np.exp(logs[reaching] - largest).tolist())
    return min(0.0, largest + math.log(share) - total)


def total_variation(old: NDArray[np.float64], new: NDArray[np.float64]) -> NDArray[np.float64]:
    """½ Σ |p − q| of rows of probabilities."""
    half: NDArray[np.float64] = 0.5 * np.abs(old - new).sum(axis=-1)
    return half


def compare_shares(
    old_hits: int, old_rows: int, new_hits: int, new_rows: int
) -> tuple[float, float, str]:
    """Return G and ln p of two shares, and how p was obtained: exactly, unless rows are many."""
    old = np.array([[old_hits, old_rows - old_hits]])
    new = np.array([[new_hits, new_rows - new_hits]])
    found = compare_rows(old, new)
    g = float(found.g[0])
    if found.df[0] > 0 and not found.is_trusted(0):
        return g, _log_fisher(np.stack([old[0], new[0]]), g), EXACT
    return g, float(found.log_p[0]), G
