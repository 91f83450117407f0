"""Networks of numbers: all nodes are jointly normal, and given some of them so are the others.

Every node is its mean plus a combination of the standardised errors of all, x = μ + A ε with
ε ~ N(0, I), A from the regressions, parents first. What is observed fixes some directions of ε, and
A_Oᵀ = Q R says which: with Q = (Q₁ Q₂) orthogonal, Rᵀu = x_O − μ_O and v ~ N(0, I),

    x_H = μ_H + A_H Q₁ u + A_H Q₂ v.

No variances are subtracted from one another, so that standard deviations keep their digits where
the usual formula Σ − ΣΣ⁻¹Σ loses them (as normal equations do; Golub & Van Loan 2013, section 5.3).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer, UsageError, listing, quote, unknown_name
from gml.model.bayesnet import BayesNet, LinearGaussian

# Of a standard deviation: what is left below this share of it is rounding.
ROUNDING = 1e-13

Matrix = NDArray[np.float64]


class GaussianPosterior(NamedTuple):
    """Mean and errors of some nodes, x = mean + factor · N(0, I); ln of the density observed."""

    names: tuple[str, ...]
    mean: NDArray[np.float64]
    factor: Matrix
    log_density: float

    def sd(self, i: int) -> float:
        """Standard deviation of a node."""
        return _length(self.factor[i])

    def r(self, i: int, j: int) -> float | None:
        """Correlation of two nodes; None if one of them does not vary."""
        lengths = self.sd(i), self.sd(j)
        if 0 in lengths:
            return None
        if i == j:
            return 1.0
        return float((self.factor[i] / lengths[0]) @ (self.factor[j] / lengths[1]))


def _length(row: NDArray[np.float64]) -> float:
    """Euclidean length, of numbers of any size."""
    largest = float(np.abs(row).max(initial=0.0))
    return largest * float(np.linalg.norm(row / largest)) if largest > 0 else 0.0


def errors_of(net: BayesNet) -> tuple[NDArray[np.float64], Matrix]:
    """Return μ and A: a row for each node, a column for the error of each node, by name."""
    n = len(net.cpds)
    column = {name: k for k, name in enumerate(sorted(net.names))}
    mean, factor = np.zeros(n), np.zeros((n, n))
    with np.errstate(over="ignore", invalid="ignore"):
        for j in net.order():
            cpd = net.cpds[j]
            assert isinstance(cpd, LinearGaussian)
            mean[j] = cpd.intercept
            factor[j, column[cpd.variable.name]] = cpd.sd
            terms = zip(cpd.parents, cpd.coefficients, strict=True)
            for parent, coefficient in sorted(terms, key=lambda term: term[0].name):
                mean[j] += coefficient * mean[net.index(parent.name)]
                factor[j] += coefficient * factor[net.index(parent.name)]
    if not (np.isfinite(mean).all() and np.isfinite(factor).all()):
        raise CannotAnswer("some means or deviations of this network are beyond 1.8e308")
    return mean, factor


class _Plan(NamedTuple):
    """What observing some nodes, in order of their names, says of others, whatever is observed."""

    mean: NDArray[np.float64]
    observed_mean: NDArray[np.float64]
    lengths: NDArray[np.float64]
    r: Matrix
    gain: Matrix
    """A_H Q₁: the others move by this times u."""
    left: Matrix
    """A_H Q₂: the errors that the others keep."""


def _plan(net: BayesNet, observed: Sequence[int], hidden: Sequence[int]) -> _Plan:
    mean, factor = errors_of(net)
    lengths = np.array([_length(factor[j]) for j in observed])
    if (lengths == 0).any():
        raise _no_density(net, observed)
    q, r = np.linalg.qr((factor[list(observed)] / lengths[:, None]).T, mode="complete")
    r = r[: len(observed)]
    if (np.abs(np.diag(r)) <= ROUNDING).any():
        raise _no_density(net, observed)
    others = factor[list(hidden)]
    left = others @ q[:, len(observed) :]
    # What is less than the rounding of a standard deviation is none.
    for k in range(len(hidden)):
        if _length(left[k]) <= ROUNDING * _length(others[k]):
            left[k] = 0.0
    gain = others @ q[:, : len(observed)]
    return _Plan(mean[list(hidden)], mean[list(observed)], lengths, r, gain, left)


def condition(net: BayesNet, evidence: Mapping[int, float]) -> GaussianPosterior:
    """Return the distribution of the unobserved nodes, parents first, given numbers of others."""
    observed = sorted(evidence, key=net.names.__getitem__)
    hidden = [j for j in net.order() if j not in evidence]
    names = tuple(net.names[j] for j in hidden)
    plan = _plan(net, observed, hidden)
    away = (np.array([evidence[j] for j in observed]) - plan.observed_mean) / plan.lengths
    u = np.linalg.solve(plan.r.T, away)
    log_density = (
        -0.5 * (len(observed) * math.log(2 * math.pi) + float(u @ u))
        - float(np.sum(np.log(np.abs(np.diag(plan.r)))))
        - float(np.sum(np.log(plan.lengths)))
    )
    return GaussianPosterior(names, plan.mean + plan.gain @ u, plan.left, log_density)


def means_of_rows(
    net: BayesNet, targets: Sequence[str], observed: Sequence[str], values: Matrix
) -> tuple[Matrix, Matrix]:
    """Return means and standard deviations, rows × targets, given rows of evidence (NaN: none)."""
    by_name = sorted(range(len(observed)), key=observed.__getitem__)
    values = values[:, by_name]
    hidden = [net.index(name) for name in targets]
    nodes = [net.index(observed[k]) for k in by_name]
    shape = len(values), len(targets)
    mean, sd = np.empty(shape), np.empty(shape)
    seen = ~np.isnan(values)
    patterns, of_row = np.unique(seen, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        rows = np.flatnonzero(of_row.reshape(-1) == number)
        known = np.flatnonzero(pattern).tolist()
        plan = _plan(net, [nodes[k] for k in known], hidden)
        away = (values[rows][:, known] - plan.observed_mean) / plan.lengths
        # One row at a time, so that no answer depends on the others.
        for row, part in zip(rows, away, strict=True):
            mean[row] = plan.mean + plan.gain @ np.linalg.solve(plan.r.T, part)
        sd[rows] = [_length(errors) for errors in plan.left]
    return mean, sd


def _no_density(net: BayesNet, observed: Sequence[int]) -> CannotAnswer:
    return CannotAnswer(
        f"some of {listing(net.names[j] for j in observed)} follow exactly from others: there is "
        "no density to condition on"
    )


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
        names=tuple(targets), mean=found.mean[chosen], factor=found.factor[chosen]
    )
