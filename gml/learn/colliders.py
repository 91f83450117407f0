"""Which unshielded triples x — k — y of a skeleton are colliders, and how sure that is.

Each rule gives every triple a weight w: above 0 a collider, below 0 not, 0 undecided; |w|, in nats,
is what a contradiction with other triples has to outweigh. Margins are ln p − ln α (see
`gml.independence.base`), so the largest margin belongs to the largest p-value.

- `max-p` (Ramsey 2016, arXiv:1610.00378): all sets of neighbours of x or y in the skeleton are
  tested; w = largest margin without k − largest margin with k, over these sets and the first that
  separated the pair. Where there is no set of one sort its margin is 0: that of a p-value at α.
- `sepset` (Spirtes, Glymour & Scheines 2000): a collider iff k is not in the first separating set.
- `conservative` (Ramsey, Zhang & Spirtes 2006): the same sets; a collider iff no separating one
  has k, not one iff all have it, else undecided.
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
    """Conditioning sets of a pair, a row each, filled up with -1, and their margins."""

    given: NDArray[np.int32]
    margins: NDArray[np.float64]

    def has(self, k: int) -> NDArray[np.bool_]:
        """Which sets k is in."""
        found: NDArray[np.bool_] = (self.given == k).any(axis=1)
        return found


def weigh_triples(
    asker: Asker,
    skeleton: Skeleton,
    tiers: NDArray[np.int32],
    *,
    rule: str,
    max_cond: int | None,
    deadline: Deadline,
) -> Weighed:
    """Weigh the unshielded triples; without the time for more, by their first separating sets."""
    triples = unshielded_triples(skeleton.adjacent)
    wanted = np.zeros_like(skeleton.adjacent)
    for x, _, y in triples:
        wanted[x, y] = True
    first = {
        pair: _Sets(np.array([found.given], dtype=np.int32), np.array([found.margin]))
        for pair, found in skeleton.separations(wanted).items()
    }
    found, decide = first, _by_first_set
    search = _Search(asker, skeleton, tiers, deadline)
    if rule != "sepset":
        among_neighbours = search.sets_among_neighbours(
            list(first), max_cond, first if rule == "max-p" else {}
        )
        if search.complete:
            found, decide = among_neighbours, _DECISIONS[rule]
    weights = {(x, k, y): decide(k, found[x, y]) if (x, y) in found else 0.0 for x, k, y in triples}
    reporter().status(None)
    return Weighed(weights, search.tests, search.complete)


def _by_largest_p(k: int, sets: _Sets) -> float:
    has = sets.has(k)
    usable = ~np.isnan(sets.margins)
    return _largest(sets.margins[usable & ~has]) - _largest(sets.margins[usable & has])


def _largest(margins: NDArray[np.float64]) -> float:
    return max(-_LARGEST, min(_LARGEST, float(margins.max()))) if margins.size else 0.0


def _by_first_set(k: int, sets: _Sets) -> float:
    size = max(_LEAST, float(sets.margins[-1]))
    return -size if sets.has(k)[-1] else size


def _by_all(k: int, sets: _Sets) -> float:
    separating = sets.margins >= 0
    has = sets.has(k)[separating]
    if not separating.any() or (has.any() and not has.all()):
        return 0.0
    size = max(_LEAST, float(sets.margins[separating].max()))
    return -size if has.all() else size


def _by_most(k: int, sets: _Sets) -> float:
    separating = sets.margins >= 0
    has = sets.has(k)
    n_with, n_without = np.count_nonzero(has & separating), np.count_nonzero(~has & separating)
    if n_with == n_without:
        return 0.0
    agreeing = sets.margins[separating & (has if n_with > n_without else ~has)]
    size = max(_LEAST, float(agreeing.max()))
    return -size if n_with > n_without else size


_DECISIONS = {"max-p": _by_largest_p, "conservative": _by_all, "majority": _by_most}


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

    def sets_among_neighbours(
        self, pairs: list[Pair], max_cond: int | None, more: dict[Pair, _Sets]
    ) -> dict[Pair, _Sets]:
        """All sets of neighbours in the skeleton, of every size it was tested at, and `more`."""
        array = np.array(pairs, dtype=np.int32).reshape(-1, 2)
        owners, givens, margins = [], [], []
        for k, pair in enumerate(pairs):
            if pair in more:
                owners.append(np.full(1, k))
                givens.append(more[pair].given)
                margins.append(more[pair].margins)
        for size in range(len(self._skeleton.tests)):
            if max_cond is not None and size > max_cond:
                break
            sets = kernel.active().ConditioningSets(
                self._skeleton.adjacent, self._tiers, array, size
            )
            for start, stop in slices(sets.totals):
                if self._deadline.passed:
                    self.complete = False
                    return {}
                totals = sets.totals[start:stop]
                which = np.arange(start, stop, dtype=np.int64)
                rows = sets.fill(which, np.zeros_like(totals), totals)
                if len(rows):
                    owners.append(np.repeat(which, totals))
                    givens.append(rows[:, 2:])
                    margins.append(self._ask(rows))
        return _by_pair(pairs, owners, givens, margins)

    def _ask(self, rows: NDArray[np.int32]) -> NDArray[np.float64]:
        margins, results = self._asker.ask(rows)
        self._asker.record("colliders", rows, results, margins.tolist())
        self.tests += len(rows)
        reporter().status(f"colliders: {self.tests:,} more tests")
        return margins


def _by_pair(
    pairs: list[Pair],
    owners: list[NDArray[np.int64]],
    givens: list[NDArray[np.int32]],
    margins: list[NDArray[np.float64]],
) -> dict[Pair, _Sets]:
    """Gather the sets of each pair."""
    if not owners:
        return {}
    widest = max(given.shape[1] for given in givens)
    owner, margin = np.concatenate(owners), np.concatenate(margins)
    filled = np.full((len(owner), widest), -1, dtype=np.int32)
    at = 0
    for given in givens:
        filled[at : at + len(given), : given.shape[1]] = given
        at += len(given)
    order = np.argsort(owner, kind="stable")
    filled, margin = filled[order], margin[order]
    ends = np.cumsum(np.bincount(owner, minlength=len(pairs))).tolist()
    return {
        pair: _Sets(filled[start:end], margin[start:end])
        for pair, start, end in zip(pairs, [0, *ends[:-1]], ends, strict=True)
    }
