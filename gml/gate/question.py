"""A check that is on its way to a decision: its figures, and how to settle its p-value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gml.gate.monte_carlo import MonteCarlo
from gml.gate.result import Check

Settle = Callable[[MonteCarlo], tuple[float, str]]
"""Returns ln p to the accuracy that the level of a decision asks for, and how it was had."""


@dataclass(frozen=True)
class Question:
    """A check with the p-value of an approximation, or none.

    `settle` gives a better one, if the approximation is not good enough where it decides; with
    `always` it is never good enough.
    """

    check: Check
    settle: Settle | None = None
    always: bool = False
    log_choices: float = 0.0
    """ln of what the p-value that `settle` gives is multiplied by; that of the check is already."""
