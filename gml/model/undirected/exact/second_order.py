"""Ways down by the matrix of second derivatives: Newton's method, and with lengths as a penalty.

*Newton's method* takes the dense Hessian, scaled to a unit diagonal. Where a maximum lies at
infinity, the Hessian is singular, and no step has a part that would lengthen the tables of the
terms and change nothing else: from 0 it ends at the shortest of all solutions.

*With l1*, a proximal Newton method (Lee, Sun & Saunders 2014): the quadratic model and the lengths
together are minimised by descent in one term after the other (Friedman, Hastie & Tibshirani 2010;
each term's own problem has an exact solution in the length that it will have), which sets those to
0 that do not pay. Each such step is followed by a plain Newton step in the terms that are not 0,
among which the objective is smooth: once the right terms are 0, convergence is quadratic.

A step along a direction is taken if its slope there is at most half as steep upwards as it was
downwards, and the value has not grown: near the minimum values differ by less than a double can
tell, but slopes do not (the approximate Wolfe conditions of Hager & Zhang 2005).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer, parameter
from gml.model.undirected.boundary.face import directions_of
from gml.model.undirected.exact.moment_matching import MomentMatching, Point
from gml.model.undirected.fitting import TOLERANCE
from gml.progress import Deadline, reporter
from gml.stopping import check_stopped

Table = NDArray[np.float64]

_SQUARED = 1e-13
# A quadratic model says nothing about odds that change more than e^8-fold at once.
_FARTHEST = 8.0
_SLOPE_ROUNDING, _VALUE_ROUNDING = 1e-12, 1e-14
_DAMPING = 1e-10
# From 1e-14 to 1e6 times the diagonal.
_MOST_DAMPINGS = 22
_MOST_SWEEPS = 100
_ENOUGH = 1e-3


class Descent(NamedTuple):
    """Where it ended, after how many steps, and whether that is the minimum."""

    point: Point
    iterations: int
    converged: bool


def newton(problem: MomentMatching, start: Table, deadline: Deadline) -> Descent:
    """Minimise by Newton's method, with steps that are cut while they go too far."""
    nothing = _curvature_of_nothing(problem)
    point = problem.at(start)
    iterations, left = 0, problem.distance(point)
    # The last step squares the gap, at the price of one more.
    while left > _SQUARED and not deadline.passed:
        reporter().advance("fitting: steps", iterations, None)
        # The Hessian is that of the point at which the problem was last asked.
        direction = _newton_direction(problem.hessian() + nothing, point.gradient)
        following = _line_search(
            problem.at, point, direction, longest=_farthest(problem, direction)
        )
        if following is None or (left <= TOLERANCE and problem.distance(following) >= left):
            break
        point, iterations, left = following, iterations + 1, problem.distance(following)
    return Descent(point, iterations, left <= TOLERANCE)


def proximal_newton(problem: MomentMatching, start: Table, deadline: Deadline) -> Descent:
    """Minimise the objective with its groups."""
    nothing = _curvature_of_nothing(problem)
    point = problem.at(start)
    iterations, left = 0, problem.distance(point)
    while left > TOLERANCE and not deadline.passed:
        reporter().advance("fitting: steps", iterations, None)
        point = _smooth_step(problem, _shrunk(problem, point, nothing), nothing)
        iterations, left = iterations + 1, problem.distance(point)
    return Descent(point, iterations, left <= TOLERANCE)


def _newton_direction(hessian: Table, gradient: Table) -> Table:
    """Return the step to the minimum of the quadratic model; a singular one is damped."""
    scale = 1 / np.sqrt(np.maximum(np.diag(hessian), np.finfo(float).tiny))
    scaled = hessian * scale * scale[:, None]
    target = -gradient * scale
    damping = 0.0
    for _ in range(_MOST_DAMPINGS):
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
    raise CannotAnswer(
        "the fit broke down: derivatives of the likelihood are not numbers any more; use "
        f"{parameter('l2')} or {parameter('smoothing')}"
    )


def _curvature_of_nothing(problem: MomentMatching) -> Table:
    """Return what makes Hessians regular, or 0: curvature along what changes nothing.

    That is where a maximum at infinity leaves the coefficients open, and no penalty does not. No
    gradient points there, so that steps d = −(H + M Mᵀ)⁻¹ g have Mᵀ d = 0; with M the open
    directions times numbers of cells, they are orthogonal to these over the cells of all tables.
    """
    d = problem.coefficients.size
    if not problem.supports:
        return np.zeros((d, d))
    problem.at(np.zeros(d))
    hessian = problem.hessian()
    hessian[np.diag_indices(d)] += problem.is_penalised
    _, nothing = directions_of(hessian)
    basis = np.linalg.qr(problem.coefficients.cells[:, None] * nothing)[0]
    return np.asarray(basis @ basis.T)


def _farthest(problem: MomentMatching, direction: Table) -> float:
    """Return the part of a direction, at most all of it, that the quadratic model knows about."""
    tables = problem.coefficients.generators_of(direction)
    largest = max((float(np.abs(table).max(initial=0.0)) for table in tables), default=0.0)
    return _FARTHEST / max(largest, _FARTHEST)


def _line_search(
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
        allowed = point.value + _SLOPE_ROUNDING * (1 + abs(point.value))
        if up <= -0.5 * slope and found.value <= allowed:
            return found
        # Where the slope is 0, were it a straight line; never less than a tenth of the step.
        t *= max(0.1, min(0.5, slope / (slope - up)))
    return None


def _groups(problem: MomentMatching) -> list[slice]:
    """Where the coefficients of penalised terms are."""
    return [at for at in problem.coefficients.slices if problem.is_penalised[at].any()]


def _shrunk(problem: MomentMatching, point: Point, nothing: Table) -> Point:
    """Take a step towards the minimum of the quadratic model and the lengths together."""
    penalty = problem.groups.penalty
    target = _model_minimum(problem, point, problem.hessian() + nothing)
    direction = target - point.w
    before = point.value + penalty(point.w)
    promised = float(point.gradient @ direction) + penalty(target) - penalty(point.w)
    t = _farthest(problem, direction)
    for _ in range(60):
        found = problem.at(target if t == 1 else point.w + t * direction)
        allowed = before + 1e-4 * t * promised + _VALUE_ROUNDING * (1 + abs(before))
        if found.value + penalty(found.w) <= allowed:
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
    parts = _groups(problem)
    blocks = [np.linalg.eigh(hessian[at, at]) for at in parts]
    first = 0.0
    for sweep in range(_MOST_SWEEPS):
        check_stopped()
        change = -inverse @ slope[free]
        w[free] += change
        slope += hessian[:, free] @ change
        largest = float(np.abs(change).max(initial=0.0))
        for at, (values, vectors) in zip(parts, blocks, strict=True):
            pull = slope[at] - hessian[at, at] @ w[at]
            change = vectors @ _shortened(vectors.T @ pull, values, problem.groups.l1) - w[at]
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
    """Take a Newton step in the coefficients of the terms that are not 0."""
    hessian = problem.hessian() + nothing
    free = ~problem.groups.is_zero(point.w)
    for at in _groups(problem):
        if free[at].all():
            length = float(np.linalg.norm(point.w[at]))
            unit = point.w[at] / length
            hessian[at, at] += (
                problem.groups.l1 / length * (np.eye(len(unit)) - np.outer(unit, unit))
            )

    def with_lengths(found: Point) -> Point:
        gradient = np.where(free, found.gradient + problem.groups.pull(found.w), 0.0)
        return found._replace(
            value=found.value + problem.groups.penalty(found.w), gradient=gradient
        )

    here = with_lengths(point)
    active = np.flatnonzero(free)
    direction = np.zeros(len(point.w))
    direction[active] = _newton_direction(hessian[np.ix_(active, active)], here.gradient[active])
    found = _line_search(
        lambda w: with_lengths(problem.at(w)),
        here,
        direction,
        longest=_farthest(problem, direction),
    )
    return problem.at(point.w if found is None else found.w)
