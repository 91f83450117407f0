"""Which unshielded triples x — k — y of a skeleton are colliders, and how certain that is.

Each rule gives every triple a weight w: above 0 a collider, below 0 not, 0 undecided; |w|, in nats,
is what a contradiction with other triples has to outweigh. Margins are ln p − ln α (see
`gml.independence.base`), so the largest margin belongs to the largest p-value.

- `max-p` (Ramsey 2016, arXiv:1610.00378): all sets of neighbours of x or y in the skeleton are
  tested; w = largest margin without k − largest margin with k, over these sets and the first that
  separated the pair. Where there is no set of one kind, its margin is 0, that of a p-value at α.
- `sepset` (Spirtes, Glymour & Scheines 2000): a collider iff k is not in the first separating set.
- `conservative` (Ramsey, Zhang & Spirtes 2006): the same sets; a collider iff no separating one
  has k, not one iff all have it, else undecided.
- `majority` (Colombo & Maathuis 2014): the same sets; by whether fewer or more than half of the
  separating ones have k.

For the last three |w| is the largest margin of the separating sets that speak for the decision.
A pair that was never tested leaves its triples undecided. Under `max-p` a pair that is separated
both with k and without it at level α has a weight, but its triple is ambiguous, as `conservative`
would say: near copies of a variable do that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.graph.extension import Triple
from gml.graph.orientation import unshielded_triples
from gml.learners.skeleton import Asker, Skeleton, blocks
from gml.progress import Deadline, reporter
from gml.scores.base import RESOLUTION, rounded

# Weights are rounded, so that last bits never decide, and finite, so that their sums are too.
_LARGEST = 2.0**30
# The most sets that wait to be summed up.
_MOST_SETS = 1 << 20

Pair = tuple[int, int]


class Weighed(NamedTuple):
    """Weights of the triples, the number of tests, and whether there was time for all.

    `disputed` are the triples that the rule decides although sets with and without k separate.
    """

    weights: dict[Triple, float]
    disputed: frozenset[Triple]
    tests: int
    complete: bool


@dataclass
class _Evidence:
    """What the sets of a pair say about one k: best margin, number of separating sets, by kind."""

    best_with: float | None = None
    best_without: float | None = None
    n_with: int = 0
    n_without: int = 0

    @property
    def is_disputed(self) -> bool:
        """Whether the pair is separated with k and without it."""
        return self.n_with > 0 and self.n_without > 0

    def add(self, has: NDArray[np.bool_], margins: NDArray[np.float64]) -> None:
        """Take more sets into account: whether k is in them, and their margins."""
        with_k, without_k = margins[has], margins[~has]
        self.best_with = _best(self.best_with, with_k)
        self.best_without = _best(self.best_without, without_k)
        self.n_with += int(np.count_nonzero(with_k >= 0))
        self.n_without += int(np.count_nonzero(without_k >= 0))


def _best(best: float | None, margins: NDArray[np.float64]) -> float | None:
    usable = margins[~np.isnan(margins)]
    if not usable.size:
        return best
    largest = max(-_LARGEST, min(_LARGEST, float(usable.max())))
    return largest if best is None else max(best, largest)


def weigh_triples(
    asker: Asker,
    skeleton: Skeleton,
    tiers: NDArray[np.int32],
    *,
    rule: str,
    max_cond: int | None,
    deadline: Deadline,
) -> Weighed:
    """Weigh the unshielded triples; if time runs out, by their first separating sets."""
    triples = unshielded_triples(skeleton.adjacent)
    between: dict[Pair, list[int]] = {}
    wanted = np.zeros_like(skeleton.adjacent)
    for x, k, y in triples:
        wanted[x, y] = True
        between.setdefault((x, y), []).append(k)
    first = skeleton.separations(wanted)
    search = _Search(asker, skeleton, tiers, deadline, {pair: between[pair] for pair in first})
    if rule != "sepset":
        search.test_sets_among_neighbours(max_cond)
    if rule in ("sepset", "max-p") or not search.complete:
        if not search.complete:
            search.forget()
        for pair, found in first.items():
            search.add(pair, np.array([found.given], dtype=np.int32), np.array([found.margin]))
    decide = _DECISIONS[rule if search.complete else "sepset"]
    weights = {
        (x, k, y): decide(search.evidence[x, y][k]) if (x, y) in first else 0.0
        for x, k, y in triples
    }
    reporter().status(None)
    disputed = frozenset(
        (x, k, y)
        for x, k, y in triples
        if rule == "max-p" and (x, y) in first and search.evidence[x, y][k].is_disputed
    )
    return Weighed(weights, disputed, search.tests, search.complete)


def _by_largest_p(evidence: _Evidence) -> float:
    return rounded(evidence.best_without or 0.0) - rounded(evidence.best_with or 0.0)


def _by_all(evidence: _Evidence) -> float:
    return 0.0 if evidence.is_disputed else _by_most(evidence)


def _by_most(evidence: _Evidence) -> float:
    if evidence.n_with == evidence.n_without:
        return 0.0
    if evidence.n_with > evidence.n_without:
        return -max(RESOLUTION, rounded(evidence.best_with or 0.0))
    return max(RESOLUTION, rounded(evidence.best_without or 0.0))


# `sepset` looks at one set only, for which all and most are the same.
_DECISIONS = {
    "max-p": _by_largest_p,
    "sepset": _by_most,
    "conservative": _by_all,
    "majority": _by_most,
}


class _Search:
    """Tests the sets that the rules ask for, and sums up what they say."""

    def __init__(
        self,
        asker: Asker,
        skeleton: Skeleton,
        tiers: NDArray[np.int32],
        deadline: Deadline,
        between: dict[Pair, list[int]],
    ) -> None:
        self._asker = asker
        self._skeleton = skeleton
        self._tiers = tiers
        self._deadline = deadline
        self._between = between
        self.tests = 0
        self.complete = True
        self.forget()

    def forget(self) -> None:
        """Start again."""
        self.evidence = {
            pair: {k: _Evidence() for k in nodes} for pair, nodes in self._between.items()
        }

    def add(self, pair: Pair, given: NDArray[np.int32], margins: NDArray[np.float64]) -> None:
        """Take sets of a pair into account, one per row, padded with -1."""
        for k, evidence in self.evidence[pair].items():
            evidence.add((given == k).any(axis=1), margins)

    def test_sets_among_neighbours(self, max_cond: int | None) -> None:
        """Test all sets of neighbours in the skeleton, of every size at which it was tested."""
        pairs = list(self._between)
        array = np.array(pairs, dtype=np.int32).reshape(-1, 2)
        waiting = _Waiting(self, pairs)
        for size in range(len(self._skeleton.tests)):
            if max_cond is not None and size > max_cond:
                break
            sets = kernel.active().ConditioningSets(
                self._skeleton.adjacent, self._tiers, array, size
            )
            for which, first, count in blocks(sets.totals, self._asker.most_at_once):
                if self._deadline.passed:
                    self.complete = False
                    return
                rows = sets.fill(which, first, count)
                answers = self._asker.ask(rows)
                self._asker.record("colliders", rows, answers)
                self.tests += len(rows)
                reporter().status(f"colliders: {self.tests:,} more tests", self.tests)
                waiting.append(np.repeat(which, count), rows[:, 2:], answers.margins)
        waiting.sum_up()


class _Waiting:
    """Sets with their margins, gathered by pair before they are summed up."""

    def __init__(self, search: _Search, pairs: list[Pair]) -> None:
        self._search = search
        self._pairs = pairs
        self._parts: list[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]] = []
        self._size = 0

    def append(
        self,
        owner: NDArray[np.int64],
        given: NDArray[np.int32],
        margins: NDArray[np.float64],
    ) -> None:
        """Add sets: the pair of each, its members, its margin."""
        self._parts.append((owner, given, margins))
        self._size += len(owner)
        if self._size > _MOST_SETS:
            self.sum_up()

    def sum_up(self) -> None:
        """Hand everything that waits over to the search."""
        if not self._parts:
            return
        widest = max(given.shape[1] for _, given, _ in self._parts)
        members = np.full((self._size, widest), -1, dtype=np.int32)
        at = 0
        for _, given, _ in self._parts:
            members[at : at + len(given), : given.shape[1]] = given
            at += len(given)
        owner = np.concatenate([owner for owner, _, _ in self._parts])
        margins = np.concatenate([margins for _, _, margins in self._parts])
        order = np.argsort(owner, kind="stable")
        members, margins = members[order], margins[order]
        ends = np.cumsum(np.bincount(owner, minlength=len(self._pairs))).tolist()
        for pair, start, end in zip(self._pairs, [0, *ends[:-1]], ends, strict=True):
            if end > start:
                self._search.add(pair, members[start:end], margins[start:end])
        self._parts, self._size = [], 0
