"""Differences of two graphs in a picture, which agree with what `compare` counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from gml.errors import GraphError
from gml.graph.comparison import compare_graphs, edge_differences
from gml.graph.edges import EDGE_TYPES
from gml.graph.equivalence import equivalence_class
from gml.graph.graph import Graph
from gml.pictures.differences import edges_against, node_states, stroke_of
from gml.pictures.graph_picture import GraphScene, draw_graph
from gml.pictures.themes import LIGHT, PRINT
from tests.graphs import as_graph, random_dag
from tests.pictures import SVG, edges_of, elements, in_a_column, legend_of, nodes_of, title_of

NAMES = "abcdef"
FOUND = Graph.from_edges(
    "fedcba",
    [("a", "-->", "b"), ("c", "-->", "b"), ("c", "-->", "d"), ("f", "-->", "e")],
)
TRUE = Graph.from_edges(
    NAMES, [("a", "-->", "b"), ("b", "-->", "c"), ("c", "-->", "d"), ("d", "-->", "e")]
)


def states(graph, reference):
    return {
        (edge.source, edge.type, edge.target): edge.state
        for edge in edges_against(graph, reference)
    }


def drawn(graph, reference, theme=LIGHT, **shown):
    scene = GraphScene(graph, "", against=reference, **shown)
    return draw_graph(scene, theme, layout=in_a_column)


def test_what_each_edge_is():
    assert states(FOUND, TRUE) == {
        ("a", "-->", "b"): "in both",
        ("c", "-->", "b"): "reversed",
        ("c", "-->", "d"): "in both",
        ("d", "-->", "e"): "missing",
        ("f", "-->", "e"): "added",
    }


def test_a_graph_does_not_differ_from_itself():
    assert set(states(TRUE, TRUE).values()) == {"in both"}
    assert node_states(TRUE, FOUND) == {}


KINDS = {"missing": "missing", "extra": "added", "reversed": "reversed"}


@pytest.mark.parametrize("seed", range(10))
def test_dags_differ_as_compare_counts_their_arrows(seed):
    rng = np.random.default_rng(seed)
    graph, reference = (as_graph(random_dag(rng, 7, 0.4)) for _ in range(2))
    expected = compare_graphs(reference, graph)
    found = Counter(states(graph, reference).values())
    del found["in both"]
    assert found.total() == expected.dag_shd
    assert set(found) <= {"added", "missing", "reversed"}


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("classes", [(True, False), (False, True), (True, True)])
def test_a_dag_stands_for_its_class_beside_one_as_in_compare(seed, classes):
    rng = np.random.default_rng(seed)
    dags = [as_graph(random_dag(rng, 7, 0.4)) for _ in range(2)]
    graph, reference = (
        equivalence_class(dag) if is_class else dag
        for dag, is_class in zip(dags, classes, strict=True)
    )
    expected = Counter(
        KINDS.get(difference.kind, "other mark")
        for difference in compare_graphs(reference, graph).differences
    )
    found = Counter(states(graph, reference).values())
    del found["in both"]
    assert found == expected


def test_a_pag_is_compared_with_pags_only_as_in_compare():
    pag = Graph.from_edges("abc", [("a", "o->", "b"), ("b", "-->", "c")])
    other = Graph.from_edges("abc", [("a", "<->", "b"), ("b", "-->", "c")])
    (found,) = edge_differences(other, pag)
    assert (found.a, found.b, found.kind) == ("<->", "o->", "marks")
    assert states(pag, other) == {("a", "o->", "b"): "other mark", ("b", "-->", "c"): "in both"}
    dag = Graph.from_edges("abc", [("a", "-->", "b"), ("b", "-->", "c")])
    for pair in ((pag, dag), (dag, pag)):
        for compared in (edges_against, compare_graphs):
            with pytest.raises(GraphError, match="a PAG can be compared with PAGs only"):
                compared(*pair)


def test_the_legend_says_how_graphs_are_compared():
    dag = Graph.from_edges("ab", [("a", "-->", "b")])
    turned = Graph.from_edges("ab", [("b", "-->", "a")])
    cpdag = equivalence_class(dag)
    pag = Graph.from_edges("ab", [("a", "o-o", "b")])
    for graph, reference, said in [
        (dag, turned, "two DAGs, compared arrow by arrow"),
        (dag, cpdag, "compared as CPDAGs"),
        (cpdag, dag, "compared as CPDAGs"),
        (cpdag, cpdag, "compared as CPDAGs"),
        (dag, replace(cpdag, kind="pdag"), "compared mark by mark, a DAG as its CPDAG"),
        (pag, pag, "compared mark by mark"),
    ]:
        picture = drawn(graph, reference)
        assert legend_of(picture)[0] == said
        assert f"the reference, {said}: " in elements(picture).find(f"{SVG}desc").text


def test_edges_have_the_style_of_their_state():
    edges = edges_of(drawn(FOUND, TRUE))
    for ends, state in {
        ("f", "e"): "added",
        ("d", "e"): "missing",
        ("c", "b"): "reversed",
        ("a", "b"): "in both",
    }.items():
        edge = edges[ends]
        line = next(path for path in edge.iter(f"{SVG}path") if path.get("stroke") != "none")
        stroke = stroke_of(state, LIGHT)
        assert edge.get("data-difference") == state
        assert line.get("stroke") == stroke.colour
        assert float(line.get("stroke-width")) == stroke.width
        assert line.get("stroke-dasharray") == stroke.dash


def test_titles_and_legend_say_what_differs():
    picture = drawn(FOUND, TRUE, against_name="true.bif")
    assert [title_of(edge) for edge in edges_of(picture).values()] == [
        "a --> b, in both",
        "c --> b, reversed: b --> c in true.bif",
        "c --> d, in both",
        "d --> e, missing (only in true.bif)",
        "f --> e, added (not in true.bif)",
    ]
    assert legend_of(picture) == [
        "two DAGs, compared arrow by arrow",
        "added (not in true.bif): 1",
        "missing (only in true.bif): 1",
        "reversed: 1",
        "other mark: 0",
        "in both: 2",
    ]
    said = elements(picture).find(f"{SVG}desc").text
    assert (
        "against true.bif, two DAGs, compared arrow by arrow: 1 added, 1 missing, 1 reversed, 0 other mark, 2 in both."
        in said
    )


@pytest.mark.parametrize("mine", EDGE_TYPES)
@pytest.mark.parametrize("other", EDGE_TYPES)
def test_another_mark_is_said_as_the_reference_has_it(mine, other):
    graph = Graph.from_edges("ab", [("a", mine, "b")], kind="pag")
    reference = Graph.from_edges("ab", [("b", other, "a")], kind="pag")
    (edge,) = edges_against(graph, reference)
    assert (edge.source, edge.type, edge.target) == ("a", mine, "b")
    if mine == other and mine in ("---", "<->", "o-o"):
        assert (edge.state, edge.instead) == ("in both", None)
    else:
        turned = other in ("---", "<->", "o-o")
        assert edge.instead == (f"a {other} b" if turned else f"b {other} a")
        assert edge.state == ("reversed" if mine == other == "-->" else "other mark")


@pytest.mark.parametrize("theme", [LIGHT, PRINT], ids=["light", "print"])
def test_nodes_of_one_graph_have_a_border_of_their_own(theme):
    graph = Graph.from_edges(["a", "new"], [("a", "-->", "new")])
    reference = Graph.from_edges(["gone", "a"], [("a", "-->", "gone")])
    picture = drawn(graph, reference, theme)
    nodes = nodes_of(picture)
    borders = {name: nodes[name].find(f"{SVG}rect") for name in ("a", "gone", "new")}
    assert borders["a"].get("stroke") == theme.line
    assert borders["gone"].get("stroke-dasharray") == stroke_of("missing", theme).dash
    assert float(borders["new"].get("stroke-width")) == stroke_of("added", theme).width
    assert title_of(nodes["gone"]) == "gone, missing (only in the reference)"
    assert legend_of(picture)[-2:] == [
        "1 node added (not in the reference)",
        "1 node missing (only in the reference)",
    ]


def test_weights_give_way_to_differences():
    graph = Graph.from_edges("ab", [("a", "-->", "b", {"strength": 1.0})])
    picture = drawn(graph, graph, weight="strength")
    (edge,) = edges_of(picture).values()
    line = next(path for path in edge.iter(f"{SVG}path") if path.get("stroke") != "none")
    assert line.get("stroke") == stroke_of("in both", LIGHT).colour
    assert title_of(edge) == "a --> b, strength 1, in both"
    assert not [words for words in legend_of(picture) if words.startswith("strength")]


def test_the_order_of_nodes_does_not_show():
    again = Graph.from_edges(
        "bdface",
        [("f", "-->", "e"), ("c", "-->", "d"), ("c", "-->", "b"), ("a", "-->", "b")],
    )
    assert drawn(FOUND, TRUE).svg == drawn(again, TRUE).svg
