"""What is known of the training of a chain field: how it went, and how well the field predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gml.model.sequences.chain_metrics import ChainMetrics


@dataclass(frozen=True)
class ChainSummary:
    """How a chain field was trained.

    `training` has the figures on the rows that it was trained on, which flatter; `heldout` those on
    rows that it was not, which `heldout_by` says: `folds` or `holdout`. `path` has −ln p(labels |
    rows) per row by folds of each penalty l2 that was tried.
    """

    algorithm: str
    rows: int
    sequences: int
    features: int
    """Those that training saw."""
    nonzero: int
    converged: bool
    iterations: int
    gradient: float
    """The largest derivative left, per row."""
    log_likelihood: float
    objective: float
    """The log-likelihood, less the penalties."""
    l1: float
    l2: float
    training: ChainMetrics
    heldout: ChainMetrics | None = None
    heldout_by: str | None = None
    folds: int | None = None
    path: tuple[tuple[float, float], ...] = ()

    def written(self) -> dict[str, Any]:
        """The training as JSON has it."""
        found: dict[str, Any] = {
            name: getattr(self, name)
            for name in (
                *("algorithm", "rows", "sequences", "features", "nonzero", "converged"),
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
