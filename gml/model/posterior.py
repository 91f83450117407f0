"""Exact rows given evidence: the steps that draw the nodes that were not observed.

With levels they come from eliminating the nodes (`Inference.posterior_steps`). Numbers are jointly
normal: their mean and covariance follow from the regressions, those given the evidence by the usual
formula (Lauritzen 1996, appendix C), and its decomposition C = L D Lᵀ, L unit triangular, says how
each node depends on those before it: L⁻¹ (x − μ) are independent errors of variances D.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer, listing
from gml.kernel.plan import GaussianStep, TableStep
from gml.model.bayesnet import BayesNet, LinearGaussian
from gml.model.query import Inference
from gml.model.sample import Rows, Step, coded, sampling_plan

# Of a variance: what is left below this share of it is rounding.
_ROUNDING = 1e-12


def posterior_rows(
    net: BayesNet,
    evidence: Mapping[str, str | float],
    *,
    seed: int = 0,
    missing_rate: float = 0.0,
    max_memory: int | None = None,
) -> Rows:
    """Return the rows of a network given evidence; without any chance of it, CannotAnswer."""
    steps: list[Step]
    if net.is_gaussian:
        steps = _gaussian_steps(net, coded(net, evidence))
    else:
        inference = Inference(net, max_memory=max_memory)
        found = inference.posterior_steps({name: str(level) for name, level in evidence.items()})
        steps = [TableStep(step.node, step.parents, step.table) for step in found]
    plan = sampling_plan(net, seed=seed, steps=steps, observed=evidence)
    return Rows(net.variables, plan, seed, missing_rate)


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


def _gaussian_steps(net: BayesNet, evidence: Mapping[int, float]) -> list[Step]:
    mean, covariance = moments(net)
    observed = sorted(evidence)
    hidden = [j for j in net.order() if j not in evidence]
    values = np.array([evidence[j] for j in observed])
    among = covariance[np.ix_(observed, observed)]
    scale = np.sqrt(np.diag(among))
    if (scale == 0).any() or np.linalg.eigvalsh(among / np.outer(scale, scale))[0] < _ROUNDING:
        raise CannotAnswer(
            f"some of {listing(net.names[j] for j in observed)} follow exactly from others: there "
            "is no density to condition on"
        )
    across = covariance[np.ix_(hidden, observed)]
    gain = np.linalg.solve(among, across.T).T
    mean_given = mean[hidden] + gain @ (values - mean[observed])
    left = covariance[np.ix_(hidden, hidden)] - gain @ across.T
    lower, variances = _decomposed(left, np.diag(covariance)[hidden])
    inverse = np.linalg.solve(lower, np.eye(len(hidden)))
    steps: list[Step] = []
    for k, j in enumerate(hidden):
        before = [i for i in range(k) if inverse[k, i] != 0]
        coefficients = -inverse[k, before]
        intercept = float(mean_given[k] - coefficients @ mean_given[before])
        parents = tuple(hidden[i] for i in before)
        sd = float(np.sqrt(variances[k]))
        steps.append(GaussianStep(j, parents, intercept, tuple(coefficients.tolist()), sd))
    return steps


def _decomposed(
    matrix: NDArray[np.float64], scale: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return L and D of a covariance matrix, which may be singular."""
    n = len(matrix)
    rest = matrix.copy()
    lower, variances = np.eye(n), np.zeros(n)
    for k in range(n):
        if rest[k, k] <= _ROUNDING * scale[k]:
            continue
        variances[k] = rest[k, k]
        lower[k + 1 :, k] = rest[k + 1 :, k] / variances[k]
        rest[k + 1 :, k + 1 :] -= variances[k] * np.outer(lower[k + 1 :, k], lower[k + 1 :, k])
    return lower, variances
