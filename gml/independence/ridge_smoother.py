"""Ridge regressions on few directions, with the penalty that predicts best.

U has orthonormal rows, the directions of what is given, with sizes s (eigenvalues of a kernel
matrix or of sums of products of features). A ridge regression with penalty ε leaves r = ε/(s + ε)
of each direction and all of what is orthogonal to them: R = I − U'·diag(1 − r)·U. The penalty, and
the directions if there are several sets, are those with the least generalised cross-validation
error (Golub, Heath & Wahba 1979) ‖RF‖²/(tr R)², over all columns F together; of equal ones the
earlier, and then the larger penalty. The penalty used is 1/√10 of that. What predicts best leaves
as much bias as noise, and a test takes bias for dependence, while it knows how to allow for noise
(`lost_variance`): given three columns whose sum acts by its sine, 300 rows, kci rejects a true
independence 27 times in 100 at 0.05 without this and 7 times with it, and finds as much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

# Directions that are smaller than this share of the largest are rounding.
_LEAST_SIZE = 1e-12
_BLOCK = 1 << 12
_SHARPENED = 10**-0.5


class Directions(NamedTuple):
    """Orthonormal rows, their sizes, and what they are called."""

    rows: Numbers
    sizes: Numbers
    label: float


class Smoother(NamedTuple):
    """What a ridge regression leaves: of each direction, and the choice that was made."""

    directions: Directions
    left: Numbers
    penalty: float

    def residuals(self, columns: Numbers) -> Numbers:
        """R·F for columns F, which are the rows of an array here."""
        on = columns @ self.directions.rows.T
        found: Numbers = columns - (on * (1 - self.left)) @ self.directions.rows
        return found

    def residual_gram(self, gram: Numbers, on: Numbers) -> Numbers:
        """R·K·R for a symmetric matrix K, of which UK is known.

        This is K − U'W − W'U with W = D·UK − ½·D·UKU'·D·U and D = diag(1 − r).
        """
        rows, taken = self.directions.rows, (1 - self.left)[:, None]
        half = taken * (on - (on @ rows.T * (0.5 * taken.T)) @ rows)
        change = rows.T @ half
        found: Numbers = gram - change
        found -= change.T
        return found

    def left_of_rows(self) -> Numbers:
        """The diagonal of R²: the variance that is left of each row of white noise."""
        rows, taken = self.directions.rows, 1 - self.left**2
        left = np.empty(rows.shape[1])
        for start in range(0, len(left), _BLOCK):
            some = slice(start, start + _BLOCK)
            left[some] = 1 - taken @ rows[:, some] ** 2
        return left


def directions_of(factor: Numbers, label: float = 1.0) -> Directions:
    """The directions of rows of a factor G: eigenvectors and eigenvalues of G'G.

    Examples
    --------
    >>> found = directions_of(np.array([[3.0, 0.0, 4.0]]))
    >>> found.sizes.tolist()
    [25.0]
    """
    sizes, vectors = np.linalg.eigh(factor @ factor.T)
    kept = sizes > _LEAST_SIZE * max(float(sizes[-1]), 0.0) if len(sizes) else sizes > 0
    sizes, vectors = sizes[kept], vectors[:, kept]
    rows = np.ascontiguousarray((vectors / np.sqrt(sizes)).T @ factor)
    return Directions(rows, sizes, label)


def best_smoother(
    choices: Sequence[Directions],
    squares: Sequence[Numbers],
    total: float,
    n: int,
    penalties: Sequence[float],
) -> Smoother:
    """Choose directions and penalty.

    `squares` has for each choice the squared sizes of F on its directions, and `total` that of F.
    """
    best: tuple[float, Smoother] | None = None
    for directions, on in zip(choices, squares, strict=True):
        beside = max(total - float(on.sum()), 0.0)
        for penalty in sorted(penalties, reverse=True):
            left = penalty / (directions.sizes + penalty)
            freedom = n - len(left) + float(left.sum())
            error = (beside + float((left * left) @ on)) / freedom**2
            if best is None or error < best[0]:
                best = (error, Smoother(directions, left, penalty))
    assert best is not None
    _, (directions, _, penalty) = best
    penalty *= _SHARPENED
    return Smoother(directions, penalty / (directions.sizes + penalty), penalty)


def lost_variance(x: Smoother, y: Smoother, n: int) -> float:
    """By how much the variances of residuals understate that of their covariance, at least 1.

    If x and y are white noise beyond what regressions on Z explain, the squared sum of products of
    residuals has the mean tr(R_x²R_y²); the sum of products of variances of residuals, which
    estimates it, has the mean Σ (R_x²)_ii·(R_y²)_ii. All columns are centred, which R leaves out,
    so that the constant direction is taken off here.
    """
    taken_x, taken_y = 1 - x.left**2, 1 - y.left**2
    overlap = (x.directions.rows @ y.directions.rows.T) ** 2
    both = float(taken_x @ overlap @ taken_y)
    truth = n - 1 - math.fsum(taken_x) - math.fsum(taken_y) + both
    estimate = float((x.left_of_rows() - 1 / n) @ (y.left_of_rows() - 1 / n))
    return max(1.0, truth / estimate) if estimate > 0 else 1.0
