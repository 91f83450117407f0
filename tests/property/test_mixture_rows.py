"""Rows of a mixture: the compiled kernel is the reference, and both are the definition."""

import math

import numpy as np
import pytest

from gml import kernel
from gml.kernel import reference
from gml.kernel.label_groups import grouped


def problem(seed: int, kind: type, n_classes: int, n_columns: int):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 6, n_columns)
    offsets = np.concatenate([[0], np.cumsum(sizes + 1)])[:-1].astype(np.int64)
    tables = np.log(rng.dirichlet(np.ones(3), (int((sizes + 1).sum()), n_classes))[..., 0])
    codes = np.column_stack(
        [rng.integers(0, size + 1, 40) for size in sizes] or [np.empty((40, 0))]
    )
    densities = 3 * rng.normal(size=(40, n_classes))
    return codes.astype(kind), offsets, tables, rng.gamma(1.0, size=40), densities


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
@pytest.mark.parametrize(
    ("n_classes", "n_columns"), [(1, 1), (2, 3), (4, 2), (7, 4), (3, 0), (9, 3), (2, 70)]
)
def test_kernel_is_reference_and_definition(kind, n_classes, n_columns):
    codes, offsets, tables, weights, densities = problem(n_classes, kind, n_classes, n_columns)
    found = []
    for one in (kernel.active(), reference):
        shares, counts = densities.copy(), np.zeros_like(tables)
        found.append(
            (one.mixture_rows(codes, offsets, tables, weights, shares, counts), shares, counts)
        )
    assert math.isclose(found[0][0], found[1][0], rel_tol=1e-13)
    for mine, other in zip(found[0][1:], found[1][1:], strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-300)
    likelihood, counts = 0.0, np.zeros_like(tables)
    for i, weight in enumerate(weights):
        at = [offsets[j] + int(codes[i, j]) for j in range(n_columns)]
        logs = densities[i] + sum((tables[row] for row in at), np.zeros(n_classes))
        joint = [math.exp(value) for value in logs]
        likelihood += weight * math.log(math.fsum(joint))
        for row in at:
            counts[row] += weight * np.array(joint) / math.fsum(joint)
    assert math.isclose(found[0][0], likelihood, rel_tol=1e-12)
    np.testing.assert_allclose(found[0][2], counts, rtol=1e-12)


def test_what_is_far_less_probable_has_no_share():
    shares = np.array([[0.0, -800.0], [-2000.0, -2000.0]])
    none = np.zeros((2, 0), dtype=np.uint8)
    for one in (kernel.active(), reference):
        found = shares.copy()
        total = one.mixture_rows(
            none, np.zeros(0, dtype=np.int64), np.zeros((0, 2)), np.ones(2), found, np.zeros((0, 2))
        )
        assert found.tolist() == [[1.0, 0.0], [0.5, 0.5]]
        assert total == pytest.approx(-2000 + math.log(2), abs=1e-9)


def classes_problem(seed: int, kind: type, n_classes: int, n_columns: int, n_rows: int = 60):
    """Codes, with some missing, and tables of classes in which some probabilities are 0."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, n_columns)
    offsets = np.concatenate([[0], np.cumsum(sizes + 1)])[:-1].astype(np.int64)
    codes = np.column_stack([rng.integers(0, size + 1, n_rows) for size in sizes]).astype(kind)
    tables = np.ones((int((sizes + 1).sum()), n_classes))
    for j, size in enumerate(sizes):
        own = rng.dirichlet(np.full(size, 0.3), n_classes).T
        own[own < 1e-4] = 0.0
        tables[offsets[j] : offsets[j] + size] = own / own.sum(axis=0)
    return codes, offsets, tables, rng.dirichlet(np.ones(n_classes)), rng.gamma(1.0, size=n_rows)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
@pytest.mark.parametrize(
    ("n_classes", "n_columns"), [(1, 1), (2, 3), (3, 8), (5, 12), (7, 4), (9, 3), (4, 40)]
)
def test_steps_of_latent_classes_are_those_of_rows_in_logarithms(kind, n_classes, n_columns):
    codes, offsets, tables, shares, weights = classes_problem(3, kind, n_classes, n_columns)
    n_rows = len(codes)
    groups = grouped(np.tile(codes, (20, 1)), offsets)
    groups = groups._replace(codes=np.ascontiguousarray(groups.codes[:n_rows]))
    logs = np.log(np.maximum(tables, 1e-300))
    expected = np.tile(np.log(shares), (n_rows, 1))
    expected_counts = np.zeros_like(tables)
    total = reference.mixture_rows(codes, offsets, logs, weights, expected, expected_counts)
    for one in (kernel.active(), reference):
        counts, totals = np.zeros_like(tables), np.zeros(n_classes)
        found = 0.0
        for first, last in ((0, 25), (25, 25), (25, n_rows)):
            found += one.latent_class_rows(
                groups, weights, first, last, shares, tables, counts, totals
            )
        assert math.isclose(found, total, rel_tol=1e-12)
        np.testing.assert_allclose(counts, expected_counts, rtol=1e-11, atol=1e-200)
        np.testing.assert_allclose(totals, expected.sum(axis=0), rtol=1e-11, atol=1e-200)


def test_rows_whose_probability_is_no_number_are_looked_at_in_logarithms():
    n_columns = 40
    tables = np.tile([[1e-10, 1e-9], [1.0, 1.0]], (n_columns, 1))
    groups = grouped(np.zeros((400, n_columns), dtype=np.uint8), np.arange(0, 2 * n_columns, 2))
    for one in (kernel.active(), reference):
        counts, totals = np.zeros_like(tables), np.zeros(2)
        found = one.latent_class_rows(
            groups, np.ones(400), 0, 400, np.array([0.5, 0.5]), tables, counts, totals
        )
        assert math.isclose(found, 400 * (math.log(0.5) + 40 * math.log(1e-9)), rel_tol=1e-12)
        np.testing.assert_allclose(totals, [400e-40, 400], rtol=1e-9)


def test_tables_of_latent_classes_are_shares_of_counts():
    offsets = np.array([0, 3, 5])
    counts = np.array([[1.0, 0.0], [3.0, 0.0], [9.0, 2.0], [5.0, 1.0], [0.0, 1.0]])
    before = np.array([[0.3, 0.4], [0.7, 0.6], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    for one in (kernel.active(), reference):
        shares, tables = np.empty(2), np.empty((5, 2))
        one.latent_class_tables(offsets, counts, np.array([3.0, 1.0]), before, shares, tables)
        assert shares.tolist() == [0.75, 0.25]
        # The second class has no row with the first column: its table stays.
        assert tables.tolist() == [[0.25, 0.4], [0.75, 0.6], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]


def test_few_rows_are_not_worth_large_groups():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, (4000, 20)).astype(np.uint8)
    offsets = np.arange(0, 60, 3)
    assert np.diff(grouped(codes, offsets).starts).tolist() == [7, 7, 6]
    assert np.diff(grouped(codes[:40], offsets).starts).tolist() == [2] * 10
    assert np.diff(grouped(codes[:3], offsets).starts).tolist() == [1] * 20
