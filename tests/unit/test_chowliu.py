"""Chow–Liu trees: optimal, invariant, pruned, around a class."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gml
from gml.counts.counter import TableSet
from gml.data.dataset import Dataset, Variable
from gml.errors import CannotAnswer, UsageError
from gml.learners.chowliu import chow_liu
from tests.graphs import all_trees


def dependent_data(seed, n, n_levels, *, names=None, weights=False):
    """Columns that copy one another with noise, so that trees are not trivial."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, n_levels[0], n)]
    for levels in n_levels[1:]:
        source = columns[rng.integers(len(columns))]
        noise = rng.random(n) < rng.uniform(0.2, 0.9)
        columns.append(np.where(noise, rng.integers(0, levels, n), source % levels))
    names = names or [f"v{j}" for j in range(len(n_levels))]
    variables = tuple(
        Variable(name, tuple(str(k) for k in range(levels)))
        for name, levels in zip(names, n_levels, strict=True)
    )
    return Dataset(
        variables,
        tuple(column.astype(np.uint8) for column in columns),
        rng.integers(0, 4, n) if weights else None,
    )


def log_likelihood(data, parents):
    """Σ n ln p of the maximum-likelihood tables of a DAG, straight from the counts."""
    counter = gml.MemoryCounter(data)
    total = 0.0
    for child, family in parents.items():
        (counts,) = counter.tables([TableSet((child,), tuple(family))])
        for row in counts.table:
            n = row.sum()
            total += sum(c * math.log(c / n) for c in row.tolist() if c)
    return total


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("weights", [False, True])
def test_best_of_all_trees(seed, weights):
    data = dependent_data(seed, 300, [2, 3, 2, 4, 3, 2], weights=weights)
    counter = gml.MemoryCounter(data)
    found = counter.pair_statistics(np.array(list(itertools.combinations(range(6), 2)), np.int32))
    mi = dict(zip(itertools.combinations(range(6), 2), found.g / (2 * data.n), strict=True))
    best = max(sum(mi[min(e), max(e)] for e in tree) for tree in all_trees(6))
    result = chow_liu(counter)
    assert result.total_mi == pytest.approx(best, rel=1e-12)
    assert result.graph.n_edges == 5


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_total_mutual_information_is_the_gain_in_likelihood(seed, weights):
    data = dependent_data(seed, 200, [2, 3, 4, 2, 3], weights=weights)
    result = chow_liu(gml.MemoryCounter(data))
    tree = {j: result.graph.parents(j) for j in range(5)}
    gain = log_likelihood(data, tree) - log_likelihood(data, {j: [] for j in range(5)})
    assert result.total_mi == pytest.approx(gain / data.n, rel=1e-9, abs=1e-12)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["none", "bic", "g"]), st.booleans())
def test_rows_and_columns_may_be_shuffled(seed, prune, tan):
    data = dependent_data(seed, 150, [2, 3, 2, 3, 2], names=list("dbaec"))
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(150), rng.permutation(5)
    other = Dataset(
        tuple(data.variables[j] for j in columns), tuple(data.columns[j][rows] for j in columns)
    )
    class_variable = "b" if tan else None
    one, two = (
        chow_liu(gml.MemoryCounter(d, threads=t), prune=prune, class_variable=class_variable)
        for d, t in ((data, 1), (other, 2))
    )
    assert edges_of(one.graph) == edges_of(two.graph)
    assert one.total_mi == two.total_mi


def edges_of(graph):
    """Edges with attributes, by name; bit for bit."""
    return {(e.source, e.type, e.target, e.attributes.get("mi")) for e in graph.edges}


def test_ties_go_by_name():
    """All pairs carry the same information: a star on the first name."""
    bits = np.array(list(itertools.product([0, 1], repeat=4)), dtype=np.uint8).T
    variables = tuple(Variable(name, ("0", "1")) for name in "cadb")
    data = Dataset(variables, tuple(np.ascontiguousarray(b) for b in bits))
    graph = chow_liu(gml.MemoryCounter(data)).graph
    assert {e[:3] for e in edges_of(graph)} == {("a", "-->", other) for other in "bcd"}


def test_root_and_direction():
    data = dependent_data(1, 500, [2, 2, 2, 2])
    counter = gml.MemoryCounter(data)
    default = chow_liu(counter).graph
    assert default.parents(0) == []
    rooted = chow_liu(counter, root="v3").graph
    assert rooted.parents(3) == []
    assert all(len(rooted.parents(j)) == 1 for j in range(3))
    loose = chow_liu(counter, directed=False).graph
    assert loose.kind == "undirected"
    assert set(map(rooted.pair, rooted.edges)) == set(map(loose.pair, loose.edges))


def test_constant_columns_stay_alone():
    data = dependent_data(1, 100, [2, 1, 2, 3])
    graph = chow_liu(gml.MemoryCounter(data)).graph
    assert graph.n_edges == 2
    assert not graph.marks[1].any()
    tan = chow_liu(gml.MemoryCounter(data), class_variable="v0").graph
    assert not tan.marks[1].any()


def test_declared_levels_that_nobody_has_do_not_matter():
    data = dependent_data(1, 300, [2, 3, 2])
    more = Dataset(
        tuple(Variable(v.name, (*v.levels, "unseen", "never")) for v in data.variables),
        data.columns,
    )
    for prune in ("none", "bic", "g"):
        one, two = (chow_liu(gml.MemoryCounter(d), prune=prune).graph for d in (data, more))
        assert edges_of(one) == edges_of(two)


def penalised(found, n):
    df = (found.seen_x - 1) * (found.seen_y - 1)
    return found.g / (2 * n) - df * math.log(n) / (2 * n)


@pytest.mark.parametrize("seed", range(8))
def test_bic_forest_is_the_best_of_all_forests(seed):
    data = dependent_data(seed, 120, [2, 4, 3, 2, 4])
    counter = gml.MemoryCounter(data)
    pairs = list(itertools.combinations(range(5), 2))
    found = counter.pair_statistics(np.array(pairs, np.int32))
    weight = dict(zip(pairs, penalised(found, data.n), strict=True))
    best = max(
        sum(weight[min(e), max(e)] for e in kept)
        for tree in all_trees(5)
        for size in range(5)
        for kept in itertools.combinations(tree, size)
    )
    graph = chow_liu(counter, prune="bic").graph
    total = sum(weight[graph.pair(e)] for e in graph.edges)
    assert total == pytest.approx(best, abs=1e-6)


def test_g_pruning_keeps_to_significant_pairs():
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 2, 400).astype(np.uint8) for _ in range(6)]
    columns[1] = columns[0] ^ (rng.random(400) < 0.1)
    variables = tuple(Variable(f"v{j}", ("0", "1")) for j in range(6))
    counter = gml.MemoryCounter(Dataset(variables, tuple(columns)))
    graph = chow_liu(counter, prune="g", alpha=1e-6).graph
    assert [(e.source, e.target) for e in graph.edges] == [("v0", "v1")]


def test_miller_madow():
    """I − (K_xy − K_x − K_y + 1)/2n, by hand."""
    variables = (Variable("x", ("0", "1", "2")), Variable("y", ("0", "1")))
    x, y = np.array([0, 0, 1, 1, 2, 2], np.uint8), np.array([0, 0, 1, 1, 0, 1], np.uint8)
    counter = gml.MemoryCounter(Dataset(variables, (x, y)))
    ml = chow_liu(counter).total_mi
    corrected = chow_liu(counter, estimator="miller-madow").total_mi
    assert corrected == pytest.approx(ml - (4 - 3 - 2 + 1) / 12, abs=1e-15)
    x2 = np.array([0, 0, 1, 1, 2, 1], np.uint8)
    counter = gml.MemoryCounter(Dataset(variables, (x2, y)))
    ml = chow_liu(counter).total_mi
    corrected = chow_liu(counter, estimator="miller-madow").total_mi
    assert corrected == pytest.approx(ml - (3 - 3 - 2 + 1) / 12, abs=1e-15)


def test_tan_weighs_by_conditional_information():
    data = dependent_data(3, 400, [2, 3, 2, 3])
    counter = gml.MemoryCounter(data)
    graph = chow_liu(counter, class_variable="v1", root="v3").graph
    assert {e.target for e in graph.edges if e.source == "v1"} == {
        "v0",
        "v2",
        "v3",
    }
    assert graph.parents(3) == [1]
    by_hand = {}
    for a, b in [(0, 2), (0, 3), (2, 3)]:
        total = 0.0
        (counts,) = counter.tables([TableSet((a, b), (1,))])
        for stratum in counts.table:
            n, rows, columns = stratum.sum(), stratum.sum(1), stratum.sum(0)
            total += sum(
                c * math.log(c * n / (rows[i] * columns[j]))
                for (i, j), c in np.ndenumerate(stratum)
                if c
            )
        by_hand[a, b] = total / data.n
    chosen = [graph.pair(e) for e in graph.edges if e.source != "v1"]
    assert set(chosen) == set(sorted(by_hand, key=by_hand.get)[1:])
    for e in graph.edges:
        if e.source != "v1":
            assert e.attributes["mi"] == pytest.approx(by_hand[graph.pair(e)], rel=1e-10)


def test_one_and_two_columns():
    one = dependent_data(0, 50, [3])
    assert chow_liu(gml.MemoryCounter(one)).graph.n_edges == 0
    two = dependent_data(0, 50, [3, 2])
    assert chow_liu(gml.MemoryCounter(two)).graph.n_edges == 1


@pytest.mark.parametrize(
    "options",
    [
        {"root": "nobody"}, {"class_variable": "nobody"}, {"class_variable": "v0", "root": "v0"},
        {"class_variable": "v0", "directed": False}, {"estimator": "map"}, {"prune": "some"},
    ],
)  # fmt: skip
def test_bad_calls(options):
    with pytest.raises(UsageError):
        chow_liu(gml.MemoryCounter(dependent_data(0, 50, [2, 2])), **options)


def test_missing_values_and_no_rows_are_refused():
    data = dependent_data(0, 50, [2, 2])
    gaps = Dataset(
        data.variables,
        (np.where(np.arange(50) < 3, 255, data.columns[0]).astype(np.uint8), data.columns[1]),
    )
    with pytest.raises(UsageError, match="different rows"):
        chow_liu(gml.MemoryCounter(gaps))
    with pytest.raises(CannotAnswer, match="no rows"):
        chow_liu(gml.MemoryCounter(data.rows(np.zeros(50, dtype=bool))))


@pytest.mark.parametrize("size", [1, 7, 50])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"directed": False, "estimator": "miller-madow"},
        {"prune": "bic"},
        {"prune": "g", "alpha": 0.2},
        {"class_variable": "v3"},
    ],
)
def test_blocks_of_pairs_do_not_matter(monkeypatch, size, options):
    # Few rows make many ties.
    counter = gml.MemoryCounter(dependent_data(5, 12, [2, 3, 2, 2, 3, 2, 2, 2, 3, 2, 2, 2]))
    whole = chow_liu(counter, **options)
    monkeypatch.setattr("gml.learners.chowliu._BLOCK_PAIRS", size)
    assert chow_liu(counter, **options) == whole
