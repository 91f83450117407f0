"""What questions cost on this machine, by asking some of them again of engines of two sizes.

The time of a table is a fixed part and a part per row, so two sizes say what it is with any number
of rows. The larger engine holds as many rows as a calibration of a fraction of a second allows: on
few rows all columns would fit into the caches of the processor, and rows would look too cheap.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from statistics import mean

from gml.counts.memory import MemoryCounter
from gml.counts.open_stream import settled_pieces
from gml.counts.pass_work import Partial, Work
from gml.counts.streamed import StreamCounter
from gml.data.dataset import Dataset
from gml.data.resampling import bootstrap_samples
from gml.data.sample_size import evenly
from gml.data.settled_rows import SettledRows
from gml.planning.pilots import Pilot
from gml.planning.watching import LOOSE, Batch, Level
from gml.stopping import check_stopped

_SECONDS = 0.35
_SLICES = 8
_SLICE = 512
# Pairs of columns times rows that are counted within a tenth of a second.
_MOST_PAIRED = 2e9


@dataclass(frozen=True)
class Price:
    """CPU seconds of a question: with no rows, and more for each row."""

    fixed: float
    per_row: float

    def at(self, rows: float) -> float:
        """Return the CPU seconds of a question over so many rows."""
        return self.fixed + self.per_row * rows


@dataclass(frozen=True)
class Prices:
    """What questions cost by size, and what an engine takes before it answers the first."""

    of: Mapping[Level, Price]
    setup_per_row: float

    def of_level(self, level: Level) -> Price:
        """Return the price of a question; that of the next smaller size if it is not known."""
        if level in self.of:
            return self.of[level]
        kind, size = level
        known = sorted(other for other in self.of if other[0] == kind)
        if not known:
            return Price(0.0, 0.0)
        below = [other for other in known if other[1] < size]
        return self.of[below[-1] if below else known[0]]

    def of_all(self, asked: Mapping[Level, float], rows: float) -> float:
        """Return the CPU seconds of many questions over so many rows."""
        if not asked:
            return 0.0
        each = sum(number * self.of_level(level).at(rows) for level, number in asked.items())
        return self.setup_per_row * rows + each


def calibration_rows(n_columns: int, n_rows: int) -> int:
    """Return how many rows the larger engine gets, so that all pairs are counted soon.

    Examples
    --------
    >>> calibration_rows(37, 10**6), calibration_rows(1000, 10**6)
    (1000000, 4096)
    """
    pairs = max(1.0, n_columns * (n_columns - 1) / 2)
    return max(4096, min(n_rows, int(_MOST_PAIRED / pairs)))


def drawing_seconds(rows: Dataset) -> float:
    """Return the CPU seconds per row of drawing a bootstrap sample, after the first of many."""
    samples = iter(bootstrap_samples(rows, 2, seed=0))
    next(samples)
    began = time.process_time()
    next(samples)
    return (time.process_time() - began) / max(1, rows.n_rows)


class _TimedStream(StreamCounter):
    """An engine that reads its rows in passes, and how long these took."""

    pass_seconds = 0.0
    # Nothing is expected in a batch unless it was counted ahead.
    counts_ahead = True

    def over_chunks(self, columns: Sequence[int], work: Work[Partial]) -> Partial:
        began = time.process_time()
        try:
            return super().over_chunks(columns, work)
        finally:
            self.pass_seconds += time.process_time() - began


def measured_passes(pilot: Pilot, rows: Dataset) -> Prices:
    """Ask some batches again of an engine that reads more rows in passes.

    Prices are of a batch that takes a pass, which also counts what was expected to be asked next.
    What is made of the tables is no part of them, as it does not depend on the rows.
    """
    groups: dict[Level, list[Batch]] = {}
    for batch in pilot.watch.batches:
        if batch.passes:
            groups.setdefault(batch.top, []).append(batch)
    few = pilot.watch.rows
    assert few is not None
    more = rows.n_rows - few.n_rows
    found: dict[Level, Price] = {}
    began = time.process_time()
    with closing(settled_pieces([replace(rows, origin=None)], threads=1)) as settled:
        setup = (time.process_time() - began) / max(1, rows.n_rows)
        for level, some in groups.items():
            check_stopped()
            chosen = evenly(some, 2)
            seconds = [_seconds_of_passes(settled, batch) for batch in chosen]
            at_large, at_small = mean(seconds), mean(sum(batch.passes) for batch in chosen)
            per_row = at_large / max(1, rows.n_rows)
            if more > 0:
                per_row = max(0.0, at_large - at_small) / more
            found[level] = Price(max(0.0, at_large - per_row * rows.n_rows), per_row)
    if pilot.watch.loose_passes:
        found[LOOSE] = _usual(list(found.values()), pilot)
    return Prices(found, setup)


def _seconds_of_passes(rows: SettledRows, batch: Batch) -> float:
    # Each has an engine of its own, which knows no tables yet.
    counter = _TimedStream(rows, threads=1)
    counter.expect(lambda: batch.expected)
    batch.ask(counter, batch.questions)
    return counter.pass_seconds


def _usual(prices: Sequence[Price], pilot: Pilot) -> Price:
    """The price of passes whose questions are not known: that of others, or what they took."""
    if prices:
        return Price(mean(p.fixed for p in prices), mean(p.per_row for p in prices))
    return Price(0.0, mean(pilot.watch.passes) / max(1, pilot.rows))


def measured(batches: Sequence[Batch], small: Dataset, large: Dataset) -> Prices:
    """Ask some of the questions of a pilot again, of its own rows and of more."""
    groups: dict[Level, list[Batch]] = {}
    for batch in batches:
        if len(batch.questions):
            groups.setdefault(batch.top, []).append(batch)
    if not groups:
        return Prices({}, 0.0)
    engines = [_Engine(rows, batches) for rows in (small, large)]
    # The larger takes nearly all of the time.
    share = _SECONDS / len(groups)
    found = {}
    for level, some in groups.items():
        check_stopped()
        at_small, at_large = (engine.seconds_of(some, share) for engine in engines)
        span = max(1, large.n_rows - small.n_rows)
        per_row = max(0.0, (at_large - at_small) / span)
        if large.n_rows <= small.n_rows:
            per_row = at_large / max(1, large.n_rows)
        fixed = max(0.0, at_large - per_row * large.n_rows)
        found[level] = Price(fixed, per_row)
    return Prices(found, engines[1].setup / max(1, large.n_rows))


class _Engine:
    """An engine that is ready, and how long it took to get it ready."""

    def __init__(self, rows: Dataset, batches: Sequence[Batch]) -> None:
        sizes = [len(batch.questions) for batch in batches]
        began = time.process_time()
        self._counter = MemoryCounter(replace(rows, origin=None), threads=1)
        if any(not variable.is_continuous for variable in rows.variables):
            self._counter.prepare(sum(sizes), largest_batch=max(sizes))
        self.setup = time.process_time() - began

    def seconds_of(self, batches: Sequence[Batch], most: float) -> float:
        """CPU seconds per question of some of the batches."""
        spent, asked = 0.0, 0
        for batch in evenly(batches, _SLICES):
            first = max(0, (len(batch.questions) - _SLICE) // 2)
            some = batch.questions[first : first + _SLICE]
            began = time.process_time()
            batch.ask(self._counter, some)
            spent += time.process_time() - began
            asked += len(some)
            if spent > most:
                break
        return spent / max(1, asked)
