"""Pilot runs: a command as it will be run, on tables of a few rows, until a second has passed.

Each pilot has four times the rows of the one before, but no more than half of all, so that two of
them show how much more is asked of more rows. One that takes too long is stopped where the command
can be stopped.

What is asked is found out in memory, where that is fastest. How many passes over the rows it takes
depends on what the engine of a stream keeps, and counts ahead: so that engine answers again, on as
many of the same tables as there is time for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gml.data.dataset import Dataset
from gml.planning.samples import Source
from gml.planning.watching import Opened, Watch
from gml.progress import Remembering, reporting_to
from gml.stopping import check_stopped

Run = Callable[[Any, float], Any]
"""Runs the command on data, for so many seconds at most where it can be stopped."""

FEW_ROWS, _FACTOR, _MOST = 500, 4, 32_000
MANY_ROWS = 8000
"""Rows of the first pilot of a command that draws at random where rows are few."""
_SECONDS, _PASS_SECONDS = 1.5, 1.0
_LEAST_SECONDS = 0.3


@dataclass(frozen=True)
class Pilot:
    """A run on some rows: what was asked, and the CPU seconds of reading, counting and the rest."""

    rows: int
    watch: Watch
    seconds: float
    result: Any
    complete: bool

    @property
    def counting_seconds(self) -> float:
        """CPU seconds of the engine, or of its passes."""
        return sum(self.watch.passes) if self.watch.in_passes else self.watch.engine_seconds

    @property
    def other_seconds(self) -> float:
        """CPU seconds neither of reading nor of counting."""
        return max(0.0, self.seconds - (self.watch.reading or 0.0) - self.counting_seconds)


@dataclass(frozen=True)
class Reading:
    """The table as a command reads it, and the CPU seconds of reading these rows."""

    rows: Dataset
    n_read: int
    """Rows in the file, of which missing values may have removed some."""
    seconds: float

    @property
    def kept(self) -> float:
        """The share of rows that are counted."""
        return self.rows.n_rows / max(1, self.n_read)


def read_sample(run: Run, source: Source, folder: Path, n_rows: int) -> Reading:
    """Read rows as the command does."""
    found: list[Reading] = []
    # The first time, code and pages are loaded too.
    for _ in range(2):
        watch = Watch(only_open=True)
        try:
            with reporting_to(Remembering()):
                run(source.given(folder, n_rows, watch), 0.0)
        except Opened:
            assert watch.rows is not None and watch.reading is not None
            found.append(Reading(watch.rows, min(n_rows, source.n_rows), watch.reading))
        else:
            raise AssertionError("a command with a plan counts by the engine that is watched")
    return min(found, key=lambda reading: reading.seconds)


def pilot_sizes(source: Source, most: int = _MOST, *, first: int = FEW_ROWS) -> list[int]:
    """Return how many rows pilots have: two sizes at least, half of all rows at most."""
    most = max(1, min(source.n_rows, most, -(-source.size.rows // 2)))
    sizes = [min(first, -(-most // _FACTOR))]
    while sizes[-1] * _FACTOR <= most:
        sizes.append(sizes[-1] * _FACTOR)
    if 2 * most >= 3 * sizes[-1]:
        sizes.append(most)
    return sizes


def run_pilots(
    run: Run, source: Source, folder: Path, sizes: Sequence[int], *, pass_rows: int = 0
) -> list[Pilot]:
    """Run the command on more and more rows.

    There are two pilots at least, unless the first could not finish.
    """

    def watch() -> Watch:
        return Watch(pass_rows=pass_rows)

    return _run_pilots(run, source, folder, sizes, watch, seconds=_SECONDS, least=2)


def run_in_passes(
    run: Run,
    source: Source,
    folder: Path,
    sizes: Sequence[int],
    *,
    least: int = 1,
    pass_rows: int = 0,
) -> list[Pilot]:
    """Run it by the engine of a stream, on as many tables as time allows, but so many at least.

    What pilots count ahead is what is counted with so many rows.
    """

    def watch() -> Watch:
        return Watch(in_passes=True, pass_rows=pass_rows)

    return _run_pilots(run, source, folder, sizes, watch, seconds=_PASS_SECONDS, least=least)


def _run_pilots(
    run: Run,
    source: Source,
    folder: Path,
    sizes: Sequence[int],
    watch: Callable[[], Watch],
    *,
    seconds: float,
    least: int,
) -> list[Pilot]:
    found: list[Pilot] = []
    left = seconds
    for size in sizes:
        check_stopped()
        if len(found) >= least and found[-1].seconds * 1.5 > left:
            break
        # Limits of time are of time that passes, on a machine that may be busy.
        most_seconds = 3 * max(left, _LEAST_SECONDS)
        pilot = _piloted(run, source, folder, size, most_seconds, watch())
        left -= pilot.seconds
        if not found and pilot.complete and pilot.seconds < _LEAST_SECONDS:
            # The first time, code is loaded too.
            pilot = _piloted(run, source, folder, size, most_seconds, watch())
        if pilot.complete or not found:
            found.append(pilot)
        if not pilot.complete:
            break
    return found


def _piloted(run: Run, source: Source, folder: Path, size: int, most: float, watch: Watch) -> Pilot:
    began = time.process_time()
    try:
        data = source.given(folder, size, watch)
        began = time.process_time()
        with reporting_to(Remembering()):
            result = run(data, most)
    finally:
        watch.close()
    seconds = time.process_time() - began
    return Pilot(size, watch, seconds, result, bool(getattr(result, "complete", True)))
