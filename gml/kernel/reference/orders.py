"""Sums over orders of variables, in NumPy; see orders.h."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Logs = NDArray[np.float64]


def log_sum_sets(values: Logs, up: bool) -> None:
    """Make each value the log of the sum over all its subsets, or `up` supersets."""
    for bit in range(len(values).bit_length() - 1):
        halves = values.reshape(-1, 2, 1 << bit)
        one = 0 if up else 1
        np.logaddexp(halves[:, 0], halves[:, 1], out=halves[:, one])


def sum_orders(parents: Logs, rest: bool) -> Logs:
    """Logs of the sums over the orders of each set, or of the `rest` behind it."""
    m = len(parents)
    every = np.arange(1 << m)
    sizes = np.bitwise_count(every)
    sums = np.full(1 << m, -np.inf)
    sums[-1 if rest else 0] = 0.0
    for size in range(m - 1, -1, -1) if rest else range(1, m + 1):
        for x in range(m):
            here = every[(sizes == size) & (every >> x & 1 == (0 if rest else 1))]
            before, behind = here & ~(1 << x), here | 1 << x
            below = (1 << x) - 1
            index = before & below | before >> 1 & ~below
            term = parents[x][index] + sums[behind if rest else before]
            sums[here] = np.logaddexp(sums[here], term)
    return sums
