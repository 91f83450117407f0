"""The work of one pass over rows: a partial answer of each chunk, and how two of them add up.

Partial answers are integers, or extremes of numbers, so that they add up to the same whatever the
chunks are and in whatever order they come. Work and partial answers can be pickled: a chunk may be
looked at by a thread, by another process or on another machine. Columns are those of the chunk.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.exact_moments import ExactSums, Frame, complete_rows, strata_of, sums_over
from gml.counts.gaps import Gaps
from gml.counts.integer_gram import IntegerColumn, IntegerGram, integer_gram, limbs_needed
from gml.counts.packed_keys import PackedKeys, summed_by_key
from gml.counts.questions import Question
from gml.data.alignment import Recoding, recoded
from gml.data.dataset import Dataset

Partial = TypeVar("Partial")

# Groups that are numbered by all their possible configurations.
_MOST_GROUPS = 1 << 12
_MOST_IN_INT64 = 1 << 61


class Work(ABC, Generic[Partial]):
    """What is done with each chunk, and how partial answers add up; `add` may change the first."""

    @abstractmethod
    def of(self, chunk: Dataset) -> Partial:
        """Return the partial answer of some rows."""

    @abstractmethod
    def add(self, first: Partial, second: Partial) -> Partial:
        """Return the partial answer of the rows of both."""


@dataclass(frozen=True)
class Recoded(Work[Partial]):
    """The same work where columns have other levels."""

    work: Work[Partial]
    recodings: Mapping[str, Recoding]

    def of(self, chunk: Dataset) -> Partial:
        """Give the columns their levels first."""
        return self.work.of(recoded(chunk, self.recodings))

    def add(self, first: Partial, second: Partial) -> Partial:
        """Add as the work does."""
        return self.work.add(first, second)


@dataclass(frozen=True)
class CompleteRows(Work[NDArray[np.int64]]):
    """How many rows, weighted, have a value in each column of a set."""

    sets: Sequence[Sequence[int]]

    def of(self, chunk: Dataset) -> NDArray[np.int64]:
        """Count the rows of a chunk."""
        return Gaps(chunk).complete_rows(self.sets)

    def add(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
        """Add the counts."""
        return first + second


Config = tuple[int, ...]
Ranges = dict[Config, NDArray[np.float64]]
"""By configuration: the least and the greatest of each column (2 × columns)."""


@dataclass(frozen=True)
class Extremes(Work[list[Ranges]]):
    """The least and greatest numbers over the rows complete in the columns of each question."""

    questions: Sequence[Question]

    def of(self, chunk: Dataset) -> list[Ranges]:
        """Look at a chunk."""
        return [self._of_question(chunk, question) for question in self.questions]

    def _of_question(self, chunk: Dataset, question: Question) -> Ranges:
        strata = strata_of(chunk, question.columns, question.given)
        found = {}
        for config, rows in zip(strata.configs.tolist(), strata.rows, strict=True):
            cells = [chunk.columns[j][rows] for j in question.columns]
            low = [values.min(initial=np.inf) for values in cells]
            found[tuple(config)] = np.array([low, [v.max(initial=-np.inf) for v in cells]])
        return found

    def add(self, first: list[Ranges], second: list[Ranges]) -> list[Ranges]:
        """Keep the lesser and the greater of both."""
        for mine, theirs in zip(first, second, strict=True):
            for config, (low, high) in theirs.items():
                known = mine.get(config)
                if known is not None:
                    low, high = np.minimum(known[0], low), np.maximum(known[1], high)
                mine[config] = np.array([low, high])
        return first


@dataclass(frozen=True)
class SumsWithin(Work[list[dict[Config, ExactSums]]]):
    """Sums of numbers and of their products, in the frames of each configuration."""

    questions: Sequence[Question]
    frames: Sequence[Mapping[Config, Sequence[Frame]]]

    def of(self, chunk: Dataset) -> list[dict[Config, ExactSums]]:
        """Add up a chunk."""
        found = []
        for question, frames in zip(self.questions, self.frames, strict=True):
            strata = strata_of(chunk, question.columns, question.given)
            by_config = zip(map(tuple, strata.configs.tolist()), strata.rows, strict=True)
            found.append(
                {
                    config: sums_over(chunk, question.columns, rows, frames[config])
                    for config, rows in by_config
                }
            )
        return found

    def add(
        self, first: list[dict[Config, ExactSums]], second: list[dict[Config, ExactSums]]
    ) -> list[dict[Config, ExactSums]]:
        """Add the sums."""
        for mine, theirs in zip(first, second, strict=True):
            for config, sums in theirs.items():
                known = mine.get(config)
                mine[config] = sums if known is None else known.plus(sums)
        return first


class Seen(NamedTuple):
    """What occurs in a column: the least and greatest number, or which levels (None: numbers)."""

    low: float
    high: float
    levels: NDArray[np.bool_] | None


@dataclass(frozen=True)
class SeenInRows(Work[list[list[Seen]]]):
    """What occurs in the columns of sets, over the rows complete in all columns of a set."""

    sets: Sequence[Sequence[int]]
    n_levels: Sequence[int]
    """0 for numbers."""

    def of(self, chunk: Dataset) -> list[list[Seen]]:
        """Look at a chunk."""
        return [self._of_set(chunk, columns) for columns in self.sets]

    def _of_set(self, chunk: Dataset, columns: Sequence[int]) -> list[Seen]:
        rows = complete_rows(chunk, columns)
        found = []
        for j in columns:
            cells = chunk.columns[j][rows]
            if self.n_levels[j]:
                counts = np.bincount(cells, minlength=self.n_levels[j])
                found.append(Seen(np.inf, -np.inf, counts > 0))
            else:
                low, high = cells.min(initial=np.inf), cells.max(initial=-np.inf)
                found.append(Seen(float(low), float(high), None))
        return found

    def add(self, first: list[list[Seen]], second: list[list[Seen]]) -> list[list[Seen]]:
        """Join what occurs in both."""
        return [
            [
                Seen(
                    min(a.low, b.low),
                    max(a.high, b.high),
                    None if a.levels is None or b.levels is None else a.levels | b.levels,
                )
                for a, b in zip(mine, theirs, strict=True)
            ]
            for mine, theirs in zip(first, second, strict=True)
        ]


class GramPart(NamedTuple):
    """Sums of products, the rows behind them, and the bits that the integers of numbers have."""

    n: int
    parts: tuple[NDArray[Any], ...]
    used: list[int]


class Entry(NamedTuple):
    """A row of a matrix of moments: a number in its frame, or the indicator of a level."""

    column: int
    level: int
    """−1 for a number."""
    frame: Frame


@dataclass(frozen=True)
class Gram(Work[list[GramPart]]):
    """Sums of products of numbers and indicators, over the rows complete in sets of columns."""

    sets: Sequence[Sequence[int]]
    entries: Sequence[Sequence[Entry]]
    number_bits: int

    def of(self, chunk: Dataset) -> list[GramPart]:
        """Add up a chunk."""
        return [self._of_set(chunk, *asked) for asked in zip(self.sets, self.entries, strict=True)]

    def _of_set(self, chunk: Dataset, columns: Sequence[int], entries: Sequence[Entry]) -> GramPart:
        rows = complete_rows(chunk, columns)
        weights = None if chunk.weights is None else np.ascontiguousarray(chunk.weights[rows])
        n_limbs = limbs_needed(1 << self.number_bits)
        expanded, used = [], []
        for column, level, frame in entries:
            cells = chunk.columns[column][rows]
            if level < 0:
                cells = frame.integers(cells)
                used.append(int(np.bitwise_or.reduce(cells)))
            expanded.append(IntegerColumn(cells, *((n_limbs,) if level < 0 else (1, level))))
        ones = IntegerColumn(np.ones(len(rows), dtype=np.int64))
        gram = integer_gram([*expanded, ones], weights, 1)
        return GramPart(len(rows) if weights is None else int(weights.sum()), gram.parts, used)

    def add(self, first: list[GramPart], second: list[GramPart]) -> list[GramPart]:
        """Add the sums."""
        return [
            GramPart(
                mine.n + theirs.n,
                tuple(map(_exact_sum, mine.parts, theirs.parts)),
                [a | b for a, b in zip(mine.used, theirs.used, strict=True)],
            )
            for mine, theirs in zip(first, second, strict=True)
        ]


def _exact_sum(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    for part in (first, second):
        if part.dtype == object or np.abs(part).max(initial=0) > _MOST_IN_INT64:
            first, second = first.astype(object), second.astype(object)
            break
    total: NDArray[Any] = first + second
    return total


def gram_of(part: GramPart, entries: Sequence[Entry]) -> tuple[IntegerGram, list[int]]:
    """Return sums without the low bits that no number of a row uses, and how many those are."""
    used = iter(part.used)
    spare = [_trailing_zeros(next(used)) if entry.level < 0 else 0 for entry in entries]
    if not any(spare):
        return IntegerGram(part.parts), spare
    shifts = np.array([*spare, 0], dtype=object)
    whole = IntegerGram(part.parts).entries(range(len(shifts)))
    return IntegerGram((whole >> (shifts[:, None] + shifts[None, :]),)), spare


def _trailing_zeros(bits: int) -> int:
    return (bits & -bits).bit_length() - 1 if bits else 0


class GroupedSums(NamedTuple):
    """Sums within the groups of rows that occur (`sums_within` of the kernel), by their keys."""

    keys: NDArray[np.int64]
    counts: NDArray[np.int64]
    digits: NDArray[np.int64]


class Regression(NamedTuple):
    """Columns of numbers in their frames, the last one regressed, within groups of labels."""

    numbers: tuple[int, ...]
    labels: tuple[int, ...]
    frames: tuple[Frame, ...]


@dataclass(frozen=True)
class GroupSums(Work[list[GroupedSums]]):
    """What regressions within groups of rows need to know of them."""

    regressions: Sequence[Regression]
    n_levels: Sequence[int]

    def of(self, chunk: Dataset) -> list[GroupedSums]:
        """Add up a chunk."""
        return [self._of_regression(chunk, regression) for regression in self.regressions]

    def _of_regression(self, chunk: Dataset, regression: Regression) -> GroupedSums:
        numbers, labels, frames = regression
        rows = complete_rows(chunk, [*numbers, *labels])
        packed = PackedKeys([self.n_levels[j] for j in labels])
        keys = packed.keys([chunk.columns[j][rows] for j in labels], len(rows))
        if packed.n_words == 1 and packed.n_keys <= _MOST_GROUPS:
            group, seen = keys[0], np.arange(packed.n_keys)[None, :]
        else:
            seen, group = packed.numbered(keys)
        columns = [
            frame.integers(chunk.columns[j][rows]) for j, frame in zip(numbers, frames, strict=True)
        ]
        weights = None if chunk.weights is None else np.ascontiguousarray(chunk.weights[rows])
        counts, digits = kernel.active().sums_within(
            group.astype(np.int32), seen.shape[1], columns, weights
        )
        there = np.flatnonzero(counts)
        return GroupedSums(seen[:, there], counts[there], digits[there])

    def add(self, first: list[GroupedSums], second: list[GroupedSums]) -> list[GroupedSums]:
        """Add the sums of equal groups."""
        return [
            GroupedSums(
                *summed_by_key(
                    np.hstack([mine.keys, theirs.keys]),
                    np.concatenate([mine.counts, theirs.counts]),
                    np.concatenate([mine.digits, theirs.digits]),
                )
            )
            for mine, theirs in zip(first, second, strict=True)
        ]
