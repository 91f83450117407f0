"""Tests that users bring, with all that gml asks of a test."""

from __future__ import annotations

from collections.abc import Sequence

from gml.counts.questions import Triple
from gml.errors import UsageError, counted, kind_of
from gml.independence.base import (
    Batching,
    CIResult,
    CITest,
    IndependenceTest,
    Judging,
    ResultArrays,
    verdict_by_p,
)


def as_test(test: CITest) -> IndependenceTest:
    """Return any test as one that has everything gml uses.

    Examples
    --------
    >>> import math
    >>> class Guess:
    ...     names = ("a", "b")
    ...     def __call__(self, x, y, given=()):
    ...         return CIResult(1.0, None, math.log(0.3), None, 10)
    >>> test = as_test(Guess())
    >>> test.name, test.verdict(test(0, 1), 0.05)
    ('Guess', 'independent')
    """
    return test if isinstance(test, IndependenceTest) else _AdaptedTest(test)


class _AdaptedTest(IndependenceTest):
    """A user's test that has only the required parts."""

    def __init__(self, test: CITest) -> None:
        self.name = type(test).__name__
        self.names = test.names
        self._test = test
        self._judge = test.verdict if isinstance(test, Judging) else verdict_by_p

    def batch(self, triples: Sequence[Triple]) -> ResultArrays:
        """Run many tests, one by one if need be."""
        if isinstance(self._test, Batching):
            results = list(self._test.batch(triples))
        else:
            results = [self._test(*triple) for triple in triples]
        for result in results:
            if not isinstance(result, CIResult):
                raise UsageError(
                    f"the test {self.name} returned {kind_of(result)}, and must return a CIResult: "
                    "CIResult(statistic, df, log_p, mi, n), log_p the natural logarithm of p"
                )
        if len(results) != len(triples):
            raise UsageError(
                f"the test {self.name} returned {counted(len(results), 'result')} for "
                f"{counted(len(triples), 'question')}"
            )
        return ResultArrays.of(results)

    def verdict(self, result: CIResult, alpha: float, log_p: float | None = None) -> str:
        """Judge by the rule of the test, or by p."""
        return self._judge(result, alpha, log_p)
