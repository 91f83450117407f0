"""Tails of nonnegative statistics from their first moments.

Σ λ_k χ²₁, with the power sums S_j = Σ λ_k^j: cumulants S₁, 2S₂ and 8S₃. Hall (1983) and Buckley &
Eagleson (1988) move and stretch a χ² distribution so that it has all three,

    (T − S₁)·√(ν/S₂) + ν ~ χ² with ν = S₂³/S₃² degrees of freedom

(Bodenham & Adams 2016, Stat. Comput. 26:917, compare it with others). The power sums are traces of
powers of a matrix, so that no eigenvalues are needed. A gamma distribution has the first two.
"""

from __future__ import annotations

import math

import numpy as np

from gml import kernel


def log_gamma_upper(statistic: float, mean: float, variance: float) -> float:
    """ln of the upper tail of the gamma distribution with this mean and variance.

    Examples
    --------
    >>> round(math.exp(log_gamma_upper(3.841458820694124, 1.0, 2.0)), 12)
    0.05
    """
    if mean <= 0 or variance <= 0:
        return 0.0
    return _log_chi2_upper(2 * statistic * mean / variance, 2 * mean * mean / variance)


def log_weighted_chi2_upper(statistic: float, sums: tuple[float, float, float]) -> float:
    """ln of the upper tail of Σ λ_k χ²₁, by the power sums of the λ.

    Examples
    --------
    >>> round(math.exp(log_weighted_chi2_upper(2 * 5.991464547107979, (4.0, 8.0, 16.0))), 12)
    0.05
    """
    first, second, third = sums
    if first <= 0 or second <= 0 or third <= 0:
        return 0.0
    # As a ratio of roots of the sums, nothing overflows.
    df = (second / third) ** 2 * second
    return _log_chi2_upper((statistic - first) * math.sqrt(df / second) + df, df)


def _log_chi2_upper(statistic: float, df: float) -> float:
    if statistic <= 0:
        return 0.0
    return float(kernel.active().log_chi2_upper(np.array([statistic]), np.array([df]))[0])
