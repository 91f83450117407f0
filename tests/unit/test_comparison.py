"""Comparing graphs: distances, rates and differences, against their definitions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gml.errors import GraphError, UsageError
from gml.graph.comparison import (
    Rates,
    compare_graphs,
    is_equivalence_class,
)
from gml.graph.equivalence import equivalence_class
from gml.graph.graph import Graph

from ..graphs import as_graph, cpdag_by_labelling, equivalent_dags, random_dag


def pairs_that_differ(first, second):
    """Pairs whose arcs differ, of matrices of arcs in which an undirected edge is two arcs."""
    return sum(
        (first[i, j], first[j, i]) != (second[i, j], second[j, i])
        for i, j in itertools.combinations(range(len(first)), 2)
    )


def arcs_of_class(matrix):
    directed = cpdag_by_labelling(matrix)
    return (matrix | matrix.T) & ~directed.T


def test_distances_of_random_dags():
    rng = np.random.default_rng(1)
    for _ in range(200):
        n = int(rng.integers(2, 9))
        first, second = (random_dag(rng, n, rng.uniform(0.1, 0.8)) for _ in range(2))
        found = compare_graphs(as_graph(first), as_graph(second))
        shd = pairs_that_differ(arcs_of_class(first), arcs_of_class(second))
        assert found.shd == found.distance == len(found.differences) == shd
        assert found.dag_shd == pairs_that_differ(first, second)
        in_view = compare_graphs(as_graph(first), as_graph(second), view="dag")
        assert (in_view.shd, in_view.dag_shd) == (shd, in_view.distance)
        assert in_view.dag_shd == found.dag_shd
        assert in_view.sid == found.sid


def test_equivalent_dags_do_not_differ():
    rng = np.random.default_rng(2)
    for _ in range(40):
        matrix = random_dag(rng, 5, 0.5)
        whole = equivalence_class(as_graph(matrix))
        assert is_equivalence_class(whole)
        for other in equivalent_dags(matrix):
            found = compare_graphs(as_graph(matrix), as_graph(other))
            assert found.shd == 0
            assert compare_graphs(whole, as_graph(other)).shd == 0
            assert compare_graphs(as_graph(other), whole).differences == ()
            assert found.dag_shd == pairs_that_differ(matrix, other)


def test_rates_of_random_graphs():
    rng = np.random.default_rng(3)
    for _ in range(100):
        first, second = (random_dag(rng, 6, rng.uniform(0, 0.6)) for _ in range(2))
        found = compare_graphs(as_graph(first), as_graph(second), view="dag")
        for rates, a, b in (
            (found.arrowheads, first, second),
            (found.skeleton, np.triu(first | first.T), np.triu(second | second.T)),
        ):
            both, in_a, in_b = (a & b).sum(), a.sum(), b.sum()
            assert rates.precision == (both / in_b if in_b else None)
            assert rates.recall == (both / in_a if in_a else None)
            expected = 2 * both / (in_a + in_b) if in_a + in_b else None
            assert rates.f1 == pytest.approx(expected)


def graph(edges, names="ABCD", kind=None):
    parts = [(edge[0], edge[1:-1], edge[-1]) for edge in edges]
    return Graph.from_edges(names, parts, kind=kind)


def test_kinds_of_differences():
    first = graph(["A-->B", "B-->C", "C-->D", "A---D"], kind="pdag")
    second = graph(["B-->A", "B---C", "A-->C", "A-->D"], kind="pdag")
    found = compare_graphs(first, second).differences
    assert [(d.x, d.y, d.a, d.b, d.kind) for d in found] == [
        ("A", "B", "-->", "<--", "reversed"),
        ("A", "C", None, "-->", "extra"),
        ("A", "D", "---", "-->", "directed"),
        ("B", "C", "-->", "---", "undirected"),
        ("C", "D", "-->", None, "missing"),
    ]


def test_order_of_nodes_does_not_matter():
    rng = np.random.default_rng(4)
    for _ in range(30):
        first, second = (random_dag(rng, 7, 0.4) for _ in range(2))
        names = [f"v{k:02d}" for k in range(7)]
        order = rng.permutation(7)
        shuffled = as_graph(second[np.ix_(order, order)], [names[k] for k in order])
        for view in ("cpdag", "dag"):
            expected = compare_graphs(as_graph(first), as_graph(second), view=view)
            assert compare_graphs(as_graph(first), shuffled, view=view) == expected


def test_nothing_is_not_a_rate():
    empty = graph([])
    found = compare_graphs(empty, empty)
    assert found.skeleton == found.arrowheads == Rates(None, None, None)
    assert (found.shd, found.dag_shd, found.sid.upper) == (0, 0, 0)
    assert compare_graphs(graph(["A-->B"]), empty).skeleton == Rates(None, 0, 0)


def test_classes_in_the_view_of_dags():
    """The line A - B - C is taken for C -> B -> A, the first by name."""
    line = graph(["A---B", "B---C"], kind="cpdag")
    chain = graph(["A-->B", "B-->C"])
    found = compare_graphs(chain, line)
    assert (found.shd, found.dag_shd) == (0, None)
    assert compare_graphs(chain, line, view="dag").dag_shd == 2


def test_undirected_graphs_are_compared_as_they_are():
    ring = graph(["A---B", "B---C", "C---D", "A---D"])
    assert compare_graphs(ring, ring).shd == 0
    chain = graph(["A-->B", "B-->C", "C-->D"])
    found = compare_graphs(chain, ring)
    assert (found.shd, found.dag_shd, found.sid) == (1, None, None)
    with pytest.raises(GraphError, match="no DAG"):
        compare_graphs(chain, ring, view="dag")


def test_pags_compare_with_pags():
    first = graph(["Ao->B", "B<->C", "Co-oD"])
    second = graph(["A-->B", "B<->C", "Co->D"], kind="pag")
    found = compare_graphs(first, second)
    assert [(d.x, d.y, d.a, d.b, d.kind) for d in found.differences] == [
        ("A", "B", "o->", "-->", "marks"),
        ("C", "D", "o-o", "o->", "marks"),
    ]
    assert found.sid is None
    # arrows into B twice and into C, of which all are there, and one into D that is not
    assert found.arrowheads == Rates(3 / 4, 1, 6 / 7)
    with pytest.raises(GraphError, match="PAG"):
        compare_graphs(first, graph(["A-->B"]))
    with pytest.raises(GraphError, match="PAG"):
        compare_graphs(first, second, view="dag")


def test_sid_needs_a_true_dag():
    line = graph(["A---B"], kind="cpdag")
    assert compare_graphs(line, graph(["A-->B"])).sid is None
    assert compare_graphs(graph(["A-->B"]), line).sid == (0, 2, True)


def test_bad_calls():
    with pytest.raises(GraphError, match="second graph: node 'D' of the first graph is missing"):
        compare_graphs(graph([]), graph([], "ABC"))
    with pytest.raises(GraphError, match="first graph: node 'D' of the second graph is missing"):
        compare_graphs(graph([], "ABC"), graph([]))
    with pytest.raises(UsageError):
        compare_graphs(graph([]), graph([]), view="pag")
