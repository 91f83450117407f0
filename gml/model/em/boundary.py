"""How large a probability may be that is 0 at the maximum of the likelihood.

It has no standard error. With g the slope of the objective there, which is negative, the likelihood
falls like exp(gθ), and the interval ends where it is down to 1 − level. Rows that are complete have
g = −n: 3/n for 95 %, the rule of three. One that is 1 is treated likewise.

The slope is that of what was seen, by Fisher's identity: if θ grows at the cost of the others in
its row, the objective changes by n(θ)/θ − N per unit, n(θ) the count then expected of it and N that
of its row. So rows that are expected somewhere without having been seen there bound nothing.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gml.model.network import NEVER_EXPECTED

Vector = NDArray[np.float64]

_OFF_BOUNDARY = 1e-3
# Off 0 by so little that nothing else changes.
_LIFT = 1e-9


def bound_at_zero(fall: Vector | float, level: float) -> Vector:
    """Return the upper bound, where the logarithm of the likelihood falls so fast.

    Examples
    --------
    >>> bound_at_zero(np.array([100.0, 0.0]), 0.95).round(4).tolist()
    [0.03, 1.0]
    """
    with np.errstate(divide="ignore"):
        found: Vector = np.minimum(1.0, -math.log(1 - level) / np.asarray(fall, dtype=np.float64))
    return found


def lifted(table: Vector) -> Vector:
    """Return a table with what is 0 so little above it that counts say how fast they grow."""
    return np.maximum(table, _LIFT)


def slopes_at_zero(
    table: Vector, counts: Vector, raised: Vector, at_zero: NDArray[np.bool_]
) -> Vector:
    """How the objective changes where a probability at 0 grows; NaN elsewhere.

    `counts` are expected at the table, `raised` with all tables lifted.
    """
    slopes = raised / lifted(table) - counts.sum(axis=1, keepdims=True)
    found: Vector = np.where(at_zero, np.minimum(slopes, 0.0), np.nan)
    return found


def off_boundary(table: Vector) -> Vector:
    """Return a table moved a little inside: a climb leaves what is 0 at 0."""
    found: Vector = (1 - _OFF_BOUNDARY) * table + _OFF_BOUNDARY / table.shape[1]
    return found


def where_expected(table: Vector, counts: Vector, n: float) -> Vector:
    """Return a table with NaN in the rows that next to none of n rows are expected in."""
    found = table.copy()
    found[counts.sum(axis=1) <= NEVER_EXPECTED * n] = np.nan
    return found
