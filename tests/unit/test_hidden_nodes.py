"""Nodes that nobody saw: in files, in pictures, and what formats cannot hold of them."""

from __future__ import annotations

import json

import numpy as np
import pytest

import gml
from gml.data.dataset import Variable
from gml.errors import GmlWarning
from gml.formats.models import MODEL_WRITERS, parse_model
from gml.graph.chordal import moral_graph
from gml.graph.graph import Graph
from gml.model.bayesnet import CPT, BayesNet
from tests.pictures import SVG, elements, legend_of, nodes_of, title_of

KIND, ITEM = Variable("kind", ("1", "2")), Variable("item", ("no", "yes"))
TABLE = np.array([[0.9, 0.1], [0.25, 0.75]])
NET = BayesNet(
    (
        CPT(KIND, (), np.array([[0.6, 0.4]]), None, None, np.array([[6.0, 4.0]]), hidden=True),
        CPT(ITEM, (KIND,), TABLE, None, None, np.array([[5.4, 0.6], [1.0, 3.0]])),
    )
)


def test_a_node_of_a_model_file_says_that_it_is_hidden():
    hidden, item = json.loads(MODEL_WRITERS["json"](NET))["nodes"]
    assert hidden == {
        "id": "kind",
        "levels": ["1", "2"],
        "parents": [],
        "cpt": [[0.6, 0.4]],
        "hidden": True,
        "expected_counts": [[6.0, 4.0]],
    }
    assert "hidden" not in item
    assert item["expected_counts"] == [[5.4, 0.6], [1.0, 3.0]]


def test_a_model_is_read_as_it_was_written():
    found = parse_model(MODEL_WRITERS["json"](NET), "t")
    assert found.hidden == found.graph.hidden == ("kind",)
    np.testing.assert_array_equal(found.cpt("item").expected_counts, [[5.4, 0.6], [1.0, 3.0]])
    assert found.cpt("item").counts is None


@pytest.mark.parametrize("bad", ["-1.0", "null", '"x"'])
def test_expected_counts_that_are_none_are_refused(bad):
    text = MODEL_WRITERS["json"](NET).replace("[5.4, 0.6]", f"[{bad}, 0.6]")
    with (
        pytest.warns(GmlWarning, match="changed since it was written"),
        pytest.raises(gml.GraphError, match="expected counts of 'item'"),
    ):
        parse_model(text, "t")


@pytest.mark.parametrize("form", ["dot", "graphml", "json"])
def test_graph_files_keep_what_is_hidden(form, tmp_path):
    graph = Graph.from_edges("AB", [("A", "-->", "B")], hidden="A")
    (tmp_path / "graph").write_text(gml.convert(graph, format=form).text)
    assert gml.read_graph(tmp_path / "graph") == graph


def test_graphviz_draws_a_hidden_node_with_dashes():
    graph = Graph.from_edges("AB", [], hidden="A")
    first, second = gml.convert(graph, format="dot").text.splitlines()[2:4]
    assert (first, second) == ('  "A" [hidden="true", style=dashed];', '  "B";')


@pytest.mark.parametrize("form", ["bif", "xmlbif", "net", "uai"])
def test_formats_of_tables_do_not_hold_it_and_say_so(form):
    with pytest.warns(GmlWarning, match="which nodes are hidden and the counts; JSON does"):
        text = gml.convert(NET, format=form).text
    assert parse_model(text, "t").hidden == ()


def test_dot_does_not_hold_the_tables_but_what_is_hidden():
    with pytest.warns(GmlWarning, match="DOT does not hold the tables and the counts; JSON does"):
        gml.convert(NET, format="dot")


def test_the_moral_graph_has_the_same_hidden_nodes():
    assert moral_graph(NET.graph).hidden == ("kind",)


def test_a_picture_shows_a_hidden_node_with_dashes_and_says_so():
    picture = gml.draw(NET)
    nodes = nodes_of(picture)
    assert nodes["kind"].find(f"{SVG}rect").get("stroke-dasharray") is not None
    assert nodes["item"].find(f"{SVG}rect").get("stroke-dasharray") is None
    assert title_of(nodes["kind"]).startswith("kind, hidden")
    assert "hidden: never seen" in legend_of(picture)
    assert elements(picture).find(f"{SVG}desc").text.endswith(" Hidden: kind.")


def test_a_configuration_counts_as_seen_if_rows_are_expected_in_it():
    expected = np.array([[2.0, 1.0], [1e-9, 1e-12]])
    counts = np.array([[0, 0], [0, 0]])
    assert CPT(ITEM, (KIND,), TABLE, counts, None, expected).seen.tolist() == [True, False]
