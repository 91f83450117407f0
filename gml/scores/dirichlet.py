"""Marginal likelihood of a family under Dirichlet priors (Heckerman, Geiger & Chickering 1995).

ln ∏ⱼ Γ(rα)/Γ(rα + nⱼ) ∏ₖ Γ(α + nⱼₖ)/Γ(α), with α per cell:

- bdeu: ess/(r·q), q the product of the declared levels of the parents (Buntine 1991);
- bds: ess/(r·q̃), q̃ the configurations of the parents that occur (Scutari 2016);
- k2: 1 (Cooper & Herskovits 1992); bdj: ½ (Jeffreys; Suzuki 2016); bd: as given.

A configuration that occurs in no row contributes exactly 0. Only bdeu is score equivalent.

Families of a child with at least these parents have a ceiling. Rows of one configuration come from
Pólya's urn: the chance of its nⱼₖ is ∏ₖ a(a+1)…(a+nⱼₖ−1) / [A(A+1)…(A+nⱼ−1)] with A = ra.

1. If every cell (j, k) were a configuration of its own, the numerators would be the same, and the
   denominators ∏ₖ A…(A+nⱼₖ−1) no larger: the chance is at most ∏ₖ u(nⱼₖ), with
   u(m) = ∏_{i<m} (a+i)/(A+i).
2. Further parents split a cell of m rows into parts of m₁ + m₂ + … = m rows, and ∏ u(mₛ) ≤ u(m),
   as (a+i)/(A+i) grows with i. So Σ ln u(nⱼₖ) bounds the score of the child given these parents
   and any more, as long as a stays the same.
3. Where a changes with the parents (bdeu, bds), u(m) ≤ 1/r for m ≥ 1, its limit for a → 0, whatever
   a is: the bound is −ln r times the number of cells that have rows.

The marginal likelihood is an average of likelihoods, so it never exceeds the maximum
log-likelihood, nor that given all other columns; the ceiling is the lower of the two. (Correia,
Cussens & de Campos 2020, AAAI, bound configurations rather than cells.) Fractional rows are not
draws from an urn: their ceiling is that of the likelihood alone.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter, Family, FamilyArray
from gml.kernel.layout import DIRICHLET, OF_CELL, OF_SEEN, OF_TABLE, FamilyRule
from gml.scores.base import Bounded, FamilyScore
from gml.scores.joint import MOST_COLUMNS, MOST_ROWS, JointValues
from gml.scores.registry import KnownScore


class DirichletScore(FamilyScore):
    """ln of the marginal likelihood under a symmetric prior."""

    _share = OF_CELL

    def __init__(self, facts: KnownScore, counter: Counter, **options: Any) -> None:
        super().__init__(facts, counter, **options)
        self._rule = FamilyRule(DIRICHLET, self._share, self._prior_rows())

    @abstractmethod
    def _prior_rows(self) -> float:
        """The rows of the prior, per cell or in total."""

    def batch(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """Score many families."""
        return self._counter.family_values(families, self._rule)

    def bounded_batch(self, families: Sequence[Family]) -> Bounded:
        """Score many families, with the ceilings that follow from their cells."""
        most = self._most_likelihoods(families)
        if self._counter.unit != 1:
            return self.batch(families), most
        a = self._rule.prior if self._share == OF_CELL else 0.0
        values, ceilings = self._counter.family_ceilings(families, self._rule, a)
        return values, np.minimum(ceilings, most)


class K2(DirichletScore):
    """One prior row per cell."""

    def _prior_rows(self) -> float:
        return 1.0


class Bdj(DirichletScore):
    """Half a prior row per cell."""

    def _prior_rows(self) -> float:
        return 0.5


class Bd(DirichletScore):
    """As many prior rows per cell as asked for."""

    def _prior_rows(self) -> float:
        rows: float = self._options["prior_count"]
        return rows


class Bdeu(DirichletScore):
    """ess prior rows, spread evenly over the table."""

    _share = OF_TABLE

    def __init__(self, facts: KnownScore, counter: Counter, **options: Any) -> None:
        super().__init__(facts, counter, **options)
        self._joint: JointValues | None = None

    def _prior_rows(self) -> float:
        rows: float = self._options["ess"]
        return rows

    def bounded_batch(self, families: Sequence[Family]) -> Bounded:
        """Score many families; if there are very many, from the joint values of their columns."""
        if (
            not isinstance(families, FamilyArray)
            or self._counter.unit != 1
            or self._counter.n > MOST_ROWS
            or len(self.names) > MOST_COLUMNS
        ):
            return super().bounded_batch(families)
        if self._joint is None:
            self._joint = JointValues(self._counter, self._rule.prior)
        values, cells = self._joint.families(families)
        levels = np.array(self._levels)[families.rows[:, 0]]
        return values, np.minimum(-cells * np.log(levels), self._most_likelihoods(families))

    @property
    def held(self) -> int:
        """Bytes that are kept for later families."""
        return 0 if self._joint is None else self._joint.held


class Bds(DirichletScore):
    """ess prior rows, spread evenly over the configurations of the parents that occur."""

    _share = OF_SEEN

    def _prior_rows(self) -> float:
        rows: float = self._options["ess"]
        return rows
