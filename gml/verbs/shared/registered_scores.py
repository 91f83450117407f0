"""The scores that there are, for commands that declare options of theirs."""

from __future__ import annotations

from gml.scores.registry import (
    EDGE_PENALTY,
    SCORES,
    check_scores,
    scores_of_numbers,
    scores_without_ceilings,
)

__all__ = [
    "EDGE_PENALTY",
    "SCORES",
    "check_scores",
    "scores_of_numbers",
    "scores_without_ceilings",
]
