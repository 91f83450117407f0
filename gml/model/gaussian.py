"""Networks of numbers: all nodes are jointly normal, and given some of them so are the others.

Mean and covariance follow from the regressions, parents first; those given the evidence from the
usual formula (Lauritzen 1996, appendix C).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer, UsageError, listing, quote, unknown_name
from gml.model.bayesnet import BayesNet, LinearGaussian

# Of a variance: what is left below this share of it is rounding.
ROUNDING = 1e-12


class GaussianPosterior(NamedTuple):
    """The joint normal distribution of some nodes, and ln of the density of the evidence."""

    names: tuple[str, ...]
    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]
    log_density: float

    def sd(self, i: int) -> float:
        """Standard deviation of a node."""
        return math.sqrt(max(0.0, float(self.covariance[i, i])))

    def r(self, i: int, j: int) -> float | None:
        """Correlation of two nodes; None if one of them does not vary."""
        scale = self.sd(i) * self.sd(j)
        return float(self.covariance[i, j]) / scale if scale > 0 else None


def moments(net: BayesNet) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and covariance of a network of numbers."""
    n = len(net.cpds)
    mean, covariance = np.zeros(n), np.zeros((n, n))
    for j in net.order():
        cpd = net.cpds[j]
        assert isinstance(cpd, LinearGaussian)
        parents = [net.index(parent.name) for parent in cpd.parents]
        coefficients = np.array(cpd.coefficients)
        mean[j] = cpd.intercept + coefficients @ mean[parents]
        # Nodes that come later still have zeros here.
        covariance[j] = covariance[:, j] = coefficients @ covariance[parents]
        covariance[j, j] = cpd.sd**2 + coefficients @ covariance[j, parents]
    return mean, covariance


def condition(net: BayesNet, evidence: Mapping[int, float]) -> GaussianPosterior:
    """Return the distribution of the unobserved nodes, parents first, given numbers of others."""
    mean, covariance = moments(net)
    observed = sorted(evidence)
    hidden = [j for j in net.order() if j not in evidence]
    away = np.array([evidence[j] for j in observed]) - mean[observed]
    among = covariance[np.ix_(observed, observed)]
    scale = np.sqrt(np.diag(among))
    if (scale == 0).any() or (
        observed and np.linalg.eigvalsh(among / np.outer(scale, scale))[0] < ROUNDING
    ):
        raise CannotAnswer(
            f"some of {listing(net.names[j] for j in observed)} follow exactly from others: there "
            "is no density to condition on"
        )
    across = covariance[np.ix_(hidden, observed)]
    gain = np.linalg.solve(among, across.T).T
    left = covariance[np.ix_(hidden, hidden)] - gain @ across.T
    # What is less than the rounding of a variance is none.
    certain = np.diag(left) <= ROUNDING * np.diag(covariance)[hidden]
    left[certain, :] = left[:, certain] = 0.0
    log_density = -0.5 * (
        len(observed) * math.log(2 * math.pi)
        + float(np.linalg.slogdet(among)[1])
        + float(away @ np.linalg.solve(among, away))
    )
    names = tuple(net.names[j] for j in hidden)
    return GaussianPosterior(names, mean[hidden] + gain @ away, left, log_density)


def gaussian_posterior(
    net: BayesNet, evidence: Mapping[str, float], targets: Sequence[str] | None = None
) -> GaussianPosterior:
    """Return the distribution of the targets (default: all others, in order) given evidence."""
    for name in (*evidence, *(targets or ())):
        if name not in net.names:
            raise UsageError(unknown_name("node", name, net.names))
    if targets is None:
        targets = [name for name in net.names if name not in evidence]
    for name in targets:
        if name in evidence:
            raise UsageError(f"{quote(name)} is observed and asked for")
    if len(set(targets)) != len(targets):
        raise UsageError("a target is named twice")
    found = condition(net, {net.index(name): value for name, value in evidence.items()})
    chosen = [found.names.index(name) for name in targets]
    return found._replace(
        names=tuple(targets),
        mean=found.mean[chosen],
        covariance=found.covariance[np.ix_(chosen, chosen)],
    )
