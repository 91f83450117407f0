"""Ways down by gradients alone, for functions whose second derivatives cost too much.

What is minimised is a smooth convex function, plus l1 times the lengths of groups of its variables.
The smooth part is minimised by L-BFGS (Nocedal 1980; Nocedal & Wright 2006, algorithm 7.5). A step
along a direction is found by the slopes alone: a convex function has fallen where it still falls,
and near the minimum slopes keep their digits when differences of values have lost theirs (the
approximate conditions of Hager & Zhang 2005).

With l1, proximal gradient steps with momentum (Beck & Teboulle 2009, with the restarts of
O'Donoghue & Candès 2015) choose the groups that are 0, exactly; the other lengths are smooth where
they are, and L-BFGS minimises over those groups until one of them shrinks to 0 or the conditions of
a minimum hold for all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml.model.undirected.coefficients import Vector
from gml.model.undirected.groups import Groups
from gml.progress import Deadline, reporter

Function = Callable[[Vector], tuple[float, Vector]]
"""The value and the gradient at a point."""
Inverse = Callable[[Vector], Vector]
"""About the inverse of the second derivatives, times a vector."""

_MEMORY = 30
_MOST_TRIES = 30
# A slope is flat enough at this share of the first one.
_FLAT = 0.9
_ROUNDING = 1e-13
# No step changes a variable by more: one towards infinity shows as many that do not get shorter.
_LONGEST = 0.5
_PROXIMAL_STEPS = 25
_MOST_ROUNDS = 200


@dataclass(frozen=True)
class Descent:
    """Where a minimisation ended."""

    point: Vector
    gradient: float
    """How far from 0 the (sub)gradient still is, at most, in any coordinate, by its unit."""
    iterations: int
    converged: bool


def minimise(
    function: Function,
    start: Vector,
    *,
    groups: Groups | None = None,
    inverse: Inverse | None = None,
    tolerance: float = 1e-9,
    units: Vector | float = 1.0,
    max_iterations: int = 5000,
    deadline: Deadline | None = None,
) -> Descent:
    """Minimise a convex function; see the module.

    It ends where no derivative is larger than the tolerance times its unit; groups have none.

    `inverse` must be symmetric and positive, and is used where there are no groups. The steps are
    in the span of `inverse` times gradients: where the minimum is not unique, what is found from 0
    is the shortest point by the metric of which `inverse` is the inverse.

    Examples
    --------
    >>> def parabola(x):
    ...     return float(((x - 3) ** 2).sum()), 2 * (x - 3)
    >>> minimise(parabola, np.zeros(2)).point.round(9).tolist()
    [3.0, 3.0]
    >>> minimise(parabola, np.ones(2), groups=Groups(10.0, np.array([0, -1]))).point.tolist()
    [0.0, 3.0]
    """
    deadline = deadline or Deadline()
    if groups is None or groups.l1 == 0:
        return _smooth(
            function, start, tolerance, max_iterations, deadline, inverse=inverse, units=units
        )
    return _grouped(function, start, groups, tolerance, max_iterations, deadline)


def _smooth(
    function: Function,
    start: Vector,
    tolerance: float,
    max_iterations: int,
    deadline: Deadline,
    *,
    inverse: Inverse | None = None,
    units: Vector | float = 1.0,
    leave: Callable[[Vector, Vector], bool] = lambda before, after: False,
) -> Descent:
    """Minimise by L-BFGS, until `leave` says so of two points in a row."""
    point = start.copy()
    value, gradient = function(point)
    moves: deque[tuple[Vector, Vector, float]] = deque(maxlen=_MEMORY)
    done = 0
    while (largest := float((np.abs(gradient) / units).max(initial=0.0))) > tolerance:
        if done >= max_iterations or deadline.passed:
            return Descent(point, largest, done, False)
        direction = -_times_inverse(moves, gradient, inverse or np.array)
        found = _step(function, point, value, gradient, direction)
        if found is None and moves:
            # What was learned of the curvature misleads: begin again with the gradient.
            moves.clear()
            continue
        if found is None:
            return Descent(point, largest, done, False)
        new, value, new_gradient = found
        moved, change = new - point, new_gradient - gradient
        product = float(moved @ change)
        if product > 1e-14 * float(moved @ moved):
            moves.append((moved, change, 1 / product))
        done += 1
        reporter().advance("fitting", done, None, is_paced=False)
        left = leave(point, new)
        point, gradient = new, new_gradient
        if left:
            largest = float((np.abs(gradient) / units).max(initial=0.0))
            return Descent(point, largest, done, False)
    return Descent(point, largest, done, True)


def _times_inverse(
    moves: deque[tuple[Vector, Vector, float]], gradient: Vector, inverse: Inverse
) -> Vector:
    """The inverse of the curvature, as the moves so far show it, times the gradient."""
    found = gradient.copy()
    weights = []
    for moved, change, scale in reversed(moves):
        weights.append(scale * float(moved @ found))
        found -= weights[-1] * change
    found = inverse(found)
    if moves:
        _, change, scale = moves[-1]
        found /= scale * float(change @ inverse(change))
    for (moved, change, scale), weight in zip(moves, reversed(weights), strict=True):
        found += (weight - scale * float(change @ found)) * moved
    return found


def _step(
    function: Function, point: Vector, value: float, gradient: Vector, direction: Vector
) -> tuple[Vector, float, Vector] | None:
    """Go along a direction to where the slope is flat; None if it leads nowhere."""
    slope = float(gradient @ direction)
    if not slope < 0:
        return None
    low, low_slope, high, high_slope = 0.0, slope, np.inf, 0.0
    longest = _LONGEST / float(np.abs(direction).max())
    step = min(1.0, longest)
    room = _ROUNDING * (abs(value) + 1)
    for _ in range(_MOST_TRIES):
        new = point + step * direction
        new_value, new_gradient = function(new)
        new_slope = float(new_gradient @ direction)
        if not np.isfinite(new_value) or not np.isfinite(new_slope):
            high, high_slope = step, np.inf
            step = (low + high) / 2
            continue
        if abs(new_slope) <= -_FLAT * slope and new_value <= value + room:
            return new, new_value, new_gradient
        if new_slope < 0:
            low, low_slope = step, new_slope
        else:
            high, high_slope = step, new_slope
        if high == np.inf and step == longest:
            # It has fallen as far as one step may go.
            return new, new_value, new_gradient
        if high == np.inf:
            step = min(4 * step, longest)
        elif high_slope == np.inf:
            step = (low + high) / 2
        else:
            share = low_slope / (low_slope - high_slope)
            step = low + min(max(share, 0.1), 0.9) * (high - low)
    return None


def _grouped(
    function: Function,
    start: Vector,
    groups: Groups,
    tolerance: float,
    max_iterations: int,
    deadline: Deadline,
) -> Descent:
    point, step, done, residual = start, 0.5, 0, np.inf
    for _ in range(_MOST_ROUNDS):
        point, step, gradient = _proximal(function, point, groups, step)
        done += _PROXIMAL_STEPS
        residual = groups.residual(point, gradient)
        if residual <= tolerance or done >= max_iterations or deadline.passed:
            break
        free = ~groups.is_zero(point)
        kept = _smooth(
            _on_free(function, point, groups, free),
            point[free],
            tolerance,
            max_iterations - done,
            deadline,
            leave=_shrinking(groups, free, step),
        )
        point = point.copy()
        point[free] = kept.point
        done += kept.iterations
        residual = groups.residual(point, function(point)[1])
        if residual <= tolerance:
            break
    return Descent(point, residual, done, residual <= tolerance)


def _proximal(
    function: Function, point: Vector, groups: Groups, step: float
) -> tuple[Vector, float, Vector]:
    """Take proximal gradient steps with momentum; the step gets as short as it has to be."""
    ahead, momentum = point, 1.0
    for _ in range(_PROXIMAL_STEPS):
        value, gradient = function(ahead)
        while True:
            new = groups.shrunk(ahead - step * gradient, step)
            moved = new - ahead
            bound = value + float(gradient @ moved) + float(moved @ moved) / (2 * step)
            if function(new)[0] <= bound + _ROUNDING * (abs(value) + 1) or step < 1e-12:
                break
            step /= 2
        if float((ahead - new) @ (new - point)) > 0:
            momentum = 1.0
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + (momentum - 1) / following * (new - point)
        point, momentum = new, following
    return point, step, function(point)[1]


def _on_free(
    function: Function, point: Vector, groups: Groups, free: NDArray[np.bool_]
) -> Function:
    """The function and the lengths of the groups that are not 0, of their variables alone."""
    whole = point.copy()

    def inner(part: Vector) -> tuple[float, Vector]:
        whole[free] = part
        value, gradient = function(whole)
        return value + groups.penalty(whole), (gradient + groups.pull(whole))[free]

    return inner


def _shrinking(
    groups: Groups, free: NDArray[np.bool_], step: float
) -> Callable[[Vector, Vector], bool]:
    """Whether a group is about to be 0: it turned round, or got shorter than a proximal step."""
    of = groups.of[free]
    inside = of >= 0
    n_groups = int(groups.of.max(initial=-1)) + 1

    def found(before: Vector, after: Vector) -> bool:
        along = np.bincount(of[inside], weights=(before * after)[inside], minlength=n_groups)
        squares = np.bincount(of[inside], weights=after[inside] ** 2, minlength=n_groups)
        present = np.bincount(of[inside], minlength=n_groups) > 0
        length = np.sqrt(squares)
        falling = length < np.sqrt(
            np.bincount(of[inside], weights=before[inside] ** 2, minlength=n_groups)
        )
        return bool(
            (present & ((along <= 0) | (falling & (length < 0.01 * step * groups.l1)))).any()
        )

    return found
