"""Fisher's z test of a partial correlation (Fisher 1915; Anderson 2003, section 4.3).

z = √(n−|Z|−3)·atanh r, two-sided against the normal distribution; its square against χ² with one
degree of freedom gives the same p-value and its logarithm. I = −½ ln(1−r²). Correlations come from
exact integer sums, and Z is eliminated by Cholesky's decomposition. Where less than a thousandth of
a variance is left on the way, rounding might show: there Z is eliminated from the exact integers by
Bareiss' fraction-free scheme (1968), so that no cancellation comes near r, however collinear the
columns are. A constant column is independent of everything. A column that is a linear function of
others, up to the precision of the numbers themselves, is an error.

With `transform`, the numbers are ranks or normal scores (`gml.independence.transforms`). The
matrix 2 sin(πρ/6) of ranks need not be positive definite: a test in which it is not has no partial
correlation and is insufficient. Two columns with the same or opposite ranks are an error, as two
linear functions of one another are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.counter import Counter, ExpandedMoments, Triple, TripleArray
from gml.counts.exact_algebra import eliminate, require_regular
from gml.counts.expanded_moments import bytes_of_matrix
from gml.counts.rank_correlations import normal_correlations
from gml.independence.base import NO_ROWS, CIResult, PValueTest, ResultArrays
from gml.independence.registry import KnownTest
from gml.independence.transforms import RANK, transformed
from gml.kernel.pool import in_order
from gml.resources import available_threads, require_memory
from gml.stopping import check_stopped

_MOST_KEPT = 4000
_MOST_LIMBS = 3
_CHUNK = 4096
# With less of a variance left than this, the regression is made again from exact integers.
_WELL_CONDITIONED = 1e-3
# A matrix of ranks with less left than this is not positive definite, or as good as not.
_POSITIVE = 1e-9
_PERFECT = 1 - 1e-12


class FisherZTest(PValueTest):
    """Partial correlation of numeric columns."""

    def __init__(
        self, facts: KnownTest, counter: Counter, *, threads: int | None = None, **options: Any
    ) -> None:
        super().__init__(facts, counter, threads=threads, **options)
        self._of_ranks = self._options["transform"] == RANK
        self._counter = transformed(counter, self._options["transform"], threads)
        self._known: _Correlations | None = None
        size = len(self.names)
        self._is_one = size <= _MOST_KEPT and not counter.missing
        # An engine that reads rows in passes has none of them in memory for this.
        rows = None if counter.pass_rows else counter.rows()
        self._bytes = bytes_of_matrix(
            size,
            _MOST_LIMBS * size,
            size,
            0 if rows is None else rows.n_rows,
            weights=None if rows is None else rows.weights,
            threads=threads or 1,
        )
        self._keeps = self._is_one and self._bytes <= counter.budget

    def batch(self, triples: Sequence[Triple]) -> ResultArrays:
        """Run many tests."""
        size = len(self.names)
        if self._is_one and not self._keeps and len(triples) > size:
            # So many tests one by one would take too long.
            require_memory(self._bytes, self._counter.budget, f"the moments of {size} columns")
        n = np.empty(len(triples), dtype=np.int64)
        slopes, found = np.empty(len(triples)), np.ones(len(triples), dtype=bool)
        sizes = np.empty(len(triples), dtype=np.int64)
        for which, sets in self._sets(triples):
            sizes[which] = sets.shape[1] - 2
            if self._keeps:
                of_all = self._of_all()
                n[which] = of_all.moments.n
                slopes[which], found[which] = self._slopes(of_all, sets)
                continue
            for k, columns in zip(which.tolist(), sets, strict=True):
                check_stopped()
                own = self._correlations(columns.tolist())
                n[k] = own.moments.n
                if n[k] > sizes[k] + 3:
                    slope, is_found = self._slopes(own, columns[None, :])
                    slopes[k], found[k] = slope[0], is_found[0]
        spare = n - sizes - 3
        sufficient = (spare > 0) & found
        z = np.where(sufficient, np.sqrt(np.maximum(spare, 0)) * np.arcsinh(slopes), 0.0)
        log_p = kernel.active().log_chi2_upper(z * z, np.ones(len(z)))
        return ResultArrays(
            statistic=z,
            log_p=np.where(sufficient, log_p, np.nan),
            mi=np.where(sufficient, 0.5 * np.log1p(slopes * slopes), np.nan),
            n=n,
            sufficient=sufficient,
            varies=np.ones(len(n), dtype=bool),
            # Numbers have no strata; with enough rows, only a matrix of ranks can say nothing.
            strata=np.where(spare > 0, 1, np.maximum(n, 1)),
        )

    def why_insufficient(
        self, x: int, y: int, given: Sequence[int], result: CIResult | None = None
    ) -> str | None:
        """Say that rows are too few, or that ranks have no partial correlation."""
        n = (self(x, y, given) if result is None else result).n
        needed = len(given) + 4
        if not n:
            return NO_ROWS
        if n < needed:
            return f"{n} of {needed} rows needed, four more than columns given"
        return "the matrix of their rank correlations is not positive definite"

    def _moments(self, columns: Sequence[int]) -> ExpandedMoments:
        return self._counter.expanded_moments(columns)

    def _sets(
        self, triples: Sequence[Triple]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
        """The tests by the size of Z: which they are, and rows (*Z, x, y) in order of names."""
        order = self._counter.order
        if isinstance(triples, TripleArray):
            rows = triples.rows
            sets = np.hstack([order.rows(rows[:, 2:]), order.rows(rows[:, :2])])
            yield np.arange(len(rows)), sets.astype(np.int32)
            return
        sizes = np.array([len(given) for _, _, given in triples], dtype=np.int64)
        for size in np.unique(sizes).tolist():
            which = np.flatnonzero(sizes == size)
            some = [triples[k] for k in which.tolist()]
            rows = np.array([(x, y, *given) for x, y, given in some], dtype=np.int32)
            yield which, np.hstack([order.rows(rows[:, 2:]), order.rows(rows[:, :2])])

    def _of_all(self) -> _Correlations:
        if self._known is None:
            self._known = self._correlations(range(len(self.names)))
        return self._known

    def _correlations(self, columns: Sequence[int]) -> _Correlations:
        moments = self._moments(columns)
        place = np.full(len(self.names), -1, dtype=np.int32)
        place[moments.owners] = np.arange(moments.size)
        matrix = moments.correlation
        return _Correlations(
            moments, place, normal_correlations(matrix) if self._of_ranks else matrix
        )

    def _slopes(
        self, known: _Correlations, sets: NDArray[np.int32]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """r/√(1−r²) of the last two columns of each set, and where there is a correlation."""
        if known.moments.n <= sets.shape[1] + 1:
            return np.zeros(len(sets)), np.ones(len(sets), dtype=bool)
        places = known.place[sets]
        slopes, found = np.zeros(len(sets)), np.ones(len(sets), dtype=bool)
        varying = (places[:, -2:] >= 0).all(axis=1)
        # Constant columns of Z tell nothing, and are left out.
        constants = np.count_nonzero(places[:, :-2] < 0, axis=1)
        for number in np.unique(constants[varying]).tolist():
            which = np.flatnonzero(varying & (constants == number))
            some = places[which]
            if number:
                some = some[some >= 0].reshape(len(which), -1)
            slopes[which], found[which] = self._slopes_of(known, np.ascontiguousarray(some))
        return slopes, found

    def _slopes_of(
        self, known: _Correlations, sets: NDArray[np.int32]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        partial = kernel.active().partial_slopes
        chunks = [sets[k : k + _CHUNK] for k in range(0, len(sets), _CHUNK)]
        threads = self._threads or available_threads()
        parts = list(in_order(lambda chunk: partial(known.matrix, chunk), chunks, threads))
        slopes = np.concatenate([slope for slope, _ in parts])
        least = np.concatenate([left for _, left in parts])
        found = np.ones(len(sets), dtype=bool)
        for k in np.flatnonzero(least < _WELL_CONDITIONED).tolist():
            check_stopped()
            rows = sets[k].tolist()
            names = [self.names[int(known.moments.owners[row])] for row in rows]
            if self._of_ranks:
                _refuse_equal_ranks(known.matrix[np.ix_(rows, rows)], names)
                found[k] = least[k] >= _POSITIVE
                slopes[k] = slopes[k] if found[k] else 0.0
            else:
                slopes[k] = partial_slope(known.moments.cross(rows), names)
        return slopes, found


class _Correlations(NamedTuple):
    """Correlations, the row of each column in them (−1 for a constant), and the sums behind."""

    moments: ExpandedMoments
    place: NDArray[np.int32]
    matrix: NDArray[np.float64]


def _refuse_equal_ranks(matrix: NDArray[np.float64], names: Sequence[str]) -> None:
    size = len(matrix)
    for i in range(size):
        for j in range(i):
            if abs(matrix[i, j]) > _PERFECT:
                require_regular(0, 1, [names[j], names[i]])


def partial_slope(cross: Sequence[Sequence[int]], names: Sequence[str]) -> float:
    """Return r/√(1−r²) of the last two variables given the others, from integer cross-products.

    Examples
    --------
    >>> partial_slope([[4, 2, 2], [2, 4, 1], [2, 1, 4]], "zxy")
    0.0
    >>> partial_slope([[5, 3], [3, 5]], "xy")
    0.75
    """
    size = len(cross)
    matrix, pivot = eliminate(cross, size - 2, names)
    for k in (size - 2, size - 1):
        require_regular(matrix[k][k], pivot * cross[k][k], [*names[: size - 2], names[k]])
    xx, xy, yy = matrix[-2][-2], matrix[-2][-1], matrix[-1][-1]
    rest = xx * yy - xy * xy
    require_regular(rest, xx * yy, names)
    return math.copysign(math.sqrt((xy * xy) / rest), xy) if xy else 0.0
