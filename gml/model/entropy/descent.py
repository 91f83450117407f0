"""Newton's method on the dual of maximum entropy, with multipliers that must not be negative.

*Two-metric projection* (Bertsekas 1982): multipliers of inequalities that are 0, and that the
gradient would make negative, stay; all others take a Newton step, and what gets negative becomes 0.
A step is taken if the value has not grown and its slope there is at most half as steep upwards as
it was downwards: near the minimum values differ by less than a double can tell, but slopes do not
(the approximate Wolfe conditions of Hager & Zhang 2005).

It has converged when no residual, in probabilities, is above 1e-9, and goes on while that gets
better. Where there is no solution the exponents grow without end: beyond `FARTHEST` it stops.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.model.entropy.dual import EntropyDual, Point
from gml.model.undirected.fitting import TOLERANCE
from gml.progress import Deadline, reporter
from gml.stopping import check_stopped

Table = NDArray[np.float64]
Vector = NDArray[np.float64]

FARTHEST = 600.0
"""Where exponents are as good as infinite: what exp makes of it is still a double."""
_SQUARED = 1e-13
# A quadratic model says nothing about odds that change more than e^8-fold at once.
_LONGEST = 8.0
_ROUNDING = 1e-12
_MOST_STEPS = 500
_MOST_CUTS = 60
# From 1e-14 to 1e6 times the diagonal.
_MOST_DAMPINGS = 22


class Descent(NamedTuple):
    """Where it ended, after how many steps, and whether that is the minimum."""

    point: Point
    iterations: int
    converged: bool


def descend(
    dual: EntropyDual, start: Vector, deadline: Deadline, *, enough: float = _SQUARED
) -> Descent:
    """Minimise the dual from a start whose bounded multipliers are not negative.

    A residual of `enough` ends it; by default it goes on while the last steps make it smaller.
    """
    dual.prepare()
    point = dual.at(start)
    left, iterations = dual.distance(point), 0
    while left > enough and iterations < _MOST_STEPS and not deadline.passed:
        check_stopped()
        reporter().advance("maximising the entropy: steps", iterations, None)
        following = _step(dual, point)
        if following is None:
            break
        further = dual.distance(following)
        if left <= TOLERANCE and further >= left:
            break
        point, left, iterations = following, further, iterations + 1
        if dual.largest_exponent(point.x) > FARTHEST:
            break
    return Descent(point, iterations, left <= TOLERANCE)


def free_multipliers(dual: EntropyDual, point: Point) -> NDArray[np.intp]:
    """Return the multipliers that may change: not those that are 0 and would become negative."""
    held = ~dual.is_kept | (dual.is_bounded & (point.x <= 0) & (point.gradient > 0))
    return np.flatnonzero(~held)


def _step(dual: EntropyDual, point: Point) -> Point | None:
    """Return the next point, or None if rounding leaves none further down."""
    free = free_multipliers(dual, point)
    if not len(free):
        return None
    direction = np.zeros_like(point.x)
    curvature = dual.curvature(point)[np.ix_(free, free)]
    direction[free] = newton_direction(curvature, point.gradient[free])
    return step_along(dual, point, direction)


def step_along(dual: EntropyDual, point: Point, direction: Vector) -> Point | None:
    """Return a point further down in a direction, or None if rounding leaves none."""
    t = _LONGEST / max(dual.largest_exponent(direction), _LONGEST)
    for _ in range(_MOST_CUTS):
        x = point.x + t * direction
        x[dual.is_bounded] = np.maximum(x[dual.is_bounded], 0.0)
        moved = x - point.x
        slope = float(point.gradient @ moved)
        if slope >= 0:
            # What became 0 was needed: no further than to the first that does.
            first = _first_at_0(dual, point, direction)
            if not 0 < first < t:
                return None
            t = first
            continue
        found = dual.at(x)
        up = float(found.gradient @ moved)
        if up <= -0.5 * slope and found.value <= point.value + _ROUNDING * (1 + abs(point.value)):
            return found
        # Where the slope is 0, were it a straight line; never less than a tenth of the step.
        t *= max(0.1, min(0.5, slope / (slope - up))) if up > slope else 0.5
    return None


def _first_at_0(dual: EntropyDual, point: Point, direction: Vector) -> float:
    """Return how far the first multiplier that must not be negative is from 0; infinite if none."""
    falling = dual.is_bounded & (direction < 0) & (point.x > 0)
    return float((point.x[falling] / -direction[falling]).min(initial=math.inf))


def newton_direction(hessian: Table, gradient: Vector) -> Vector:
    """Return the step to the minimum of the quadratic model; a singular one is damped.

    Examples
    --------
    >>> newton_direction(np.diag([2.0, 4.0]), np.array([2.0, 2.0])).round(12).tolist()
    [-1.0, -0.5]
    """
    scale = 1 / np.sqrt(np.maximum(np.diag(hessian), np.finfo(float).tiny))
    scaled = hessian * scale * scale[:, None]
    target = -gradient * scale
    damping = 0.0
    for _ in range(_MOST_DAMPINGS):
        # Next to a contradiction curvatures underflow, and steps are beyond doubles.
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                factor = np.linalg.cholesky(scaled)
                inner = np.linalg.solve(factor, target)
                found: Vector = scale * np.linalg.solve(factor.T, inner)
                if np.isfinite(found).all() and -math.inf < float(found @ gradient) <= 0:
                    return found
            except np.linalg.LinAlgError:
                pass
        more = 10 * damping if damping else 1e-14
        scaled[np.diag_indices(len(scaled))] += more - damping
        damping = more
    # Steepest descent, for derivatives that exponents near infinity have flattened.
    return -gradient
