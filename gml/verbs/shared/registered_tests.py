"""The independence tests that there are, for commands that declare options of theirs."""

from __future__ import annotations

from gml.independence.registry import ADJUSTMENTS, DF, TESTS, check_test

__all__ = ["ADJUSTMENTS", "DF", "TESTS", "check_test"]
