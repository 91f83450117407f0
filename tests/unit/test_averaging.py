"""Averaged graphs and their thresholds."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import gml
from gml.graph.graph import Graph
from gml.graph.orientation import maximally_oriented
from gml.learners.averaging import data_driven_threshold
from gml.verbs.shared.collider_warnings import warn_of_average
from tests.graphs import is_cpdag


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
    assert [(e.source, e.type, e.target) for e in averaged.graph.edges] == [
        ("A", "-->", "B"),
        ("C", "-->", "B"),
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


def test_shares_of_all_pairs():
    graphs = [
        Graph.from_edges("BAC", [("A", "-->", "B"), ("C", "-->", "B")], kind="cpdag"),
        Graph.from_edges("BAC", [("A", "---", "B")], kind="cpdag"),
    ]
    averaged = gml.average_graphs(graphs, threshold=0.5)
    assert [tuple(pair) for pair in averaged.shares.pairs()] == [
        ("A", "B", 1.0, 0.75, 0.5),
        ("A", "C", 0.0, None, None),
        ("B", "C", 0.5, 0.0, 0.0),
    ]
    # The words and the figures are those of the edges.
    frame = averaged.to_frame().set_index(["x", "y"])
    for graph in (averaged.graph, averaged.dag):
        for edge in graph.to_frame().itertuples():
            turned = edge.source > edge.target
            pair = frame.loc[tuple(sorted([edge.source, edge.target]))]
            assert pair["strength"] == edge.strength and pair["undirected"] == edge.undirected
            assert pair["direction"] == (1 - edge.direction if turned else edge.direction)


def test_pairs_of_undirected_graphs_have_a_strength_alone():
    graphs = [Graph.from_edges("pqr", [("p", "---", "q")], kind="undirected"),
              Graph.from_edges("pqr", [], kind="undirected")]  # fmt: skip
    averaged = gml.average_graphs(graphs, threshold=0.4)
    assert next(map(tuple, averaged.shares.pairs())) == ("p", "q", 0.5, None, None)
    assert dict(averaged.graph.edges[0].attributes) == {"strength": 0.5}


def members(dag):
    """All DAGs of the equivalence class of one, by search over the edges that may turn."""
    certain = maximally_oriented(dag)
    free = [(i, j) for i, j in zip(*np.nonzero(dag & ~certain), strict=True)]
    found = []
    for choice in range(2 ** len(free)):
        other = certain.copy()
        for bit, (i, j) in enumerate(free):
            if choice >> bit & 1:
                i, j = j, i
            other[i, j] = True
        power = np.linalg.matrix_power(other.astype(int), len(dag))
        if not power.any() and np.array_equal(maximally_oriented(other), certain):
            found.append(other)
    return found


@pytest.mark.parametrize("seed", range(30))
def test_probabilities_of_one_equivalence_class_give_its_cpdag(seed):
    """Whatever the weights of its DAGs are."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(6)
    dag = np.triu(rng.random((6, 6)) < 0.4, 1)[np.ix_(order, order)]
    dags = members(dag)
    weights = rng.dirichlet(np.full(len(dags), 0.3))
    probabilities = np.tensordot(weights, np.array(dags, dtype=float), axes=1)
    averaged = gml.average_probabilities("FBDACE", probabilities)
    arrows = (averaged.graph.marks == 2) & (averaged.graph.marks.T != 2)
    assert np.array_equal(arrows, maximally_oriented(dag))
    assert np.array_equal(averaged.graph.marks > 0, dag | dag.T)


@pytest.mark.parametrize("seed", range(20))
def test_any_probabilities_give_a_valid_graph_that_column_order_does_not_change(seed):
    rng = np.random.default_rng(seed)
    raw = rng.dirichlet(np.ones(3), (7, 7))
    upper = np.triu(np.ones((7, 7), dtype=bool), 1)
    probabilities = np.where(upper, raw[..., 0], raw.transpose(1, 0, 2)[..., 1])
    np.fill_diagonal(probabilities, 0)
    names = tuple("GCAFBED")
    averaged = gml.average_probabilities(names, probabilities)
    assert is_cpdag(averaged.graph)
    order = rng.permutation(7)
    again = gml.average_probabilities(
        tuple(names[j] for j in order), probabilities[np.ix_(order, order)]
    )
    assert np.array_equal(again.graph.marks, averaged.graph.marks[np.ix_(order, order)])
    for edge in averaged.graph.edges:
        i, j = names.index(edge.source), names.index(edge.target)
        described = averaged.graph.attributes[min(i, j), max(i, j)]
        assert described["strength"] == probabilities[i, j] + probabilities[j, i]
        assert described["strength"] * described["direction"] == pytest.approx(probabilities[i, j])


def test_a_choice_that_is_not_proven_is_said_to_be_the_best_found(recwarn):
    found = gml.average("sample_data/asia.csv", "hc", bootstrap=5, seed=1)
    recwarn.clear()
    warn_of_average(replace(found, triples=(), proven=False), "replicates")
    said = "too many combinations of arrows to compare all, so the best found was taken"
    assert sum(str(one.message).startswith(said) for one in recwarn) == 1
    recwarn.clear()
    warn_of_average(replace(found, triples=(), proven=True), "replicates")
    assert not any("the best found" in str(one.message) for one in recwarn)
