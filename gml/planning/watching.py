"""Engines that take down what they are asked, for a pilot run of a command on some of the rows.

One counts in memory; the other has the rows in a file and counts in passes, each of which it takes
down too, so that what needs no pass there is known. A path to a table of these rows brings its
engine with it (`PathWithEngine`).
"""

from __future__ import annotations

import time
from collections import Counter as Multiset
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter
from gml.counts.engine_over import PathWithEngine
from gml.counts.memory import MemoryCounter
from gml.counts.open_stream import settled_pieces
from gml.counts.pass_work import Partial, Work
from gml.counts.questions import Family, FamilyArray, Question, TableSet, Triple, TripleArray
from gml.counts.streamed import StreamCounter
from gml.data.alignment import Recoding, recoded
from gml.data.dataset import Dataset
from gml.kernel.layout import FamilyRule, FamilyWorths, TableStatistics

Answer = TypeVar("Answer")

TESTS, FAMILIES, TABLES, MOMENTS = "tests", "families", "tables", "moments"
"""What is asked for: statistics of tests, values of families, tables of counts, sums of numbers."""

Level = tuple[str, int]
"""What is asked for, and its size: of a conditioning set, of parents, of the columns of a table."""

LOOSE: Level = ("passes", 0)
"""Passes for questions that are not taken down."""


class Opened(Exception):
    """Ends a run at the moment when its table has been read."""


@dataclass(frozen=True)
class Batch:
    """Questions that were asked together."""

    levels: Multiset[Level]
    ask: Callable[[Counter, Any], object]
    """Asks an engine these questions, or some of them."""
    questions: Any
    seconds: float
    passes: tuple[float, ...] = ()
    """CPU seconds of each pass that it took."""
    expected: Sequence[TableSet] = ()
    """What these passes counted ahead."""

    @property
    def top(self) -> Level:
        """The largest of its questions."""
        return max(self.levels, key=lambda level: level[1])


@dataclass
class Watch:
    """What a run reads and asks; with `only_open`, it ends when the table is read."""

    only_open: bool = False
    in_passes: bool = False
    """Whether rows are counted by the engine of a stream."""
    began: float = field(default_factory=time.process_time)
    reading: float | None = None
    """CPU seconds until the table was read."""
    rows: Dataset | None = None
    """The table as it was read first."""
    batches: list[Batch] = field(default_factory=list)
    asked: Multiset[Level] = field(default_factory=Multiset)
    engine_seconds: float = 0.0
    passes: list[float] = field(default_factory=list)
    """CPU seconds of each pass over the rows."""
    loose_passes: int = 0
    """Passes for questions that are not among the batches."""
    expected: list[TableSet] = field(default_factory=list)
    """What the next pass may count ahead, or the last one has."""
    engines: list[StreamCounter] = field(default_factory=list)
    """Engines that hold files."""
    pass_rows: int = 0
    """Rows that each batch will read again, where the run will be on such an engine."""
    largest: tuple[int, int] = (0, 0)
    """Configurations and cells of the table that takes most memory."""
    _inside: bool = False

    def opened(self, rows: Dataset) -> None:
        """Take down that a table was read."""
        if self.rows is None:
            self.reading, self.rows = time.process_time() - self.began, rows
            if self.only_open:
                raise Opened

    def asking(
        self,
        levels: Multiset[Level],
        questions: Any,
        ask: Callable[[Counter, Any], object],
        answer: Callable[[], Answer],
    ) -> Answer:
        """Answer questions, and take down what they were and how long that took."""
        if self._inside:
            return answer()
        self._inside, began, n_passes = True, time.process_time(), len(self.passes)
        try:
            return answer()
        finally:
            seconds = time.process_time() - began
            self._inside = False
            self.asked += levels
            self.engine_seconds += seconds
            passes = tuple(self.passes[n_passes:])
            expected: list[TableSet] = []
            if passes:
                expected, self.expected = self.expected, expected
            self.batches.append(Batch(levels, ask, questions, seconds, passes, expected))

    def passed(self, seconds: float) -> None:
        """Take down that a pass is over."""
        self.passes.append(seconds)
        self.loose_passes += not self._inside

    def engine_over(self, rows: Dataset, threads: int | None) -> Counter:
        """Return an engine over these rows that is watched."""
        self.opened(rows)
        if not self.in_passes:
            return WatchedCounter(rows, self, threads=threads)
        began = time.process_time()
        engine = WatchedStream(rows, self)
        self.engines.append(engine)
        # To write the rows is priced apart, on more of them.
        self.reading = (self.reading or 0.0) + time.process_time() - began
        return engine

    @property
    def bought(self) -> Multiset[Level]:
        """What is paid for: questions, or where rows are read in passes, the batches that took one.

        These go by the largest of their questions.
        """
        if not self.in_passes:
            return self.asked
        found = Multiset(batch.top for batch in self.batches if batch.passes)
        return found + Multiset({LOOSE: self.loose_passes})

    @property
    def most_passes(self) -> float:
        """As many passes as the batches could take: numbers take two, as their ranges are first."""
        numbers = (MOMENTS, FAMILIES) if self.has_numbers else ()
        return float(sum(1 + (batch.top[0] in numbers) for batch in self.batches if batch.levels))

    @property
    def has_numbers(self) -> bool:
        """Whether some columns hold numbers."""
        return self.rows is not None and any(v.is_continuous for v in self.rows.variables)

    def close(self) -> None:
        """Give back what engines hold."""
        for engine in self.engines:
            engine.close()


class WatchedPath(PathWithEngine):
    """A path whose rows are counted by a watched engine.

    Messages name the table that its rows are a sample of.
    """

    __slots__ = ("shown", "watch")
    shown: str
    watch: Watch

    def __new__(cls, path: str, watch: Watch, shown: str) -> WatchedPath:
        found = super().__new__(cls, path)
        found.watch, found.shown = watch, shown
        return found

    def engine_over(self, rows: Dataset, threads: int | None) -> Counter:
        return self.watch.engine_over(rows, threads)


class _Watched(Counter):
    """What engines have in common that take down what they are asked."""

    _watch: Watch

    def _note_size(self, configs: float, cells: int) -> None:
        before = self._watch.largest
        if configs * cells > before[0] * before[1]:
            self._watch.largest = (int(min(configs, 2.0**62)), cells)

    def _levels_of(self, sets: Sequence[TableSet]) -> Multiset[Level]:
        for wanted in sets:
            configs = float(np.prod([float(self.n_levels[j]) for j in wanted.given] or [1.0]))
            self._note_size(configs, int(np.prod([self.n_levels[j] for j in wanted.axes])))
        return Multiset((TABLES, len(s.axes) + len(s.given)) for s in sets)

    def tables(self, sets: Iterable[TableSet]) -> Iterator[Any]:
        asked = list(sets)
        # The engine that this is mixed into has it.
        ask = super().tables  # type: ignore[safe-super]
        return iter(
            self._watch.asking(
                self._levels_of(asked),
                asked,
                lambda counter, some: list(counter.tables(some)),
                lambda: list(ask(asked)),
            )
        )

    def family_tables(self, families: Sequence[Family]) -> Iterator[NDArray[np.int64]]:
        ask = super().family_tables
        sets = [TableSet((child,), tuple(parents)) for child, parents in families]
        return iter(
            self._watch.asking(
                self._levels_of(sets),
                families,
                lambda counter, some: list(counter.family_tables(some)),
                lambda: list(ask(families)),
            )
        )

    def family_values(self, families: Sequence[Family], rule: FamilyRule) -> NDArray[np.float64]:
        ask = super().family_values
        return self._watch.asking(
            _family_levels(families),
            families,
            lambda counter, some: counter.family_values(some, rule),
            lambda: ask(families, rule),
        )

    def family_ceilings(
        self, families: Sequence[Family], rule: FamilyRule, cell_prior: float
    ) -> FamilyWorths:
        ask = super().family_ceilings
        return self._watch.asking(
            _family_levels(families),
            families,
            lambda counter, some: counter.family_ceilings(some, rule, cell_prior),
            lambda: ask(families, rule, cell_prior),
        )

    def statistics(self, triples: Sequence[Triple]) -> TableStatistics:
        ask = super().statistics
        if isinstance(triples, TripleArray):
            levels = Multiset({(TESTS, triples.rows.shape[1] - 2): len(triples)})
        else:
            levels = Multiset((TESTS, len(given)) for _, _, given in triples)
        return self._watch.asking(
            levels,
            triples,
            lambda counter, some: counter.statistics(some),
            lambda: ask(triples),
        )

    def pair_statistics(self, pairs: NDArray[np.int32]) -> TableStatistics:
        ask = super().pair_statistics
        return self._watch.asking(
            Multiset({(TESTS, 0): len(pairs)}),
            pairs,
            lambda counter, some: counter.pair_statistics(some),
            lambda: ask(pairs),
        )

    def moments(self, columns: Sequence[int], given: Sequence[int] = ()) -> Any:
        ask = super().moments
        question = [(tuple(columns), tuple(given))]
        return self._watch.asking(
            Multiset({(MOMENTS, len(columns)): 1}),
            question,
            lambda counter, some: [counter.moments(*one) for one in some],
            lambda: ask(columns, given),
        )

    def many_moments(self, questions: Sequence[Question]) -> Any:
        ask = super().many_moments
        return self._watch.asking(
            Multiset((MOMENTS, len(question.columns)) for question in questions),
            questions,
            lambda counter, some: counter.many_moments(some),
            lambda: ask(questions),
        )

    def expanded_moments(self, columns: Sequence[int]) -> Any:
        ask = super().expanded_moments
        return self._watch.asking(
            Multiset({(MOMENTS, len(columns)): 1}),
            [tuple(columns)],
            lambda counter, some: [counter.expanded_moments(one) for one in some],
            lambda: ask(columns),
        )

    def residuals(self, families: Sequence[Family]) -> Any:
        ask = super().residuals
        return self._watch.asking(
            _family_levels(families),
            families,
            lambda counter, some: counter.residuals(some),
            lambda: ask(families),
        )


class WatchedCounter(_Watched, MemoryCounter):
    """The engine over rows in memory, which takes down what it is asked."""

    def __init__(
        self,
        dataset: Dataset,
        watch: Watch,
        *,
        threads: int | None = None,
        max_memory: int | None = None,
    ) -> None:
        super().__init__(dataset, threads=threads, max_memory=max_memory)
        self._watch = watch

    @property
    def pass_rows(self) -> int:
        return self._watch.pass_rows

    def _over(self, rows: Dataset) -> WatchedCounter:
        return WatchedCounter(rows, self._watch, threads=self._threads, max_memory=self._budget)

    def recoded(self, recodings: Mapping[str, Recoding]) -> MemoryCounter:
        return self._over(recoded(self._dataset, recodings))

    def select(self, names: Sequence[str]) -> MemoryCounter:
        return self._over(self._dataset.select(names))


class WatchedStream(_Watched, StreamCounter):
    """The engine over rows in a file, which takes down what it is asked, and its passes."""

    def __init__(self, rows: Dataset, watch: Watch) -> None:
        super().__init__(settled_pieces([rows], threads=1), threads=1)
        self._watch = watch

    @property
    def counts_ahead(self) -> bool:
        return self.would_count_ahead(max(self.pass_rows, self._watch.pass_rows))

    def expect(self, likely: Callable[[], Iterable[TableSet]]) -> None:
        watch = self._watch
        watch.expected = []

        def noted() -> Iterator[TableSet]:
            # Asked for within the pass, and no further than there is room.
            for wanted in likely():
                watch.expected.append(wanted)
                yield wanted

        super().expect(noted)

    def over_chunks(self, columns: Sequence[int], work: Work[Partial]) -> Partial:
        began = time.process_time()
        try:
            return super().over_chunks(columns, work)
        finally:
            self._watch.passed(time.process_time() - began)


def is_watched(data: object) -> bool:
    """Whether data are rows of a pilot, as a command was given them."""
    return isinstance(data, WatchedPath | _Watched)


def _family_levels(families: Sequence[Family]) -> Multiset[Level]:
    if isinstance(families, FamilyArray):
        return Multiset({(FAMILIES, families.rows.shape[1] - 1): len(families)})
    return Multiset((FAMILIES, len(parents)) for _, parents in families)
