"""Marginal likelihood of a family under Dirichlet priors (Heckerman, Geiger & Chickering 1995).

ln ∏ⱼ Γ(rα)/Γ(rα + nⱼ) ∏ₖ Γ(α + nⱼₖ)/Γ(α), with α a cell:

- bdeu: ess/(r·q), q the product of the declared levels of the parents (Buntine 1991);
- bds: ess/(r·q̃), q̃ the configurations of the parents that rows have (Scutari 2016);
- k2: 1 (Cooper & Herskovits 1992); bdj: ½ (Jeffreys; Suzuki 2016); bd: as given.

A configuration that no row has contributes exactly 0. Only bdeu is score equivalent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter, Family
from gml.errors import UsageError
from gml.kernel.layout import DIRICHLET, OF_CELL, OF_SEEN, OF_TABLE, FamilyRule
from gml.scores.base import FamilyScore


class DirichletScore(FamilyScore):
    """ln of the marginal likelihood under a symmetric prior."""

    equivalent = False
    bayes_factors = True
    _share = OF_CELL

    def __init__(self, counter: Counter, prior: float) -> None:
        super().__init__(counter)
        self._rule = FamilyRule(DIRICHLET, self._share, prior)

    def batch(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """Score many families."""
        return self._counter.family_values(families, self._rule)


class K2(DirichletScore):
    """One prior row a cell."""

    name = "k2"

    def __init__(self, counter: Counter) -> None:
        super().__init__(counter, 1.0)


class Bdj(DirichletScore):
    """Half a prior row a cell."""

    name = "bdj"

    def __init__(self, counter: Counter) -> None:
        super().__init__(counter, 0.5)


class Bd(DirichletScore):
    """As many prior rows a cell as asked for."""

    name = "bd"

    def __init__(self, counter: Counter, *, prior_count: float = 1.0) -> None:
        super().__init__(counter, positive(prior_count, "--prior-count"))


class Bdeu(DirichletScore):
    """ess prior rows, spread evenly over the table."""

    name = "bdeu"
    equivalent = True
    _share = OF_TABLE

    def __init__(self, counter: Counter, *, ess: float = 1.0) -> None:
        super().__init__(counter, positive(ess, "--ess"))


class Bds(DirichletScore):
    """ess prior rows, spread evenly over the configurations of the parents that rows have."""

    name = "bds"
    _share = OF_SEEN

    def __init__(self, counter: Counter, *, ess: float = 1.0) -> None:
        super().__init__(counter, positive(ess, "--ess"))


def positive(value: float, option: str) -> float:
    """Check that a prior has rows."""
    if not 0 < value < math.inf:
        raise UsageError(f"{option} is positive and finite")
    return value
