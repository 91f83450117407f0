"""Numeric inputs of conditional fields: standardised by the rows that a field was fitted on.

The weight of a level of a target is that of z = (x − mean) / sd, so that a penalty means the same
whatever the unit of x. The sd has the divisor n, as scikit-learn's `StandardScaler` has, and rows
count as often as their weights say. Folds are standardised as all rows are. Where all rows have one
number there is no sd: 1 stands for it, z is 0, and so is the weight that is fitted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset, Variable
from gml.errors import GraphError, listing, quote
from gml.model.undirected.potential import LARGEST, Potential

Numbers = NDArray[np.float64]

# Times any weight, and summed, it is still a double.
_FARTHEST = 1e100
# A power of two, so that what it divides keeps its digits.
_SIXTEEN = 16.0


class Scale(NamedTuple):
    """The mean and the standard deviation of a numeric input.

    Examples
    --------
    >>> scale = Scale.of(np.array([1.0, 2.0, 6.0]), np.array([2, 0, 1]))
    >>> scale
    Scale(mean=2.6666666666666665, sd=2.3570226039551585)
    >>> scale.standardised(np.array([1.0, 6.0])).round(6).tolist()
    [-0.707107, 1.414214]
    """

    mean: float
    sd: float

    @classmethod
    def of(cls, numbers: Numbers, weights: NDArray[Any] | None = None) -> Scale:
        """Return that of the numbers of rows; the order of the rows changes no bit.

        Missing ones, NaN, are left out.
        """
        counts = ~np.isnan(numbers)
        if weights is not None:
            counts &= weights > 0
            weights = weights[counts]
        numbers = numbers[counts]
        if not len(numbers):
            return cls(0.0, 1.0)
        low, high = float(numbers.min()), float(numbers.max())
        if low == high:
            return cls(low, 1.0)
        # Sums of squares of numbers below 1 stay in the range of doubles.
        _, exponent = math.frexp(max(-low, high))
        small = np.ldexp(numbers, -exponent)
        times = np.ones(len(small)) if weights is None else weights.astype(np.float64)
        n = float(times.sum())
        mean = math.fsum((times * small).tolist()) / n
        squares = math.fsum((times * np.square(small - mean)).tolist()) / n
        sd = math.ldexp(math.sqrt(squares), exponent)
        return cls(math.ldexp(mean, exponent), sd if sd > 0 else 1.0)

    def standardised(self, numbers: Numbers) -> Numbers:
        """Return z; one beyond ±1e100 is that bound."""
        unit = _SIXTEEN if self.sd > 1 else 1.0
        with np.errstate(over="ignore"):
            found: Numbers = (numbers / unit - self.mean / unit) / (self.sd / unit)
        return np.clip(found, -_FARTHEST, _FARTHEST)


def scales_of(data: Dataset, names: Iterable[str]) -> dict[str, Scale]:
    """Return the scale of each numeric column among some.

    Examples
    --------
    >>> import gml
    >>> data = gml.read("sample_data/flats.csv", numeric="rent", columns=["rent", "parking"])
    >>> {name: round(scale.mean, 1) for name, scale in scales_of(data, data.names).items()}
    {'rent': 940.1}
    """
    found = {}
    for name in names:
        at = data.index(name)
        if data.variables[at].is_continuous:
            found[name] = Scale.of(data.columns[at], data.weights)
    return found


@dataclass(frozen=True, eq=False)
class Slope:
    """The feature of a numeric input: what one sd more of it adds to each level of a target.

    Examples
    --------
    >>> y, x = Variable("y", ("n", "y")), Variable("x", None)
    >>> slope = Slope(y, x, np.array([-0.5, 0.5]))
    >>> slope.names, slope.table.shape
    (('y', 'x'), (2, 1))
    """

    target: Variable
    input: Variable
    weights: Numbers

    errors = intervals = counts = None
    """As tables of other terms may have; slopes have none."""

    def __post_init__(self) -> None:
        where = f"the feature over {listing(self.names)}"
        if self.target.levels is None or self.input.levels is not None:
            raise GraphError(f"{where} must be over a target of levels and an input of numbers")
        weights = np.array(self.weights, dtype=np.float64)
        if weights.shape != (len(self.target.levels),):
            raise GraphError(f"{where} must have a weight for each level of {self.target.name}")
        if not (np.abs(weights) <= LARGEST).all():
            raise GraphError(f"{where} has a weight that is not finite, or too large")
        weights.flags.writeable = False
        object.__setattr__(self, "weights", weights)

    @property
    def scope(self) -> tuple[Variable, ...]:
        """The target, then the input."""
        return (self.target, self.input)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of both."""
        return (self.target.name, self.input.name)

    @property
    def table(self) -> Numbers:
        """The weights as one column."""
        return self.weights[:, None]

    @property
    def is_finite(self) -> bool:
        """Whether all weights are finite, which they are."""
        return True


def feature_over(scope: Sequence[Variable], table: Numbers) -> Potential | Slope:
    """Return the feature over some variables with its weights, whose axes are theirs."""
    if not any(variable.is_continuous for variable in scope):
        return Potential(tuple(scope), table)
    if len(scope) != 2:
        raise GraphError(f"the feature over {listing(v.name for v in scope)} has no target")
    target, number = sorted(scope, key=lambda variable: variable.is_continuous)
    return Slope(target, number, table.reshape(-1))


def require_scales(
    variables: Sequence[Variable], targets: set[str], scales: Mapping[str, Scale]
) -> None:
    """Refuse targets that are numbers, and numbers that are not standardised."""
    for variable in variables:
        name = variable.name
        if variable.is_continuous and name in targets:
            raise GraphError(f"target {quote(name)} has numbers, and a field predicts levels")
        if variable.is_continuous != (name in scales):
            what = "no mean and sd" if variable.is_continuous else "levels, and a mean and sd"
            raise GraphError(f"input {quote(name)} has {what}")
    for name, scale in scales.items():
        if not (math.isfinite(scale.mean) and math.isfinite(scale.sd) and scale.sd > 0):
            raise GraphError(f"the mean of {quote(name)} must be finite, and its sd above 0")
