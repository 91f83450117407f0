"""Count files against the data they count: every number of the protocol, bit for bit."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from gml.counts.count_file_engine import CountFileCounter
from gml.counts.count_parquet import encode_counts
from gml.counts.counter import FamilyArray, TableSet, TripleArray
from gml.counts.countfile import CountedColumn, CountOptions, count_sets
from gml.counts.memory import MemoryCounter
from gml.counts.merging import merge_counts
from gml.data.dataset import Dataset, Variable, code_type
from gml.data.levels import order_levels
from gml.data.missing import apply_missing_policy
from gml.errors import CannotAnswer
from gml.kernel.layout import DIRICHLET, JOINT, LIKELIHOOD, OF_SEEN, OF_TABLE, REGRET, FamilyRule

pytestmark = pytest.mark.filterwarnings("ignore:.*rows? dropped:gml.errors.GmlWarning")

NAMES = ["b", "a", "d", "c"]
POLICIES = ["error", "drop", "level", "available"]
RULES = [
    FamilyRule(LIKELIHOOD),
    FamilyRule(DIRICHLET, OF_TABLE, 1.0),
    FamilyRule(DIRICHLET, OF_SEEN, 2.5),
    FamilyRule(REGRET),
]


@st.composite
def labelled(draw):
    """Columns of labels (None is missing), row weights or none, and a policy."""
    policy = draw(st.sampled_from(POLICIES))
    n_columns = draw(st.integers(2, 4))
    n_rows = draw(st.integers(0, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    alphabet = draw(st.sampled_from([["1", "10", "9", "x"], ["10", "2", "1.5", "01", "1"]]))
    columns = []
    for _ in range(n_columns):
        size = int(rng.integers(1, len(alphabet) + 1))
        cells = [alphabet[k] for k in rng.integers(0, size, n_rows)]
        if policy != "error":
            cells = [None if rng.random() < 0.2 else cell for cell in cells]
        if policy == "drop":
            # A table without complete rows is refused.
            cells[:1] = alphabet[: min(1, n_rows)]
        columns.append(cells)
    weights = rng.integers(0, 4, n_rows) if draw(st.booleans()) else None
    if weights is not None and policy == "drop":
        weights[:1] = 1
    return columns, weights, policy


def dataset_of(columns, weights):
    """What reading makes of labels: the levels that occur, rows that count."""
    variables, coded = [], []
    for name, cells in zip(NAMES, columns, strict=False):
        levels = order_levels(sorted({cell for cell in cells if cell is not None}))
        narrow = code_type(len(levels))
        missing = np.iinfo(narrow).max
        rank = {level: code for code, level in enumerate(levels)}
        codes = [missing if cell is None else rank[cell] for cell in cells]
        variables.append(Variable(name, levels))
        coded.append(np.array(codes, dtype=narrow))
    data = Dataset(tuple(variables), tuple(coded), weights)
    return data if weights is None else data.rows(weights > 0)


def counted(columns, weights, policy, sets):
    """Count as the command does; returns the file, and the counter over the rows."""
    raw = dataset_of(columns, weights)
    try:
        data = apply_missing_policy(raw, policy, "data", min_complete=1)
    except CannotAnswer:
        # A shard without complete rows.
        reject()
    known = {
        v.name: CountedColumn(v.name, v.levels, na=len(v.levels) > len(old.levels))
        for v, old in zip(data.variables, raw.variables, strict=True)
    }
    counter = MemoryCounter(data, threads=1)
    options = CountOptions(missing=policy)
    dropped = raw.n - data.n
    return count_sets(counter, sets, options=options, columns=known, dropped=dropped), counter


def assert_same_answers(mine, theirs, sets):
    """Every number of the protocol about some sets of columns is the same, bit for bit."""
    assert mine.variables == theirs.variables
    assert (mine.n, mine.unit, mine.missing) == (theirs.n, theirs.unit, theirs.missing)
    position = {v.name: j for j, v in enumerate(mine.variables)}
    for names in sets:
        columns = [position[name] for name in names]
        for child in columns:
            parents = tuple(j for j in columns if j != child)
            families = [(child, parents)]
            for rule in RULES:
                found, expected = (c.family_values(families, rule) for c in (mine, theirs))
                assert found.tobytes() == expected.tobytes()
            rule = FamilyRule(JOINT, OF_TABLE, 1.0) if not mine.missing else RULES[1]
            for a, b in zip(
                mine.family_ceilings(families, rule, 0.5),
                theirs.family_ceilings(families, rule, 0.5),
                strict=True,
            ):
                assert a.tobytes() == b.tobytes()
            (a,), (b,) = (list(c.family_tables(families)) for c in (mine, theirs))
            assert np.array_equal(a, b)
            assert a.dtype == b.dtype
        for x, y in itertools.permutations(columns, 2):
            given_ = tuple(j for j in columns if j not in (x, y))
            rows = np.array([[x, y, *given_]], dtype=np.int32)
            for triples in ([(x, y, given_)], TripleArray(rows)):
                found, expected = (c.statistics(triples) for c in (mine, theirs))
                assert found.floats.tobytes() == expected.floats.tobytes()
                assert found.ints.tobytes() == expected.ints.tobytes()
            if not given_:
                found, expected = (c.pair_statistics(rows) for c in (mine, theirs))
                assert found.floats.tobytes() == expected.floats.tobytes()
                assert found.ints.tobytes() == expected.ints.tobytes()
            wanted = TableSet((x, y), given_)
            (a,), (b,) = (list(c.tables([wanted])) for c in (mine, theirs))
            assert np.array_equal(a.table, b.table)
            assert np.array_equal(a.configs, b.configs)
            assert (a.n, a.n_configs) == (b.n, b.n_configs)


def subsets(names):
    return [s for k in range(1, len(names) + 1) for s in itertools.combinations(names, k)]


@given(labelled(), st.integers(1, 3))
def test_answers_are_those_of_the_rows(data, size):
    columns, weights, policy = data
    names = NAMES[: len(columns)]
    sets = list(itertools.combinations(names, min(size, len(names))))
    counts, counter = counted(columns, weights, policy, sets)
    asked = (
        sets if counter.missing else subsets(names)[: sum(len(s) <= size for s in subsets(names))]
    )
    assert_same_answers(CountFileCounter(counts, threads=1), counter, asked)


@given(labelled())
def test_one_table_answers_batches_of_everything(data):
    columns, weights, policy = data
    names = NAMES[: len(columns)]
    counts, counter = counted(columns, weights, policy, [names])
    if counter.missing:
        return
    mine = CountFileCounter(counts, threads=1)
    rows = np.array(list(itertools.permutations(range(len(names)), 2)), dtype=np.int32)
    for rule in RULES:
        found, expected = (c.family_values(FamilyArray(rows), rule) for c in (mine, counter))
        assert found.tobytes() == expected.tobytes()
    found, expected = (c.pair_statistics(rows) for c in (mine, counter))
    assert found.floats.tobytes() == expected.floats.tobytes()
    assert found.ints.tobytes() == expected.ints.tobytes()


@given(labelled(), st.integers(1, 7), st.integers(0, 2**32), st.integers(1, 3))
def test_shards_add_up_to_the_whole(data, n_shards, seed, size):
    columns, weights, policy = data
    names = NAMES[: len(columns)]
    sets = list(itertools.combinations(names, min(size, len(names))))
    whole, counter = counted(columns, weights, policy, sets)
    rng = np.random.default_rng(seed)
    shard_of = rng.integers(0, n_shards, len(columns[0]))
    shards = []
    for k in range(n_shards):
        rows = np.flatnonzero(shard_of == k)
        part = [[cells[i] for i in rows] for cells in columns]
        shards.append(counted(part, None if weights is None else weights[rows], policy, sets)[0])
    order = rng.permutation(n_shards)
    merged = merge_counts([shards[k] for k in order])
    # What was counted goes by its bytes, of which there are none here.
    assert encode_counts(merged) == encode_counts(replace(whole, data=merged.data))
    assert_same_answers(CountFileCounter(merged, threads=1), counter, sets)


@given(labelled())
def test_what_was_not_counted_is_named(data):
    columns, weights, policy = data
    names = NAMES[: len(columns)]
    counts, _ = counted(columns, weights, policy, [names[:1], names[1:]])
    try:
        CountFileCounter(counts).statistics([(0, 1, ())])
    except CannotAnswer as error:
        assert "'a', 'b'" in str(error)
        assert "a,b" in str(error)
    else:
        raise AssertionError("there is no such table")
