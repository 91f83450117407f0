"""Which unshielded triples x — k — y of a skeleton are colliders, and how sure that is.

Each rule gives every triple a weight w: above 0 a collider, below 0 not, 0 undecided; |w|, in nats,
is what a contradiction with other triples has to outweigh. Margins are ln p − ln α (see
`gml.independence.base`), so the largest margin belongs to the largest p-value.

- `max-p` (Ramsey 2016, arXiv:1610.00378): all sets of the level at which x and y were separated are
  tested; w = largest margin without k − largest margin with k. Where there is no set of one sort,
  as at level 0, its margin is 0: that of a p-value at α.
- `sepset` (Spirtes, Glymour & Scheines 2000): a collider iff k is not in the first separating set.
- `conservative` (Ramsey, Zhang & Spirtes 2006): all sets of neighbours of x or y in the skeleton
  are tested; a collider iff no separating one has k, not one iff all have it, else undecided.
- `majority` (Colombo & Maathuis 2014): the same sets; by whether fewer or more than half of the
  separating ones have k.

For the last three |w| is the largest margin of the separating sets that speak for the decision.
A pair that was never tested leaves its triples undecided.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.graph.extension import Triple
from gml.graph.orientation import unshielded_triples
from gml.learn.skeleton import Asker, Skeleton, slices
from gml.progress import Deadline, reporter

# Weights stay finite, so that their sums do.
_LARGEST = 1e9
# A separating set that is not clear of α still separates.
_LEAST = 1e-9

Pair = tuple[int, int]


class Weighed(NamedTuple):
    """Weights of the triples, the tests that took, and whether there was time for all."""

    weights: dict[Triple, float]
    tests: int
    complete: bool


class _Sets(NamedTuple):
    """Conditioning sets of a pair, a row each, and their margins."""

    given: list[tuple[int, ...]]
    margins: NDArray[np.float64]


def weigh_triples(
    asker: Asker,
    skeleton: Skeleton,
    tiers: NDArray[np.int32],
    *,
    rule: str,
    max_cond: int | None,
    deadline: Deadline,
) -> Weighed:
    """Weigh the unshielded triples; at the deadline by what is known of the separating sets."""
    triples = unshielded_triples(skeleton.adjacent)
    tested = sorted({(x, y) for x, _, y in triples if skeleton.level[x, y] >= 0})
    first = {
        (x, y): _Sets([found.given], found.margins[-1:])
        for x, y in tested
        for found in (skeleton.separation(x, y),)
    }
    search = _Search(asker, skeleton, tiers, deadline)
    found, decide = first, _by_first_set
    if rule == "max-p":
        found = first | search.sets_of_separating_level(tested)
        decide = _by_largest_p
    elif rule != "sepset":
        all_sets = search.sets_among_neighbours(tested, max_cond)
        if search.complete:
            found, decide = all_sets, _by_all if rule == "conservative" else _by_most
    weights = {(x, k, y): decide(k, found[x, y]) if (x, y) in found else 0.0 for x, k, y in triples}
    reporter().status(None)
    return Weighed(weights, search.tests, search.complete)


def _with(k: int, sets: _Sets) -> NDArray[np.bool_]:
    return np.array([k in given for given in sets.given], dtype=bool)


def _by_largest_p(k: int, sets: _Sets) -> float:
    has = _with(k, sets)
    usable = ~np.isnan(sets.margins)
    return _largest(sets.margins[usable & ~has]) - _largest(sets.margins[usable & has])


def _largest(margins: NDArray[np.float64]) -> float:
    return float(np.clip(margins.max(), -_LARGEST, _LARGEST)) if margins.size else 0.0


def _by_first_set(k: int, sets: _Sets) -> float:
    size = max(_LEAST, float(sets.margins[-1]))
    return -size if k in sets.given[-1] else size


def _by_all(k: int, sets: _Sets) -> float:
    separating = sets.margins >= 0
    has = _with(k, sets)[separating]
    if not separating.any() or (has.any() and not has.all()):
        return 0.0
    size = max(_LEAST, float(sets.margins[separating].max()))
    return -size if has.all() else size


def _by_most(k: int, sets: _Sets) -> float:
    separating = sets.margins >= 0
    has = _with(k, sets)
    n_with, n_without = np.count_nonzero(has & separating), np.count_nonzero(~has & separating)
    if n_with == n_without:
        return 0.0
    agreeing = sets.margins[separating & (has if n_with > n_without else ~has)]
    size = max(_LEAST, float(agreeing.max()))
    return -size if n_with > n_without else size


class _Search:
    """Tests the sets that the rules ask for."""

    def __init__(
        self, asker: Asker, skeleton: Skeleton, tiers: NDArray[np.int32], deadline: Deadline
    ) -> None:
        self._asker = asker
        self._skeleton = skeleton
        self._tiers = tiers
        self._deadline = deadline
        self.tests = 0
        self.complete = True

    def sets_of_separating_level(self, pairs: list[Pair]) -> dict[Pair, _Sets]:
        """All sets of the level that separated each pair; those before the first are known."""
        found: dict[Pair, _Sets] = {}
        level = self._skeleton.level
        for at, neighbours in enumerate(self._skeleton.frozen):
            of_level = [pair for pair in pairs if level[pair] == at]
            known = [self._skeleton.separation(*pair).margins for pair in of_level]
            found |= self._ask(of_level, neighbours, at, known)
        return found

    def sets_among_neighbours(self, pairs: list[Pair], max_cond: int | None) -> dict[Pair, _Sets]:
        """All sets of neighbours in the skeleton, of every size."""
        found: dict[Pair, _Sets] = {}
        adjacent = self._skeleton.adjacent
        most = int(adjacent.sum(axis=1).max(initial=0))
        none: list[NDArray[np.float64]] = [np.zeros(0)] * len(pairs)
        for size in range(min(most, most if max_cond is None else max_cond) + 1):
            for pair, sets in self._ask(pairs, adjacent, size, none).items():
                before = found.get(pair, _Sets([], np.zeros(0)))
                found[pair] = _Sets(
                    before.given + sets.given, np.concatenate([before.margins, sets.margins])
                )
        return found

    def _ask(
        self,
        pairs: list[Pair],
        neighbours: NDArray[np.bool_],
        size: int,
        known: list[NDArray[np.float64]],
    ) -> dict[Pair, _Sets]:
        """Sets of each pair with their margins, of which the first ones are known."""
        found: dict[Pair, _Sets] = {}
        array = np.array(pairs, dtype=np.int32).reshape(-1, 2)
        sets = kernel.active().ConditioningSets(neighbours, self._tiers, array, size)
        for start, stop in slices(sets.totals):
            if self._deadline.passed:
                self.complete = False
                break
            which = np.arange(start, stop, dtype=np.int64)
            totals = sets.totals[start:stop]
            rows = sets.fill(which, np.zeros_like(totals), totals)
            new = np.concatenate(
                [np.arange(totals[k]) >= len(known[start + k]) for k in range(len(totals))]
            )
            margins = np.empty(len(rows))
            margins[~new] = np.concatenate(known[start:stop])
            margins[new], results = self._asker.ask(rows[new])
            self._asker.record("colliders", rows[new], results, margins[new].tolist())
            self.tests += int(np.count_nonzero(new))
            ends = np.cumsum(totals).tolist()
            for k, end in zip(which.tolist(), ends, strict=True):
                inside = slice(end - int(sets.totals[k]), end)
                given = [tuple(row) for row in rows[inside, 2:].tolist()]
                found[pairs[k]] = _Sets(given, margins[inside])
            reporter().status(f"colliders: {self.tests:,} more tests")
        return found
