"""Random parts of a dataset that do not depend on the order of its rows.

Draws are over the sorted distinct rows with their counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset
from gml.data.row_groups import EqualRows, row_bytes
from gml.errors import CannotAnswer, counted
from gml.name_order import NameOrder

# NumPy draws from at most this many rows at once.
_MOST_ROWS = 1_000_000_000
# Unweighted rows are counted faster than weighted ones, unless there are many times as many.
_EXPAND = 8


def sorted_equal_rows(dataset: Dataset) -> EqualRows:
    """Group equal rows that count, sorted by their cells in order of the column names."""
    order = NameOrder(dataset.names)
    return sorted_equal_cells([dataset.columns[j] for j in order.positions], dataset.weights)


def sorted_equal_cells(
    columns: Sequence[NDArray[Any]], weights: NDArray[np.int64] | None = None
) -> EqualRows:
    """Group the rows of columns likewise, sorted by the first column, then the next.

    Examples
    --------
    >>> rows, counts = sorted_equal_cells([np.array([7, 1, 7]), np.array([0, 2, 0])])
    >>> rows.tolist(), counts.tolist()
    ([1, 0], [1, 2])
    """
    _, firsts, inverse = np.unique(_keys(columns), return_index=True, return_inverse=True)
    counts = np.zeros(len(firsts), dtype=np.int64)
    np.add.at(counts, inverse.reshape(-1), 1 if weights is None else weights)
    return EqualRows(firsts[counts > 0], counts[counts > 0])


def distinct_codes(codes: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Distinct rows of codes from -1 on, sorted, and which of them each row is.

    As `np.unique` of whole rows, but many times faster, and an interrupt need not wait for it. Rows
    that have numbers among their codes are float64, and sorted by their bytes.

    Examples
    --------
    >>> rows, which = distinct_codes(np.array([[7, -1], [1, 2], [7, -1]]))
    >>> rows.tolist(), which.tolist()
    ([[1, 2], [7, -1]], [1, 0, 1])
    """
    if not codes.size:
        return codes[:1], np.zeros(len(codes), dtype=np.int64)
    if codes.dtype.kind == "f":
        small = codes + 0.0  # of the two zeros, the one without a sign
    else:
        small = (codes + 1).astype(np.min_scalar_type(int(codes.max()) + 1))
    _, firsts, inverse = np.unique(_keys(small.T), return_index=True, return_inverse=True)
    return codes[firsts], inverse.reshape(-1)


def _keys(columns: Iterable[NDArray[Any]]) -> NDArray[np.void]:
    """The cells of each row as bytes: big-endian numbers that are not negative sort as these do."""
    rows = row_bytes([column.astype(column.dtype.newbyteorder(">")) for column in columns])
    return rows.view(np.dtype((np.void, rows.shape[1]))).reshape(-1)


def resampled(dataset: Dataset, rows: NDArray[np.int64], counts: NDArray[np.int64]) -> Dataset:
    """Return the dataset of the given rows, each of which counts the given number of times."""
    chosen, times = rows[counts > 0], counts[counts > 0]
    weights: NDArray[np.int64] | None = times
    if times.sum() <= _EXPAND * len(times):
        chosen, weights = np.repeat(chosen, times), None
    columns = tuple(np.ascontiguousarray(column[chosen]) for column in dataset.columns)
    origin = None if dataset.origin is None else dataset.origin.without_values()
    return replace(
        dataset, columns=columns, weights=weights, origin=origin, first_line=None, kept=None
    )


def require_splittable(counts: NDArray[np.int64], parts: int) -> int:
    """Return the number of rows, if they can be split into that many parts."""
    n = int(counts.sum())
    if n < parts:
        raise CannotAnswer(f"{counted(n, 'row')} cannot be split into {parts} parts")
    if n >= _MOST_ROWS:
        raise CannotAnswer(f"{n} rows are too many to split at random")
    return n


def folds(dataset: Dataset, k: int, *, seed: int = 0) -> Folds:
    """Return the rest and the fold for each of k folds, whose sizes differ by at most one row."""
    return Folds(dataset, k, seed)


class Folds(Sequence[tuple[Dataset, Dataset]]):
    """Splits of rows that are made when they are asked for, by several threads at once if need be.

    Whoever goes through them draws each once; one by its number draws those before it again.
    """

    def __init__(self, dataset: Dataset, k: int, seed: int) -> None:
        self._dataset = dataset
        self._k, self._seed = k, seed
        self._rows, self._counts = sorted_equal_rows(dataset)
        require_splittable(self._counts, k)

    def __len__(self) -> int:
        return self._k

    def __iter__(self) -> Iterator[tuple[Dataset, Dataset]]:
        return map(self._split, self._drawn())

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[one] for one in range(self._k)[number]]
        wanted = range(self._k)[number]
        return self._split(next(itertools.islice(self._drawn(), wanted, None)))

    def _drawn(self) -> Iterator[NDArray[np.int64]]:
        return fold_counts(self._counts, self._k, seed=self._seed)

    def _split(self, chosen: NDArray[np.int64]) -> tuple[Dataset, Dataset]:
        """The rest and the fold."""
        return (
            resampled(self._dataset, self._rows, self._counts - chosen),
            resampled(self._dataset, self._rows, chosen),
        )


def fold_counts(
    counts: NDArray[np.int64], k: int, *, seed: int | Sequence[int] = 0
) -> Iterator[NDArray[np.int64]]:
    """Yield for each of k folds how often each distinct row is in it."""
    n = require_splittable(counts, k)
    rng = np.random.default_rng(seed)
    left = counts.copy()
    for fold in range(k):
        chosen = rng.multivariate_hypergeometric(left, n // k + (fold < n % k))
        left -= chosen
        yield chosen


class Samples(Sequence[Dataset]):
    """Samples that are drawn when they are asked for, the same ones each time."""

    def __init__(self, draw: Callable[[int], Dataset], replicates: int) -> None:
        self._draw = draw
        self._replicates = replicates

    def __len__(self) -> int:
        return self._replicates

    def __getitem__(self, k: Any) -> Any:
        places = range(self._replicates)[k]
        if isinstance(places, range):
            return Samples(lambda j: self._draw(places[j]), len(places))
        return self._draw(places)


def bootstrap_samples(dataset: Dataset, replicates: int, *, seed: int = 0) -> Samples:
    """Return samples of as many rows as there are, drawn with replacement."""
    rows, counts = sorted_equal_rows(dataset)
    n = int(counts.sum())
    if n == 0:
        raise CannotAnswer("there are no rows to draw from")

    def draw(replicate: int) -> Dataset:
        return resampled(dataset, rows, stream(seed, replicate).multinomial(n, counts / n))

    return Samples(draw, replicates)


def stream(seed: int, k: int) -> np.random.Generator:
    """The k-th stream that a seed spawns, without those before it."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(k,)))
