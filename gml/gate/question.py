"""A check on its way to a decision: its figures, and how to settle its p-value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gml.gate.margins import Margin
from gml.gate.monte_carlo import MonteCarlo
from gml.gate.result import Check, UnlikelyRow

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


@dataclass(frozen=True)
class Asked:
    """The questions of a run, the least likely rows, and what the reader should know."""

    questions: list[Question]
    unlikely: tuple[UnlikelyRow, ...]
    notes: list[str]
    margins: Mapping[str, Margin] = field(default_factory=dict)
