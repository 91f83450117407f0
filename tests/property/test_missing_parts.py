"""What incomplete rows leave open: the kernel against its reference."""

from __future__ import annotations

import numpy as np
import pytest

from gml.kernel import reference
from gml.model.em import large_parts
from gml.model.em.table_layout import layout_of
from tests.incomplete_rows import with_holes
from tests.networks import random_net

compiled = pytest.importorskip("gml.kernel._kernel")
ROOM = 1 << 30


def rows_of(seed):
    rng = np.random.default_rng(seed)
    net = random_net(rng, int(rng.integers(1, 9)), p=rng.random())
    data = with_holes(net.sample(int(rng.integers(0, 60)), seed=seed), rng, rng.random())
    hidden = {name: 2 for name in net.names if rng.random() < 0.15}
    layout = layout_of(net.graph, {variable.name: variable for variable in data.variables}, hidden)
    columns = [None if name in hidden else data.columns[data.index(name)] for name in layout.names]
    weights = rng.integers(0, 3, data.n_rows) if seed % 2 else None
    tables = rng.random(layout.kernel.n_cells)
    return layout.kernel, columns, weights, data.n_rows, tables


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("keep_barren", [False, True])
def test_kernels_agree(seed, keep_barren):
    layout, columns, weights, n, tables = rows_of(seed)
    found, wanted = (
        kernel.missing_parts(layout, columns, weights, n, keep_barren, ROOM)
        for kernel in (compiled, reference)
    )
    for name, array in wanted._asdict().items():
        assert getattr(found, name).dtype == array.dtype
        assert getattr(found, name).tolist() == array.tolist(), name
    first, last = sorted(
        np.random.default_rng(seed).integers(0, wanted.n_questions + 1, 2).tolist()
    )
    counts = {}
    for kernel in (compiled, reference):
        counts[kernel] = np.zeros(layout.n_cells)
        at = kernel.expected_counts(layout, wanted, first, last, tables, counts[kernel])
        counts[kernel, "worth"] = at
    # pytest.approx would compare hundreds of thousands of numbers one by one.
    np.testing.assert_allclose(counts[compiled], counts[reference], rtol=5e-13, atol=5e-13)
    assert counts[compiled, "worth"].impossible == counts[reference, "worth"].impossible == -1
    worth = counts[reference, "worth"].log_likelihood
    assert counts[compiled, "worth"].log_likelihood == pytest.approx(worth, rel=1e-12)
    places = np.arange(layout.n_cells, dtype=np.int32) - layout.n_cells // 3
    places[places < 0] = -1
    size = int(places.max(initial=-1)) + 1
    matrices = [np.zeros((size, size)) for _ in range(2)]
    for kernel, matrix in zip((compiled, reference), matrices, strict=True):
        kernel.count_covariances(layout, wanted, first, last, tables, places, matrix)
    np.testing.assert_allclose(matrices[0], matrices[1], rtol=5e-11, atol=5e-13)


def test_an_impossible_question_is_named():
    layout, columns, weights, n, tables = rows_of(4)
    parts = reference.missing_parts(layout, columns, weights, n, False, ROOM)
    assert parts.n_questions > 3
    tables = np.zeros_like(tables)
    for kernel in (compiled, reference):
        found = kernel.expected_counts(
            layout, parts, 2, parts.n_questions, tables, np.zeros(layout.n_cells)
        )
        assert found == (-np.inf, 2)


def test_more_than_allowed_is_refused():
    layout, columns, weights, n, _ = rows_of(4)
    for kernel in (compiled, reference):
        assert kernel.missing_parts(layout, columns, weights, n, False, 100) is None


@pytest.mark.parametrize("seed", range(2, 14))
def test_junction_trees_agree(seed, monkeypatch):
    """Both kernels, and enumeration."""
    monkeypatch.setattr(large_parts, "MOST_STATES", 1)
    layout, columns, weights, n, tables = rows_of(seed)
    parts = reference.missing_parts(layout, columns, weights, n, True, ROOM)
    names = tuple(f"n{k}" for k in range(len(columns)))
    small, large = large_parts.split_parts(layout, parts, names, ROOM)
    totals = {kernel: np.zeros(layout.n_cells) for kernel in (compiled, reference)}
    worths = dict.fromkeys(totals, 0.0)
    for tree in large.trees:
        steps = tree.steps
        for kernel, counts in totals.items():
            program = kernel.Elimination(steps.code, steps.starts, steps.room, len(columns))
            log_p, out = np.empty(len(tree.bases)), np.empty(tree.most_levels)
            program.expectations(tables, tree.bases, tree.weights, tree.offsets, out, counts, log_p)
            worths[kernel] += float(tree.weights @ log_p)
    assert totals[compiled] == pytest.approx(totals[reference], rel=1e-12)
    wanted = np.zeros(layout.n_cells)
    enumerated = reference.expected_counts(layout, parts, 0, parts.n_questions, tables, wanted)
    rest = np.zeros(layout.n_cells)
    certain = reference.expected_counts(layout, small, 0, small.n_questions, tables, rest)
    assert totals[compiled] + rest == pytest.approx(wanted, rel=1e-11)
    for worth in worths.values():
        assert worth + certain.log_likelihood == pytest.approx(enumerated.log_likelihood, rel=1e-11)
