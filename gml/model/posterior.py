"""Exact rows given evidence: the steps that draw the nodes that were not observed.

With levels they come from eliminating the nodes (`Inference.posterior_steps`). Numbers are jointly
normal given the evidence (gaussian.py), and the decomposition C = L D Lᵀ of their covariance, L
unit triangular, says how each node depends on those before it: L⁻¹ (x − μ) are independent errors
of variances D.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from gml.kernel.plan import GaussianStep, TableStep
from gml.model.bayesnet import BayesNet
from gml.model.gaussian import ROUNDING, condition
from gml.model.query import Inference
from gml.model.sample import Rows, Step, coded, sampling_plan


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


def _gaussian_steps(net: BayesNet, evidence: Mapping[int, float]) -> list[Step]:
    given = condition(net, evidence)
    hidden = [net.index(name) for name in given.names]
    lower, variances = _decomposed(given.covariance)
    inverse = np.linalg.solve(lower, np.eye(len(hidden)))
    steps: list[Step] = []
    for k, j in enumerate(hidden):
        before = [i for i in range(k) if inverse[k, i] != 0]
        coefficients = -inverse[k, before]
        intercept = float(given.mean[k] - coefficients @ given.mean[before])
        parents = tuple(hidden[i] for i in before)
        sd = float(np.sqrt(variances[k]))
        steps.append(GaussianStep(j, parents, intercept, tuple(coefficients.tolist()), sd))
    return steps


def _decomposed(
    matrix: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return L and D of a covariance matrix, which may be singular."""
    n = len(matrix)
    rest = matrix.copy()
    scale = np.diag(matrix)
    lower, variances = np.eye(n), np.zeros(n)
    for k in range(n):
        if rest[k, k] <= ROUNDING * scale[k]:
            continue
        variances[k] = rest[k, k]
        lower[k + 1 :, k] = rest[k + 1 :, k] / variances[k]
        rest[k + 1 :, k + 1 :] -= variances[k] * np.outer(lower[k + 1 :, k], lower[k + 1 :, k])
    return lower, variances
