"""What is known of any penalised fit of a conditional field: how it went, how well it predicts.

Fields of tables and of sequences differ in what they count, and in the figures of predictions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar


class Figures(Protocol):
    """How well a field predicts."""

    def written(self) -> dict[str, Any]:
        """The figures as JSON has them."""


F = TypeVar("F", bound=Figures)


@dataclass(frozen=True, kw_only=True)
class PenalisedFit(Generic[F]):
    """How a field was fitted.

    `training` has the figures on the rows that it was fitted on, which flatter; `heldout` those on
    rows that it was not, which `heldout_by` says: `folds` or `holdout`. `path` has the loss by
    folds of each penalty l2 that was tried.
    """

    algorithm: str
    rows: int | float
    nonzero: int
    """Weights that are not 0."""
    converged: bool
    iterations: int
    gradient: float
    """The largest derivative left."""
    log_likelihood: float
    objective: float
    """The log-likelihood, less the penalties."""
    l1: float
    l2: float
    training: F
    heldout: F | None = None
    heldout_by: str | None = None
    folds: int | None = None
    path: tuple[tuple[float, float], ...] = ()

    counted: ClassVar[tuple[str, ...]]
    """The fields of a kind that say what it counts."""

    def written(self) -> dict[str, Any]:
        """The fit as JSON has it."""
        found: dict[str, Any] = {
            name: getattr(self, name)
            for name in (
                *("algorithm", "rows", *self.counted, "nonzero", "converged", "iterations"),
                *("gradient", "log_likelihood", "objective", "l1", "l2"),
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
