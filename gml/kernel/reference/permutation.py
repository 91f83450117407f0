"""Monte Carlo over tables with fixed stratum margins, all replicates of a chunk at once.

Draw d of replicate r uses the uniform number of counter r·draws + d under the key, and a
hypergeometric cell is found by inversion outwards from its mode: the compiled kernel does the same,
number for number.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gml.kernel.reference.random import random_uniform
from gml.kernel.reference.statistics import divergence
from gml.kernel.reference.tail import deviance, stirling_error
from gml.stopping import check_stopped

_MAX_LOG_FACTORIALS = 1024
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def _log_binomial(k: int, n: int, p: float, q: float) -> float:
    """ln of the binomial density at k (Loader 2000)."""
    if k == 0:
        return n * (math.log1p(-p) if p < 0.5 else math.log(q))
    if k == n:
        return n * (math.log1p(-q) if q < 0.5 else math.log(p))
    return (
        stirling_error(n)
        - stirling_error(k)
        - stirling_error(n - k)
        - deviance(k, n * p)
        - deviance(n - k, n * q)
        - _HALF_LOG_2PI
        - 0.5 * (math.log(k) + math.log1p(-k / n))
    )


def _log_hypergeometric_at(k: int, total: int, marked: int, drawn: int) -> float:
    if total < _MAX_LOG_FACTORIALS:
        plus = (marked, total - marked, drawn, total - drawn)
        minus = (k, marked - k, drawn - k, total - marked - drawn + k, total)
        f = [math.lgamma(i + 1.0) for i in (*plus, *minus)]
        return f[0] - f[4] - f[5] + f[1] - f[6] - f[7] - f[8] + f[2] + f[3]
    p, q = drawn / total, (total - drawn) / total
    return (
        _log_binomial(k, marked, p, q)
        + _log_binomial(drawn - k, total - marked, p, q)
        - _log_binomial(drawn, total, p, q)
    )


def _log_hypergeometric(
    k: NDArray[np.int64],
    total: NDArray[np.int64],
    marked: NDArray[np.int64],
    drawn: NDArray[np.int64],
) -> NDArray[np.float64]:
    """ln P(k marked among `drawn` of `total`, `marked` of them marked), once per distinct case."""
    cases, inverse = np.unique(
        np.column_stack([k, total, marked, drawn]), axis=0, return_inverse=True
    )
    values = [
        0.0
        if min(drawn, marked) == max(drawn - (total - marked), 0)
        else _log_hypergeometric_at(k, total, marked, drawn)
        for k, total, marked, drawn in cases.tolist()
    ]
    return np.array(values)[inverse.reshape(-1)]


def _hypergeometric(
    u: NDArray[np.float64],
    total: NDArray[np.int64],
    marked: NDArray[np.int64],
    drawn: NDArray[np.int64],
) -> NDArray[np.int64]:
    lowest = np.maximum(drawn - (total - marked), 0)
    highest = np.minimum(drawn, marked)
    mode = ((drawn + 1.0) * (marked + 1.0) / (total + 2.0)).astype(np.int64)
    mode = np.clip(mode, lowest, highest)
    at_mode = np.exp(_log_hypergeometric(mode, total, marked, drawn))
    result: NDArray[np.int64] = mode.copy()
    unmarked_left = (total - marked - drawn).astype(np.float64)
    down, up = mode.copy(), mode.copy()
    p_down, p_up = at_mode.copy(), at_mode.copy()
    u = u - at_mode
    open_ = (u >= 0) & (lowest < highest)
    while open_.any():
        check_stopped()
        before = u.copy()
        step = open_ & (down > lowest)
        k = down[step].astype(np.float64)
        p_down[step] *= (
            k * (unmarked_left[step] + k) / ((marked[step] - k + 1) * (drawn[step] - k + 1))
        )
        down[step] -= 1
        u[step] -= p_down[step]
        done = step & (u < 0)
        result[done] = down[done]
        open_ &= ~done
        step = open_ & (up < highest)
        k = up[step].astype(np.float64)
        p_up[step] *= (
            (marked[step] - k) * (drawn[step] - k) / ((k + 1) * (unmarked_left[step] + k + 1))
        )
        up[step] += 1
        u[step] -= p_up[step]
        done = step & (u < 0)
        result[done] = up[done]
        open_ &= ~done
        open_ &= ((down > lowest) | (up < highest)) & (u != before)
    return result


def permutation_draws(
    table: NDArray[np.int64], key: tuple[int, int], first: int, last: int
) -> NDArray[np.float64]:
    """G of the replicates first..last-1 of a table, its stratum margins fixed."""
    margins = []
    draws = 0
    for stratum in table:
        rows, columns = stratum.sum(1), stratum.sum(0)
        rows, columns = rows[rows > 0], columns[columns > 0]
        if len(rows) > 1 and len(columns) > 1:
            margins.append((rows, columns))
            draws += (len(rows) - 1) * (len(columns) - 1)
    replicates = np.arange(first, last, dtype=np.uint64)
    counters = replicates * np.uint64(draws)
    g = np.zeros(len(replicates))
    for rows, columns in margins:
        drawn, counters = _draw_tables(rows, columns, key, counters)
        n = int(rows.sum())
        product = rows[:, None].astype(float) * columns[None, :].astype(float)
        t = (drawn.astype(float) * n - product) / product
        half = np.zeros(len(g))
        for a in range(len(rows)):
            for b in range(len(columns)):
                half += product[a, b] / n * divergence(t[:, a, b])
        g += 2 * half
    return g


def information_loss_draws(
    table: NDArray[np.int64],
    weights: NDArray[np.float64],
    groups: NDArray[np.int64],
    key: tuple[int, int],
    first: int,
    last: int,
) -> NDArray[np.float64]:
    """Information that a second sample has less, in replicates first..last-1 of sharing out rows.

    `table` is strata × 2 × columns, every stratum with rows in both samples. The information of a
    sample is Σ_z w_z H(mixture of z) − Σ_s w_s H(stratum s): mixtures are over the strata of a
    group (side by side) with their `weights`, which both samples share.
    """
    replicates = np.arange(first, last, dtype=np.uint64)
    counters = replicates * np.uint64(len(table) * (table.shape[2] - 1))
    drawn = np.empty((len(replicates), *table.shape), dtype=np.int64)
    for s, stratum in enumerate(table):
        drawn[:, s], counters = _draw_tables(stratum.sum(1), stratum.sum(0), key, counters)
    return information_loss(drawn, weights, groups)


def information_loss(
    table: NDArray[np.int64], weights: NDArray[np.float64], groups: NDArray[np.int64]
) -> NDArray[np.float64]:
    """How much less information a second sample has; the last axes are strata × 2 × columns."""
    shares = table / table.sum(axis=-1, keepdims=True)
    inner = (weights[:, None] * _entropy(shares)).sum(axis=-2)
    starts = np.flatnonzero(np.diff(groups, prepend=np.nan))
    mixed = np.add.reduceat(weights[:, None, None] * shares, starts, axis=-3)
    total = np.add.reduceat(weights, starts)
    outer = (total[:, None] * _entropy(mixed / total[:, None, None])).sum(axis=-2)
    information = outer - inner
    difference: NDArray[np.float64] = information[..., 0] - information[..., 1]
    return difference


def _entropy(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    seen = np.where(shares > 0, shares, 1.0)
    entropy: NDArray[np.float64] = -(seen * np.log(seen)).sum(axis=-1)
    return entropy


def _draw_tables(
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    key: tuple[int, int],
    counters: NDArray[np.uint64],
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    size = len(counters)
    tables = np.empty((size, len(rows), len(columns)), dtype=np.int64)
    left = np.tile(columns, (size, 1))
    remaining = int(rows.sum())
    for a in range(len(rows) - 1):
        in_row = np.full(size, rows[a])
        pool = np.full(size, remaining)
        for b in range(len(columns) - 1):
            count = _hypergeometric(random_uniform(key, counters), pool, left[:, b], in_row)
            counters = counters + np.uint64(1)
            tables[:, a, b] = count
            in_row = in_row - count
            pool = pool - left[:, b]
            left[:, b] -= count
        tables[:, a, -1] = in_row
        left[:, -1] -= in_row
        remaining -= int(rows[a])
    tables[:, -1, :] = left
    return tables, counters
