"""What is kept of a column of numbers: how many, their extremes, and the counts between quantiles.

The quantile q is the smallest value v with #{values ≤ v} > q·n, as quantile cuts are. `counts` says
how many values lie below the first quantile, from each to the next, and from the last one on; the
cells between equal quantiles are empty.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections import Counter as Multiset
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.errors import DataError
from gml.kernel.number import number_of

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""The levels of the quantiles that are kept."""
_MOST_ROWS = 2**53


@dataclass(frozen=True)
class NumberSummary:
    """The number of values, the extremes, the quantiles by their level, and the counts between.

    `counts` and `distinct`, the number of different values, are None where they are not known.

    Examples
    --------
    >>> found = NumberValues.of(np.arange(1.0, 101.0)).summary()
    >>> found.n, found.smallest, found.largest, found.quantiles[0.25], found.counts
    (100, 1.0, 100.0, 26.0, (1, 4, 20, 25, 25, 20, 4, 1))
    """

    n: int
    smallest: float
    largest: float
    quantiles: Mapping[float, float]
    counts: tuple[int, ...] | None = None
    distinct: int | None = None

    @property
    def is_unique(self) -> bool:
        """Whether there are several values, and none occurred twice."""
        return self.distinct == self.n > 1

    def written(self) -> dict[str, Any]:
        """The summary as JSON has it."""
        found: dict[str, Any] = {
            "n": self.n,
            "min": self.smallest,
            "max": self.largest,
            "quantiles": {repr(level): value for level, value in self.quantiles.items()},
        }
        if self.counts is not None:
            found["counts"] = list(self.counts)
        if self.distinct is not None:
            found["distinct"] = self.distinct
        return found


class Numbers(ABC):
    """The distinct values of a column and how often each occurs, in memory or elsewhere."""

    @abstractmethod
    def parts(self) -> Iterator[NumberValues]:
        """Yield them in parts, whose values ascend from one to the next; none is empty."""

    @abstractmethod
    def once(self, times: int) -> Numbers:
        """Divide how often they occur, if each is a multiple of `times`; else they stay."""

    @property
    def n(self) -> int:
        """The number of values, with repetitions."""
        return sum(int(part.counts.sum(dtype=np.int64)) for part in self.parts())

    def counts_between(self, cuts: Sequence[float]) -> tuple[int, ...]:
        """How many values lie below the first cut, from each to the next, and from the last on."""
        found = np.zeros(len(cuts) + 1, dtype=np.int64)
        for part in self.parts():
            places = np.searchsorted(part.values, np.asarray(cuts, dtype=np.float64), side="left")
            found += np.diff([0, *part.upto(places).tolist(), part.n])
        return tuple(found.tolist())

    def multiplicities(self) -> dict[int, int]:
        """How many values occur how often."""
        found: Multiset[int] = Multiset()
        for part in self.parts():
            times, values = np.unique(part.counts, return_counts=True)
            found.update(dict(zip(times.tolist(), values.tolist(), strict=True)))
        return dict(sorted(found.items()))

    def summary(self) -> NumberSummary:
        """What is kept of them; there must be a value."""
        sizes, ends = [], []
        for part in self.parts():
            sizes.append((part.n, len(part.values)))
            ends += [float(part.values[0]), float(part.values[-1])]
        n = sum(rows for rows, _ in sizes)
        # The product is exact as a fraction, of the decimal number that a level stands for.
        ranks = {level: int(Fraction(repr(level)) * n) for level in QUANTILES}
        quantiles: dict[float, float] = {}
        before = 0
        for part in self.parts():
            upto = np.cumsum(part.counts, dtype=np.int64)
            for level, rank in ranks.items():
                if before <= rank < before + int(upto[-1]):
                    place = int(np.searchsorted(upto, rank - before, side="right"))
                    quantiles[level] = float(part.values[place])
            before += int(upto[-1])
        distinct = sum(values for _, values in sizes)
        counts = self.counts_between(list(quantiles.values()))
        return NumberSummary(n, ends[0], ends[-1], quantiles, counts, distinct)


@dataclass(frozen=True, eq=False)
class NumberValues(Numbers):
    """The distinct values of a column, in order, and how often each occurs, in memory."""

    values: NDArray[np.float64]
    counts: NDArray[np.signedinteger[Any]]

    def __post_init__(self) -> None:
        # A column may have as many values as rows, and most of them then occur once.
        most = int(self.counts.max(initial=0))
        narrow = next(t for t in (np.int8, np.int32, np.int64) if most <= np.iinfo(t).max)
        object.__setattr__(self, "counts", self.counts.astype(narrow))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, NumberValues)
            and np.array_equal(self.values, other.values)
            and np.array_equal(self.counts, other.counts)
        )

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def of(
        cls, numbers: NDArray[np.float64], weights: NDArray[np.int64] | None = None
    ) -> NumberValues:
        """Count the values of a column; what is missing does not count."""
        present = ~np.isnan(numbers)
        # One zero, whichever comes first.
        there = numbers[present] + 0.0
        if weights is None:
            values, counts = np.unique(there, return_counts=True)
            return cls(values, counts.astype(np.int64))
        values, inverse = np.unique(there, return_inverse=True)
        sums = np.zeros(len(values), dtype=np.int64)
        np.add.at(sums, inverse, weights[present])
        return cls(values[sums > 0], sums[sums > 0])

    @classmethod
    def joined(cls, parts: Sequence[NumberValues]) -> NumberValues:
        """The values of several parts of a column together."""
        values, at = np.unique(np.concatenate([p.values for p in parts]), return_inverse=True)
        sums = np.zeros(len(values), dtype=np.int64)
        np.add.at(sums, at.reshape(-1), np.concatenate([p.counts.astype(np.int64) for p in parts]))
        return cls(values, sums)

    @classmethod
    def spelt(
        cls,
        labels: Sequence[str],
        codes: NDArray[Any],
        weights: NDArray[np.int64] | None = None,
        decimal: str = ".",
    ) -> NumberValues:
        """Count the numbers that labels spell; any other text is none.

        Examples
        --------
        >>> NumberValues.spelt(("7", "x", "1.5"), np.array([0, 2, 0, 1], dtype=np.uint8)).values
        array([1.5, 7. ])
        """
        values = numbers_of_labels(labels, decimal)[:-1]
        rows = np.bincount(codes, minlength=len(values)).astype(np.int64)
        if weights is not None:
            rows = np.zeros(len(rows), dtype=np.int64)
            np.add.at(rows, codes, weights)
        return cls.of(values, rows[: len(values)])

    def parts(self) -> Iterator[NumberValues]:
        if len(self.values):
            yield self

    def once(self, times: int) -> NumberValues:
        if (self.counts % times).any():
            return self
        return NumberValues(self.values, self.counts // times)

    def upto(self, places: NDArray[np.signedinteger[Any]]) -> NDArray[np.int64]:
        """How many values stand before places in their order, with repetitions."""
        below = np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)])
        found: NDArray[np.int64] = below[places]
        return found


def numbers_of_labels(labels: Sequence[str], decimal: str = ".") -> NDArray[np.float64]:
    """The number that each label spells, NaN for any other text; and NaN after the last.

    Examples
    --------
    >>> numbers_of_labels(["7", "x"]).tolist()
    [7.0, nan, nan]
    """
    parsed = [number_of(label, decimal) for label in labels]
    return np.array([*(math.nan if v is None else v for v in parsed), math.nan], dtype=np.float64)


def parse_summary(content: Any, what: str) -> NumberSummary:
    """Check a summary that a file has.

    Examples
    --------
    >>> parse_summary({"n": 2, "min": 1, "max": 3, "quantiles": {"0.5": 3}}, "age").quantiles
    {0.5: 3.0}
    >>> parse_summary({"n": 2, "min": 4, "max": 3, "quantiles": {}}, "age")
    Traceback (most recent call last):
    gml.errors.DataError: age: the "numbers" do not increase from "min" to "max"
    """
    if not isinstance(content, dict) or not isinstance(content.get("quantiles"), dict):
        raise DataError(f'{what}: "numbers" must be an object with "n", "min", "max", "quantiles"')
    n, distinct = (_whole(content, key, what) for key in ("n", "distinct"))
    if not n:
        raise DataError(f'{what}: "n" of the "numbers" must be at least 1')
    smallest, largest = (_number(content.get(key), what) for key in ("min", "max"))
    try:
        levels = sorted((float(level), value) for level, value in content["quantiles"].items())
    except (ValueError, TypeError):
        raise DataError(f'{what}: the "quantiles" must be numbers by their level') from None
    if not all(0 < level < 1 for level, _ in levels):
        raise DataError(f'{what}: the levels of "quantiles" must be between 0 and 1')
    quantiles = {level: _number(value, what) for level, value in levels}
    rising = [smallest, *quantiles.values(), largest]
    if any(low > high for low, high in itertools.pairwise(rising)):
        raise DataError(f'{what}: the "numbers" do not increase from "min" to "max"')
    counts = content.get("counts")
    if counts is not None and not _are_counts(counts, len(quantiles) + 1, n):
        raise DataError(f'{what}: the "counts" of the "numbers" do not add up to "n"')
    if distinct is not None and not 1 <= distinct <= n:
        raise DataError(f'{what}: "distinct" of the "numbers" must be from 1 to "n"')
    found = None if counts is None else tuple(counts)
    return NumberSummary(n, smallest, largest, quantiles, found, distinct)


def _number(value: Any, what: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            if math.isfinite(value):
                return float(value)
        except OverflowError:
            pass
    raise DataError(f'{what}: the "numbers" lack a number')


def _whole(content: Mapping[str, Any], key: str, what: str) -> int | None:
    value = content.get(key)
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if value is not None and not (is_whole and 0 <= value < _MOST_ROWS):
        raise DataError(f'{what}: "{key}" of the "numbers" must be a whole number below 2^53')
    found: int | None = value
    return found


def _are_counts(counts: Any, cells: int, n: int) -> bool:
    return (
        isinstance(counts, list)
        and len(counts) == cells
        and all(isinstance(c, int) and not isinstance(c, bool) and c >= 0 for c in counts)
        and sum(counts) == n
    )
