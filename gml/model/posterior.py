"""Exact rows given evidence: the steps that draw the nodes that were not observed.

With levels they come from eliminating the nodes (`Inference.posterior_steps`). Numbers are jointly
normal given the evidence (gaussian.py), and the decomposition L D Lᵀ of their covariance, L unit
triangular, says how each node depends on those before it: L⁻¹ (x − μ) are independent errors of
variances D. Labels and numbers together are drawn as they were eliminated, backwards: the labels,
then each number given labels and numbers that were eliminated after it (mixed/elimination.py).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from gml.kernel.plan import GaussianStep, TableStep
from gml.model.evidence import coded
from gml.model.gaussian import ROUNDING, condition
from gml.model.inference import Inference
from gml.model.mixed.inference import MixedInference
from gml.model.mixed_plan import ConditionalStep
from gml.model.model import TableModel
from gml.model.network import Network
from gml.model.sample import Rows, Step, sampling_plan


def posterior_rows(
    net: Network,
    evidence: Mapping[str, str | float],
    *,
    seed: int = 0,
    missing_rate: float = 0.0,
    max_memory: int | None = None,
) -> Rows:
    """Return the rows of a network given evidence; CannotAnswer if the evidence is impossible."""
    steps: list[Step]
    if net.is_mixed:
        steps = _mixed_steps(net, evidence, max_memory)
    elif net.is_gaussian:
        steps = _gaussian_steps(net, coded(net.variables, evidence))
    else:
        steps = [*table_steps(net, evidence, max_memory=max_memory)]
    plan = sampling_plan(net, seed=seed, steps=steps, observed=evidence)
    return Rows(net.variables, plan, seed, missing_rate)


def table_steps(
    model: TableModel, evidence: Mapping[str, str | float], *, max_memory: int | None = None
) -> list[TableStep]:
    """Return what draws the nodes of a model of tables that were not observed, one by one."""
    found = Inference(model, max_memory=max_memory).posterior_steps(evidence)
    return [TableStep(step.node, step.parents, step.table) for step in found]


def _mixed_steps(
    net: Network, evidence: Mapping[str, str | float], max_memory: int | None
) -> list[Step]:
    asked = MixedInference(net, max_memory=max_memory)
    tables, lines = asked.given(evidence).steps()
    at = asked.ranked.positions
    labels = [
        TableStep(at[step.node], tuple(at[k] for k in step.parents), step.table) for step in tables
    ]
    numbers = [
        ConditionalStep(
            at[step.node],
            tuple(at[k] for k in step.labels),
            tuple(at[k] for k in step.parents),
            step.intercepts,
            step.coefficients,
            step.sds,
        )
        for step in lines
    ]
    return [*labels, *numbers]


def _gaussian_steps(net: Network, evidence: Mapping[int, float]) -> list[Step]:
    given = condition(net, evidence)
    hidden = [net.index(name) for name in given.names]
    unit, deviations = triangular(given.factor)
    inverse = np.linalg.solve(unit, np.eye(len(hidden)))
    steps: list[Step] = []
    for k, j in enumerate(hidden):
        before = [i for i in range(k) if inverse[k, i] != 0]
        coefficients = -inverse[k, before]
        intercept = float(given.mean[k] - coefficients @ given.mean[before])
        parents = tuple(hidden[i] for i in before)
        sd = float(deviations[k])
        steps.append(GaussianStep(j, parents, intercept, tuple(coefficients.tolist()), sd))
    return steps


def triangular(
    factor: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return L and the roots of D with factor·factorᵀ = L D Lᵀ, L unit triangular.

    A node that follows from those before it has no error of its own: its column of L is that of I.
    """
    n = len(factor)
    lower = np.asarray(np.linalg.qr(factor.T, mode="r")).T if factor.size else np.zeros((n, 0))
    lower = np.pad(lower, ((0, 0), (0, max(0, n - lower.shape[1]))))[:, :n]
    unit, deviations = np.eye(n), np.abs(np.diag(lower)).copy()
    for k in range(n):
        if deviations[k] <= ROUNDING * np.abs(lower[k]).max(initial=0.0):
            deviations[k] = 0.0
        else:
            unit[k + 1 :, k] = lower[k + 1 :, k] / lower[k, k]
    return unit, deviations
