"""The plot of edge strengths: bars as long as edges are strong, and the threshold."""

from __future__ import annotations

import numpy as np
import pytest

import gml
from gml.errors import GraphError, UsageError
from gml.graph.graph import Graph
from gml.graph.provenance import Provenance
from gml.pictures.plots.strengths import edge_strengths
from gml.pictures.themes import DARK, LIGHT, PRINT
from tests.drawn_text import boxes, collisions, elements, texts, told

EDGES = [
    ("a", "-->", "b", {"strength": 0.5, "direction": 0.75, "undirected": 0.5}),
    ("b", "---", "<c>", {"strength": 1.0, "direction": 0.25, "undirected": 0.0}),
]


def small(**learning):
    return Graph.from_edges(["a", "b", "<c>"], EDGES, learning=Provenance(learning))


def many(n, seed=0):
    names = [f"variable {k}" for k in range(n + 1)]
    strengths = np.random.default_rng(seed).beta(0.6, 0.6, size=n).round(3).tolist()
    edges = [
        (names[k], "-->", names[k + 1], {"strength": strength})
        for k, strength in enumerate(strengths)
    ]
    return Graph.from_edges(names, edges)


def bars(svg):
    """By edge, where its parts begin and end, and whether they are full, half as high or hollow."""
    found = {}
    for group in elements(svg, "g"):
        if group[0].tag.endswith("title"):
            parts = []
            for rect in group[1:]:
                x, width = float(rect.get("x")), float(rect.get("width"))
                hollow = rect.get("stroke") is not None
                kind = "hollow" if hollow else {"12": "full", "6": "half"}[rect.get("height")]
                edge = 0.75 * hollow
                parts.append((kind, round(x - edge, 1), round(x + width + edge, 1)))
            found[group[0].text] = parts
    return found


@pytest.mark.parametrize("theme", [LIGHT, DARK, PRINT], ids=lambda theme: theme.name)
def test_bars_have_the_parts_of_the_directions(theme):
    svg = edge_strengths(small(), theme=theme).svg
    zero = next(box for box in boxes(svg) if box.text == "0.0")
    left = (zero.left + zero.right) / 2
    # 360 pixels are a strength of 1.
    expected = {
        "<c> — b: strength 1, 0.75 from the first to the second, 0.25 from the second to the first": [
            ("full", left, left + 270),
            ("hollow", left + 270, left + 360),
        ],
        "a → b: strength 0.5, 0.25 from the first to the second, 0.25 without a direction": [
            ("full", left, left + 90),
            ("half", left + 90, left + 180),
        ],
    }
    found = bars(svg)
    assert list(found) == list(expected)
    for name, parts in expected.items():
        assert [part[0] for part in found[name]] == [part[0] for part in parts]
        for part, wanted in zip(found[name], parts, strict=True):
            assert part[1:] == pytest.approx(wanted[1:], abs=0.11)


def test_the_threshold_is_the_one_recorded_unless_given():
    assert "threshold 0.7" in texts(edge_strengths(small(threshold=0.7)).svg)
    assert "threshold 0.9" in texts(edge_strengths(small(threshold=0.7), threshold=0.9).svg)
    assert not [text for text in texts(edge_strengths(small()).svg) if "threshold" in text]
    assert not [text for text in texts(edge_strengths(small(threshold="x")).svg) if "thr" in text]
    with pytest.raises(UsageError, match="`threshold` must be above 0 and at most 1, not 7"):
        edge_strengths(small(), threshold=7)


def test_pairs_that_the_graph_leaves_out_are_not_said_to_miss_the_threshold():
    said = "1 of 2 edges reach the threshold of 0.7; other pairs, below 0.7, are not in the graph"
    assert said in texts(edge_strengths(small(threshold=0.7)).svg)
    said = "1 of 2 edges reach the threshold of 0.9; other pairs, below 0.7, are not in the graph"
    assert said in texts(edge_strengths(small(threshold=0.7), threshold=0.9).svg)
    assert "2 of 2 edges reach the threshold of 0.2" in texts(
        edge_strengths(small(), threshold=0.2).svg
    )
    with pytest.raises(UsageError, match="`threshold` must be at least 0.7, not 0.3: the graph"):
        edge_strengths(small(threshold=0.7), threshold=0.3)


def test_the_threshold_as_it_is_written_stands_for_the_recorded_one():
    graph = small(threshold=0.70004)
    assert "threshold 0.7" in texts(edge_strengths(graph, threshold=0.7).svg)


@pytest.mark.parametrize(
    ("strengths", "threshold", "written"),
    [
        ((0.9451, 0.9956, 0.9997, 1.0), 0.945, {"0.945", "0.996", ">0.999", "1"}),
        ((0.94499, 0.9997), 0.945, {"0.94499", "0.9997", "threshold 0.945"}),
        ((0.5, 0.99999999), 1.0, {"0.5", ">0.999999", "threshold 1"}),
        ((0.0004,), 0.5, {"<0.001"}),
    ],
)
def test_no_number_contradicts_the_threshold_or_seems_certain(strengths, threshold, written):
    edges = [
        (str(k), "-->", f"{k}b", {"strength": strength, "direction": 0.9999})
        for k, strength in enumerate(strengths)
    ]
    names = [name for edge in edges for name in (edge[0], edge[2])]
    picture = edge_strengths(Graph.from_edges(names, edges), threshold=threshold)
    assert {*written, ">0.999"} <= {*texts(picture.svg)}
    assert collisions(picture) == []


def test_an_averaged_graph_says_all_it_knows():
    graph = gml.average("sample_data/asia.csv", by="hc", bootstrap=20).graph
    picture = edge_strengths(graph)
    assert collisions(picture) == []
    threshold = graph.learning["threshold"]
    assert f"threshold {threshold:g}" in texts(picture.svg)
    strengths = [edge.attributes["strength"] for edge in graph.edges]
    assert f"{min(strengths):g}" in texts(picture.svg)


@pytest.mark.parametrize("n", [1, 8, 37, 100, 101, 400])
def test_names_do_not_touch(n):
    picture = edge_strengths(many(n), threshold=0.98)
    assert collisions(picture) == []
    names = [text for text in texts(picture.svg) if "→" in text]
    assert len(names) == (n if n <= 100 else 30)


def test_of_many_edges_those_near_the_threshold_are_named():
    graph = many(300)
    svg = edge_strengths(graph, threshold=0.5).svg
    strengths = {
        f"{edge.source} → {edge.target}": edge.attributes["strength"] for edge in graph.edges
    }
    named = [text for text in texts(svg) if "→" in text]
    farthest = max(abs(strengths[name] - 0.5) for name in named)
    assert all(abs(strengths[name] - 0.5) >= farthest for name in strengths if name not in named)
    assert [strengths[name] for name in named] == sorted(
        (strengths[name] for name in named), reverse=True
    )
    assert "the 30 edges nearest to the threshold" in texts(svg)
    (curve,) = [path for path in elements(svg, "path") if path.get("stroke") == LIGHT.added]
    assert curve.get("d").count("V") == 300


def test_the_order_of_the_nodes_does_not_show():
    graph = many(40)
    turned = Graph.from_edges(
        graph.names[::-1],
        [(edge.source, edge.type, edge.target, edge.attributes) for edge in graph.edges],
    )
    assert edge_strengths(turned).svg == edge_strengths(graph).svg


def test_the_order_of_the_nodes_does_not_show_in_undirected_edges():
    attributes = {"strength": 0.9, "direction": 0.25, "undirected": 0.5}
    turned = {**attributes, "direction": 0.75}
    one = Graph.from_edges("ab", [("a", "---", "b", attributes)])
    other = Graph.from_edges("ba", [("b", "---", "a", turned)])
    assert edge_strengths(one).svg == edge_strengths(other).svg


def test_the_description_has_all_strengths():
    _, description = told(edge_strengths(small()).svg)
    assert description == "<c> — b 1, a → b 0.5"


def test_a_graph_without_strengths_is_refused():
    with pytest.raises(GraphError, match="no edge of the graph has a strength"):
        edge_strengths(Graph.from_edges("ab", [("a", "-->", "b")]))
