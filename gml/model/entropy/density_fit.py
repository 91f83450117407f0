"""The density of largest entropy with given moments, and why there may be none.

The dual ln Z(λ) − λ·m is minimised by Newton's method on the integrals of quadrature.py; it is
solved for the lower moments first. Its Hessian is the covariance of the powers, of which a QR
decomposition is taken rather than the matrix itself, whose condition is the square.

*No distribution has the moments* (exit 3), or only distributions on a few points, which have no
density (exit 4): moment_frame.py finds out.

*No density of largest entropy exists* (exit 4)
- without a moment on a half line, or without one of even order on the whole line: there the
  entropy has no bound;
- if the highest moment is odd on the whole line: it can be had at no cost by mass far out, and
  the limit does not have it (Cover & Thomas 2006, section 12.3);
- if the highest moment is larger than that of the solution without it: again the limit does not
  have it. On [0, ∞) with mean and variance, that is a variance above mean² (Dowson & Wragg 1973).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer, parameter, quote
from gml.model.entropy.constraints import NumericMoments
from gml.model.entropy.density import Density
from gml.model.entropy.moment_frame import Frame, framed, require_moments
from gml.model.entropy.quadrature import polynomial, rule_of
from gml.model.undirected.fitting import OutOfTime
from gml.progress import Deadline

Vector = NDArray[np.float64]

_TOLERANCE = 1e-9
_SQUARED = 1e-14
_SAME = 1e-10
_MOST_STEPS = 300
_MOST_CUTS = 60
# How steeply the highest power first goes down, at its own size: tried one after the other.
_FIRST_SLOPES = (0.02, 0.5, 0.002)


class _Fit(NamedTuple):
    multipliers: Vector
    residual: float
    iterations: int


def fit_density(given: NumericMoments, *, deadline: Deadline | None = None) -> Density:
    """Return the density of largest entropy on an interval, a half line or the whole line.

    Examples
    --------
    >>> found = fit_density(NumericMoments("x", (-math.inf, math.inf), {1: 1.0, 2: 5.0}))
    >>> round(found.multipliers[2], 12), round(found.mean, 12), round(found.variance, 12)
    (-0.125, 1.0, 4.0)
    >>> fit_density(NumericMoments("x", (0.0, math.inf), {1: 1.0, 2: 2.5}))
    Traceback (most recent call last):
    gml.errors.CannotAnswer: 'x': no density has the largest entropy: E x^2 = 2.5 is more than the \
2 of the one without this moment, and mass far out raises it at no cost
    """
    low, high = given.support
    if math.isinf(low) and math.isfinite(high):
        return _mirrored(given, deadline)
    title = quote(given.name)
    powers = tuple(sorted(given.moments))
    _require_bound(given, title)
    frame = framed(given, title)
    require_moments(frame, powers, title)
    found = _fitted(frame, powers, title, deadline or Deadline())
    return Density(
        given.name,
        given.support,
        powers,
        tuple(found.multipliers.tolist()),
        frame.centre,
        frame.scale,
        dict(given.moments),
        found.residual,
        found.iterations,
    )


def _mirrored(given: NumericMoments, deadline: Deadline | None) -> Density:
    low, high = given.support
    moments = {k: value * (-1) ** k for k, value in given.moments.items()}
    mirror = replace(given, support=(-high, -low), moments=moments)
    found = fit_density(mirror, deadline=deadline)
    signs = [(-1.0) ** power for power in found.powers]
    return replace(
        found,
        support=given.support,
        scaled=tuple(s * m for s, m in zip(signs, found.scaled, strict=True)),
        centre=-found.centre,
        given=dict(given.moments),
    )


def _require_bound(given: NumericMoments, title: str) -> None:
    """Refuse supports without an end on which nothing holds the entropy back."""
    low, high = given.support
    powers = sorted(given.moments)
    if math.isfinite(low) and math.isfinite(high):
        return
    if not powers:
        raise CannotAnswer(
            f"{title}: no density has the largest entropy: on a support without an end it grows "
            "without bound; give a mean"
        )
    if math.isinf(low) and math.isinf(high):
        even = [k for k in powers if k % 2 == 0]
        if not even:
            raise CannotAnswer(
                f"{title}: no density has the largest entropy: on the whole line it grows without "
                "bound; give a variance"
            )
        if powers[-1] % 2:
            raise CannotAnswer(
                f"{title}: no density has the largest entropy: the highest moment on the whole "
                f"line, E x^{powers[-1]}, is odd, and mass far out gives it any value at no cost; "
                "give an even one above it, or an end of the support"
            )


# ---------------------------------------------------------------------- the multipliers


def _fitted(frame: Frame, powers: tuple[int, ...], title: str, deadline: Deadline) -> _Fit:
    """Solve for one moment after the other, from the lowest."""
    if not powers:
        return _Fit(np.zeros(0), 0.0, 0)
    is_bounded = math.isfinite(frame.low) and math.isfinite(frame.high)
    found: _Fit | None = None
    for slope in _FIRST_SLOPES:
        start = _start(frame, powers, title, deadline, is_bounded, slope)
        tried = _newton(frame, powers, start, title, deadline)
        if tried is not None and (found is None or tried.residual < found.residual):
            found = tried
        if is_bounded or (found is not None and found.residual <= _TOLERANCE):
            break
    if found is None or found.residual > _TOLERANCE:
        reached = "" if found is None else f"; the residual is {found.residual:.3g}"
        raise CannotAnswer(
            f"{title}: no density of largest entropy was found: the moments are next to those of "
            f"a few points, or of mass far out{reached}"
        )
    return found


def _start(
    frame: Frame,
    powers: tuple[int, ...],
    title: str,
    deadline: Deadline,
    is_bounded: bool,
    slope: float,
) -> Vector:
    if is_bounded:
        return np.zeros(len(powers))
    lower, top = powers[:-1], powers[-1]
    is_line = math.isinf(frame.low)
    if is_line and lower and lower[-1] % 2:
        lower = lower[:-1]
    is_possible = any(k % 2 == 0 for k in lower) if is_line else bool(lower)
    if not is_possible:
        # Alone, or with odd ones on the line: a scale from the highest moment itself.
        found = np.zeros(len(powers))
        found[-1] = -1 / (top * max(frame.moments[top], np.finfo(float).tiny))
        return found
    below = _fitted(frame, lower, title, deadline)
    multipliers = np.zeros(len(powers))
    multipliers[: len(lower)] = below.multipliers
    own = _expectation(frame, lower, below.multipliers, top)
    wanted = frame.moments[top]
    is_symmetric = len(lower) == len(powers) - 1 or _is_met(frame, powers, lower, below)
    if is_symmetric and wanted > own * (1 + _SAME):
        scale = frame.scale**top
        shown = "" if frame.centre == 0 else f" about {frame.centre:g}"
        raise CannotAnswer(
            f"{title}: no density has the largest entropy: E x^{top} = {wanted * scale:.6g}{shown} "
            f"is more than the {own * scale:.6g} of the one without this moment, and mass far out "
            "raises it at no cost"
        )
    if not (is_symmetric and abs(wanted - own) <= _SAME * own):
        multipliers[-1] = -slope / max(own, 1.0)
    return multipliers


def _is_met(frame: Frame, powers: tuple[int, ...], lower: tuple[int, ...], below: _Fit) -> bool:
    """Whether the solution without the two highest moments has the odd one of them."""
    odd = powers[len(lower)]
    own = _expectation(frame, lower, below.multipliers, odd)
    return abs(own - frame.moments[odd]) <= _SAME * max(1.0, abs(own))


def _expectation(frame: Frame, powers: tuple[int, ...], multipliers: Vector, power: int) -> float:
    exponents = np.array(powers)
    rule = rule_of(multipliers, exponents, frame.low, frame.high)
    values = polynomial(multipliers, exponents, rule.points)
    masses = rule.weights * np.exp(values - values.max())
    return float((masses * rule.points**power).sum() / masses.sum())


def _newton(
    frame: Frame, powers: tuple[int, ...], start: Vector, title: str, deadline: Deadline
) -> _Fit | None:
    exponents = np.array(powers)
    wanted = np.array([frame.moments[k] for k in powers])
    x, iterations = start, 0

    def at(x: Vector) -> tuple[float, Vector, Vector, float] | None:
        """The value, the gradient, the features times roots of masses, and how far off."""
        if not _is_integrable(frame, exponents, x):
            return None
        rule = rule_of(x, exponents, frame.low, frame.high)
        values = polynomial(x, exponents, rule.points)
        top = float(values.max())
        masses = (rule.weights * np.exp(values - top)).reshape(-1)
        total = float(masses.sum())
        masses /= total
        features = np.stack([rule.points.reshape(-1) ** int(k) for k in powers], axis=1)
        means = masses @ features
        centred = np.sqrt(masses)[:, None] * (features - means)
        gradient = means - wanted
        off = float(np.abs(gradient / np.maximum(1.0, np.abs(wanted))).max())
        return top + math.log(total) - float(x @ wanted), gradient, centred, off

    here = at(x)
    if here is None:
        return None
    while here[3] > _SQUARED and iterations < _MOST_STEPS:
        if deadline.passed:
            raise OutOfTime(
                f"{title}: {parameter('max_seconds')} passed with a residual of {here[3]:.3g}"
            )
        value, gradient, centred, off = here
        direction = _newton_direction(centred, gradient)
        slope = float(gradient @ direction)
        t, following = 1.0, None
        for _ in range(_MOST_CUTS):
            tried = at(x + t * direction)
            if tried is not None:
                up = float(tried[1] @ direction)
                if up <= -0.5 * slope and tried[0] <= value + 1e-12 * (1 + abs(value)):
                    following = tried
                    break
            t *= 0.5
        if following is None or (off <= _TOLERANCE and following[3] >= off):
            break
        x, here, iterations = x + t * direction, following, iterations + 1
    return _Fit(x, here[3], iterations)


def _newton_direction(centred: Vector, gradient: Vector) -> Vector:
    """Solve (centredᵀ centred) d = −gradient, columns scaled to the same length."""
    lengths = np.sqrt((centred**2).sum(axis=0))
    scaled = centred / lengths
    upper = np.linalg.qr(scaled)[1]
    inner = np.linalg.solve(upper.T, -gradient / lengths)
    found: Vector = np.linalg.solve(upper, inner) / lengths
    return found


def _is_integrable(frame: Frame, powers: Vector, multipliers: Vector) -> bool:
    """Whether the highest power that counts goes down at infinite ends."""
    if math.isfinite(frame.high):
        return True
    for power, multiplier in zip(powers[::-1], multipliers[::-1], strict=True):
        if multiplier != 0:
            return bool(multiplier < 0 and (math.isfinite(frame.low) or power % 2 == 0))
    return False
