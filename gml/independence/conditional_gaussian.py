"""The conditional Gaussian test: a likelihood ratio of regressions within groups of labels.

Labels of Z make groups of rows; in each, y is regressed on the numbers of Z, with an intercept,
coefficients and a variance of the group's own (Lauritzen 1996, chapter 6; Edwards 2000, section
4.2, and `mi-cg` of bnlearn). Variances have the rows of the group as their divisor. Twice the
logarithm of the likelihood ratio is

    Σ n_g ln σ²_g(y | Z) − Σ n_h ln σ²_h(y | Z, x)

over the groups g of Z and h of Z and x, where a number x is one more regressor and a label x
splits the groups; I is half of that per row. Degrees of freedom are the difference of parameters,
over the levels seen, as in the `full` rule of G: ∏r_Z if x is a number, ∏r_Z·(r_x − 1)·(k + 2) with
k numbers in Z if it is a label.

Of a label and a number, the number is y: the other way round is no conditional Gaussian model. Of
two numbers it does not matter which is y. Labels alone are compared by G with full degrees of
freedom, which is the same likelihood ratio. Two labels given a number have no such test, and are
refused. Where a group with rows has too few of them, or no variance left, there is no result
(`gml.counts.residuals`). A constant column is independent of everything, and tells nothing in Z.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.counter import Counter, Family, Residuals, TableSet, Triple
from gml.counts.exact_moments import complete_rows
from gml.counts.memory import MemoryCounter
from gml.counts.poor_groups import poor_groups
from gml.errors import UsageError, listing, parameter, quote
from gml.independence.base import NO_ROWS, CIResult, PValueTest, ResultArrays
from gml.independence.registry import TESTS, KnownTest
from gml.independence.some_columns import OverSomeColumns
from gml.independence.transforms import refuse_ranks, transformed
from gml.parameters import LABELS
from gml.stopping import check_stopped

# Moments of so many tests are held at a time, to say what they lack.
_EXPLAINED_AT_ONCE = 256


class _Question(NamedTuple):
    """A test of a number y: both families, and the degrees of freedom."""

    without_x: Family
    with_x: Family
    df: float


class ConditionalGaussianTest(PValueTest):
    """A likelihood ratio within groups of labels."""

    def __init__(
        self, facts: KnownTest, counter: Counter, *, threads: int | None = None, **options: Any
    ) -> None:
        super().__init__(facts, counter, threads=threads, **options)
        refuse_ranks(self.name, self._options["transform"])
        self._counter = transformed(counter, self._options["transform"], threads)
        self._is_number = [variable.is_continuous for variable in counter.variables]
        self._seen: dict[int, int] = {}
        self._g: OverSomeColumns | None = None

    def batch(self, triples: Sequence[Triple]) -> ResultArrays:
        """Run many tests."""
        found = ResultArrays.blank(len(triples))
        tables, questions, asked = [], [], []
        for k, (x, y, given) in enumerate(triples):
            numbers = [self._is_number[j] for j in (x, y)]
            if not any(numbers):
                self._refuse_numbers_given(x, y, given)
                tables.append(k)
                continue
            question = self._question(x, y, given)
            if question is not None:
                asked.append(k)
                questions.append(question)
        if tables:
            part = self._of_labels().batch([triples[k] for k in tables])
            found.place(np.array(tables, dtype=np.int64), part)
        constant = np.setdiff1d(np.arange(len(triples)), [*tables, *asked])
        rows = [self._rows_of(triples[k]) for k in constant.tolist()]
        found.place(constant, _independent(np.array(rows, dtype=np.int64)))
        if asked:
            found.place(np.array(asked, dtype=np.int64), self._compared(questions))
        return found

    def _refuse_numbers_given(self, x: int, y: int, given: Sequence[int]) -> None:
        numbers = [self.names[j] for j in given if self._is_number[j]]
        if numbers:
            raise UsageError(
                f"{self.name} has no test of two columns of labels, {quote(self.names[x])} and "
                f"{quote(self.names[y])}, given numbers ({listing(numbers)}): use "
                f"{parameter('test', 'auto')} or {parameter('test', 'dg')}"
            )

    def _question(self, x: int, y: int, given: Sequence[int]) -> _Question | None:
        """What to compare; None if a column is constant."""
        if self._levels(x) < 2 or self._levels(y) < 2:
            return None
        order = self._counter.order
        x, y = sorted((x, y), key=lambda j: (self._is_number[j], order.rank[j]))
        telling = tuple(j for j in order.sorted(given) if self._levels(j) > 1)
        df = 1.0
        for j in telling:
            df *= 1.0 if self._is_number[j] else float(self._levels(j))
        if not self._is_number[x]:
            n_numbers = sum(self._is_number[j] for j in telling)
            df *= (self._levels(x) - 1) * (n_numbers + 2)
        return _Question((y, telling), (y, (*telling, x)), df)

    def _rows_of(self, triple: Triple) -> int:
        """The rows complete in the columns of a test."""
        if not self._counter.missing:
            return self._counter.n
        x, y, given = triple
        data = self._counter.require_rows(f"{self.name} where values are missing")
        rows = complete_rows(data, [x, y, *given])
        return len(rows) if data.weights is None else int(data.weights[rows].sum())

    def _levels(self, column: int) -> int:
        """The levels of a column that occur; 2 stands for numbers that are not all the same."""
        if column not in self._seen:
            if self._is_number[column]:
                seen = 1 + bool(self._counter.moments([column]).cross[0][0])
            else:
                (counts,) = self._counter.tables([TableSet((column,))])
                seen = int(np.count_nonzero(counts.table))
            self._seen[column] = seen
        return self._seen[column]

    def _of_labels(self) -> OverSomeColumns:
        if self._g is None:
            self._g = OverSomeColumns(
                TESTS["g"].load(), TESTS["g"], self._counter, LABELS, self._threads, df="full"
            )
        return self._g

    def _compared(self, questions: Sequence[_Question]) -> ResultArrays:
        if self._counter.missing:
            left = Residuals.concatenate([self._of_complete_rows(q) for q in questions])
        else:
            families = [family for q in questions for family in (q.without_x, q.with_x)]
            left = self._counter.residuals(families)
        n, sufficient = left.n[1::2], left.sufficient[::2] & left.sufficient[1::2]
        gain = np.where(sufficient, left.log_sum[::2] - left.log_sum[1::2], 0.0)
        statistic = np.maximum(gain, 0.0)
        df = np.array([q.df for q in questions], dtype=np.float64)
        return ResultArrays(
            statistic=statistic,
            df=df,
            log_p=np.where(sufficient, kernel.active().log_chi2_upper(statistic, df), np.nan),
            mi=np.where(sufficient, statistic / (2 * np.maximum(n, 1)), np.nan),
            n=n,
            sufficient=sufficient,
            varies=np.ones(len(n), dtype=bool),
            strata=np.maximum(left.groups[1::2], 1),
        )

    def _of_complete_rows(self, question: _Question) -> Residuals:
        """Both regressions over the rows that have a value in every column of the test."""
        check_stopped()
        counter, families = self._over_complete_rows(question)
        return counter.residuals(families)

    def _over_complete_rows(self, question: _Question) -> tuple[Counter, list[Family]]:
        """The rows that have a value in every column of a test, and both families over them."""
        families = [question.without_x, question.with_x]
        if not self._counter.missing:
            return self._counter, families
        y, members = question.with_x
        columns = [y, *members]
        data = self._counter.require_rows(f"{self.name} where values are missing")
        keep = np.zeros(data.n_rows, dtype=bool)
        keep[complete_rows(data, columns)] = True
        complete = data.rows(keep).select(self.names[j] for j in columns)
        place = {j: k for k, j in enumerate(columns)}
        counter = MemoryCounter(complete, threads=1, max_memory=self._counter.budget)
        return counter, [(0, tuple(place[j] for j in parents)) for _, parents in families]

    def why_insufficient(
        self, x: int, y: int, given: Sequence[int], result: CIResult | None = None
    ) -> str | None:
        """Name the group of rows that has too few of them, or no variance left."""
        question = self._question_of_numbers(x, y, given)
        if question is None:
            return None
        counter, families = self._over_complete_rows(question)
        (why,) = _lacking(counter, [families])
        return why

    def why_all_insufficient(
        self, triples: Sequence[Triple], results: Sequence[CIResult]
    ) -> list[str | None]:
        """The same of several tests: the rows are read for many of them at once."""
        if self._counter.missing:
            return super().why_all_insufficient(triples, results)
        found: list[str | None] = [None] * len(triples)
        asked = [
            (k, question)
            for k, triple in enumerate(triples)
            if (question := self._question_of_numbers(*triple)) is not None
        ]
        for start in range(0, len(asked), _EXPLAINED_AT_ONCE):
            check_stopped()
            some = asked[start : start + _EXPLAINED_AT_ONCE]
            said = _lacking(self._counter, [[q.without_x, q.with_x] for _, q in some])
            for (k, _), why in zip(some, said, strict=True):
                found[k] = why
        return found

    def _question_of_numbers(self, x: int, y: int, given: Sequence[int]) -> _Question | None:
        is_of_labels = not any(self._is_number[j] for j in (x, y))
        return None if is_of_labels else self._question(x, y, given)


def _lacking(counter: Counter, pairs: Sequence[Sequence[Family]]) -> list[str | None]:
    """Say, of both families of each test, what the first lacks for which rows do not suffice."""
    if not counter.n:
        return [NO_ROWS] * len(pairs)
    families = [family for pair in pairs for family in pair]
    sufficient = counter.residuals(families).sufficient.reshape(len(pairs), -1)
    poor = [k for k in range(len(pairs)) if not sufficient[k].all()]
    first = [pairs[k][int(np.argmin(sufficient[k]))] for k in poor]
    found: list[str | None] = [None] * len(pairs)
    for k, (child, _), group in zip(poor, first, poor_groups(counter, first), strict=True):
        found[k] = f"{group} for the regression of {quote(counter.variables[child].name)}"
    return found


def _independent(n: NDArray[np.int64]) -> ResultArrays:
    """Results of tests with a constant column."""
    zeros = np.zeros(len(n))
    return ResultArrays(
        statistic=zeros,
        df=zeros,
        log_p=zeros,
        mi=zeros,
        n=n,
        sufficient=n > 0,
        varies=np.ones(len(n), dtype=bool),
    )
