"""Fisher's z test of a partial correlation (Fisher 1915; Anderson 2003, section 4.3).

z = √(n−|Z|−3)·atanh r, two-sided against the normal distribution; its square against χ² with one
degree of freedom gives the same p-value and its logarithm. I = −½ ln(1−r²). Z is eliminated from
the exact integer cross-products by Bareiss' fraction-free scheme (1968): no cancellation comes near
r, however collinear the columns are. A constant column is independent of everything. A column that
is a linear function of others, up to the precision of the numbers themselves, is an error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gml import kernel
from gml.counts.counter import Counter, Moments, Triple
from gml.counts.exact_algebra import eliminate, require_regular
from gml.independence.base import CIResult, PValueTest, ResultArrays
from gml.independence.registry import KnownTest

_MOST_KEPT = 1000


class FisherZTest(PValueTest):
    """Partial correlation of numeric columns."""

    def __init__(
        self, facts: KnownTest, counter: Counter, *, threads: int | None = None, **options: Any
    ) -> None:
        super().__init__(facts, counter, threads=threads, **options)
        self._known: Moments | None = None
        self._keeps = len(self.names) <= _MOST_KEPT and not counter.missing

    def batch(self, triples: Sequence[Triple]) -> ResultArrays:
        """Run many tests."""
        results = [self._test(*triple) for triple in triples]
        n = np.array([result.n for result in results], dtype=np.int64)
        return ResultArrays(
            statistic=np.array([result.statistic for result in results]),
            log_p=np.array([_or_nan(result.log_p) for result in results]),
            mi=np.array([_or_nan(result.mi) for result in results]),
            n=n,
            sufficient=np.array([result.sufficient for result in results], dtype=bool),
            varies=np.ones(len(results), dtype=bool),
            # Numbers have no strata; a result is insufficient here only if there are too few rows.
            strata=np.maximum(n, 1),
        )

    def _test(self, x: int, y: int, given: tuple[int, ...]) -> CIResult:
        names = self.names
        order = self._counter.order
        columns = [*order.sorted(given), *order.sorted((x, y))]
        n, cross = self._products(columns)
        size = len(given)
        if n <= size + 3:
            return CIResult(0.0, None, None, None, n, sufficient=False)
        varying = [k for k in range(len(columns)) if cross[k][k]]
        if size not in varying or size + 1 not in varying:
            return CIResult(0.0, None, 0.0, 0.0, n)
        chosen = [[cross[i][j] for j in varying] for i in varying]
        left = partial_cross_products(chosen, [names[columns[k]] for k in varying])
        z = math.sqrt(n - size - 3) * left.atanh_r
        log_p = kernel.active().log_chi2_upper(np.array([z * z]), np.array([1.0]))
        return CIResult(z, None, float(log_p[0]), -0.5 * math.log(left.rest), n)

    def _products(self, columns: Sequence[int]) -> tuple[int, Sequence[Sequence[int]]]:
        """n and the cross-products of some columns; those of all are kept if nothing is missing."""
        if not self._keeps:
            moments = self._counter.moments(columns)
            return moments.n, moments.cross
        if self._known is None:
            self._known = self._counter.moments(range(len(self.names)))
        return self._known.n, [[self._known.cross[i][j] for j in columns] for i in columns]


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


class PartialProducts(NamedTuple):
    """What is left of two variables given others: atanh of their correlation, and 1 − r²."""

    atanh_r: float
    rest: float


def partial_cross_products(cross: Sequence[Sequence[int]], names: Sequence[str]) -> PartialProducts:
    """Eliminate all but the last two variables from integer cross-products.

    Examples
    --------
    >>> left = partial_cross_products([[4, 2, 2], [2, 4, 1], [2, 1, 4]], "zxy")
    >>> left.atanh_r, left.rest
    (0.0, 1.0)
    """
    size = len(cross)
    matrix, pivot = eliminate(cross, size - 2, names)
    for k in (size - 2, size - 1):
        require_regular(matrix[k][k], pivot * cross[k][k], [*names[: size - 2], names[k]])
    xx, xy, yy = matrix[-2][-2], matrix[-2][-1], matrix[-1][-1]
    require_regular(xx * yy - xy * xy, xx * yy, names)
    rest = (xx * yy - xy * xy) / (xx * yy)
    size_of_r = math.sqrt((xy * xy) / (xx * yy))
    atanh_r = math.log1p(size_of_r) - 0.5 * math.log(rest)
    if size_of_r < 0.5:
        atanh_r = math.atanh(size_of_r)
    return PartialProducts(math.copysign(atanh_r, xy) if xy else 0.0, rest)
