"""What a model says of each row of evidence: small labelled objects, columns by name.

Rows of evidence of probability 0 have no answer: None for a level, NaN for a number.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gml.errors import UsageError, quote, unknown_name
from gml.model.answer import SHOWN_ROWS, aligned, known
from gml.model.evidence import Circumstances
from gml.model.gaussian import means_of_rows
from gml.model.inference import Inference, most_probable
from gml.model.model import AskedModel
from gml.model.network import Network
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
    """The mean of each row and its standard deviation."""

    sd: Numbers

    def written(self) -> list[tuple[str, Column]]:
        """The mean and the standard deviation."""
        return [(f"{self.target}_predicted", self.predicted), (f"{self.target}_sd", self.sd)]


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

    def __len__(self) -> int:
        return len(self.mean)

    def __getitem__(self, name: str) -> tuple[Numbers, Numbers]:
        at = self.names.index(known(name, self.names))
        return self.mean[:, at], self.sd[:, at]

    def written(self) -> list[tuple[str, Column]]:
        """The mean and the standard deviation of each target."""
        return [
            (f"{name}_{what}", numbers[:, k])
            for k, name in enumerate(self.names)
            for what, numbers in (("mean", self.mean), ("sd", self.sd))
        ]


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


# ---------------------------------------------------------------------- asking for them


class RowInference:
    """Answers about targets, or predicts one, from blocks of evidence."""

    def __init__(
        self,
        given: Circumstances[AskedModel],
        targets: Sequence[str],
        *,
        predict: bool,
        max_memory: int | None = None,
    ) -> None:
        self._set_up(given, targets, predict=predict)
        numeric = isinstance(given.net, Network) and given.net.is_gaussian
        self._inference = None if numeric else Inference(given.net, max_memory=max_memory)

    def _set_up(
        self, given: Circumstances[AskedModel], targets: Sequence[str], *, predict: bool
    ) -> None:
        for name in targets:
            _require_target(given, name)
        self.given = given
        self.targets = tuple(targets)
        self.predicts = predict
        self.decodes = False
        """Whether the most probable values of the targets together are asked for."""
        self._levels = {v.name: v.levels or () for v in given.net.variables}

    @property
    def needed(self) -> tuple[str, ...]:
        """The nodes that every row has to observe."""
        return ()

    @property
    def columns(self) -> list[str]:
        """The names of the columns that a file of answers has."""
        return [name for name, _ in self._of_none().written()]

    def of(self, names: Sequence[str], evidence: NDArray[Any]) -> RowAnswers:
        """Return the answers to evidence: rows × names."""
        if not len(evidence):
            return self._of_none()
        if self._inference is None:
            assert isinstance(self.given.net, Network)
            return self._numbers(*means_of_rows(self.given.net, self.targets, names, evidence))
        return self._labels(*self._inference.marginals_of_rows(self.targets, names, evidence))

    def _of_none(self) -> RowAnswers:
        if self._inference is None:
            nothing = np.empty((0, len(self.targets)))
            return self._numbers(nothing, nothing)
        tables = {name: np.empty((0, len(self._levels[name]))) for name in self.targets}
        return self._labels(tables, np.empty(0))

    def _numbers(self, mean: Numbers, sd: Numbers) -> RowAnswers:
        if self.predicts:
            return NumberPredictions(self.targets[0], mean[:, 0], sd[:, 0])
        return RowMoments(self.targets, mean, sd)

    def _labels(self, tables: Mapping[str, Numbers], log_p: Numbers) -> RowAnswers:
        levels = {name: self._levels[name] for name in self.targets}
        if not self.predicts:
            return RowMarginals(levels, tables, log_p)
        (target,) = self.targets
        predicted = np.array([*levels[target], None], dtype=object)[
            np.where(log_p > -math.inf, most_probable(tables[target]), len(levels[target]))
        ]
        return LevelPredictions(target, predicted, levels[target], tables[target], log_p)


def _require_target(given: Circumstances[AskedModel], name: str) -> None:
    """Refuse a target that is not a node, or whose value is known."""
    if name not in given.net.names:
        raise UsageError(unknown_name("node", name, given.net.names))
    if name in given.evidence or name in given.do:
        raise UsageError(f"{quote(name)} is observed or set, and also asked for")
