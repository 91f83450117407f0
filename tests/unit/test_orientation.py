"""Orientation rules, extensions and separation against their definitions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gml.errors import DataError, GraphError
from gml.graph.extension import extend
from gml.graph.graph import Graph
from gml.graph.orientation import close_under_rules, maximally_oriented, unshielded_triples
from gml.graph.separation import Separation
from tests.graphs import (
    as_graph,
    colliders,
    compelled,
    cpdag_by_labelling,
    d_separated,
    equivalent_dags,
    is_acyclic,
    random_dag,
)


def matrix(n, *arcs):
    found = np.zeros((n, n), dtype=bool)
    for i, j in arcs:
        found[i, j] = True
    return found


def weights_of(dag):
    """What a sure test would say of the triples of a DAG."""
    made = colliders(dag)
    return {t: 1.0 if t in made else -1.0 for t in unshielded_triples(dag | dag.T)}


@pytest.mark.parametrize("seed", range(150))
def test_the_cpdag_has_the_arcs_that_all_equivalent_dags_share(seed):
    rng = np.random.default_rng(seed)
    dag = random_dag(rng, int(rng.integers(2, 6)), rng.random())
    shared = compelled(equivalent_dags(dag))
    assert np.array_equal(maximally_oriented(dag), shared)
    assert np.array_equal(cpdag_by_labelling(dag), shared)


@pytest.mark.parametrize("seed", range(60))
def test_the_cpdag_of_larger_graphs_is_that_of_chickerings_labelling(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 31))
    dag = random_dag(rng, n, rng.uniform(0.5, 6) / n)
    assert np.array_equal(maximally_oriented(dag), cpdag_by_labelling(dag))


@pytest.mark.parametrize("seed", range(300))
def test_with_knowledge_the_arcs_that_all_agreeing_dags_share(seed):
    """Meek's theorem 4: no rule is missing, none says too much."""
    rng = np.random.default_rng(seed)
    dag = random_dag(rng, 5, rng.uniform(0.3, 1))
    known = dag & (rng.random((5, 5)) < rng.uniform(0.05, 0.5))
    agreeing = [other for other in equivalent_dags(dag) if not (known & ~other).any()]
    assert np.array_equal(maximally_oriented(dag, known), compelled(agreeing))


def test_rule_four_is_needed():
    """Meek 1995, figure 1: without the fourth rule knowledge stays incomplete."""
    # b - c is 0 - 3; a = 1, d = 2: 0 - 1 -> 2 -> 3, 0 adjacent to all, 1 and 3 apart
    adjacent = matrix(4, (0, 1), (0, 2), (0, 3), (1, 2), (2, 3))
    adjacent |= adjacent.T
    reasons = {}
    directed = close_under_rules(adjacent, matrix(4, (1, 2), (2, 3)), reasons)
    assert directed[0, 3]
    assert reasons[0, 3] == ("rule 4", (1, 2))


def test_reasons_name_the_rule_and_the_nodes():
    #  0 -> 2 <- 1, 2 - 3: rule 1; the colliders themselves
    dag = matrix(4, (0, 2), (1, 2), (2, 3))
    reasons = {}
    maximally_oriented(dag, None, reasons)
    assert reasons == {
        (0, 2): ("collider", (1,)),
        (1, 2): ("collider", (0,)),
        (2, 3): ("rule 1", (0,)),
    }


@pytest.mark.parametrize("seed", range(200))
def test_an_extension_has_the_colliders_asked_for_where_that_is_possible(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 16))
    dag = random_dag(rng, n, rng.uniform(0.5, 5) / n)
    adjacent = dag | dag.T
    found = extend(adjacent, weights_of(dag), np.zeros_like(dag))
    assert is_acyclic(found)
    assert np.array_equal(found | found.T, adjacent)
    assert colliders(found) == colliders(dag)


@pytest.mark.parametrize("seed", range(200))
def test_an_extension_always_exists_and_honours_what_is_forced(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 12))
    truth = random_dag(rng, n, 0.4)
    adjacent = truth | truth.T
    weights = {t: float(rng.normal()) for t in unshielded_triples(adjacent)}
    forced = truth & (rng.random((n, n)) < 0.3)
    found = extend(adjacent, weights, forced)
    assert is_acyclic(found)
    assert np.array_equal(found | found.T, adjacent)
    assert not (forced & ~found).any()


def test_a_chordless_square_gives_up_its_weakest_triple():
    """No DAG has this skeleton without a collider; PC does return it."""
    adjacent = matrix(4, (0, 1), (1, 2), (2, 3), (0, 3))
    adjacent |= adjacent.T
    weights = {(1, 0, 3): -5.0, (0, 1, 2): -4.0, (1, 2, 3): -0.5, (0, 3, 2): -3.0}
    found = extend(adjacent, weights, np.zeros_like(adjacent))
    assert colliders(found) == {(1, 2, 3)}


def test_forced_directions_that_make_a_cycle_are_refused():
    adjacent = ~np.eye(3, dtype=bool)
    with pytest.raises(DataError, match="cycle"):
        extend(adjacent, {}, matrix(3, (0, 1), (1, 2), (2, 0)))


@pytest.mark.parametrize("seed", range(40))
def test_separation_is_that_of_the_moral_graph(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    dag = random_dag(rng, n, rng.random())
    separation = Separation(as_graph(dag))
    for x, y in itertools.permutations(range(n), 2):
        rest = [v for v in range(n) if v not in (x, y)]
        given = [v for v in rest if rng.random() < 0.4]
        assert separation.separated(x, y, given) == d_separated(dag, x, y, given)


def test_separation_needs_a_dag():
    with pytest.raises(GraphError, match="needs a DAG"):
        Separation(Graph.from_edges("AB", [("A", "---", "B")]))
