"""How good the predictions of a field are, on rows whose targets are known.

Of each target by itself: the accuracy of its most probable level, that of always saying the most
frequent one, and the log loss, the mean −ln p of the true level, in nats. Of all targets together:
the accuracy of their most probable values together, which must all be right, the log loss
−ln p(y | x) per row, and the Hamming loss, the share of targets of a row whose own most probable
level is wrong.

Sums are exact (`math.fsum`), so that the order of rows does not matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gml.model.conditional.fit import FittedField
from gml.model.conditional.prediction import FieldPredictor
from gml.model.conditional.rows import FieldRows
from gml.model.conditional.terms import FieldTerms
from gml.model.inference import most_probable


@dataclass(frozen=True)
class TargetFigures:
    """How good the predictions of one target are."""

    target: str
    accuracy: float
    majority: float
    """The accuracy of always predicting the most frequent level."""
    log_loss: float


@dataclass(frozen=True)
class FieldFigures:
    """How good predictions are: together, and target by target."""

    rows: float
    accuracy: float
    """The share of rows whose targets are all right."""
    log_loss: float
    """The mean −ln p(y | x)."""
    hamming_loss: float
    targets: tuple[TargetFigures, ...]

    def written(self) -> dict[str, Any]:
        """The figures as JSON has them."""
        return {
            "rows": int(self.rows) if float(self.rows).is_integer() else self.rows,
            "accuracy": self.accuracy,
            "log_loss": self.log_loss,
            "hamming_loss": self.hamming_loss,
            "targets": [
                {
                    "target": one.target,
                    "accuracy": one.accuracy,
                    "majority": one.majority,
                    "log_loss": one.log_loss,
                }
                for one in self.targets
            ],
        }


class FieldTally:
    """Adds up how good the predictions of fields with the same features are, split by split."""

    def __init__(self, terms: FieldTerms) -> None:
        self._terms = terms
        n = len(terms.targets)
        self._rows: list[float] = []
        self._together: list[float] = []
        self._losses: list[float] = []
        self._right: list[list[float]] = [[] for _ in range(n)]
        self._own_losses: list[list[float]] = [[] for _ in range(n)]
        self._levels = [np.zeros(len(target.levels or ())) for target in terms.targets]

    def add(self, fitted: FittedField, rows: FieldRows, /) -> None:
        """Add what a fitted field says of rows."""
        present = rows.present()
        predictor = FieldPredictor(self._terms, fitted.tables)
        counts = present.counts.astype(np.float64) * present.unit
        log_p = predictor.posteriors(present.inputs, present.targets).log_evidence
        marginals = predictor.posteriors(present.inputs).targets
        best = predictor.best(present.inputs).levels
        self._rows.append(float(present.n))
        self._losses += (-log_p * counts).tolist()
        self._together.append(float(counts[(best == present.targets).all(axis=1)].sum()))
        for k, table in enumerate(marginals):
            truth = present.targets[:, k]
            self._right[k].append(float(counts[most_probable(table) == truth].sum()))
            own = -np.log(table[np.arange(len(truth)), truth])
            self._own_losses[k] += (own * counts).tolist()
            self._levels[k] += np.bincount(truth, counts, minlength=len(self._levels[k]))

    @property
    def log_loss(self) -> float:
        """The mean −ln p(y | x) so far."""
        return math.fsum(self._losses) / math.fsum(self._rows)

    def figures(self) -> FieldFigures:
        """What was found so far."""
        n = math.fsum(self._rows)
        accuracies = [math.fsum(right) / n for right in self._right]
        return FieldFigures(
            n,
            math.fsum(self._together) / n,
            self.log_loss,
            1 - math.fsum(accuracies) / len(accuracies),
            tuple(
                TargetFigures(
                    target.name,
                    accuracies[k],
                    float(self._levels[k].max()) / n,
                    math.fsum(self._own_losses[k]) / n,
                )
                for k, target in enumerate(self._terms.targets)
            ),
        )
