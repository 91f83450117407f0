"""Half-samples, thresholds and averaged graphs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import gml
from gml.data.dataset import Dataset, Variable
from gml.errors import CannotAnswer
from gml.graph.graph import Graph
from gml.learn.bootstrap import data_driven_threshold, distinct_rows
from tests.graphs import is_cpdag


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


def test_halves_do_not_see_the_order_of_rows_or_columns():
    rng = np.random.default_rng(1)
    data = some_data(rng)
    order, rows = [2, 0, 3, 1], rng.permutation(data.n)
    shuffled = Dataset(
        tuple(data.variables[j] for j in order),
        tuple(np.ascontiguousarray(data.columns[j][rows]) for j in order),
    )
    for one, other in zip(
        gml.half_samples(data, 3, seed=5), gml.half_samples(shuffled, 3, seed=5), strict=True
    ):
        reordered = Dataset(
            data.variables, tuple(other.columns[order.index(j)] for j in range(4)), other.weights
        )
        assert counted(one) == counted(reordered)


def test_distinct_rows_are_sorted_and_counted():
    data = some_data(np.random.default_rng(2))
    rows, counts = distinct_rows(data)
    kinds = [tuple(int(column[i]) for column in data.columns) for i in rows]
    assert kinds == sorted(kinds)
    assert dict(zip(kinds, counts.tolist(), strict=True)) == counted(data)


def test_one_row_cannot_be_split():
    data = some_data(np.random.default_rng(3), 1)
    with pytest.raises(CannotAnswer):
        next(gml.half_samples(data, 2))


def l1_distance(strengths, t):
    """∫ |F(x) − t| dx over [0, 1], F the distribution function of the strengths."""
    grid = np.linspace(0, 1, 20001)[:-1] + 1 / 40000
    return np.mean(np.abs((strengths[:, None] <= grid).mean(axis=0) - t))


@pytest.mark.parametrize("seed", range(20))
def test_the_threshold_minimises_the_distance_to_a_sure_graph(seed):
    """Scutari & Nagarajan 2013, equation 14, by search over t."""
    rng = np.random.default_rng(seed)
    strengths = np.round(rng.beta(0.3, 0.3, int(rng.integers(3, 40))), 2)
    threshold = data_driven_threshold(strengths)
    chosen = np.mean(strengths < threshold)
    best = min(l1_distance(strengths, t) for t in np.linspace(0, 1, 401))
    # The share of pairs left out is the value of F at the quantile, so that it may lie above t.
    shares = sorted({0.0, *(np.mean(strengths <= s) for s in strengths)})
    optimal = [share for share in shares if l1_distance(strengths, share) < best + 1e-3]
    assert chosen in optimal


def test_strengths_that_are_all_high_are_all_edges():
    assert data_driven_threshold(np.array([0.95])) == 0.95
    assert data_driven_threshold(np.array([0.9, 1.0, 1.0])) == 0.9


def test_strengths_of_zero_and_one_only():
    assert data_driven_threshold(np.array([0.0] * 19 + [1.0])) == 1.0
    assert data_driven_threshold(np.array([])) == 1.0


def test_average_of_known_graphs():
    def graph(*edges):
        return Graph.from_edges("ABC", edges, kind="cpdag")

    collider = graph(("A", "-->", "B"), ("C", "-->", "B"))
    chain = graph(("A", "---", "B"), ("B", "---", "C"))
    one = graph(("A", "---", "B"))
    averaged = gml.average_graphs([collider, collider, collider, chain, one], threshold=0.5)
    assert [(e.source, e.type, e.target) for e in averaged.graph.edges()] == [
        (0, "-->", 1),
        (2, "-->", 1),
    ]
    assert averaged.graph.attributes[0, 1] == pytest.approx(
        {"strength": 1.0, "direction": 0.6 + 0.4 / 2, "undirected": 0.4}
    )
    assert averaged.graph.attributes[1, 2] == pytest.approx(
        {"strength": 0.8, "direction": 0.75 + 0.25 / 2, "undirected": 0.25}
    )
    (triple,) = averaged.triples
    assert triple.weight == pytest.approx(math.log(3.5 / 1.5))
    assert is_cpdag(averaged.graph)


def test_replicates_do_not_depend_on_threads():
    data = some_data(np.random.default_rng(4), 1000)

    def learn(sample):
        return gml.pc(gml.TESTS["auto"](gml.MemoryCounter(sample, threads=1))).graph

    marks = [
        [
            graph.marks
            for graph in gml.learn_replicates(
                learn, gml.half_samples(data, 9, seed=1), total=9, threads=threads
            )
        ]
        for threads in (1, 3)
    ]
    assert len(marks[0]) == 9
    assert_array_equal(marks[0], marks[1])
