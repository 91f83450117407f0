"""What is known of the fit of a conditional field: how it went, and how well it predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gml.model.conditional.figures import FieldFigures


@dataclass(frozen=True)
class FieldSummary:
    """How a field was fitted.

    `training` has the figures on the rows that it was fitted on, which flatter; `heldout` those on
    rows that it was not, which `heldout_by` says: `folds` or `holdout`. `path` has the log loss by
    folds of each penalty l2 that was tried.
    """

    algorithm: str
    rows: int | float
    distinct_inputs: int
    weights: int
    nonzero: int
    converged: bool
    iterations: int
    gradient: float
    log_likelihood: float
    objective: float
    l1: float
    l2: float
    training: FieldFigures
    heldout: FieldFigures | None = None
    heldout_by: str | None = None
    folds: int | None = None
    path: tuple[tuple[float, float], ...] = ()

    def written(self) -> dict[str, Any]:
        """The fit as JSON has it."""
        found: dict[str, Any] = {
            name: getattr(self, name)
            for name in (
                *("algorithm", "rows", "distinct_inputs", "weights", "nonzero", "converged"),
                *("iterations", "gradient", "log_likelihood", "objective", "l1", "l2"),
            )
        }
        found["training"] = self.training.written()
        if self.heldout is not None:
            found["heldout"] = self.heldout.written()
            found["heldout_by"] = self.heldout_by
        if self.folds is not None:
            found["folds"] = self.folds
        if self.path:
            found["l2_path"] = [{"l2": l2, "log_loss": loss} for l2, loss in self.path]
        return found
