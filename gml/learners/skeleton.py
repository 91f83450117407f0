"""The skeleton of PC-stable (Spirtes, Glymour & Scheines 2000; Colombo & Maathuis 2014, alg. 4.1).

At level ℓ every pair that is still adjacent is tested given the sets of ℓ neighbours of x, then
given those of y, each set once, with the neighbours as they were when the level began, in the order
of the names; the first set that separates the pair removes its edge. So neither the order of the
columns nor that of the tests changes the result. Tests go to the engine in batches, a few sets of
many pairs at a time; answers beyond the first separating set of a pair are not used or counted.

A pair that is forbidden both ways is not tested and has no edge; a required edge is not tested and
stays. A set never contains a variable of a later tier than both of the pair.

An insufficient test has no stratum in which both x and y vary. `keep` does not let it separate the
pair, `drop` does. `auto` asks why: with at least 20 rows per stratum, one of the two is a function
of Z, so that Z cannot tell whether they are related (Glymour 2007): keep. With fewer there are
simply no data that speak for an edge: drop.

Variables are numbered in the order of their names here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.counter import TripleArray
from gml.graph.knowledge import Knowledge
from gml.graph.orientation import Matrix
from gml.independence.adapted_test import as_test
from gml.independence.base import (
    CIResult,
    CITest,
    ResultArrays,
    verdict_of_margin,
)
from gml.name_order import NameOrder
from gml.progress import Deadline, reporter
from gml.resources import require_memory

# Tests asked for at once: enough for threads, few enough for a deadline.
_BATCH = 1 << 15
# Bytes per pair: the pair itself, its progress, and the numbers of the test that separates it.
_PAIR_BYTES = 150
# Fewer tests than this at once are not worth a call.
_LEAST_BATCH = 512
# Where every batch reads the rows again, levels of so many tests are asked for at once, and larger
# ones by a few batches.
_LEAST_DEAR_BATCH = 1 << 12
_DEAR_GROWTH = 8
# Rows per stratum from which a function of Z is more than an accident.
_ROWS_PER_STRATUM = 20

ON_INSUFFICIENT = ("auto", "keep", "drop")


class TestRecord(NamedTuple):
    """A test that counts, by names."""

    phase: str
    level: int
    x: str
    y: str
    given: tuple[str, ...]
    result: CIResult
    verdict: str
    reason: str | None = None
    """Why it is insufficient, if it is and that is known."""


Log = Callable[[TestRecord], None]


class Answers(NamedTuple):
    """Margins (at least 0: separated; NaN: no answer), which were insufficient, and results."""

    margins: NDArray[np.float64]
    unanswered: NDArray[np.bool_]
    results: ResultArrays

    def take(self, which: NDArray[np.int64]) -> Answers:
        """Some of them."""
        return Answers(self.margins[which], self.unanswered[which], self.results.take(which))


class Asker:
    """Puts questions about variables in name order to a test, and keeps the record of them."""

    def __init__(
        self,
        test: CITest,
        *,
        alpha: float,
        on_insufficient: str = "auto",
        log: Log | None = None,
        most_at_once: int = _BATCH,
    ) -> None:
        order = NameOrder(test.names)
        self.names = list(order.names)
        self._test = as_test(test)
        self._alpha = alpha
        self._on_insufficient = on_insufficient
        self._column = order.positions
        self.log = log
        self.most_at_once = most_at_once
        self.is_dear = self._test.pass_rows > 0

    def ask(self, rows: NDArray[np.int32]) -> Answers:
        """Answer rows (x, y, *Z)."""
        results = self._test.batch(TripleArray(self._column[rows]))
        margins = self._test.margins(results, self._alpha)
        unanswered = np.isnan(margins)
        if self._on_insufficient != "keep" and unanswered.any():
            # A dropped test separates, but says nothing about how strongly.
            margins[unanswered & self._is_dropped(results)] = 0.0
        return Answers(margins, unanswered, results)

    def _is_dropped(self, results: ResultArrays) -> NDArray[np.bool_]:
        """Whether an insufficient result counts as independence."""
        if self._on_insufficient == "drop":
            return np.ones(len(results), dtype=bool)
        strata = np.zeros(len(results)) if results.strata is None else results.strata
        few: NDArray[np.bool_] = (results.n == 0) | (results.n < _ROWS_PER_STRATUM * strata)
        return few

    def record(self, phase: str, rows: NDArray[np.int32], answers: Answers) -> None:
        """Write tests to the log."""
        if self.log is None:
            return
        reasons = self._reasons(rows, answers)
        for k, row in enumerate(rows.tolist()):
            x, y, *given = (self.names[j] for j in row)
            margin = np.nan if answers.unanswered[k] else answers.margins[k]
            verdict = verdict_of_margin(float(margin))
            result = answers.results[k]
            reason = reasons.get(k)
            self.log(TestRecord(phase, len(given), x, y, tuple(given), result, verdict, reason))

    def _reasons(self, rows: NDArray[np.int32], answers: Answers) -> dict[int, str | None]:
        """Why tests decide nothing, by their places."""
        which = np.flatnonzero(answers.unanswered | np.isnan(answers.margins)).tolist()
        triples = TripleArray(self._column[rows[which]])
        results = [answers.results[k] for k in which]
        return dict(zip(which, self._test.reasons(triples, results, self._alpha), strict=True))


class Separation(NamedTuple):
    """The first set found to separate a pair, its margin and its result."""

    given: tuple[int, ...]
    margin: float
    result: CIResult


@dataclass
class Skeleton:
    """The remaining edges, and what separated the other pairs.

    `tests` counts by level; `complete` is False if time ran out.
    """

    adjacent: Matrix
    tests: list[int] = field(default_factory=list)
    complete: bool = True
    _separated: list[tuple[NDArray[np.int32], Answers]] = field(default_factory=list)

    def add(self, rows: NDArray[np.int32], answers: Answers) -> None:
        """Remove the edges of pairs (x, y) that rows (x, y, *Z) separate."""
        x, y = rows[:, 0], rows[:, 1]
        self.adjacent[x, y] = self.adjacent[y, x] = False
        self._separated.append((rows, answers))

    def separations(self, wanted: Matrix | None = None) -> dict[tuple[int, int], Separation]:
        """Return what separated the pairs (x, y), x < y, in order; `wanted` picks the pairs."""
        found = {}
        for rows, answers in self._separated:
            which = np.arange(len(rows))
            if wanted is not None:
                which = np.flatnonzero(wanted[rows[:, 0], rows[:, 1]])
            for k, (x, y, *given) in zip(which.tolist(), rows[which].tolist(), strict=True):
                margin = float(answers.margins[k])
                found[x, y] = Separation(tuple(given), margin, answers.results[k])
        return dict(sorted(found.items()))


def learn_skeleton(
    asker: Asker, *, max_cond: int | None, knowledge: Knowledge, deadline: Deadline
) -> Skeleton:
    """Run all levels; at the deadline what is not yet separated stays adjacent."""
    n = len(asker.names)
    n_pairs = n * (n - 1) // 2
    require_memory(_PAIR_BYTES * n_pairs, None, f"what tests say of {n_pairs} pairs")
    required = knowledge.required(asker.names)
    forbidden = knowledge.forbidden(asker.names)
    tiers = knowledge.tiers_of(asker.names)
    adjacent = ~np.eye(n, dtype=bool) & ~(forbidden & forbidden.T)
    found = Skeleton(adjacent)
    testable = np.triu(~(required | required.T))
    run_levels(asker, found, testable, tiers, max_cond=max_cond, deadline=deadline)
    return found


def run_levels(
    asker: Asker,
    found: Skeleton,
    testable: Matrix,
    tiers: NDArray[np.int32],
    *,
    max_cond: int | None,
    deadline: Deadline,
) -> None:
    """Remove edges level by level; only pairs (x, y) that are testable are tested.

    The neighbours of x are those of its row, so that sets can be kept to those of one side.
    """
    level = 0
    while max_cond is None or level <= max_cond:
        before = found.adjacent.copy()
        pairs = np.ascontiguousarray(np.argwhere(before & testable), dtype=np.int32)
        run_level = _Level(asker, found, before, tiers, pairs, level)
        if not run_level.sets.totals.any():
            break
        found.tests.append(0)
        run_level.run(deadline)
        if not found.complete:
            break
        level += 1
    reporter().status(None)


class _Level:
    """One level: rounds over the pairs not yet separated, with more sets per pair every time."""

    def __init__(
        self,
        asker: Asker,
        found: Skeleton,
        neighbours: Matrix,
        tiers: NDArray[np.int32],
        pairs: NDArray[np.int32],
        level: int,
    ) -> None:
        self.sets = kernel.active().ConditioningSets(neighbours, tiers, pairs, level)
        self._asker = asker
        self._found = found
        self._level = level
        self._edges = int(np.count_nonzero(neighbours | neighbours.T)) // 2
        # Per pair: sets asked, and the number of the first that separates (-1: none yet).
        self._asked = np.zeros(len(pairs), dtype=np.int64)
        self._first = np.full(len(pairs), -1, dtype=np.int64)
        self._separated: list[tuple[NDArray[np.int32], Answers]] = []
        # All answers, until they are written to the log.
        self._parts: list[_Part] = []

    def run(self, deadline: Deadline) -> None:
        totals = self.sets.totals
        some = 1
        while True:
            waiting = np.flatnonzero((self._first < 0) & (self._asked < totals))
            if not waiting.size:
                break
            least = _LEAST_DEAR_BATCH if self._asker.is_dear else _LEAST_BATCH
            some = min(_BATCH, max(some, least // waiting.size))
            counts = np.minimum(some, totals[waiting] - self._asked[waiting])
            for start, stop in _whole_pairs(counts):
                if deadline.passed:
                    self._found.complete = False
                    break
                self._ask(waiting[start:stop], counts[start:stop])
            if not self._found.complete:
                break
            some *= _DEAR_GROWTH if self._asker.is_dear else 2
        self._finish()

    def _ask(self, which: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        first = self._asked[which]
        rows = self.sets.fill(which, first, counts)
        answers = self._asker.ask(rows)
        owner = np.repeat(which, counts)
        ends = np.cumsum(counts)
        number = np.arange(len(rows)) - np.repeat(ends - counts - first, counts)
        self._asked[which] += counts
        hits = np.flatnonzero(answers.margins >= 0)
        # Sets of a pair are together and in order: the last assignment is the first hit.
        self._first[owner[hits[::-1]]] = number[hits[::-1]]
        separating = hits[number[hits] == self._first[owner[hits]]]
        if separating.size:
            self._separated.append((rows[separating], answers.take(separating)))
        if self._asker.log is not None:
            self._parts.append(_Part(owner, number, rows, answers))
        self._edges -= int(np.count_nonzero(self._first[which] >= 0))
        self._found.tests[self._level] += self._counted(which, first)
        reporter().status(
            f"level {self._level}: {sum(self._found.tests):,} tests, {self._edges:,} edges left",
            sum(self._found.tests),
        )

    def _counted(self, which: NDArray[np.int64], before: NDArray[np.int64]) -> int:
        ended = np.where(self._first[which] < 0, self._asked[which], self._first[which] + 1)
        return int(np.sum(ended - before))

    def _finish(self) -> None:
        """Remove the edges of separated pairs: neighbours stay as they are until the level ends."""
        for rows, answers in self._separated:
            self._found.add(rows, answers)
        self._write_log()

    def _write_log(self) -> None:
        counted = []
        for part in self._parts:
            first = self._first[part.owner]
            which = np.flatnonzero((first < 0) | (part.number <= first)).tolist()
            counted += [(int(part.owner[k]), part, k) for k in which]
        # The parts follow one another, and Python's sort is stable.
        for _, part, k in sorted(counted, key=lambda item: item[0]):
            at = np.array([k])
            self._asker.record("skeleton", part.rows[at], part.answers.take(at))


class _Part(NamedTuple):
    """One call of the engine: which pairs, which of their sets, and the answers."""

    owner: NDArray[np.int64]
    number: NDArray[np.int64]
    rows: NDArray[np.int32]
    answers: Answers


def _whole_pairs(counts: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Cut pairs into batches of about _BATCH sets; the sets of a pair are asked together."""
    ends = np.cumsum(counts)
    cuts, start = [], 0
    while start < len(counts):
        done = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + _BATCH, side="right")))
        cuts.append((start, stop))
        start = stop
    return cuts


def blocks(
    counts: NDArray[np.int64], size: int = _BATCH
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """Cut the sets of pairs into batches of a size: which pairs, the first set, how many."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    for start in range(0, total, size):
        stop = min(start + size, total)
        which = np.arange(
            np.searchsorted(ends, start, side="right"), np.searchsorted(ends, stop, side="left") + 1
        )
        begins = ends[which] - counts[which]
        first = np.maximum(start - begins, 0)
        last = np.minimum(stop - begins, counts[which])
        yield which, first, last - first
