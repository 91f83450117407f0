"""Tests on a contingency table by the χ² distribution: G², Pearson's X², and the BIC threshold.

G = 2 Σ O ln(O/E), X² = Σ (O−E)²/E over cells with E > 0, I = G/2n, E from the margins of each
stratum of Z. Degrees of freedom `full` = (r_x−1)(r_y−1)∏r_Z over levels seen, as bnlearn's `mi` and
`x2`; `adjusted` = Σₛ (non-empty rows−1)(non-empty columns−1), as causal-learn. `mi-threshold` calls
x and y dependent iff I > df·ln n/2n with full df, which is iff the arc raises BIC.

G errs where a table is sparse: its mean under independence is above its degrees of freedom by about
S²(r²−1)(c²−1)/6n for S strata of r×c non-empty rows and columns (Williams 1976, Biometrika 63:33).
X² errs less, and its mean M and variance V are known. A result is *strained* where the mean is too
high by a quarter of the standard deviation √2df or more, so that a level of 0.01 is 0.02 in truth;
where the standard deviation of X² is too high by as much; or where df > n.

No result when no rows are usable, or when no stratum has two levels of both variables although both
vary; and, if asked for, when n < K·cells.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.counter import TableStatistics, Triple
from gml.errors import listing
from gml.independence.base import (
    INSUFFICIENT,
    NO_ROWS,
    CIResult,
    CounterTest,
    PValueTest,
    ResultArrays,
    settle_ties,
    verdict_of_margin,
)

# How far the mean or the deviation may be too high, in units of the deviation.
_STRAINED = 0.25


def full_df(found: TableStatistics) -> NDArray[np.float64]:
    """Return (r_x−1)(r_y−1)∏r_Z over the levels seen."""
    product: NDArray[np.float64] = (
        np.maximum(found.seen_x - 1.0, 0) * np.maximum(found.seen_y - 1.0, 0) * found.seen_z
    )
    return product


def mean_excess(found: TableStatistics) -> NDArray[np.float64]:
    """About how far the mean of G is above its adjusted df, with even margins and equal strata."""
    strata = np.maximum(found.seen_strata, 1)
    rows, columns = found.cells_xz / strata, found.cells_yz / strata
    excess: NDArray[np.float64] = (
        strata**2 * (rows**2 - 1) * (columns**2 - 1) / (6.0 * np.maximum(found.n, 1))
    )
    return excess


def is_sufficient(found: TableStatistics, min_per_cell: float) -> NDArray[np.bool_]:
    """Return which tables can give an answer at all."""
    vary = (found.seen_x > 1) & (found.seen_y > 1)
    usable: NDArray[np.bool_] = (
        (found.n > 0)
        & ~((found.df_adjusted == 0) & vary)
        & (found.n >= min_per_cell * _cells(found))
    )
    return usable


def _cells(found: TableStatistics) -> NDArray[np.float64]:
    """The cells of each table, over the levels seen."""
    cells: NDArray[np.float64] = 1.0 * found.seen_x * found.seen_y * found.seen_z
    return cells


def describe(
    found: TableStatistics,
    *,
    sufficient: NDArray[np.bool_],
    statistic: NDArray[np.float64],
    df: NDArray[np.float64] | None = None,
    log_p: NDArray[np.float64] | None = None,
) -> ResultArrays:
    """Return the results of tests on tables, with the quantities that all of them report.

    Cramér's V = √(X² / Σₛ nₛ(min(rₛ, cₛ)−1)) over strata with df > 0.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        mi = np.where(found.n > 0, found.g / (2 * found.n), np.nan)
        below = found.v_denominator
        # Rounding must not push a perfect association over 1.
        v = np.where(below > 0, np.minimum(1.0, np.sqrt(found.x2 / below)), np.nan)
    return ResultArrays(
        statistic=statistic,
        df=df,
        log_p=log_p,
        mi=mi,
        n=found.n,
        cramers_v=v,
        sufficient=sufficient,
        varies=(found.seen_x > 1) & (found.seen_y > 1),
        strata=found.seen_strata,
        size=_cells(found),
    )


class TableTest(CounterTest):
    """A test on the tables of labels."""

    def why_insufficient(
        self, x: int, y: int, given: Sequence[int], result: CIResult | None = None
    ) -> str | None:
        """Say that rows are too few, or that given Z one of the two does not vary."""
        result = self(x, y, given) if result is None else result
        if result.n == 0:
            return NO_ROWS
        least: float = self._options["min_per_cell"]
        cells = int(result.size or 0)
        if result.n < least * cells:
            return (
                f"{result.n} of {least * cells:g} rows needed, {least:g} for each of {cells} cells"
            )
        return (
            f"in no group of rows with the same {listing([self.names[j] for j in given])} do both "
            "vary"
        )


class ChiSquaredTest(TableTest, PValueTest):
    """A statistic against the χ² distribution."""

    @abstractmethod
    def _statistic(self, found: TableStatistics) -> NDArray[np.float64]:
        """The statistic of each table."""

    @abstractmethod
    def _moments(
        self, found: TableStatistics
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """About what its mean and, if that is known, its variance are under independence."""

    def _strained(self, found: TableStatistics, df: NDArray[np.float64]) -> NDArray[np.bool_]:
        mean, variance = self._moments(found)
        deviation = np.sqrt(2 * df)
        strained: NDArray[np.bool_] = (mean - df > _STRAINED * deviation) | (df > found.n)
        if variance is not None:
            strained |= np.sqrt(np.maximum(variance, 0)) > (1 + _STRAINED) * deviation
        return strained & (found.n > 0) & (found.df_adjusted > 0)

    def batch(self, triples: Sequence[Triple]) -> ResultArrays:
        """Run many tests."""
        found = self._counter.statistics(triples)
        df = full_df(found) if self.df_rule == "full" else found.df_adjusted.astype(np.float64)
        statistic = np.ascontiguousarray(self._statistic(found))
        results = describe(
            found,
            sufficient=is_sufficient(found, self._options["min_per_cell"]),
            statistic=statistic,
            df=df,
            log_p=kernel.active().log_chi2_upper(statistic, df),
        )
        return replace(results, strained=self._strained(found, df) & results.sufficient)


class GTest(ChiSquaredTest):
    """G², the likelihood ratio."""

    def _statistic(self, found: TableStatistics) -> NDArray[np.float64]:
        return found.g

    def _moments(
        self, found: TableStatistics
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        return found.df_adjusted + mean_excess(found), None


class PearsonTest(ChiSquaredTest):
    """Pearson's X²."""

    def _statistic(self, found: TableStatistics) -> NDArray[np.float64]:
        return found.x2

    def _moments(
        self, found: TableStatistics
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        return found.x2_mean, found.x2_variance


class ThresholdTest(TableTest):
    """Mutual information against the BIC threshold."""

    def batch(self, triples: Sequence[Triple]) -> ResultArrays:
        """Run many tests; the statistic is I in nats."""
        found = self._counter.statistics(triples)
        return describe(
            found,
            sufficient=is_sufficient(found, self._options["min_per_cell"]),
            statistic=found.g / (2 * np.maximum(found.n, 1)),
            df=full_df(found),
        )

    def margins(self, results: ResultArrays, alpha: float) -> NDArray[np.float64]:
        """What the arc would cost in BIC: df·ln n/2 − n·I."""
        assert results.df is not None
        penalty = results.df * np.log(np.maximum(results.n, 1)) / 2
        margins = settle_ties(penalty - results.n * results.statistic, penalty)
        return np.where(results.sufficient, margins, np.nan)

    def verdict(self, result: CIResult, alpha: float = 0, log_p: float | None = None) -> str:
        """Dependent iff I > df·ln n/2n."""
        if not result.sufficient or result.df is None:
            return INSUFFICIENT
        penalty = result.df * math.log(result.n) / 2
        margin = np.array(penalty - result.n * result.statistic)
        return verdict_of_margin(float(settle_ties(margin, penalty)))


def median_p(rows: float, n_levels: tuple[int, int], cramers_v: float) -> float:
    """The p that a table of two columns has in half of all samples, if they depend this strongly.

    The statistic is noncentral χ² with (r−1)(s−1) degrees of freedom and noncentrality
    n·V²·(min(r, s) − 1); its median is that of Sankaran's (1963, Biometrika 50:199, eq. 1.3)
    normal approximation to a power of it, within 1 % of the exact one for V = 0.3.

    Examples
    --------
    >>> [round(median_p(200, levels, 0.3), 6) for levels in ((2, 2), (2, 9), (2, 40))]
    [2.2e-05, 0.001522, 0.036821]
    """
    r, s = n_levels
    df = float((r - 1) * (s - 1))
    away = rows * cramers_v**2 * (min(r, s) - 1)
    h = 1 - 2 / 3 * (df + away) * (df + 3 * away) / (df + 2 * away) ** 2
    p = (df + 2 * away) / (df + away) ** 2
    m = (h - 1) * (1 - 3 * h)
    median = (df + away) * (1 + h * p * (h - 1 - (2 - h) * m * p / 2)) ** (1 / h)
    log_p = kernel.active().log_chi2_upper(np.array([median]), np.array([df]))
    return math.exp(float(log_p[0]))
