"""What a run would take: the table, what is asked of it, memory, passes and time.

Reading is priced by reading a sample, tables by counting some of them again on more rows, and what
a learner will ask by pilots (`gml.planning.pilots`). Times are CPU seconds; with several threads,
counting is shared among them. What no run would survive is listed as refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gml.counts.coded_rows import mask_bytes
from gml.data.dataset import Dataset
from gml.data.sample_size import TableSize
from gml.errors import counted
from gml.kernel.layout import DENSE_CELLS
from gml.planning.growth import UNEVEN, Range, carried_on, straight_on
from gml.planning.pilots import Pilot, Reading
from gml.planning.prices import Prices
from gml.planning.watching import FAMILIES, TESTS, Level

# Blocks of the reader, and what the libraries take once they are used.
_READER_BYTES = 9 << 20
_FACTOR_OF_TABLES = 1.5
_THREADS_LOSE = 0.9
COLLIDER_TESTS = "collider tests"
BOUNDS = "bounds"
"""Children given more than a search lets them have as parents: what no parents can exceed."""


@dataclass(frozen=True)
class Work:
    """How many questions of a kind and size are asked: tests, families, tables or sums.

    The size is that of the conditioning set, of the set of parents, or of the columns of a table.
    """

    kind: str
    size: int
    number: Range


@dataclass(frozen=True)
class Memory:
    """Bytes: of the codes, of bit masks and of the largest table; and the most there may be."""

    codes: int
    masks: int
    table: int
    peak: int
    """All that is taken at once, the program itself aside."""
    budget: int


@dataclass(frozen=True)
class Refusal:
    """What would end the run, and with which exit code."""

    exit_code: int
    reason: str


@dataclass(frozen=True)
class Seconds:
    """CPU seconds of reading, of counting and of the rest; and how long all of it takes."""

    reading: float
    counting: Range
    other: Range
    elapsed: Range


@dataclass(frozen=True, repr=False)
class Plan:
    """What a run would take.

    `rows` is estimated unless `rows_exact`; `levels` are those of the columns used in the rows that
    were looked at, 0 for numbers. `passes` says how often the rows are gone through where they are
    not in memory. What is not known as the run would be refused is None or empty.
    """

    command: str
    rows: int
    rows_exact: bool
    stored_bytes: int
    levels: Mapping[str, int]
    looked_at: int
    """Rows that the levels were taken from."""
    engine: str
    threads: int
    work: tuple[Work, ...] = ()
    memory: Memory | None = None
    passes: Range | None = None
    seconds: Seconds | None = None
    pilots: tuple[int, ...] = ()
    replicates: int | None = None
    refused: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = field(default=())

    def __repr__(self) -> str:
        rows = f"{'' if self.rows_exact else 'about '}{counted(self.rows, 'row')}"
        parts = [f"{rows} x {counted(self.columns, 'column')}", self.engine]
        if self.memory is not None:
            parts.append(f"{self.memory.peak / 1e6:.0f} MB")
        if self.seconds is not None:
            parts.append(f"about {self.seconds.elapsed.likely:.2g} s")
        if self.refused:
            parts.append("refused")
        return f"<Plan of {self.command}: {', '.join(parts)}>"

    if TYPE_CHECKING:
        # The package adds it to the class, and `__str__` too: reports are above this room.
        def _repr_html_(self) -> str | None: ...

    @property
    def columns(self) -> int:
        """Number of columns used."""
        return len(self.levels)


@dataclass(frozen=True)
class Repeats:
    """A run that consists of many like the pilots: how many, and on which share of the rows."""

    number: int = 1
    share: float = 1.0
    drawing: float = 0.0
    """CPU seconds per row of drawing the rows of one."""


def memory_of(rows: Dataset, n: float, largest: tuple[int, int], budget: int) -> Memory:
    """Return what the engine over n such rows takes, as `gml.counts.coded_rows` makes it."""
    codes = sum(column.itemsize for column in rows.columns)
    codes += 8 * (rows.weights is not None)
    levels = [len(v.levels) for v in rows.variables if v.levels]
    masks = mask_bytes(levels, n, budget) or 0
    configs, cells = largest
    table = 8 * cells * int(min(configs, max(DENSE_CELLS, n)))
    peak = int(codes * n) + masks + table + _READER_BYTES
    return Memory(int(codes * n), masks, table, peak, budget)


def with_codes_in_a_file(memory: Memory) -> Memory:
    """Return what an engine takes that has the codes in a file, and blocks of them in memory."""
    peak = min(memory.budget, memory.peak)
    return replace(memory, masks=0, peak=peak)


def work_of(
    pilots: Sequence[Pilot], n: float, *, is_fixed: bool, most: Mapping[Level, int]
) -> tuple[Work, ...]:
    """Return how many questions will be asked, by kind and size.

    `most` is how many families a search can ask for, whose questions may come twice; others that it
    asks for bound what parents can add. What two pilots asked alike will be asked so again: all
    pairs, say.
    """
    rows = [pilot.rows for pilot in pilots]
    counts = [_counted(pilot) for pilot in pilots]
    found = []
    for level in sorted({level for count in counts for level in count}):
        series = [float(count.get(level, 0)) for count in counts]
        if is_fixed or (pilots[-1].complete and series[-1:] == series[-2:-1]):
            number = Range.exactly(series[-1])
        else:
            number = _within(carried_on(rows, series, n), pilots[-1].complete)
        kind, size = level
        top: float = most.get(level, math.inf)
        if most and kind == FAMILIES and level not in most:
            kind = BOUNDS
        at_most = (min(x, top) for x in number)
        number = Range(*(float(round(x)) if x < math.inf else x for x in at_most))
        found.append(Work(kind, size, number))
    return tuple(work for work in found if work.number.high > 0)


def _counted(pilot: Pilot) -> dict[Level, int]:
    """What a pilot asked; PC says which of its tests were for the skeleton."""
    tests = getattr(pilot.result, "tests", None)
    colliders = getattr(pilot.result, "collider_tests", None)
    if not isinstance(tests, tuple) or colliders is None:
        return dict(pilot.watch.asked)
    found: dict[Level, int] = {(TESTS, size): number for size, number in enumerate(tests)}
    return {**found, (COLLIDER_TESTS, 0): colliders}


def passes_of(
    in_passes: Sequence[Pilot], pilots: Sequence[Pilot], n: float, *, is_fixed: bool
) -> Range:
    """Return how often the rows are read, from pilots by the engine that reads them in passes.

    If the first of these could not finish, there are no more passes than other pilots had batches,
    or two for each batch of numbers.
    """
    found = [float(len(pilot.watch.passes)) for pilot in in_passes]
    if is_fixed:
        return Range.exactly(found[-1])
    rows = [pilot.rows for pilot in in_passes]
    low, likely, high = carried_on(rows, found, n, near=UNEVEN)
    if not in_passes[-1].complete:
        bound = carried_on([p.rows for p in pilots], [p.watch.most_passes for p in pilots], n)
        high = _within(bound, pilots[-1].complete).high
        likely = math.sqrt(likely * high) if likely < high < math.inf else likely
    # Of few passes, one more is a large part; and there is one at least.
    top = math.ceil(high) + 1.0 if high < math.inf else high
    return Range(*(max(1.0, x) for x in (math.floor(low), round(likely), top)))


def all_families(n_columns: int, max_parents: int | None) -> dict[Level, int]:
    """Return how many families there are by number of parents.

    Examples
    --------
    >>> all_families(4, 2)
    {('families', 0): 4, ('families', 1): 12, ('families', 2): 12}
    """
    most = n_columns - 1 if max_parents is None else min(max_parents, n_columns - 1)
    return {
        (FAMILIES, size): n_columns * math.comb(n_columns - 1, size) for size in range(most + 1)
    }


def seconds_of(
    pilots: Sequence[Pilot],
    prices: Prices,
    reading: float,
    n: float,
    *,
    threads: int,
    repeats: Repeats,
    is_fixed: bool,
) -> Seconds:
    """Return the time of a run on n rows: what pilots asked, at the prices of n rows."""
    rows = [pilot.rows for pilot in pilots]
    at = n * repeats.share
    counting = [prices.of_all(pilot.watch.bought, at) for pilot in pilots]
    others = [pilot.other_seconds for pilot in pilots]
    if is_fixed:
        measured = [pilot.counting_seconds for pilot in pilots]
        in_passes = pilots[-1].watch.in_passes
        counted = counting[-1] if in_passes else straight_on(rows, measured, at)
        both = (counted, straight_on(rows, others, at))
        ranges = [_around(number, _FACTOR_OF_TABLES) for number in both]
    else:
        ranges = [carried_on(rows, series, at) for series in (counting, others)]
    complete = pilots[-1].complete
    ranges[1] += _around(repeats.drawing * n, _FACTOR_OF_TABLES)
    count, other = (_within(one, complete).times(repeats.number) for one in ranges)
    if repeats.number > 1:
        # Each replicate has a process to itself.
        work = (count + other).times(1 / _shared(min(threads, repeats.number)))
    else:
        work = count.times(1 / _shared(threads)) + other
    return Seconds(reading, count, other, Range.exactly(reading) + work)


def _shared(threads: int) -> float:
    """How much faster threads are than one."""
    return 1.0 if threads == 1 else _THREADS_LOSE * threads


def _around(number: float, factor: float) -> Range:
    return Range(number / factor, number, number * factor)


def _within(number: Range, complete: bool) -> Range:
    """The range, open upwards if the pilot could not even finish."""
    return number if complete else Range(number.low, number.likely, math.inf)


def many_levels(reading: Reading, size: TableSize, max_levels: int | None) -> list[str]:
    """Say which columns come close to too many levels in the rows that were looked at."""
    if max_levels is None or reading.n_read >= size.rows:
        return []
    return [
        variable.name
        for variable in reading.rows.variables
        if variable.levels is not None and 2 * len(variable.levels) > max_levels
    ]


def levels_of(rows: Dataset) -> dict[str, int]:
    """Return the number of levels of each column; 0 for numbers."""
    return {variable.name: len(variable.levels or ()) for variable in rows.variables}
