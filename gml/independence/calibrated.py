"""A test that keeps its level on dense and on sparse tables: the default of every command.

Where the table is dense, this is G² with adjusted degrees of freedom, which has the greater power.
Dense means that the mean of G under independence exceeds df by at most a tenth of its standard
deviation √2df, by two estimates of that mean. With even margins, S strata and r, c non-empty rows
and columns in each, it is too high by about

    S²(r²−1)(c²−1)/6n

(Williams 1976, Biometrika 63:33; means over the strata serve for r and c). Uneven margins are seen
by the other, for which the cells are Poisson: with e(m) = E[2(O ln(O/m) − O + m)] − 1, the excess
of a stratum with margins R, C and n rows is

    Σ e(RC/n) − Σ e(R) − Σ e(C) + e(n).

e is above 0 from m = ½ on, greatest near 1.5 and then falls as 1/6m, while rarer cells lower G:
there G remains below its level, and has more power than X².

Where the table is sparser, G is misleading: with 3×3×81 cells and two rows per cell it rejects a
true independence four times in five at level 0.01. So X² is used instead, with the exact mean M,
variance V and third central moment κ that it has under independence over all tables with the
margins of every stratum fixed (Haldane 1940, Biometrika 31:346; Lewis, Saunders & Westcott 1984,
J. R. Stat. Soc. C 33:282; Kazi-Aoual, Hitier, Sabatier & Lebreton 1995, Comput. Stat. Data Anal.
20:643), against a χ² distribution moved and stretched to have them all (a Pearson curve of type
III, as Mielke & Berry 1985, J. Stat. Plan. Inference 12:41, have it):

    (X² − M)·4V/κ + ν ~ χ² with ν = 8V³/κ² degrees of freedom.

Two moments are not enough: where margins are uneven, X² has a longer tail than the χ² distribution
with its mean and variance, and rejects twice too often at level 0.001. Where κ is not clearly
positive, which happens only in tables with hardly any freedom, they are used nevertheless:
X²·2M/V with 2M²/V degrees of freedom.

These are the moments of the permutation distribution, so this is what a permutation test of X²
would say, without the permutations. The statistic reported is the one that is compared with the χ²
distribution: G with whole, or the scaled X² with fractional degrees of freedom.

Where X² has no variance, every table with these margins looks the same: no result.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.counter import TableStatistics, Triple
from gml.independence.base import PValueTest, ResultArrays
from gml.independence.contingency import TableTest, describe, is_sufficient

# X² may take two values that differ only by rounding.
_LEAST_VARIANCE = 1e-6
# Below this skewness, the third moment may be nothing but rounding.
_LEAST_SKEWNESS = 0.01


class CalibratedTest(TableTest, PValueTest):
    """G² on dense tables, X² with its exact moments on sparse ones."""

    def batch(self, triples: Sequence[Triple]) -> ResultArrays:
        """Run many tests."""
        found = self._counter.statistics(triples)
        dense = np.isnan(found.x2_third)
        spread = found.x2_variance > _LEAST_VARIANCE * found.x2_mean
        statistic, df = _scaled(found)
        statistic = np.where(dense, found.g, np.where(spread, statistic, 0.0))
        df = np.where(dense, found.df_adjusted, np.where(spread, df, 0.0))
        varies = (found.seen_x > 1) & (found.seen_y > 1)
        return describe(
            found,
            sufficient=is_sufficient(found, self._options["min_per_cell"])
            & (dense | spread | ~varies),
            statistic=statistic,
            df=df,
            log_p=kernel.active().log_chi2_upper(statistic, df),
        )


def _scaled(found: TableStatistics) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """X² moved and stretched so that it is like χ², and the degrees of freedom of that."""
    mean, variance, third = found.x2_mean, found.x2_variance, found.x2_third
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        skewed = third > _LEAST_SKEWNESS * variance**1.5
        df = np.where(skewed, 8 * variance**3 / third**2, 2 * mean**2 / variance)
        moved = np.where(
            skewed, (found.x2 - mean) * 4 * variance / third + df, found.x2 * 2 * mean / variance
        )
    return np.maximum(moved, 0.0), df
