"""The dual of a density of largest entropy: ln Z(λ) − λ·m and its derivatives, by quadrature.

Its Hessian is the covariance of the powers, of which a QR decomposition is taken rather than the
matrix itself, whose condition is the square.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.model.entropy.moment_frame import Frame
from gml.model.entropy.quadrature import polynomial, rule_of

Vector = NDArray[np.float64]

_LARGEST_MULTIPLIER = 1e30
# How far the exponent may rise between the points of a rule, at most, and some more.
_BETWEEN_POINTS = 10.0


def expectation_of(
    frame: Frame, powers: tuple[int, ...], multipliers: Vector, power: int, *, raw: bool = False
) -> float:
    """Return E uᵏ, or E xᵏ of the numbers before they were shifted and scaled."""
    exponents = np.array(powers)
    rule = rule_of(multipliers, exponents, frame.low, frame.high)
    values = polynomial(multipliers, exponents, rule.points)
    masses = rule.weights * np.exp(values - values.max())
    points = frame.centre + frame.scale * rule.points if raw else rule.points
    return float((masses * points**power).sum() / masses.sum())


class DualPoint(NamedTuple):
    """The dual somewhere."""

    value: float
    gradient: Vector
    centred: Vector
    """The features less their means, times roots of masses."""
    off: float
    """The largest difference of a moment, relative to moments above 1."""
    is_proof: bool
    """Whether no distribution has the moments, as the exponent is below its expectation."""


def dual_at(frame: Frame, powers: tuple[int, ...], x: Vector) -> DualPoint | None:
    """Return the dual at some multipliers; None where what it has to add up is infinite."""
    exponents = np.array(powers)
    if not (np.abs(x) < _LARGEST_MULTIPLIER).all() or not _is_integrable(frame, exponents, x):
        return None
    wanted = np.array([frame.moments[k] for k in powers])
    rule = rule_of(x, exponents, frame.low, frame.high)
    values = polynomial(x, exponents, rule.points)
    top = float(values.max())
    if not math.isfinite(top):
        return None
    masses = (rule.weights * np.exp(values - top)).reshape(-1)
    total = float(masses.sum())
    masses /= total
    features = np.stack([rule.points.reshape(-1) ** int(k) for k in powers], axis=1)
    means = masses @ features
    centred = np.sqrt(masses)[:, None] * (features - means)
    gradient = means - wanted
    off = float(np.abs(gradient / np.maximum(1.0, np.abs(wanted))).max())
    expected = float(x @ wanted)
    rounding = 1e-12 * float(np.abs(x) @ np.abs(wanted))
    is_proof = top + _BETWEEN_POINTS + rounding < expected
    return DualPoint(top + math.log(total) - expected, gradient, centred, off, is_proof)


def newton_direction(centred: Vector, gradient: Vector) -> Vector | None:
    """Solve (centredᵀ centred) d = −gradient, columns scaled to the same length."""
    lengths = np.sqrt((centred**2).sum(axis=0))
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        return None
    upper = np.linalg.qr(centred / lengths)[1]
    try:
        inner = np.linalg.solve(upper.T, -gradient / lengths)
        found: Vector = np.linalg.solve(upper, inner) / lengths
    except np.linalg.LinAlgError:
        return None
    return found


def _is_integrable(frame: Frame, powers: Vector, multipliers: Vector) -> bool:
    """Whether the highest power that counts goes down at infinite ends."""
    if math.isfinite(frame.high):
        return True
    for power, multiplier in zip(powers[::-1], multipliers[::-1], strict=True):
        if multiplier != 0:
            return bool(multiplier < 0 and (math.isfinite(frame.low) or power % 2 == 0))
    return False
