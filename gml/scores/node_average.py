"""Node-average likelihood: families scored on the rows that are complete in their own columns.

Balov (2013, "Consistent model selection of discrete Bayesian networks from incomplete data",
Electron. J. Stat. 7:1047) divides the maximised log-likelihood of each family by the number of rows
that it is of, so that families on different rows can be compared:

    nal = Σ loglik(x | pa)/n(x, pa),    pnal = nal − λ·d,    λ = n^(−1/4)

with n all rows, complete or not, and d the number of parameters. λ has to vanish more slowly than
n^(−1/2): with that of BIC, ½ ln n/n, graphs that are too large win however many rows there are. The
values are in nats per row. They mean something where values are missing completely at random.

Likelihoods are those of `loglik` for labels, and of `loglik-cg` for numbers. A family without any
complete row, or a number whose rows do not determine its regressions, is worth −∞. Equivalent DAGs
have different values, as their families have different rows; without gaps they have the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Family
from gml.scores.base import DecomposableScore
from gml.scores.conditional_gaussian import LogLikelihoodCg


class NodeAverage(LogLikelihoodCg):
    """The log-likelihood of each family per row that is complete in it."""

    def _likelihoods(self, families: Sequence[Family]) -> NDArray[np.float64]:
        rows = self._counter.complete_rows([(child, *parents) for child, parents in families])
        whole = super()._likelihoods(families)
        units = rows * self._counter.unit
        return np.where(rows > 0, whole / np.where(rows > 0, units, 1.0), -np.inf)

    # Another parent may leave rows that fit much better.
    bounded_batch = DecomposableScore.bounded_batch


class PenalisedNodeAverage(NodeAverage):
    """The same less n^(−1/4) per parameter."""

    @property
    def _price(self) -> float:
        penalty: float = self._options["penalty"]
        return penalty * math.pow(self.n, -0.25)
