"""What is known of the training of a chain field."""

from __future__ import annotations

from dataclasses import dataclass

from gml.model.conditional.penalised_fit import PenalisedFit
from gml.model.sequences.chain_metrics import ChainMetrics


@dataclass(frozen=True, kw_only=True)
class ChainSummary(PenalisedFit[ChainMetrics]):
    """How a chain field was trained; penalties are judged by −ln p(labels | rows) per row."""

    sequences: int
    features: int
    """Those that training saw."""

    counted = ("sequences", "features")
