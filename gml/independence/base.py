"""What a test of x ⟂ y | Z is: a result, a verdict, and what a test must have.

Besides its verdict every test has a *margin*: how strongly a result speaks for independence, in
nats. Independent means a margin of at least 0; an insufficient result has none (NaN). For tests
with a p-value it is ln p − ln α, for the Bayes factor the threshold less ln BF, for the BIC
threshold the BIC that the arc would cost, so that learners can compare results whatever the test.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter, Triple
from gml.data.column_kinds import require_kinds
from gml.independence.registry import TESTS, KnownTest

INDEPENDENT = "independent"
DEPENDENT = "dependent"
INSUFFICIENT = "insufficient"
NO_ROWS = "no row has a value in every column of the test"

# p = α counts as dependent, and the logarithm of m·p/m may miss it in the last bit.
_TIE = 1e-12


def probability(log_p: float | None) -> float | None:
    """p to the 15 digits that its logarithm holds, so that 1/200 is 0.005."""
    return None if log_p is None else float(f"{math.exp(log_p):.15g}")


@dataclass(frozen=True)
class CIResult:
    """Outcome of one test; None where a quantity does not apply.

    `log_p` is the natural logarithm of the p-value; `sufficient` is False when the data cannot
    tell, `varies` is False when x or y has only one level; `strata` counts the configurations of
    Z that occur.
    """

    statistic: float
    df: float | None
    log_p: float | None
    mi: float | None
    n: int
    cramers_v: float | None = None
    sufficient: bool = True
    varies: bool = True
    strata: int | None = None
    test: str | None = None
    """The test of `gml.TESTS` that made it, if the one asked left that open."""
    details: Mapping[str, Any] | None = None
    """What else the test says of the result: bandwidths, where the p-value is from."""
    size: float | None = field(default=None, repr=False, compare=False)
    """By what the test tells whether rows are enough, beside their number: cells of the table."""

    @property
    def p_value(self) -> float | None:
        """The p-value, which may be too small for a float; `log_p` never is."""
        return probability(self.log_p)


@dataclass(frozen=True)
class ResultArrays(Sequence[CIResult]):
    """Many results, one column per quantity; NaN, or no column at all, where it does not apply."""

    statistic: NDArray[np.float64]
    n: NDArray[np.int64]
    sufficient: NDArray[np.bool_]
    varies: NDArray[np.bool_]
    df: NDArray[np.float64] | None = None
    log_p: NDArray[np.float64] | None = None
    mi: NDArray[np.float64] | None = None
    cramers_v: NDArray[np.float64] | None = None
    strata: NDArray[np.int64] | None = None
    strained: NDArray[np.bool_] | None = None
    """Whether the table is too sparse for the distribution that the p-value comes from."""
    by: NDArray[np.int8] | None = None
    """Which of `gml.TESTS` made each, by its place; −1, or no column, if it is the one asked."""
    details: NDArray[np.object_] | None = None
    """What else tests say of their results, a mapping each with the same names."""
    size: NDArray[np.float64] | None = None
    """By what a test tells whether rows are enough, so that reasons need not be counted again."""

    def __len__(self) -> int:
        return len(self.n)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return [self[i] for i in range(*k.indices(len(self)))]
        sufficient = bool(self.sufficient[k])
        return CIResult(
            statistic=float(self.statistic[k]),
            df=_value(self.df, k),
            log_p=_value(self.log_p, k) if sufficient else None,
            mi=_value(self.mi, k),
            n=int(self.n[k]),
            cramers_v=_value(self.cramers_v, k),
            sufficient=sufficient,
            varies=bool(self.varies[k]),
            strata=None if self.strata is None else int(self.strata[k]),
            test=None if self.by is None or self.by[k] < 0 else list(TESTS)[self.by[k]],
            details=None if self.details is None else self.details[k],
            size=_value(self.size, k),
        )

    def __iter__(self) -> Iterator[CIResult]:
        return (self[k] for k in range(len(self)))

    @classmethod
    def of(cls, results: Sequence[CIResult]) -> ResultArrays:
        """The columns of results that were found one by one."""
        strata = [result.strata for result in results]
        return cls(
            statistic=np.array([result.statistic for result in results], dtype=np.float64),
            n=np.array([result.n for result in results], dtype=np.int64),
            sufficient=np.array([result.sufficient for result in results], dtype=bool),
            varies=np.array([result.varies for result in results], dtype=bool),
            strata=None
            if all(number is None for number in strata)
            else np.array([number or 0 for number in strata], dtype=np.int64),
            df=_column([result.df for result in results]),
            log_p=_column([result.log_p for result in results]),
            mi=_column([result.mi for result in results]),
            cramers_v=_column([result.cramers_v for result in results]),
            size=_column([result.size for result in results]),
        )

    @classmethod
    def blank(cls, n: int) -> ResultArrays:
        """Room for n results of several tests, every column there and without content."""
        return cls(
            statistic=np.zeros(n),
            n=np.zeros(n, dtype=np.int64),
            sufficient=np.zeros(n, dtype=bool),
            varies=np.ones(n, dtype=bool),
            df=np.full(n, np.nan),
            log_p=np.full(n, np.nan),
            mi=np.full(n, np.nan),
            cramers_v=np.full(n, np.nan),
            strata=np.ones(n, dtype=np.int64),
            strained=np.zeros(n, dtype=bool),
            by=np.full(n, -1, dtype=np.int8),
            size=np.full(n, np.nan),
        )

    @classmethod
    def room(cls, n: int, like: ResultArrays) -> ResultArrays:
        """Room for n results with the columns of others, except the strata, which none reports."""
        columns: dict[str, Any] = {
            name: None if column is None or name == "strata" else np.empty(n, dtype=column.dtype)
            for name, column in vars(like).items()
        }
        return cls(**columns)

    def put(self, start: int, part: ResultArrays) -> None:
        """Set the results from a position on."""
        self.place(slice(start, start + len(part)), part)

    def place(self, which: slice | NDArray[np.int64], part: ResultArrays) -> None:
        """Set some of the results; what these do not have stays as it is."""
        for name, column in vars(self).items():
            if column is not None and vars(part)[name] is not None:
                column[which] = vars(part)[name]

    def take(self, which: NDArray[np.int64]) -> ResultArrays:
        """Some of the results, without the memory of the others."""
        columns: dict[str, Any] = {
            name: None if column is None else column[which] for name, column in vars(self).items()
        }
        return ResultArrays(**columns)


def _column(values: Sequence[float | None]) -> NDArray[np.float64] | None:
    if all(value is None for value in values):
        return None
    return np.array([math.nan if v is None else v for v in values], dtype=np.float64)


def _value(column: NDArray[np.float64] | None, k: int) -> float | None:
    return None if column is None or math.isnan(column[k]) else float(column[k])


@runtime_checkable
class CITest(Protocol):
    """A conditional independence test of named variables: all that a learner needs of it.

    Such an object may also have a `verdict` (`Judging`; else p ≤ α means dependent) and a `batch`
    (`Batching`; else it is called for one test at a time).
    """

    @property
    def names(self) -> Sequence[str]:
        """The variables; tests refer to them by position."""

    def __call__(self, x: int, y: int, given: Sequence[int] = ()) -> CIResult:
        """Test x ⟂ y given a set of columns (positions)."""


@runtime_checkable
class Judging(Protocol):
    """A test with its own rule for when x and y are dependent."""

    def verdict(self, result: CIResult, alpha: float, log_p: float | None = None) -> str:
        """Judge a result; `log_p` replaces the result's own p-value (for adjusted ones)."""


@runtime_checkable
class Batching(Protocol):
    """A test that is faster with many questions at once."""

    def batch(self, triples: Sequence[Triple]) -> Iterable[CIResult]:
        """Run many tests."""


class IndependenceTest(ABC):
    """A test as all of gml uses it; a subclass needs `names` and `batch`."""

    name: str = ""
    names: Sequence[str]
    df_rule: str | None = None
    """How degrees of freedom are counted, where there are any."""

    def __call__(self, x: int, y: int, given: Sequence[int] = ()) -> CIResult:
        """Test x ⟂ y given a set of columns (positions)."""
        result: CIResult = self.batch([(x, y, tuple(given))])[0]
        return result

    @abstractmethod
    def batch(self, triples: Sequence[Triple]) -> ResultArrays:
        """Run many tests."""

    @property
    def pass_rows(self) -> int:
        """Rows that every batch reads again; where it is not 0, few large batches are faster."""
        return 0

    def verdict(self, result: CIResult, alpha: float, log_p: float | None = None) -> str:
        """Judge a result; `log_p` replaces the result's own p-value (for adjusted ones)."""
        return verdict_by_p(result, alpha, log_p)

    def why_insufficient(
        self, x: int, y: int, given: Sequence[int], result: CIResult | None = None
    ) -> str | None:
        """Say what the data lack for a test that was insufficient, if that is known.

        Without the result of the test, it is run again.
        """
        return None

    def why_all_insufficient(
        self, triples: Sequence[Triple], results: Sequence[CIResult]
    ) -> list[str | None]:
        """The same of several tests; one that needs the rows for that asks for all at once."""
        return [
            self.why_insufficient(x, y, given, result)
            for (x, y, given), result in zip(triples, results, strict=True)
        ]

    def reason(
        self, x: int, y: int, given: Sequence[int], result: CIResult, alpha: float
    ) -> str | None:
        """Say why a result is insufficient, if that is known; None for any other."""
        return self.reasons([(x, y, tuple(given))], [result], alpha)[0]

    def reasons(
        self, triples: Sequence[Triple], results: Sequence[CIResult], alpha: float
    ) -> list[str | None]:
        """The same of several tests."""
        found: list[str | None] = [None] * len(results)
        lacking = []
        for k, result in enumerate(results):
            if self.verdict(result, alpha) == INSUFFICIENT and result.sufficient:
                found[k] = self.why_undecided(alpha)
            elif self.verdict(result, alpha) == INSUFFICIENT:
                lacking.append(k)
        said = self.why_all_insufficient(
            [triples[k] for k in lacking], [results[k] for k in lacking]
        )
        for k, why in zip(lacking, said, strict=True):
            found[k] = why
        return found

    def why_undecided(self, alpha: float) -> str | None:
        """Say why a result that has a p-value decides nothing, if that is known."""
        return None

    def margins(self, results: ResultArrays, alpha: float) -> NDArray[np.float64]:
        """How strongly each result speaks for independence: from 0 independent, NaN insufficient.

        The verdict decides the sign; a p-value, if there is one, the size.
        """
        return np.array([self._margin(result, alpha) for result in results], dtype=np.float64)

    def _margin(self, result: CIResult, alpha: float) -> float:
        verdict = self.verdict(result, alpha)
        if verdict == INSUFFICIENT:
            return math.nan
        margin = 0.0 if result.log_p is None else result.log_p - math.log(alpha)
        return max(margin, 0.0) if verdict == INDEPENDENT else min(margin, -_TIE)


class CounterTest(IndependenceTest):
    """A test over the columns of a counter, made by its entry of the registry."""

    def __init__(
        self, facts: KnownTest, counter: Counter, *, threads: int | None = None, **options: Any
    ) -> None:
        """Take the options of the entry; `threads` are for what is not counting."""
        self._options = facts.values(options)
        require_kinds(facts.name, facts.columns, counter.variables)
        self.name = facts.name
        self.df_rule = self._options.get("df", facts.df_rule)
        self._facts = facts
        self._counter = counter
        self._threads = threads
        self.names = tuple(variable.name for variable in counter.variables)

    @property
    def options(self) -> Mapping[str, Any]:
        """The values of all options, given or not."""
        return self._options

    @property
    def pass_rows(self) -> int:
        """Rows that every batch reads again."""
        return self._counter.pass_rows


class PValueTest(CounterTest):
    """Judges by the p-value."""

    def margins(self, results: ResultArrays, alpha: float) -> NDArray[np.float64]:
        """ln p − ln α of each result."""
        assert results.log_p is not None
        return np.where(results.sufficient, results.log_p - (math.log(alpha) + _TIE), np.nan)


def settle_ties(
    margins: NDArray[np.float64], size: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    """Set margins to 0 that differ from it only by the rounding of quantities of this size."""
    return np.where(np.abs(margins) <= _TIE * np.maximum(1.0, size), 0.0, margins)


def verdict_of_margin(margin: float) -> str:
    """Independent means a margin of at least 0."""
    if math.isnan(margin):
        return INSUFFICIENT
    return INDEPENDENT if margin >= 0 else DEPENDENT


def verdict_by_p(result: CIResult, alpha: float, log_p: float | None = None) -> str:
    """Dependent iff p ≤ α."""
    if not result.sufficient or result.log_p is None:
        return INSUFFICIENT
    decisive = result.log_p if log_p is None else log_p
    return DEPENDENT if decisive <= math.log(alpha) + _TIE else INDEPENDENT


def tiny_p(log10_p: float, digits: int) -> str:
    """Write a p-value that would be 0 as a float.

    Examples
    --------
    >>> tiny_p(-497.886, 3)
    '1.3e-498'
    """
    exponent = math.floor(log10_p)
    return f"{10 ** (log10_p - exponent):.{digits}g}e{exponent}"
