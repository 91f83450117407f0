"""Scores of linear Gaussian families: of numbers (-g), and of numbers and labels alike (-dg).

Degenerate Gaussian (Andrews, Ramsey & Cooper 2019, KDD-CD, PMLR 104:4): a label with s levels that
occur stands for s − 1 columns, the indicators of all of them but one; a number for itself. A column
of a child is regressed on the columns of the parents and on those of the child before it:

    loglik-dg(x | pa) = −n/2·Σ (ln 2πσ² + 1), σ² = SSE/n,

with (regressors + 2) parameters each; for c columns given q this is the difference of two log
determinants, and c·q + c(c + 3)/2 parameters. So which level has no indicator does not matter, nor
does the order of columns, and equivalent DAGs have the same score. A level that is declared and
occurs in no row has no indicator either, as that would have no variance. On numbers alone this is
loglik-g.

A label here is linear in its parents: the likelihood is that of a normal distribution, not of a
table, so that its values compare graphs over the same columns and nothing else.

Labels often determine one another, if only in some levels (a value that is unknown in two columns
at a time), and a normal distribution then has no density. An indicator that others determine counts
with a variance of 1/n: as much as that of a level with a single row, so that a rule without
exceptions is worth as much as one with about one, and no more than its rows can vouch for. For a
set S of columns let h(S) be ln |S| of the indicators and numbers in order (labels before numbers,
by name), less those that the ones before them determine, plus ln (1/n) for each of these. A family
is worth −n/2·(h(x ∪ pa) − h(pa) + c·(ln 2π + 1)). As h depends on the set alone, reversing a
covered edge changes no sum, and equivalent DAGs have the same score (Chickering 1995, UAI, theorem
2). Where all columns are independent this is the likelihood above. The dimension counts all
indicators, so that a parent which adds nothing has its price. More parents make a family worse
only where they determine an indicator of which less than the variance of one row was left.

A family with fewer rows than its columns plus two is worth −∞ (as in a group of the conditional
Gaussian score), and so is the same set in every order; but a child in which only one level occurs
has no columns, and is worth 0. `remarks` names both.

Pivots come from the kernel, by one matrix of correlations of exact sums. Where one is so small that
rounding would show, the family is computed from the sums themselves. A number that is a linear
function of other columns is refused, unless a `ridge` λ adds λ times its variance to each column,
as noise of its own (of indicators, to those of all levels that occur but the first).

Ceilings: `gml.scores.penalised`; they are infinite for a child that the others determine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.block_regressions import LEAST_SHARE, BlockRegressions
from gml.counts.counter import Counter, Family, FamilyArray
from gml.counts.exact_algebra import CollinearError, exact_shares
from gml.counts.residuals import SPARE_ROWS
from gml.errors import DataError, listing, parameter, quote
from gml.scores.base import one_value
from gml.scores.penalised import AicPrice, BicPrice, LikelihoodScore
from gml.scores.registry import KnownScore

_LOG_DENSITY = math.log(2 * math.pi) + 1
_TINY = float(np.finfo(float).tiny)
_SHOWN = 3

Member = tuple[int, tuple[int, ...]]
"""A child and its parents."""


class LinearLikelihood(LikelihoodScore):
    """The maximised log-likelihood of chained regressions."""

    def __init__(self, facts: KnownScore, counter: Counter, **options: Any) -> None:
        super().__init__(facts, counter, **options)
        self._moments = counter.expanded_moments(counter.order.positions.tolist())
        ridge: float = self._options["ridge"]
        self._exact = ridge == 0
        correlation = self._moments.correlation
        self._correlation = correlation / (1 + ridge)
        np.fill_diagonal(self._correlation, 1.0)
        self._log_variances = self._moments.log_variances + math.log1p(ridge)
        blocks = [self._moments.blocks[j] for j in range(len(self.names))]
        for variable, block in zip(counter.variables, blocks, strict=True):
            if variable.is_continuous and not len(block):
                raise one_value(variable.name)
        self._width = np.array([len(block) for block in blocks], dtype=np.int64)
        self._float_width = self._width.astype(np.float64)
        self._widest = int(self._width.max(initial=0))
        first = [int(block[0]) if len(block) else 0 for block in blocks]
        # Each column stands for neighbouring rows of the matrix.
        self._blocks = np.array([first, self._width, counter.order.ranks], dtype=np.int32)
        self._is_label = np.array([not v.is_continuous for v in counter.variables], dtype=bool)
        self._regressions = BlockRegressions(self._moments, self.names)
        self._too_wide: set[Member] = set()
        self._determined: set[Member] = set()

    def dimension(self, child: int, parents: Sequence[int]) -> float:
        """Intercepts, coefficients and variances."""
        own = float(self._width[child])
        return own * float(self._width[list(parents)].sum()) + own * (own + 3) / 2

    def dimensions(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """The same for many families."""
        if not isinstance(families, FamilyArray):
            return np.array([self.dimension(*family) for family in families], dtype=float)
        width = self._float_width[families.rows]
        own = width[:, 0]
        sizes: NDArray[np.float64] = own * width[:, 1:].sum(axis=1) + own * (own + 3) / 2
        return sizes

    def constants(self) -> list[int]:
        """Columns in which only one level occurs."""
        return np.flatnonzero(self._width == 0).tolist()

    def _likelihoods(self, families: Sequence[Family]) -> NDArray[np.float64]:
        if isinstance(families, FamilyArray):
            return self._of_rows(families.rows)
        found = np.empty(len(families))
        sizes = np.array([len(parents) for _, parents in families])
        for size in sorted(set(sizes.tolist())):
            at = np.flatnonzero(sizes == size)
            rows = [[families[k][0], *families[k][1]] for k in at.tolist()]
            found[at] = self._of_rows(np.array(rows, dtype=np.int32))
        return found

    def _of_rows(self, rows: NDArray[np.int32]) -> NDArray[np.float64]:
        """Families with the same number of parents: child, *parents."""
        own = self._width[rows[:, 0]]
        shares, members, least = kernel.active().family_pivots(
            self._correlation, self._blocks, np.ascontiguousarray(rows)
        )
        logs = np.log(np.maximum(shares, _TINY)) + self._log_variances[members]
        which = np.arange(len(rows)).repeat(own)
        log_variance: NDArray[Any] = np.bincount(which, weights=logs, minlength=len(rows))
        found: NDArray[np.float64] = -0.5 * self.n * (own * _LOG_DENSITY + log_variance)
        # Most batches are of families with rows to spare and nothing determined.
        has_rows = self.n >= self._widest * rows.shape[1] + SPARE_ROWS
        if not self._exact or (has_rows and least.min(initial=1.0) >= LEAST_SHARE):
            return found
        # A child without variance is worth 0, whatever its parents are.
        too_wide = (self.n < self._rows_needed(rows)) & (own > 0)
        some = np.flatnonzero((least < LEAST_SHARE) & ~too_wide & (own > 0))
        if len(some):
            log_variance[some] = self._doubtful_log_variances(self._ordered(rows[some]))
            found[some] = -0.5 * self.n * (own[some] * _LOG_DENSITY + log_variance[some])
        if too_wide.any():
            _keep_smallest(self._too_wide, self._ordered(rows[too_wide]).tolist())
            found[too_wide] = -math.inf
        return found

    def _ordered(self, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """Families as *parents in order of their names, child."""
        return np.hstack([self._counter.order.rows(rows[:, 1:]), rows[:, :1]])

    def _doubtful_log_variances(self, ordered: NDArray[np.int32]) -> NDArray[np.float64]:
        """The same sums for families in which a column may be determined by others."""
        found = np.empty(len(ordered))
        with_labels = self._is_label[ordered].any(axis=1)
        for k in np.flatnonzero(~with_labels).tolist():
            found[k] = self._exact_log_variance(ordered[k].tolist())
        some = np.flatnonzero(with_labels)
        whole, given = ordered[some].tolist(), ordered[some, :-1].tolist()
        try:
            volumes = self._regressions.volumes([*whole, *given])
        except CollinearError as error:
            raise _with_ridge(error) from None
        values = volumes.log_volume - volumes.determined * math.log(max(self.n, 1.0))
        found[some] = values[: len(some)] - values[len(some) :]
        newly = volumes.determined[: len(some)] > volumes.determined[len(some) :]
        _keep_smallest(self._determined, [whole[k] for k in np.flatnonzero(newly).tolist()])
        return found

    def _exact_log_variance(self, ordered: Sequence[int]) -> float:
        """The sum of ln σ² of a number given numbers, the last column, from exact sums."""
        members = self._moments.rows_of(ordered)
        names = [self.names[j] for j in self._moments.owners[members].tolist()]
        try:
            shares = exact_shares(self._moments.cross(members.tolist()), names)
        except CollinearError as error:
            raise _with_ridge(error) from None
        logs = np.log(shares) + self._log_variances[members]
        return float(logs[len(logs) - int(self._width[ordered[-1]]) :].sum())

    def _most_likelihoods(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """Likelihoods given all other columns, which no parents exceed; infinite if determined."""
        return np.array([self._most_of(child) for child, _ in families], dtype=float)

    def _most_of(self, child: int) -> float:
        if child not in self._most_known:
            others = [j for j in self._counter.order.positions.tolist() if j != child]
            self._most_known[child] = self._given_all(child, others)
        return self._most_known[child]

    def _given_all(self, child: int, others: list[int]) -> float:
        if self._exact and self._width[child]:
            if self.n < self._rows_needed(np.array([child, *others])):
                return math.inf
            try:
                left = self._regressions.residuals([(others, (child,))])
            except CollinearError:
                return math.inf
            if left.determined[0] or left.least_left[0] < LEAST_SHARE:
                return math.inf
        return float(self._of_rows(np.array([[child, *others]], dtype=np.int32))[0])

    def remarks(self) -> list[str]:
        """Name the families without enough rows, and labels that others determine."""
        found = []
        if self._too_wide:
            wide = self._listed(self._too_wide, self._needed)
            found.append(f"{self.name}: families with too few rows are worth −∞: {wide}")
        if self._determined:
            rules = self._listed(self._determined, lambda family: "")
            found.append(
                f"{self.name}: some labels determine levels of others: {rules}; what is "
                "determined counts as if one row were left to explain"
            )
        return found

    def noted(self) -> tuple[set[Member], set[Member]]:
        """The families without enough rows, and labels that others determine."""
        return self._too_wide, self._determined

    def take_noted(self, noted: tuple[set[Member], set[Member]]) -> None:
        """Add those of another process."""
        for mine, theirs in zip((self._too_wide, self._determined), noted, strict=True):
            _keep_smallest(mine, [[*parents, child] for child, parents in theirs])

    def _needed(self, family: Member) -> str:
        child, parents = family
        needed = int(self._rows_needed(np.array([child, *parents])))
        return f" ({self.n:g} of {needed} rows needed)"

    def _rows_needed(self, families: NDArray[Any]) -> NDArray[np.int64]:
        """How many rows families must have, the last axis being their columns."""
        # Rows, as `n` counts them: moments count units of fractional weights.
        needed: NDArray[np.int64] = self._width[families].sum(axis=-1) + SPARE_ROWS
        return needed

    def _listed(self, families: set[Member], told: Callable[[Member], str]) -> str:
        """A few of the families, those with the fewest parents first."""
        names = self.names
        by_size = sorted(
            families,
            key=lambda family: (len(family[1]), names[family[0]], [names[j] for j in family[1]]),
        )
        shown = []
        for child, parents in by_size[:_SHOWN]:
            given = f" given {listing([names[j] for j in parents])}" if parents else ""
            shown.append(f"{quote(names[child])}{given}{told((child, parents))}")
        more = f" and {len(by_size) - _SHOWN} more" if len(by_size) > _SHOWN else ""
        return ", ".join(shown) + more


def _keep_smallest(kept: set[Member], ordered: list[list[int]]) -> None:
    """Keep the families with the fewest parents, which explain the others: *parents, child."""
    fewest = min((len(parents) for _, parents in kept), default=math.inf)
    for *parents, child in ordered:
        if len(parents) < fewest:
            kept.clear()
            fewest = len(parents)
        if len(parents) == fewest:
            kept.add((child, tuple(parents)))


def _with_ridge(error: CollinearError) -> DataError:
    return DataError(f"{error}, or give {parameter('ridge', 1e-06)}")


class LinearAic(AicPrice, LinearLikelihood):
    """The likelihood − dimension."""


class LinearBic(BicPrice, LinearLikelihood):
    """The likelihood − ½ ln n · dimension."""
