"""Penalised likelihood: loglik, AIC (Akaike 1974), BIC (Schwarz 1978), extended BIC.

loglik(x | pa) = Σ n ln(n/nⱼ) = −n·H(x|pa). The dimension of a family is (r−1)·∏ declared levels of
the parents, seen or not. ebic = bic − 2γ|pa| ln p with γ = ½ and p variables (Foygel & Drton 2010;
bnlearn takes 4γ).

Families of a child with at least these parents have a ceiling (after de Campos & Ji 2011, JMLR
12:663, theorem 4, who take 0 for the likelihood): loglik grows with every parent, so it is at most
that of the child given all other columns; the penalty grows with every parent too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter, Family
from gml.kernel.layout import LIKELIHOOD, FamilyRule
from gml.scores.base import Bounded, FamilyScore, edges_of
from gml.scores.registry import KnownScore


class LogLikelihood(FamilyScore):
    """The maximised log-likelihood, which never prefers the simpler graph."""

    def batch(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """Score many families."""
        return self._likelihoods(families) - self._penalties(families)

    def bounded_batch(self, families: Sequence[Family]) -> Bounded:
        """Score many families; ceilings are the most the likelihood can be, less the penalties."""
        penalties = self._penalties(families)
        ceilings = self._most_likelihoods(families) - penalties
        return self._likelihoods(families) - penalties, ceilings

    def _likelihoods(self, families: Sequence[Family]) -> NDArray[np.float64]:
        return self._counter.family_values(families, FamilyRule(LIKELIHOOD))

    def _penalties(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """The prices of families, never less with one more parent."""
        return np.zeros(len(families))


class Aic(LogLikelihood):
    """loglik − dimension."""

    def _penalties(self, families: Sequence[Family]) -> NDArray[np.float64]:
        return self.dimensions(families)


class Bic(LogLikelihood):
    """loglik − ½ ln n · dimension."""

    def _penalties(self, families: Sequence[Family]) -> NDArray[np.float64]:
        return 0.5 * math.log(self.n) * self.dimensions(families)


class Ebic(Bic):
    """bic − 2γ|pa| ln p."""

    gamma: ClassVar[float] = 0.5

    def __init__(self, facts: KnownScore, counter: Counter, **options: Any) -> None:
        super().__init__(facts, counter, **options)
        self._price = 2 * self.gamma * math.log(len(self.names))

    def _penalties(self, families: Sequence[Family]) -> NDArray[np.float64]:
        return super()._penalties(families) + self._price * edges_of(families)
