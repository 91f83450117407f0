"""Pictures in box characters: every edge can be followed, and nothing else is there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gml.graph.edges import EDGE_TYPES
from gml.graph.graph import Graph
from gml.pictures.text import draw_text
from gml.printable_text import cell_width
from tests.graphs import as_graph, random_dag
from tests.text_pictures import edges_of_boxes, edges_of_tree, in_order, sorted_edges

SEEDS = st.integers(0, 2**32 - 1)


def random_graph(seed, n, p, types=tuple(EDGE_TYPES)):
    """A graph with edges of the given types, the arrows acyclic."""
    rng = np.random.default_rng(seed)
    names = [f"v{i:02d}" for i in range(n)]
    edges = [
        (names[i], str(rng.choice(types)), names[j])
        for i, j in np.argwhere(random_dag(rng, n, p)).tolist()
    ]
    return Graph.from_edges(names, edges)


def with_collider(graph):
    """The graph with a collider beside it, so that it is drawn with boxes."""
    edges = [*sorted_edges(graph), ("x", "-->", "z"), ("y", "-->", "z")]
    return Graph.from_edges([*graph.names, "x", "y", "z"], edges)


@given(SEEDS, st.integers(1, 12), st.floats(0, 1))
def test_every_edge_of_a_dag_is_found_by_following_the_lines(seed, n, p):
    graph = with_collider(as_graph(random_dag(np.random.default_rng(seed), n, p)))
    drawn = draw_text(graph)
    assert in_order(edges_of_boxes(drawn, graph.names)) == sorted_edges(graph)
    assert drawn.count("▼") == graph.n_edges


@given(SEEDS, st.integers(2, 9), st.floats(0, 1))
def test_every_edge_of_a_mixed_graph_is_found_with_its_marks(seed, n, p):
    graph = with_collider(random_graph(seed, n, p))
    drawn = draw_text(graph)
    assert in_order(edges_of_boxes(drawn, graph.names)) == sorted_edges(graph)


@given(SEEDS, st.integers(2, 12))
def test_a_picture_does_not_depend_on_the_order_of_nodes(seed, n):
    graph = random_graph(seed, n, 0.3)
    shuffled = np.random.default_rng(seed).permutation(graph.names).tolist()
    assert draw_text(Graph.from_edges(shuffled, sorted_edges(graph))) == draw_text(graph)


@given(SEEDS, st.integers(1, 40))
def test_a_forest_is_a_tree(seed, n):
    rng = np.random.default_rng(seed)
    names = [f"v{i:02d}" for i in range(n)]
    edges = [
        (names[rng.integers(k)], str(rng.choice(["-->", "---"])), names[k])
        for k in range(1, n)
        if rng.random() < 0.8
    ]
    graph = Graph.from_edges(names, edges)
    assert in_order(edges_of_tree(draw_text(graph), names)) == sorted_edges(graph)
    assert len(draw_text(graph).splitlines()) == n


@given(SEEDS, st.integers(21, 60))
def test_beyond_twenty_nodes_edges_outside_the_tree_are_named(seed, n):
    graph = random_graph(seed, n, 0.1)
    drawn = draw_text(graph)
    assert in_order(edges_of_tree(drawn, graph.names)) == sorted_edges(graph)
    assert len(drawn.splitlines()) == n


def test_the_root_of_a_tree_is_where_arrows_start_or_in_the_middle():
    undirected = Graph.from_edges(
        "abcde", [(a, "---", b) for a, b in zip("abcd", "bcde", strict=True)]
    )
    assert draw_text(undirected).splitlines() == [
        "c",
        "├─── b",
        "│    └─── a",
        "└─── d",
        "     └─── e",
    ]
    directed = Graph.from_edges("abc", [("b", "-->", "a"), ("b", "-->", "c")])
    assert draw_text(directed).splitlines() == ["b", "├──▶ a", "└──▶ c"]


def test_boxes_of_asia(sample_data):
    from gml.formats.graphs import read_graph

    assert (
        draw_text(read_graph(sample_data / "asia.dot"))
        == """\
┌──────┐       ┌───────┐
│ asia │       │ smoke │
└───┬──┘       └───┬───┘
    │         ┌────┴────┐
    ▼         ▼         ▼
 ┌─────┐  ┌──────┐  ┌───────┐
 │ tub │  │ lung │  │ bronc │
 └──┬──┘  └───┬──┘  └───┬───┘
    └─────┐   │    ┌────┘
          ▼   ▼    │
       ┌────────┐  │
       │ either │  │
       └────┬───┘  │
        ┌───┴───┐  │
        ▼       ▼  ▼
    ┌──────┐  ┌──────┐
    │ xray │  │ dysp │
    └──────┘  └──────┘
"""
    )


def test_lines_that_fork_into_three_do_not_look_like_a_crossing():
    edges = [("a", "-->", c) for c in "bcd"] + [(c, "-->", "e") for c in "bcd"]
    drawn = draw_text(Graph.from_edges("abcde", edges))
    assert "┼" not in drawn
    assert in_order(edges_of_boxes(drawn, "abcde")) == in_order(edges)


def test_circles_and_double_heads():
    edges = [("a", "o->", "c"), ("b", "<->", "c"), ("c", "o-o", "d")]
    drawn = draw_text(Graph.from_edges("abcd", edges))
    assert (
        drawn
        == """\
    ┌───┐
    │ a │
    └───┘
      ○
      ▼
    ┌───┐
    │ c │
    └───┘
     ▲ ○
  ┌──┘ └──┐
  ▼       ○
┌───┐   ┌───┐
│ b │   │ d │
└───┘   └───┘
"""
    )


@pytest.mark.parametrize(
    "name", ["年齢", "e\u0301te\u0301", "\x1b[31mred", "a\nb", "\u202eabc", ""]
)
def test_boxes_fit_any_name(name):
    graph = Graph.from_edges(["a", "b", name], [("a", "-->", name), ("b", "-->", name)])
    drawn = draw_text(graph)
    assert drawn.replace("\n", "").isprintable()
    *_, top, middle, bottom = drawn.splitlines()
    assert cell_width(top) == cell_width(middle) == cell_width(bottom)
    assert middle.endswith(" │")


def test_long_names_are_shortened_to_fit_while_they_differ():
    names = ["temperature outside", "temperature inside", "heating"]
    graph = Graph.from_edges(names, [(names[0], "-->", "heating"), (names[1], "-->", "heating")])
    assert {len(line) for line in draw_text(graph).splitlines()[:3]} == {47}
    narrow = draw_text(graph, width=45)
    assert {len(line) for line in narrow.splitlines()[:3]} == {45}
    assert "│ temperature outs… │" in narrow
    assert "│ temperature o… │" in draw_text(graph, width=10)
    assert "| temperature o. |" in draw_text(graph, width=10, encoding="ascii")


def test_without_box_characters_ascii_takes_their_place():
    graph = Graph.from_edges(["é", "b", "c"], [("é", "-->", "c"), ("b", "o->", "c")])
    assert (
        draw_text(graph, encoding="ascii")
        == r"""
+---+  +------+
| b |  | \xe9 |
+---+  +---+--+
  o        |
  +--+ +---+
     v v
    +---+
    | c |
    +---+
""".lstrip("\n")
    )
    assert draw_text(graph, encoding="no such encoding") == draw_text(graph, encoding="ascii")
    assert "| é |" in draw_text(graph, encoding="latin-1")
    assert draw_text(graph, encoding="utf-16") == draw_text(graph)


def test_a_graph_without_nodes_says_so():
    assert draw_text(Graph.from_edges([], [])) == "no nodes\n"


def test_other_edges_go_on_in_lines_of_their_own():
    """Names are not cut where a longer list of edges only needs another line."""
    names = [f"a_rather_long_name_{k:02d}" for k in range(24)]
    edges = [(name, "-->", names[-1]) for name in names[:-1]]
    graph = Graph.from_edges(names, edges)
    lines = draw_text(graph, width=80).splitlines()
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    assert all(name in text for name in names)
    assert "…" not in text
    whole = draw_text(graph)
    assert text.split() == [word for word in whole.split() if word != "│"]
