"""The class of least cost, against all acyclic orientations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gml
from gml.graph.cheapest import cheapest, cost_of
from gml.graph.edges import Mark
from gml.graph.equivalence import equivalence_class
from gml.graph.graph import Graph
from gml.graph.orientation import unshielded_triples
from gml.learners.averaging import Averaged
from gml.name_order import NameOrder


def acyclic_orientations(adjacent, forced):
    """All DAGs over a skeleton, by the order of the nodes."""
    seen = {}
    for order in itertools.permutations(range(len(adjacent))):
        rank = np.argsort(order)
        dag = adjacent & (rank[:, None] < rank[None, :])
        if not (dag.T & forced).any():
            seen[dag.tobytes()] = dag
    return list(seen.values())


def random_problem(seed, n=5):
    rng = np.random.default_rng(seed)
    adjacent = np.triu(rng.random((n, n)) < 0.6, 1)
    adjacent |= adjacent.T
    weights = {triple: float(rng.integers(-16, 17)) / 4 for triple in unshielded_triples(adjacent)}
    against = np.where(adjacent, rng.integers(0, 13, (n, n)) / 4, 0.0)
    # One direction of a pair has the majority.
    against[np.triu(rng.random((n, n)) < 0.5, 1)] = 0.0
    against[(against > 0) & (against.T > 0)] = 0.0
    forced = np.triu(adjacent & (rng.random((n, n)) < (0.15 if seed % 2 else 0.0)), 1)
    return adjacent, weights, against, forced


@pytest.mark.parametrize("seed", range(60))
def test_no_dag_costs_less(seed):
    adjacent, weights, against, forced = random_problem(seed)
    price = np.where(forced | forced.T, 0.0, against)
    found = cheapest(adjacent, weights, against, forced)
    costs = [cost_of(dag, weights, price, forced) for dag in acyclic_orientations(adjacent, forced)]
    assert found.proven
    assert not (found.dag.T & forced).any()
    assert cost_of(found.dag, weights, price, forced) == min(costs)


@pytest.mark.parametrize("seed", range(20))
def test_without_time_it_is_a_dag_over_the_skeleton_and_says_so(seed):
    adjacent, weights, against, forced = random_problem(seed, n=6)
    found = cheapest(adjacent, weights, against, forced, most_work=0)
    assert ((found.dag | found.dag.T) == adjacent).all()
    best = cheapest(adjacent, weights, against, forced)
    price = np.where(forced | forced.T, 0.0, against)
    cost, least = (cost_of(f.dag, weights, price, forced) for f in (found, best))
    assert cost >= least
    assert found.proven == (cost == 0)


def averaged_cost(averaged: Averaged, dag: np.ndarray) -> float:
    """The cost of a DAG in name order, from the shares alone."""
    shares = averaged.shares
    d = (shares.directed + shares.undirected / 2 + 0.5) / (shares.adjacent + 1)
    rank = {name: i for i, name in enumerate(shares.names)}
    weights = {(rank[t.x], rank[t.k], rank[t.y]): t.weight for t in averaged.triples}
    return cost_of(dag, weights, np.maximum(0, np.log((1 - d) / d)), np.zeros_like(dag))


@pytest.mark.parametrize("seed", range(20))
def test_an_averaged_graph_contradicts_its_replicates_the_least(seed):
    rng = np.random.default_rng(seed)
    names = tuple(rng.permutation(list("ABCDE")))
    graphs = []
    for _ in range(15):
        order = rng.permutation(5)
        arrows = [(i, j) for a, i in enumerate(order) for j in order[a + 1 :]]
        kept = [arrows[k] for k in np.flatnonzero(rng.random(10) < 0.5)]
        dag = Graph.from_edges(names, [(names[i], "-->", names[j]) for i, j in kept], kind="dag")
        graphs.append(equivalence_class(dag))
    averaged = gml.average_graphs(graphs, threshold=0.5)
    marks = NameOrder(names).matrix(averaged.dag.marks)
    found, adjacent = marks == Mark.ARROW, marks != Mark.NONE
    assert (found.sum() * 2) == adjacent.sum()
    nothing = np.zeros_like(adjacent)
    costs = [averaged_cost(averaged, dag) for dag in acyclic_orientations(adjacent, nothing)]
    assert averaged.proven
    assert averaged_cost(averaged, found) == pytest.approx(min(costs), abs=1e-4)
