"""Gaussian regressions of numbers and labels on one another, many at a time, from one matrix.

Labels stand for the indicators of their levels (`gml.counts.expanded_moments`); a regression of a
column on others is one of each of its rows of the matrix on all rows of the others and on its own
rows before it. What is left of their variances are pivots of Cholesky decompositions, whose product
is a quotient of determinants.

An indicator that the rows before it determine, to within 10⁻⁹ of its variance, adds nothing: it
counts as absent. Labels are often functions of others, if only in some rare levels. A number that
others determine is an error, which names the columns. Numbers of which less than a millionth is
left, and indicators of which hardly more than rounding errors is, are regressed again by exact
elimination, so that rounding does not decide what is collinear, nor show in what remains of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.exact_algebra import exact_shares, exact_shares_left
from gml.counts.expanded_moments import ExpandedMoments
from gml.kernel.pool import in_order

DETERMINED = 1e-9
"""An indicator of whose variance less than this is left is determined."""

LEAST_SHARE = 2.0**-24
"""A share of a variance below which rounding errors of 2⁻⁵² would show in its eighth digit."""

_WELL_CONDITIONED = 1e-6
_CHUNK = 4096
_MOST_EXACT = 60
"""Rows of the matrix that are regressed in fractions."""

Regression = tuple[Sequence[int], Sequence[int]]
"""Columns given, then columns that are regressed on them and on those before (positions)."""


@dataclass(frozen=True, eq=False)
class BlockResiduals:
    """What is left of many sets of columns given others, one entry per regression.

    `log_left` is the sum of ln of the shares of variances that are left (ln of the quotient of the
    determinants of the correlations with and without the columns regressed); `rank` and
    `given_rank` count the rows of the matrix that are not determined, of the columns regressed and
    of those given; `determined` counts those of the columns regressed that are. `least_left` is the
    least of the shares that `log_left` is of, 1 where there are none.
    """

    log_left: NDArray[np.float64]
    rank: NDArray[np.int64]
    given_rank: NDArray[np.int64]
    determined: NDArray[np.int64]
    least_left: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BlockVolumes:
    """Determinants of covariances of many sets of columns, one entry per set.

    `log_volume` is ln of the determinant without the rows of the matrix that are determined by
    those before them, of which `determined` counts how many there are.
    """

    log_volume: NDArray[np.float64]
    determined: NDArray[np.int64]


class BlockRegressions:
    """Regressions over the rows that some moments are of."""

    def __init__(self, moments: ExpandedMoments, names: Sequence[str], *, threads: int = 1) -> None:
        """Take moments, and the names of all columns by position."""
        self._moments = moments
        self._names = names
        self._threads = threads
        self._rows = {j: block.tolist() for j, block in moments.blocks.items()}
        self._is_number = moments.levels < 0

    def residuals(self, regressions: Sequence[Regression]) -> BlockResiduals:
        """Regress columns on others.

        Labels given come before numbers given, so that numbers which are functions of labels are
        found out, whatever the order asked for.
        """
        members: list[int] = []
        ends, splits = [0], []
        for given, targets in regressions:
            members += self._ordered(given)
            splits.append(len(members))
            for j in targets:
                members += self._rows[j]
            ends.append(len(members))
        flat = np.array(members, dtype=np.int32)
        starts, begins = np.array(ends, dtype=np.int64), np.array(splits, dtype=np.int64)
        shares = self._shares(flat, starts)
        determined = (shares < DETERMINED) & ~self._is_number[flat]
        left = np.where(determined, 1.0, shares)
        logs = np.log(left)
        targets_of = [slice(a, b) for a, b in zip(splits, ends[1:], strict=True)]
        live = np.concatenate([[0], np.cumsum(~determined)])
        dead = np.concatenate([[0], np.cumsum(determined)])
        return BlockResiduals(
            np.array([logs[some].sum() for some in targets_of]),
            live[starts[1:]] - live[begins],
            live[begins] - live[starts[:-1]],
            dead[starts[1:]] - dead[begins],
            np.array([left[some].min(initial=1.0) for some in targets_of]),
        )

    def volumes(self, sets: Sequence[Sequence[int]]) -> BlockVolumes:
        """Return the determinants of sets of columns.

        Labels come before numbers, both in order of their names: which of the rows that determine
        one another are left out depends on the set alone, not on the order asked for.
        """
        members = [self._ordered(columns) for columns in sets]
        starts = np.concatenate([[0], np.cumsum([len(rows) for rows in members], dtype=np.int64)])
        flat = np.array([row for rows in members for row in rows], dtype=np.int32)
        shares = self._shares(flat, starts)
        determined = (shares < DETERMINED) & ~self._is_number[flat]
        logs = np.log(np.where(determined, 1.0, shares))
        logs += np.where(determined, 0.0, self._moments.log_variances[flat])
        which = np.repeat(np.arange(len(sets)), np.diff(starts))
        volumes: NDArray[np.float64] = np.bincount(which, logs, len(sets)).astype(np.float64)
        counted = np.bincount(which[determined], minlength=len(sets))
        return BlockVolumes(volumes, counted.astype(np.int64))

    def exact_log_lost(self, given: Sequence[int], more: int, target: int) -> float:
        """ln of what is left of indicators of a label that one more column determines, exactly.

        Those that the columns given determine do not count. −∞ where nothing is left of one, or
        where exact sums would take too long.
        """
        own = self._rows[target]
        before, after = ([*self._ordered(columns), *own] for columns in (given, [*given, more]))
        if len(after) > _MOST_EXACT:
            return -math.inf
        shares = (
            exact_shares_left(self._moments.cross(rows))[-len(own) :] for rows in (before, after)
        )
        logs = [
            math.log(left) if left else -math.inf
            for was, left in zip(*shares, strict=True)
            if was >= DETERMINED > left
        ]
        return sum(logs)

    def _ordered(self, given: Sequence[int]) -> list[int]:
        rows = sorted(row for j in given for row in self._rows[j])
        numbers = self._is_number
        return [row for row in rows if not numbers[row]] + [row for row in rows if numbers[row]]

    def _shares(self, flat: NDArray[np.int32], starts: NDArray[np.int64]) -> NDArray[np.float64]:
        """The share of each variance that is left, exact where rounding would show."""
        correlation, pivots = self._moments.correlation, kernel.active().cholesky_pivots
        bounds = [(k, min(k + _CHUNK, len(starts) - 1)) for k in range(0, len(starts) - 1, _CHUNK)]

        def chunk(bound: tuple[int, int]) -> NDArray[np.float64]:
            first, last = int(starts[bound[0]]), int(starts[bound[1]])
            cuts = starts[bound[0] : bound[1] + 1] - first
            return pivots(correlation, flat[first:last], cuts, DETERMINED)

        parts = list(in_order(chunk, bounds, self._threads))
        shares: NDArray[np.float64] = np.concatenate([np.empty(0), *parts])
        is_number = self._is_number[flat]
        rounded = (shares >= DETERMINED) & (shares < LEAST_SHARE)
        thin = np.flatnonzero(np.where(is_number, shares < _WELL_CONDITIONED, rounded))
        for k in np.unique(np.searchsorted(starts, thin, side="right") - 1).tolist():
            some = slice(int(starts[k]), int(starts[k + 1]))
            shares[some] = self._exact_shares(flat[some].tolist(), shares[some])
        return shares

    def _exact_shares(self, rows: list[int], rounded: NDArray[np.float64]) -> NDArray[np.float64]:
        """The shares of one set, from exact sums without the indicators that are determined."""
        determined = (rounded < DETERMINED) & ~self._is_number[rows]
        kept = np.flatnonzero(~determined).tolist()
        names = [self._names[int(self._moments.owners[rows[k]])] for k in kept]
        found = rounded.copy()
        found[kept] = exact_shares(self._moments.cross([rows[k] for k in kept]), names)
        return found
