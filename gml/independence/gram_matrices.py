"""Kernel matrices of single columns and of conditioning sets, with their bandwidths.

Numbers have a Gaussian kernel exp(−d²/2σ²) with σ = √(median(d² > 0)/2), the median over all pairs
of rows, as the R package dHSIC has it (Pfister & Peters 2019). Labels have the delta kernel, 1
where they are equal, which is a Gaussian kernel on indicators up to a factor once both are centred.
A conditioning set has one Gaussian kernel on all its columns, standardised
(`RowColumn.standardised`), so that all count alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.independence.row_columns import RowColumn

Numbers = NDArray[np.float64]

# What an incomplete factor may leave of the trace, which is the number of rows.
_REST = 1e-9


class Gram(NamedTuple):
    """A kernel matrix, and its bandwidth if the kernel is Gaussian."""

    matrix: Numbers
    bandwidth: float | None


def median_bandwidth(points: Numbers) -> float:
    """√(median(d² > 0)/2) over all pairs of columns of points.

    Examples
    --------
    >>> median_bandwidth(np.array([[0.0, 0.0, 2.0]])) ** 2
    2.0000000000000004
    """
    if len(points) == 1:
        return math.sqrt(kernel.active().median_square(np.sort(points[0])) / 2)
    squares = kernel.active().squared_distances(np.ascontiguousarray(points))
    return math.sqrt(float(np.median(squares[squares > 0], overwrite_input=True)) / 2)


def gaussian(points: Numbers, bandwidth: float) -> Numbers:
    """The kernel matrix of points."""
    return kernel.active().gaussian_gram(np.ascontiguousarray(points), 0.5 / bandwidth**2)


def gram_of(column: RowColumn) -> Gram:
    """The kernel matrix of a column; the bandwidth is in the units of its numbers."""
    if column.codes is not None:
        same = column.codes[:, None] == column.codes[None, :]
        return Gram(same.astype(np.float64), None)
    points = column.scaled[None, :]
    bandwidth = median_bandwidth(points)
    return Gram(gaussian(points, bandwidth), math.ldexp(bandwidth, column.exponent))


def joint_points(columns: Sequence[RowColumn]) -> Numbers:
    """The standardised columns of a conditioning set, one below the other."""
    return np.ascontiguousarray(np.vstack([column.standardised() for column in columns]))


def centred(matrix: Numbers) -> Numbers:
    """The matrix itself, less the means of its rows and columns."""
    kernel.active().centre_gram(matrix)
    return matrix


def total_product(a: Numbers, b: Numbers) -> float:
    """Σ a[i, j]·b[i, j]."""
    return float(np.vdot(a, b))


def power_traces(matrix: Numbers) -> tuple[float, float, float]:
    """The traces of a symmetric matrix, its square and its cube."""
    return (
        float(np.trace(matrix)),
        total_product(matrix, matrix),
        total_product(matrix @ matrix, matrix),
    )


class Factor(NamedTuple):
    """Rows F of mean 0 with F'F the centred kernel matrix of a column, and its bandwidth."""

    rows: Numbers
    bandwidth: float | None

    def traces(self) -> tuple[float, float, float]:
        """The traces of the matrix, its square and its cube: those of FF'."""
        return power_traces(self.rows @ self.rows.T)


def factor_of(column: RowColumn, bandwidth: float | None = None) -> Factor:
    """The factor of a column, by its bandwidth if that is known: with m rows for n, not n for n.

    For labels these are their indicators, for numbers an incomplete Cholesky decomposition with a
    rest of trace 10⁻⁹; sums of products with another kernel matrix change by 10⁻⁹·n at most.
    Smooth kernels of one column have some twenty such rows, more where values lie far apart.
    """
    if column.codes is not None:
        rows = column.indicators()
    else:
        points = column.scaled[None, :]
        scaled = (
            median_bandwidth(points)
            if bandwidth is None
            else math.ldexp(bandwidth, -column.exponent)
        )
        bandwidth = math.ldexp(scaled, column.exponent)
        rows = kernel.active().gaussian_factor(points, 0.5 / scaled**2, _REST, points.shape[1])
    rows -= rows.mean(axis=1)[:, None]
    return Factor(rows, bandwidth)


def null_sums(
    of_x: tuple[float, float, float], of_y: tuple[float, float, float], n: int
) -> tuple[float, float, float]:
    """Power sums of the products of eigenvalues over n(n − 1), by the traces of two matrices.

    With these weights, Σ λ_k χ²₁ is the null distribution of Σ K̃ L̃/n of centred matrices, and has
    the mean that it has over all permutations.
    """
    rows = float(n) * (n - 1)
    first, second, third = (
        a * b / rows**power for power, (a, b) in enumerate(zip(of_x, of_y, strict=True), start=1)
    )
    return first, second, third
