"""Regressions with figures by configuration of labels, and the exchange of an arc between two.

A line says x = intercept + Σ slopes · others + sd · N(0, 1), each figure an array with one axis for
rows of evidence (of length 1 where they do not matter) and one per label, in the order of names.

The exchange (Lauritzen & Jensen 2001, Statistics and Computing 11:191, section 5.2; for one number
at a time as in Cowell 2005, JMLR 6:1517, section 5) turns x | u and y | x, u into y | u and
x | y, u. With x = m + d·u + t·ε₁ and y = a + b x + c·u + s·ε₂ it is one plane rotation,

    v = √(s² + b²t²),  κ = s/v,  σ = bt/v,  k = σt/v:
    y | u:     a + bm + (c + bd)·u,                        sd v,
    x | y, u:  κ²m + k (y − a) + (κ²d − kc)·u,             sd tκ,

which subtracts no variances, divides by nothing but v, and takes s = 0 and t = 0 as they come; with
v = 0, y says nothing of x. A slope that is rounding beside the terms that it is the sum of is 0, so
that what follows exactly from other numbers is known to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_EPSILON = float(np.finfo(np.float64).eps)
_CANCELLED = 8 * _EPSILON


@dataclass
class Line:
    """A number given numbers, for each row and each configuration of labels.

    `size` is what the terms of the intercept add up to regardless of their signs, by which rounding
    is told from a difference.
    """

    labels: tuple[int, ...]
    intercept: Array
    slopes: dict[int, Array]
    sd: Array
    size: Array


def spread(array: Array, labels: Sequence[int], over: Sequence[int]) -> Array:
    """Return an array over rows and labels as one over rows and more labels, without copying."""
    if len(labels) == len(over):
        return array
    sizes = iter(array.shape[1:])
    own = set(labels)
    return array.reshape([array.shape[0], *(next(sizes) if k in own else 1 for k in over)])


def picked(
    array: NDArray[Any], labels: Sequence[int], codes: Mapping[int, NDArray[np.int64]]
) -> tuple[tuple[int, ...], NDArray[Any]]:
    """Return the labels that are not observed, and the array over rows and these.

    `array` has one axis per label; `codes` has the levels of observed labels, by row.
    """
    left = tuple(k for k in labels if k not in codes)
    seen = [k for k in labels if k in codes]
    if not seen:
        return left, array[None]
    turned = array.transpose([labels.index(k) for k in (*seen, *left)])
    found: NDArray[Any] = turned[tuple(codes[k] for k in seen)]
    return left, found


def added(first: Array, second: Array) -> Array:
    """Return the sum of two slopes; 0 where it is only their rounding."""
    total: Array = first + second
    rounding = np.abs(total) <= _CANCELLED * (np.abs(first) + np.abs(second))
    if rounding.any():
        total = np.where(rounding, 0.0, total)
    return total


def exchange(x: Line, y: Line, number: int, child: int, value: Array | None) -> None:
    """Turn x | u and y | x, u into y | u and x | y, u; `value`, if y is observed, is that of y.

    `number` is x and `child` is y where slopes are on them. Both lines are changed in place.
    """
    over = tuple(sorted({*x.labels, *y.labels}))

    def of_x(array: Array) -> Array:
        return spread(array, x.labels, over)

    def of_y(array: Array) -> Array:
        return spread(array, y.labels, over)

    b, t, s = of_y(y.slopes.pop(number)), of_x(x.sd), of_y(y.sd)
    m, a = of_x(x.intercept), of_y(y.intercept)
    size_x, size_y = of_x(x.size), of_y(y.size)
    scaled = b * t
    v = np.hypot(s, scaled)
    safe = np.where(v > 0, v, 1.0)
    keep, sine = np.where(v > 0, s / safe, 1.0), scaled / safe
    shrink, gain = keep * keep, sine * (t / safe)
    on_x = {k: of_x(slope) for k, slope in x.slopes.items()}
    on_y = {k: of_y(slope) for k, slope in y.slopes.items()}
    new_x: dict[int, Array] = {}
    new_y: dict[int, Array] = {}
    for k in sorted({*on_x, *on_y}):
        if k not in on_y:
            new_x[k], new_y[k] = shrink * on_x[k], b * on_x[k]
        elif k not in on_x:
            new_x[k], new_y[k] = -gain * on_y[k], on_y[k]
        else:
            new_x[k] = added(shrink * on_x[k], -gain * on_y[k])
            new_y[k] = added(on_y[k], b * on_x[k])
    away, known = (-a, size_y) if value is None else (value - a, size_y + np.abs(value))
    if value is None:
        new_x[child] = gain
    x.intercept, x.size = shrink * m + gain * away, shrink * size_x + np.abs(gain) * known
    y.intercept, y.size = a + b * m, size_y + np.abs(b) * size_x
    x.sd, y.sd = t * keep, v
    x.slopes, y.slopes, x.labels, y.labels = new_x, new_y, over, over


def whole(line: Line, sizes: Sequence[int], rows: int) -> tuple[Array, dict[int, Array], Array]:
    """Return intercept, slopes and sd with all their rows and configurations written out."""
    shape = (rows, *(sizes[k] for k in line.labels))
    return (
        np.broadcast_to(line.intercept, shape),
        {k: np.broadcast_to(slope, shape) for k, slope in line.slopes.items()},
        np.broadcast_to(line.sd, shape),
    )
