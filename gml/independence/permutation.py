"""Monte Carlo permutation test of G (Edwards 2000, section 5.3; Besag & Clifford 1989).

Tables with the margins of every stratum fixed are drawn from the law of a random relabelling; p =
(1 + #{G* ≥ G − 10⁻⁹})/(B + 1), so that P(p ≤ a) ≤ a under independence. The random numbers are
seeded by (seed, names of x, y and Z), so that row order, column order, threads and the other tests
of a run do not change them. If B is too small to reach α, there is no result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.counter import Triple, tables_of
from gml.data.name_keys import joint_key
from gml.errors import CannotAnswer, parameter
from gml.independence.base import INSUFFICIENT, CIResult, PValueTest, ResultArrays
from gml.independence.contingency import TableTest, describe, is_sufficient
from gml.kernel.pool import in_order
from gml.progress import reporter
from gml.resources import available_threads

_SLACK = 1e-9
_CHUNK = 250
_MOST_ROWS = 1 << 32


class PermutationTest(TableTest, PValueTest):
    """G against its permutation distribution."""

    def batch(self, triples: Sequence[Triple]) -> ResultArrays:
        """Run many tests."""
        found = self._counter.statistics(triples)
        if len(found.n) and found.n.max() > _MOST_ROWS:
            raise CannotAnswer(
                f"{found.n.max()} rows are too many to permute, and enough for "
                f"{parameter('test', 'g')}"
            )
        sufficient = is_sufficient(found, self._options["min_per_cell"])
        sets = tables_of(self._counter.order, triples)
        log_p = np.zeros(len(triples))
        for k, counts in enumerate(self._counter.tables(sets)):
            if sufficient[k] and found.df_adjusted[k] > 0:
                names = [self.names[j] for j in (*sets[k].axes, *sets[k].given)]
                key = joint_key(names, self._options["seed"])
                log_p[k] = self._log_p(counts.table, float(found.g[k]), key)
            reporter().advance("testing", k + 1, len(triples))
        statistic = np.ascontiguousarray(found.g)
        return describe(found, sufficient=sufficient, statistic=statistic, log_p=log_p)

    def _log_p(self, table: NDArray[np.int64], g: float, key: tuple[int, int]) -> float:
        draw = kernel.active().permutation_draws
        total = self._options["permutations"]
        starts = range(0, total, _CHUNK)

        def chunk(start: int) -> int:
            drawn = draw(table, key, start, min(start + _CHUNK, total))
            return int(np.count_nonzero(drawn >= g - _SLACK))

        exceeding, threads = 0, self._threads or available_threads()
        for done, found in enumerate(in_order(chunk, starts, threads), start=1):
            exceeding += found
            reporter().advance("permuting", done, len(starts))
        return math.log((1 + exceeding) / (total + 1))

    def verdict(self, result: CIResult, alpha: float, log_p: float | None = None) -> str:
        """Dependent iff p ≤ α; no verdict when even the smallest p possible is above α."""
        if self._facts.least_p(self._options) > alpha:
            return INSUFFICIENT
        return super().verdict(result, alpha, log_p)

    def margins(self, results: ResultArrays, alpha: float) -> NDArray[np.float64]:
        """ln p − ln α of each result; none when even the smallest p possible is above α."""
        if self._facts.least_p(self._options) > alpha:
            return np.full(len(results), np.nan)
        return super().margins(results, alpha)
