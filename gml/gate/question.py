"""A check on its way to a decision: its figures, and how to settle its p-value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gml.gate.check import Check
from gml.gate.monte_carlo import MonteCarlo

Settle = Callable[[MonteCarlo], tuple[float, str]]
"""Returns ln p as accurately as the level of a decision requires, and how it was obtained."""


@dataclass(frozen=True)
class Question:
    """A check with the p-value of an approximation, or none.

    `settle` gives a better one if the approximation is not good enough where it decides; with
    `always`, it is never good enough.
    """

    check: Check
    settle: Settle | None = None
    always: bool = False
    log_choices: float = 0.0
    """ln of the factor for the p-value that `settle` gives; the check's own already includes it."""
