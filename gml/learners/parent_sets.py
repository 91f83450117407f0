"""Local scores of all sets of parents that a variable may have.

Variables are in the order of their names here, and a set of them is the bits of an integer. Sets
grow by one parent at a time, for all children alike, so that a search that runs out of time has the
small ones of all.

In a search for the optimum most sets need not even be scored. A set matters only if it scores more
than each of its subsets, as a subset never makes a cycle where the set does not (Teyssier & Koller
2005, UAI). And where a score has ceilings (`bounded_batch`: nothing that contains the set scores
more), a set whose ceiling does not exceed the best of its subsets has no superset worth looking at
(de Campos & Ji 2011, JMLR 12:663). Sets grow only from those whose subsets are all open in this
sense.

For a search, scores are whole numbers of units of 2⁻²⁰ nats, so that their sums are exact and the
same in any order. They are differences from the child with its required parents alone, so that
they depend on how much parents tell, not on how many rows there are; where even that could pass
2³⁶ nats, a unit is larger, but still below the last bit of the largest score. A ceiling is raised
by a billionth, which is more than the error of a score, before it is rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.counter import Family, FamilyArray
from gml.errors import CannotAnswer, DataError, parameter, quote
from gml.graph.bits import bits_of
from gml.graph.knowledge import Knowledge
from gml.kernel.layout import NEVER
from gml.learners.expected_families import (
    expect_pairs,
    families_of_all_sets,
    families_of_few_sets,
)
from gml.learners.search import Limits
from gml.name_order import NameOrder
from gml.progress import Deadline, reporter
from gml.resources import budget_in_force, require_memory
from gml.scores.base import RESOLUTION, DecomposableScore, Score

MOST_VARIABLES = 64
_CHUNK = 1 << 14
_MARGIN = 1e-9
# The most units of a score: sums of 64 such scores stay within 63 bits.
_LARGEST = 2.0**56
# Bytes of a set and its score; of one that is kept until the optimum is found, which is also
# sorted, part of its component, and in the kernel's form; and of one that grows, with the best of
# its subsets, twice, and what scoring takes and keeps.
_BYTES_PER_SET = 16
BYTES_PER_KEPT_SET = 80
_BYTES_PER_GROWING_SET = 160
_HINT = f"; limit {parameter('max_parents')}, use fewer columns, or search with gml ges"

Sets = NDArray[np.uint64]
Units = NDArray[np.int64]


@dataclass(frozen=True)
class Choices:
    """Which parents each variable may have: `names` sorted, sets of positions among them as bits.

    `order` holds the position of each variable in the score.
    """

    names: tuple[str, ...]
    order: NDArray[np.int32]
    required: tuple[int, ...]
    free: tuple[int, ...]
    most: tuple[int, ...]
    """The most free parents."""

    @property
    def n_sets(self) -> int:
        """The number of all sets of parents."""
        return sum(
            sum(math.comb(free.bit_count(), k) for k in range(most + 1))
            for free, most in zip(self.free, self.most, strict=True)
        )


@dataclass(frozen=True)
class ParentSets:
    """For each variable of `choices` the sets worth having as parents, and their scores in units.

    The units of each variable count from a score of its own. `families` counts the local scores
    computed; `complete` is False if time ran out.
    """

    choices: Choices
    sets: tuple[Sets, ...]
    units: tuple[Units, ...]
    families: int
    complete: bool

    @property
    def kept(self) -> int:
        """The number of sets worth having."""
        return sum(map(len, self.sets))


def choices_of(
    score: Score, *, max_parents: int | None = None, knowledge: Knowledge | None = None
) -> Choices:
    """Return the parents that each variable may have; a constant column has none and is none."""
    limits = Limits.of(score, max_parents, knowledge)
    everyone = (1 << len(limits.names)) - 1
    needed, free, most = [], [], []
    for x in range(len(limits.names)):
        must = bits_of(np.flatnonzero(limits.required[:, x]).tolist())
        never = bits_of(np.flatnonzero(limits.forbidden[:, x]).tolist())
        may = everyone & ~never & ~must & ~(1 << x)
        needed.append(must)
        free.append(may)
        most.append(min(limits.max_parents - must.bit_count(), may.bit_count()))
    order = NameOrder(score.names).positions
    return Choices(limits.names, order, tuple(needed), tuple(free), tuple(most))


def best_parent_sets(
    score: DecomposableScore,
    choices: Choices,
    *,
    max_memory: int | None = None,
    deadline: Deadline | None = None,
) -> ParentSets:
    """Score the sets of parents that an optimal DAG may have; small ones first.

    At the deadline those that are ready are returned, always including the required parents.
    """
    n = len(choices.names)
    if n > MOST_VARIABLES:
        raise CannotAnswer(
            f"{n} columns are too many for an exact answer: at most {MOST_VARIABLES}"
            "; use fewer columns, or search with gml ges"
        )
    budget = budget_in_force(max_memory)
    deadline = deadline or Deadline()
    none = np.zeros(1, dtype=np.uint64)
    expect_pairs(score)
    first = [score.bounded_batch(families(choices, x, none)) for x in range(n)]
    unit = _unit_for(np.concatenate([values for values, _ in first]))
    growing = [_Growing(score, choices, x, unit, *first[x]) for x in range(n)]
    if any(one.unbounded for one in growing):
        _require(_BYTES_PER_SET * choices.n_sets, budget, f"the scores of {choices.n_sets:,} sets")
    size, complete = 0, True
    while complete and any(one.can_grow for one in growing):
        size += 1
        for one in growing:
            score.expect(lambda: _likely(growing, choices))
            held = sum(other.held for other in growing) + score.held
            room = one.room
            _require(
                held + _BYTES_PER_GROWING_SET * room, budget, f"{room:,} sets of {size} parents"
            )
            done = sum(other.families for other in growing)
            for scored in one.grow(deadline):
                scored += done
                reporter().status(f"scoring sets of {size} parents: {scored:,} sets", scored)
            complete = complete and not one.interrupted
    reporter().status(None)
    sets, units = zip(*(one.taken() for one in growing), strict=True)
    return ParentSets(choices, sets, units, sum(one.families for one in growing), complete)


def _likely(growing: Sequence[_Growing], choices: Choices) -> Iterator[Family]:
    """The families that the children will ask for next, and larger ones where sets are few."""
    for one in growing:
        yield from one.next_families()
    yield from families_of_few_sets(choices.order)


def _require(n_bytes: int, budget: int, what: str) -> None:
    require_memory(n_bytes, budget, what, _HINT)


def _unit_for(scores: NDArray[np.float64]) -> float:
    """2⁻²⁰ nats, or more if a score would have too many units."""
    largest = float(np.abs(scores[np.isfinite(scores)]).max(initial=0.0))
    return RESOLUTION * 2.0 ** max(0, math.frexp(largest / (_LARGEST * RESOLUTION))[1])


class _Growing:
    """The sets of one child: those worth having so far, and the open ones of the last size."""

    def __init__(
        self,
        score: DecomposableScore,
        choices: Choices,
        child: int,
        unit: float,
        values: NDArray[np.float64],
        ceilings: NDArray[np.float64],
    ) -> None:
        self._score = score
        self._choices = choices
        self._child = child
        self._free = choices.free[child]
        self._unit = unit
        self._base: float | None = None
        self._size = 0
        self.families = 1
        self.interrupted = False
        none = np.zeros(1, dtype=np.uint64)
        self.unbounded = bool(ceilings[0] == np.inf and self._free)
        units = self._in_units(values)
        required = np.uint64(choices.required[child])
        self.sets: list[Sets] = [none | required]
        self.units: list[Units] = [units]
        self._open, self._best = none, units
        self._close(ceilings)

    @property
    def can_grow(self) -> bool:
        """Whether there are larger sets to look at."""
        return self._size < self._choices.most[self._child] and len(self._open) > 0

    @property
    def room(self) -> int:
        """The most sets of the next size."""
        return room_above(self._open, self._free) if self.can_grow else 0

    @property
    def held(self) -> int:
        """Bytes that are held, now or when the sets are used."""
        return BYTES_PER_KEPT_SET * sum(map(len, self.sets)) + 16 * len(self._open)

    def taken(self) -> tuple[Sets, Units]:
        """Hand over the sets worth having and their scores, which are no longer held."""
        found = np.concatenate(self.sets), np.concatenate(self.units)
        self.sets, self.units = [], []
        return found

    def next_families(self) -> Iterator[Family]:
        """The families of the next size."""
        if self.can_grow:
            grown, _ = kernel.active().grow_sets(self._open, self._best, self._free, self.room)
            yield from families(self._choices, self._child, grown)

    def grow(self, deadline: Deadline) -> Iterator[int]:
        """Score the sets of the next size; now and then yield how many are done."""
        if not self.can_grow:
            return
        grown, best = kernel.active().grow_sets(self._open, self._best, self._free, self.room)
        self._size += 1
        parts: list[tuple[Units, NDArray[np.float64]]] = []
        done = 0
        for start in range(0, len(grown), _CHUNK):
            if deadline.passed:
                self.interrupted = True
                break
            some = grown[start : start + _CHUNK]
            values, ceilings = self._score.bounded_batch(families(self._choices, self._child, some))
            parts.append((self._in_units(values), ceilings))
            done += len(some)
            yield done
        self.families += done
        self._open, self._best = grown[:done], best[:done]
        if not parts:
            return
        units = np.concatenate([part for part, _ in parts])
        kept = units > self._best
        self.sets.append(self._open[kept] | np.uint64(self._choices.required[self._child]))
        self.units.append(units[kept])
        self._best = np.maximum(units, self._best)
        self._close(np.concatenate([part for _, part in parts]))

    def _in_units(self, values: NDArray[np.float64]) -> Units:
        name = quote(self._choices.names[self._child])
        if np.isnan(values).any() or (values == np.inf).any():
            raise DataError(f"the score of {name} given some parents is not a finite number")
        possible = np.isfinite(values)
        if self._base is None and possible.any():
            self._base = float(np.rint(values[possible].max() / self._unit))
        units = self._from_base(np.rint(np.where(possible, values, 0.0) / self._unit))
        if (units[possible] > _LARGEST).any():
            most = format(_LARGEST * self._unit, ".2g")
            raise DataError(
                f"the scores of {name} with some parents and with others are over {most} nats apart"
            )
        # This far below another set with no more parents, it does not matter how far.
        return np.where(possible, np.maximum(units, -_LARGEST).astype(np.int64), NEVER)

    def _from_base(self, units: NDArray[np.float64]) -> NDArray[np.float64]:
        return units - (self._base or 0.0)

    def _close(self, ceilings: NDArray[np.float64]) -> None:
        """Leave out the open sets whose supersets cannot be worth having."""
        margin = _MARGIN * np.abs(np.where(np.isfinite(ceilings), ceilings, 0.0))
        raised = np.ceil((ceilings + margin) / self._unit)
        limits = np.clip(self._from_base(raised), -_LARGEST, _LARGEST).astype(np.int64)
        still = limits > self._best
        self._open, self._best = self._open[still], self._best[still]


def families(choices: Choices, child: int, free: Sets) -> FamilyArray:
    """The families of a child with its required parents and sets of equally many free ones."""
    required = [y for y in range(len(choices.names)) if choices.required[child] >> y & 1]
    fixed = np.broadcast_to(np.array([child, *required]), (len(free), 1 + len(required)))
    return FamilyArray(choices.order[np.hstack([fixed, members_of(free)])])


def members_of(sets: Sets) -> NDArray[np.int64]:
    """The members of sets of equal size, one per row, in ascending order."""
    size = int(sets[0]).bit_count() if len(sets) else 0
    members = np.empty((len(sets), size), dtype=np.int64)
    left = sets
    for k in range(size):
        lowest = left & (~left + np.uint64(1))
        members[:, k] = np.bitwise_count(lowest - np.uint64(1))
        left = left ^ lowest
    return members


def all_parent_sets(
    score: DecomposableScore,
    choices: Choices,
    *,
    max_memory: int | None = None,
    deadline: Deadline | None = None,
) -> tuple[list[Sets], list[NDArray[np.float64]]]:
    """Score every set of parents, for sums over DAGs; at the deadline there is no answer."""
    budget = budget_in_force(max_memory)
    deadline = deadline or Deadline()
    total, done = choices.n_sets, 0
    _require(_BYTES_PER_SET * total, budget, f"the scores of {total:,} sets of parents")
    sets: list[Sets] = []
    values: list[NDArray[np.float64]] = []
    for child in range(len(choices.names)):
        of_child = np.concatenate(list(subsets_of(choices.free[child], choices.most[child])))
        scores = np.empty(len(of_child))
        sizes = np.bitwise_count(of_child)
        for start, stop in chunks_of(sizes):
            if deadline.passed:
                raise CannotAnswer(
                    f"{parameter('max_seconds')} ran out when {done:,} of {total:,} sets of "
                    f"parents were scored{_HINT}"
                )
            some = families(choices, child, of_child[start:stop])
            score.expect(lambda: families_of_all_sets(choices.order, max(choices.most, default=0)))
            scores[start:stop] = score.batch(some)
            done += stop - start
            reporter().status(f"scoring sets of parents: {done:,} of {total:,}", done, total)
        sets.append(of_child | np.uint64(choices.required[child]))
        values.append(scores)
    reporter().status(None)
    return sets, values


def subsets_of(free: int, most: int) -> Iterator[Sets]:
    """All subsets with a limited number of members, one size at a time."""
    sets = np.zeros(1, dtype=np.uint64)
    yield sets
    for _ in range(most):
        same = np.zeros(len(sets), dtype=np.int64)
        sets, _ = kernel.active().grow_sets(sets, same, free, room_above(sets, free))
        yield sets


def chunks_of(sizes: NDArray[np.uint8]) -> Iterator[tuple[int, int]]:
    """Stretches of equal sizes, none too long."""
    ends = [*np.flatnonzero(np.diff(sizes)) + 1, len(sizes)]
    start = 0
    for end in map(int, ends):
        for at in range(start, end, _CHUNK):
            yield at, min(at + _CHUNK, end)
        start = end


def room_above(sets: Sets, free: int) -> int:
    """The number of sets with one more of the free members, beyond the last of a set."""
    high = (sets >> np.uint64(32)).astype(float)
    low = (sets & np.uint64(0xFFFFFFFF)).astype(float)
    last = np.where(high > 0, np.frexp(high)[1] + 32, np.frexp(low)[1])
    above = [(free >> position).bit_count() for position in range(MOST_VARIABLES + 1)]
    return int(np.array(above)[last].sum())
