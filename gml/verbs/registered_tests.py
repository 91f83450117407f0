"""The independence tests that there are, for commands that declare options of theirs."""

from __future__ import annotations

from gml.independence.registry import ADJUSTMENTS, TESTS, check_test

__all__ = ["ADJUSTMENTS", "TESTS", "check_test"]
