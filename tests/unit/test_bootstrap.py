"""Half-samples and the bootstrap."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import gml
from gml.data.dataset import Dataset, Variable
from gml.data.resampling import distinct_codes
from gml.errors import CannotAnswer
from gml.learners.bootstrap import sorted_equal_rows
from gml.learners.pc import pc


def some_data(rng, n=300, weights=None):
    columns = [rng.integers(0, 3, n) for _ in range(4)]
    columns[1] = np.where(rng.random(n) < 0.4, columns[0], columns[1])
    columns[2] = np.where(rng.random(n) < 0.5, columns[1], columns[2])
    variables = tuple(Variable(name, ("a", "b", "c")) for name in "wxyz")
    return Dataset(variables, tuple(c.astype(np.uint8) for c in columns), weights)


def counted(data):
    """How often each row is there."""
    weights = np.ones(data.n_rows, dtype=np.int64) if data.weights is None else data.weights
    rows = list(zip(*(column.tolist() for column in data.columns), strict=True))
    counts: dict[tuple[int, ...], int] = {}
    for row, weight in zip(rows, weights.tolist(), strict=True):
        counts[row] = counts.get(row, 0) + weight
    return {row: count for row, count in counts.items() if count}


@pytest.mark.parametrize("weighted", [False, True])
def test_halves_are_complementary(weighted):
    rng = np.random.default_rng(0)
    data = some_data(rng, 301, rng.integers(0, 9, 301) if weighted else None)
    halves = list(gml.half_samples(data, 4, seed=3))
    whole = counted(data)
    for first, second in (halves[:2], halves[2:]):
        assert first.n == data.n // 2
        together = counted(first)
        for row, count in counted(second).items():
            together[row] = together.get(row, 0) + count
        assert together == whole
    assert counted(halves[0]) != counted(halves[2])


@pytest.mark.parametrize("weighted", [False, True])
def test_bootstrap_samples_have_as_many_rows_of_the_same_kinds(weighted):
    rng = np.random.default_rng(6)
    data = some_data(rng, 301, rng.integers(0, 9, 301) if weighted else None)
    samples = [counted(sample) for sample in gml.bootstrap_samples(data, 3, seed=3)]
    for sample in samples:
        assert sum(sample.values()) == data.n
        assert sample.keys() <= counted(data).keys()
    assert samples[0] != samples[1] != samples[2]


def test_a_longer_bootstrap_begins_like_a_shorter_one():
    data = some_data(np.random.default_rng(7))
    short = [counted(sample) for sample in gml.bootstrap_samples(data, 2, seed=1)]
    assert [counted(sample) for sample in gml.bootstrap_samples(data, 5, seed=1)][:2] == short


def test_bootstrap_counts_have_the_moments_of_a_multinomial():
    data = some_data(np.random.default_rng(8), 50)
    whole = counted(data)
    row = max(whole, key=whole.__getitem__)
    drawn = [counted(sample).get(row, 0) for sample in gml.bootstrap_samples(data, 4000, seed=2)]
    p = whole[row] / 50
    assert np.mean(drawn) == pytest.approx(50 * p, abs=4 * math.sqrt(50 * p * (1 - p) / 4000))
    assert np.var(drawn) == pytest.approx(50 * p * (1 - p), rel=0.15)


@pytest.mark.parametrize("draw", [gml.half_samples, gml.bootstrap_samples])
def test_samples_do_not_see_the_order_of_rows_or_columns(draw):
    rng = np.random.default_rng(1)
    data = some_data(rng)
    order, rows = [2, 0, 3, 1], rng.permutation(data.n)
    shuffled = Dataset(
        tuple(data.variables[j] for j in order),
        tuple(np.ascontiguousarray(data.columns[j][rows]) for j in order),
    )
    for one, other in zip(draw(data, 3, seed=5), draw(shuffled, 3, seed=5), strict=True):
        reordered = Dataset(
            data.variables, tuple(other.columns[order.index(j)] for j in range(4)), other.weights
        )
        assert counted(one) == counted(reordered)


def test_distinct_rows_are_sorted_and_counted():
    data = some_data(np.random.default_rng(2))
    rows, counts = sorted_equal_rows(data)
    kinds = [tuple(int(column[i]) for column in data.columns) for i in rows]
    assert kinds == sorted(kinds)
    assert dict(zip(kinds, counts.tolist(), strict=True)) == counted(data)


def test_one_row_cannot_be_split_and_none_not_be_drawn_from():
    with pytest.raises(CannotAnswer):
        gml.half_samples(some_data(np.random.default_rng(3), 1), 2)
    with pytest.raises(CannotAnswer):
        gml.bootstrap_samples(some_data(np.random.default_rng(3), 0), 2)


def test_replicates_do_not_depend_on_threads():
    data = some_data(np.random.default_rng(4), 1000)

    def learn(sample):
        return pc(gml.TESTS["auto"](gml.MemoryCounter(sample, threads=1))).graph

    marks = [
        [
            graph.marks
            for graph in gml.learn_replicates(
                learn, gml.half_samples(data, 9, seed=1), threads=threads
            )
        ]
        for threads in (1, 3)
    ]
    assert len(marks[0]) == 9
    assert_array_equal(marks[0], marks[1])


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (5, 0), (1, 1), (60, 2), (60, 4)])
@pytest.mark.parametrize("levels", [2, 300])
def test_distinct_rows_of_codes_are_those_of_numpy(shape, levels):
    codes = np.random.default_rng(3).integers(-1, levels, size=shape)
    expected, where = np.unique(codes, axis=0, return_inverse=True)
    rows, which = distinct_codes(codes)
    assert rows.tolist() == expected.tolist()
    assert which.tolist() == where.reshape(-1).tolist()
