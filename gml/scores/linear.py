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

Pivots come from the kernel, by one matrix of correlations of exact sums. Where one is so small that
rounding would show, the family is computed from the sums themselves; where nothing is left, one of
the columns is a linear function of others, and the family is refused, unless a `ridge` λ adds λ
times its variance to each column, as noise of its own (of indicators, to those of all levels that
occur but the first).

Ceilings: `gml.scores.penalised`; they are infinite for a child that the others determine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.counter import Counter, Family, FamilyArray
from gml.counts.exact_algebra import exact_shares
from gml.errors import DataError, parameter
from gml.scores.base import one_value
from gml.scores.penalised import AicPrice, BicPrice, LikelihoodScore
from gml.scores.registry import KnownScore

# A share of a variance below which rounding errors of 2⁻⁵² would show in the eighth digit of it.
_LEAST_SHARE = 2.0**-24
_LOG_DENSITY = math.log(2 * math.pi) + 1
_TINY = float(np.finfo(float).tiny)


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
        first = [int(block[0]) if len(block) else 0 for block in blocks]
        # Each column stands for neighbouring rows of the matrix.
        self._blocks = np.array([first, self._width, counter.order.ranks], dtype=np.int32)

    def dimension(self, child: int, parents: Sequence[int]) -> float:
        """Intercepts, coefficients and variances."""
        own = float(self._width[child])
        return own * float(self._width[list(parents)].sum()) + own * (own + 3) / 2

    def dimensions(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """The same for many families."""
        if not isinstance(families, FamilyArray):
            return np.array([self.dimension(*family) for family in families], dtype=float)
        width = self._width[families.rows].astype(np.float64)
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
            self._correlation, self._blocks, np.ascontiguousarray(rows), int(own.sum())
        )
        logs = np.log(np.maximum(shares, _TINY)) + self._log_variances[members]
        which = np.repeat(np.arange(len(rows)), own)
        log_variance: NDArray[Any] = np.bincount(which, weights=logs, minlength=len(rows))
        if self._exact and len(rows) and least.min() < _LEAST_SHARE:
            for k in np.flatnonzero(least < _LEAST_SHARE).tolist():
                child, *parents = rows[k].tolist()
                ordered = [*self._counter.order.sorted(parents), child]
                log_variance[k] = self._exact_log_variance(ordered)
        found: NDArray[np.float64] = -0.5 * self.n * (own * _LOG_DENSITY + log_variance)
        return found

    def _exact_log_variance(self, ordered: Sequence[int]) -> float:
        """The sum of ln σ² of a child, the last column, from exact sums."""
        members = self._moments.rows_of(ordered)
        names = [self.names[j] for j in self._moments.owners[members].tolist()]
        try:
            shares = exact_shares(self._moments.cross(members.tolist()), names)
        except DataError as error:
            raise DataError(f"{error}, or give {parameter('ridge', 1e-06)}") from None
        logs = np.log(shares) + self._log_variances[members]
        return float(logs[len(logs) - int(self._width[ordered[-1]]) :].sum())

    def _most_likelihoods(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """Likelihoods given all other columns, which no parents exceed; infinite if determined."""
        return np.array([self._most_of(child) for child, _ in families], dtype=float)

    def _most_of(self, child: int) -> float:
        if child not in self._most_known:
            others = [j for j in self._counter.order.positions.tolist() if j != child]
            try:
                value = self._of_rows(np.array([[child, *others]], dtype=np.int32))[0]
            except DataError:
                value = math.inf
            self._most_known[child] = float(value)
        return self._most_known[child]


class LinearAic(AicPrice, LinearLikelihood):
    """The likelihood − dimension."""


class LinearBic(BicPrice, LinearLikelihood):
    """The likelihood − ½ ln n · dimension."""
