"""Rows of a mixture: the compiled kernel is the reference, and both are the definition."""

import math

import numpy as np
import pytest

from gml import kernel
from gml.kernel import reference


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
