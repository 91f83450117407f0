"""Randomised conditional independence (Strobl, Zhang & Visweswaran 2019, J. Causal Inference 7).

KCI with random Fourier features (Rahimi & Recht 2007) in the place of kernel matrices, in time and
memory linear in the rows. Features √2·cos(w·p + b), with w normal over the bandwidth and b uniform,
are drawn by a generator that is seeded by (seed, names of x, y and Z): `features` of x, as many of
(x, Z/2), and as many of y. x is the column whose name comes first. Numbers are standardised. Labels
have indicators or, if there are more than `features`, as many random signs, whose products have the
mean 0 unless labels are equal; in Z they are points (`RowColumn.standardised`). The bandwidth is
√(median(d² > 0)/2) over at most 500 rows, at even distances in the sorted order.

Z has no random features but those of an incomplete Cholesky decomposition of its kernel matrix
(Fine & Scheinberg 2001, J. Mach. Learn. Res. 2:243): at most `given_features`, at most 100 of one
column of numbers, until a rest of 10⁻⁴ per row. Random frequencies that lie near enough to that
of a relation with Z become rare as columns are added: given three whose sum acts by its sine, 1 000
rows, a true independence was rejected 87 times in 100 at 0.05 with 100 random features and 32 times
with 800, which took five times as long as the 300 that reject 8 times.

Ridge regressions on these features leave residuals f of x and g of y; for each, the penalty and the
bandwidth of Z (½, 1 or 2 times that of the median) are chosen by generalised cross-validation.
With C = Σ f g'/n the statistic is n‖C‖², and its null distribution Σ λ_k χ²₁ with λ_k the
eigenvalues of Σ (f⊗g)(f⊗g)'/n, times what residuals lose (`lost_variance`). Its tail is that of a
χ² distribution with the same three cumulants (`weighted_chi2`).

Deviations from the paper and its R package: there, 5 features of y and 5 of (x, Z) are used, and
none of x alone; Z has 100 random features; regressions have a penalty of 10⁻¹⁰, so that with 100
features and 100 rows nothing of the noise is left; and a sum of χ² variables is fitted by four
moments (Lindsay, Pilla & Basak 2000).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.independence.gram_matrices import joint_points, median_bandwidth
from gml.independence.ridge_smoother import (
    Directions,
    Smoother,
    best_smoother,
    directions_of,
    lost_variance,
)
from gml.independence.row_columns import RowColumn
from gml.independence.row_test import THREE_MOMENT, Details, KernelTest
from gml.independence.weighted_chi2 import log_weighted_chi2_upper
from gml.stopping import check_stopped

Numbers = NDArray[np.float64]

_BANDWIDTH_ROWS = 500
_BLOCK = 1 << 12
_CACHED_NUMBERS = 1 << 15
# In units of the number of rows.
_PENALTIES = tuple(10.0 ** (k / 2) for k in range(-12, 5))
_REST_PER_ROW = 1e-4
_MOST_OF_ONE = 100
_NOTHING = 1e-20


class RcitTest(KernelTest):
    """Conditional independence of numbers and labels by random features."""

    def bytes_needed(self, n: int, given_points: int) -> int:
        """Features, some while they are turned, directions, and the products of a block."""
        features = self._options["features"]
        of_z = self._most_of_z(n, given_points)
        return 8 * int(n * (9 * features + 6 * of_z) + (_BLOCK + 2 * features**2) * 2 * features**2)

    def _most_of_z(self, n: int, points: int) -> int:
        most: int = self._options["given_features"] if points else 0
        return min(most, n, _MOST_OF_ONE if points == 1 else most)

    def outcome(
        self, columns: Sequence[RowColumn], key: tuple[int, int], threads: int
    ) -> tuple[float, float, Details]:
        """n‖C‖², ln p and details."""
        x, y = columns[:2]
        number = self._options["features"]
        draws = _Draws(key)
        f, sigma_x = _features(x, number, draws)
        g, sigma_y = _features(y, number, draws)
        details: dict[str, Any] = {
            "bandwidth_x": sigma_x,
            "bandwidth_y": sigma_y,
            "null": THREE_MOMENT,
        }
        n = f.shape[1]
        lost = 1.0
        if len(columns) > 2:
            points = joint_points(columns[2:])
            sigma = _bandwidth(points)
            both = _joint_features(x, sigma_x, points * (self.share_of_z / sigma), number, draws)
            most = self._most_of_z(n, len(points))
            choices = [_directions(points, width * sigma, most) for width in self.widths]
            f = _standardised(np.vstack([f, both]))
            smooth_x, smooth_y = _smoother(f, choices), _smoother(g, choices)
            f, g = smooth_x.residuals(f), smooth_y.residuals(g)
            lost = lost_variance(smooth_x, smooth_y, n)
            details |= {
                "bandwidth_given_x": smooth_x.directions.label,
                "bandwidth_given_y": smooth_y.directions.label,
                "regulariser_x": smooth_x.penalty / n,
                "regulariser_y": smooth_y.penalty / n,
            }
        covariances = f @ g.T / n
        statistic = n * float(np.vdot(covariances, covariances))
        second_moments = _products(f, g) * (lost / n)
        first = float(np.trace(second_moments))
        if first <= _NOTHING:
            return 0.0, 0.0, details
        squared = second_moments @ second_moments
        sums = (first, float(np.trace(squared)), float(np.vdot(squared, second_moments)))
        return statistic, log_weighted_chi2_upper(statistic, sums), details


class _Draws:
    """Random numbers of one test, in the order in which they are asked for."""

    def __init__(self, key: tuple[int, int]) -> None:
        self._bits = np.random.Philox(key=np.array(key, dtype=np.uint64))

    def uniform(self, *shape: int) -> Numbers:
        """Numbers between 0 and 1, neither of them."""
        bits = self._bits.random_raw(math.prod(shape)) >> np.uint64(12)
        numbers: Numbers = (bits.astype(np.float64) + 0.5) * 2.0**-52
        return numbers.reshape(shape)

    def normal(self, *shape: int) -> Numbers:
        """Standard normal numbers."""
        return kernel.active().normal_quantile(self.uniform(math.prod(shape))).reshape(shape)

    def signs(self, *shape: int) -> Numbers:
        """1 and −1."""
        return np.where(self.uniform(*shape) < 0.5, -1.0, 1.0)

    def fourier(self, points: Numbers, number: int) -> Numbers:
        """Random Fourier features of points in units of the bandwidth."""
        found = np.empty((number, points.shape[1]))
        self.write_fourier(points, found)
        return found

    def write_fourier(self, points: Numbers, out: Numbers) -> None:
        """The same, as many as there is room for."""
        weights = self.normal(len(out), len(points))
        phases = 2 * math.pi * self.uniform(len(out))
        kernel.active().fourier_features(np.ascontiguousarray(points), weights, phases, out)


def _bandwidth(points: Numbers) -> float:
    """√(median(d² > 0)/2) over some rows; over all if these are all equal."""
    n = points.shape[1]
    chosen = np.linspace(0, n - 1, min(n, _BANDWIDTH_ROWS)).astype(np.int64)
    some = points[:, chosen]
    if np.ptp(some, axis=1).any():
        return median_bandwidth(some)
    spread = float(np.sqrt((points**2).sum() / n))
    return spread if spread > 0 else 1.0


def _standardised(features: Numbers) -> Numbers:
    """The same features, turned to mean 0 and variance 1; those without variance become 0."""
    # Few at a time, which stay in the cache meanwhile.
    step = max(1, _CACHED_NUMBERS // features.shape[1])
    for start in range(0, len(features), step):
        some = features[start : start + step]
        some -= some.mean(axis=1)[:, None]
        spread = np.sqrt((some**2).mean(axis=1))
        some /= np.where(spread > 1e-12, spread, np.inf)[:, None]
    return features


def _features(column: RowColumn, number: int, draws: _Draws) -> tuple[Numbers, float | None]:
    """Features of one column, and its bandwidth (in standard deviations) if it has numbers."""
    if column.codes is None:
        points = column.standardised()
        sigma = _bandwidth(points)
        return _standardised(draws.fourier(points / sigma, number)), sigma
    if column.n_labels <= number:
        return _standardised(column.indicators()), None
    signs = draws.signs(number, column.n_labels)
    return _standardised(np.ascontiguousarray(signs[:, column.codes])), None


def _joint_features(
    x: RowColumn, sigma_x: float | None, of_z: Numbers, number: int, draws: _Draws
) -> Numbers:
    """Features of x and Z together."""
    if x.codes is None:
        assert sigma_x is not None
        return draws.fourier(np.vstack([x.standardised() / sigma_x, of_z]), number)
    signs = draws.signs(number, x.n_labels)
    return np.asarray(signs[:, x.codes] * draws.fourier(of_z, number))


def _directions(points: Numbers, bandwidth: float, most: int) -> Directions:
    """The directions of a factor of the kernel matrix of Z; they are called by the bandwidth."""
    check_stopped()
    rest = _REST_PER_ROW * points.shape[1]
    factor = kernel.active().gaussian_factor(points, 0.5 / bandwidth**2, rest, most)
    factor -= factor.mean(axis=1)[:, None]
    return directions_of(factor, bandwidth)


def _smoother(features: Numbers, choices: Sequence[Directions]) -> Smoother:
    """The regression of features."""
    check_stopped()
    n = features.shape[1]
    squares = []
    for directions in choices:
        on = features @ directions.rows.T
        squares.append(np.einsum("ij,ij->j", on, on))
    penalties = [n * penalty for penalty in _PENALTIES]
    return best_smoother(choices, squares, float(np.vdot(features, features)), n, penalties)


def _products(f: Numbers, g: Numbers) -> Numbers:
    """Σ (f⊗g)(f⊗g)' over the rows, a block of them at a time."""
    size = len(f) * len(g)
    total = np.zeros((size, size))
    for start in range(0, f.shape[1], _BLOCK):
        check_stopped()
        some = slice(start, start + _BLOCK)
        products = (f[:, None, some] * g[None, :, some]).reshape(size, -1)
        total += products @ products.T
    return total
