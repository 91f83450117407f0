"""Gram matrices of Gaussian kernels, random features and sums of distances, in NumPy.

The headers `gram.h` and `distance_products.h` say what each does; permutations are those of the
compiled kernel, number for number.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gml.kernel.reference.random import random_uniform
from gml.stopping import check_stopped

Numbers = NDArray[np.float64]

_SMALLEST = -700.0


def squared_distances(points: Numbers) -> Numbers:
    """Squared distances of the pairs i < j of columns of points, row after row."""
    n = points.shape[1]
    rows = [_row_distances(points, i)[i + 1 :] for i in range(n - 1)]
    return np.concatenate(rows) if rows else np.empty(0)


def _row_distances(points: Numbers, i: int) -> Numbers:
    check_stopped()
    found: Numbers = ((points - points[:, i : i + 1]) ** 2).sum(axis=0)
    return found


def median_square(ascending: Numbers) -> float:
    """The median of the squared distances of pairs of ascending numbers that are positive."""
    squares = squared_distances(ascending[None, :])
    some = squares[squares > 0]
    return float(np.median(some)) if len(some) else math.nan


def gaussian_gram(points: Numbers, scale: float) -> Numbers:
    """exp(−scale·d²) of all pairs of columns of points."""
    rows = [_row_distances(points, i) for i in range(points.shape[1])]
    return np.exp(np.maximum(-scale * np.array(rows), _SMALLEST))


def centre_gram(gram: Numbers) -> None:
    """Subtract the means of rows and columns of a symmetric matrix, in place."""
    if gram.size:
        means = gram.mean(axis=1)
        gram -= means[:, None] + means[None, :] - means.mean()


def permutation(n: int, key: tuple[int, int], replicate: int) -> NDArray[np.int64]:
    """Fisher & Yates' shuffle of 0..n-1, from the end."""
    counters = np.uint64(replicate) * np.uint64(n) + np.arange(n, dtype=np.uint64)
    partners = (random_uniform(key, counters) * np.arange(1.0, n + 1)).astype(np.int64)
    order = np.arange(n)
    for i in range(n - 1, 0, -1):
        j = partners[i]
        order[i], order[j] = order[j], order[i]
    return order


def permuted_products(
    a: Numbers, b: Numbers, key: tuple[int, int], first: int, last: int
) -> Numbers:
    """Σ a[i, j]·b[p(i), p(j)] of symmetric matrices for the permutations first..last-1."""
    found = []
    for replicate in range(first, last):
        check_stopped()
        order = permutation(len(a), key, replicate)
        found.append(float(np.sum(a * b[np.ix_(order, order)])))
    return np.array(found, dtype=np.float64)


def gaussian_factor(points: Numbers, scale: float, tolerance: float, most: int) -> Numbers:
    """Rows of a factor G, at most so many, with gaussian_gram = G'G up to a rest of small trace."""
    n = points.shape[1]
    rest = np.ones(n)
    factor = np.empty((min(most, n), n))
    for k in range(len(factor)):
        pivot = int(np.argmax(rest))
        if rest.sum() <= tolerance or rest[pivot] <= 0:
            return factor[:k]
        row = np.exp(np.maximum(-scale * _row_distances(points, pivot), _SMALLEST))
        row -= factor[:k, pivot] @ factor[:k]
        factor[k] = row / math.sqrt(rest[pivot])
        rest = np.maximum(rest - factor[k] ** 2, 0.0)
        rest[pivot] = 0.0
    return factor


def fourier_features(points: Numbers, weights: Numbers, phases: Numbers, out: Numbers) -> None:
    """√2·cos(w·p + phase), a row per feature, written to `out`."""
    out[:] = math.sqrt(2) * np.cos(weights @ points + phases[:, None])


def distance_product(x: Numbers, y: Numbers) -> float:
    """Σ |x_i − x_j|·|y_i − y_j| over all i and j."""
    total = 0.0
    for i in range(len(x)):
        check_stopped()
        total += float(np.abs(x - x[i]) @ np.abs(y - y[i]))
    return total


def permuted_distance_products(
    x: Numbers, y: Numbers, key: tuple[int, int], first: int, last: int
) -> Numbers:
    """The same less 2/n·Σ of products of sums of rows, for the permutations first..last-1 of y.

    Each column has two rows: its values, those of x ascending, and the sums of their distances.
    """
    n = x.shape[1]
    found = []
    for replicate in range(first, last):
        order = permutation(n, key, replicate)
        product = distance_product(x[0], y[0, order])
        found.append(product - 2 * float(x[1] @ y[1, order]) / n)
    return np.array(found, dtype=np.float64)
