"""The conditioning sets of PC by itertools."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice
from math import comb

import numpy as np
from numpy.typing import NDArray

from gml.stopping import check_stopped

_MANY = 1 << 62


class ConditioningSets:
    """The sets of `level` nodes that PC conditions the pairs on; see the compiled class."""

    def __init__(
        self,
        neighbours: NDArray[np.bool_],
        tiers: NDArray[np.int32],
        pairs: NDArray[np.int32],
        level: int,
    ) -> None:
        self._neighbours = neighbours
        self._tiers = tiers
        self._pairs = pairs
        self._level = level
        self.totals = np.array([self._total(*pair) for pair in pairs.tolist()], dtype=np.int64)

    def _candidates(self, x: int, y: int) -> list[int]:
        tier_x, tier_y = int(self._tiers[x]), int(self._tiers[y])
        latest = None if min(tier_x, tier_y) < 0 else max(tier_x, tier_y)
        return [
            k
            for k in np.flatnonzero(self._neighbours[x]).tolist()
            if k != y and (latest is None or self._tiers[k] <= latest)
        ]

    def _total(self, x: int, y: int) -> int:
        of_x, of_y = self._candidates(x, y), self._candidates(y, x)
        shared = len(set(of_x) & set(of_y))
        sizes = ((len(of_x), 1), (len(of_y), 1), (shared, -1))
        return min(_MANY, sum(sign * comb(size, self._level) for size, sign in sizes))

    def _sets(self, x: int, y: int) -> Iterator[tuple[int, ...]]:
        of_x = self._candidates(x, y)
        yield from combinations(of_x, self._level)
        for members in combinations(self._candidates(y, x), self._level):
            if not set(members) <= set(of_x):
                yield members

    def fill(
        self, which: NDArray[np.int64], first: NDArray[np.int64], count: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """Rows (x, y, *set): for pair which[k] the sets number first[k] and the count[k]-1 next."""
        rows = []
        for k in range(len(which)):
            check_stopped()
            x, y = self._pairs[which[k]].tolist()
            some = islice(self._sets(x, y), int(first[k]), int(first[k] + count[k]))
            rows += [(x, y, *members) for members in some]
        return np.array(rows, dtype=np.int32).reshape(-1, self._level + 2)
