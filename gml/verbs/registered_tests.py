"""The independence tests that there are, for commands that declare options of theirs."""

from __future__ import annotations

from gml.independence.registry import ADJUSTMENTS, TESTS

__all__ = ["ADJUSTMENTS", "TESTS"]
