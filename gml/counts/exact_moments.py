"""Exact moments of numbers: sums of fixed-point columns, independent of the order of rows."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from operator import add
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.answers import Moments, StratifiedMoments
from gml.counts.integer_gram import IntegerColumn, integer_gram, limbs_needed
from gml.counts.packed_keys import PackedKeys, sorted_runs
from gml.counts.questions import Question
from gml.data.dataset import Dataset, missing_mask
from gml.kernel.pool import in_order

FIXED_POINT_BITS = 52
"""Bits of a number in fixed point, its sign aside."""

# From here on, all sums at once take less time than one after the other.
_MANY_COLUMNS = 8


def moments_of(dataset: Dataset, columns: Sequence[int], *, threads: int = 1) -> Moments:
    """Return the moments of columns over the rows complete in all of them.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> names = (Variable("A", None), Variable("B", ("x", "y")))
    >>> cells = (np.array([1.0, 3.0, 8.0]), np.array([0, 0, 1], dtype=np.uint8))
    >>> moments_of(Dataset(names, cells), [0]).means
    (4.0,)
    """
    return _moments(dataset, columns, complete_rows(dataset, columns), threads)


def moments_within(
    dataset: Dataset, columns: Sequence[int], given: Sequence[int]
) -> StratifiedMoments:
    """Return the moments of columns within each configuration of others that occurs.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> names = (Variable("A", None), Variable("B", ("x", "y")))
    >>> cells = (np.array([1.0, 3.0, 8.0]), np.array([0, 0, 1], dtype=np.uint8))
    >>> [part.means for part in moments_within(Dataset(names, cells), [0], [1]).moments]
    [(2.0,), (8.0,)]
    """
    return _within(dataset, columns, given, strata_of(dataset, columns, given))


def many_moments_of(
    dataset: Dataset, questions: Sequence[Question], *, threads: int = 1
) -> list[Moments | StratifiedMoments]:
    """Answer several questions; without missing values, the same groups of rows serve many."""
    found: list[Moments | StratifiedMoments | None] = [None] * len(questions)
    sharing: dict[tuple[int, ...], list[int]] = {}
    for k, (columns, given) in enumerate(questions):
        if given and not dataset.missing:
            sharing.setdefault(given, []).append(k)
        elif given:
            found[k] = moments_within(dataset, columns, given)
        else:
            found[k] = moments_of(dataset, columns, threads=threads)
    for given, which in sharing.items():
        strata = strata_of(dataset, (), given)
        within = functools.partial(_within, dataset, given=given, strata=strata)
        answers = in_order(within, [questions[k].columns for k in which], threads)
        for k, answer in zip(which, answers, strict=True):
            found[k] = answer
    return [answer for answer in found if answer is not None]


def _within(
    dataset: Dataset, columns: Sequence[int], given: Sequence[int], strata: Strata
) -> StratifiedMoments:
    sizes = [max(1, len(dataset.variables[j].levels or ())) for j in given]
    found = tuple(_moments(dataset, columns, part) for part in strata.rows)
    return StratifiedMoments(found, strata.configs, math.prod(sizes))


class Strata(NamedTuple):
    """The configurations of labels that occur, in lexicographic order, and the rows of each."""

    configs: NDArray[np.int64]
    rows: Sequence[NDArray[np.int64]]


def strata_of(dataset: Dataset, columns: Sequence[int], given: Sequence[int]) -> Strata:
    """Split the rows complete in all these columns by those given; without any, into one part."""
    rows = complete_rows(dataset, [*columns, *given])
    if not given:
        return Strata(np.zeros((1, 0), dtype=np.int64), [rows])
    packed = PackedKeys([max(1, len(dataset.variables[j].levels or ())) for j in given])
    keys = packed.keys([dataset.columns[j][rows] for j in given], len(rows))
    order, firsts = sorted_runs(keys)
    starts = np.flatnonzero(firsts)
    configs = packed.codes(keys[:, order[starts]])
    return Strata(configs, np.split(rows[order], starts[1:]) if len(starts) else [])


def complete_rows(dataset: Dataset, columns: Sequence[int]) -> NDArray[np.int64]:
    """Return the rows that count and have a value in each of these columns."""
    complete = np.ones(dataset.n_rows, dtype=bool)
    for j in columns:
        complete &= ~missing_mask(dataset.columns[j])
    if dataset.weights is not None:
        complete &= dataset.weights > 0
    return np.flatnonzero(complete)


def _moments(
    dataset: Dataset, columns: Sequence[int], rows: NDArray[np.int64], threads: int = 1
) -> Moments:
    frames = [frame_of(dataset.columns[j][rows]) for j in columns]
    return moments_from_sums(sums_over(dataset, columns, rows, frames, threads), frames)


class ExactSums(NamedTuple):
    """Sums over rows of integer columns, and of products of two of them from the diagonal on."""

    n: int
    sums: list[int]
    products: list[list[int]]

    def plus(self, other: ExactSums) -> ExactSums:
        """The sums over the rows of both."""
        return ExactSums(
            self.n + other.n,
            list(map(add, self.sums, other.sums)),
            [
                list(map(add, mine, theirs))
                for mine, theirs in zip(self.products, other.products, strict=True)
            ],
        )


def sums_over(
    dataset: Dataset,
    columns: Sequence[int],
    rows: NDArray[np.int64],
    frames: Sequence[Frame],
    threads: int = 1,
) -> ExactSums:
    """Return the sums of columns over some rows, each in its own frame."""
    weights = None if dataset.weights is None else np.ascontiguousarray(dataset.weights[rows])
    n = len(rows) if weights is None else int(weights.sum())
    fixed = [
        frame.integers(dataset.columns[j][rows]) for j, frame in zip(columns, frames, strict=True)
    ]
    of_all = _all_sums if len(fixed) >= _MANY_COLUMNS else _single_sums
    return ExactSums(n, *of_all(fixed, weights, threads))


def moments_from_sums(found: ExactSums, frames: Sequence[Frame]) -> Moments:
    """Return the moments that follow from sums of columns in these frames."""
    n, sums, products = found
    cross = [[0] * len(frames) for _ in frames]
    for i in range(len(frames)):
        for k in range(i, len(frames)):
            cross[i][k] = cross[k][i] = n * products[i][k] - sums[i] * sums[k]
    means = tuple(
        centre + math.ldexp(total / n, -scale) if n else math.nan
        for total, (centre, scale) in zip(sums, frames, strict=True)
    )
    scales = tuple(scale for _, scale in frames)
    return Moments(n, means, tuple(tuple(row) for row in cross), scales)


Sums = tuple[list[int], list[list[int]]]


def _single_sums(
    columns: Sequence[NDArray[np.int64]], weights: NDArray[np.int64] | None, threads: int
) -> Sums:
    """The sums of columns, and of products of two of them from the diagonal on."""
    dot = kernel.active().exact_dot
    one = np.ones(len(columns[0]) if columns else 0, dtype=np.int64)
    sums = [dot(q, one, weights) for q in columns]
    products = [
        [0] * i + [dot(q, other, weights) for other in columns[i:]] for i, q in enumerate(columns)
    ]
    return sums, products


def _all_sums(
    columns: Sequence[NDArray[np.int64]], weights: NDArray[np.int64] | None, threads: int
) -> Sums:
    """The same of many columns, by products of matrices."""
    n_limbs = limbs_needed(1 << FIXED_POINT_BITS)
    one = IntegerColumn(np.ones(len(columns[0]), dtype=np.int64))
    gram = integer_gram([*(IntegerColumn(q, n_limbs) for q in columns), one], weights, threads)
    found = gram.entries(range(len(columns) + 1)).tolist()
    return found[-1][:-1], found


class Frame(NamedTuple):
    """How numbers become integers: q = (value − centre)·2^scale, rounded."""

    centre: float
    scale: int

    def integers(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return values as integers."""
        return np.rint(np.ldexp(values - self.centre, self.scale)).astype(np.int64)

    @classmethod
    def between(cls, low: float, high: float, bits: int = FIXED_POINT_BITS) -> Frame:
        """The frame of numbers from low to high, to so many bits; if there are any at all."""
        if low > high:
            return cls(0.0, 0)
        centre = low / 2 + high / 2
        spread = max(high - centre, centre - low)
        return cls(centre, bits - math.frexp(spread)[1] if spread else 0)


def frame_of(values: NDArray[np.float64], bits: int = FIXED_POINT_BITS) -> Frame:
    """Return the frame of a column without missing values."""
    low, high = values.min(initial=math.inf), values.max(initial=-math.inf)
    return Frame.between(float(low), float(high), bits)


class FixedPoint(NamedTuple):
    """A column as integers: values ≈ centre + q·2^-scale."""

    q: NDArray[np.int64]
    centre: float
    scale: int


def fixed_point(values: NDArray[np.float64], bits: int = FIXED_POINT_BITS) -> FixedPoint:
    """Return a column in fixed point, to so many bits of its range.

    Examples
    --------
    >>> numbers = fixed_point(np.array([10.0, 11.0, 14.0]))
    >>> (numbers.centre + np.ldexp(numbers.q.astype(float), -numbers.scale)).tolist()
    [10.0, 11.0, 14.0]
    """
    frame = frame_of(values, bits)
    return FixedPoint(frame.integers(values), *frame)
