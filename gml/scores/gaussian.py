"""The marginal likelihood of linear Gaussian families on numeric columns: bge.

It is the marginal likelihood under the normal-Wishart prior of Geiger & Heckerman (2002) in the
corrected form of Kuipers, Moffa & Heckerman (2014, Ann. Stat. 42:1689, eq. 17), with α_μ = 1,
α_w = p + 2, T = α_μ(α_w − p − 1)/(α_μ + 1)·I and ν = the sample means, so that R = T + S. For a
child with l parents the two determinants of the paper's quotient leave

    ½ ln α_μ/(n + α_μ) + ln Γ((n + α_w − p + l + 1)/2) − ln Γ((α_w − p + l + 1)/2) − n/2·ln π
    + (α_w − p + 2l + 1)/2·ln t − (n + α_w − p + l + 1)/2·ln|R_pa,x| + (n + α_w − p + l)/2·ln|R_pa|.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter, Family
from gml.counts.exact_algebra import eliminate
from gml.scores.base import FamilyScore, edges_of, one_value
from gml.scores.registry import KnownScore

_ALPHA_MU = 1.0


class Bge(FamilyScore):
    """The marginal likelihood of numeric columns."""

    def __init__(self, facts: KnownScore, counter: Counter, **options: Any) -> None:
        super().__init__(facts, counter, **options)
        columns = range(len(self.names))
        self._moments = counter.moments(columns)
        for j, name in enumerate(self.names):
            if self._moments.cross[j][j] == 0:
                raise one_value(name)
        p = len(self.names)
        self._alpha_w = p + 2.0
        self._t = _ALPHA_MU * (self._alpha_w - p - 1) / (_ALPHA_MU + 1)
        assert self._t == 0.5
        self._matrix, self._log_scales = self._scaled_matrix()
        self._known: dict[frozenset[int], float] = {}

    def batch(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """Score many families."""
        order = self._counter.order
        return np.array(
            [self._of_family(child, order.sorted(parents)) for child, parents in families],
            dtype=float,
        )

    def dimension(self, child: int, parents: Sequence[int]) -> float:
        """Intercept, coefficients and variance."""
        return len(parents) + 2.0

    def dimensions(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """The same for many families."""
        return edges_of(families) + 2.0

    def _scaled_matrix(self) -> tuple[list[list[int]], list[float]]:
        """Integers Mᵢⱼ = sᵢsⱼ·Rᵢⱼ, and ln sᵢ².

        With n·S in fixed point (Moments), t = ½ and weights in units of 2^−b, R times 2n·2^b and
        powers of two is whole.
        """
        n, scales = self._moments.n, self._moments.scales
        b = -math.frexp(self._counter.unit)[1] + 1
        # Numbers so large that their fixed point has a negative scale are brought to scale 0.
        up = [max(0, -scale) for scale in scales]
        matrix = [
            [2 * value << (up[i] + up[j] + max(0, -b)) for j, value in enumerate(row)]
            for i, row in enumerate(self._moments.cross)
        ]
        for i, scale in enumerate(scales):
            matrix[i][i] += n << (2 * (scale + up[i]) + max(0, b))
        common = math.log(2 * n) + max(0, b) * math.log(2)
        return matrix, [
            common + 2 * (scale + up[i]) * math.log(2) for i, scale in enumerate(scales)
        ]

    def _log_determinant(self, members: Sequence[int]) -> float:
        """ln |R| of some variables, exact up to the logarithm."""
        key = frozenset(members)
        if key not in self._known:
            ordered = self._counter.order.sorted(members)
            chosen = [[self._matrix[i][j] for j in ordered] for i in ordered]
            _, determinant = eliminate(chosen, len(ordered))
            scale = math.fsum(self._log_scales[j] for j in ordered)
            self._known[key] = math.log(determinant) - scale
        return self._known[key]

    def _of_family(self, child: int, parents: Sequence[int]) -> float:
        n, l_parents = self.n, len(parents)
        prior = self._alpha_w - len(self.names) + l_parents
        return (
            0.5 * math.log(_ALPHA_MU / (n + _ALPHA_MU))
            + math.lgamma((n + prior + 1) / 2)
            - math.lgamma((prior + 1) / 2)
            - 0.5 * n * math.log(math.pi)
            + 0.5 * (prior + l_parents + 1) * math.log(self._t)
            - 0.5 * (n + prior + 1) * self._log_determinant([*parents, child])
            + 0.5 * (n + prior) * self._log_determinant(parents)
        )
