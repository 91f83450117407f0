"""The minimum of the objective with lengths of terms as a penalty: terms that are exactly 0.

A proximal Newton method (Lee, Sun & Saunders 2014): the quadratic model and the lengths together
are minimised by descent in one term after the other (Friedman, Hastie & Tibshirani 2010; each
term's own problem has an exact solution in the length that it will have), which sets those to 0
that do not pay (Yuan & Lin 2006). Each such step is followed by a plain Newton step in the terms
that are not 0, among which the objective is smooth: once the right terms are 0, convergence is
quadratic.
The optimality conditions: for a term that is 0 the gradient is no longer than its weight, and for
any other it is the weight times the opposite direction.
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
from gml.stopping import check_stopped

Table = NDArray[np.float64]

_ROUNDING = 1e-14
_DAMPING = 1e-10
_MOST_SWEEPS = 100
_ENOUGH = 1e-3


def proximal_newton(problem: MomentMatching, start: Table, deadline: Deadline) -> Descent:
    """Minimise the objective with its groups."""
    nothing = curvature_of_nothing(problem)
    point = problem.at(start)
    iterations, left = 0, optimality_gap(problem, point)
    while left > TOLERANCE and not deadline.passed:
        reporter().advance("fitting: steps", iterations, None)
        point = _smooth_step(problem, _shrunk(problem, point, nothing), nothing)
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


def _shrunk(problem: MomentMatching, point: Point, nothing: Table) -> Point:
    """Take a step towards the minimum of the quadratic model and the lengths together."""
    target = _model_minimum(problem, point, problem.hessian() + nothing)
    direction = target - point.w
    before = point.value + _lengths(problem, point.w)
    promised = float(point.gradient @ direction) + _lengths(problem, target)
    promised -= _lengths(problem, point.w)
    t = farthest(problem, direction)
    for _ in range(60):
        found = problem.at(target if t == 1 else point.w + t * direction)
        allowed = before + 1e-4 * t * promised + _ROUNDING * (1 + abs(before))
        if found.value + _lengths(problem, found.w) <= allowed:
            return found
        t *= 0.5
    return problem.at(point.w)


def _model_minimum(problem: MomentMatching, point: Point, hessian: Table) -> Table:
    """Descend in one term after the other until a sweep changes little."""
    hessian[np.diag_indices(len(hessian))] += _DAMPING * np.diag(hessian).max(initial=0.0)
    w = point.w.copy()
    # The gradient of the quadratic model at w, kept up to date.
    slope = point.gradient.copy()
    free = np.flatnonzero(~problem.is_penalised)
    inverse = np.linalg.inv(hessian[np.ix_(free, free)])
    blocks = [np.linalg.eigh(hessian[at, at]) for at, _ in problem.groups]
    first = 0.0
    for sweep in range(_MOST_SWEEPS):
        check_stopped()
        change = -inverse @ slope[free]
        w[free] += change
        slope += hessian[:, free] @ change
        largest = float(np.abs(change).max(initial=0.0))
        for (at, weight), (values, vectors) in zip(problem.groups, blocks, strict=True):
            pull = slope[at] - hessian[at, at] @ w[at]
            change = vectors @ _shortened(vectors.T @ pull, values, weight) - w[at]
            if change.any():
                w[at] += change
                slope += hessian[:, at] @ change
                largest = max(largest, float(np.abs(change).max()))
        first = max(first, largest)
        if sweep and largest <= _ENOUGH * first:
            break
    return w


def _shortened(pull: Table, curvatures: Table, weight: float) -> Table:
    """Return the minimum of pull·z + ½ Σ curvature z² + weight·‖z‖.

    Its length ν has Σ (pull / (curvature ν + weight))² = 1, of which 1/√ is nearly a straight line.
    """
    if float(np.linalg.norm(pull)) <= weight:
        return np.zeros_like(pull)
    length = 0.0
    for _ in range(50):
        divided = curvatures * length + weight
        total = float(((pull / divided) ** 2).sum())
        if abs(total - 1) <= 1e-13:
            break
        derivative = -2 * float((pull**2 * curvatures / divided**3).sum())
        length += (1 - total**-0.5) / (-0.5 * total**-1.5 * derivative)
    return -pull * length / (curvatures * length + weight)


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
