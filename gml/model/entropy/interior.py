"""Whether the dual of maximum entropy has its minimum where a descent ended, or at infinity.

The dual has a minimum if and only if some distribution that meets the constraints gives every
possible cell a probability above 0 (Barndorff-Nielsen 1978, theorem 9.13), however small. A linear
programme cannot tell 1e-10 from 0, but Newton's steps can: towards a minimum they become smaller
and smaller, towards infinity each of them changes some exponent by about 1, for ever.

What rounding leaves of the gradient is the limit. An error e of the gradient moves the minimum by
H⁻¹ e, so that there is nothing to be said where |H⁻¹| e is not small. The rounding of an
expectation is relative to the sum of its absolute parts: that of P(A, B) − c P(B) is small where
P(B) is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gml.model.entropy.descent import free_multipliers, newton_direction, step_along
from gml.model.entropy.dual import Point, TreeDual
from gml.progress import Deadline
from gml.stopping import check_stopped

Vector = NDArray[np.float64]

# Exponents are known as well as this, or as rounding lets them be.
_SETTLED = 1e-9
_VAGUE = 0.01
_ROUNDING = 16 * np.finfo(float).eps
_FEWEST_STEPS, _MOST_STEPS = 8, 60
# Directions times cells: some seconds.
_MOST_PRODUCTS = 100_000_000
MOST_MULTIPLIERS = 2000


def settled(dual: TreeDual, point: Point, deadline: Deadline) -> Point | None:
    """Return the minimum near a point; None if it lies at infinity, or rounding hides which.

    Examples
    --------
    >>> from gml.model.entropy.constraints import Conditional, Constraints
    >>> from gml.model.entropy.problem import problem_of
    >>> rare = Conditional({"A": "y"}, {}, "=", 1e-12)
    >>> dual = TreeDual(problem_of(Constraints((rare,), {"A": ("n", "y")})))
    >>> found = settled(dual, dual.at(np.array([-20.0])), Deadline())
    >>> round(float(found.x[0]), 6) == round(float(np.log(1e-12)), 6)
    True
    """
    if dual.size > MOST_MULTIPLIERS:
        return None
    left = _MOST_PRODUCTS // max(1, dual.size * dual.tree.cells)
    for _ in range(min(_MOST_STEPS, max(_FEWEST_STEPS, left))):
        check_stopped()
        free = _once(dual, free_multipliers(dual, point))
        if deadline.passed or not len(free):
            return point if not len(free) else None
        hessian = dual.regular_hessian(point)[np.ix_(free, free)]
        direction = np.zeros_like(point.x)
        direction[free] = newton_direction(hessian, point.gradient[free])
        size = dual.largest_exponent(direction)
        if size <= _VAGUE:
            vagueness = _vagueness(dual, point, hessian, free)
            if size <= max(_SETTLED, vagueness):
                return point if vagueness <= _VAGUE else None
        following = step_along(dual, point, direction)
        if following is None:
            return None
        point = following
    return None


def _once(dual: TreeDual, free: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the multipliers without those of bounds that are alike, but for one of each kind."""
    kept = set(free.tolist())
    for group in dual.alike:
        kept -= set([k for k in group.which.tolist() if k in kept][1:])
    return np.array(sorted(kept), dtype=np.intp)


def _vagueness(
    dual: TreeDual, point: Point, hessian: NDArray[np.float64], free: NDArray[np.intp]
) -> float:
    """Return how much of an exponent the rounding of the gradient may decide."""
    scale = np.sqrt(np.maximum(np.diag(hessian), np.finfo(float).tiny))
    try:
        inverse = np.linalg.inv(hessian / np.outer(scale, scale))
    except np.linalg.LinAlgError:
        return np.inf
    errors = _ROUNDING * dual.magnitudes(point)[free]
    moved = np.zeros_like(point.x)
    moved[free] = np.abs(inverse / np.outer(scale, scale)) @ errors
    return max(float(moved.max()), dual.largest_exponent(moved))
