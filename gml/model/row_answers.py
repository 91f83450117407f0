"""What a model says of each row of evidence: small labelled objects, columns by name.

Rows of evidence of probability 0 have no answer: None for a level, NaN for a number.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gml.model.answer import SHOWN_ROWS, aligned, known
from gml.model.inference import most_probable
from gml.model.mixed.mixture import Components, mixture_log_density
from gml.model.notebook_table import NotebookTable

if TYPE_CHECKING:
    import pandas as pd

    from gml.model.decoded_metrics import DecodedMetrics
    from gml.model.prediction_metrics import Metrics
    from gml.model.sequences.chain_metrics import ChainMetrics

Column = NDArray[Any]
Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class RowAnswers(NotebookTable, ABC):
    """What all answers about rows have: one answer per row, as columns."""

    index: pd.Index | None = field(default=None, kw_only=True)
    """That of the DataFrame that was asked about, so that answers can be joined to its rows."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @property
    def possible(self) -> NDArray[np.bool_]:
        """Which rows have an answer."""
        return np.ones(len(self), dtype=bool)

    @abstractmethod
    def written(self) -> list[tuple[str, Column]]:
        """Return what a file of answers has: names and columns."""

    def columns(self) -> dict[str, Column]:
        """Return the columns of `to_frame`."""
        return dict(self.written())

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with one row per row of the data, and its index."""
        import pandas as pd

        return pd.DataFrame(self.columns(), index=self.index)

    def __repr__(self) -> str:
        columns = self.columns()
        cells = zip(*(column[:SHOWN_ROWS].tolist() for column in columns.values()), strict=True)
        rows = [dict(zip(columns, row, strict=True)) for row in cells]
        return "\n".join(aligned(rows, len(self)))


# ---------------------------------------------------------------------- one node, predicted


@dataclass(frozen=True, eq=False, repr=False)
class Predictions(RowAnswers):
    """For each row, the predicted value of a node, and how certain it is.

    `metrics` says how good they are, if the table has the column.
    """

    target: str
    predicted: Column
    metrics: Metrics | None = field(default=None, kw_only=True)

    def __len__(self) -> int:
        return len(self.predicted)


@dataclass(frozen=True, eq=False, repr=False)
class LevelPredictions(Predictions):
    """The most probable level of each row; None, and NaN, where the evidence is impossible."""

    levels: tuple[str, ...]
    table: Numbers
    """The probability of each level: rows × levels."""
    log_evidence: Numbers

    @property
    def possible(self) -> NDArray[np.bool_]:
        """Which rows have evidence that is possible."""
        return self.log_evidence > -math.inf

    @property
    def probability(self) -> Numbers:
        """The probability of the predicted level."""
        codes = most_probable(self.table)
        found: Numbers = self.table[np.arange(len(codes)), codes]
        return found

    def written(self) -> list[tuple[str, Column]]:
        """The level and its probability."""
        return [
            (f"{self.target}_predicted", self.predicted),
            (f"{self.target}_probability", self.probability),
        ]

    def columns(self) -> dict[str, Column]:
        """The level, its probability, and that of each level."""
        return dict(self.written()) | {
            f"{self.target}={level}": self.table[:, k] for k, level in enumerate(self.levels)
        }


@dataclass(frozen=True, eq=False, repr=False)
class NumberPredictions(Predictions):
    """The mean of each row and its standard deviation; NaN where the evidence is impossible.

    Given labels that are not known, a number is a mixture of normal distributions, `components`.
    `bounds`, if asked for, are those of an interval with equal tails, rows × 2.
    """

    sd: Numbers
    components: Components | None = field(default=None, kw_only=True)
    bounds: Numbers | None = field(default=None, kw_only=True)

    @property
    def possible(self) -> NDArray[np.bool_]:
        """Which rows have evidence that is possible."""
        return ~np.isnan(self.predicted)

    def written(self) -> list[tuple[str, Column]]:
        """The mean and the standard deviation, and the bounds if there are some."""
        found = [(f"{self.target}_predicted", self.predicted), (f"{self.target}_sd", self.sd)]
        if self.bounds is not None:
            found += [
                (f"{self.target}_lower", self.bounds[:, 0]),
                (f"{self.target}_upper", self.bounds[:, 1]),
            ]
        return found

    def log_density(self, x: Numbers) -> Numbers:
        """ln of the density of each row at x: infinite where a number that cannot vary is x."""
        if self.components is None:
            ones = np.ones((len(x), 1))
            return mixture_log_density(x, ones, self.predicted[:, None], self.sd[:, None])
        return mixture_log_density(x, *self.components)


# ---------------------------------------------------------------------- some nodes, one by one


@dataclass(frozen=True, eq=False, repr=False)
class RowMarginals(RowAnswers):
    """The distribution of each target in each row: `answers["lung"]` is rows × levels.

    The evidence of a row that has no answer has probability 0.
    """

    levels: Mapping[str, tuple[str, ...]]
    """The levels of each target."""
    tables: Mapping[str, Numbers]
    log_evidence: Numbers

    def __len__(self) -> int:
        return len(self.log_evidence)

    def __getitem__(self, name: str) -> Numbers:
        return self.tables[known(name, self.tables)]

    @property
    def possible(self) -> NDArray[np.bool_]:
        """Which rows have evidence that is possible."""
        return self.log_evidence > -math.inf

    def written(self) -> list[tuple[str, Column]]:
        """The probability of each level of each target, and that of the evidence."""
        found = [
            (f"{name}={level}", self.tables[name][:, k])
            for name, levels in self.levels.items()
            for k, level in enumerate(levels)
        ]
        # numpy's exponential is not the same to the last bit on all machines.
        evidence = np.array([math.exp(log_p) for log_p in self.log_evidence.tolist()], np.float64)
        return [*found, ("p_evidence", evidence)]


@dataclass(frozen=True, eq=False, repr=False)
class RowMoments(RowAnswers):
    """Means and standard deviations in each row: `answers["x"]` is (means, sds)."""

    names: tuple[str, ...]
    mean: Numbers
    """Rows × targets."""
    sd: Numbers
    bounds: Numbers | None = field(default=None, kw_only=True)
    """The bounds of an interval, if asked for: rows × targets × 2."""

    def __len__(self) -> int:
        return len(self.mean)

    def __getitem__(self, name: str) -> tuple[Numbers, Numbers]:
        at = self.names.index(known(name, self.names))
        return self.mean[:, at], self.sd[:, at]

    def written(self) -> list[tuple[str, Column]]:
        """The mean and the standard deviation of each target, and bounds if there are some."""
        figures = {"mean": self.mean, "sd": self.sd}
        if self.bounds is not None:
            figures |= {"lower": self.bounds[..., 0], "upper": self.bounds[..., 1]}
        return [
            (f"{name}_{what}", numbers[:, k])
            for k, name in enumerate(self.names)
            for what, numbers in figures.items()
        ]


@dataclass(frozen=True, eq=False, repr=False)
class RowDistributions(RowAnswers):
    """Labels and numbers in each row: `answers["sex"]` is rows × levels, `answers["x"]` moments."""

    levels: Mapping[str, tuple[str, ...]]
    """The targets; a number has no levels."""
    tables: Mapping[str, Numbers]
    moments: Mapping[str, tuple[Numbers, Numbers]]
    bounds: Mapping[str, Numbers]
    """The bounds of an interval of each number, if asked for: rows × 2."""
    log_evidence: Numbers

    def __len__(self) -> int:
        return len(self.log_evidence)

    def __getitem__(self, name: str) -> Numbers | tuple[Numbers, Numbers]:
        name = known(name, self.levels)
        return self.tables[name] if name in self.tables else self.moments[name]

    @property
    def possible(self) -> NDArray[np.bool_]:
        """Which rows have evidence that is possible."""
        return self.log_evidence > -math.inf

    def written(self) -> list[tuple[str, Column]]:
        """Probabilities of levels, moments of numbers, and log10 of that of the evidence."""
        found: list[tuple[str, Column]] = []
        for name, levels in self.levels.items():
            found += [
                (f"{name}={level}", self.tables[name][:, k]) for k, level in enumerate(levels)
            ]
            if name in self.moments:
                mean, sd = self.moments[name]
                found += [(f"{name}_mean", mean), (f"{name}_sd", sd)]
            if name in self.bounds:
                found.append((f"{name}_lower", self.bounds[name][:, 0]))
                found.append((f"{name}_upper", self.bounds[name][:, 1]))
        return [*found, ("log10_p_evidence", self.log_evidence / math.log(10))]


# ---------------------------------------------------------------------- some nodes together


@dataclass(frozen=True, eq=False, repr=False)
class Decoded(RowAnswers):
    """The most probable values of some nodes together in each row: `answers["lung"]`.

    `metrics` says how good they are, if the table has the columns.
    """

    predicted: Mapping[str, Column]
    log_probability: Numbers
    """ln of the probability of the values together."""
    metrics: DecodedMetrics | None = field(default=None, kw_only=True)

    def __len__(self) -> int:
        return len(self.log_probability)

    def __getitem__(self, name: str) -> Column:
        return self.predicted[known(name, self.predicted)]

    def written(self) -> list[tuple[str, Column]]:
        """The level of each node, and the probability of all together."""
        found: list[tuple[str, Column]] = [
            (f"{name}_predicted", levels) for name, levels in self.predicted.items()
        ]
        logs = self.log_probability.tolist()
        together = np.array([math.exp(log_p) for log_p in logs], np.float64)
        return [*found, ("p_together", together)]


@dataclass(frozen=True, eq=False, repr=False)
class DecodedRows(RowAnswers):
    """The label of each row in the most probable labels of its sequence as a whole.

    `metrics` says how good they are, if the table has the column.
    """

    target: str
    predicted: Column
    probability: Numbers
    """That of the label of the row alone, given all rows of its sequence."""
    metrics: ChainMetrics | None = field(default=None, kw_only=True)

    def __len__(self) -> int:
        return len(self.predicted)

    def written(self) -> list[tuple[str, Column]]:
        """The label and its probability."""
        return [
            (f"{self.target}_predicted", self.predicted),
            (f"{self.target}_probability", self.probability),
        ]
