"""Penalised likelihood: loglik, AIC (Akaike 1974), BIC (Schwarz 1978), extended BIC.

loglik(x | pa) = Σ n ln(n/nⱼ) = −n·H(x|pa). The dimension of a family is (r−1)·∏ declared levels of
the parents, seen or not. ebic = bic − 2γ|pa| ln p with γ = ½ and p variables (Foygel & Drton 2010;
bnlearn takes 4γ).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter, Family, parents_in
from gml.kernel.layout import LIKELIHOOD, FamilyRule
from gml.scores.base import FamilyScore

_EBIC_GAMMA = 0.5


class LogLikelihood(FamilyScore):
    """The maximised log-likelihood, which never prefers the simpler graph."""

    name = "loglik"

    def batch(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """Score many families."""
        return self._counter.family_values(families, FamilyRule(LIKELIHOOD))


class Aic(LogLikelihood):
    """loglik − dimension."""

    name = "aic"

    def batch(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """Score many families."""
        return super().batch(families) - self.dimensions(families)


class Bic(LogLikelihood):
    """loglik − ½ ln n · dimension."""

    name = "bic"
    bayes_factors = True

    def batch(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """Score many families."""
        return super().batch(families) - 0.5 * math.log(self.n) * self.dimensions(families)


class Ebic(Bic):
    """bic − 2γ|pa| ln p."""

    name = "ebic"
    bayes_factors = False

    def __init__(self, counter: Counter, *, gamma: float = _EBIC_GAMMA) -> None:
        super().__init__(counter)
        self._price = 2 * gamma * math.log(len(self.names))

    def batch(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """Score many families."""
        return super().batch(families) - self._price * parents_in(families)
