"""Probabilities of rows: the same in both kernels, and the product over the families."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gml.kernel import reference

compiled = pytest.importorskip("gml.kernel._kernel")


def random_families(seed, n_rows, wide):
    rng = np.random.default_rng(seed)
    n_levels = [int(k) for k in rng.integers(1, 4, 5)]
    n_levels[0] = 300 if wide else n_levels[0]
    columns = []
    for k in n_levels:
        kind = np.uint16 if k > 255 else np.uint8
        codes = rng.integers(0, k, n_rows).astype(kind)
        codes[rng.random(n_rows) < 0.05] = np.iinfo(kind).max
        codes[rng.random(n_rows) < 0.05] = k
        columns.append(codes)
    members = [rng.permutation(5)[: rng.integers(1, 4)].tolist() for _ in range(4)]
    tables = [rng.normal(size=int(np.prod([n_levels[j] for j in m]))) for m in members]
    return columns, n_levels, members, tables


@settings(max_examples=40)
@given(
    st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 100, 1023, 1024, 1025, 2500]), st.booleans()
)
def test_both_kernels_agree(seed, n_rows, wide):
    args = random_families(seed, n_rows, wide)
    found = compiled.row_log_probabilities(*args, 0, n_rows)
    assert np.array_equal(found, reference.row_log_probabilities(*args, 0, n_rows), equal_nan=True)
    middle = n_rows // 3
    parts = [
        compiled.row_log_probabilities(*args, *part) for part in ((0, middle), (middle, n_rows))
    ]
    assert np.array_equal(found, np.concatenate(parts), equal_nan=True)


def test_row_by_row():
    columns, n_levels, members, tables = random_families(5, 200, False)
    found = compiled.row_log_probabilities(columns, n_levels, members, tables, 0, 200)
    for row in range(200):
        total = 0.0
        for family, table in zip(members, tables, strict=True):
            codes = [int(columns[j][row]) for j in family]
            if any(c >= n_levels[j] for c, j in zip(codes, family, strict=True)):
                total = np.nan
                break
            shape = [n_levels[j] for j in family]
            total += table.reshape(shape)[tuple(codes)]
        np.testing.assert_equal(found[row], total)
    assert 0 < np.isnan(found).sum() < 200


def test_tables_must_fit_the_columns():
    columns, n_levels, members, tables = random_families(5, 10, False)
    with pytest.raises(ValueError):
        compiled.row_log_probabilities(columns, n_levels, members, [t[:-1] for t in tables], 0, 10)
    with pytest.raises(ValueError):
        compiled.row_log_probabilities(columns, n_levels, members, tables, 0, 11)
