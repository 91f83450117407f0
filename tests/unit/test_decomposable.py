"""The greedy search over chordal graphs, step by step against all neighbouring graphs."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

from gml.counts.memory import MemoryCounter
from gml.data.dataset import Dataset, Variable
from gml.errors import DataError, GraphError, UsageError
from gml.graph.chordal import perfect_sequence
from gml.graph.extension import consistent_extension
from gml.graph.graph import Graph
from gml.learners.decomposable import forward_decomposable
from gml.progress import Deadline
from gml.scores.base import total
from gml.scores.registry import SCORES
from tests.graphs import named_edges, random_undirected


def dependent_rows(rng, n, names):
    """Columns of two or three levels, each a noisy function of some that came before."""
    columns = []
    for k in range(len(names)):
        levels = int(rng.integers(2, 4))
        column = rng.integers(0, levels, n)
        for other in range(k):
            if rng.random() < 0.6:
                follow = rng.random(n) < 0.4
                column = np.where(follow, columns[other] % levels, column)
        columns.append(column.astype(np.uint8))
    variables = [
        Variable(name, tuple("abc"[: int(column.max()) + 1]))
        for name, column in zip(names, columns, strict=True)
    ]
    return Dataset(tuple(variables), tuple(columns))


def with_edges(names, pairs):
    links = [(a, "---", b) for a, b in sorted(map(sorted, pairs))]
    return Graph.from_edges(names, links, kind="undirected")


def all_gains(score, names, edges):
    """What a change of one edge gains, for all graphs that stay chordal."""
    here = total(score, consistent_extension(with_edges(names, edges)))
    gains = {}
    for pair in map(frozenset, itertools.combinations(sorted(names), 2)):
        graph = with_edges(names, edges ^ {pair})
        if nx.is_chordal(graph.to_networkx()):
            gains[pair] = total(score, consistent_extension(graph)) - here
    return gains


def pairs_of(graph):
    return {frozenset((a, b)) for a, _, b in named_edges(graph)}


def chordal_start(rng, names):
    """A dense chordal graph, far from a maximum, so that edges are deleted too."""
    while True:
        found = random_undirected(rng, len(names), 0.7)
        rename = dict(zip(found.names, names, strict=True))
        links = [(rename[a], type_, rename[b]) for a, type_, b in sorted(named_edges(found))]
        if perfect_sequence(found) is not None:
            return Graph.from_edges(names, links, kind="undirected")


@pytest.mark.parametrize("name", ["aic", "bic", "bdeu"])
@pytest.mark.parametrize("seed", range(10))
def test_every_step_is_the_best_of_all_chordal_neighbours(name, seed):
    rng = np.random.default_rng(seed)
    names = [f"v{k}" for k in rng.permutation(5 if seed < 8 else 7)]
    score = SCORES[name](MemoryCounter(dependent_rows(rng, 300, names)))
    first = chordal_start(rng, names) if seed % 2 else None
    edges = set() if first is None else pairs_of(first)
    steps = []
    result = forward_decomposable(score, start=first, trace=steps.append)
    assert len(steps) == result.steps
    for step in steps:
        pair = frozenset((step.source, step.target))
        gains = all_gains(score, names, edges)
        assert step.move == ("delete" if pair in edges else "add")
        assert step.gain == pytest.approx(max(gains.values()), abs=2e-6)
        assert step.gain == pytest.approx(gains[pair], abs=2e-6)
        edges ^= {pair}
    assert max(all_gains(score, names, edges).values()) <= 1e-6
    assert pairs_of(result.graph) == edges
    assert result.score == pytest.approx(total(score, consistent_extension(result.graph)), abs=1e-9)
    assert result.score == pytest.approx(total(score, result.dag), abs=1e-9)


def test_edges_are_deleted_on_the_way(sample_data):
    import gml

    steps = []
    score = SCORES["bic"](MemoryCounter(gml.read(sample_data / "asia.csv")))
    result = forward_decomposable(score, trace=steps.append)
    moves = [step.move for step in steps]
    assert (moves.count("add"), moves.count("delete")) == (11, 1)
    assert all(step.gain > 0 for step in steps)
    assert steps[-1].score == pytest.approx(result.score, abs=1e-4)
    assert result.complete
    # From where it ended, nothing gains.
    again = forward_decomposable(score, start=result.graph)
    assert again.steps == 0
    assert again.graph == result.graph


def test_the_order_of_columns_does_not_matter():
    rng = np.random.default_rng(3)
    names = [f"v{k}" for k in range(8)]
    data = dependent_rows(rng, 500, names)
    found = set()
    for _ in range(4):
        order = rng.permutation(8)
        turned = Dataset(
            tuple(data.variables[k] for k in order), tuple(data.columns[k] for k in order)
        )
        result = forward_decomposable(SCORES["aic"](MemoryCounter(turned)))
        assert result.graph.names == tuple(v.name for v in turned.variables)
        found.add(frozenset(pairs_of(result.graph)))
    assert len(found) == 1


@pytest.mark.parametrize("most", [1, 2, 3])
def test_cliques_are_kept_small(most):
    rng = np.random.default_rng(4)
    score = SCORES["aic"](MemoryCounter(dependent_rows(rng, 1000, "ABCDEFG")))
    result = forward_decomposable(score, max_clique=most)
    cliques = perfect_sequence(result.graph).cliques
    assert max(map(len, cliques)) == most
    free = forward_decomposable(score)
    assert max(map(len, perfect_sequence(free.graph).cliques)) > 3
    with pytest.raises(DataError, match="clique above `max_clique`"):
        forward_decomposable(score, max_clique=most, start=free.graph)


def test_two_nodes_per_clique_make_the_best_forest_by_bic():
    from gml.learners.chowliu import chow_liu

    counter = MemoryCounter(dependent_rows(np.random.default_rng(7), 400, "ABCDEFGH"))
    forest = chow_liu(counter, directed=False, prune="bic").graph
    result = forward_decomposable(SCORES["bic"](counter), max_clique=2)
    assert pairs_of(result.graph) == pairs_of(forest)


def test_columns_of_one_value_have_no_edges():
    rng = np.random.default_rng(1)
    data = dependent_rows(rng, 200, "ABC")
    dull = Variable("D", ("only", "never"))
    columns = (*data.columns, np.zeros(200, dtype=np.uint8))
    counter = MemoryCounter(Dataset((*data.variables, dull), columns))
    result = forward_decomposable(SCORES["loglik"](counter))
    assert pairs_of(result.graph) == {frozenset(pair) for pair in ("AB", "AC", "BC")}


def test_what_a_search_refuses(sample_data):
    import gml

    counter = MemoryCounter(gml.read(sample_data / "asia.csv"))
    with pytest.raises(UsageError, match="equivalent DAGs the same value, which k2 does not"):
        forward_decomposable(SCORES["k2"](counter))
    score = SCORES["bic"](counter)
    square = [("asia", "smoke"), ("smoke", "tub"), ("tub", "lung"), ("lung", "asia")]
    with pytest.raises(GraphError, match="cycle without a chord"):
        forward_decomposable(score, start=with_edges(score.names, square))
    with pytest.raises(GraphError, match="did you mean 'smoke'"):
        forward_decomposable(score, start=with_edges(["smoky"], []))
    with pytest.raises(UsageError, match="`max_clique` must be at least 1, not 0"):
        forward_decomposable(score, max_clique=0)


def test_a_search_without_time_returns_what_it_has(sample_data):
    import gml

    score = SCORES["bic"](MemoryCounter(gml.read(sample_data / "asia.csv")))
    result = forward_decomposable(score, deadline=Deadline(0.0))
    assert (result.complete, result.graph.n_edges) == (False, 0)


def test_no_columns_at_all():
    class Nothing:
        names = ()
        equivalent = True

        def local(self, child, parents):
            return 0.0

    assert forward_decomposable(Nothing()).graph.names == ()
