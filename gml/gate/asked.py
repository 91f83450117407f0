"""What a model and one delivery of rows give: questions, the least likely rows, notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gml.gate.check import UnlikelyRow
from gml.gate.margins import Margin
from gml.gate.question import Question


@dataclass(frozen=True)
class Asked:
    """The questions of a run, the least likely rows, and what the reader should know."""

    questions: list[Question]
    unlikely: tuple[UnlikelyRow, ...]
    notes: list[str]
    margins: Mapping[str, Margin] = field(default_factory=dict)
