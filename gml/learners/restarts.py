"""Restarts of a search, several at a time: iterated local search that need not wait for itself.

A restart makes random moves from the best graph so far and climbs again (Lourenço, Martin & Stützle
2003, Handbook of Metaheuristics, chapter 11). If each waited for the one before, only one could run
at a time. So each begins at the best graph of all restarts but the last two before it: three can
run at the same time, in processes of their own, and none waits long for another. Each has a random
stream of its own; of equal graphs the first is kept. So the number of processes changes nothing.
"""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from gml.data.resampling import stream
from gml.kernel.processes import with_workers, worth_forking
from gml.learners.local_scores import Computed, LocalScores
from gml.learners.search import Course, Step
from gml.progress import reporter
from gml.resources import available_threads
from gml.scores.base import DecomposableScore

AT_A_TIME = 3
"""Restarts that may run at once. With more, each knows less of the others, and the end is worse."""

# Of how many restarts scores are handed on with the next: most reach the other workers so.
_HANDED_ON = AT_A_TIME


class Climber(Protocol):
    """A search that can begin again: where it was best, the score of that in units, its course."""

    best: Any
    best_score: int
    course: Course

    def climb_again(self, rng: np.random.Generator, phase: str) -> None:
        """Make random moves from the best graph, and climb again."""


class _Best(NamedTuple):
    """The best graph of some restarts, and its score in units."""

    graph: Any
    score: int


class _Item(NamedTuple):
    """A restart to be done: its number, where it begins, and scores found lately, by restart.

    Scores pass through the parent pickled, as it has no use for them itself.
    """

    number: int
    start: _Best
    found: list[tuple[int, bytes]]


class _Restarted(NamedTuple):
    """What came of a restart."""

    best: _Best
    steps: int
    told: list[Step]
    stopped: bool
    computed: Computed
    found: bytes
    noted: Any


def restart(
    climber: Climber,
    local: LocalScores,
    score: DecomposableScore,
    *,
    restarts: int,
    seed: int,
    threads: int | None,
) -> None:
    """Restart a search so often, in as many processes as there are threads."""
    if not restarts:
        return
    course, first_computed = climber.course, local.computed
    # bests[k] is the best of what there was before, and of the first k restarts.
    bests = [_Best(climber.best, climber.best_score)]
    computed, lately = Computed(), deque[tuple[int, bytes]](maxlen=_HANDED_ON)
    workers = (threads or available_threads()) if score.can_fork else 1
    run = _restarting(climber, local, score, seed, workers)
    with reporter().counting("restarts", restarts) as count:
        for found in _several(run, _items(bests, lately, restarts, course), restarts, workers):
            best = found.best if found.best.score > bests[-1].score else bests[-1]
            bests.append(best)
            course.take(found.steps, found.told, stopped=found.stopped)
            computed.add(found.computed)
            if workers > 1:
                lately.append((len(bests) - 2, found.found))
            score.take_noted(found.noted)
            count(len(bests) - 1, f"best score {best.score * local.resolution:.2f}")
    climber.best, climber.best_score = bests[-1]
    climber.course, local.record = course, None
    local.computed = first_computed + len(computed)


def _items(
    bests: list[_Best], lately: deque[tuple[int, bytes]], restarts: int, course: Course
) -> Iterator[_Item]:
    for number in range(restarts):
        if course.out_of_time():
            return
        yield _Item(number, bests[max(0, number - AT_A_TIME + 1)], list(lately))


def _restarting(
    climber: Climber, local: LocalScores, score: DecomposableScore, seed: int, workers: int
) -> Callable[[_Item], _Restarted]:
    course = climber.course
    taken: set[int] = set()

    def run(item: _Item) -> _Restarted:
        told: list[Step] = []
        climber.best, climber.best_score = item.start
        for number, found in item.found:
            if number not in taken:
                local.take(pickle.loads(found))
        taken.update(number for number, _ in item.found)
        climber.course, local.record = course.apart(told), Computed()
        climber.climb_again(stream(seed, item.number), f"restart {item.number + 1}")
        best = _Best(climber.best, climber.best_score)
        own, computed = climber.course, local.record
        taken.add(item.number)
        kept = pickle.dumps(local.found(computed)) if workers > 1 else b""
        return _Restarted(best, own.steps, told, own.stopped, computed, kept, score.noted())

    return run


def _several(run: Any, items: Iterator[_Item], restarts: int, workers: int) -> Iterator[_Restarted]:
    """Do the restarts, the first of them here: it tells whether they are worth processes."""
    if workers > 1:
        for first in items:
            began = time.monotonic()
            found = run(first)
            seconds = (time.monotonic() - began) * (restarts - 1)
            yield found
            workers = workers if worth_forking(seconds) else 1
            break
    yield from with_workers(run, items, min(workers, restarts), ahead=AT_A_TIME)
