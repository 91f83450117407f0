"""What a test of x ⟂ y | Z is: a result, a verdict, and the CITest protocol."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from gml.counts.counter import Triple

INDEPENDENT = "independent"
DEPENDENT = "dependent"
INSUFFICIENT = "insufficient"

# p = α counts as dependent, and the logarithm of m·p/m may miss it in the last bit.
_TIE = 1e-12


@dataclass(frozen=True)
class CIResult:
    """Outcome of one test; None where a quantity does not apply.

    `log_p` is the natural logarithm of the p-value; `sufficient` is False when the data cannot
    tell, `varies` is False when x or y has one level only.
    """

    statistic: float
    df: float | None
    log_p: float | None
    mi: float | None
    n: int
    cramers_v: float | None = None
    sufficient: bool = True
    varies: bool = True


class CITest(Protocol):
    """A conditional independence test over the columns of a counter.

    A test written by a user needs the call and `verdict`; learners use `batch` where there is one.
    """

    name: str

    def __call__(self, x: int, y: int, given: Sequence[int] = ()) -> CIResult:
        """Test x ⟂ y given a set of columns (positions)."""

    def batch(self, triples: Sequence[Triple]) -> list[CIResult]:
        """Run many tests."""

    def verdict(self, result: CIResult, alpha: float, log_p: float | None = None) -> str:
        """Judge a result; `log_p` replaces the result's own p-value (for adjusted ones)."""


class SingleTest(ABC):
    """One test is a batch of one."""

    name = ""

    def __call__(self, x: int, y: int, given: Sequence[int] = ()) -> CIResult:
        """Test x ⟂ y given a set of columns (positions)."""
        return self.batch([(x, y, tuple(given))])[0]

    @abstractmethod
    def batch(self, triples: Sequence[Triple]) -> list[CIResult]:
        """Run many tests."""


class PValueTest(SingleTest):
    """Judges by the p-value."""

    def verdict(self, result: CIResult, alpha: float, log_p: float | None = None) -> str:
        """Dependent iff p ≤ α."""
        if not result.sufficient or result.log_p is None:
            return INSUFFICIENT
        decisive = result.log_p if log_p is None else log_p
        return DEPENDENT if decisive <= math.log(alpha) + _TIE else INDEPENDENT
