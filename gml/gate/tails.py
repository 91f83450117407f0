"""Upper tails in natural logarithms, and where they have a given value.

The tails of χ² are the kernel's. Roots are found by the Illinois variant of false position, in
logarithms, where tails bend least.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from gml import kernel

_LEAST_SKEWNESS = 1e-3
_LARGEST = 1e30
_LEAST = 1e-300
_STEPS = 100
_CLOSE = 1e-12
_TERMS = 10_000


def log_skewed_tail(z: float, skewness: float) -> float:
    """ln P(Z ≥ z) of a standardised variable with positive skewness; normal without any."""
    if skewness < _LEAST_SKEWNESS:
        return log_normal_tail(z)
    df = 8 / skewness**2
    return log_chi2_tail(df + z * math.sqrt(2 * df), df)


def log_normal_tail(z: float) -> float:
    """ln P(Z ≥ z) of a standard normal variable."""
    half = log_chi2_tail(z * z, 1.0) + math.log(0.5)
    return half if z >= 0 else math.log1p(-math.exp(half))


def log_chi2_tail(x: float, df: float) -> float:
    """ln of the upper tail of the χ² distribution."""
    if x <= 0:
        return 0.0
    statistic, freedom = np.array([x], dtype=np.float64), np.array([df], dtype=np.float64)
    return float(kernel.active().log_chi2_upper(statistic, freedom)[0])


def log_f_tail(f: float, df1: float, df2: float) -> float:
    """ln of the upper tail of the F distribution, by the continued fraction of the beta integral.

    (Press et al. 2007, Numerical Recipes, 6.4.)

    Examples
    --------
    >>> round(math.exp(log_f_tail(3.0, 2.0, 30.0)), 6)
    0.064905
    """
    if f <= 0:
        return 0.0
    if math.isinf(f):
        return -math.inf
    y, a, b = df2 / (df2 + df1 * f), df2 / 2, df1 / 2
    other = df1 * f / (df2 + df1 * f)
    if y < (a + 1) / (a + b + 2):
        return min(0.0, _log_beta_share(y, other, a, b))
    return math.log1p(-math.exp(min(-1e-300, _log_beta_share(other, y, b, a))))


def _log_beta_share(y: float, other: float, a: float, b: float) -> float:
    """ln I_y(a, b), for y on the side where the fraction converges fast; `other` is 1 − y."""
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    front = a * math.log(y) + b * math.log(other) - log_beta - math.log(a)
    c, d = 1.0, 1 / _away_from_0(1 - (a + b) * y / (a + 1))
    fraction = d
    for m in range(1, _TERMS):
        for term in (
            m * (b - m) * y / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * y / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _away_from_0(1 + term * d)
            c = _away_from_0(1 + term / c)
            fraction *= c * d
        if abs(c * d - 1) < _CLOSE:
            break
    return front + math.log(fraction)


def _away_from_0(x: float) -> float:
    return x if abs(x) > _LEAST else _LEAST


def log_noncentral_tail(x: float, df: float, noncentrality: float) -> float:
    """ln of the upper tail of the noncentral χ² distribution, a Poisson mixture of central ones.

    Examples
    --------
    >>> round(math.exp(log_noncentral_tail(10.0, 3.0, 4.0)), 6)
    0.224078
    """
    half = noncentrality / 2
    if half == 0 or x <= 0:
        return log_chi2_tail(x, df)
    if half > 1e5:
        return log_normal_tail((x - df - noncentrality) / math.sqrt(2 * df + 4 * noncentrality))
    reach = 12 * math.sqrt(half) + 40
    terms = np.arange(max(0, math.floor(half - reach)), math.ceil(half + reach), dtype=np.float64)
    # Ratios of successive weights, which sum to 1; the logarithms of large factorials would cancel.
    log_weight = np.concatenate([[0.0], np.cumsum(np.log(half / terms[1:]))])
    weights = np.exp(log_weight - log_weight.max())
    # Two more degrees of freedom add (x/2)^(df/2) exp(-x/2)/gamma(df/2 + 1) to a tail.
    freedom = df / 2 + terms
    first = freedom[0] * math.log(x / 2) - x / 2 - math.lgamma(freedom[0] + 1)
    log_added = first + np.concatenate([[0.0], np.cumsum(np.log(x / 2 / freedom[1:]))])
    log_least = log_chi2_tail(x, df + 2 * float(terms[0]))
    scale = max(log_least, float(log_added.max()))
    tails = math.exp(log_least - scale) + np.concatenate(
        [[0.0], np.cumsum(np.exp(log_added[:-1] - scale))]
    )
    return min(0.0, scale + math.log(float(np.sum(weights * tails)) / float(np.sum(weights))))


def log_sum(logs: NDArray[np.float64] | Sequence[float]) -> float:
    """ln Σ exp, at most 0, as the sum is a probability."""
    largest = float(np.max(logs))
    if not math.isfinite(largest):
        return largest
    return min(0.0, largest + math.log(math.fsum(np.exp(np.asarray(logs) - largest).tolist())))


def chi2_quantile(log_p: float, df: float) -> float:
    """Return where the upper tail of the χ² distribution has a given probability.

    Examples
    --------
    >>> round(chi2_quantile(math.log(0.05), 1.0), 4)
    3.8415
    """
    return _root(lambda x: log_chi2_tail(x, df) - log_p, max(1.0, df))


def noncentrality_bound(statistic: float, df: float, share: float) -> float:
    """Return the noncentrality under which a statistic this small has a given probability.

    Examples
    --------
    >>> bound = noncentrality_bound(2.0, 1.0, 1e-3)
    >>> round(1 - math.exp(log_noncentral_tail(2.0, 1.0, bound)), 6)
    0.001
    """

    def excess(noncentrality: float) -> float:
        lower_tail = -math.expm1(log_noncentral_tail(statistic, df, noncentrality))
        return math.log(max(lower_tail, _LEAST)) - math.log(share)

    return _root(excess, max(1.0, statistic))


def _root(falling: Callable[[float], float], guess: float) -> float:
    """Return where a falling function is 0; 0 if it is negative everywhere."""
    low, high = 0.0, guess
    at_low, at_high = falling(low), falling(high)
    if at_low <= 0:
        return low
    while at_high > 0 and high < _LARGEST:
        low, at_low = high, at_high
        high *= 2
        at_high = falling(high)
    if at_high > 0:
        return high
    side = 0
    for _ in range(_STEPS):
        if at_high == 0 or high - low <= _CLOSE * high:
            break
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        if not low < middle < high:
            middle = (low + high) / 2
        value = falling(middle)
        # The end that stays twice in a row counts half, or it would stay for ever.
        if value > 0:
            low, at_low = middle, value
            at_high, side = at_high / 2 if side > 0 else at_high, 1
        else:
            high, at_high = middle, value
            at_low, side = at_low / 2 if side < 0 else at_low, -1
    return high
