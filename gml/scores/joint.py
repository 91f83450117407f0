"""Joint values of sets of columns, from which equivalent scores of families follow.

Under BDeu all complete DAGs over a set have the same marginal likelihood, so that for every set T
of columns there is one number h(T) with score(x | S) = h(S ∪ x) − h(S) (Heckerman, Geiger &
Chickering 1995, theorem 6). A search that needs the scores of many families of all children asks
for each set once instead of once per member. The difference has an error of
about 10⁻¹⁵·n ln n, far below the 2⁻²⁰ nats to which searches round.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter, FamilyArray
from gml.kernel.layout import JOINT, OF_TABLE, FamilyRule

MOST_COLUMNS = 64
MOST_ROWS = 1_000_000
_LAST = np.uint64(MOST_COLUMNS - 1)

Sets = NDArray[np.uint64]
Numbers = NDArray[np.float64]


class JointValues:
    """h(T) and the configurations of T that occur, kept for the sizes in use.

    A set is a number of bits, the first name highest, so that sets that begin alike are neighbours.
    """

    def __init__(self, counter: Counter, ess: float) -> None:
        self._counter = counter
        self._rule = FamilyRule(JOINT, OF_TABLE, ess)
        self._by_name = counter.order.positions
        self._bit = np.uint64(1) << (_LAST - counter.order.ranks.astype(np.uint64))
        self._known: dict[int, tuple[Sets, Numbers]] = {}

    @property
    def held(self) -> int:
        """Bytes that are kept."""
        return sum(sets.nbytes + numbers.nbytes for sets, numbers in self._known.values())

    def families(self, families: FamilyArray) -> tuple[Numbers, Numbers]:
        """The score of each family, and the number of its cells that have rows."""
        bits = self._bit[families.rows]
        parents = np.bitwise_or.reduce(bits[:, 1:], axis=1, initial=np.uint64(0))
        size = bits.shape[1]
        for old in [known for known in self._known if known not in (size - 1, size)]:
            del self._known[old]
        whole = self._ask(parents | bits[:, 0], size)
        return whole[:, 0] - self._ask(parents, size - 1)[:, 0], whole[:, 1]

    def _ask(self, sets: Sets, size: int) -> Numbers:
        if size == 0:
            return np.zeros((len(sets), 2))
        known, numbers = self._known.get(size, (np.empty(0, dtype=np.uint64), np.empty((0, 2))))
        wanted, places = np.unique(sets, return_inverse=True)
        new = np.setdiff1d(wanted, known, assume_unique=True)
        if len(new):
            values = self._counter.family_ceilings(self._rows(new, size), self._rule, 0.0)
            known = np.concatenate([known, new])
            order = np.argsort(known, kind="stable")
            known, numbers = known[order], np.vstack([numbers, np.stack(values, axis=1)])[order]
            self._known[size] = known, numbers
        found: Numbers = numbers[np.searchsorted(known, wanted)][places]
        return found

    def _rows(self, sets: Sets, size: int) -> FamilyArray:
        """The members of sets; the last by name is the child."""
        rows = np.empty((len(sets), size), dtype=np.int32)
        left = sets
        for k in range(size):
            lowest = left & (~left + np.uint64(1))
            rows[:, k] = self._by_name[_LAST - np.bitwise_count(lowest - np.uint64(1))]
            left = left ^ lowest
        return FamilyArray(rows)
