"""The default test of pc: exact moments, and a level that it keeps."""

from __future__ import annotations

import itertools
import warnings
from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gml
from gml import kernel
from gml.data.dataset import Dataset, Variable
from gml.kernel.reference.null_moments import moments_of_stratum


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
def test_moments_are_those_of_all_relabellings(x, y):
    found = tables_with_margins(x, y)
    values = np.array([one.x2[0] for one in found])
    assert_allclose(found[0].x2_mean[0], values.mean(), rtol=1e-12)
    assert_allclose(found[0].x2_variance[0], values.var(), rtol=1e-9, atol=1e-12)
    third = np.mean((values - values.mean()) ** 3)
    by_reference = moments_of_stratum(np.bincount(x), np.bincount(y)).x2_third
    assert_allclose(by_reference, third, rtol=1e-9, atol=1e-12)
    told = np.array([one.x2_third[0] for one in found])
    told = told[~np.isnan(told) & (told != 0)]
    assert_allclose(told, third, rtol=1e-9, atol=1e-12)


def margins_of(n):
    """Every way to divide n rows among two levels or more."""

    def divided(rest, most):
        if rest == 0:
            yield ()
        for first in range(min(rest, most), 0, -1):
            for others in divided(rest - first, first):
                yield (first, *others)

    return [margin for margin in divided(n, n) if len(margin) > 1]


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 9])
def test_third_moment_of_the_kernel_is_exact_for_all_margins_of_few_rows(n):
    """In a stratum of its own beside a large dependent one, whose moment is known, it is told."""
    beside = np.array([[30, 0, 0, 0], [0, 3, 3, 0], [1, 0, 0, 30], [2, 2, 2, 2]])
    beside = np.pad(beside, ((0, max(0, n - 4)),) * 2)
    own = moments_of_stratum(*(beside.sum(axis)[beside.sum(axis) > 0] for axis in (1, 0))).x2_third
    for rows, columns in itertools.product(margins_of(n), repeat=2):
        x = np.repeat(np.arange(len(rows)), rows)
        y = np.repeat(np.arange(len(columns)), columns)
        table = np.zeros((40, *beside.shape), dtype=np.int64)
        np.add.at(table, (slice(1, None), x, y), 1)
        table[0] = beside
        expected = own + 39 * moments_of_stratum(np.array(rows), np.array(columns)).x2_third
        found = kernel.active().table_statistics_of(table).x2_third[0]
        assert_allclose(found, expected, rtol=1e-9)


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


def test_it_keeps_its_level_where_margins_are_uneven():
    """G would reject one in eight at level 0.05: cells with a few rows are many, rare ones few."""
    rng = np.random.default_rng(1)
    shares = (0.7, 0.1, 0.1, 0.1)
    variables = tuple(Variable(name, ("0", "1", "2", "3")) for name in "xyz")
    rejected = Counter()
    for _ in range(1000):
        x, y = rng.choice(4, (2, 600), p=shares).astype(np.uint8)
        z = rng.integers(0, 3, 600).astype(np.uint8)
        counter = gml.MemoryCounter(Dataset(variables, (x, y, z)), threads=1)
        for name, test in (
            ("auto", gml.TESTS["auto"](counter)),
            ("g", gml.TESTS["g"](counter, df="adjusted")),
        ):
            rejected[name] += test.verdict(test(0, 1, (2,)), 0.05) == "dependent"
    # 50 expected; P(more than 76) and P(fewer than 26) are below 2e-4.
    assert 26 <= rejected["auto"] <= 76
    assert rejected["g"] > 100


def test_rare_cells_do_not_make_small_p_values():
    """X² has a long tail where margins are uneven: two moments reject thrice too often at 0.001."""
    rng = np.random.default_rng(2)
    strata, shares = 60, (0.9, 0.07, 0.03)
    variables = tuple(
        Variable(name, tuple(map(str, range(levels))))
        for name, levels in zip("xyz", (3, 3, strata), strict=True)
    )
    log_p = []
    for _ in range(2000):
        x, y = rng.choice(3, (2, 1200), p=shares).astype(np.uint8)
        z = rng.integers(0, strata, 1200).astype(np.uint8)
        counter = gml.MemoryCounter(Dataset(variables, (x, y, z)), threads=1)
        log_p.append(gml.TESTS["auto"](counter)(0, 1, (2,)).log_p)
    # 20 expected at 0.01; P(more than 37) is below 2e-4.
    assert np.count_nonzero(np.array(log_p) <= np.log(0.01)) <= 37
    # 2 expected at 0.001; P(more than 8) is below 3e-4.
    assert np.count_nonzero(np.array(log_p) <= np.log(0.001)) <= 8


def test_many_levels_leave_p_values_calibrated_and_without_a_warning():
    rng = np.random.default_rng(3)
    labels = tuple(f"v{k}" for k in range(300))
    rejected = 0
    for _ in range(200):
        x, y = rng.integers(0, 300, (2, 1000)).astype(np.uint16)
        variables = tuple(Variable(name, labels) for name in "xy")
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            (row,) = gml.indtest(Dataset(variables, (x, y)), "x", "y", threads=1)
        assert row["test"] == "auto"
        assert all("sparse" not in str(one.message) for one in said)
        assert all("p-values" not in str(one.message) for one in said)
        rejected += row["p_value"] <= 0.05
    # 10 expected; P(more than 22) is below 2e-4.
    assert 1 <= rejected <= 22


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
