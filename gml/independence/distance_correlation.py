"""Distance correlation (Székely, Rizzo & Bakirov 2007, Ann. Stat. 35:2769).

With distances a = |x_i − x_j| and b = |y_i − y_j|, 1 between different labels,

    dCov² = Σ ab/n² − 2 Σ a_i· b_i·/n³ + a·· b··/n⁴

and dCor = √(dCov²(x,y)/√(dCov²(x,x)·dCov²(y,y))), the V-statistic, which is what R's energy::dcor
returns. Σ ab takes n log n steps (Huo & Székely 2016, Technometrics 58:435); the distance of labels
is half the sum of the distances of their indicators. No matrix is needed but to permute labels.

The null distribution of n·dCov² is that of HSIC with another kernel (Sejdinovic, Sriperumbudur,
Gretton & Fukumizu 2013, Ann. Stat. 41:2263), and so

- `three-moment`, from 200 rows on: a weighted sum of χ²₁ by its first three cumulants
  (`gml.independence.weighted_chi2`), of which the third is known from 500 quantiles of each column;
- `permutation`, with fewer: p = (1 + #{dCov²* ≥ dCov²(1 − 10⁻⁹)})/(B + 1);
- `gamma`: the first two cumulants only. One direction has most of the variance here, and a gamma
  distribution falls too fast: what permutations find at 0.0002 has 10⁻⁶ then.

The t-test of Székely & Rizzo (2013) is for columns of high dimension and is not used: with two
columns of numbers its p-values are far from uniform.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.errors import parameter
from gml.independence.gram_matrices import centred, null_sums, power_traces
from gml.independence.row_columns import RowColumn
from gml.independence.row_test import GAMMA, PERMUTATION, THREE_MOMENT, Details, DrawnNullTest
from gml.independence.weighted_chi2 import log_gamma_upper, log_weighted_chi2_upper
from gml.resources import require_memory

_SLACK = 1e-9
_QUANTILES = 500
Numbers = NDArray[np.float64]


class DistanceCorrelationTest(DrawnNullTest):
    """Distance correlation of numbers and labels."""

    detail_names = ("dcov", "null", "permutations")
    null_of_many = THREE_MOMENT

    def bytes_needed(self, n: int, given_points: int) -> int:
        """Rows with their sums, in two rooms, and a few columns."""
        return 160 * n

    def outcome(
        self, columns: Sequence[RowColumn], key: tuple[int, int], threads: int
    ) -> tuple[float, float, Details]:
        """The distance correlation, ln p and details."""
        x, y = columns
        sums_x, sums_y = distance_sums(x), distance_sums(y)
        n = len(sums_x.rows)
        xx, yy = product_sum(x, x), product_sum(y, y)
        xy = product_sum(x, y)
        own_x, own_y = covariance(xx, sums_x, sums_x), covariance(yy, sums_y, sums_y)
        squared = covariance(xy, sums_x, sums_y)
        null = self.null_at(n)
        if null == PERMUTATION:
            changing = xy - 2 * float(sums_x.rows @ sums_y.rows) / n
            log_p = self._drawn(x, y, (changing, squared), key, threads)
        else:
            traces = [
                _traces(column, sums.total / n, float(n) ** 2 * own_part)
                for column, sums, own_part in ((x, sums_x, own_x), (y, sums_y, own_y))
            ]
            sums = null_sums(traces[0], traces[1], n)
            log_p = (
                log_gamma_upper(n * squared, sums[0], 2 * sums[1])
                if null == GAMMA
                else log_weighted_chi2_upper(n * squared, sums)
            )
        correlation = math.sqrt(max(squared, 0.0) / math.sqrt(own_x * own_y))
        # The root, as the square may be beyond doubles.
        half, odd = divmod(x.exponent + y.exponent, 2)
        dcov = math.ldexp(math.sqrt(math.ldexp(max(squared, 0.0), odd)), half)
        details = {"dcov": dcov} | self.about_null(null)
        return min(correlation, 1.0), log_p, details

    def _drawn(
        self,
        x: RowColumn,
        y: RowColumn,
        found: tuple[float, float],
        key: tuple[int, int],
        threads: int,
    ) -> float:
        """ln p by permutations; `found` is Σ ab − 2/n·Σ a_i· b_i·, which changes, and dCov²."""
        changing, squared = found
        active = kernel.active()
        sums_x, sums_y = distance_sums(x).rows, distance_sums(y).rows
        n = len(sums_x)
        slack = _SLACK * max(squared, 0.0) * float(n) ** 2
        if max(x.n_labels, y.n_labels) <= 2:
            order = np.argsort(_line(x), kind="stable")
            of_x = np.ascontiguousarray(np.vstack([_line(x), sums_x])[:, order])
            of_y = np.ascontiguousarray(np.vstack([_line(y), sums_y]))

            def exceeds(first: int, last: int) -> int:
                drawn = active.permuted_distance_products(of_x, of_y, key, first, last)
                return int(np.count_nonzero(drawn >= changing - slack))

            return self.drawn_log_p(exceeds, threads)
        way_out = f"; use {parameter('null', 'gamma')}"
        require_memory(24 * n * n, None, f"permutations of {n} rows", way_out)
        a, b = centred(_matrix(x)), _matrix(y)

        def exceeds_in_matrix(first: int, last: int) -> int:
            drawn = active.permuted_products(a, b, key, first, last)
            return int(np.count_nonzero(drawn >= squared * float(n) ** 2 - slack))

        return self.drawn_log_p(exceeds_in_matrix, threads)


class DistanceSums(NamedTuple):
    """Sums of the distances of each row to all, and of these."""

    rows: Numbers
    total: float


def distance_sums(column: RowColumn) -> DistanceSums:
    """Sums of distances; those of numbers are in the units of `scaled`."""
    if column.codes is not None:
        rows = len(column.codes) - np.bincount(column.codes)[column.codes].astype(np.float64)
        return DistanceSums(rows, float(rows.sum()))
    values = _line(column)
    n = len(values)
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    before = np.concatenate([[0.0], np.cumsum(ascending)])
    places = np.arange(n)
    sums = ascending * (2 * places - n + 1) - before[:-1] + (before[-1] - before[1:])
    rows = np.empty(n)
    rows[order] = sums
    return DistanceSums(rows, float(sums.sum()))


def product_sum(x: RowColumn, y: RowColumn) -> float:
    """Σ a_ij·b_ij over all i and j."""
    if x.codes is not None and y.codes is not None:
        n = len(x.codes)
        table = np.bincount(x.codes * y.n_labels + y.codes)
        together = [np.bincount(x.codes), np.bincount(y.codes), table]
        same_x, same_y, same = (int((counts.astype(np.int64) ** 2).sum()) for counts in together)
        return float(n * n - same_x - same_y + same)
    if x.codes is not None:
        return product_sum(y, x)
    values = _line(x)
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    product = kernel.active().distance_product
    if y.codes is None:
        return product(ascending, np.ascontiguousarray(_line(y)[order]))
    codes = y.codes[order]
    levels = range(1, 2) if y.n_labels == 2 else range(y.n_labels)
    found = [product(ascending, (codes == level).astype(np.float64)) for level in levels]
    return found[0] if y.n_labels == 2 else math.fsum(found) / 2


def covariance(product: float, x: DistanceSums, y: DistanceSums) -> float:
    """dCov², by Σ ab and the sums of rows."""
    n = len(x.rows)
    by_rows = float(x.rows @ y.rows)
    return (product - 2 * by_rows / n + (x.total / n) * (y.total / n)) / n**2


def _traces(column: RowColumn, trace: float, of_square: float) -> tuple[float, float, float]:
    """Traces of powers of the centred distances, the third by its ratio to the second.

    For labels these are the traces of powers of diag(p) − pp'.
    """
    if column.codes is not None:
        shares = np.bincount(column.codes) / len(column.codes)
        some = np.diag(shares) - np.outer(shares, shares)
    else:
        ascending = np.sort(_line(column))
        n = len(ascending)
        chosen = ascending[np.linspace(0, n - 1, min(n, _QUANTILES)).astype(np.int64)]
        some = centred(-np.abs(chosen[:, None] - chosen[None, :]))
    _, second, third = power_traces(some)
    ratio = third / second**1.5 if second > 0 else 1.0
    return trace, of_square, ratio * of_square**1.5


def _line(column: RowColumn) -> Numbers:
    """Numbers about their middle, so that sums of them keep their digits; two labels as 0 and 1."""
    if column.codes is not None:
        return column.codes.astype(np.float64)
    scaled = column.scaled
    return scaled - np.median(scaled)


def _matrix(column: RowColumn) -> Numbers:
    values = _line(column)
    if column.codes is not None:
        return np.asarray(values[:, None] != values[None, :], dtype=np.float64)
    distances: Numbers = np.abs(values[:, None] - values[None, :])
    return distances
