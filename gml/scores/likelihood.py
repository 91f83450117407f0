"""Penalised likelihood of labels: loglik, AIC, BIC, extended BIC.

loglik(x | pa) = Σ n ln(n/nⱼ) = −n·H(x|pa). The dimension of a family is (r−1)·∏ declared levels of
the parents, seen or not. ebic = bic − 2γ|pa| ln p with γ = ½ and p variables (Foygel & Drton 2010;
bnlearn takes 4γ); `penalty` multiplies the price of the parameters and not that of the parents.
Ceilings: `gml.scores.penalised`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter, Family
from gml.kernel.layout import LIKELIHOOD, FamilyRule
from gml.scores.base import edges_of
from gml.scores.penalised import AicPrice, BicPrice, LikelihoodScore
from gml.scores.registry import KnownScore


class LogLikelihood(LikelihoodScore):
    """The maximised log-likelihood, which never prefers the simpler graph."""

    def _likelihoods(self, families: Sequence[Family]) -> NDArray[np.float64]:
        return self._counter.family_values(families, FamilyRule(LIKELIHOOD))


class Aic(AicPrice, LogLikelihood):
    """loglik − dimension."""


class Bic(BicPrice, LogLikelihood):
    """loglik − ½ ln n · dimension."""


class Ebic(Bic):
    """bic − 2γ|pa| ln p."""

    gamma: ClassVar[float] = 0.5

    def __init__(self, facts: KnownScore, counter: Counter, **options: Any) -> None:
        super().__init__(facts, counter, **options)
        self._price_of_parent = 2 * self.gamma * math.log(len(self.names))

    def _penalties(self, families: Sequence[Family]) -> NDArray[np.float64]:
        return super()._penalties(families) + self._price_of_parent * edges_of(families)
