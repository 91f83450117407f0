"""ln of the upper tail of the χ² distribution: series and continued fraction of Q(df/2, x/2).

DLMF 8.7.1 below x = a + 1, 8.9.2 above; the common factor xᵃe⁻ˣ/Γ(a+1) as in Loader (2000), without
cancellation in its exponent.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def deviance(x: float, m: float) -> float:
    """x ln(x/m) + m − x without cancellation, x ≥ 0, m > 0."""
    if x == 0:
        return m
    d = x - m
    if abs(d) >= 0.1 * (x + m):
        return x * math.log(x / m) + m - x
    v = d / (x + m)
    total, term, v2 = d * v, 2 * x * v, v * v
    for j in range(1, 1000):
        term *= v2
        following = total + term / (2 * j + 1)
        if following == total:
            break
        total = following
    return total


def stirling_error(a: float) -> float:
    """ln Γ(a+1) − ((a + ½) ln a − a + ln √2π), a > 0."""
    if a < 15:
        return math.lgamma(a + 1) - (a + 0.5) * math.log(a) + a - _HALF_LOG_2PI
    s = 1 / (a * a)
    series = 0.0
    for coefficient in (-691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12):
        series = coefficient + s * series
    return series / a


def _log_factor(a: float, x: float) -> float:
    return -stirling_error(a) - deviance(a, x) - _HALF_LOG_2PI - 0.5 * math.log(a)


def _log_upper(statistic: float, df: float) -> float:
    a, x = df / 2, statistic / 2
    if not df > 0 or not x > 0:
        return 0.0
    if math.isinf(x):
        return -math.inf
    if x < a + 1:
        total = term = 1.0
        k = a + 1
        while term > total * 1e-17:
            term *= x / k
            total += term
            k += 1
        log_p = _log_factor(a, x) + math.log(total)
        if log_p > -0.693:
            return math.log(-math.expm1(log_p))
        return math.log1p(-math.exp(log_p))
    b = x + 1 - a
    c, d = 1e300, 1 / b
    fraction = d
    k = 0.0
    while True:
        k += 1
        numerator = -k * (k - a)
        b += 2
        d = numerator * d + b
        d = 1 / (d if abs(d) > 1e-300 else 1e-300)
        c = b + numerator / c
        c = c if abs(c) > 1e-300 else 1e-300
        ratio = d * c
        fraction *= ratio
        if abs(ratio - 1) < 1e-15 or k > 1e8:
            return _log_factor(a, x) + math.log(a * fraction)


def log_chi2_upper(statistic: NDArray[np.float64], df: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln of the upper tail of the χ² distribution, elementwise."""
    pairs = zip(statistic.tolist(), df.tolist(), strict=True)
    return np.array([_log_upper(s, d) for s, d in pairs], dtype=np.float64)
