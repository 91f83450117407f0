"""Networks of numbers: all nodes are jointly normal, and so are any of them given others.

The standardised errors of the regressions are independent, W (x − μ) = ε with ε ~ N(0, I), so the
density of x_H given x_O is that of a least-squares problem: with W_H = Q R, Q = (Q₁ Q₂) orthogonal,

    x_H − μ_H = −R⁻¹ Q₁ᵀ W_O (x_O − μ_O) + R⁻¹ N(0, I),

and the remainder, Q₂ᵀ W_O (x_O − μ_O) ~ N(0, I), gives the density of x_O. A node without an error
of its own (such as one set by hand) has no row of W. Then x = μ + A ε is conditioned instead, A the
inverse of W: what is observed fixes directions of ε, A_Oᵀ = Q R, and x_H keeps A_H Q₂ N(0, I).

Neither way subtracts variances from one another, so standard deviations keep their digits where the
usual formula Σ − ΣΣ⁻¹Σ loses them (as normal equations do; Golub & Van Loan 2013, 5.3).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer, UsageError, listing, parameter, quote, unknown_name
from gml.model.network import LinearGaussian, Network
from gml.name_order import NameOrder

# Share of a standard deviation below which what is left is rounding.
ROUNDING = 1e-13

Matrix = NDArray[np.float64]


class GaussianPosterior(NamedTuple):
    """Mean and errors of some nodes, x = mean + factor · N(0, I); ln density of the evidence."""

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
    """Euclidean length of numbers of any magnitude."""
    largest = float(np.abs(row).max(initial=0.0))
    return largest * float(np.linalg.norm(row / largest)) if largest > 0 else 0.0


def _log_product(factors: NDArray[np.float64]) -> float:
    """ln |Π factors|, the same to the last bit in any order."""
    return math.fsum(math.log(abs(factor)) for factor in factors.tolist())


def errors_of(net: Network) -> tuple[NDArray[np.float64], Matrix]:
    """Return μ and A: one row per node, one column per error of a node, by name."""
    n = len(net.cpds)
    column = NameOrder(net.names).rank
    mean, factor = np.zeros(n), np.zeros((n, n))
    with np.errstate(over="ignore", invalid="ignore"):
        for j in net.order():
            cpd = net.cpds[j]
            assert isinstance(cpd, LinearGaussian)
            mean[j] = cpd.intercept
            factor[j, column[j]] = cpd.sd
            terms = zip(cpd.parents, cpd.coefficients, strict=True)
            for parent, coefficient in sorted(terms, key=lambda term: term[0].name):
                mean[j] += coefficient * mean[net.index(parent.name)]
                factor[j] += coefficient * factor[net.index(parent.name)]
    if not (np.isfinite(mean).all() and np.isfinite(factor).all()):
        raise CannotAnswer("some means or deviations of this network are beyond 1.8e308")
    return mean, factor


class _Plan(NamedTuple):
    """What observing some nodes, in the order of their names, says about others, for any values."""

    mean: NDArray[np.float64]
    observed_mean: NDArray[np.float64]
    gain: Matrix
    """The others move by this times the deviation of the observed nodes from their means."""
    left: Matrix
    """The errors that the others keep."""
    whiten: Matrix
    """This times the deviation of the observed nodes from their means is standard normal."""
    log_volume: float


def _plan(net: Network, observed: Sequence[int], hidden: Sequence[int]) -> _Plan:
    mean, factor = errors_of(net)
    precision = _standardised(net)
    if precision is None:
        gain, left, whiten, log_volume = _by_errors(net, factor, observed, hidden)
    else:
        gain, left, whiten, log_volume = _by_least_squares(net, precision, observed, hidden)
    return _Plan(mean[list(hidden)], mean[list(observed)], gain, left, whiten, log_volume)


def _standardised(net: Network) -> Matrix | None:
    """W, one row per error and one column per node; None if an error has no size."""
    n = len(net.cpds)
    w = np.zeros((n, n))
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        for j, cpd in enumerate(net.cpds):
            assert isinstance(cpd, LinearGaussian)
            w[j, j] = np.divide(1.0, cpd.sd)
            for parent, coefficient in zip(cpd.parents, cpd.coefficients, strict=True):
                w[j, net.index(parent.name)] = -np.divide(coefficient, cpd.sd)
    return w if np.isfinite(w).all() else None


def _by_least_squares(
    net: Network, w: Matrix, observed: Sequence[int], hidden: Sequence[int]
) -> tuple[Matrix, Matrix, Matrix, float]:
    by_name = NameOrder(net.names).positions.tolist()
    unobserved = [j for j in by_name if j not in set(observed)]
    # Large rows first keep the decomposition accurate (Björck 1996, section 4.4.2).
    rows = sorted(by_name, key=lambda j: -float(np.abs(w[j]).max()))
    w_h, w_o = w[np.ix_(rows, unobserved)], w[np.ix_(rows, list(observed))]
    q, r = np.linalg.qr(w_h, mode="complete")
    size = len(unobserved)
    r = r[:size]
    gain = -np.linalg.solve(r, q[:, :size].T @ w_o)
    left = np.linalg.solve(r, np.eye(size))
    log_volume = _log_product(np.diag(w)) - _log_product(np.diag(r))
    chosen = [unobserved.index(j) for j in hidden]
    return gain[chosen], left[chosen], q[:, size:].T @ w_o, log_volume


def _by_errors(
    net: Network, factor: Matrix, observed: Sequence[int], hidden: Sequence[int]
) -> tuple[Matrix, Matrix, Matrix, float]:
    lengths = np.array([_length(factor[j]) for j in observed])
    if (lengths == 0).any():
        raise _no_density(net, observed)
    q, r = np.linalg.qr((factor[list(observed)] / lengths[:, None]).T, mode="complete")
    r = r[: len(observed)]
    if (np.abs(np.diag(r)) <= ROUNDING).any():
        raise _no_density(net, observed)
    others = factor[list(hidden)]
    left = others @ q[:, len(observed) :]
    # What is less than the rounding of a standard deviation counts as none.
    for k in range(len(hidden)):
        if _length(left[k]) <= ROUNDING * _length(others[k]):
            left[k] = 0.0
    whiten = np.linalg.solve(r.T, np.diag(1 / lengths))
    log_volume = -_log_product(np.diag(r)) - _log_product(lengths)
    return others @ q[:, : len(observed)] @ whiten, left, whiten, log_volume


def condition(net: Network, evidence: Mapping[int, float]) -> GaussianPosterior:
    """Return the distribution of the unobserved nodes, parents first, given the others."""
    observed = NameOrder(net.names).sorted(evidence)
    hidden = [j for j in net.order() if j not in evidence]
    names = tuple(net.names[j] for j in hidden)
    plan = _plan(net, observed, hidden)
    with np.errstate(over="ignore", invalid="ignore"):
        away = np.array([evidence[j] for j in observed]) - plan.observed_mean
        u = plan.whiten @ away
        square = float(u @ u)
        mean = plan.mean + plan.gain @ away
    _require_finite(mean)
    log_density = plan.log_volume - 0.5 * len(observed) * math.log(2 * math.pi) - 0.5 * square
    return GaussianPosterior(names, mean, plan.left, log_density)


def means_of_rows(
    net: Network, targets: Sequence[str], observed: Sequence[str], values: Matrix
) -> tuple[Matrix, Matrix]:
    """Return means and standard deviations, rows × targets, given rows of evidence (NaN: none)."""
    by_name = NameOrder(observed).positions.tolist()
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
        away = values[rows][:, known] - plan.observed_mean
        # One row at a time, so that no answer depends on the others.
        with np.errstate(over="ignore", invalid="ignore"):
            for row, part in zip(rows, away, strict=True):
                mean[row] = plan.mean + plan.gain @ part
        sd[rows] = [_length(errors) for errors in plan.left]
    _require_finite(mean)
    return mean, sd


def _require_finite(mean: NDArray[np.float64]) -> None:
    if not np.isfinite(mean).all():
        raise CannotAnswer("some means given the evidence are beyond 1.8e308")


def _no_density(net: Network, observed: Sequence[int]) -> CannotAnswer:
    return CannotAnswer(
        f"some of {listing(net.names[j] for j in observed)} follow exactly from others, so there "
        "is no density to condition on"
    )


def gaussian_posterior(
    net: Network, evidence: Mapping[str, float], targets: Sequence[str] | None = None
) -> GaussianPosterior:
    """Return the distribution of the targets (default: all others, in order) given evidence."""
    for name in (*evidence, *(targets or ())):
        if name not in net.names:
            raise UsageError(unknown_name("node", name, net.names))
    if targets is None:
        targets = [name for name in net.names if name not in evidence]
    for name in targets:
        if name in evidence:
            raise UsageError(f"{quote(name)} is both observed and asked for")
    if len(set(targets)) != len(targets):
        raise UsageError(f"{parameter('target')} lists a node twice")
    found = condition(net, {net.index(name): value for name, value in evidence.items()})
    chosen = [found.names.index(name) for name in targets]
    return found._replace(
        names=tuple(targets), mean=found.mean[chosen], factor=found.factor[chosen]
    )
