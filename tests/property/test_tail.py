"""The χ² tail in the log domain against mpmath and scipy, for any df and statistic."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gml.kernel import reference

compiled = pytest.importorskip("gml.kernel._kernel")

DF = [1, 2, 3, 4, 5, 8, 17, 29, 30, 31, 64, 216, 999, 10_000, 123_457, 1_000_000]


def exact(statistic, df):
    """ln of the upper tail in 60 digits and more; the digits that 1 − P would eat are added."""
    with mpmath.workdps(60):
        a, x = mpmath.mpf(df) / 2, mpmath.mpf(statistic) / 2
        if x < a:
            lower = mpmath.gammainc(a, 0, x, regularized=True)
            return mpmath.log1p(-lower)
        upper = mpmath.gammainc(a, x, mpmath.inf, regularized=True)
        return mpmath.log(upper)


def log_upper(kernel, statistic, df):
    return kernel.log_chi2_upper(np.array([statistic], float), np.array([df], float))[0]


@pytest.mark.parametrize("df", [d for d in DF if d <= 10_000])
@pytest.mark.parametrize("ratio", [1e-6, 0.01, 0.3, 0.9, 0.99, 1.0, 1.01, 1.1, 1.5, 3, 20, 1000])
def test_against_mpmath(df, ratio):
    statistic = df * ratio
    expected = exact(statistic, df)
    for kernel in (compiled, reference):
        assert_allclose(log_upper(kernel, statistic, df), float(expected), rtol=1e-10)


@pytest.mark.parametrize("df", [1, 2, 7, 100, 5000])
@pytest.mark.parametrize("log10_p", [-1000, -30_000, -300_000])
def test_far_tail(df, log10_p):
    """Down to p = 10⁻³⁰⁰⁰⁰⁰."""
    statistic = -2 * log10_p * math.log(10)
    expected = float(exact(statistic, df))
    if df < 10:
        assert expected / math.log(10) < log10_p * 0.9
    for kernel in (compiled, reference):
        assert_allclose(log_upper(kernel, statistic, df), expected, rtol=1e-10)


@pytest.mark.parametrize("df", [123_457, 1_000_000, 100_000_000])
@pytest.mark.parametrize("sigmas", [-5, -1, 0, 1, 5, 30])
def test_many_degrees_of_freedom(df, sigmas):
    statistic = df + sigmas * math.sqrt(2 * df)
    with mpmath.workdps(40):
        a, x = mpmath.mpf(df) / 2, mpmath.mpf(statistic) / 2
        # DLMF 8.8.2 backwards: integrate the density, which mpmath does to full precision
        width = mpmath.sqrt(a)

        def density(t):
            return mpmath.exp((a - 1) * mpmath.log(t) - t - mpmath.loggamma(a))

        points = [x + k * width / (40 if sigmas > 20 else 4) for k in range(80)]
        expected = float(mpmath.log(mpmath.quad(density, points)))
    assert_allclose(log_upper(compiled, statistic, df), expected, rtol=1e-10)


@given(st.floats(0, 1e5), st.integers(1, 3000))
def test_compiled_equals_reference(statistic, df):
    assert_allclose(
        log_upper(compiled, statistic, df), log_upper(reference, statistic, df), rtol=1e-12
    )


@given(st.floats(0.01, 1000), st.integers(1, 500))
def test_against_scipy_where_scipy_can(statistic, df):
    from scipy.stats import chi2

    expected = chi2.logsf(statistic, df)
    if -600 < expected < -1e-12:
        assert_allclose(log_upper(compiled, statistic, df), expected, rtol=1e-9)


@given(st.floats(0, 1e4), st.floats(0, 1e4), st.integers(1, 1000))
def test_monotone(one, other, df):
    low, high = sorted((one, other))
    assert log_upper(compiled, low, df) >= log_upper(compiled, high, df) - 1e-13


def test_edges():
    for kernel in (compiled, reference):
        assert log_upper(kernel, 0.0, 3) == 0.0
        assert log_upper(kernel, 5.0, 0) == 0.0
        assert log_upper(kernel, math.inf, 2) == -math.inf
        assert_allclose(log_upper(kernel, 7.0, 2), -3.5, rtol=1e-15)
