"""Numbers eliminated from a network: weights of labels, and what is left of each number.

The weight of a configuration is the density of the observed numbers, one after the other given
those before. A number that follows exactly (standard deviation 0) has no density: it weighs 1 where
it is what it has to be (but for rounding, 1e-12 of its terms), and 0 elsewhere. If it is exactly so
in some configurations, those in which it would be so by chance are infinitely less probable, and
weigh 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer, listing
from gml.model.mixed.lines import Array, Line, exchange
from gml.model.mixed.ranked import RankedNetwork, along_rows
from gml.model.mixed.strong_order import StrongPlan
from gml.stopping import check_stopped

_ON_THE_POINT = 1e-12
_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


class Weight(NamedTuple):
    """ln of a weight of configurations: an array over rows and labels."""

    labels: tuple[int, ...]
    logs: Array


class Eliminated(NamedTuple):
    """The weights of labels that evidence on numbers gives, and the lines of the numbers.

    The line of a number that is not observed is its distribution given evidence, labels and numbers
    that come later in the order of elimination.
    """

    weights: list[Weight]
    lines: dict[int, Line]


def eliminate(
    net: RankedNetwork,
    plan: StrongPlan,
    values: Mapping[int, Array],
    codes: Mapping[int, NDArray[np.int64]],
) -> Eliminated:
    """Run a plan on rows of evidence: values of numbers, codes of labels.

    Rows in which a figure leaves the range of doubles weigh NaN: see `require_finite`.
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        lines = {k: net.line(k, values, codes) for k in plan.numbers}
        for number, child in plan.exchanges:
            check_stopped()
            x, y = lines[number], lines[child]
            value = along_rows(values[child], y.intercept) if child in values else None
            if value is not None:
                n_axes = len({*x.labels, *y.labels})
                value = value.reshape(-1, *([1] * n_axes))
            exchange(x, y, number, child, value)
        weights = [
            _weight(lines[k], along_rows(values[k], lines[k].intercept))
            for k in plan.numbers
            if k in values
        ]
    return Eliminated(weights, lines)


def _weight(line: Line, value: Array) -> Weight:
    """ln of the density of an observed number whose parents are known."""
    away = value - line.intercept
    varies = line.sd > 0
    sd = np.where(varies, line.sd, 1.0)
    z = away / sd
    logs = -0.5 * (z * z) - np.log(sd) - _HALF_LOG_TWO_PI
    if not varies.all():
        on_point = np.abs(away) <= _ON_THE_POINT * (line.size + np.abs(value))
        points = ~varies & on_point
        axes = tuple(range(1, points.ndim))
        exact = points.any(axis=axes, keepdims=True)
        by_chance = np.where(varies & ~exact, logs, -math.inf)
        logs = np.where(points, 0.0, by_chance)
    return Weight(line.labels, logs)


def require_finite(net: RankedNetwork, found: Eliminated) -> None:
    """Refuse figures beyond doubles."""
    for k, line in found.lines.items():
        arrays = (line.intercept, line.sd, *line.slopes.values())
        if not all(np.isfinite(array).all() for array in arrays):
            raise CannotAnswer(
                f"some means or deviations of {listing([net.names[k]])} given the evidence are "
                "beyond 1.8e308"
            )
    if any(np.isnan(weight.logs).any() for weight in found.weights):
        raise CannotAnswer("the density of the evidence is beyond 1.8e308")


def log_height(line: Line) -> Array:
    """ln of the largest density of a number given the others; 0 where it does not vary."""
    varies = line.sd > 0
    logs = -np.log(np.where(varies, line.sd, 1.0)) - _HALF_LOG_TWO_PI
    found: Array = np.where(varies, logs, 0.0)
    return found
