"""A test that keeps its level on dense and on sparse tables: the default of `gml pc`.

Where the table is dense, this is G² with adjusted degrees of freedom, which has the greater power.
Dense means that G's mean under independence is within a tenth of its standard deviation √2df of df;
with even margins, S strata and r, c non-empty rows and columns in each, it is off by about

    S²(r²−1)(c²−1)/6n

(Williams 1976, Biometrika 63:33; uneven margins harm G rather less than his formula for them says,
so means over the strata serve for r and c). Where the table is sparser, G is misleading: with
3×3×81 cells and two rows per cell it rejects a true independence four times in five at level 0.01.
So X² is used instead, with the exact mean M and variance V that it has under independence
over all tables with the margins of every stratum fixed (Haldane 1940, Biometrika 31:346; Lewis,
Saunders & Westcott 1984, J. R. Stat. Soc. C 33:282):

    M = Σₛ nₛ(rₛ−1)(cₛ−1)/(nₛ−1),      X²·2M/V ~ χ² with 2M²/V degrees of freedom.

These are the first two moments of the permutation distribution, so this is what a permutation test
of X² would say, without the permutations. The statistic reported is the one that is compared with
the χ² distribution: G with whole, or X²·2M/V with fractional degrees of freedom.

Where X² has no variance, every table with these margins looks the same: no result.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.counter import TableStatistics, Triple
from gml.independence.base import PValueTest, ResultArrays
from gml.independence.contingency import describe, is_sufficient

# How far the mean of G may be off, in units of its standard deviation.
_DENSE = 0.1
# X² may take two values that differ only by rounding.
_LEAST_VARIANCE = 1e-6


class CalibratedTest(PValueTest):
    """G² on dense tables, X² with its exact moments on sparse ones."""

    def batch(self, triples: Sequence[Triple]) -> ResultArrays:
        """Run many tests."""
        found = self._counter.statistics(triples)
        dense = _is_dense(found)
        mean, variance = found.x2_mean, found.x2_variance
        spread = variance > _LEAST_VARIANCE * mean
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled = np.where(spread, found.x2 * 2 * mean / variance, 0.0)
            df = np.where(spread, 2 * mean * mean / variance, 0.0)
        statistic = np.where(dense, found.g, scaled)
        df = np.where(dense, found.df_adjusted, df)
        varies = (found.seen_x > 1) & (found.seen_y > 1)
        return describe(
            found,
            sufficient=is_sufficient(found, self._options["min_per_cell"])
            & (dense | spread | ~varies),
            statistic=statistic,
            df=df,
            log_p=kernel.active().log_chi2_upper(statistic, df),
        )


def _is_dense(found: TableStatistics) -> NDArray[np.bool_]:
    strata = np.maximum(found.seen_strata, 1)
    rows, columns = found.cells_xz / strata, found.cells_yz / strata
    excess = strata**2 * (rows**2 - 1) * (columns**2 - 1) / (6 * np.maximum(found.n, 1))
    dense: NDArray[np.bool_] = excess <= _DENSE * np.sqrt(2.0 * found.df_adjusted)
    return dense
