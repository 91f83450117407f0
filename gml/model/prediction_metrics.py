"""How good predictions are, where the truth is known.

For a node of levels: the accuracy, the log loss (mean −ln p of the true level, in nats), the Brier
score (1950, Mon. Weather Rev. 78:1; the mean Σ over levels of (p − 1[true])², from 0 to 2) and the
confusion table. For a node of numbers: the mean absolute error, the root mean squared error, the
log loss (mean −ln density) and, of predicted intervals, the share of true values that lie in them.

Rows without a true value do not count, nor do rows whose true value the model does not know or
whose evidence it takes for impossible; both are told apart. Sums are exact (`math.fsum`), so that
the order of rows does not matter; that is why what each row adds is kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable
from gml.data.levels import NA_LEVEL
from gml.errors import counted
from gml.model.evidence import Meaning
from gml.model.inference import most_probable
from gml.model.notebook_table import NotebookTable
from gml.model.row_answers import LevelPredictions, NumberPredictions, Predictions

if TYPE_CHECKING:
    import pandas as pd

MISSING, UNKNOWN = -1, -2
"""What stands for a true level that is not there, and for one that the model does not know."""


@dataclass(frozen=True)
class NotCounted:
    """Rows that no figure counts, by the reason."""

    missing: int = 0
    unknown: int = 0
    impossible: int = 0

    def sentences(self) -> list[str]:
        """Say how many rows do not count, and why."""
        why = {
            "without a true value": self.missing,
            "whose true value the model does not know": self.unknown,
            "of evidence of probability 0": self.impossible,
        }
        return [f"{counted(n, 'row')} {reason} left out" for reason, n in why.items() if n]


@dataclass(frozen=True, repr=False)
class LevelMetrics(NotebookTable):
    """How good predictions of a level are; `confusion` is true × predicted."""

    target: str
    levels: tuple[str, ...]
    confusion: NDArray[np.int64]
    log_loss: float
    brier: float
    not_counted: NotCounted

    @property
    def rows(self) -> int:
        """The rows that count."""
        return int(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        """The share of rows whose level is the predicted one."""
        return _share(int(np.trace(self.confusion)), self.rows)

    @property
    def majority(self) -> float:
        """The share of the most frequent level: the accuracy of always predicting it."""
        return _share(int(self.confusion.sum(axis=1).max(initial=0)), self.rows)

    def __repr__(self) -> str:
        return _shown(self)

    def to_frame(self) -> pd.DataFrame:
        """Return the confusion table: a row per true level, a column per predicted one."""
        import pandas as pd

        return pd.DataFrame(
            self.confusion,
            index=pd.Index(self.levels, name="true"),
            columns=pd.Index(self.levels, name="predicted"),
        )

    def figures(self) -> dict[str, float]:
        """The figures by name."""
        return {
            "accuracy": self.accuracy,
            "majority": self.majority,
            "log_loss": self.log_loss,
            "brier": self.brier,
        }


@dataclass(frozen=True, repr=False)
class NumberMetrics(NotebookTable):
    """How good predictions of a number are."""

    target: str
    rows: int
    mean_absolute_error: float
    root_mean_squared_error: float
    log_loss: float
    not_counted: NotCounted
    coverage: float | None = None
    """The share of true values in the predicted intervals, if there were any."""

    def __repr__(self) -> str:
        return _shown(self)

    def figures(self) -> dict[str, float]:
        """The figures by name."""
        found = {
            "mean_absolute_error": self.mean_absolute_error,
            "root_mean_squared_error": self.root_mean_squared_error,
            "log_loss": self.log_loss,
        }
        return found if self.coverage is None else found | {"coverage": self.coverage}


Metrics = LevelMetrics | NumberMetrics


def _shown(metrics: Metrics) -> str:
    figures = ", ".join(f"{name}={value:.6g}" for name, value in metrics.figures().items())
    target = f"{metrics.target!r}, {counted(metrics.rows, 'row')}"
    return f"{type(metrics).__name__}({target}: {figures})"


class TrueValues:
    """What cells of a column say that a node really was: a code, or a number."""

    def __init__(self, variable: Variable, *, missing_is_level: bool, decimal: str = ".") -> None:
        self._meaning = Meaning(variable, decimal)
        levels = variable.levels
        self._unknown = math.nan if levels is None else UNKNOWN
        self.missing: float = math.nan if levels is None else MISSING
        """What a missing cell says."""
        if missing_is_level and levels is not None and NA_LEVEL in levels:
            self.missing = levels.index(NA_LEVEL)

    def of(self, value: object) -> float:
        """What a value says."""
        found = self._meaning.code_of(value)
        return self._unknown if found is None else found


def _share(part: int, whole: int) -> float:
    return part / whole if whole else math.nan


class Tally:
    """Adds up predictions and truths, block by block.

    Examples
    --------
    >>> import gml
    >>> data = gml.read("sample_data/asia.csv")
    >>> net = gml.fit(data, gml.read_graph("sample_data/asia.dot"))
    >>> tally = Tally("lung", ("no", "yes"))
    >>> tally.add(net.predict(data, "lung"), data.columns[data.index("lung")])
    >>> tally.metrics().confusion.tolist()
    [[4743, 0], [1, 256]]
    """

    def __init__(self, target: str, levels: Sequence[str] | None) -> None:
        self._target = target
        self._levels = None if levels is None else tuple(levels)
        size = 0 if levels is None else len(levels)
        self._confusion = np.zeros((size, size), dtype=np.int64)
        self._losses: list[list[float]] = [[], [], []]
        self._rows = 0
        self._covered: int | None = None
        self._missing = self._unknown = self._impossible = 0

    def add(
        self,
        predicted: Predictions,
        truth: NDArray[Any],
        weights: NDArray[np.int64] | None = None,
        *,
        losses: NDArray[np.float64] | None = None,
    ) -> None:
        """Add rows: codes of true levels (`MISSING`, `UNKNOWN`), or true numbers (NaN: missing).

        `losses` are −ln p of true levels, where these are known from logarithms.
        """
        times = np.ones(len(truth), dtype=np.int64) if weights is None else weights
        # A row that never occurs must not make a loss infinite.
        truth = np.where(times > 0, truth, MISSING if self._levels is not None else math.nan)
        if isinstance(predicted, LevelPredictions):
            self._add_levels(predicted, truth.astype(np.int64), times, losses)
        else:
            assert isinstance(predicted, NumberPredictions)
            self._add_numbers(predicted, truth, times)

    def _add_levels(
        self,
        predicted: LevelPredictions,
        truth: NDArray[np.int64],
        times: NDArray[np.int64],
        losses: NDArray[np.float64] | None,
    ) -> None:
        known = truth >= 0
        self._missing += int(times[truth == MISSING].sum())
        self._unknown += int(times[truth == UNKNOWN].sum())
        self._impossible += int(times[known & ~predicted.possible].sum())
        counted_rows = known & predicted.possible
        truth, times = truth[counted_rows], times[counted_rows]
        table = predicted.table[counted_rows]
        np.add.at(self._confusion, (truth, most_probable(table)), times)
        p = table[np.arange(len(truth)), truth]
        with np.errstate(divide="ignore"):
            own = -np.log(p) if losses is None else losses[counted_rows]
        self._losses[0] += (own * times).tolist()
        # (1 − p)² + Σ of the other levels, which avoids a matrix of truths.
        self._losses[1] += (((table**2).sum(axis=1) - 2 * p + 1) * times).tolist()

    def _add_numbers(
        self, predicted: NumberPredictions, truth: NDArray[np.float64], times: NDArray[np.int64]
    ) -> None:
        known = ~np.isnan(truth)
        self._missing += int(times[~known].sum())
        self._impossible += int(times[known & ~predicted.possible].sum())
        counted_rows = known & predicted.possible
        with np.errstate(over="ignore", invalid="ignore"):
            away = np.abs(truth - predicted.predicted)[counted_rows]
        # A node without an error of its own is either exactly right or impossible.
        loss = -predicted.log_density(truth)[counted_rows]
        times = times[counted_rows]
        self._rows += int(times.sum())
        with np.errstate(over="ignore"):
            for losses, found in zip(self._losses, (loss, away, away**2), strict=True):
                losses += (found * times).tolist()
        if predicted.bounds is not None:
            low, high = predicted.bounds[counted_rows].T
            inside = (low <= truth[counted_rows]) & (truth[counted_rows] <= high)
            self._covered = (self._covered or 0) + int(times[inside].sum())

    def metrics(self) -> Metrics:
        """What was found so far."""
        left_out = NotCounted(self._missing, self._unknown, self._impossible)
        if self._levels is None:
            log_loss, absolute, square = (_mean(part, self._rows) for part in self._losses)
            return NumberMetrics(
                self._target,
                self._rows,
                absolute,
                math.sqrt(square),
                log_loss,
                left_out,
                None if self._covered is None else _share(self._covered, self._rows),
            )
        rows = int(self._confusion.sum())
        log_loss, brier, _ = (_mean(part, rows) for part in self._losses)
        return LevelMetrics(self._target, self._levels, self._confusion, log_loss, brier, left_out)


def _mean(parts: Sequence[float], rows: int) -> float:
    if not rows:
        return math.nan
    if math.inf in parts:
        return math.inf
    try:
        return math.fsum(parts) / rows
    except OverflowError:
        return math.inf
