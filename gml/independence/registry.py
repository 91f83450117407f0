"""The tests by their short labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gml.counts.counter import Counter
from gml.independence.base import CITest
from gml.independence.bayes import BayesFactorTest
from gml.independence.calibrated import CalibratedTest
from gml.independence.contingency import ChiSquaredTest, ThresholdTest
from gml.independence.fisher_z import FisherZTest
from gml.independence.permutation import PermutationTest


def _g(counter: Counter, **options: Any) -> CITest:
    return ChiSquaredTest(counter, statistic="g", **options)


def _chi2(counter: Counter, **options: Any) -> CITest:
    return ChiSquaredTest(counter, statistic="chi2", **options)


TESTS: dict[str, Callable[..., CITest]] = {
    "auto": CalibratedTest,
    "g": _g,
    "chi2": _chi2,
    "mi-threshold": ThresholdTest,
    "bayes": BayesFactorTest,
    "permutation": PermutationTest,
    "fisher-z": FisherZTest,
}
