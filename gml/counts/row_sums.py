"""Sums over rows that need not be in memory, and questions that take several of them in turn.

A question is a generator: it yields what it wants added up, is sent the sums, and returns its
answer. `together` asks many at once, so that what they want at the same time takes one pass.
Sums of floats are rounded once, when they are complete (`FloatSums`), so that neither the order of
rows nor their division into chunks shows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from gml.counts.chunked_rows import ChunkedRows
from gml.counts.float_sums import FloatSums
from gml.counts.number_rows import NumberReader, NumberRows
from gml.counts.pass_work import Work
from gml.data.dataset import Dataset
from gml.data.number_summary import Numbers, NumberValues
from gml.data.row_order import Vector, order_of_rows
from gml.errors import CannotAnswer, parameter
from gml.kernel.layout import FLOAT_SUM_WORDS
from gml.resources import format_size
from gml.stopping import check_stopped

Answer = TypeVar("Answer")

_BYTES_PER_SUM = 8 * FLOAT_SUM_WORDS
# Beside the sums themselves.
_BYTES_PER_GROUP = 1000
# What the sums of questions that are asked at once may take: where rows are in memory, and of the
# budget where they are not.
_AT_ONCE = 1 << 26
_SHARE = 8
# A number as it comes, joined with others, in order, and while a question makes something of it.
_BYTES_PER_NUMBER = 80


def _no_counts() -> NDArray[np.int64]:
    return np.zeros(0, dtype=np.int64)


def _no_numbers() -> Vector:
    return np.zeros(0)


@dataclass(frozen=True)
class Sums:
    """Over some rows: how many there are, sums of floats, counts, and the largest of columns."""

    n: int
    floats: FloatSums = field(default_factory=lambda: FloatSums.none(0))
    counts: NDArray[np.int64] = field(default_factory=_no_counts)
    largest: Vector = field(default_factory=_no_numbers)
    times: int = 1
    """How often each of the rows came that are to count once."""

    def plus(self, other: Sums) -> Sums:
        """The same over the rows of both."""
        return Sums(
            self.n + other.n,
            self.floats.plus(other.floats),
            self.counts + other.counts,
            np.maximum(self.largest, other.largest),
            self.times,
        )

    def once(self, times: int) -> Sums:
        """The same where each row came several times, as if it had come once."""
        if times == 1:
            return self
        return replace(self, n=self.n // times, counts=self.counts // times, times=times)

    def rounded(self) -> Vector:
        """The sums of floats."""
        return self.floats.rounded(self.times)


Found = Mapping[int, Sums]
"""By configuration of labels, as far as these occur."""


@dataclass(frozen=True)
class RowSums(ABC):
    """What is to be added up over rows: it is pickled, and done on each chunk."""

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """The columns that it takes."""

    @property
    @abstractmethod
    def n_sums(self) -> int:
        """How many sums of floats there may be, all configurations together."""

    @property
    def n_groups(self) -> int:
        """How many configurations there may be."""
        return 1

    @property
    def n_counts(self) -> int:
        """How many counts there may be, all configurations together."""
        return 0

    @abstractmethod
    def over(self, rows: NumberRows) -> Iterator[tuple[int, Sums]]:
        """Add up some rows."""


Steps = Generator[Sequence[RowSums], Sequence[Found], Answer]


@dataclass(frozen=True)
class _Together(Work[list[dict[int, Sums]]]):
    """What many questions want, of one chunk after the other."""

    reader: NumberReader
    wanted: Sequence[RowSums]

    def of(self, chunk: Dataset) -> list[dict[int, Sums]]:
        """Add up a chunk."""
        # What overflows is recognised where it matters.
        with np.errstate(all="ignore"):
            rows = self.reader.read(chunk)
            return [dict(one.over(rows)) for one in self.wanted]

    def add(
        self, first: list[dict[int, Sums]], second: list[dict[int, Sums]]
    ) -> list[dict[int, Sums]]:
        """Add up both."""
        for mine, theirs in zip(first, second, strict=True):
            for place, sums in theirs.items():
                mine[place] = mine[place].plus(sums) if place in mine else sums
        return first


@dataclass(frozen=True)
class _Columns(Work[list[tuple[list[Vector], NDArray[np.int64]]]]):
    """Columns over the rows that have all of them, and how often each row counts."""

    reader: NumberReader
    names: Sequence[str]

    def of(self, chunk: Dataset) -> list[tuple[list[Vector], NDArray[np.int64]]]:
        """Take those of a chunk."""
        rows = self.reader.read(chunk).complete(self.names)
        times = np.ones(len(rows.numbers), dtype=np.int64) if rows.times is None else rows.times
        return [([rows.columns[name] for name in self.names], times)]

    def add(
        self,
        first: list[tuple[list[Vector], NDArray[np.int64]]],
        second: list[tuple[list[Vector], NDArray[np.int64]]],
    ) -> list[tuple[list[Vector], NDArray[np.int64]]]:
        """Put one behind the other."""
        first += second
        return first


@dataclass(frozen=True)
class _Spelt(Work[NumberValues]):
    """The different numbers that the texts of a column spell."""

    reader: NumberReader
    name: str

    def of(self, chunk: Dataset) -> NumberValues:
        """Look at a chunk."""
        rows = self.reader.read(chunk)
        return NumberValues.of(rows.columns[self.name], rows.times)

    def add(self, first: NumberValues, second: NumberValues) -> NumberValues:
        """Count what is in both once."""
        return NumberValues.joined([first, second])


@dataclass(frozen=True)
class NumberTable:
    """Rows as numbers, wherever they are."""

    rows: ChunkedRows
    reader: NumberReader
    left_out: int = 0
    """How many rows the reader leaves out, as they are far away."""

    @property
    def n(self) -> int:
        """The number of rows, weighted."""
        return self.rows.n - self.left_out

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return self.rows.names

    def n_levels(self, label: str) -> int:
        """How many levels a label has, with those that the model does not know."""
        return len(self.reader.levels[label])

    def sums(self, wanted: Sequence[RowSums]) -> list[Found]:
        """Go through the rows once."""
        names = self.reader.needed([name for one in wanted for name in one.names])
        found = self.rows.over(names, _Together(self.reader, wanted))
        times = self.rows.times
        return [{place: sums.once(times) for place, sums in sorted(of.items())} for of in found]

    def columns(self, names: Sequence[str], what: str) -> dict[str, Vector]:
        """Columns in memory, over the rows that have all of them, in an order by what these hold.

        A row stands there as often as it counts.
        """
        cells = self.rows.n * self.rows.times * (len(names) + 1)
        size, budget = _BYTES_PER_NUMBER * cells, self.rows.budget
        if size > budget:
            raise CannotAnswer(
                f"{what} is settled by exchanging rows, which takes about {format_size(size)}, "
                f"more than {parameter('max_memory')} allows; allow more"
            )
        work = _Columns(self.reader, names)
        parts = self.rows.over(self.reader.needed(names), work)
        times = np.concatenate([counts for _, counts in parts])
        columns = {
            name: np.repeat(np.concatenate([cells[k] for cells, _ in parts]), times)
            for k, name in enumerate(names)
        }
        # Equal rows stand side by side, as often as they were delivered.
        order = order_of_rows(columns)[:: self.rows.times]
        return {name: column[order] for name, column in columns.items()}

    def values(self, name: str) -> Numbers:
        """The different numbers of a column, near or far, and how often each occurs."""
        if name not in self.reader.spelt:
            return self.rows.values(name).once(self.rows.times)
        found = self.rows.over([name], _Spelt(replace(self.reader, near={}), name))
        return found.once(self.rows.times)


class _Asked(Generic[Answer]):
    """A question that has begun: what it wants next, or its answer."""

    def __init__(self, question: Steps[Answer]) -> None:
        self._question = question
        self.wanted: Sequence[RowSums] | None = None
        self.answer: Answer
        self.send(None)

    def send(self, found: Sequence[Found] | None) -> None:
        """Go on with what it wanted."""
        try:
            self.wanted = self._question.send(found)  # type: ignore[arg-type]
        except StopIteration as stop:
            self.wanted, self.answer = None, stop.value


def alongside(*questions: Steps[Any]) -> Steps[list[Any]]:
    """One question that is made of several, which want what they want at the same time."""
    return (yield from _finished([_Asked(question) for question in questions]))


def _finished(asked: Sequence[_Asked[Answer]]) -> Steps[list[Answer]]:
    while waiting := [one for one in asked if one.wanted is not None]:
        found = iter((yield [work for one in waiting for work in one.wanted or ()]))
        for one in waiting:
            one.send([next(found) for _ in one.wanted or ()])
    return [one.answer for one in asked]


def together(table: NumberTable, questions: Iterable[Steps[Answer]]) -> list[Answer]:
    """Ask questions, as many in a pass as what they want in it has room.

    No more are begun before others have their answers than have room in their first pass.
    """
    room = _AT_ONCE
    if table.rows.is_dear:
        room = max(room, table.rows.budget // _SHARE)
    answers: list[Answer] = []
    for begun in _within(map(_Asked, questions), room):
        while waiting := [one for one in begun if one.wanted is not None]:
            for some in _within(waiting, room):
                check_stopped()
                found = iter(table.sums([work for one in some for work in one.wanted or ()]))
                for one in some:
                    one.send([next(found) for _ in one.wanted or ()])
        answers += [one.answer for one in begun]
    return answers


def _within(asked: Iterable[_Asked[Answer]], room: int) -> Iterator[list[_Asked[Answer]]]:
    """Yield questions in lots, as many as have room, one at least."""
    lot: list[_Asked[Answer]] = []
    used = 0
    for one in asked:
        size = _size(one.wanted or ())
        if lot and used + size > room:
            yield lot
            lot, used = [], 0
        lot.append(one)
        used += size
    if lot:
        yield lot


def ask(table: NumberTable, question: Steps[Answer]) -> Answer:
    """Ask one question."""
    asked = _Asked(question)
    while asked.wanted is not None:
        check_stopped()
        asked.send(table.sums(asked.wanted))
    return asked.answer


def _size(wanted: Sequence[RowSums]) -> int:
    return sum(
        _BYTES_PER_SUM * one.n_sums + _BYTES_PER_GROUP * one.n_groups + 8 * one.n_counts
        for one in wanted
    )
