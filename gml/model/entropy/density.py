"""A density ∝ exp(Σ multiplier · xᵏ): that of largest entropy with given moments E xᵏ.

The uniform, exponential, normal and truncated exponential and normal densities are of this kind
(Cover & Thomas 2006, section 12.1). density_fit.py finds the multipliers. Inside, the variable is
u = (x − centre) / scale, in which the numbers are of the size of 1.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gml.errors import UsageError, parameter
from gml.graph.provenance import Provenance
from gml.model.entropy.quadrature import Rule, polynomial, rule_between, rule_of
from gml.stopping import check_stopped

if TYPE_CHECKING:
    import pandas as pd

Vector = NDArray[np.float64]

_BLOCK = 1 << 14
_TABLE_POINTS = 201
# Beyond this share at either end, a table of an unbounded density stops.
_TAIL = 1e-4
_MOST_STEPS = 100
_SAME = 2e-15


@dataclass(frozen=True, repr=False)
class Density:
    """The density of one numeric variable.

    Examples
    --------
    >>> from gml.model.entropy.constraints import NumericMoments
    >>> from gml.model.entropy.density_fit import fit_density
    >>> wait = fit_density(NumericMoments("wait", (0.0, math.inf), {1: 2.0}))
    >>> round(wait.multipliers[1], 12), round(wait.entropy, 9)
    (-0.5, 1.693147181)
    >>> wait.quantile([0.5, 0.95]).round(9).tolist()
    [1.386294361, 5.991464547]
    >>> wait
    Density('wait' on [0, inf]: mean 2, variance 4, entropy 1.69315)
    """

    name: str
    support: tuple[float, float]
    powers: tuple[int, ...]
    scaled: tuple[float, ...]
    """The multipliers of uᵏ."""
    centre: float
    scale: float
    given: Mapping[int, float]
    """The moments E xᵏ asked for."""
    residual: float
    """The largest difference of a moment of u from the one asked for."""
    iterations: int = 0
    learning: Provenance = field(default_factory=Provenance)

    def __repr__(self) -> str:
        low, high = self.support
        return (
            f"Density({self.name!r} on [{low:g}, {high:g}]: mean {self.mean:.6g}, variance "
            f"{self.variance:.6g}, entropy {self.entropy:.6g})"
        )

    @functools.cached_property
    def _ends(self) -> tuple[float, float]:
        low, high = self.support
        return (low - self.centre) / self.scale, (high - self.centre) / self.scale

    @functools.cached_property
    def _rule(self) -> Rule:
        return rule_of(np.array(self.scaled), np.array(self.powers), *self._ends)

    def _exponent(self, u: Vector) -> Vector:
        return polynomial(np.array(self.scaled), np.array(self.powers), u)

    @functools.cached_property
    def _log_z(self) -> float:
        """ln of the integral over u."""
        exponents = self._exponent(self._rule.points)
        top = float(exponents.max())
        return top + math.log(float((self._rule.weights * np.exp(exponents - top)).sum()))

    @functools.cached_property
    def multipliers(self) -> dict[int, float]:
        """The multipliers of xᵏ: ln of the density is their sum, up to a constant."""
        found = dict.fromkeys(range(1, max(self.powers, default=0) + 1), 0.0)
        for power, multiplier in zip(self.powers, self.scaled, strict=True):
            for k in range(1, power + 1):
                found[k] += (
                    multiplier
                    * math.comb(power, k)
                    * (-self.centre) ** (power - k)
                    / self.scale**power
                )
        return {k: found[k] for k in self.powers}

    def expectation(self, power: int) -> float:
        """Return E xᵏ."""
        x = self.centre + self.scale * self._rule.points
        return float((self._masses * x**power).sum())

    @functools.cached_property
    def _masses(self) -> Vector:
        """The probabilities around the points of the rule."""
        found: Vector = self._rule.weights * np.exp(self._exponent(self._rule.points) - self._log_z)
        # Beside large exponents ln Z has lost the digits that make the sum 1.
        found /= found.sum()
        return found

    @property
    def mean(self) -> float:
        """E x."""
        return self.centre + self.scale * float((self._masses * self._rule.points).sum())

    @property
    def variance(self) -> float:
        """E (x − E x)²."""
        u = self._rule.points
        mean = float((self._masses * u).sum())
        return self.scale**2 * float((self._masses * (u - mean) ** 2).sum())

    @functools.cached_property
    def entropy(self) -> float:
        """The differential entropy, −E ln density, in nats."""
        logs = self._exponent(self._rule.points) - self._log_z
        return math.log(self.scale) - float((self._masses * logs).sum())

    def density(self, x: Sequence[float] | Vector) -> Vector:
        """Return the density at some points; 0 outside of the support."""
        at = np.asarray(x, dtype=np.float64)
        u = (at - self.centre) / self.scale
        inside = (at >= self.support[0]) & (at <= self.support[1])
        logs = self._exponent(np.where(inside, u, self._rule.points[0, 0])) - self._log_z
        found: Vector = np.where(inside, np.exp(logs) / self.scale, 0.0)
        return found

    @functools.cached_property
    def _cumulative(self) -> Vector:
        """P(u ≤ edge) for the edges of the panels."""
        sums = np.concatenate([[0.0], np.cumsum(self._masses.sum(axis=1))])
        found: Vector = sums / sums[-1]
        return found

    def cumulative(self, x: Sequence[float] | Vector) -> Vector:
        """Return P(X ≤ x) at some points."""
        edges = self._rule.edges
        u = np.clip(
            (np.asarray(x, dtype=np.float64) - self.centre) / self.scale, edges[0], edges[-1]
        )
        panel = np.clip(np.searchsorted(edges, u, side="right") - 1, 0, len(edges) - 2)
        found: Vector = np.clip(self._cumulative[panel] + self._within(panel, u), 0.0, 1.0)
        return found

    def _within(self, panel: NDArray[np.int64], u: Vector) -> Vector:
        """Return the probability from the lower edge of each panel to a point in it."""
        start = self._rule.edges[panel]
        unit = rule_between(np.array([0.0, 1.0]))
        points = start[:, None] + (u - start)[:, None] * unit.points[0]
        heights = np.exp(self._exponent(points) - self._log_z)
        found: Vector = (u - start) * (heights * unit.weights[0]).sum(axis=1)
        return found

    def quantile(self, shares: float | Sequence[float] | Vector) -> Vector:
        """Return the values below which x lies with some probabilities."""
        p = np.atleast_1d(np.asarray(shares, dtype=np.float64))
        if not ((p >= 0) & (p <= 1)).all():
            wrong = p[~((p >= 0) & (p <= 1))][0]
            raise UsageError(f"{parameter('quantiles')} must be between 0 and 1, not {wrong:g}")
        edges = self._rule.edges
        panel = np.clip(np.searchsorted(self._cumulative, p, side="right") - 1, 0, len(edges) - 2)
        u = self._root(panel, p - self._cumulative[panel])
        found: Vector = np.clip(self.centre + self.scale * u, *self.support)
        found = np.where(p == 0, self.support[0], np.where(p == 1, self.support[1], found))
        return found

    def _root(self, panel: NDArray[np.int64], target: Vector) -> Vector:
        """Return where probabilities within panels are reached: Newton's method, held in brackets.

        Each point stops by itself, so that it does not matter what is asked for beside it.
        """
        low, high = self._rule.edges[panel], self._rule.edges[panel + 1]
        mass = np.maximum(np.diff(self._cumulative)[panel], np.finfo(float).tiny)
        u = low + np.clip(target / mass, 1e-3, 1 - 1e-3) * (high - low)
        left = np.arange(len(u))
        for _ in range(_MOST_STEPS):
            if not len(left):
                break
            here = u[left]
            error = self._within(panel[left], here) - target[left]
            high[left] = np.where(error > 0, here, high[left])
            low[left] = np.where(error > 0, low[left], here)
            height = np.exp(self._exponent(here) - self._log_z)
            step = error / np.maximum(height, np.finfo(float).tiny)
            following = here - step
            outside = (following < low[left]) | (following > high[left])
            following = np.where(outside, (low[left] + high[left]) / 2, following)
            u[left] = following
            left = left[np.abs(following - here) > _SAME * (1 + np.abs(here))]
        return u

    def draws(self, n: int, *, seed: int = 0) -> Iterator[Vector]:
        """Yield n draws, in blocks."""
        rng = np.random.default_rng(seed)
        for start in range(0, n, _BLOCK):
            check_stopped()
            shares = rng.random(min(_BLOCK, n - start))
            # Never 0, which would be the end of the support.
            yield self.quantile(np.maximum(shares, 2.0**-54))

    def sample(self, n: int, *, seed: int = 0) -> Vector:
        """Return n draws."""
        return np.concatenate([np.empty(0), *self.draws(n, seed=seed)])

    def table(self) -> tuple[Vector, Vector, Vector]:
        """Return x, the density and P(X ≤ x) on an even grid over all but the far tails."""
        low, high = self.support
        if not math.isfinite(low):
            low = float(self.quantile(_TAIL)[0])
        if not math.isfinite(high):
            high = float(self.quantile(1 - _TAIL)[0])
        x = np.linspace(low, high, _TABLE_POINTS)
        return x, self.density(x), self.cumulative(x)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame of the table: x under the name of the variable, and so on."""
        import pandas as pd

        x, heights, below = self.table()
        return pd.DataFrame(
            zip(x, heights, below, strict=True), columns=[self.name, "density", "cumulative"]
        )

    def written(self) -> dict[str, Any]:
        """Return what a file says of it."""
        ends = [end if math.isfinite(end) else None for end in self.support]
        x, height, below = self.table()
        return {
            "name": self.name,
            "support": ends,
            "multipliers": {str(k): value for k, value in self.multipliers.items()},
            "log_normaliser": self.log_normaliser,
            "entropy": self.entropy,
            "mean": self.mean,
            "variance": self.variance,
            "moments": {
                str(k): {"given": value, "expectation": self.expectation(k)}
                for k, value in self.given.items()
            },
            "residual": self.residual,
            "iterations": self.iterations,
            "table": {
                "x": x.tolist(),
                "density": height.tolist(),
                "cumulative": below.tolist(),
            },
        }

    @property
    def log_normaliser(self) -> float:
        """ln of the integral of exp(Σ multiplier · xᵏ): the density is exp of the sum less this."""
        constant = math.fsum(
            multiplier * (-self.centre / self.scale) ** power
            for power, multiplier in zip(self.powers, self.scaled, strict=True)
        )
        return self._log_z + math.log(self.scale) - constant
