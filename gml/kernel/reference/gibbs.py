"""Gibbs sampling of log-linear models: states are variables × chains.

A level is drawn by counting the thresholds that 40 random bits reach, where a threshold is the
cumulative probability of the levels before it times 2⁴⁰, rounded: a level of probability 0 ends
where it begins. The exponential function is made of sums and products alone, so that the compiled
kernel draws the same states.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.kernel.gibbs_plan import BITS, GibbsPlan, GibbsStep, ScopeLayout
from gml.kernel.reference.random import random_bits, random_mix
from gml.stopping import check_stopped

_SMALLEST = -700.0
_LOG2_E = float.fromhex("0x1.71547652b82fep0")
_LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")


class GibbsSampler:
    """Draws chains after a GibbsPlan; it has no tables before `set_tables`."""

    def __init__(self, plan: GibbsPlan) -> None:
        self._plan = plan
        self._numbers: NDArray[np.float64] | None = None

    def set_tables(self, numbers: NDArray[np.float64]) -> None:
        """Draw from these tables of logarithms from now on, all finite."""
        if len(numbers) != self._plan.n_cells:
            raise ValueError("these are not the tables of the plan")
        if not np.isfinite(numbers).all():
            raise ValueError("tables of logarithms must be finite")
        self._numbers = numbers.copy()

    def sweep(
        self, states: NDArray[Any], first: int, last: int, first_sweep: int, n_sweeps: int
    ) -> None:
        """Draw the chains from `first` to `last` (multiples of 64) in so many sweeps."""
        if self._numbers is None:
            raise ValueError("there are no tables to draw from")
        chains = np.arange(first, last, dtype=np.uint32)
        part = states[:, first:last]
        for sweep in range(first_sweep, first_sweep + n_sweeps):
            for step in self._plan.steps:
                check_stopped()
                ends = self._ends(step, self._numbers, part)
                bits = _draw_bits(self._plan.keys[step.target], sweep, chains)
                part[step.target] = (bits >= ends).sum(axis=0)

    def _ends(
        self, step: GibbsStep, numbers: NDArray[np.float64], states: NDArray[Any]
    ) -> NDArray[np.uint64]:
        """Thresholds, a row per level but the last."""
        n_levels = self._plan.n_levels[step.target]
        logs = np.zeros((n_levels, states.shape[1]))
        levels = np.arange(n_levels)[:, None]
        for factor in step.factors:
            places = np.full(states.shape[1], factor.start)
            for member, stride in zip(factor.members, factor.strides, strict=True):
                places += states[step.blanket[member]].astype(np.int64) * stride
            logs += numbers[places + levels * factor.stride]
        ends = np.cumsum(_exp_below(logs - logs.max(axis=0)), axis=0)
        shares: NDArray[np.float64] = ends[:-1] / ends[-1]
        return np.rint(shares * 2.0**BITS).astype(np.uint64)


def _exp_below(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """exp(x) for x ≤ 0; 0 below −700."""
    kept = np.maximum(x, _SMALLEST)
    power = np.rint(kept * _LOG2_E)
    r = (kept - power * _LN2_HIGH) - power * _LN2_LOW
    total = np.full_like(r, 1 / math.factorial(13))
    for k in reversed(range(13)):
        total = total * r + 1 / math.factorial(k)
    return np.where(x < _SMALLEST, 0.0, np.ldexp(total, power.astype(np.int64)))


def _draw_bits(
    key: NDArray[np.uint64], sweep: int, chains: NDArray[np.uint32]
) -> NDArray[np.uint64]:
    """40 bits per chain: the highest byte from a word that four chains share."""
    high = random_bits(key, np.array([sweep], dtype=np.uint64))
    low = random_mix(high)
    words = _hash32(chains // np.uint32(4), int(high[0]))
    bytes_ = words >> (np.uint32(8) * (chains % np.uint32(4))) & np.uint32(255)
    rest = _hash32(chains, int(low[0]))
    return bytes_.astype(np.uint64) << np.uint64(32) | rest.astype(np.uint64)


def _hash32(counters: NDArray[np.uint32], key: int) -> NDArray[np.uint32]:
    """Three rounds of multiplication and shift, with half of the key after the first of them.

    The constants are those of Wellons's triple32 (hash prospector, 2018).
    """
    x = counters * np.uint32(0x9E3779B9) + np.uint32(key & 0xFFFFFFFF)
    x = (x ^ (x >> np.uint32(17))) * np.uint32(0xED5AD4BB)
    x = (x ^ (x >> np.uint32(11))) + np.uint32(key >> 32)
    x = x * np.uint32(0xAC4C1B51)
    x = (x ^ (x >> np.uint32(15))) * np.uint32(0x31848BAB)
    return x ^ (x >> np.uint32(14))


def count_states(layout: ScopeLayout, states: NDArray[Any], n: int) -> NDArray[np.int64]:
    """How many of the first n chains are in each cell of each table."""
    counts = np.zeros(layout.n_cells, dtype=np.int64)
    for scope in range(layout.n_scopes):
        np.add.at(counts, _cells(layout, scope, states[:, :n]), 1)
    return counts


def sum_states(
    layout: ScopeLayout, states: NDArray[Any], n: int, numbers: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sum, for each of the first n chains, the numbers of the cells that it is in."""
    sums = np.zeros(n)
    for scope in range(layout.n_scopes):
        sums += numbers[_cells(layout, scope, states[:, :n])]
    return sums


def _cells(layout: ScopeLayout, scope: int, states: NDArray[Any]) -> NDArray[np.int64]:
    cells = np.full(states.shape[1], int(layout.tables[scope]))
    for m in range(int(layout.starts[scope]), int(layout.starts[scope + 1])):
        cells += states[layout.members[m]].astype(np.int64) * int(layout.strides[m])
    return cells
