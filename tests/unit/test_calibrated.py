"""The default test of pc: exact moments, and a level that it keeps."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gml
from gml import kernel
from gml.data.dataset import Dataset, Variable


def tables_with_margins(x, y):
    """X² of every relabelling of y, each as often as it occurs."""
    found = []
    for order in itertools.permutations(y):
        table = np.zeros((1, max(x) + 1, max(y) + 1), dtype=np.int64)
        for a, b in zip(x, order, strict=True):
            table[0, a, b] += 1
        found.append(kernel.active().table_statistics_of(table))
    return found


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([0, 1], [0, 1]),
        ([0, 0, 1], [0, 1, 1]),
        ([0, 1, 2], [0, 1, 1]),
        ([0, 0, 1, 1], [0, 1, 0, 1]),
        ([0, 0, 0, 1, 2], [0, 1, 1, 0, 2]),
        ([0, 0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 1, 2, 2]),
    ],
)
def test_mean_and_variance_are_those_of_all_relabellings(x, y):
    found = tables_with_margins(x, y)
    values = np.array([one.x2[0] for one in found])
    assert_allclose(found[0].x2_mean[0], values.mean(), rtol=1e-12)
    assert_allclose(found[0].x2_variance[0], values.var(), rtol=1e-9, atol=1e-12)


def sample(rng, shape, n):
    strata, rows, columns = shape
    z = rng.integers(0, strata, n)
    px, py = rng.dirichlet(np.full(rows, 2.0), strata), rng.dirichlet(np.full(columns, 2.0), strata)
    x = (rng.random(n)[:, None] > px.cumsum(axis=1)[z]).sum(axis=1)
    y = (rng.random(n)[:, None] > py.cumsum(axis=1)[z]).sum(axis=1)
    variables = tuple(
        Variable(name, tuple(map(str, range(levels))))
        for name, levels in zip("xyz", (rows, columns, strata), strict=True)
    )
    return Dataset(variables, tuple(codes.astype(np.uint8) for codes in (x, y, z)))


@pytest.mark.parametrize("per_cell", [1, 2, 5, 20])
def test_it_keeps_its_level_where_g_does_not(per_cell):
    """Independent given 27 strata of 3 × 3: at level 0.05, 400 samples, binomial bounds."""
    rng = np.random.default_rng(per_cell)
    rejected = Counter()
    for _ in range(400):
        counter = gml.MemoryCounter(sample(rng, (27, 3, 3), 243 * per_cell), threads=1)
        for name, test in (
            ("auto", gml.TESTS["auto"](counter)),
            ("g", gml.TESTS["g"](counter, df="adjusted")),
        ):
            rejected[name] += test.verdict(test(0, 1, (2,)), 0.05) == "dependent"
    # 20 expected; P(more than 37) is below 1e-4, and so is P(fewer than 6).
    assert 6 <= rejected["auto"] <= 37
    if per_cell <= 2:
        assert rejected["g"] > 80


def test_it_is_g_on_dense_tables():
    rng = np.random.default_rng(0)
    counter = gml.MemoryCounter(sample(rng, (3, 2, 2), 5000))
    auto, g = gml.TESTS["auto"](counter), gml.TESTS["g"](counter, df="adjusted")
    assert auto(0, 1, (2,)) == g(0, 1, (2,))


def test_one_table_only_with_these_margins_is_no_evidence():
    """Every stratum holds two rows that differ in both: X² has one value."""
    x = np.tile([0, 1], 30).astype(np.uint8)
    z = np.repeat(np.arange(30), 2).astype(np.uint8)
    data = Dataset(
        (
            Variable("x", ("0", "1")),
            Variable("y", ("0", "1")),
            Variable("z", tuple(map(str, range(30)))),
        ),
        (x, x, z),
    )
    test = gml.TESTS["auto"](gml.MemoryCounter(data))
    assert test.verdict(test(0, 1, (2,)), 0.01) == "insufficient"
    assert test.verdict(test(0, 1), 0.01) == "dependent"
