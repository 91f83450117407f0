"""G, X² and the Bayes factor of a stratified table, in NumPy.

Since ΣO = ΣE in each stratum, G/2 = Σ E·((1+t) ln(1+t) − t) with t = (O−E)/E = (On − RC)/RC. No
term is negative and the deviation On − RC is an exact integer, so G keeps its digits however close
to independence the table is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.kernel.layout import TableStatistics
from gml.kernel.reference.null_moments import moments_of_stratum
from gml.kernel.reference.tail import stirling_error

_SERIES_TERMS = 40
# How far the mean of G may be above its degrees of freedom, in standard deviations.
_DENSE = 0.1
# With Poisson cells the mean of G is at most this often as far above it as Williams' formula says.
_ABOVE_WILLIAMS = 2
# Where neither G nor X² is this far above its mean, in standard deviations, p is large anyway.
_TELLING = 0.5
# Where G is so far above it, p is tiny, however uneven the margins are.
_CERTAIN = 20


def divergence(t: NDArray[np.float64]) -> NDArray[np.float64]:
    """(1+t) ln(1+t) − t without cancellation, t ≥ −1."""
    small = np.abs(t) < 0.125
    near = np.where(small, t, 0.0)
    series = np.zeros_like(t)
    for k in range(_SERIES_TERMS, 1, -1):
        series = 1 / (k * (k - 1)) - near * series
    far = np.where(small | (t <= -1), 0.0, t)
    direct = np.where(t <= -1, 1.0, (1 + far) * np.log1p(far) - far)
    return np.where(small, near * near * series, direct)


def _deviation(
    table: NDArray[np.int64], rows: NDArray[Any], columns: NDArray[Any], n: int
) -> NDArray[np.float64]:
    if n < 2**31:
        return np.asarray(table * n - rows * columns, dtype=np.float64)
    exact = table.astype(object) * n - rows.astype(object) * columns.astype(object)
    return np.asarray(exact, dtype=np.float64)


def g_of_stratum(stratum: NDArray[np.int64]) -> float:
    """G of one two-way table."""
    rows, columns, n = stratum.sum(1)[:, None], stratum.sum(0)[None, :], int(stratum.sum())
    product = rows.astype(float) * columns.astype(float)
    t = _deviation(stratum, rows, columns, n) / np.where(product > 0, product, 1)
    return 2 * float(np.sum(product / n * divergence(t)))


def table_statistics_of(table: NDArray[np.int64]) -> TableStatistics:
    """Statistics of one table[stratum, x, y]; the levels seen of Z stay the caller's to fill in."""
    return statistics_of_strata(table, *table.shape[1:])


def statistics_of_strata(
    strata: Iterable[NDArray[np.int64]], x_levels: int, y_levels: int
) -> TableStatistics:
    """Statistics of the strata of one table; the levels seen of Z stay the caller's to fill in."""
    out = TableStatistics.zeros(1)
    g_excess = np.zeros(2)
    all_rows = np.zeros(x_levels, dtype=np.int64)
    all_columns = np.zeros(y_levels, dtype=np.int64)
    for stratum in strata:
        rows, columns, n = stratum.sum(1), stratum.sum(0), int(stratum.sum())
        all_rows += rows
        all_columns += columns
        if n == 0:
            continue
        seen_rows, seen_columns = np.count_nonzero(rows), np.count_nonzero(columns)
        out.n[0] += n
        out.seen_strata[0] += 1
        out.cells_xyz[0] += np.count_nonzero(stratum)
        out.cells_xz[0] += seen_rows
        out.cells_yz[0] += seen_columns
        df = (seen_rows - 1) * (seen_columns - 1)
        if df == 0:
            continue
        out.df_adjusted[0] += df
        out.v_denominator[0] += float(n) * (min(seen_rows, seen_columns) - 1)
        out.g[0] += g_of_stratum(stratum)
        product = rows[:, None].astype(float) * columns[None, :].astype(float)
        deviation = _deviation(stratum, rows[:, None], columns[None, :], n)
        inside = product > 0
        out.x2[0] += float(np.sum(deviation[inside] ** 2 / (product[inside] * n)))
        moments = moments_of_stratum(rows[rows > 0], columns[columns > 0])
        out.x2_mean[0] += moments.x2_mean
        out.x2_variance[0] += moments.x2_variance
        out.x2_third[0] += moments.x2_third
        g_excess += (moments.g_excess, moments.poisson_g_excess)
    out.seen_x[0] = np.count_nonzero(all_rows)
    out.seen_y[0] = np.count_nonzero(all_columns)
    if _is_dense(out, *g_excess):
        out.x2_third[0] = np.nan
    elif not _is_telling(out):
        out.x2_third[0] = 0.0
    return out


def _is_dense(found: TableStatistics, g_excess: float, poisson_g_excess: float) -> bool:
    """Whether the mean of G under independence is above df by _DENSE of its deviation at most."""
    strata = max(int(found.seen_strata[0]), 1)
    rows, columns = found.cells_xz[0] / strata, found.cells_yz[0] / strata
    n = max(int(found.n[0]), 1)
    excess = float(strata) ** 2 * (rows**2 - 1) * (columns**2 - 1) / (6 * n)
    limit = _DENSE * math.sqrt(2 * found.df_adjusted[0])
    above = min(_ABOVE_WILLIAMS * g_excess, poisson_g_excess)
    df = found.df_adjusted[0]
    certain = found.g[0] > df + _CERTAIN * math.sqrt(2 * df)
    return bool(excess <= limit and (above <= limit or certain or not _is_telling(found)))


def _is_telling(found: TableStatistics) -> bool:
    """Whether G or X² is so far above its mean that p matters."""
    df, variance = found.df_adjusted[0], max(found.x2_variance[0], 0.0)
    return bool(
        found.g[0] > df + _TELLING * math.sqrt(2 * df)
        or found.x2[0] > found.x2_mean[0] + _TELLING * math.sqrt(variance)
    )


def _stirling_rest(n: int, a: float) -> float:
    """What ln Γ(n+a) − ln Γ(a) has besides z ln z − z, z = n + a."""
    if n == 0:
        return 0.0
    return stirling_error(n + a) - stirling_error(a) - 0.5 * math.log1p(n / a)


def log_bayes_factor(table: NDArray[np.int64], alpha: float) -> float:
    """ln of BDeu(x | y, Z) over BDeu(x | Z) with prior count `alpha` per cell; seen levels only.

    With z = n + prior count, the parts z ln z of ln Γ(z_xy) + ln Γ(z) − ln Γ(z_x) − ln Γ(z_y) add
    up to half the G of the table of z, and the parts z cancel: nothing of the size n ln n is
    subtracted.
    """
    r, c = table.shape[1:]
    total = 0.0
    for stratum in table:
        rows, columns, n = stratum.sum(1), stratum.sum(0), int(stratum.sum())
        if n == 0:
            continue
        product = (rows[:, None] + alpha * c) * (columns[None, :] + alpha * r)
        deviation = _deviation(stratum, rows[:, None], columns[None, :], n) + alpha * (
            n + float(r) * c * stratum - float(r) * rows[:, None] - float(c) * columns[None, :]
        )
        total += float(np.sum(product / (n + alpha * r * c) * divergence(deviation / product)))
        total += _stirling_rest(n, alpha * r * c)
        total -= sum(_stirling_rest(int(k), alpha * c) for k in rows)
        total -= sum(_stirling_rest(int(k), alpha * r) for k in columns)
        total += sum(_stirling_rest(int(k), alpha) for k in stratum.reshape(-1))
    return total
