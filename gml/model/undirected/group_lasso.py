"""The minimum of the objective with lengths of terms as a penalty: terms that are exactly 0.

Proximal gradient steps, with a metric of one number per term, shrink terms and set those to 0 that
do not pay (Yuan & Lin 2006; Combettes & Wajs 2005); each is followed by a Newton step in the terms
that are not 0, among which the objective is smooth. Once the right terms are 0, Newton's method
converges quadratically. The optimality conditions: for a term that is 0 the gradient is no longer
than its weight, and for any other it is the weight times the opposite direction.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gml.model.undirected.descent import (
    TOLERANCE,
    Descent,
    curvature_of_nothing,
    farthest,
    line_search,
    newton_direction,
)
from gml.model.undirected.moment_matching import MomentMatching, Point
from gml.progress import Deadline, reporter

Table = NDArray[np.float64]

_ROUNDING = 1e-14


def proximal_newton(problem: MomentMatching, start: Table, deadline: Deadline) -> Descent:
    """Minimise the objective with its groups."""
    nothing = curvature_of_nothing(problem)
    point = problem.at(start)
    iterations, left = 0, optimality_gap(problem, point)
    while left > TOLERANCE and not deadline.passed:
        reporter().advance("fitting: steps", iterations, None)
        point = _smooth_step(problem, _shrunk(problem, point), nothing)
        iterations, left = iterations + 1, optimality_gap(problem, point)
    return Descent(point, iterations, left <= TOLERANCE)


def optimality_gap(problem: MomentMatching, point: Point) -> float:
    """Return the largest entry of the shortest subgradient per row: 0 at the minimum."""
    found = point.gradient.copy()
    for at, weight in problem.groups:
        length = float(np.linalg.norm(point.w[at]))
        if length > 0:
            found[at] += weight / length * point.w[at]
        else:
            norm = float(np.linalg.norm(found[at]))
            found[at] *= max(0.0, 1 - weight / norm) if norm > 0 else 0.0
    return float(np.abs(found).max(initial=0.0))


def _shrunk(problem: MomentMatching, point: Point) -> Point:
    """Take a proximal step that does not raise the objective."""
    hessian = problem.hessian()
    curvature = np.empty(len(point.w))
    for at in problem.contrasts.slices:
        block = hessian[at, at]
        curvature[at] = np.linalg.eigvalsh(block).max(initial=0.0) if len(block) else 0.0
    curvature = np.maximum(curvature, 1e-12 * curvature.max(initial=1.0))
    before = point.value + _lengths(problem, point.w)
    factor = 1.0
    for _ in range(60):
        w = point.w - point.gradient / (factor * curvature)
        for at, weight in problem.groups:
            length = float(np.linalg.norm(w[at]))
            cut = weight / (factor * float(curvature[at][0]))
            w[at] *= max(0.0, 1 - cut / length) if length > 0 else 0.0
        part = farthest(problem, w - point.w)
        found = problem.at(w if part == 1 else point.w + part * (w - point.w))
        if found.value + _lengths(problem, found.w) <= before + _ROUNDING * (1 + abs(before)):
            return found
        factor *= 2
    return problem.at(point.w)


def _smooth_step(problem: MomentMatching, point: Point, nothing: Table) -> Point:
    """Take a Newton step in the coordinates of the terms that are not 0."""
    hessian = problem.hessian() + nothing
    free = np.ones(len(point.w), dtype=np.bool_)
    for at, weight in problem.groups:
        length = float(np.linalg.norm(point.w[at]))
        if length == 0:
            free[at] = False
            continue
        unit = point.w[at] / length
        hessian[at, at] += weight / length * (np.eye(len(unit)) - np.outer(unit, unit))
    active = np.flatnonzero(free)

    def at_active(w: Table) -> Point:
        return _with_lengths(problem, problem.at(w), free)

    here = _with_lengths(problem, point, free)
    direction = np.zeros(len(point.w))
    direction[active] = newton_direction(hessian[np.ix_(active, active)], here.gradient[active])
    found = line_search(at_active, here, direction, longest=farthest(problem, direction))
    return problem.at(point.w if found is None else found.w)


def _with_lengths(problem: MomentMatching, point: Point, free: NDArray[np.bool_]) -> Point:
    """The objective and its gradient among the coordinates that are free."""
    gradient = np.where(free, point.gradient, 0.0)
    for at, weight in problem.groups:
        length = float(np.linalg.norm(point.w[at]))
        if length > 0:
            gradient[at] += weight / length * point.w[at]
    value = point.value + _lengths(problem, point.w)
    return point._replace(value=value, gradient=gradient)


def _lengths(problem: MomentMatching, w: Table) -> float:
    return math.fsum(weight * float(np.linalg.norm(w[at])) for at, weight in problem.groups)
