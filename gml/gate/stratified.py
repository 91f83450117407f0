"""Did the rows of a table shift together?

A change that is spread over many rows of a table may show in none of them. So they are pooled, each
a stratum of its own, so that what the parents do does not matter: with m_x = Σ (new count of x less
its expectation given the margins of the stratum) over strata, the statistic is mᵀ V⁺ m, V the
covariance of m over all ways to divide the rows of a stratum between the two samples, against χ²
with rank(V) degrees of freedom (Mantel & Haenszel 1959, J. Natl. Cancer Inst. 22:719; for more than
two levels Birch 1965, J. R. Stat. Soc. B 27:111). A p-value that may decide is settled by drawing
such ways, where χ² cannot be trusted that far out. Shifts that cancel out over the strata do not
count; the single rows show those themselves. Old probabilities in place of old counts make it a
one-sample test.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml.gate.monte_carlo import MonteCarlo
from gml.gate.tails import log_chi2_tail
from gml.gate.two_sample import TRUSTED_EXPECTED

# NumPy draws from urns with fewer balls than this.
_MOST_ROWS = 10**9
# Share of the largest eigenvalue below which there is only rounding.
_RANK = 1e-10
SHIFT = "mantel-haenszel"


@dataclass(frozen=True)
class Shift:
    """The pooled test of the strata that both sides have, and the shares of levels on each side.

    Both are weighted by the new strata, so that they differ only in the levels.
    """

    statistic: float
    df: int
    log_p: float
    least_variance: float
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    rows_old: int | None
    rows_new: int
    strata: _Strata
    inverse: NDArray[np.float64]

    @property
    def is_trusted(self) -> bool:
        """Whether χ² holds far out in its tail."""
        return self.least_variance >= TRUSTED_EXPECTED or self.strata.largest >= _MOST_ROWS

    def settle(self, name: str, monte_carlo: MonteCarlo) -> tuple[float, str]:
        """Return ln p over all ways to divide the rows, and how it was obtained."""

        def draw(key: tuple[int, int], first: int, last: int) -> NDArray[np.float64]:
            moved = self.strata.draw(np.random.default_rng([*key, first]), last - first)
            statistics: NDArray[np.float64] = np.einsum("di,ij,dj->d", moved, self.inverse, moved)
            return statistics

        size = self.strata.expected.size
        log_p, how = monte_carlo.log_p(name, draw, self.statistic, size, of_g=False)
        return log_p, f"{SHIFT}:{how}"


@dataclass(frozen=True)
class _Strata:
    """Rows of a table: what to draw from, the number of new rows, and what to expect."""

    urns: NDArray[np.int64] | NDArray[np.float64]
    """Balls by level in each stratum, or probabilities if the old side is exact."""
    rows: NDArray[np.int64]
    expected: NDArray[np.float64]

    @property
    def largest(self) -> int:
        """The most rows in a stratum, both sides together."""
        return int(self.urns.sum(axis=1).max(initial=0))

    def draw(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """Draw n times by how many rows the levels exceed what is expected."""
        total = np.zeros((n, self.expected.shape[1]))
        for urn, rows in zip(self.urns, self.rows.tolist(), strict=True):
            if np.issubdtype(self.urns.dtype, np.integer):
                total += rng.multivariate_hypergeometric(urn, rows, size=n, method="marginals")
            else:
                total += rng.multinomial(rows, urn, size=n)
        beyond: NDArray[np.float64] = total - self.expected.sum(axis=0)
        return beyond


def pooled_shift(
    old: NDArray[np.int64] | None, new: NDArray[np.int64], probabilities: NDArray[np.float64]
) -> Shift | None:
    """Test the rows of a table together; None if fewer than two, or if nothing could differ.

    Examples
    --------
    >>> old = np.array([[30, 20], [10, 40]])
    >>> found = pooled_shift(old, np.array([[20, 30], [5, 45]]), old / 50)
    >>> round(found.statistic, 4), found.df
    (5.9007, 1)
    """
    if old is None:
        both = (new.sum(axis=1) > 0) & ~((probabilities == 0) & (new > 0)).any(axis=1)
    else:
        both = (new.sum(axis=1) > 0) & (old.sum(axis=1) > 0)
    if np.count_nonzero(both) < 2:
        return None
    # Sums over strata are the same to the last bit in whatever order the parents come.
    sides = [probabilities if old is None else old, new]
    order = np.lexsort(np.hstack([side[both] for side in sides]).T)
    before, after = (side[both][order] for side in sides)
    rows = after.sum(axis=1)
    if old is None:
        urns, shares = before / before.sum(axis=1, keepdims=True), before
        scale = rows.astype(np.float64)
    else:
        urns = before + after
        total = urns.sum(axis=1)
        shares = urns / total[:, None]
        # Without replacement: the variance of a binomial count, times (N − n)/(N − 1).
        scale = rows * ((total - rows) / np.maximum(total - 1, 1))
    # With one level, or one row, there is nothing that could differ.
    scale = np.where(np.count_nonzero(shares, axis=1) > 1, scale, 0.0)
    if np.count_nonzero(scale) == 0:
        return None
    expected = rows[:, None] * shares
    covariance = -np.einsum("s,si,sj->ij", scale, shares, shares)
    np.fill_diagonal(covariance, (scale[:, None] * shares * (1 - shares)).sum(axis=0))
    values, vectors = np.linalg.eigh(covariance)
    matter = values > _RANK * values[-1]
    inverse = (vectors[:, matter] / values[matter]) @ vectors[:, matter].T
    moved = (after - expected).sum(axis=0)
    statistic = float(moved @ inverse @ moved)
    variances = np.diag(covariance)
    weights = rows / rows.sum()
    return Shift(
        statistic=statistic,
        df=int(matter.sum()),
        log_p=log_chi2_tail(statistic, float(matter.sum())),
        least_variance=float(variances[variances > 0].min()),
        before=(weights[:, None] * (before / before.sum(axis=1, keepdims=True))).sum(axis=0),
        after=(weights[:, None] * (after / rows[:, None])).sum(axis=0),
        rows_old=None if old is None else int(before.sum()),
        rows_new=int(rows.sum()),
        strata=_Strata(urns, rows, expected),
        inverse=inverse,
    )
