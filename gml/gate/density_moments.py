"""The moments of ln p over rows, be they in memory or read in passes, and the least likely rows.

Powers are summed about what the model expects, without rounding, so that one pass tells all. Where
that is so far from what the rows have that their spread would lose digits, the means of the rows
are known by then, and a second pass sums the powers about these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from gml.counts.float_sums import FloatSums
from gml.counts.number_rows import NumberReader, NumberRows
from gml.counts.pass_work import Work
from gml.counts.row_sums import NumberTable
from gml.data.dataset import Dataset
from gml.gate.least_rows import Candidate, Least, LeastRows
from gml.gate.likely_rows import RowMoments
from gml.gate.row_densities import DensityRows, RowDensities
from gml.model.regression_rows import Vector
from gml.stopping import check_stopped

# Rows that are worked on at a time, so that what is made of them stays in the cache.
_PART_ROWS = 1 << 13
# The squared distance of the expected mean from that of the rows, in variances, which costs digits.
_FAR = 100.0


@dataclass(frozen=True)
class DensityMoments:
    """The moments of ln p over the complete rows."""

    n_rows: int
    """All rows, complete or not."""
    densities: tuple[float, ...]
    """The means of the ln densities of the nodes."""
    labels: RowMoments
    numbers: RowMoments
    total: RowMoments
    covariance: float
    """Of labels with numbers."""
    is_finite: bool
    """Whether all densities are."""
    mean_of_labels: float
    mean_of_numbers: float

    @property
    def n(self) -> int:
        """The complete rows."""
        return self.total.n


def density_moments(
    table: NumberTable,
    densities: RowDensities,
    expected: tuple[float, float] | None,
    how_many: int,
) -> tuple[DensityMoments, tuple[Candidate, ...]]:
    """The moments over rows, and the rows with the least ln P(labels) − Σ e²/2.

    `expected` has the means of labels and numbers under the model, None if no moments are needed.
    """
    rows = table.rows
    # Without an order, no row has a number.
    least = LeastRows(how_many if rows.keeps_order else 0, densities.names, rows.times > 1)
    names = table.reader.needed(densities.names)
    work = _Scan(table.reader, densities, expected or (0.0, 0.0), least)
    check_stopped()
    scanned = rows.over(names, work)
    found, is_far = _moments(scanned, work.centres, rows.times)
    if is_far and expected is not None:
        check_stopped()
        centres = found.mean_of_labels, found.mean_of_numbers
        work = replace(work, centres=centres, least=replace(least, how_many=0))
        found, _ = _moments(rows.over(names, work), centres, rows.times)
    return found, scanned.least.rows


def read_candidates(
    table: NumberTable, densities: RowDensities, candidates: Sequence[Candidate]
) -> NumberRows:
    """The numbers, and the codes of labels, of rows that may be the least likely."""
    names = densities.names
    variables = {variable.name: variable for variable in table.rows.variables}
    columns = [np.array([row.cells[k] for row in candidates]) for k in range(len(names))]
    cells = Dataset(tuple(variables[name] for name in names), tuple(columns))
    return replace(table.reader, near={}).read(cells)


class _Sums(NamedTuple):
    """Over rows: how many, weighted, and of the complete ones how many, sums and extremes.

    Sums are of ln densities by node, then of what `_powers` has.
    """

    n_rows: int
    n: int
    sums: FloatSums
    low: Vector
    high: Vector

    def plus(self, other: _Sums) -> _Sums:
        return _Sums(
            self.n_rows + other.n_rows,
            self.n + other.n,
            self.sums.plus(other.sums),
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )


class _Scanned(NamedTuple):
    sums: _Sums
    least: Least


@dataclass(frozen=True)
class _Scan(Work[_Scanned]):
    """Sums of the powers of ln p about some centres, and the least likely rows."""

    reader: NumberReader
    densities: RowDensities
    centres: tuple[float, float]
    least: LeastRows

    def of(self, chunk: Dataset) -> _Scanned:
        """Look at a chunk."""
        # What overflows is recognised where it matters.
        with np.errstate(all="ignore"):
            rows = self.reader.read(chunk)
            total: _Sums | None = None
            scores = np.full(chunk.n_rows, np.inf)
            for start in range(0, max(1, len(rows.numbers)), _PART_ROWS):
                part = _part(rows, slice(start, start + _PART_ROWS))
                found = self.densities.of(part)
                sums = self._sums(part, found)
                total = sums if total is None else total.plus(sums)
                if self.least.how_many:
                    score = found.labels - found.squares / 2
                    scores[part.numbers] = np.where(np.isnan(score), np.inf, score)
            assert total is not None
            return _Scanned(total, self.least.of_chunk(scores, chunk))

    def add(self, first: _Scanned, second: _Scanned) -> _Scanned:
        """Join both; the rows of the second stand behind those of the first."""
        least = self.least.add(first.least, second.least)
        return _Scanned(first.sums.plus(second.sums), least)

    def _sums(self, rows: NumberRows, found: DensityRows) -> _Sums:
        labels, densities, times = found.labels, found.densities, rows.times
        numbers = np.zeros(len(labels))
        for column in densities:
            numbers += column
        n_rows, n = rows.n, len(labels) if times is None else int(times.sum())
        seen = ~np.isnan(labels + numbers)
        if not seen.all():
            labels, numbers = labels[seen], numbers[seen]
            densities = [column[seen] for column in densities]
            times = None if times is None else times[seen]
            n = len(labels) if times is None else int(times.sum())
        away, powers = _powers(labels - self.centres[0], numbers - self.centres[1])
        k = len(densities)
        pairs = [(at, -1) for at in range(k)]
        pairs += [(k + i, k + j if j >= 0 else -1) for i, j in _PAIRS]
        sums = FloatSums.of_products([*densities, *powers], pairs, times)
        low = np.array([column.min(initial=np.inf) for column in away])
        high = np.array([column.max(initial=-np.inf) for column in away])
        return _Sums(n_rows, n, sums, low, high)


# Σ x, Σ x² and Σ x³ of labels, of numbers and of both together; Σ xy of labels and numbers.
_PAIRS = [
    *[pair for k in range(3) for pair in ((k, -1), (k, k), (k, k + 3))],
    (0, 1),
]


def _powers(labels: Vector, numbers: Vector) -> tuple[list[Vector], list[Vector]]:
    away = [labels, numbers, labels + numbers]
    return away, [*away, *(column * column for column in away)]


def _part(rows: NumberRows, part: slice) -> NumberRows:
    """Some rows, without copying."""
    columns = {name: column[part] for name, column in rows.columns.items()}
    return NumberRows(columns, rows.numbers[part], None if rows.times is None else rows.times[part])


def _moments(
    scanned: _Scanned, centres: tuple[float, float], times: int
) -> tuple[DensityMoments, bool]:
    """The moments by their sums, and whether the centres are too far away for them."""
    sums = scanned.sums
    n = sums.n // times
    whole = (sums.sums.rounded(times) / max(n, 1)).tolist()
    means, powers = whole[: -len(_PAIRS)], whole[-len(_PAIRS) :]
    moments = []
    is_far = False
    for k in range(3):
        mean, square, cube = powers[3 * k : 3 * k + 3]
        about = RowMoments(n, 0.0, 0.0)
        if sums.low[k] < sums.high[k]:
            about = _central(n, mean, square, cube)
            is_far |= mean * mean > _FAR * about.variance
        moments.append(about)
    labels, numbers = powers[0], powers[3]
    is_finite = bool(np.isfinite([sums.low[1], sums.high[1]]).all()) if n else True
    covariance = powers[-1] - labels * numbers
    found = DensityMoments(
        sums.n_rows // times,
        tuple(means),
        moments[0],
        moments[1],
        moments[2],
        covariance,
        is_finite,
        centres[0] + labels,
        centres[1] + numbers,
    )
    return found, is_far


def _central(n: int, mean: float, square: float, cube: float) -> RowMoments:
    """The moments about the mean, by the averages of powers about another value."""
    if not math.isfinite(square):
        return RowMoments(n, square, cube)
    variance = max(0.0, square - mean * mean)
    third = cube - 3 * mean * square + 2 * mean * mean * mean
    return RowMoments(n, variance, third)
