"""Normal densities of the classes for rows that have the same numbers, and the moments of these.

With Σ = LL′ the covariance of the numbers that are there, z = L⁻¹(x − μ) are uncorrelated, and all
that a row says is in z: its density, and what to expect of the numbers it lacks. If S is the
covariance of all numbers with those there, y = H z, with H = S L⁻′, is the expectation of x − μ,
whole, and S − HH′ its covariance given the row, which is 0 among the numbers that are there. So
moments are taken of z, for all rows with the same numbers, and turned into moments of x − μ at the
end. As they are about the mean before a step, a small class far from the others loses no digits.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gml.model.mixtures.hole_densities import MaskedDensities, PatternDensities
from gml.model.mixtures.moments import Moments

Vector = NDArray[np.float64]

_LOG_2PI = math.log(2 * math.pi)
# Variances from here on, of numbers whose variance is 1, leave enough digits for squares to differ.
_LEAST_WIDE = 1e-3


class Densities(Protocol):
    """What is known of rows with the same numbers."""

    def standardised(self, values: Vector) -> Vector:
        """Return z of rows: classes × rows × numbers."""

    def log_densities(self, z: Vector) -> Vector:
        """Return ln of the densities: classes × rows."""

    def moments(self, z: Vector, shares: Vector) -> Moments:
        """Return moments of z, with shares of rows in classes: classes × rows."""

    def restored(self, moments: Moments) -> Moments:
        """Turn moments of z into those to be expected of x − μ, whole."""


class DiagonalDensities:
    """Numbers that are independent within a class: second moments are those of each alone."""

    def __init__(self, means: Vector, variances: Vector, observed: NDArray[np.intp]) -> None:
        self._observed = observed
        self._variances = np.broadcast_to(variances, means.shape)
        self._means = means[:, observed]
        self._sds = np.sqrt(self._variances[:, observed])
        self._constants = -np.log(self._sds).sum(axis=1) - 0.5 * _LOG_2PI * len(observed)

    def standardised(self, values: Vector) -> Vector:
        """Return z of rows: classes × rows × numbers."""
        found = values[None, :, :] - self._means[:, None, :]
        found /= self._sds[:, None, :]
        return found

    def log_densities(self, z: Vector) -> Vector:
        """Return ln of the densities: classes × rows."""
        return _log_densities(z, self._constants)

    def moments(self, z: Vector, shares: Vector) -> Moments:
        """Return moments of z, with shares of rows in classes: classes × rows."""
        firsts = np.matmul(shares[:, None, :], z)[:, 0]
        seconds = np.matmul(shares[:, None, :], z * z)[:, 0]
        return Moments(shares.sum(axis=1), firsts, seconds)

    def restored(self, moments: Moments) -> Moments:
        """Turn moments of z into those to be expected of x − μ, whole."""
        firsts = np.zeros(self._variances.shape)
        firsts[:, self._observed] = moments.firsts * self._sds
        seconds = moments.sizes[:, None] * self._variances
        seconds[:, self._observed] = moments.seconds * self._sds**2
        return Moments(moments.sizes, firsts, seconds)


class WideDiagonalDensities:
    """The same by products of matrices, which is faster, of numbers in standard deviations.

    Squares of x − μ are added up as x² − 2xμ + μ², which costs the digits of (x/σ)²: so no class
    may be narrow. Here z is x itself.
    """

    def __init__(self, means: Vector, variances: Vector, observed: NDArray[np.intp]) -> None:
        self._observed = observed
        self._variances = np.broadcast_to(variances, means.shape)
        self._means = means[:, observed]
        precisions = 1 / self._variances[:, observed]
        self._linear = np.ascontiguousarray(self._means * precisions)
        self._quadratic = -0.5 * precisions
        self._constants = 0.5 * (
            np.log(precisions).sum(axis=1)
            - (self._means * self._linear).sum(axis=1)
            - _LOG_2PI * len(observed)
        )

    def standardised(self, values: Vector) -> Vector:
        """Return the numbers themselves."""
        return values

    def log_densities(self, z: Vector) -> Vector:
        """Return ln of the densities: classes × rows."""
        found: Vector = self._linear @ z.T
        found += self._quadratic @ (z * z).T
        found += self._constants[:, None]
        return found

    def moments(self, z: Vector, shares: Vector) -> Moments:
        """Return moments of the numbers, with shares of rows in classes: classes × rows."""
        return Moments(shares.sum(axis=1), shares @ z, shares @ (z * z))

    def restored(self, moments: Moments) -> Moments:
        """Turn moments of the numbers into those to be expected of x − μ, whole."""
        sizes, own = moments.sizes[:, None], self._means
        firsts = np.zeros(self._variances.shape)
        firsts[:, self._observed] = moments.firsts - sizes * own
        seconds = sizes * self._variances
        seconds[:, self._observed] = moments.seconds - 2 * own * moments.firsts + sizes * own**2
        return Moments(moments.sizes, firsts, seconds)


class FullDensities:
    """Numbers with any covariance; raises LinAlgError where it is not positive definite."""

    def __init__(self, means: Vector, covariances: Vector, observed: NDArray[np.intp]) -> None:
        self._whole = covariances
        self._is_complete = len(observed) == means.shape[1]
        own = covariances
        if not self._is_complete:
            own = np.ascontiguousarray(covariances[:, observed[:, None], observed])
        roots = np.linalg.cholesky(own)
        turned = np.linalg.inv(roots).swapaxes(1, 2)
        self._turned = np.ascontiguousarray(turned)
        self._back = roots if self._is_complete else covariances[:, :, observed] @ turned
        self._shift = np.matmul(means[:, None, observed], self._turned)
        logs = np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
        self._constants = -logs - 0.5 * _LOG_2PI * len(observed)
        self._n_classes = len(means)

    def standardised(self, values: Vector) -> Vector:
        """Return z of rows: classes × rows × numbers."""
        found: Vector = np.matmul(values, self._turned)
        if len(found) < self._n_classes:
            spread: Vector = found - self._shift
            return spread
        found -= self._shift
        return found

    def log_densities(self, z: Vector) -> Vector:
        """Return ln of the densities: classes × rows."""
        return _log_densities(z, self._constants)

    def moments(self, z: Vector, shares: Vector) -> Moments:
        """Return moments of z, with shares of rows in classes: classes × rows."""
        weighted = z * shares[:, :, None]
        seconds = np.matmul(weighted.swapaxes(1, 2), z)
        return Moments(shares.sum(axis=1), weighted.sum(axis=1), seconds)

    def restored(self, moments: Moments) -> Moments:
        """Turn moments of z into those to be expected of x − μ, whole."""
        back = self._back
        firsts = np.matmul(back, moments.firsts[:, :, None])[:, :, 0]
        seconds = back @ moments.seconds @ back.swapaxes(1, 2)
        if not self._is_complete:
            left = self._whole - back @ back.swapaxes(1, 2)
            seconds = seconds + moments.sizes[:, None, None] * left
        return Moments(moments.sizes, firsts, seconds)


def densities_of(
    means: Vector, covariances: Vector, observed: NDArray[np.intp] | None
) -> Densities:
    """Return the densities of rows that have the numbers `observed`, all alike or each its own."""
    if covariances.ndim == 3:
        assert observed is not None
        kind = FullDensities if observed.ndim == 1 else PatternDensities
        return kind(means, covariances, observed)
    variances = covariances[:, None] if covariances.ndim == 1 else covariances
    if observed is None:
        return MaskedDensities(means, variances)
    is_wide = float(variances.min(initial=np.inf)) >= _LEAST_WIDE
    return (WideDiagonalDensities if is_wide else DiagonalDensities)(means, variances, observed)


def _log_densities(z: Vector, constants: Vector) -> Vector:
    """ln of the densities of z, with what each class has at 0."""
    squares: Vector = np.einsum("knd,knd->kn", z, z)
    squares *= -0.5
    squares += constants[:, None]
    return squares
