"""Statistics of tables: kernel = reference = the textbook formula, symmetric, exact near zero."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from gml.kernel import reference

compiled = pytest.importorskip("gml.kernel._kernel")

TABLES = st.tuples(
    st.integers(0, 2**32 - 1),
    st.integers(1, 5),
    st.integers(1, 5),
    st.integers(1, 5),
    st.sampled_from([1, 10, 1000, 10**9]),
).map(
    lambda c: np.ascontiguousarray(
        np.random.default_rng(c[0]).integers(0, c[4] + 1, c[1:4])
        * (np.random.default_rng(c[0] + 1).random(c[1:4]) < 0.7)
    )
)


def textbook(table):
    """G and X² by the definition, in 50 digits."""
    with mpmath.workdps(50):
        g = x2 = mpmath.mpf(0)
        for stratum in table.tolist():
            rows = [sum(row) for row in stratum]
            columns = [sum(column) for column in zip(*stratum, strict=True)]
            n = sum(rows)
            for a, row in enumerate(stratum):
                for b, count in enumerate(row):
                    if rows[a] and columns[b]:
                        expected = mpmath.mpf(rows[a]) * columns[b] / n
                        x2 += (count - expected) ** 2 / expected
                        if count:
                            g += 2 * count * mpmath.log(count / expected)
        return float(g), float(x2)


@settings(max_examples=300)
@given(TABLES)
def test_g_and_x2_follow_the_definition_to_the_last_digits(table):
    g, x2 = textbook(table)
    for kernel in (compiled, reference):
        found = kernel.table_statistics_of(table)
        assert_allclose(found.g[0], g, rtol=1e-13, atol=1e-300)
        assert_allclose(found.x2[0], x2, rtol=1e-13, atol=1e-300)
    assert_array_equal(
        compiled.table_statistics_of(table).ints, reference.table_statistics_of(table).ints
    )


@settings(max_examples=300)
@given(TABLES)
def test_moments_under_independence_are_those_of_the_reference(table):
    found, wanted = (kernel.table_statistics_of(table) for kernel in (compiled, reference))
    assert_allclose(found.x2_mean, wanted.x2_mean, rtol=1e-13)
    assert_allclose(found.x2_variance, wanted.x2_variance, rtol=1e-9, atol=1e-9)
    assert_allclose(found.x2_third, wanted.x2_third, rtol=1e-9, atol=1e-9)


@given(TABLES)
def test_adjusted_df_counts_rows_and_columns_that_are_not_empty(table):
    expected = sum(
        max(0, (np.count_nonzero(s.sum(1)) - 1)) * max(0, (np.count_nonzero(s.sum(0)) - 1))
        for s in table
        if s.sum()
    )
    assert compiled.table_statistics_of(table).df_adjusted[0] == expected


@given(TABLES)
def test_transposed_table_has_the_same_statistics(table):
    turned = np.ascontiguousarray(table.transpose(0, 2, 1))
    one, other = compiled.table_statistics_of(table), compiled.table_statistics_of(turned)
    assert_allclose(one.floats[:, :6], other.floats[:, :6], rtol=1e-13, atol=1e-300)
    # The third moment is a sum of terms of both signs, in another order.
    assert_allclose(one.x2_third, other.x2_third, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kernel", [compiled, reference], ids=["compiled", "reference"])
def test_nearly_independent_table_keeps_its_digits(kernel):
    n = 10**6
    table = np.array([[[n + 1, n], [n, n]]])
    g, x2 = textbook(table)
    found = kernel.table_statistics_of(table)
    assert 0 < g < 1e-6
    assert_allclose(found.g[0], g, rtol=1e-12)
    assert_allclose(found.x2[0], x2, rtol=1e-12)


@pytest.mark.parametrize("kernel", [compiled, reference], ids=["compiled", "reference"])
def test_independent_table_has_exactly_zero(kernel):
    table = np.array([[[6, 12], [10, 20]], [[0, 0], [7, 7]], [[0, 0], [0, 0]]])
    found = kernel.table_statistics_of(table)
    assert found.floats[0, :2].tolist() == [0.0, 0.0]
    assert found.df_adjusted[0] == 1
    assert found.seen_strata[0] == 2


@pytest.mark.parametrize("kernel", [compiled, reference], ids=["compiled", "reference"])
def test_large_counts_do_not_overflow(kernel):
    # 32-bit products of margins overflow here, 64-bit ones nearly so.
    big = 2**31
    table = np.array([[[big, big], [big, big - 1]]])
    g, x2 = textbook(table)
    found = kernel.table_statistics_of(table)
    assert_allclose([found.g[0], found.x2[0]], [g, x2], rtol=1e-10)


def sequential_log_bf(table, alpha):
    """BDeu(x|y,Z) − BDeu(x|Z) as a product of predictive probabilities, row by row."""
    strata, r, c = table.shape
    total = 0.0
    for s in range(strata):
        seen = np.zeros((r, c))
        for a in range(r):
            for b in range(c):
                for _ in range(table[s, a, b]):
                    with_y = (seen[a, b] + alpha) / (seen[:, b].sum() + alpha * r)
                    without = (seen[a].sum() + alpha * c) / (seen.sum() + alpha * r * c)
                    total += math.log(with_y) - math.log(without)
                    seen[a, b] += 1
    return total


@settings(max_examples=100)
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(2, 4), st.integers(2, 3),
    st.sampled_from([0.01, 1 / 3, 1.0, 7.0]),
)  # fmt: skip
def test_bayes_factor_is_a_product_of_predictions(seed, strata, r, c, alpha):
    table = np.random.default_rng(seed).integers(0, 9, (strata, r, c)) * 3
    expected = sequential_log_bf(table, alpha)
    for kernel in (compiled, reference):
        assert_allclose(kernel.log_bayes_factor(table, alpha), expected, rtol=1e-9, atol=1e-9)
    turned = np.ascontiguousarray(table.transpose(0, 2, 1))
    assert_allclose(compiled.log_bayes_factor(turned, alpha), expected, rtol=1e-9, atol=1e-9)


def test_cramers_v_denominator_weighs_strata():
    table = np.array([[[5, 0], [0, 5]], [[3, 3], [0, 0]]])
    found = compiled.table_statistics_of(table)
    assert found.v_denominator[0] == 10
    assert found.x2[0] == float(Fraction(10))
