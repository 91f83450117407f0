"""Mixtures of normal distributions: moments, densities and quantiles, for many rows at once.

Quantiles are roots of the distribution function by Newton's method within a bracket that halves
where a step leaves it: F(low) < p ≤ F(high) at all times, until the two are neighbours in floating
point or a step no longer moves. Above the median the upper tail is used, so that p near 1 keeps its
digits. A component of deviation 0 is a point; the quantile is the smallest x with F(x) ≥ p.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.errors import CannotAnswer, UsageError, parameter
from gml.model.notebook_table import NotebookTable

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]

_STEPS = 400
_SETTLED = 1e-15
_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
SHOWN_QUANTILES = (0.05, 0.5, 0.95)


class Components(NamedTuple):
    """Mixtures, rows × components; where a row has fewer, the weight of the others is 0."""

    weight: Array
    mean: Array
    sd: Array


def upper_tail(z: Array) -> Array:
    """P(Z ≥ z) of standard normal variables, accurate in both tails."""
    square = np.ascontiguousarray((z * z).reshape(-1))
    half = 0.5 * np.exp(kernel.active().log_chi2_upper(square, np.ones(len(square))))
    half = half.reshape(z.shape)
    found: Array = np.where(z >= 0, half, 1.0 - half)
    return found


def _tails(x: Array, mean: Array, sd: Array, *, upper: bool) -> Array:
    """P(X ≤ x) of each component, or P(X > x); points count at themselves."""
    point = sd == 0
    away = x[:, None] - mean
    z = away / np.where(point, 1.0, sd)
    tails = upper_tail(z if upper else -z)
    if point.any():
        at = away < 0 if upper else away >= 0
        tails = np.where(point, at.astype(np.float64), tails)
    return tails


def _row_sums(products: Array) -> Array:
    """Sums of rows from left to right, so that zeros at the end of a row change nothing."""
    found: Array = np.add.accumulate(products, axis=1)[:, -1]
    return found


def mixture_quantiles(p: float, weight: Array, mean: Array, sd: Array) -> Array:
    """Return the p-quantile of each row of components.

    Examples
    --------
    >>> half = np.array([[0.5, 0.5]])
    >>> found = mixture_quantiles(0.5, half, np.array([[-1.0, 3.0]]), np.array([[1.0, 1.0]]))
    >>> round(float(found[0]), 12)
    1.0
    """
    if not 0 < p < 1:
        raise UsageError(f"a quantile is at a probability between 0 and 1, not {p}")
    z = float(kernel.active().normal_quantile(np.array([p]))[0])
    matters = weight > 0
    ends = mean + z * sd
    low = np.where(matters, ends, math.inf).min(axis=1)
    high = np.where(matters, ends, -math.inf).max(axis=1)
    # What rounding did to the ends must not exclude the root.
    slack = 4 * np.spacing(np.maximum(np.abs(low), np.abs(high)))
    low, high = low - slack, high + slack
    x = _row_sums(weight * np.where(matters, ends, 0.0))
    found: Array = high.copy()
    active = np.flatnonzero(low < high)
    for _ in range(_STEPS):
        if not len(active):
            break
        w, m, s = weight[active], mean[active], sd[active]
        at = np.clip(x[active], low[active], high[active])
        reached, slope = _reached(p, at, w, m, s)
        short = reached < 0
        low[active] = np.where(short, np.maximum(low[active], at), low[active])
        high[active] = np.where(short, high[active], np.minimum(high[active], at))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            step = at - reached / slope
        middle = low[active] + 0.5 * (high[active] - low[active])
        inside = (step > low[active]) & (step < high[active])
        x[active] = np.where(inside, step, middle)
        span = np.maximum(np.abs(low[active]), np.abs(high[active]))
        still = np.abs(step - at) <= _SETTLED * np.abs(at)
        exact = np.abs(reached) <= _SETTLED * min(p, 1 - p)
        settled = inside & (still | exact) & (slope > 0)
        closed = (middle <= low[active]) | (middle >= high[active]) | (span == 0)
        found[active] = np.where(closed, high[active], np.where(settled, x[active], found[active]))
        active = active[~(settled | closed)]
    found[active] = high[active]
    return found


def _reached(p: float, x: Array, weight: Array, mean: Array, sd: Array) -> tuple[Array, Array]:
    """F(x) − p, and the density there."""
    if p <= 0.5:
        reached = _row_sums(weight * _tails(x, mean, sd, upper=False)) - p
    else:
        reached = (1 - p) - _row_sums(weight * _tails(x, mean, sd, upper=True))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        z = (x[:, None] - mean) / sd
        heights = np.where(sd > 0, np.exp(-0.5 * z * z) / (sd * math.sqrt(2 * math.pi)), 0.0)
    return reached, _row_sums(weight * heights)


def mixture_moments(weight: Array, mean: Array, sd: Array) -> tuple[Array, Array]:
    """Return the mean and the standard deviation of each row of components."""
    centre = _row_sums(weight * mean)
    spread: Array = np.where(weight > 0, np.hypot(sd, mean - centre[:, None]), 0.0)
    largest = spread.max(axis=1, initial=0.0)
    safe = np.where(largest > 0, largest, 1.0)
    deviation: Array = safe * np.sqrt(_row_sums(weight * (spread / safe[:, None]) ** 2))
    return centre, deviation


def mixture_log_density(x: Array, weight: Array, mean: Array, sd: Array) -> Array:
    """Return ln of the density at one x per row; infinite at a point, −infinite beside it."""
    point = sd == 0
    with np.errstate(divide="ignore", over="ignore"):
        safe = np.where(point, 1.0, sd)
        z = (x[:, None] - mean) / safe
        logs = np.log(weight) - 0.5 * z * z - np.log(safe) - _HALF_LOG_TWO_PI
    if point.any():
        here = point & (x[:, None] == mean) & (weight > 0)
        logs = np.where(here, math.inf, np.where(point, -math.inf, logs))
    top = logs.max(axis=1)
    finite = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore", over="ignore"):
        total: Array = finite + np.log(_row_sums(np.exp(logs - finite[:, None])))
    return total


@dataclass(frozen=True, eq=False, repr=False)
class NumberDistribution(NotebookTable):
    """The distribution of a number given evidence: a mixture over configurations of labels.

    Where the mixture does not fit into memory, `weight` is None, and only mean and standard
    deviation are known; `reason` says why.

    Examples
    --------
    >>> two = NumberDistribution("x", ("c",), (("a",), ("b",)), np.array([0.5, 0.5]),
    ...     np.array([-1.0, 1.0]), np.array([0.6, 0.6]))
    >>> round(two.mean, 12), round(two.sd, 6), round(two.quantile(0.95), 6)
    (0.0, 1.16619, 1.768938)
    """

    name: str
    labels: tuple[str, ...]
    """The labels whose configurations the components stand for."""
    configurations: tuple[tuple[str, ...], ...]
    weight: Array | None
    component_mean: Array
    component_sd: Array
    moments: tuple[float, float] | None = None
    reason: str = ""

    @property
    def mean(self) -> float:
        """The mean."""
        return self._moments()[0]

    @property
    def sd(self) -> float:
        """The standard deviation."""
        return self._moments()[1]

    def _moments(self) -> tuple[float, float]:
        if self.moments is not None:
            return self.moments
        mean, sd = mixture_moments(*self._components())
        return float(mean[0]), float(sd[0])

    def _components(self) -> tuple[Array, Array, Array]:
        if self.weight is None:
            raise CannotAnswer(self.reason)
        return self.weight[None], self.component_mean[None], self.component_sd[None]

    def quantile(self, p: float) -> float:
        """Return the smallest x with P(X ≤ x) ≥ p."""
        return float(mixture_quantiles(p, *self._components())[0])

    def interval(self, level: float) -> tuple[float, float]:
        """Return the interval of this probability with equal tails."""
        check_level(level)
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    def cdf(self, x: float) -> float:
        """P(X ≤ x)."""
        weight, mean, sd = self._components()
        return float(_row_sums(weight * _tails(np.array([x]), mean, sd, upper=False))[0])

    def log_density(self, x: float) -> float:
        """ln of the density at x."""
        return float(mixture_log_density(np.array([x], dtype=np.float64), *self._components())[0])

    def rows(self) -> list[dict[str, object]]:
        """One row per component: the levels that it stands for, weight, mean and sd."""
        columns = {}
        for name, figures in zip(("weight", "mean", "sd"), self._components(), strict=True):
            while name in self.labels:
                name += "_"
            columns[name] = figures[0].tolist()
        return [
            dict(zip(self.labels, levels, strict=True))
            | {name: figures[k] for name, figures in columns.items()}
            for k, levels in enumerate(self.configurations)
        ]

    def to_frame(self) -> pd.DataFrame:
        """Return the components as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def __repr__(self) -> str:
        return f"NumberDistribution({self.name!r}: mean {self.mean:.6g}, sd {self.sd:.6g})"


def check_level(level: float) -> None:
    """Refuse a level of an interval that is not a probability."""
    if not 0 < level < 1:
        raise UsageError(f"{parameter('interval')} must be between 0 and 1, not {level}")


def quantile_name(p: float) -> str:
    """Return the heading of a quantile: 5%, 97.5%."""
    return f"{100 * p:.6g}%"


def bounds_of(level: float) -> tuple[float, float]:
    """Return the two probabilities that an interval with equal tails lies between."""
    check_level(level)
    return (1 - level) / 2, (1 + level) / 2
