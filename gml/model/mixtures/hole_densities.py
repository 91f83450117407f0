"""Normal densities of the classes for rows that lack different numbers.

Rows with holes of their own would each cost a round of their own in `densities`. Here they are
taken together: with independent numbers, whatever they lack; with covariances, those that have
equally many numbers, as matrices of one size are factored in one call. What is missing adds its
expectation given the row to the first moments, and its covariance given the row to the second.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gml.model.mixtures.moments import Moments

Vector = NDArray[np.float64]

_LOG_2PI = math.log(2 * math.pi)


class MaskedDensities:
    """Numbers that are independent within a class; NaN stands for one that is missing."""

    def __init__(self, means: Vector, variances: Vector) -> None:
        self._means = means
        self._variances = np.broadcast_to(variances, means.shape)
        self._sds = np.sqrt(self._variances)
        self._constants = -np.log(self._sds) - 0.5 * _LOG_2PI

    def standardised(self, values: Vector) -> Vector:
        """Return z of rows: classes × rows × numbers, NaN where one is missing."""
        found: Vector = values[None] - self._means[:, None]
        found /= self._sds[:, None]
        return found

    def log_densities(self, z: Vector) -> Vector:
        """Return ln of the densities: classes × rows."""
        seen = ~np.isnan(z[0])
        filled = np.where(seen, z, 0.0)
        squares: Vector = np.einsum("knd,knd->kn", filled, filled)
        squares *= -0.5
        squares += self._constants @ seen.T
        return squares

    def moments(self, z: Vector, shares: Vector) -> Moments:
        """Return those to be expected of x − μ, whole, with shares of rows in classes."""
        seen = ~np.isnan(z[0])
        filled = np.where(seen, z, 0.0)
        firsts = np.matmul(shares[:, None, :], filled)[:, 0] * self._sds
        seconds = np.matmul(shares[:, None, :], filled * filled)[:, 0]
        seconds += shares @ (~seen)
        return Moments(shares.sum(axis=1), firsts, seconds * self._variances)

    def restored(self, moments: Moments) -> Moments:
        """They are whole."""
        return moments


class PatternDensities:
    """Numbers with any covariance, of rows that each have some of them, all equally many.

    `observed` is rows × numbers: which ones. Raises LinAlgError where a covariance is not positive
    definite.
    """

    def __init__(self, means: Vector, covariances: Vector, observed: NDArray[np.intp]) -> None:
        self._means = means[:, observed]
        self._whole = covariances
        own = covariances[:, observed[:, :, None], observed[:, None, :]]
        roots = np.linalg.cholesky(own)
        self._turned = np.linalg.inv(roots).swapaxes(2, 3)
        # Of all numbers with those that are there: classes × rows × all × there.
        across = np.moveaxis(covariances[:, :, observed], 1, 2)
        self._back = across @ self._turned
        logs = np.log(np.diagonal(roots, axis1=2, axis2=3)).sum(axis=2)
        self._constants = -logs - 0.5 * _LOG_2PI * observed.shape[1]

    def standardised(self, values: Vector) -> Vector:
        """Return z of rows: classes × rows × numbers that they have."""
        away = values[None] - self._means
        found: Vector = np.matmul(away[:, :, None, :], self._turned)[:, :, 0]
        return found

    def log_densities(self, z: Vector) -> Vector:
        """Return ln of the densities: classes × rows."""
        squares: Vector = np.einsum("knd,knd->kn", z, z)
        squares *= -0.5
        squares += self._constants
        return squares

    def moments(self, z: Vector, shares: Vector) -> Moments:
        """Return those to be expected of x − μ, whole, with shares of rows in classes."""
        n_classes, n_rows = shares.shape
        size = self._whole.shape[1]
        away = np.matmul(self._back, z[:, :, :, None])[:, :, :, 0]
        weighted = away * shares[:, :, None]
        seconds = np.matmul(weighted.swapaxes(1, 2), away)
        left = self._whole[:, None] - self._back @ self._back.swapaxes(2, 3)
        flat = left.reshape(len(left), n_rows, size * size)
        seconds += np.matmul(shares[:, None, :], flat).reshape(n_classes, size, size)
        return Moments(shares.sum(axis=1), weighted.sum(axis=1), seconds)

    def restored(self, moments: Moments) -> Moments:
        """They are whole."""
        return moments
