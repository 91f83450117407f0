"""What tests that look at rows, not at tables or moments, have in common.

Each test has its own rows (`gml.independence.row_columns`). Tests run side by side in threads, as
many as there is memory for; products of matrices within one use a single thread, so that sums do
not depend on their number.

With fewer rows than the test says there is no result. A column that has one value only, in the rows
of the test, is independent of everything; in Z it is left out.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Triple
from gml.data.dataset import Dataset
from gml.data.name_keys import joint_key
from gml.errors import UsageError, parameter, quote
from gml.independence.base import INSUFFICIENT, NO_ROWS, CIResult, PValueTest, ResultArrays
from gml.independence.row_columns import RowColumn, columns_of_test
from gml.kernel.blas import one_blas_thread
from gml.kernel.pool import in_order
from gml.progress import reporter
from gml.resources import available_threads, budget_in_force, require_memory

Details = Mapping[str, Any]
GAMMA, THREE_MOMENT, PERMUTATION = "gamma", "three-moment", "permutation"
"""Null distributions, as the field `null` of a result names them."""


class RowTest(PValueTest):
    """A test over rows; a subclass says how one is done, and what it takes."""

    least_rows = 10
    """With fewer rows there is no result."""
    detail_names: tuple[str, ...] = ()
    """What a result says besides; names that end in _x or _y are those of x and y as asked."""

    @abstractmethod
    def bytes_needed(self, n: int, given_points: int) -> int:
        """The most memory that a test of n rows takes.

        Columns that are given have so many rows of points: one for numbers, one for each label.
        """

    @abstractmethod
    def outcome(
        self, columns: Sequence[RowColumn], key: tuple[int, int], threads: int
    ) -> tuple[float, float, Details]:
        """Statistic, ln p and details of a test of the first two columns given the others.

        All of them vary; the first two are in the order of their names.
        """

    def batch(self, triples: Sequence[Triple]) -> ResultArrays:
        """Run many tests."""
        asked = list(triples)
        if any(given for _, _, given in asked):
            self._facts.require_conditional("others are given")
        data = self._counter.require_rows(self.name)
        points = [len(variable.levels or "x") for variable in data.variables]
        widest = max((sum(points[j] for j in given) for _, _, given in asked), default=0)
        need = self.bytes_needed(data.n, widest)
        require_memory(need, None, f"{self.name} of {data.n} rows", self._way_out())
        threads = self._threads or available_threads()
        side_by_side = max(1, min(threads, len(asked), budget_in_force() // max(need, 1)))
        within = threads if side_by_side == 1 else 1
        results = []
        with one_blas_thread():
            found = in_order(lambda triple: self._one(data, triple, within), asked, side_by_side)
            for result in found:
                results.append(result)
                reporter().advance("testing", len(results), len(asked))
        return self._arrays(results)

    def _way_out(self) -> str:
        return "" if self.name == "rcit" else f"; use {parameter('test', 'rcit')}"

    def _one(self, data: Dataset, triple: Triple, threads: int) -> CIResult:
        x, y, given = triple
        order = self._counter.order
        members = [*order.sorted((x, y)), *order.sorted(given)]
        columns = columns_of_test(data, members, self.name)
        n = len(_values(columns[0]))
        if n < self.least_rows:
            return CIResult(0.0, None, None, None, n, sufficient=False, details=self._details())
        if not (columns[0].varies and columns[1].varies):
            return CIResult(0.0, None, 0.0, None, n, varies=False, details=self._details())
        key = joint_key([self.names[j] for j in members], self._options.get("seed", 0))
        used = [*columns[:2], *(column for column in columns[2:] if column.varies)]
        for j, column in zip(members, columns, strict=True):
            if column.numbers is not None and not np.isfinite(column.numbers).all():
                raise UsageError(f"{self.name} needs finite numbers: column {quote(self.names[j])}")
        statistic, log_p, details = self.outcome(used, key, threads)
        details = details if members[0] == x else _swapped(details)
        return CIResult(
            statistic, None, min(log_p, 0.0), None, n, details=self._details() | dict(details)
        )

    def why_insufficient(
        self, x: int, y: int, given: Sequence[int], result: CIResult | None = None
    ) -> str | None:
        """Say that rows are too few."""
        n = (self(x, y, given) if result is None else result).n
        return f"{n} of {self.least_rows} rows needed" if n else NO_ROWS

    def _details(self) -> dict[str, Any]:
        return dict.fromkeys(self.detail_names)

    def _arrays(self, results: Sequence[CIResult]) -> ResultArrays:
        n = np.array([result.n for result in results], dtype=np.int64)
        log_p = [math.nan if result.log_p is None else result.log_p for result in results]
        details = np.empty(len(results), dtype=object)
        details[:] = [result.details for result in results]
        return ResultArrays(
            statistic=np.array([result.statistic for result in results], dtype=np.float64),
            log_p=np.array(log_p, dtype=np.float64),
            n=n,
            sufficient=np.array([result.sufficient for result in results], dtype=bool),
            varies=np.array([result.varies for result in results], dtype=bool),
            # A result is insufficient only where there are too few rows.
            strata=np.maximum(n, 1),
            details=details,
        )


class KernelTest(RowTest):
    """A test by kernels of x and y, of whose features Z, if any is given, explains what it can."""

    least_rows = 20
    detail_names = (
        "bandwidth_x",
        "bandwidth_y",
        "bandwidth_given_x",
        "bandwidth_given_y",
        "regulariser_x",
        "regulariser_y",
        "null",
    )
    share_of_z = 0.5
    """Half of Z counts besides x, as the paper of kci has it."""
    widths = (0.5, 1.0, 2.0)
    """Bandwidths of Z to choose from, in units of the usual one."""


class DrawnNullTest(RowTest):
    """A test whose null distribution is drawn where there are few rows (option `null`)."""

    FEW_ROWS = 200
    """Below this, `auto` draws."""
    null_of_many = GAMMA
    """What `auto` is with more rows."""

    def null_at(self, n: int) -> str:
        """Which null distribution a test of n rows has."""
        chosen: str = self._options["null"]
        if chosen != "auto":
            return chosen
        return PERMUTATION if n < self.FEW_ROWS else self.null_of_many

    def about_null(self, null: str) -> dict[str, Any]:
        """The details that say where p is from."""
        return {
            "null": null,
            "permutations": self._options["permutations"] if null == PERMUTATION else None,
        }

    def verdict(self, result: CIResult, alpha: float, log_p: float | None = None) -> str:
        """Dependent iff p ≤ α; no verdict when even the smallest p possible is above α."""
        if self._is_hopeless(result.details, alpha):
            return INSUFFICIENT
        return super().verdict(result, alpha, log_p)

    def why_undecided(self, alpha: float) -> str | None:
        """Say that there are too few draws."""
        return self._facts.too_few_draws(alpha, self._options)

    def margins(self, results: ResultArrays, alpha: float) -> NDArray[np.float64]:
        """ln p − ln α of each result; none when even the smallest p possible is above α."""
        margins = super().margins(results, alpha)
        if results.details is not None:
            hopeless = [self._is_hopeless(details, alpha) for details in results.details]
            margins[np.array(hopeless, dtype=bool)] = np.nan
        return margins

    def _is_hopeless(self, details: Details | None, alpha: float) -> bool:
        drawn = details is not None and details.get("null") == PERMUTATION
        return drawn and self._facts.least_p(self._options) > alpha

    def drawn_log_p(self, exceeds: Any, threads: int) -> float:
        """ln of (1 + #)/(B + 1); `exceeds(first, last)` counts among some of the draws."""
        total = self._options["permutations"]
        bounds = [(start, min(start + _CHUNK, total)) for start in range(0, total, _CHUNK)]
        found = in_order(lambda bound: int(exceeds(*bound)), bounds, threads)
        return math.log((1 + sum(found)) / (total + 1))


_CHUNK = 250


def _values(column: RowColumn) -> NDArray[Any]:
    values: NDArray[Any] | None = column.codes if column.numbers is None else column.numbers
    assert values is not None
    return values


def _swapped(details: Details) -> dict[str, Any]:
    """What is known of x and of y, the other way round."""
    other = {"_x": "_y", "_y": "_x"}
    return {name[:-2] + other.get(name[-2:], name[-2:]): value for name, value in details.items()}
