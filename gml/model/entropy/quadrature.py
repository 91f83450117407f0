"""Integrals of exp(a polynomial) on an interval, a half line or the whole line.

Panels are halved until the exponent changes by at most 2 within each that counts, however thin the
layers are in which the mass lies; each has the Gauss–Legendre rule of 16 points. How much the
exponent may change within a panel is bounded by its Taylor coefficients around the middle. A panel
does not count if it has less than e⁻⁴⁵ of the mass of the heaviest one, by these bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

_POINTS = 16
_DEPTH = 45.0
_CHANGE = 2.0
_FIRST_PANELS = 8
_MOST_HALVINGS = 150
# Beyond it, twelfth powers are no doubles.
_MOST_DOUBLINGS = 80


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
    dense = np.zeros(int(powers.max(initial=0)) + 1)
    dense[powers.astype(np.int64)] = multipliers
    edges = np.linspace(*_finite(dense, low, high), _FIRST_PANELS + 1)
    starts, stops = edges[:-1], edges[1:]
    with np.errstate(over="ignore", invalid="ignore"):
        middles, changes = _around(dense, starts, stops)
        for _ in range(_MOST_HALVINGS):
            counts = _counts(middles, changes, stops - starts)
            inner = (starts + stops) / 2
            split = counts & ~(changes <= _CHANGE) & (starts < inner) & (inner < stops)
            if not split.any():
                break
            new_starts = np.concatenate([starts[split], inner[split]])
            new_stops = np.concatenate([inner[split], stops[split]])
            new_middles, new_changes = _around(dense, new_starts, new_stops)
            starts = np.concatenate([starts[~split], new_starts])
            order = np.argsort(starts)
            starts = starts[order]
            stops = np.concatenate([stops[~split], new_stops])[order]
            middles = np.concatenate([middles[~split], new_middles])[order]
            changes = np.concatenate([changes[~split], new_changes])[order]
        kept = np.flatnonzero(_counts(middles, changes, stops - starts))
    first, last = int(kept[0]), int(kept[-1])
    return rule_between(np.append(starts[first : last + 1], stops[last]))


def _around(dense: Vector, starts: Vector, stops: Vector) -> tuple[Vector, Vector]:
    """Return a polynomial in the middle of panels, and a bound of its change towards their ends."""
    middle, half = (starts + stops) / 2, (stops - starts) / 2
    taylor = [np.full_like(middle, coefficient) for coefficient in dense]
    for lowest in range(len(dense) - 1):
        for k in range(len(dense) - 2, lowest - 1, -1):
            taylor[k] = taylor[k] + middle * taylor[k + 1]
    change = np.zeros_like(middle)
    for coefficient in taylor[:0:-1]:
        change = (change + np.abs(coefficient)) * half
    return taylor[0], change


def _counts(middles: Vector, changes: Vector, widths: Vector) -> NDArray[np.bool_]:
    """Whether panels have a share of the mass; those whose bounds are no numbers do."""
    logs = np.log(widths)
    least = middles - changes + logs
    heaviest = np.max(least, initial=-math.inf, where=~np.isnan(least))
    found: NDArray[np.bool_] = ~(middles + changes + logs < heaviest - _DEPTH)
    return found


def rule_between(edges: Vector) -> Rule:
    """Return the points of panels that have these edges."""
    nodes, weights = np.polynomial.legendre.leggauss(_POINTS)
    half = np.diff(edges)[:, None] / 2
    middle = (edges[1:] + edges[:-1])[:, None] / 2
    return Rule(edges, middle + half * nodes, half * weights)


def _finite(dense: Vector, low: float, high: float) -> tuple[float, float]:
    """Return ends beyond which nothing is left of the density: there its highest power rules."""
    if math.isfinite(low) and math.isfinite(high):
        return low, high
    finite = next((end for end in (low, high) if math.isfinite(end)), 0.0)
    sizes = np.abs(dense)
    degree = int(np.max(np.flatnonzero(sizes), initial=0))
    reference = _DEPTH + float(sizes @ np.abs(finite) ** np.arange(len(sizes)))
    far = 2.0 * max(1.0, abs(finite))
    for _ in range(_MOST_DOUBLINGS):
        terms = sizes[: degree + 1] * far ** np.arange(degree + 1)
        if terms[-1] > 2 * (terms[:-1].sum() + reference):
            break
        far *= 2
    return (low if math.isfinite(low) else -far), (high if math.isfinite(high) else far)
