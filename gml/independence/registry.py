"""The tests by their short labels, and the checks of what is asked of them.

A test is a class that describes itself (`CounterTest`); to add one, write its module and a line
here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gml.counts.counter import Counter
from gml.errors import UsageError, parameter, unknown_name
from gml.independence.base import CounterTest
from gml.independence.bayes import BayesFactorTest
from gml.independence.calibrated import CalibratedTest
from gml.independence.contingency import GTest, PearsonTest, ThresholdTest
from gml.independence.fisher_z import FisherZTest
from gml.independence.permutation import PermutationTest
from gml.parameters import FOR_LABELS, LABELS, options_of, owners_of

TESTS: dict[str, type[CounterTest]] = {
    test.name: test
    for test in (
        CalibratedTest,
        GTest,
        PearsonTest,
        ThresholdTest,
        BayesFactorTest,
        PermutationTest,
        FisherZTest,
    )
}

FOR_P_VALUES = ("alpha", "adjust")
"""Parameters that concern a level, and so mean nothing to a test without p-values."""


def make_test(
    name: str, counter: Counter, *, threads: int | None = None, **options: Any
) -> CounterTest:
    """Return a test over the columns of a counter, by its label and options.

    Examples
    --------
    >>> import gml
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    >>> test = make_test("g", counter, df="adjusted")
    >>> test(0, 1).df
    1.0
    >>> make_test("g", counter, permutations=99)
    Traceback (most recent call last):
        ...
    gml.errors.UsageError: `permutations` does not go with `test='g'` (only with permutation)
    """
    check_test(name, options)
    return TESTS[name](counter, threads=threads, **options)


def check_test(name: str, given: Iterable[str]) -> None:
    """Refuse an unknown test, and parameters that were given but mean nothing to it.

    These are options of tests, and those that say how values become labels or which p is small.
    """
    if name not in TESTS:
        raise UsageError(unknown_name("test", name, TESTS))
    for option in given:
        fitting = tests_that_take(option)
        if not fitting:
            known = ", ".join(map(parameter, options_of(TESTS)))
            raise UsageError(f"no test has an option {parameter(option)}; there are {known}")
        if name not in fitting:
            raise UsageError(
                f"{parameter(option)} does not go with {parameter('test', name)} "
                f"(only with {', '.join(fitting)})"
            )


def tests_that_take(option: str) -> list[str]:
    """Return the tests to which a parameter means something."""
    if option in FOR_P_VALUES:
        return [name for name, test in TESTS.items() if test.p_value]
    if option in FOR_LABELS:
        return [name for name, test in TESTS.items() if LABELS in test.columns]
    return owners_of(TESTS, option)
