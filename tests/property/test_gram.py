"""Gram matrices, random features, sums of distances: kernel, reference and definition agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gml.kernel import reference


def points(columns, n, seed=0):
    return np.random.default_rng(seed).normal(size=(columns, n))


@pytest.mark.parametrize(("columns", "n"), [(1, 2), (1, 17), (3, 1), (3, 40), (7, 33)])
def test_distances_and_kernels(compiled, columns, n):
    some = points(columns, n)
    pairs = [np.sum((some[:, i] - some[:, j]) ** 2) for i in range(n) for j in range(i + 1, n)]
    np.testing.assert_allclose(compiled.squared_distances(some), pairs, rtol=1e-14)
    np.testing.assert_allclose(reference.squared_distances(some), pairs, rtol=1e-14)
    gram = compiled.gaussian_gram(some, 0.3)
    np.testing.assert_allclose(gram, reference.gaussian_gram(some, 0.3), rtol=1e-13)
    assert np.array_equal(gram, gram.T)
    assert np.all(np.diag(gram) == 1)


def test_far_points_have_a_kernel_of_almost_nothing(compiled):
    gram = compiled.gaussian_gram(np.array([[0.0, 1e150]]), 1.0)
    assert 0 <= gram[0, 1] < 1e-300


@pytest.mark.parametrize("n", [1, 2, 9, 31])
def test_centring_is_that_of_both_sides(compiled, n):
    gram = reference.gaussian_gram(points(2, n), 0.5)
    centring = np.eye(n) - 1 / n
    expected = centring @ gram @ centring
    for kernel in (compiled, reference):
        centred = gram.copy()
        kernel.centre_gram(centred)
        np.testing.assert_allclose(centred, expected, atol=1e-14)


@pytest.mark.parametrize("n", [1, 2, 13, 30])
def test_permuted_products(compiled, n):
    a, b = (reference.gaussian_gram(points(2, n, seed), 0.5) for seed in (1, 2))
    found = compiled.permuted_products(a, b, (5, 2**63 + 7), 3, 11)
    np.testing.assert_allclose(
        found, reference.permuted_products(a, b, (5, 2**63 + 7), 3, 11), rtol=1e-13
    )
    again = [compiled.permuted_products(a, b, (5, 2**63 + 7), k, k + 1)[0] for k in range(3, 11)]
    assert np.array_equal(found, again)


def test_permutations_are_even():
    """Each of the six orders of three is as frequent as the others, within chance."""
    orders = [tuple(reference.gram.permutation(3, (1, 2), k)) for k in range(6000)]
    counts = [orders.count(order) for order in sorted(set(orders))]
    assert len(counts) == 6
    assert sum((count - 1000) ** 2 / 1000 for count in counts) < 25


@pytest.mark.parametrize(("columns", "n", "tolerance"), [(1, 60, 1e-6), (3, 50, 1e-4), (2, 9, 0)])
def test_the_factor_gives_the_kernel_back(compiled, columns, n, tolerance):
    some = points(columns, n)
    gram = reference.gaussian_gram(some, 0.4)
    for kernel in (compiled, reference):
        factor = kernel.gaussian_factor(some, 0.4, tolerance, n)
        rest = gram - factor.T @ factor
        assert -1e-9 <= np.trace(rest) <= tolerance + 1e-9
        assert np.linalg.eigvalsh(rest)[0] > -1e-9
    assert len(compiled.gaussian_factor(some, 0.4, 0, 3)) == 3


def test_equal_points_need_one_row(compiled):
    for kernel in (compiled, reference):
        assert kernel.gaussian_factor(np.ones((2, 5)), 1.0, 1e-9, 5).tolist() == [[1.0] * 5]


def test_features(compiled):
    some, rng = points(3, 21), np.random.default_rng(4)
    weights, phases = rng.normal(size=(6, 3)), rng.uniform(0, 6, 6)
    expected = np.sqrt(2) * np.cos(weights @ some + phases[:, None])
    for kernel in (compiled, reference):
        found = np.full((8, 21), np.nan)
        kernel.fourier_features(some, weights, phases, found[1:7])
        np.testing.assert_allclose(found[1:7], expected, atol=1e-14)
        assert np.isnan(found[[0, 7]]).all()


@pytest.mark.parametrize("largest", [2.0, 1e3, 0.999e6, 1e9, 1e300])
def test_features_of_angles_of_all_sizes(compiled, largest):
    angles = np.random.default_rng(1).uniform(-largest, largest, (1, 5000))
    angles[0, :3] = 0.0, largest, np.pi / 2
    found = np.empty((1, 5000))
    compiled.fourier_features(angles, np.ones((1, 1)), np.zeros(1), found)
    np.testing.assert_allclose(found, np.sqrt(2) * np.cos(angles), atol=1e-15)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.one_of(st.integers(-5, 5).map(float), st.floats(-1, 1), st.just(1e-170)),
        min_size=1,
        max_size=30,
    )
)
def test_the_median_of_squared_distances(numbers):
    kernel = pytest.importorskip("gml.kernel._kernel")
    ascending = np.sort(np.array(numbers))
    expected = reference.median_square(ascending)
    assert np.array_equal(kernel.median_square(ascending), expected, equal_nan=True)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(-4, 4), st.integers(-9, 9)), min_size=1, max_size=40))
def test_sums_of_products_of_distances(pairs):
    kernel = pytest.importorskip("gml.kernel._kernel")
    x, y = (np.array(column, dtype=float) for column in zip(*sorted(pairs), strict=True))
    expected = sum(
        abs(a - b) * abs(c - d)
        for a, c in zip(x, y, strict=True)
        for b, d in zip(x, y, strict=True)
    )
    assert kernel.distance_product(x, y) == expected
    assert reference.distance_product(x, y) == expected


def test_permuted_sums_of_products_of_distances(compiled):
    x, y = points(2, 23)
    of_x, of_y = (
        np.array([values, np.abs(values[:, None] - values).sum(axis=1)])
        for values in (np.sort(x), y)
    )
    found = compiled.permuted_distance_products(of_x, of_y, (1, 2), 0, 9)
    expected = reference.permuted_distance_products(of_x, of_y, (1, 2), 0, 9)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
