"""Integrals of exp(a polynomial) on an interval, a half line or the whole line.

The part where the density is above e⁻⁴⁵ of its largest value is cut into panels, and each has the
Gauss–Legendre rule of 16 points: 128 panels integrate polynomials of the degrees allowed here,
times such a density, to the last digits of a double.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

_PANELS, _POINTS = 128, 16
_DEPTH = 45.0
_SCAN = 4097
_MOST_DOUBLINGS = 200


@dataclass(frozen=True)
class Rule:
    """The edges of the panels, and points with their weights, one row per panel."""

    edges: Vector
    points: Vector
    weights: Vector


def polynomial(multipliers: Vector, powers: Vector, x: Vector) -> Vector:
    """Return Σ multiplier · xᵏ.

    Examples
    --------
    >>> polynomial(np.array([2.0, -1.0]), np.array([1, 3]), np.array([0.0, 2.0])).tolist()
    [0.0, -4.0]
    """
    found = np.zeros_like(x)
    for multiplier, power in zip(multipliers, powers, strict=True):
        found = found + multiplier * x ** int(power)
    return found


def rule_of(multipliers: Vector, powers: Vector, low: float, high: float) -> Rule:
    """Return points that integrate exp(Σ multiplier · xᵏ) times polynomials.

    At an end that is infinite the polynomial must go to −∞.

    Examples
    --------
    >>> found = rule_of(np.array([-0.5]), np.array([2]), -math.inf, math.inf)
    >>> total = (found.weights * np.exp(-0.5 * found.points**2)).sum()
    >>> bool(abs(total - math.sqrt(2 * math.pi)) < 1e-14)
    True
    """
    start, stop = _finite(multipliers, powers, low, high)
    for _ in range(4):
        grid = np.linspace(start, stop, _SCAN)
        values = polynomial(multipliers, powers, grid)
        kept = np.flatnonzero(values > values.max() - _DEPTH)
        # One more step on either side, within the support.
        first, last = max(kept[0] - 1, 0), min(kept[-1] + 1, len(grid) - 1)
        narrower = (grid[first], grid[last])
        if narrower[1] - narrower[0] > 0.5 * (stop - start):
            start, stop = narrower
            break
        start, stop = narrower
    edges = np.linspace(start, stop, _PANELS + 1)
    return rule_between(edges)


def rule_between(edges: Vector) -> Rule:
    """Return the points of panels that have these edges."""
    nodes, weights = np.polynomial.legendre.leggauss(_POINTS)
    half = np.diff(edges)[:, None] / 2
    middle = (edges[1:] + edges[:-1])[:, None] / 2
    return Rule(edges, middle + half * nodes, half * weights)


def _finite(multipliers: Vector, powers: Vector, low: float, high: float) -> tuple[float, float]:
    """Return ends beyond which nothing is left of the density."""
    start = low if math.isfinite(low) else min(-1.0, high - 1.0)
    stop = high if math.isfinite(high) else max(1.0, low + 1.0)
    for _ in range(_MOST_DOUBLINGS):
        grid = np.linspace(start, stop, _SCAN)
        values = polynomial(multipliers, powers, grid)
        top = values.max()
        is_low_done = math.isfinite(low) or values[0] < top - _DEPTH
        is_high_done = math.isfinite(high) or values[-1] < top - _DEPTH
        if is_low_done and is_high_done:
            break
        width = stop - start
        if not is_low_done:
            start -= width
        if not is_high_done:
            stop += width
    return start, stop
