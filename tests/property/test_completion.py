"""Incomplete rows as complete ones with weights: the kernel against its reference."""

from __future__ import annotations

import numpy as np
import pytest

from gml.kernel import reference
from gml.kernel.family_layout import CROSSED, DRAWN, IMPOSSIBLE, TOO_LARGE
from gml.model.em.table_layout import layout_of
from tests.incomplete_rows import with_holes
from tests.networks import random_net

compiled = pytest.importorskip("gml.kernel._kernel")


def rows_of(seed, scale=1.0):
    rng = np.random.default_rng(seed)
    net = random_net(rng, int(rng.integers(1, 9)), p=rng.random())
    data = with_holes(net.sample(int(rng.integers(1, 40)), seed=seed), rng, rng.random())
    layout = layout_of(net.graph, {variable.name: variable for variable in data.variables}, {})
    columns = [data.columns[data.index(name)] for name in layout.names]
    tables = rng.random(layout.kernel.n_cells) * scale
    tables[rng.random(len(tables)) < 0.05] = 0.0
    return layout.kernel, columns, data.n_rows, tables


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("scale", [1.0, 1e-150])
def test_kernels_agree(seed, scale):
    layout, columns, n, tables = rows_of(seed, scale)
    key = np.array([seed, 7], dtype=np.uint64)
    first = n // 3
    most_points, most_states = [(1, 50), (5, 20), (64, 1 << 14)][seed % 3]
    found, wanted = (
        kernel.complete_rows(layout, columns, first, n, tables, key, most_points, most_states)
        for kernel in (compiled, reference)
    )
    assert found.became.tolist() == wanted.became.tolist()
    assert found.n_points.tolist() == wanted.n_points.tolist()
    assert found.points.tolist() == wanted.points.tolist()
    np.testing.assert_allclose(found.weights, wanted.weights, rtol=1e-13)
    for array, other in zip(found, wanted, strict=True):
        assert array.dtype == other.dtype and array.shape == other.shape
    kept = np.repeat(np.arange(n - first), found.n_points)
    sums = np.bincount(kept, found.weights, minlength=n - first)
    has_points = np.isin(found.became, (CROSSED, DRAWN))
    np.testing.assert_allclose(sums[has_points], 1.0, rtol=1e-12)
    assert not sums[~has_points].any()


def test_every_fate_occurs():
    fates = set()
    for seed in range(60):
        layout, columns, n, tables = rows_of(seed)
        key = np.zeros(2, dtype=np.uint64)
        for most_states in (4, 1 << 14):
            found = compiled.complete_rows(layout, columns, 0, n, tables, key, 5, most_states)
            fates |= set(found.became.tolist())
    assert fates == {CROSSED, DRAWN, TOO_LARGE, IMPOSSIBLE}


def test_draws_depend_on_the_number_of_the_row_not_on_the_block():
    layout, columns, n, tables = rows_of(2)
    key = np.array([1, 2], dtype=np.uint64)
    whole = compiled.complete_rows(layout, columns, 0, n, tables, key, 3, 1 << 14)
    halves = [
        compiled.complete_rows(layout, columns, a, b, tables, key, 3, 1 << 14)
        for a, b in ((0, n // 2), (n // 2, n))
    ]
    assert whole.points.tolist() == np.concatenate([half.points for half in halves]).tolist()
