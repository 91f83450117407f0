"""The graph type, orders and spanning trees."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gml.errors import GraphError, UsageError
from gml.graph.edges import EDGE_TYPES, Edge, Mark
from gml.graph.extension import consistent_extension
from gml.graph.graph import Graph
from gml.graph.order import topological_order
from gml.graph.provenance import Provenance, RecordedMissing
from gml.graph.spanning import direct_away, spanning_forest
from gml.independence.implied import implied_independences


@pytest.mark.parametrize("type_", EDGE_TYPES)
def test_marks_of_each_type(type_):
    graph = Graph.from_edges("AB", [("B", type_, "A")])
    tail, head = EDGE_TYPES[type_]
    assert (graph.marks[0, 1], graph.marks[1, 0]) == (tail, head)
    (edge,) = graph.edges
    symmetric = tail == head
    assert (edge.source, edge.type, edge.target) == ("AB"[not symmetric], type_, "AB"[symmetric])


@pytest.mark.parametrize(
    "edges,kind",
    [
        ([], "dag"),
        ([("A", "-->", "B")], "dag"),
        ([("A", "---", "B")], "undirected"),
        ([("A", "-->", "B"), ("B", "---", "C")], "pdag"),
        ([("A", "<->", "B")], "pag"),
        ([("A", "o->", "B")], "pag"),
        ([("A", "o-o", "B"), ("B", "-->", "C")], "pag"),
    ],
)
def test_kind_follows_from_the_edges(edges, kind):
    assert Graph.from_edges("ABC", edges).kind == kind


@pytest.mark.parametrize(
    "edges,kind,message",
    [
        ([("A", "-->", "B"), ("B", "-->", "C"), ("C", "-->", "A")], None, "'A' -> 'B' -> 'C' -> 'A'"),
        ([("A", "-->", "A")], None, "edge to itself"),
        ([("A", "-->", "B"), ("B", "-->", "A")], None, "two edges between 'B' and 'A'"),
        ([("A", "-->", "Z")], None, "node 'Z' not found"),
        ([("A", "->", "B")], None, "edge type '->' is not one of"),
        ([("A", "---", "B")], "dag", "not dag"),
        ([("A", "-->", "B")], "undirected", "not undirected"),
        ([], "tree", "kind 'tree' is not one of"),
    ],
)  # fmt: skip
def test_bad_graphs(edges, kind, message):
    with pytest.raises(GraphError, match=message):
        Graph.from_edges("ABC", edges, kind=kind)


def test_node_twice():
    with pytest.raises(GraphError, match="node 'A' is there twice"):
        Graph.from_edges("ABA", [])


def test_cycle_is_named_whatever_the_order_of_nodes():
    arrows = [
        ("D", "-->", "B"),
        ("B", "-->", "C"),
        ("C", "-->", "D"),
        ("A", "-->", "B"),
        ("C", "-->", "E"),
    ]
    for names in itertools.permutations("ABCDE"):
        with pytest.raises(GraphError, match="'B' -> 'C' -> 'D' -> 'B'$"):
            Graph.from_edges(names, arrows)


def test_parents_and_topological_order():
    graph = Graph.from_edges("DCBA", [("A", "-->", "D"), ("C", "-->", "D"), ("B", "-->", "C")])
    assert [graph.names[i] for i in graph.parents(0)] == ["C", "A"]
    assert [graph.names[i] for i in topological_order(graph)] == ["A", "B", "C", "D"]
    with pytest.raises(GraphError, match="a DAG is needed"):
        topological_order(Graph.from_edges("AB", [("A", "---", "B")]))


def test_implied_independences_of_asia(sample_data):
    from gml.formats.graphs import read_graph

    graph = read_graph(sample_data / "asia.dot")
    implied = implied_independences(graph)
    assert len(implied) == 8 * 7 // 2 - 8
    assert ("bronc", "lung", ("smoke",)) in implied
    assert ("asia", "smoke", ()) in implied


def test_implied_pairs_are_d_separated():
    """Against networkx's d-separation on random DAGs."""
    import networkx as nx

    rng = np.random.default_rng(4)
    for _ in range(50):
        names = [f"v{k}" for k in rng.permutation(7)]
        order = rng.permutation(7)
        edges = [
            (names[order[i]], "-->", names[order[j]])
            for i, j in itertools.combinations(range(7), 2)
            if rng.random() < 0.35
        ]
        graph = Graph.from_edges(names, edges)
        other = nx.DiGraph([(a, b) for a, _, b in edges])
        other.add_nodes_from(names)
        implied = implied_independences(graph)
        assert len(implied) == 21 - len(edges)
        for u, v, given_ in implied:
            assert nx.is_d_separator(other, {u}, {v}, set(given_))


def kruskal(n, rows, columns, keys):
    parent = list(range(n))

    def find(i):
        while parent[i] != i:
            i = parent[i]
        return i

    chosen = []
    for k in sorted(range(len(keys)), key=lambda k: (-keys[k], k)):
        a, b = find(rows[k]), find(columns[k])
        if a != b:
            parent[a] = b
            chosen.append(k)
    return sorted(chosen)


@given(st.integers(0, 2**32 - 1), st.integers(0, 9), st.floats(0, 1))
def test_spanning_forest_is_kruskals(seed, n, share):
    rng = np.random.default_rng(seed)
    rows, columns = np.triu_indices(n, 1)
    keep = rng.random(len(rows)) < share
    rows, columns = rows[keep], columns[keep]
    keys = rng.integers(-3, 4, len(rows))
    found = spanning_forest(n, rows, columns, keys)
    assert found.tolist() == kruskal(n, rows, columns, keys)


def test_direct_away_covers_every_component():
    assert direct_away(5, [(3, 4), (0, 1)], [1, 0, 2, 3, 4]) == [(1, 0), (3, 4)]


def test_to_networkx():
    graph = Graph.from_edges("AB", [("A", "-->", "B", {"mi": 0.5})], levels={"A": ("x", "y")})
    other = graph.to_networkx()
    assert other.is_directed()
    assert other.edges["A", "B"] == {"type": "-->", "mi": 0.5}
    assert other.nodes["A"]["levels"] == ["x", "y"]
    assert not Graph.from_edges("AB", [("A", "---", "B")]).to_networkx().is_directed()


def test_to_networkx_keeps_undirected_edges_undirected():
    edges = [("A", "---", "B", {"mi": 0.5}), ("B", "-->", "C"), ("C", "<->", "A")]
    other = Graph.from_edges("ABC", edges).to_networkx()
    assert set(other.edges) == {("A", "B"), ("B", "A"), ("B", "C"), ("C", "A"), ("A", "C")}
    assert other.edges["B", "A"] == other.edges["A", "B"] == {"type": "---", "mi": 0.5}


def test_a_repr_fits_on_a_screen():
    names = [f"n{i}" for i in range(200)]
    graph = Graph.from_edges(names, [(a, "-->", b) for a, b in itertools.pairwise(names)])
    assert repr(graph).startswith("<Graph: dag, 200 nodes, 199 edges: n0 --> n1, ")
    assert len(repr(graph)) < 200
    assert repr(Graph.from_edges(["a\nb"], [])) == "<Graph: dag, 1 node, 0 edges>"


def test_equality_sees_marks_and_attributes():
    one = Graph.from_edges("AB", [("A", "-->", "B", {"mi": 0.5})])
    assert one == Graph.from_edges("AB", [("A", "-->", "B", {"mi": 0.5})])
    assert one != Graph.from_edges("AB", [("A", "-->", "B", {"mi": 0.25})])
    assert one != Graph.from_edges("AB", [("B", "-->", "A", {"mi": 0.5})])
    assert one != "a graph"
    assert Mark(one.marks[0, 1]) is Mark.ARROW


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (None, None),
        ("drop", None),
        ({}, RecordedMissing(None, None, None)),
        ({"policy": "drop"}, RecordedMissing("drop", None, None)),
        ({"policy": "guess", "rows": True, "columns": []}, RecordedMissing(None, None, None)),
        (
            {"policy": "level", "rows": 2.5, "columns": {"a": 1, "b": "some", "c": 0.5}},
            RecordedMissing("level", 2.5, {"a": 1, "c": 0.5}),
        ),
    ],
)
def test_what_a_file_says_of_missing_values_is_taken_as_far_as_it_makes_sense(written, read):
    assert Provenance.read({"missing": written}).missing == read


GARDEN = Graph.from_edges(
    ["wet", "rain", "sprinkler", "slippery", "tap"],
    [
        ("rain", "-->", "wet", {"strength": 0.75}),
        ("sprinkler", "-->", "wet"),
        ("wet", "-->", "slippery", {"strength": 1.0, "sign": "+"}),
        ("sprinkler", "---", "tap"),
    ],
)


def test_edges_have_names():
    assert GARDEN.edges == (
        Edge("wet", "slippery", "-->", {"strength": 1.0, "sign": "+"}),
        Edge("rain", "wet", "-->", {"strength": 0.75}),
        Edge("sprinkler", "wet", "-->"),
        Edge(source="sprinkler", target="tap", type="---"),
    )
    assert repr(GARDEN.edges[2]) == (
        "Edge(source='sprinkler', target='wet', type='-->', attributes={})"
    )
    assert GARDEN.edges() is GARDEN.edges
    assert Edge("rain", "wet", "-->") not in GARDEN.edges
    assert len(set(GARDEN.edges)) == GARDEN.n_edges == 4
    assert pickle.loads(pickle.dumps(GARDEN)).edges == GARDEN.edges


def test_nodes_are_answered_as_they_were_given():
    assert GARDEN.parents("wet") == ["rain", "sprinkler"]
    assert GARDEN.parents(0) == GARDEN.parents(np.int64(0)) == [1, 2]
    assert GARDEN.children("wet") == ["slippery"] and GARDEN.children(0) == [3]
    assert GARDEN.children("tap") == GARDEN.parents("tap") == []
    assert GARDEN.neighbours("sprinkler") == ["wet", "tap"] and GARDEN.neighbours(2) == [0, 4]
    assert GARDEN.adjacent("tap", "sprinkler") and not GARDEN.adjacent(4, "wet")
    assert GARDEN.edge_type("sprinkler", "tap") == GARDEN.edge_type(4, 2) == "---"
    assert GARDEN.edge_type("rain", "wet") == "-->" and GARDEN.edge_type("wet", "rain") is None
    with pytest.raises(GraphError, match="node 'slipery' not found; did you mean 'slippery'"):
        GARDEN.children("slipery")
    for wrong in (5, -1, 0.5, None):
        with pytest.raises(UsageError, match="by its name, or by .* a whole number from 0 to 4, n"):
            GARDEN.neighbours(wrong)


def test_a_frame_of_the_edges():
    frame = GARDEN.to_frame()
    assert list(frame) == ["source", "target", "type", "strength", "sign"]
    assert frame["target"].tolist() == ["slippery", "wet", "wet", "tap"]
    assert frame.set_index(["source", "target"])["strength"].to_dict() == pytest.approx(
        {
            ("wet", "slippery"): 1.0,
            ("rain", "wet"): 0.75,
            ("sprinkler", "wet"): math.nan,
            ("sprinkler", "tap"): math.nan,
        },
        nan_ok=True,
    )
    assert frame["strength"].dtype == float
    empty = Graph.from_edges("xy", []).to_frame()
    assert list(empty) == ["source", "target", "type"] and empty.empty


def test_nodes_with_numbers_for_names():
    graph = Graph.from_edges([0, 1], [(0, "-->", 1)], levels={0: ("a", "b")}, numeric=[1])
    assert (graph.names, graph.levels, graph.numeric) == (("0", "1"), {"0": ("a", "b")}, ("1",))
    with pytest.raises(GraphError, match=r"node 0 is not text, as names are: did you mean '0'\?"):
        graph.index(0)


def test_an_undirected_graph_is_called_one():
    square = [("A", "---", "B"), ("B", "---", "C"), ("C", "---", "D"), ("D", "---", "A")]
    with pytest.raises(
        GraphError,
        match="this is an undirected graph, and no DAG has its edges and colliders: it fails at",
    ):
        consistent_extension(Graph.from_edges("ABCD", square))


def test_a_level_that_is_there_twice():
    with pytest.raises(GraphError, match="node 'A' has a level twice"):
        Graph.from_edges("AB", [], levels={"A": ("x", "y", "x")})
