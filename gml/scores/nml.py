"""Normalised maximum likelihood: the likelihood less the exact price of fitting it.

C(n, K) normalises the maximised likelihood of n rows over K levels; the kernel sums it exactly.

- fnml: loglik(x | pa) − Σⱼ ln C(nⱼ, r), one multinomial per configuration of the parents
  (Silander, Roos, Kontkanen & Myllymäki 2008);
- qnml: loglik(x | pa) − [ln C(n, r·q) − ln C(n, q)], q = ∏ declared levels of the parents
  (Silander, Leppä-aho, Jääsaari & Roos 2018); score equivalent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.counter import Counter, Family
from gml.errors import UsageError, parameter
from gml.kernel.layout import LIKELIHOOD, REGRET, FamilyRule
from gml.scores.base import FamilyScore
from gml.scores.registry import KnownScore


class _Nml(FamilyScore):
    def __init__(self, facts: KnownScore, counter: Counter, **options: Any) -> None:
        super().__init__(facts, counter, **options)
        if counter.unit != 1:
            raise UsageError(
                f"{parameter('score', self.name)} needs whole numbers of rows, not fractions"
            )

    def _likelihoods(self, families: Sequence[Family]) -> NDArray[np.float64]:
        return self._counter.family_values(families, FamilyRule(LIKELIHOOD))


class Fnml(_Nml):
    """One normaliser per configuration of the parents."""

    def batch(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """Score many families."""
        regrets = self._counter.family_values(families, FamilyRule(REGRET))
        return self._likelihoods(families) - regrets


class Qnml(_Nml):
    """The normaliser of the family over that of its parents."""

    def __init__(self, facts: KnownScore, counter: Counter, **options: Any) -> None:
        super().__init__(facts, counter, **options)
        self._regrets: dict[float, float] = {}

    def batch(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """Score many families."""
        regrets = []
        for child, parents in families:
            q = 1.0
            for parent in parents:
                q *= self._levels[parent]
            regrets.append(self._regret(q * self._levels[child]) - self._regret(q))
        prices: NDArray[np.float64] = np.array(regrets, dtype=float)
        return self._likelihoods(families) - prices

    def _regret(self, levels: float) -> float:
        if levels not in self._regrets:
            self._regrets[levels] = kernel.active().log_regret(float(self._counter.n), levels)
        return self._regrets[levels]
