"""Counting by the compiled kernel = counting by NumPy, in every variant."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from gml.counts.counter import TableSet
from gml.counts.memory import MemoryCounter
from gml.counts.sparse_tables import sparse_table
from gml.data.dataset import Dataset, Variable, code_type
from gml.kernel import reference

compiled = pytest.importorskip("gml.kernel._kernel")


def offered_variants():
    """The instruction sets that this machine can run."""
    before = compiled.instructions()
    names = sorted({compiled.limit_instructions(name) for name in compiled.INSTRUCTIONS})
    compiled.limit_instructions(before)
    return names


VARIANTS = offered_variants()


def random_columns(rng, n, n_levels, missing):
    columns = []
    for levels in n_levels:
        codes = rng.integers(0, levels, n).astype(code_type(levels))
        if missing:
            codes[rng.random(n) < 0.1] = np.iinfo(codes.dtype).max
        columns.append(codes)
    return columns


CASES = st.tuples(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 2, 63, 64, 65, 511, 513, 3000, 40000]),
    st.lists(st.sampled_from([1, 2, 3, 4, 7, 31, 33, 255, 300]), min_size=2, max_size=5),
    st.booleans(),
    st.booleans(),
)


@settings(max_examples=120)
@given(CASES)
def test_kernel_counts_as_the_reference(case):
    seed, n, n_levels, missing, weighted = case
    rng = np.random.default_rng(seed)
    columns = random_columns(rng, n, n_levels, missing)
    weights = rng.integers(0, 5, n) if weighted else None
    expected = reference.CodedData(columns, n_levels, weights, 32)
    members = rng.permutation(len(columns))[: rng.integers(1, 4)].astype(np.int32)
    while np.prod([n_levels[j] for j in members]) > 1 << 18:
        members = members[:-1]
    pairs = np.array([(0, 1), (1, 0)], dtype=np.int32)
    sets = np.array([0, 1, *range(len(columns))], dtype=np.int32)
    starts = np.array([0, 2, len(sets)], dtype=np.int64)
    counts = expected.count(members)
    of_pairs, of_sets = expected.pair_statistics(pairs), expected.set_statistics(sets, starts)
    for variant in VARIANTS:
        compiled.limit_instructions(variant)
        data = compiled.CodedData(columns, n_levels, weights, 32)
        assert_array_equal(data.count(members), counts)
        for found, wanted in (
            (data.pair_statistics(pairs), of_pairs),
            (data.set_statistics(sets, starts), of_sets),
        ):
            assert_array_equal(found.ints, wanted.ints)
            assert_allclose(found.floats[:, :5], wanted.floats[:, :5], rtol=1e-12, atol=1e-300)
            assert_allclose(found.floats[:, 5:], wanted.floats[:, 5:], rtol=1e-9, atol=1e-9)


@settings(max_examples=50)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 65, 700, 3000]),
    st.lists(st.sampled_from([1, 2, 2, 3, 4, 9]), min_size=4, max_size=7),
    st.sampled_from(["plain", "missing", "weighted"]),
    st.booleans(),
)
@example(0, 1, [1, 1, 1, 1], "missing", False)
def test_runs_of_sets_count_as_each_alone(seed, n, n_levels, kind, remember):
    """Neighbouring sets share a joint table, and all share the tables of the pairs.

    Those of a pair as in a search, and those of one column given its parents as in a check.
    """
    rng = np.random.default_rng(seed)
    columns = random_columns(rng, n, n_levels, kind == "missing")
    weights = rng.integers(0, 5, n) if kind == "weighted" else None
    sets = []
    for _ in range(4):
        x, y = rng.choice(len(columns), 2, replace=False).tolist()
        rest = [j for j in range(len(columns)) if j not in (x, y)]
        for _ in range(int(rng.integers(1, 12))):
            size = int(rng.integers(0, min(4, len(rest)) + 1))
            sets.append([*sorted(rng.choice(rest, size, replace=False).tolist()), x, y])
        y, *given = rng.choice(len(columns), int(rng.integers(1, 4)), replace=False).tolist()
        others = [j for j in range(len(columns)) if j not in (y, *given)]
        sets += [[*sorted(given), *sorted((x, y))] for x in others]
    members = np.array([j for some in sets for j in some], dtype=np.int32)
    starts = np.cumsum([0, *map(len, sets)]).astype(np.int64)
    wanted = reference.CodedData(columns, n_levels, weights, 32).set_statistics(members, starts)
    for variant in VARIANTS:
        compiled.limit_instructions(variant)
        data = compiled.CodedData(columns, n_levels, weights, 32)
        if remember:
            data.remember_pairs()
        found = data.set_statistics(members, starts)
        assert_array_equal(found.ints, wanted.ints)
        # The variance of X2 is a difference, which may cancel.
        assert_allclose(found.floats[:, :5], wanted.floats[:, :5], rtol=1e-12, atol=1e-300)
        assert_allclose(found.floats[:, 5:], wanted.floats[:, 5:], rtol=1e-9, atol=1e-9)


@settings(max_examples=60)
@given(CASES, st.integers(1, 3))
def test_tables_agree_with_their_margins_and_with_sparse_counting(case, n_given):
    seed, n, n_levels, missing, weighted = case
    rng = np.random.default_rng(seed)
    columns = random_columns(rng, n, n_levels, missing=False)
    if missing:
        columns[0] = columns[0].copy()
        columns[0][::3] = np.iinfo(columns[0].dtype).max
    weights = rng.integers(0, 5, n) if weighted else None
    variables = tuple(
        Variable(f"v{j}", tuple(str(k) for k in range(levels))) for j, levels in enumerate(n_levels)
    )
    counter = MemoryCounter(Dataset(variables, tuple(columns), weights), threads=2)
    given_columns = tuple(range(1, len(columns)))[:n_given]
    wanted = TableSet((0,), given_columns)
    (counts,) = counter.tables([wanted])
    sparse = sparse_table(counter.rows(), wanted, n_levels, lambda n_bytes: None)
    assert_array_equal(counts.table, sparse.table)
    assert_array_equal(counts.configs, sparse.configs)
    assert counts.n_configs == sparse.n_configs == np.prod([n_levels[j] for j in given_columns])
    assert counts.n == sparse.n == counts.table.sum()
    (margin,) = counter.tables([TableSet((0,))])
    if missing:
        assert margin.n == counts.n
    assert_array_equal(counts.table.sum(axis=0), margin.table.sum(axis=0))
    present = np.ones(n, bool) if not missing else columns[0] != np.iinfo(columns[0].dtype).max
    assert counts.n == (int(present.sum()) if weights is None else int(weights[present].sum()))


@pytest.mark.parametrize("weighted", [False, True])
def test_distinct_rows_count_as_all_rows(weighted):
    rng = np.random.default_rng(1)
    n, n_levels = 200_000, [2, 2, 3, 2, 2, 2, 3, 2, 2, 2, 2, 2, 2]
    few = random_columns(rng, 40, n_levels, missing=True)
    rows = rng.integers(0, 40, n)
    columns = [column[rows] for column in few]
    weights = rng.integers(0, 3, n) if weighted else None
    variables = tuple(Variable(f"v{j}", tuple("abc"[:r])) for j, r in enumerate(n_levels))
    counter = MemoryCounter(Dataset(variables, tuple(columns), weights), threads=1)
    pairs = np.array([(i, j) for i in range(13) for j in range(i + 1, 13)], dtype=np.int32)
    plain = counter.pair_statistics(pairs[:10])
    assert not counter.coded.compressed
    everything = counter.pair_statistics(pairs)
    assert counter.coded.compressed
    by_name = np.array([sorted(p, key=lambda j: f"v{j}") for p in pairs], dtype=np.int32)
    expected = reference.CodedData(columns, n_levels, weights, 0).pair_statistics(by_name)
    assert_array_equal(everything.ints, expected.ints)
    assert_array_equal(plain.ints, expected.ints[:10])
    assert_allclose(everything.floats, expected.floats, rtol=1e-12)


@given(
    st.integers(0, 2**32 - 1), st.integers(0, 300), st.sampled_from([1, 2, 15, 16, 17, 255, 300])
)
def test_recode(seed, n, n_levels):
    rng = np.random.default_rng(seed)
    (codes,) = random_columns(rng, n, [n_levels], missing=True)
    new_codes = rng.permutation(n_levels).tolist()
    missing = np.iinfo(codes.dtype).max
    expected = [missing if c == missing else new_codes[c] for c in codes.tolist()]
    for kernel in (compiled, reference):
        changed = codes.copy()
        kernel.recode(changed, new_codes)
        assert changed.tolist() == expected


@given(st.integers(0, 2**32 - 1), st.integers(1, 400), st.integers(1, 30), st.integers(1, 12))
def test_rows_are_grouped_as_the_reference_groups_them(seed, n, distinct, width):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 255, (distinct, width)).astype(np.uint8)[rng.integers(0, distinct, n)]
    rows = np.ascontiguousarray(rows)
    for limit in (n, distinct, max(1, distinct // 2)):
        found, wanted = compiled.group_rows(rows, limit), reference.group_rows(rows, limit)
        assert (found is None) == (wanted is None)
        if found is not None and wanted is not None:
            assert_array_equal(found[0], wanted[0])
            assert_array_equal(found[1], wanted[1])


@given(
    st.integers(0, 2**32 - 1),
    st.integers(0, 2000),
    st.booleans(),
    st.sampled_from([3, 2**20, 2**52]),
)
def test_exact_dot(seed, n, weighted, size):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(-size, size + 1, (2, n))
    weights = rng.integers(0, 2**40, n) if weighted else None
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    expected = sum(
        int(a) * int(b) * (1 if weights is None else int(w))
        for a, b, w in zip(x, y, x if weights is None else weights, strict=True)
    )
    assert compiled.exact_dot(x, y, weights) == expected == reference.exact_dot(x, y, weights)


def test_exact_dot_over_several_blocks():
    rng = np.random.default_rng(5)
    x = rng.integers(-(2**52), 2**52, 3_000_000)
    low, high = x & 0xFFFFFF, x >> 24
    expected = (
        int((high * high).astype(object).sum() << 48)
        + int((high * low).astype(object).sum() << 25)
        + int((low * low).astype(object).sum())
    )
    assert compiled.exact_dot(x, x) == expected
