"""Sums over orders of variables and chains of them, in NumPy; see orders.h."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml.kernel.reference.random import random_uniform
from gml.stopping import check_stopped

_NOTHING = -40.0
_SWAP_ANY = 0.4
_SWAP_NEIGHBOURS = 0.7

Logs = NDArray[np.float64]


def log_sum_sets(values: Logs, up: bool) -> None:
    """Make each value the log of the sum over all its subsets, or `up` supersets."""
    for bit in range(len(values).bit_length() - 1):
        check_stopped()
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
            check_stopped()
            here = every[(sizes == size) & (every >> x & 1 == (0 if rest else 1))]
            before, behind = here & ~(1 << x), here | 1 << x
            below = (1 << x) - 1
            index = before & below | before >> 1 & ~below
            term = parents[x][index] + sums[behind if rest else before]
            sums[here] = np.logaddexp(sums[here], term)
    return sums


class OrderChain:
    """A Markov chain over orders of variables; see orders.h for the sets of their parents."""

    def __init__(
        self,
        candidates: NDArray[np.int32],
        candidate_starts: NDArray[np.int64],
        sets: NDArray[np.uint64],
        logs: Logs,
        set_starts: NDArray[np.int64],
        order: Sequence[int],
        key: Sequence[int],
    ) -> None:
        n = len(set_starts) - 1
        self.order = np.array(order, dtype=np.int32)
        self._key = key
        self._candidates = [
            candidates[candidate_starts[x] : candidate_starts[x + 1]] for x in range(n)
        ]
        self._sets = [sets[set_starts[x] : set_starts[x + 1]] for x in range(n)]
        self._logs = [logs[set_starts[x] : set_starts[x + 1]] for x in range(n)]
        self._position = np.argsort(self.order)
        self.sums = np.array([self._sum(x) for x in range(n)])

    def _before(self, x: int) -> NDArray[np.bool_]:
        """Which sets of parents of x come before it."""
        place = self._position
        bits = [1 << k for k, y in enumerate(self._candidates[x].tolist()) if place[y] < place[x]]
        inside: NDArray[np.bool_] = self._sets[x] & ~np.uint64(sum(bits)) == 0
        return inside

    def _sum(self, x: int) -> float:
        logs = self._logs[x][self._before(x)]
        if not len(logs):
            return -math.inf
        near = logs[logs - logs[0] > _NOTHING]
        return float(logs[0] + np.log(np.cumsum(np.exp(near - logs[0]))[-1]))

    def walk(self, first: int, last: int) -> int:
        """Take some steps; returns how many were accepted."""
        accepted, n = 0, len(self.order)
        for step in range(first, last if n > 1 else first):
            check_stopped()
            draws = random_uniform(self._key, np.arange(4 * step, 4 * step + 4, dtype=np.uint64))
            before, sums = self.order.copy(), self.sums.copy()
            low, high = self._propose(draws.tolist())
            self._position = np.argsort(self.order)
            change = 0.0
            for x in self.order[low : high + 1].tolist():
                self.sums[x] = self._sum(x)
                change += self.sums[x] - sums[x]
            if draws[3] < math.exp(min(change, 0.0)):
                accepted += 1
            else:
                self.order[:], self.sums[:] = before, sums
                self._position = np.argsort(self.order)
        return accepted

    def _propose(self, draws: list[float]) -> tuple[int, int]:
        n = len(self.order)
        kind = draws[0]
        if _SWAP_ANY <= kind < _SWAP_NEIGHBOURS:
            i = int(draws[1] * (n - 1))
            j = i + 1
        else:
            i, j = int(draws[1] * n), int(draws[2] * n)
        if kind < _SWAP_NEIGHBOURS:
            self.order[[i, j]] = self.order[[j, i]]
        else:
            moved = self.order[i]
            self.order[:] = np.insert(np.delete(self.order, i), j, moved)
        return min(i, j), max(i, j)

    def edges(self) -> NDArray[np.float64]:
        """Probabilities of the edges, from row to column, given the order."""
        n = len(self.order)
        found = np.zeros((n, n))
        for x in range(n):
            near = self._before(x) & (self._logs[x] - self.sums[x] > _NOTHING)
            shares = np.exp(self._logs[x][near] - self.sums[x])
            for k, y in enumerate(self._candidates[x].tolist()):
                found[y, x] = shares[self._sets[x][near] >> np.uint64(k) & np.uint64(1) == 1].sum()
        return found
