"""Minimise a smooth convex function plus l1 times the sum of absolute values (OWL-QN).

The orthant-wise limited-memory quasi-Newton method (Andrew & Gao 2007, Scalable training of
L1-regularized log-linear models, ICML): within an orthant the absolute values are linear, so that a
step is one of L-BFGS along the direction of the pseudo-gradient, and what would leave the orthant
is set to 0. Differences of smooth gradients tell the curvature; a component that would not lead
down is left out. Steps are halved until the function has fallen by a share of what was promised.

Cutting directions slows L-BFGS down where the signs are settled already. So rounds of such steps
take turns with rounds of plain L-BFGS over the variables that are not 0, whose absolute values are
linear there; what comes out on the other side of 0 is set to 0, and the result is taken if it is
lower. After a round in which signs changed, the next one within orthants is twice as long.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from gml.model.undirected.first_order import Descent, Function, minimise
from gml.progress import Deadline, reporter

Vector = NDArray[np.float64]

_MEMORY = 10
_ROUND = 40
_MOST_TRIES = 40
_PROMISED = 1e-4
_ROUNDING = 1e-13
_LONGEST = 0.5


def minimise_absolute(
    function: Function,
    start: Vector,
    *,
    l1: float,
    tolerance: float = 1e-9,
    units: Vector | float = 1.0,
    max_iterations: int = 5000,
    deadline: Deadline | None = None,
) -> Descent:
    """Minimise function(x) + l1 · Σ |x|; `Descent.gradient` is the largest of the pseudo-gradient.

    It ends where none of it is larger than the tolerance times its unit.

    Examples
    --------
    >>> def parabola(x):
    ...     return float(((x - np.array([3.0, 0.2])) ** 2).sum()), 2 * (x - np.array([3.0, 0.2]))
    >>> minimise_absolute(parabola, np.zeros(2), l1=1.0).point.round(9).tolist()
    [2.5, 0.0]
    """
    deadline = deadline or Deadline()
    point, done, within = start, 0, _ROUND
    while True:
        steps = min(within, max_iterations - done)
        found = _within_orthants(function, point, l1, tolerance, units, steps, deadline)
        point, done = found.point, done + found.iterations
        is_over = done >= max_iterations or deadline.passed or found.iterations < steps
        if found.converged or is_over:
            return Descent(point, found.gradient, done, found.converged)
        settled = _with_signs(function, point, l1, tolerance, units, deadline)
        done += settled.iterations
        if np.array_equal(np.sign(settled.point), np.sign(point)):
            point = settled.point
            continue
        within *= 2
        if _sum(function, settled.point, l1) < _sum(function, point, l1):
            point = settled.point


def _sum(function: Function, point: Vector, l1: float) -> float:
    return function(point)[0] + l1 * float(np.abs(point).sum())


def _with_signs(
    function: Function,
    point: Vector,
    l1: float,
    tolerance: float,
    units: Vector | float,
    deadline: Deadline,
) -> Descent:
    """Minimise over the variables that are not 0 as if they kept their signs."""
    free = point != 0
    signs, whole = np.sign(point[free]), point.copy()

    def linear(part: Vector) -> tuple[float, Vector]:
        whole[free] = part
        value, gradient = function(whole)
        return value + l1 * float(signs @ part), gradient[free] + l1 * signs

    found = minimise(
        linear,
        point[free],
        tolerance=tolerance,
        units=np.broadcast_to(units, point.shape)[free],
        max_iterations=2 * _ROUND,
        deadline=deadline,
    )
    new = point.copy()
    new[free] = np.where(found.point * signs > 0, found.point, 0.0)
    return Descent(new, found.gradient, found.iterations, found.converged)


def _within_orthants(
    function: Function,
    start: Vector,
    l1: float,
    tolerance: float,
    units: Vector | float,
    max_iterations: int,
    deadline: Deadline,
) -> Descent:
    point = start.copy()
    value, gradient = function(point)
    value += l1 * float(np.abs(point).sum())
    moves: deque[tuple[Vector, Vector]] = deque(maxlen=_MEMORY)
    done = 0
    while True:
        pull = pseudo_gradient(point, gradient, l1)
        largest = float((np.abs(pull) / units).max(initial=0.0))
        if largest <= tolerance:
            return Descent(point, largest, done, True)
        if done >= max_iterations or deadline.passed:
            return Descent(point, largest, done, False)
        found = _step(function, point, value, pull, _direction(moves, pull), l1)
        if found is None and moves:
            moves.clear()
            continue
        if found is None:
            return Descent(point, largest, done, False)
        new, value, new_gradient = found
        moves.append((new - point, new_gradient - gradient))
        point, gradient = new, new_gradient
        done += 1
        reporter().advance("fitting", done, None, is_paced=False)


def pseudo_gradient(point: Vector, gradient: Vector, l1: float) -> Vector:
    """Return the one-sided derivative that falls, or 0 where none does."""
    at_zero = np.where(
        gradient + l1 < 0, gradient + l1, np.where(gradient - l1 > 0, gradient - l1, 0.0)
    )
    return np.where(point != 0, gradient + l1 * np.sign(point), at_zero)


def _direction(moves: deque[tuple[Vector, Vector]], pull: Vector) -> Vector:
    """Minus the inverse curvature times the pseudo-gradient, where that leads down."""
    found = pull.copy()
    used = []
    for moved, change in reversed(moves):
        product = float(moved @ change)
        if product > 1e-14 * float(moved @ moved):
            weight = float(moved @ found) / product
            found -= weight * change
            used.append((moved, change, product, weight))
    if used:
        _, change, product, _ = used[0]
        found *= product / float(change @ change)
    for moved, change, product, weight in reversed(used):
        found += (weight - float(change @ found) / product) * moved
    found = np.where(found * pull > 0, -found, 0.0)
    return found if found.any() else -pull


def _step(
    function: Function, point: Vector, value: float, pull: Vector, direction: Vector, l1: float
) -> tuple[Vector, float, Vector] | None:
    """Go along a direction within the orthant; None if it leads nowhere."""
    orthant = np.where(point != 0, np.sign(point), -np.sign(pull))
    room = _ROUNDING * (abs(value) + 1)
    step = min(1.0, _LONGEST / float(np.abs(direction).max()))
    for _ in range(_MOST_TRIES):
        new = point + step * direction
        new = np.where(new * orthant > 0, new, 0.0)
        smooth, gradient = function(new)
        new_value = smooth + l1 * float(np.abs(new).sum())
        promised = float(pull @ (new - point))
        if np.isfinite(new_value) and new_value <= value + _PROMISED * promised + room:
            return (new, new_value, gradient) if np.any(new != point) else None
        step /= 2
    return None
