"""The degenerate Gaussian test: labels as indicators, then Wilks' test of two blocks of columns.

A column of labels stands for the indicators of its levels but one (Andrews, Ramsey & Cooper 2019,
Proc. Mach. Learn. Res. 104:4), a column of numbers for itself. With Λ the quotient of determinants
|S_xyZ|·|S_Z| / |S_xZ|·|S_yZ| of covariances, a and b columns of x and y and q of Z,

    −(n − 1 − q − (a + b + 1)/2)·ln Λ  against χ² with a·b degrees of freedom

(Bartlett 1938; Anderson 2003, section 9.8.4, for the residuals of regressions on q columns), and
I = −½ ln Λ. Its null hypothesis is that no linear combination of the columns of x correlates with
one of y, given sums of effects of single columns of Z: *not* independence. A dependence without
such a correlation escapes it; an independence given Z whose columns interact may look like
dependence.

Indicators that Z determines count as absent, and so do levels that do not occur; a constant column
is independent of everything, and a label that Z determines altogether leaves no result. Where an
indicator of y is determined by x and Z, but not by Z alone, Λ is 0: the statistic and I are
infinite, and p is 0. (Where Z has numbers, exact sums decide whether nothing is left of it.)
Numbers that are functions of other columns are an error (`gml.counts.block_regressions`). x and y
are in order of their names, but a number comes after a label. No result with n ≤ q + a + b + 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.block_regressions import BlockRegressions, BlockResiduals
from gml.counts.counter import Counter, ExpandedMoments, Triple
from gml.counts.exact_algebra import CollinearError
from gml.errors import quote
from gml.independence.base import NO_ROWS, CIResult, PValueTest, ResultArrays
from gml.independence.registry import KnownTest
from gml.independence.transforms import refuse_ranks, transformed
from gml.resources import available_threads
from gml.stopping import check_stopped

_BATCH = 1 << 14


class DegenerateGaussianTest(PValueTest):
    """Wilks' Λ of numbers and of indicators of levels."""

    def __init__(
        self, facts: KnownTest, counter: Counter, *, threads: int | None = None, **options: Any
    ) -> None:
        super().__init__(facts, counter, threads=threads, **options)
        refuse_ranks(self.name, self._options["transform"])
        self._counter = transformed(counter, self._options["transform"], threads)
        self._is_number = [variable.is_continuous for variable in counter.variables]
        self._of_all: tuple[ExpandedMoments, BlockRegressions] | None = None

    def batch(self, triples: Sequence[Triple]) -> ResultArrays:
        """Run many tests."""
        found = ResultArrays.blank(len(triples))
        if self._counter.missing:
            for k, triple in enumerate(triples):
                check_stopped()
                x, y, given = triple
                known = self._made([x, y, *given])
                found.put(k, self._tested(known, [triple]))
                assert found.size is not None
                found.size[k] = _rows_needed(known[0], (x, y, *given))
            return found
        of_all = self._made_once()
        for start in range(0, len(triples), _BATCH):
            found.put(start, self._tested(of_all, triples[start : start + _BATCH]))
        return found

    def _made_once(self) -> tuple[ExpandedMoments, BlockRegressions]:
        if self._of_all is None:
            self._of_all = self._made(range(len(self.names)))
        return self._of_all

    def _tested(
        self, known: tuple[ExpandedMoments, BlockRegressions], triples: Sequence[Triple]
    ) -> ResultArrays:
        moments, _ = known
        asked = [self._ordered(triple) for triple in triples]
        found = ResultArrays.blank(len(asked))
        width = {j: len(block) for j, block in moments.blocks.items()}
        few = [moments.n <= sum(width[j] for j in (x, y, *z)) + 1 for x, y, z in asked]
        for k in np.flatnonzero(few).tolist():
            # With as many columns as rows, numbers follow from others whatever they are.
            try:
                found.put(k, self._answered(known, [asked[k]]))
            except CollinearError:
                found.put(k, _too_few(moments.n))
        enough = np.flatnonzero(~np.array(few, dtype=bool))
        if len(enough) == len(asked):
            return self._answered(known, asked)
        if len(enough):
            found.place(enough, self._answered(known, [asked[k] for k in enough.tolist()]))
        return found

    def _answered(
        self, known: tuple[ExpandedMoments, BlockRegressions], asked: Sequence[Triple]
    ) -> ResultArrays:
        moments, regressions = known
        alone = regressions.residuals([(given, (y,)) for _, y, given in asked])
        with_x = regressions.residuals([((*given, x), (y,)) for x, y, given in asked])
        size = {j: len(block) for j, block in moments.blocks.items()}
        varies = np.array([size[x] > 0 and size[y] > 0 for x, y, _ in asked], dtype=bool)
        lost = np.where(with_x.determined > alone.determined, -np.inf, 0.0)
        for k in np.flatnonzero(lost).tolist():
            x, y, given = asked[k]
            if any(self._is_number[j] for j in given):
                lost[k] = regressions.exact_log_lost(given, x, y)
        return _results(moments.n, varies, alone, with_x, lost)

    def why_insufficient(
        self, x: int, y: int, given: Sequence[int], result: CIResult | None = None
    ) -> str | None:
        """Say that rows are too few for the columns, or that Z determines one of the two."""
        x, y, given = self._ordered((x, y, tuple(given)))
        if result is not None and result.size is not None:
            n, needed = result.n, int(result.size)
        else:
            known = self._made([x, y, *given]) if self._counter.missing else self._made_once()
            n, needed = known[0].n, _rows_needed(known[0], (x, y, *given))
        if not n:
            return NO_ROWS
        if n < needed:
            return (
                f"{n} of up to {needed} rows needed, two more than columns: numbers, and "
                "levels but one of labels"
            )
        return f"the columns given determine {quote(self.names[x])} or {quote(self.names[y])}"

    def _ordered(self, triple: Triple) -> Triple:
        x, y, given = triple
        order, is_number = self._counter.order, self._is_number
        x, y = sorted((x, y), key=lambda j: (is_number[j], order.rank[j]))
        return x, y, order.sorted(given)

    def _made(self, columns: Sequence[int]) -> tuple[ExpandedMoments, BlockRegressions]:
        moments = self._counter.expanded_moments(columns)
        threads = self._threads or available_threads()
        return moments, BlockRegressions(moments, self.names, threads=threads)


def _rows_needed(moments: ExpandedMoments, members: Iterable[int]) -> int:
    """Two more than there are numbers, and levels but one of labels."""
    return sum(len(moments.blocks[j]) for j in members) + 2


def _too_few(rows: int) -> ResultArrays:
    """No result, for want of rows."""
    found = ResultArrays.blank(1)
    found.n[0] = rows
    assert found.strata is not None
    found.strata[0] = max(rows, 1)
    return found


def _results(
    rows: int,
    varies: NDArray[np.bool_],
    alone: BlockResiduals,
    with_x: BlockResiduals,
    lost: NDArray[np.float64],
) -> ResultArrays:
    """The results of tests, from what is left of y given Z, and given Z and x.

    `lost` is the ln of what is left of indicators of y that x and Z determine.
    """
    q, b = alone.given_rank, alone.rank
    a = with_x.given_rank - q
    df = (a * b).astype(np.float64)
    log_wilks = with_x.log_left + lost - alone.log_left
    # A label that is a function of Z leaves nothing to be tested, as in a table.
    enough = rows > q + a + b + 1
    sufficient = enough & ((df > 0) | ~varies)
    log_wilks = np.where(sufficient & (df > 0), np.minimum(log_wilks, 0.0), 0.0)
    factor = np.maximum(rows - 1 - q - (a + b + 1) / 2, 0.0)
    finite = np.where(np.isfinite(log_wilks), log_wilks, 0.0)
    statistic = np.where(np.isfinite(log_wilks), -factor * finite + 0.0, np.inf)
    log_p = kernel.active().log_chi2_upper(-factor * finite + 0.0, np.maximum(df, 1.0))
    log_p = np.where(np.isfinite(log_wilks), log_p, -np.inf)
    return ResultArrays(
        statistic=statistic,
        df=df,
        log_p=np.where(sufficient, log_p, np.nan),
        mi=np.where(sufficient, -0.5 * log_wilks + 0.0, np.nan),
        n=np.full(len(df), rows, dtype=np.int64),
        sufficient=sufficient,
        varies=np.ones(len(df), dtype=bool),
        # There are no strata: learners keep what is a function of Z, and drop where rows are few.
        strata=np.where(enough, 1, max(rows, 1)),
    )
