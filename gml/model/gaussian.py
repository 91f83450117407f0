"""Networks of numbers: all nodes are jointly normal, and so are any of them given others.

The standardised errors of the regressions are independent, W (x − μ) = ε with ε ~ N(0, I), so the
density of x_H given x_O is that of a least-squares problem: with W_H = Q R, Q = (Q₁ Q₂) orthogonal,

    x_H = −R⁻¹ Q₁ᵀ (W_O x_O − c) + R⁻¹ N(0, I),    c = W μ: intercepts over standard deviations,

and the remainder, Q₂ᵀ (W_O x_O − c) ~ N(0, I), gives the density of x_O. A node without an error
of its own (such as one set by hand) has no row of W. Then x = μ + A ε is conditioned instead, A the
inverse of W: what is observed fixes directions of ε, A_Oᵀ = Q R, and x_H keeps A_H Q₂ N(0, I).

Neither way subtracts variances from one another, so standard deviations keep their digits where the
usual formula Σ − ΣΣ⁻¹Σ loses them (as normal equations do; Golub & Van Loan 2013, 5.3). Rows of W
are as far apart as the errors are, and reflections keep the digits of the small ones only if the
largest column and in it the largest row come first (Cox & Higham 1998, "Stability of Householder QR
factorization for weighted least squares problems"; ties go by name).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer, UsageError, listing, parameter, quote, unknown_name
from gml.model.network import Network
from gml.model.regressions import LinearGaussian
from gml.name_order import NameOrder

# Share of a standard deviation below which what is left is rounding.
ROUNDING = 1e-13
_MAGNIFIED = 64 * float(np.finfo(np.float64).eps)

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

    origin: NDArray[np.float64]
    """Values of the observed nodes, from which the next ones are counted."""
    mean: NDArray[np.float64]
    """The means of the others there."""
    gain: Matrix
    """The others move by this times what the observed nodes are away from there."""
    left: Matrix
    """The errors that the others keep."""
    whiten: Matrix
    rest: NDArray[np.float64]
    """`whiten` times what the observed nodes are away from there, plus this: standard normal."""
    log_volume: float

    def means(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means of the others, given the values of the observed nodes."""
        return self.mean + self.gain @ (values - self.origin)

    def log_density(self, values: NDArray[np.float64]) -> float:
        """Return the ln density of the values of the observed nodes."""
        u = self.whiten @ (values - self.origin) + self.rest
        return self.log_volume - 0.5 * len(values) * math.log(2 * math.pi) - 0.5 * float(u @ u)


def _plan(net: Network, observed: Sequence[int], hidden: Sequence[int]) -> _Plan:
    mean, factor = errors_of(net)
    precision = _standardised(net)
    if precision is None or not observed:
        return _by_errors(net, mean, factor, observed, hidden)
    return _by_least_squares(net, precision, observed, hidden)


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
) -> _Plan:
    by_name = NameOrder(net.names).positions.tolist()
    unobserved = [j for j in by_name if j not in set(observed)]
    size = len(unobserved)
    chosen = [unobserved.index(j) for j in hidden]
    intercepts = np.array([_intercept(net, j) * w[j, j] for j in by_name])
    beside = np.column_stack([w[np.ix_(by_name, list(observed))], -intercepts])
    r, turned, order = _reflected(w[np.ix_(by_name, unobserved)], beside)
    known = len(observed)
    solved = np.empty((size, known + 1))
    left = np.empty((size, size))
    solved[order] = -np.linalg.solve(r, turned[:size, : known + 1])
    left[order] = np.linalg.solve(r, np.eye(size))
    return _Plan(
        np.zeros(known),
        solved[chosen, known],
        solved[chosen, :known],
        left[chosen],
        turned[size:, :known],
        turned[size:, known],
        _log_product(np.diag(w)) - _log_product(np.diag(r)),
    )


def _intercept(net: Network, j: int) -> float:
    cpd = net.cpds[j]
    assert isinstance(cpd, LinearGaussian)
    return cpd.intercept


def _reflected(a: Matrix, beside: Matrix) -> tuple[Matrix, Matrix, list[int]]:
    """Return R and Qᵀ · `beside` with a = Q R, and the columns of a in the order that R has them.

    Each reflection takes the longest column that is left, and the largest of its rows first.
    """
    size = a.shape[1]
    both = np.hstack([a, beside])
    order = list(range(size))
    for k in range(size):
        rest = both[k:, k:size]
        largest = float(np.abs(rest).max())
        if largest == 0:
            break
        lengths = np.linalg.norm(rest / largest, axis=0)
        column = k + int(np.argmax(lengths))
        both[:, [k, column]] = both[:, [column, k]]
        order[k], order[column] = order[column], order[k]
        row = k + int(np.argmax(np.abs(both[k:, k])))
        both[[k, row]] = both[[row, k]]
        mirror = both[k:, k].copy()
        length = math.copysign(_length(mirror), mirror[0])
        mirror[0] += length
        mirror /= _length(mirror)
        both[k:, k:] -= np.outer(2 * mirror, mirror @ both[k:, k:])
    return np.triu(both[:size, :size]), both[:, size:], order


def _by_errors(
    net: Network,
    mean: NDArray[np.float64],
    factor: Matrix,
    observed: Sequence[int],
    hidden: Sequence[int],
) -> _Plan:
    lengths = np.array([_length(factor[j]) for j in observed])
    if (lengths == 0).any():
        raise _no_density(net, observed)
    known, others = len(observed), factor[list(hidden)]
    r, turned, order = _reflected((factor[list(observed)] / lengths[:, None]).T, others.T)
    spread = np.abs(np.diag(r))
    if (spread <= ROUNDING).any():
        raise _no_density(net, observed)
    left = turned[known:].T.copy()
    # What is less than the rounding of a standard deviation counts as none; observed nodes that
    # nearly follow from others magnify it.
    rounding = max(ROUNDING, _MAGNIFIED / float(spread.min(initial=1.0)))
    for k in range(len(hidden)):
        if _length(left[k]) <= rounding * _length(others[k]):
            left[k] = 0.0
    whiten = np.linalg.solve(r.T, np.eye(known)[order] / lengths)
    return _Plan(
        mean[list(observed)],
        mean[list(hidden)],
        turned[:known].T @ whiten,
        left,
        whiten,
        np.zeros(known),
        -_log_product(np.diag(r)) - _log_product(lengths),
    )


def condition(net: Network, evidence: Mapping[int, float]) -> GaussianPosterior:
    """Return the distribution of the unobserved nodes, parents first, given the others."""
    observed = NameOrder(net.names).sorted(evidence)
    hidden = [j for j in net.order() if j not in evidence]
    names = tuple(net.names[j] for j in hidden)
    plan = _plan(net, observed, hidden)
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.array([evidence[j] for j in observed], dtype=np.float64)
        log_density = plan.log_density(values)
        mean = plan.means(values)
    _require_finite(mean)
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
        # One row at a time, so that no answer depends on the others.
        with np.errstate(over="ignore", invalid="ignore"):
            for row in rows:
                mean[row] = plan.means(values[row, known])
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
