"""Many tables that are handled by one call have what each has by itself, in both kernels."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from gml.counts.counter import FamilyArray, TableSet, TripleArray
from gml.counts.known_tables import steps_of, unsummed
from gml.counts.memory import MemoryCounter
from gml.data.dataset import Dataset, Variable, code_type
from gml.kernel import reference
from gml.kernel.layout import (
    DIRICHLET,
    JOINT,
    LIKELIHOOD,
    OF_SEEN,
    OF_TABLE,
    REGRET,
    FamilyRule,
    TableStatistics,
)
from tests.sliced_rows import SlicedCounter
from tests.unit.test_engines import content

compiled = pytest.importorskip("gml.kernel._kernel")
KERNELS = [pytest.param(compiled, id="compiled"), pytest.param(reference, id="reference")]

SHAPES = st.tuples(
    st.integers(0, 2**32 - 1),
    st.integers(1, 5).flatmap(
        lambda size: st.lists(
            st.lists(st.integers(1, 4), min_size=size, max_size=size), min_size=1, max_size=8
        )
    ),
    st.booleans(),
)


def held(case):
    """Tables with gaps between them, in no order, most of whose cells are empty."""
    seed, shapes, sparse = case
    rng = np.random.default_rng(seed)
    levels = np.array(shapes, dtype=np.int32).reshape(len(shapes), -1)
    sizes = [math.prod(shape) for shape in shapes]
    starts = np.zeros(len(shapes), dtype=np.int64)
    end = 3
    for k in rng.permutation(len(shapes)).tolist():
        starts[k] = end
        end += sizes[k] + int(rng.integers(3))
    cells = rng.integers(0, 40, end + 1)
    if sparse:
        cells *= rng.random(len(cells)) < 0.3
    tables = [
        cells[start : start + size].reshape(shape)
        for start, size, shape in zip(starts.tolist(), sizes, shapes, strict=True)
    ]
    return cells, starts, levels, tables


@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=60)
@given(case=SHAPES)
def test_tables_are_turned_and_summed(kernel, case):
    cells, starts, levels, tables = held(case)
    rng = np.random.default_rng(case[0])
    n, size = levels.shape
    steps, plain = steps_of(levels), []
    order = np.array([rng.permutation(size) for _ in range(n)], dtype=np.int64).reshape(n, size)
    found = kernel.turned_tables(
        cells,
        starts,
        np.take_along_axis(levels, order, 1),
        np.take_along_axis(steps, order, 1),
        unsummed(n),
    )
    plain = [table.transpose(turn).reshape(-1) for table, turn in zip(tables, order, strict=True)]
    assert_array_equal(found, np.concatenate([[], *plain]))
    if size < 2:
        return
    margins = kernel.turned_tables(
        cells,
        starts,
        np.ascontiguousarray(levels[:, 1:]),
        np.ascontiguousarray(steps[:, 1:]),
        np.stack([levels[:, 0], steps[:, 0]], axis=1).astype(np.int64),
    )
    sums = [table.sum(axis=0).reshape(-1) for table in tables]
    assert_array_equal(margins, np.concatenate([[], *sums]))


@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=60)
@given(case=SHAPES)
def test_statistics_are_those_of_each_table(kernel, case):
    cells, starts, levels, tables = held(case)
    if levels.shape[1] < 2:
        return
    singles = []
    for table in tables:
        strata = np.ascontiguousarray(table.reshape(-1, *table.shape[-2:]))
        seen = strata.any(axis=(1, 2))
        singles.append(kernel.table_statistics_of(np.ascontiguousarray(strata[seen])))
        given_levels = table.shape[:-2]
        codes = np.unravel_index(np.flatnonzero(seen), given_levels) if given_levels else ()
        singles[-1].seen_z[0] = math.prod(len(set(code.tolist())) for code in codes)
    found = kernel.held_statistics(cells, starts, levels)
    expected = TableStatistics.concatenate(singles)
    assert_array_equal(found.ints, expected.ints)
    assert_array_equal(found.floats, expected.floats)
    other = reference.held_statistics(cells, starts, levels)
    assert_array_equal(found.ints, other.ints)
    assert_allclose(found.floats, other.floats, rtol=1e-9, atol=1e-9)


RULES = [
    FamilyRule(LIKELIHOOD),
    FamilyRule(REGRET),
    FamilyRule(DIRICHLET, OF_TABLE, 2.5),
    FamilyRule(DIRICHLET, OF_SEEN, 1.0),
    FamilyRule(JOINT, OF_TABLE, 1.0),
    FamilyRule(LIKELIHOOD, unit=0.25),
]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=25)
@given(case=SHAPES)
def test_families_are_worth_what_each_is(kernel, rule, case):
    cells, starts, levels, tables = held(case)
    found = kernel.held_families(cells, starts, levels, rule, None)
    prior = 0.5 if rule.kind == DIRICHLET else 0.0
    ceilings = kernel.held_families(cells, starts, levels, rule, prior)
    for k, table in enumerate(tables):
        strata = table.reshape(-1, table.shape[-1])
        seen = np.ascontiguousarray(strata[strata.any(axis=1)])
        expected = kernel.family_value(seen, float(table.size), rule)
        assert (found.values[k], ceilings.values[k]) == (expected, expected)
        if rule.kind in (DIRICHLET, JOINT):
            worth = kernel.family_ceiling(seen, float(table.size), rule, prior)
            assert ceilings.ceilings[k] == worth.ceiling
    other = reference.held_families(cells, starts, levels, rule, None)
    assert_allclose(found.values, other.values, rtol=1e-9, atol=1e-9)


@settings(max_examples=60)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 64, 700, 5000]),
    st.lists(st.sampled_from([1, 2, 3, 7, 33, 300]), min_size=4, max_size=6),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_sets_are_counted_as_each_is(seed, n, n_levels, missing, weighted, remembered):
    rng = np.random.default_rng(seed)
    columns = []
    for levels in n_levels:
        codes = rng.integers(0, levels, n).astype(code_type(levels))
        if missing:
            codes[rng.random(n) < 0.1] = np.iinfo(codes.dtype).max
        columns.append(codes)
    weights = rng.integers(0, 5, n) if weighted else None
    each = reference.CodedData(columns, n_levels, weights, 32)
    for kernel in (compiled, reference):
        data = kernel.CodedData(columns, n_levels, weights, 32)
        if remembered:
            data.remember_pairs()
        for size in (1, 2, 3):
            sets = [
                members
                for members in itertools.permutations(range(len(columns)), size)
                if math.prod(n_levels[j] for j in members) <= 4096
            ]
            rows = np.array(sets[:40], dtype=np.int32).reshape(-1, size)
            expected = np.concatenate([[], *(each.count(members) for members in rows)])
            assert_array_equal(data.count_many(rows), expected)


def small_table(seed, n, levels):
    rng = np.random.default_rng(seed)
    columns = [np.minimum(rng.geometric(0.4, n) - 1, k - 1).astype(code_type(k)) for k in levels]
    variables = [
        Variable(f"v{(7 * j) % 13}", tuple(f"l{code}" for code in range(k)))
        for j, k in enumerate(levels)
    ]
    return Dataset(tuple(variables), tuple(columns))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1 << 15, 1 << 17, 1 << 22]))
def test_batches_have_what_single_questions_have(seed, budget):
    """Whatever was asked before, and however little is kept."""
    rng = np.random.default_rng(seed)
    data = small_table(seed, 300, (2, 3, 1, 4, 2, 5, 3, 30))
    memory = MemoryCounter(data)
    engine = SlicedCounter(data, [50, 170], max_memory=budget, seed=seed)
    rule = FamilyRule(DIRICHLET, OF_TABLE, 1.0)
    for _ in range(6):
        size = int(rng.integers(2, 5))
        rows = np.array([rng.permutation(8)[:size] for _ in range(12)], dtype=np.int32)
        mixed = [tuple(rng.permutation(8)[: rng.integers(2, 5)].tolist()) for _ in range(12)]
        engine.expect(lambda rows=rows: (TableSet((int(r[0]),), (int(r[1]),)) for r in rows))
        for triples in (TripleArray(rows), [(x, y, rest) for x, y, *rest in mixed]):
            found = engine.statistics(triples)
            assert content(found) == content(memory.statistics(triples))
            single = [engine.statistics([triple]) for triple in triples]
            assert content(found) == content(TableStatistics.concatenate(single))
        for families in (FamilyArray(rows), [(child, tuple(rest)) for child, *rest in mixed]):
            found = engine.family_values(families, rule)
            assert content(found) == content(memory.family_values(families, rule))
            single = [engine.family_values([family], rule)[0] for family in families]
            assert found.tolist() == single
            tables = list(engine.family_tables(families))
            assert content(tables) == content(list(memory.family_tables(families)))
        sets = [TableSet(members[:1], members[1:]) for members in mixed]
        assert content(list(engine.tables(sets))) == content(list(memory.tables(sets)))
