"""Undirected graphs: chordality, cliques, separators, and the independences they imply."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

from gml.errors import GraphError
from gml.graph.chordal import maximal_cliques, moral_graph, perfect_sequence
from gml.graph.graph import Graph
from gml.graph.separation import UndirectedSeparation
from gml.independence.implied import implied_independences
from tests.graphs import as_graph, random_dag, random_undirected


def all_undirected(n):
    """Every undirected graph over n nodes."""
    names = [f"v{k}" for k in range(n)]
    pairs = list(itertools.combinations(names, 2))
    for chosen in itertools.product((False, True), repeat=len(pairs)):
        edges = [(a, "---", b) for (a, b), there in zip(pairs, chosen, strict=True) if there]
        yield Graph.from_edges(names, edges, kind="undirected")


def with_positions(graph):
    """The same graph in networkx, nodes by position."""
    other = nx.Graph()
    other.add_nodes_from(range(len(graph.names)))
    other.add_edges_from(map(graph.pair, graph.edges))
    return other


def random_graphs(n_graphs, most_nodes):
    rng = np.random.default_rng(5)
    for _ in range(n_graphs):
        yield random_undirected(rng, int(rng.integers(1, most_nodes)), rng.random() ** 2)


def require_perfect(graph, found):
    """Check the running intersection property, and that the cliques are all there are."""
    other = with_positions(graph)
    assert sorted(found.cliques) == sorted(tuple(sorted(c)) for c in nx.find_cliques(other))
    seen = set()
    for k, (clique, separator) in enumerate(zip(found.cliques, found.separators, strict=True)):
        assert set(separator) == set(clique) & seen
        assert k == 0 or any(set(separator) <= set(before) for before in found.cliques[:k])
        seen |= set(clique)


def test_perfect_sequences_of_all_graphs_of_five_nodes():
    chordal = 0
    for graph in all_undirected(5):
        found = perfect_sequence(graph)
        assert (found is not None) == nx.is_chordal(with_positions(graph))
        if found is not None:
            chordal += 1
            require_perfect(graph, found)
    # The labelled chordal graphs of five nodes: A058862 of the Encyclopedia of Integer Sequences.
    assert chordal == 822


def test_perfect_sequences_of_moral_graphs_made_chordal():
    for graph in random_graphs(60, 25):
        other, _ = nx.complete_to_chordal_graph(with_positions(graph))
        names = graph.names
        filled = Graph.from_edges(
            names, [(names[i], "---", names[j]) for i, j in other.edges], kind="undirected"
        )
        found = perfect_sequence(filled)
        assert found is not None
        require_perfect(filled, found)


def test_a_perfect_sequence_does_not_depend_on_the_order_of_nodes():
    rng = np.random.default_rng(1)
    graph = Graph.from_edges(
        "ABCDEF",
        [(a, "---", b) for a, b in ("AB", "BC", "AC", "CD", "DE", "CE", "EF")],
        kind="undirected",
    )

    def named(graph):
        found = perfect_sequence(graph)
        return [
            [{graph.names[k] for k in scope} for scope in scopes]
            for scopes in (found.cliques, found.separators)
        ]

    for _ in range(10):
        names = [graph.names[k] for k in rng.permutation(6)]
        edges = [(e.source, "---", e.target) for e in graph.edges]
        assert named(Graph.from_edges(names, edges, kind="undirected")) == named(graph)


def test_maximal_cliques_are_those_of_networkx():
    for graph in random_graphs(60, 14):
        found = maximal_cliques(graph)
        wanted = [tuple(sorted(clique)) for clique in nx.find_cliques(with_positions(graph))]
        assert found == sorted(wanted, key=lambda clique: (len(clique), clique))


@pytest.mark.parametrize("seed", range(10))
def test_moral_graphs_are_those_of_networkx(seed):
    dag = random_dag(np.random.default_rng(seed), 8, 0.3)
    other = nx.moral_graph(nx.DiGraph(np.argwhere(dag).tolist()))
    moral = moral_graph(as_graph(dag))
    found = {frozenset(moral.pair(edge)) for edge in moral.edges}
    assert found == {frozenset(edge) for edge in other.edges}


def test_questions_of_undirected_graphs_refuse_others():
    arrow = Graph.from_edges("AB", [("A", "-->", "B")])
    line = Graph.from_edges("AB", [("A", "---", "B")], kind="undirected")
    with pytest.raises(GraphError, match="an undirected graph is needed, not a dag"):
        perfect_sequence(arrow)
    with pytest.raises(GraphError, match="of a DAG, not of an undirected graph"):
        moral_graph(line)
    with pytest.raises(GraphError, match="an undirected graph is needed, not a dag"):
        UndirectedSeparation(arrow)
    with pytest.raises(GraphError, match="nothing separates neighbours"):
        UndirectedSeparation(line).separator(0, 1)


def test_separation_is_that_of_paths():
    rng = np.random.default_rng(8)
    for graph in random_graphs(60, 9):
        separation = UndirectedSeparation(graph)
        for x, y in itertools.permutations(range(len(graph.names)), 2):
            given = [k for k in range(len(graph.names)) if k not in (x, y) and rng.random() < 0.4]
            rest = with_positions(graph)
            rest.remove_nodes_from(given)
            assert separation.separated(x, y, given) == (not nx.has_path(rest, x, y))


def test_separators_separate_and_none_of_their_nodes_can_be_left_out():
    for graph in random_graphs(60, 12):
        separation = UndirectedSeparation(graph)
        for x, y in itertools.permutations(range(len(graph.names)), 2):
            if graph.adjacent(x, y):
                continue
            found = separation.separator(x, y)
            assert separation.separated(x, y, found)
            for k in found:
                assert not separation.separated(x, y, [other for other in found if other != k])
            boundaries = [set(nx.all_neighbors(with_positions(graph), end)) for end in (x, y)]
            assert len(found) <= min(map(len, boundaries))


def test_the_smaller_of_two_separators_is_tested():
    """B has two neighbours towards E, E one towards B."""
    edges = [(a, "---", b) for a, b in ("AB", "BC", "AD", "CD", "DE")]
    graph = Graph.from_edges("EDCBA", edges, kind="undirected")
    assert implied_independences(graph) == [
        ("A", "C", ("B", "D")),
        ("A", "E", ("D",)),
        ("B", "D", ("A", "C")),
        ("B", "E", ("D",)),
        ("C", "E", ("D",)),
    ]


def test_apart_is_independent_given_nothing():
    graph = Graph.from_edges("ABC", [("A", "---", "B")], kind="undirected")
    assert implied_independences(graph) == [("A", "C", ()), ("B", "C", ())]
