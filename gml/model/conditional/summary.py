"""What is known of the fit of a conditional field of a table."""

from __future__ import annotations

from dataclasses import dataclass

from gml.model.conditional.figures import FieldFigures
from gml.model.conditional.penalised_fit import PenalisedFit


@dataclass(frozen=True, kw_only=True)
class FieldSummary(PenalisedFit[FieldFigures]):
    """How a field was fitted; penalties are judged by the log loss."""

    distinct_inputs: int
    weights: int

    counted = ("distinct_inputs", "weights")
