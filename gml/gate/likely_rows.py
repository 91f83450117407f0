"""How likely rows are under the tables of a model, be they in memory or read in passes.

Two passes tell all that is asked: the first finds the range of ln p and the least likely rows, the
second the histogram within this range, from which moments come, and the exact sum of ln p. What is
added up are whole numbers and exact sums, so that the answer is the same to the last bit whatever
the chunks are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.counted_once import CountedOnce
from gml.counts.counter import Counter
from gml.counts.pass_work import Work
from gml.counts.passes import PassCounter
from gml.data.dataset import Dataset
from gml.gate.check import UnlikelyRow
from gml.gate.exact_sum import exact_parts, exact_products
from gml.gate.families import FamilyCounts
from gml.gate.least_rows import Candidate, Least, LeastRows
from gml.gate.settings import CheckSettings
from gml.kernel.pool import in_order
from gml.resources import available_threads

_BINS = 1 << 16
_ROWS_PER_BLOCK = 1 << 17
_ROWS_PER_THREAD = 1 << 16


@dataclass(frozen=True)
class RowMoments:
    """How many rows are complete, and the variance and third moment of their ln p."""

    n: int
    variance: float
    third: float


@dataclass(frozen=True)
class RowTables:
    """ln P(level | row) of each node, in the order of their names."""

    families: Sequence[FamilyCounts]
    tables: list[NDArray[np.float64]]

    @classmethod
    def of(cls, families: Sequence[FamilyCounts]) -> RowTables:
        """Return those of some families."""
        families = sorted(families, key=lambda family: family.variable.name)
        return cls(families, [smoothed_logs(family) for family in families])

    @property
    def names(self) -> list[str]:
        """The columns that they are about."""
        return sorted({v.name for f in self.families for v in (*f.parents, f.variable)})

    def log_p(self, rows: Dataset, threads: int | None = 1) -> NDArray[np.float64]:
        """Return ln p of each row, NaN where a value is missing or unknown to the model."""
        members = [
            [rows.index(v.name) for v in (*family.parents, family.variable)]
            for family in self.families
        ]
        known = {
            v.name: len(v.levels or ()) for f in self.families for v in (*f.parents, f.variable)
        }
        n_levels = [known.get(name, 1) for name in rows.names]
        flat = [np.ascontiguousarray(table.reshape(-1)) for table in self.tables]
        columns = [np.ascontiguousarray(column) for column in rows.columns]
        compute = kernel.active().row_log_probabilities

        def part(first: int) -> NDArray[np.float64]:
            last = min(first + _ROWS_PER_THREAD, rows.n_rows)
            found: NDArray[np.float64] = compute(columns, n_levels, members, flat, first, last)
            return found

        starts = range(0, rows.n_rows, _ROWS_PER_THREAD)
        parts = in_order(part, starts, threads or available_threads())
        return np.concatenate([np.empty(0), *parts])

    def described(self, row: Candidate, number: int) -> UnlikelyRow:
        """Say which column makes a row unlikely."""
        code_of = dict(zip(self.names, map(int, row.cells), strict=True))
        worst: tuple[float, UnlikelyRow] | None = None
        for family, logs in zip(self.families, self.tables, strict=True):
            at = 0
            given = []
            for parent in family.parents:
                code = code_of[parent.name]
                at = at * len(parent.levels or ()) + code
                given.append((parent.name, (parent.levels or ())[code]))
            code = code_of[family.variable.name]
            term = float(logs[at, code])
            if worst is None or term < worst[0]:
                name, level, p = family.variable.name, family.levels[code], math.exp(term)
                found = UnlikelyRow(None, number, row.score, name, level, tuple(given), p)
                worst = (term, found)
        assert worst is not None
        return worst[1]


@dataclass(frozen=True)
class LikelyRows:
    """What is known of ln p of rows."""

    tables: RowTables
    moments: RowMoments
    unknown: int
    """Rows with missing or unknown values."""
    impossible: int
    mean: float | None
    """The mean over the complete rows, where it was asked for, or some are not complete."""
    unlikely: tuple[UnlikelyRow, ...]


def smoothed_logs(family: FamilyCounts) -> NDArray[np.float64]:
    """ln P(level | row) by what the model knows: its counts with ½ per cell, or its own tables."""
    if family.old is None:
        with np.errstate(divide="ignore"):
            return np.log(family.probabilities[:, : family.n_known])
    counts = family.old[:, : family.n_known] + 0.5
    logs: NDArray[np.float64] = np.log(counts / counts.sum(axis=1, keepdims=True))
    return logs


def has_rows(counter: Counter) -> bool:
    """Whether an engine can go through rows, in memory or in passes."""
    return counter.pass_rows > 0 or counter.rows() is not None


def likely_rows(
    families: Sequence[FamilyCounts],
    counter: Counter,
    settings: CheckSettings,
    *,
    with_mean: bool = False,
) -> LikelyRows | None:
    """Go through the rows of an engine; None if it has none."""
    tables = RowTables.of(families)
    if isinstance(counter, CountedOnce):
        return _in_passes(tables, counter.inner, settings, with_mean, counter.times)
    if isinstance(counter, PassCounter):
        return _in_passes(tables, counter, settings, with_mean, 1)
    rows = counter.rows()
    if rows is None:
        return None
    log_p = tables.log_p(rows, settings.threads)
    least = LeastRows(settings.unlikely_rows, tables.names)
    scanned = _RangeOfRows(tables, least).look_at(log_p, rows)
    mean_too = with_mean or scanned.unknown > 0
    spread = _SpreadOfRows(tables, scanned.low, scanned.high, mean_too).look_at(log_p, rows)
    return _together(tables, scanned, spread, 1)


def _in_passes(
    tables: RowTables, counter: PassCounter, settings: CheckSettings, with_mean: bool, times: int
) -> LikelyRows:
    at = {variable.name: j for j, variable in enumerate(counter.variables)}
    columns = [at[name] for name in tables.names]
    # Without an order, no row has a number.
    how_many = settings.unlikely_rows if counter.keeps_order else 0
    first = _RangeOfRows(tables, LeastRows(how_many, tables.names, times > 1))
    scanned = counter.ask(columns, lambda place: first)
    mean_too = with_mean or scanned.unknown > 0
    second = _SpreadOfRows(tables, scanned.low, scanned.high, mean_too)
    return _together(tables, scanned, counter.ask(columns, lambda place: second), times)


def _together(tables: RowTables, scanned: _Range, spread: _Spread, times: int) -> LikelyRows:
    moments = _moments(spread.counts / times, scanned.low, scanned.high)
    mean = None
    if spread.sum is not None and moments.n:
        mean = float(sum(map(Fraction, spread.sum), Fraction()) / times) / moments.n
    return LikelyRows(
        tables,
        moments,
        scanned.unknown // times,
        scanned.impossible // times,
        mean,
        tuple(tables.described(row, row.position + 1) for row in scanned.least.rows),
    )


def moments_of_rows(families: Sequence[FamilyCounts], rows: Dataset) -> RowMoments:
    """The moments of ln p over rows in memory."""
    tables = RowTables.of(families)
    log_p = tables.log_p(rows)
    scanned = _RangeOfRows(tables, LeastRows(0, ())).look_at(log_p, rows)
    spread = _SpreadOfRows(tables, scanned.low, scanned.high, False).look_at(log_p, rows)
    return _moments(spread.counts, scanned.low, scanned.high)


# ---------------------------------------------------------------------- the first pass


class _Range(NamedTuple):
    """The finite range of ln p, rows without one, and the least likely rows."""

    low: float
    high: float
    unknown: int
    impossible: int
    least: Least


@dataclass(frozen=True)
class _RangeOfRows(Work[_Range]):
    """The range of ln p and the least likely rows; chunks must come in the order of the rows."""

    tables: RowTables
    least: LeastRows

    def of(self, chunk: Dataset) -> _Range:
        """Look at a chunk, whose rows may have been chosen among those that stood there."""
        log_p = self.tables.log_p(chunk)
        return self._range(log_p, chunk, self.least.of_chunk(_shown(log_p, chunk), chunk))

    def look_at(self, log_p: NDArray[np.float64], rows: Dataset) -> _Range:
        """Look at rows as they stand, of which ln p is known."""
        return self._range(log_p, rows, self.least.of(_shown(log_p, rows), rows))

    def add(self, first: _Range, second: _Range) -> _Range:
        """Join two ranges; the rows of the second stand behind those of the first."""
        return _Range(
            min(first.low, second.low),
            max(first.high, second.high),
            first.unknown + second.unknown,
            first.impossible + second.impossible,
            self.least.add(first.least, second.least),
        )

    def _range(self, log_p: NDArray[np.float64], rows: Dataset, least: Least) -> _Range:
        low, high = _finite_range(log_p)
        unknown = rows.count(np.isnan(log_p))
        return _Range(low, high, unknown, rows.count(np.isneginf(log_p)), least)


def _shown(log_p: NDArray[np.float64], rows: Dataset) -> NDArray[np.float64]:
    """ln p of rows that are complete and count, ∞ of the others."""
    hidden = np.isnan(log_p)
    if rows.weights is not None:
        hidden |= rows.weights == 0
    return np.where(hidden, np.inf, log_p)


def _finite_range(values: NDArray[np.float64]) -> tuple[float, float]:
    """The least and the greatest of the finite ones; +inf and -inf without any."""
    low = float(np.min(values, initial=np.inf))
    high = float(np.max(values, initial=-np.inf))
    if math.isfinite(low) and math.isfinite(high):
        return low, high
    finite = values[np.isfinite(values)]
    return float(np.min(finite, initial=np.inf)), float(np.max(finite, initial=-np.inf))


# ---------------------------------------------------------------------- the second pass


class _Spread(NamedTuple):
    """The histogram of ln p, and numbers that add up to its exact sum, if that was asked for."""

    counts: NDArray[np.float64]
    sum: list[float] | None


@dataclass(frozen=True)
class _SpreadOfRows(Work[_Spread]):
    """The histogram of ln p over the complete rows, within its range, and its sum."""

    tables: RowTables
    low: float
    high: float
    with_sum: bool

    def of(self, chunk: Dataset) -> _Spread:
        """Look at a chunk."""
        return self.look_at(self.tables.log_p(chunk), chunk)

    def look_at(self, log_p: NDArray[np.float64], rows: Dataset) -> _Spread:
        """Look at rows of which ln p is known."""
        a_step = _BINS / (self.high - self.low) if self.high > self.low else 0.0
        counts = np.zeros(_BINS)
        parts: list[float] = []
        # In blocks, which stay in the cache.
        for first in range(0, len(log_p), _ROWS_PER_BLOCK):
            values = log_p[first : first + _ROWS_PER_BLOCK]
            finite = np.isfinite(values)
            values = values[finite]
            times = None
            if rows.weights is not None:
                times = rows.weights[first : first + _ROWS_PER_BLOCK][finite]
            bins = np.minimum((values - self.low) * a_step, _BINS - 1).astype(np.int64)
            counts += np.bincount(bins, times, minlength=_BINS)
            if self.with_sum:
                parts = exact_parts([*parts, *exact_products(values, times)])
        return _Spread(counts, parts if self.with_sum else None)

    def add(self, first: _Spread, second: _Spread) -> _Spread:
        """Add the counts and the sums."""
        parts = None
        if first.sum is not None and second.sum is not None:
            parts = exact_parts([*first.sum, *second.sum])
        return _Spread(first.counts + second.counts, parts)


def _moments(counts: NDArray[np.float64], low: float, high: float) -> RowMoments:
    """The moments of ln p by its histogram."""
    n = int(counts.sum())
    if low > high or n == 0:
        return RowMoments(0, 0.0, 0.0)
    # Middles of bins, not their edges: with few distinct values the histogram is exact enough.
    centres = low + (high - low) / _BINS * (np.arange(_BINS) + 0.5)
    mean = float(np.sum(counts * centres)) / n
    variance = float(np.sum(counts * (centres - mean) ** 2)) / n
    third = float(np.sum(counts * (centres - mean) ** 3)) / n
    return RowMoments(n, variance if high > low else 0.0, third)
