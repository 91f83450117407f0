"""Sets of parents, and dynamic programming over sets of variables, in NumPy; see subsets.h."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gml.kernel.layout import NEVER, GrownSets
from gml.stopping import check_stopped

Sets = NDArray[np.uint64]
Units = NDArray[np.int64]


def grow_sets(sets: Sets, best: Units, candidates: int, room: int) -> GrownSets:
    """Sets of one more member all of whose subsets of this size exist, and the best of these.

    `room` is an upper limit on their number.
    """
    bits = [1 << j for j in range(64) if candidates >> j & 1]
    pairs = [
        (i, int(some) | bit) for i, some in enumerate(sets.tolist()) for bit in bits if bit > some
    ]
    base = np.array([i for i, _ in pairs], dtype=np.int64)
    grown = np.array([larger for _, larger in pairs], dtype=np.uint64)
    values = best[base]
    order = np.argsort(sets)
    left = sets[base]
    whole = np.ones(len(grown), dtype=bool)
    while left.any():
        check_stopped()
        lowest = left & (~left + np.uint64(1))
        subset = np.where(lowest > 0, grown ^ lowest, sets[base])
        place = order[np.minimum(np.searchsorted(sets, subset, sorter=order), len(sets) - 1)]
        whole &= sets[place] == subset
        values = np.maximum(values, best[place])
        left = left ^ lowest
    return GrownSets(grown[whole], values[whole])


def best_sinks(
    masks: Sets,
    units: Units,
    starts: NDArray[np.int64],
    low: int,
    first: int,
    last: int,
    best: Units,
    sinks: NDArray[np.uint8],
) -> None:
    """Slices `first` to `last` - 1 of the best orders of all sets of variables."""
    m = len(starts) - 1
    lows = np.arange(1 << low, dtype=np.int64)
    sizes = np.bitwise_count(lows)
    for hi in range(first, last):
        check_stopped()
        parents = {
            x: best_within(
                masks[starts[x] : starts[x + 1]], units[starts[x] : starts[x + 1]], low, hi
            )
            for x in range(m)
            if not (hi << low) >> x & 1
        }
        for size in range(low + 1):
            chosen = lows[sizes == size]
            # The first of several sinks comes last, and stays.
            for x in reversed(parents):
                lo = chosen[(hi << low | chosen) >> x & 1 == 0]
                some = hi << low | lo
                possible = (best[some] != NEVER) & (parents[x][lo] != NEVER)
                some, lo = some[possible], lo[possible]
                value = best[some] + parents[x][lo]
                larger = some | 1 << x
                better = value >= best[larger]
                best[larger[better]] = value[better]
                sinks[larger[better]] = x


def best_within(masks: Sets, units: Units, low: int, hi: int) -> Units:
    """The best set of parents within hi and each set of low bits."""
    found = np.full(1 << low, NEVER)
    inside = (masks >> np.uint64(low)) & ~np.uint64(hi) == 0
    np.maximum.at(
        found, (masks[inside] & np.uint64((1 << low) - 1)).astype(np.int64), units[inside]
    )
    for bit in range(low):
        halves = found.reshape(-1, 2, 1 << bit)
        np.maximum(halves[:, 1], halves[:, 0], out=halves[:, 1])
    return found
