"""The Bayes factor of dependence: ln BF = BDeu(x | y, Z) − BDeu(x | Z).

With prior count α = ess/(r_x·r_y·q) per cell (levels seen, q = ∏r_Z) and R(n, α) = ln Γ(n+α)/Γ(α),
the scores differ by Σₛ [Σ R(n_xy, α) − Σ R(n_x, αr_y) − Σ R(n_y, αr_x) + R(n, αr_xr_y)], which is
symmetric in x and y (Heckerman, Geiger & Chickering 1995). Dependent iff ln BF exceeds a threshold,
0 by default.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.counter import Triple, tables_of
from gml.independence.base import (
    INDEPENDENT,
    INSUFFICIENT,
    CIResult,
    ResultArrays,
    settle_ties,
    verdict_of_margin,
)
from gml.independence.contingency import TableTest, describe, is_sufficient


class BayesFactorTest(TableTest):
    """Compares the two scores of x with and without y among its parents."""

    @property
    def _threshold(self) -> float:
        threshold: float = self._options["log_bf"]
        return threshold

    def batch(self, triples: Sequence[Triple]) -> ResultArrays:
        """Run many tests; the statistic is ln BF."""
        found = self._counter.statistics(triples)
        tables = self._counter.tables(tables_of(self._counter.order, triples))
        log_bf = np.zeros(len(triples))
        for k, counts in enumerate(tables):
            seen_x, seen_y = int(found.seen_x[k]), int(found.seen_y[k])
            if seen_x > 1 and seen_y > 1:
                alpha = self._options["ess"] / (float(seen_x) * seen_y * float(found.seen_z[k]))
                log_bf[k] = kernel.active().log_bayes_factor(_seen_levels(counts.table), alpha)
        sufficient = is_sufficient(found, self._options["min_per_cell"])
        return describe(found, sufficient=sufficient, statistic=log_bf)

    def margins(self, results: ResultArrays, alpha: float) -> NDArray[np.float64]:
        """How far ln BF is below the threshold."""
        margins = settle_ties(self._threshold - results.statistic, abs(self._threshold))
        margins = np.where(results.varies, margins, np.maximum(margins, 0.0))
        return np.where(results.sufficient, margins, np.nan)

    def verdict(self, result: CIResult, alpha: float = 0, log_p: float | None = None) -> str:
        """Dependent iff ln BF exceeds the threshold."""
        if not result.sufficient:
            return INSUFFICIENT
        if not result.varies:
            return INDEPENDENT
        margin = np.array(self._threshold - result.statistic)
        return verdict_of_margin(float(settle_ties(margin, abs(self._threshold))))


def _seen_levels(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """Leave out the levels that occur in no row."""
    rows, columns = table.any(axis=(0, 2)), table.any(axis=(0, 1))
    return np.ascontiguousarray(table[:, rows][:, :, columns])
