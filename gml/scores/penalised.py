"""Likelihood less a price for each parameter: what loglik, aic and bic share, whatever the columns.

aic charges one nat per parameter (Akaike 1974), bic ½ ln n (Schwarz 1978); `penalty` multiplies
either, as Tetrad's penalty discount does.

Families of a child with at least these parents have a ceiling (after de Campos & Ji 2011, JMLR
12:663, theorem 4, who take 0 for the likelihood): the likelihood grows with every parent, so it is
at most that of the child given all other columns; the price grows with every parent too.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Family
from gml.scores.base import Bounded, FamilyScore


class LikelihoodScore(FamilyScore):
    """The maximised log-likelihood of a family, less a price for each parameter."""

    @property
    def _price(self) -> float:
        """Nats that a parameter costs."""
        return 0.0

    def batch(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """Score many families."""
        return self._likelihoods(families) - self._penalties(families)

    def bounded_batch(self, families: Sequence[Family]) -> Bounded:
        """Score many families; ceilings are the most the likelihood can be, less the prices."""
        prices = self._penalties(families)
        likelihoods = self._likelihoods(families)
        return likelihoods - prices, self._most(families, likelihoods) - prices

    @abstractmethod
    def _likelihoods(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """The log-likelihoods of families."""

    def _most(
        self, families: Sequence[Family], likelihoods: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Log-likelihoods that each child never exceeds with more parents than these."""
        return self._most_likelihoods(families)

    def _penalties(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """The prices of families, never less with one more parent."""
        price = self._price
        return price * self.dimensions(families) if price else np.zeros(len(families))


class AicPrice(LikelihoodScore):
    """One nat per parameter."""

    @property
    def _price(self) -> float:
        penalty: float = self._options["penalty"]
        return penalty


class BicPrice(LikelihoodScore):
    """½ ln n per parameter."""

    @property
    def _price(self) -> float:
        penalty: float = self._options["penalty"]
        return penalty * (0.5 * math.log(self.n))
