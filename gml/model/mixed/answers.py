"""Answers about labels and numbers together."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from gml.data.dataset import Variable
from gml.model.answer import Answer, Distribution, Joint, Moments, Row, Values, known
from gml.model.mixed.mixture import (
    SHOWN_QUANTILES,
    NumberDistribution,
    bounds_of,
    quantile_name,
)
from gml.model.mixed.moments import ConditionalMoments


@dataclass(frozen=True, eq=False, repr=False)
class MixedAnswer(Answer):
    """An answer whose evidence may have numbers in it."""

    @property
    def is_density(self) -> bool:
        """Whether a number was observed."""
        return _has_number(self.evidence)


def _has_number(values: Values) -> bool:
    return not all(isinstance(value, str) for value in values.values())


@dataclass(frozen=True, eq=False, repr=False)
class JointOfLabels(Joint):
    """The joint distribution of labels, given evidence that may have numbers in it."""

    @property
    def is_density(self) -> bool:
        """Whether a number was observed."""
        return _has_number(self.evidence)


@dataclass(frozen=True, eq=False, repr=False)
class MomentsOfMixtures(Moments):
    """Means, deviations and correlations of numbers, given evidence that may be all labels."""

    @property
    def is_density(self) -> bool:
        """Whether a number was observed."""
        return _has_number(self.evidence)


@dataclass(frozen=True, eq=False, repr=False)
class MixedMarginals(MixedAnswer):
    """The distribution of each node by itself: `answer["sex"]["f"]`, `answer["mass"].mean`."""

    distributions: Mapping[str, Distribution | NumberDistribution]
    interval: float | None = None
    """What the outer quantiles of numbers have between them; by default 90 %."""

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes asked for."""
        return tuple(self.distributions)

    def __getitem__(self, name: str) -> Distribution | NumberDistribution:
        return self.distributions[known(name, self.names)]

    def rows(self) -> list[Row]:
        """One row per level of each label, and one per number; null for what does not apply."""
        found: list[Row] = []
        for name, distribution in self.distributions.items():
            if isinstance(distribution, NumberDistribution):
                found.append({"node": name, **self._figures(distribution)})
            else:
                found += [
                    {"node": name, "level": level, "probability": p}
                    for level, p in distribution.items()
                ]
        keys = list(dict.fromkeys(key for row in found for key in row))
        # The columns of labels come first, whichever node does.
        keys.sort(key=("node", "level", "probability", "mean", "sd").__contains__, reverse=True)
        return [{key: row.get(key) for key in keys} for row in found]

    def _figures(self, number: NumberDistribution) -> Row:
        figures: Row = {"mean": number.mean, "sd": number.sd}
        for p in shown_quantiles(self.interval):
            figures[quantile_name(p)] = None if number.weight is None else number.quantile(p)
        return figures


def shown_quantiles(interval: float | None) -> tuple[float, float, float]:
    """Return the probabilities of the quantiles that a number is shown with."""
    if interval is None:
        return SHOWN_QUANTILES
    low, high = bounds_of(interval)
    return low, 0.5, high


@dataclass(frozen=True, eq=False, repr=False)
class MixedJoint(MixedAnswer):
    """Labels and numbers together: each configuration of the labels, and moments given it."""

    labels: tuple[Variable, ...]
    numbers: tuple[str, ...]
    moments: ConditionalMoments
    """One axis per label, then one for the numbers."""

    def rows(self) -> list[Row]:
        """One row per configuration; null for moments given one of probability 0."""
        names = [variable.name for variable in self.labels]
        found = []
        n = len(self.numbers)
        cells = itertools.product(*(range(len(v.levels or ())) for v in self.labels))
        for cell in cells:
            row: Row = {
                name: (variable.levels or ())[code]
                for name, variable, code in zip(names, self.labels, cell, strict=True)
            }
            figures: Row = {"probability": float(self.moments.probability[cell])}
            for k, number in enumerate(self.numbers):
                figures[f"mean({number})"] = _number(self.moments.mean[cell][k])
                figures[f"sd({number})"] = _number(self.moments.sd[cell][k])
            for i, j in itertools.combinations(range(n), 2):
                pair = f"r({self.numbers[i]},{self.numbers[j]})"
                figures[pair] = _number(self.moments.r[cell][i, j])
            for name, value in figures.items():
                while name in names:
                    name += "_"
                row[name] = value
            found.append(row)
        return found


def _number(value: float) -> float | None:
    found = float(value)
    return found if found == found else None


@dataclass(frozen=True, eq=False, repr=False)
class MixedExplanation(MixedAnswer):
    """The values of some nodes together whose density is highest: `answer["mass"]`."""

    values: Mapping[str, str | float]
    log_p: float

    @property
    def log_probability(self) -> float:
        """ln of the density of the values given the evidence; of labels alone, the probability."""
        return self.log_p

    @property
    def assigns_density(self) -> bool:
        """Whether a number is among the values."""
        return _has_number(self.values)

    def __getitem__(self, name: str) -> str | float:
        return self.values[known(name, self.values)]

    def rows(self) -> list[Row]:
        """One row per node."""
        return [{"node": name, "value": value} for name, value in self.values.items()]
