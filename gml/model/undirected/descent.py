"""Ways down a convex function on coordinates: Newton's method and L-BFGS.

Newton's method takes the dense Hessian, scaled to a unit diagonal. L-BFGS (Nocedal & Wright 2006,
algorithm 7.5) needs gradients alone. Where a maximum lies at infinity, the Hessian is singular, and
neither leaves the span of the gradients: from 0 both end at the shortest solution.

A step along a direction is taken if its slope there is at most half as steep upwards as it was
downwards, and the value has not grown: near the minimum values differ by less than a double can
tell, but slopes do not (the approximate Wolfe conditions of Hager & Zhang 2005).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.model.undirected.moment_matching import MomentMatching, Point
from gml.progress import Deadline, reporter

Table = NDArray[np.float64]

TOLERANCE = 1e-9
"""The gap, in probabilities, at which a fit has converged."""

_SQUARED = 1e-13
_MEMORY = 30
# A quadratic model says nothing about odds that change more than e^8-fold at once.
_FARTHEST = 8.0
_ROUNDING = 1e-12
_NOTHING_VARIES = 1e-10
_ROUNDED = 1e-14


class Descent(NamedTuple):
    """Where it ended, after how many steps, and whether that is the minimum."""

    point: Point
    iterations: int
    converged: bool


def distance(problem: MomentMatching, point: Point) -> float:
    """How far from the minimum: the gap of margins or, with a ridge, the largest derivative."""
    if problem.ridge.any():
        return float(np.abs(point.gradient).max(initial=0.0))
    return point.gap


def newton(problem: MomentMatching, start: Table, deadline: Deadline) -> Descent:
    """Minimise by Newton's method, with steps that are cut while they go too far."""
    nothing = curvature_of_nothing(problem)

    def direction(point: Point, step: Table | None, change: Table | None) -> Table:
        # The Hessian is that of the point at which the problem was last asked.
        return newton_direction(problem.hessian() + nothing, point.gradient)

    # The last step squares the gap, at the price of one more.
    return _descend(problem, start, deadline, direction, aim=_SQUARED)


def l_bfgs(problem: MomentMatching, start: Table, deadline: Deadline) -> Descent:
    """Minimise by gradients and a memory of the last steps."""
    memory: deque[tuple[Table, Table]] = deque(maxlen=_MEMORY)

    def direction(point: Point, step: Table | None, change: Table | None) -> Table:
        if step is not None and change is not None and float(step @ change) > 0:
            memory.append((step, change))
        return _two_loops(memory, point.gradient)

    return _descend(problem, start, deadline, direction, aim=TOLERANCE)


def newton_direction(hessian: Table, gradient: Table) -> Table:
    """Return the step to the minimum of the quadratic model; a singular one is damped."""
    scale = 1 / np.sqrt(np.maximum(np.diag(hessian), np.finfo(float).tiny))
    scaled = hessian * scale * scale[:, None]
    target = -gradient * scale
    damping = 0.0
    while True:
        try:
            np.linalg.cholesky(scaled)
            found: Table = scale * np.linalg.solve(scaled, target)
            if float(found @ gradient) <= 0:
                return found
        except np.linalg.LinAlgError:
            pass
        more = 10 * damping if damping else 1e-14
        scaled[np.diag_indices(len(scaled))] += more - damping
        damping = more


def curvature_of_nothing(problem: MomentMatching) -> Table:
    """Return what makes Hessians regular: the projection on where nothing varies, or 0.

    That is where a maximum at infinity leaves the coordinates open, and no penalty does not. No
    gradient points there, so that Newton steps do not, either.
    """
    d = problem.contrasts.dimension
    if not problem.supports:
        return np.zeros((d, d))
    problem.at(np.zeros(d))
    hessian = problem.hessian()
    hessian[np.diag_indices(d)] += problem.is_penalised
    # Features that are rare vary little: what counts is whether others determine them.
    variances = np.diag(hessian)
    varies = variances > _ROUNDED * variances.max(initial=0.0)
    scale = np.sqrt(np.where(varies, variances, 1.0))
    values, vectors = np.linalg.eigh(hessian / np.outer(scale, scale))
    null = vectors[:, values <= _NOTHING_VARIES * values.max(initial=0.0)] / scale[:, None]
    basis = np.linalg.qr(null)[0]
    return np.asarray(basis @ basis.T)


def _descend(
    problem: MomentMatching,
    start: Table,
    deadline: Deadline,
    direction: Callable[[Point, Table | None, Table | None], Table],
    *,
    aim: float,
) -> Descent:
    point = problem.at(start)
    step: Table | None = None
    change: Table | None = None
    iterations, left = 0, distance(problem, point)
    while left > aim and not deadline.passed:
        reporter().advance("fitting: steps", iterations, None)
        longest = farthest(problem, towards := direction(point, step, change))
        following = line_search(problem.at, point, towards, longest=longest)
        if following is None or (left <= TOLERANCE and distance(problem, following) >= left):
            break
        step, change = following.w - point.w, following.gradient - point.gradient
        point, iterations, left = following, iterations + 1, distance(problem, following)
    return Descent(point, iterations, left <= TOLERANCE)


def farthest(problem: MomentMatching, direction: Table) -> float:
    """Return the part of a direction, at most all of it, that the quadratic model knows about."""
    tables = problem.contrasts.generators_of(direction)
    largest = max((float(np.abs(table).max(initial=0.0)) for table in tables), default=0.0)
    return _FARTHEST / max(largest, _FARTHEST)


def line_search(
    at: Callable[[Table], Point], point: Point, direction: Table, *, longest: float
) -> Point | None:
    """Return a point further down along a direction, or None if rounding leaves none."""
    slope = float(point.gradient @ direction)
    if slope >= 0:
        return None
    t = longest
    for _ in range(60):
        found = at(point.w + t * direction)
        up = float(found.gradient @ direction)
        allowed = point.value + _ROUNDING * (1 + abs(point.value))
        if up <= -0.5 * slope and found.value <= allowed:
            return found
        # Where the slope is 0, were it a straight line; never less than a tenth of the step.
        t *= max(0.1, min(0.5, slope / (slope - up)))
    return None


def _two_loops(memory: deque[tuple[Table, Table]], gradient: Table) -> Table:
    """The product of the inverse Hessian that the memory speaks of with −gradient."""
    found = -gradient
    weights = []
    for step, change in reversed(memory):
        weight = float(step @ found) / float(step @ change)
        weights.append(weight)
        found = found - weight * change
    if memory:
        step, change = memory[-1]
        found *= float(step @ change) / float(change @ change)
    for (step, change), weight in zip(memory, reversed(weights), strict=True):
        found = found + (weight - float(change @ found) / float(step @ change)) * step
    return found
