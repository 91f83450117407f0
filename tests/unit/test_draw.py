"""gml.draw: what of a graph, a model or a table is handed to those who draw it."""

from __future__ import annotations

import math
import sys
import types
from dataclasses import replace

import numpy as np
import pytest

import gml
from gml.errors import CannotAnswer, DataError, GmlWarning, GraphError, UsageError
from gml.graph.graph import Graph
from gml.pictures.graph_picture import Bars, Bell
from gml.pictures.picture import Picture
from gml.pictures.themes import DARK, LIGHT
from gml.verbs.shared import drawn_graph
from gml.verbs.shared.drawn_graph import nodes_around, part_of
from tests.conftest import ROOT
from tests.networks import asia, given, joint_of, marginal, random_evidence, random_net

ASIA = ROOT / "sample_data" / "asia.csv"
GRAPH = ROOT / "sample_data" / "asia.dot"

CHAIN = Graph.from_edges(
    "abcde",
    [
        ("a", "-->", "b", {"strength": 0.9, "mi": 0.1}),
        ("c", "-->", "b", {"strength": 0.6, "mi": 0.2}),
        ("c", "---", "d", {"strength": 0.5, "mi": 0.3}),
    ],
)


@pytest.fixture
def scenes(monkeypatch):
    """What was to be drawn, with its theme and layout; the picture is an empty one."""
    seen = []

    def draw_graph(scene, theme, *, layout):
        seen.append((scene, theme, layout))
        return Picture("<svg/>", 10, 10, scene.title)

    monkeypatch.setattr(drawn_graph, "draw_graph", draw_graph)
    return seen


@pytest.fixture(scope="module")
def fitted():
    return gml.fit(ASIA, GRAPH, method="bayes")


@pytest.fixture(scope="module")
def line():
    """A model of numbers: b = 2a + error, c = -b + error."""
    rng = np.random.default_rng(1)
    a = rng.normal(size=500)
    b = 2 * a + rng.normal(size=500)
    c = -b + rng.normal(size=500)
    variables = tuple(gml.Variable(name, None) for name in "abc")
    data = gml.Dataset(variables, (a, b, c))
    return gml.fit(data, Graph.from_edges("abc", [("a", "-->", "b"), ("b", "-->", "c")])), data


# ---------------------------------------------------------------------- nodes


def test_a_graph_has_no_distributions(scenes):
    picture = gml.draw(CHAIN)
    scene, theme, _ = scenes[0]
    assert scene.graph == CHAIN
    assert (scene.distributions, scene.against, scene.tiers, scene.caption) == ({}, None, [], "")
    assert theme is LIGHT
    assert picture.graph is CHAIN


def test_a_model_shows_the_marginals_of_all_nodes(scenes, fitted):
    gml.draw(fitted)
    shown = scenes[0][0].distributions
    answer = fitted.query()
    assert list(shown) == list(fitted.names)
    for name, bars in shown.items():
        assert bars == Bars(("no", "yes"), tuple(answer[name].table.tolist()))


def test_posteriors_of_random_networks_against_the_joint_table(scenes):
    rng = np.random.default_rng(7)
    for _ in range(10):
        random = random_net(rng, 5)
        evidence = random_evidence(rng, random, 2)
        gml.draw(random, evidence=evidence)
        shown = scenes[-1][0].distributions
        joint = joint_of(random)
        posterior = given(random, joint, evidence)
        posterior /= posterior.sum()
        for k, name in enumerate(random.names):
            bars = shown[name]
            assert np.allclose(bars.shares, marginal(posterior, [k]), atol=1e-12)
            prior = bars.prior if evidence else bars.shares
            assert np.allclose(prior, marginal(joint, [k]), atol=1e-12)
            observed = None if bars.observed is None else bars.levels[bars.observed]
            assert observed == evidence.get(name)


def test_numbers_show_mean_and_spread(scenes, line):
    model, _ = line
    gml.draw(model)
    answer = model.query()
    assert scenes[0][0].distributions == {name: Bell(*answer[name]) for name in "abc"}
    gml.draw(model, evidence={"b": 3})
    shown = scenes[1][0].distributions
    before = {name: tuple(answer[name]) for name in "ab"}
    assert shown["b"] == Bell(3.0, 0.0, prior=before["b"], observed=True)
    assert shown["a"] == Bell(*model.query("a", {"b": 3})["a"], prior=before["a"])


def test_no_bars(scenes, fitted):
    gml.draw(fitted, bars=False)
    assert scenes[0][0].distributions == {}
    gml.draw(fitted, bars=False, evidence={"xray": "yes"})
    assert scenes[1][0].distributions["xray"].observed == 1


def test_what_costs_too_much_is_left_out_with_one_warning(scenes, fitted):
    with pytest.warns(GmlWarning, match="the nodes show no distributions: ") as said:
        gml.draw(fitted, max_memory=1)
    assert len(said) == 1
    assert scenes[0][0].distributions == {}
    with pytest.raises(CannotAnswer):
        gml.draw(fitted, evidence={"xray": "yes"}, max_memory=1)


def test_evidence_that_cannot_be_is_an_error():
    with pytest.raises(CannotAnswer, match="probability 0"):
        gml.draw(asia(), evidence={"either": "no", "lung": "yes"})


def test_evidence_needs_a_model_and_its_nodes(fitted):
    with pytest.raises(UsageError, match="`evidence` needs a model, and this is a graph without"):
        gml.draw(GRAPH, evidence={"xray": "yes"})
    with pytest.raises(UsageError, match="node 'xra' not found; did you mean 'xray'"):
        gml.draw(fitted, evidence={"xra": "yes"})


# ---------------------------------------------------------------------- parts of a graph


def test_nodes_around_by_breadth():
    assert nodes_around([CHAIN], ["a"], 0) == {"a"}
    assert nodes_around([CHAIN], ["a"], 1) == {"a", "b"}
    assert nodes_around([CHAIN], ["a"], 2) == {"a", "b", "c"}
    assert nodes_around([CHAIN], ["a", "e"], 1) == {"a", "b", "e"}
    assert nodes_around([CHAIN], ["a"], 10**9) == {"a", "b", "c", "d"}


def test_the_edges_of_a_part_keep_marks_and_attributes():
    part = part_of(CHAIN, {"d", "b", "c"})
    assert part.names == ("b", "c", "d")
    assert [(edge.source, edge.type, edge.target) for edge in part.edges] == [
        ("c", "-->", "b"),
        ("c", "---", "d"),
    ]
    assert [edge.attributes["strength"] for edge in part.edges] == [0.6, 0.5]
    assert part.kind == CHAIN.kind


def test_around(scenes, fitted):
    picture = gml.draw(fitted, around="lung", radius=1)
    scene = scenes[0][0]
    assert scene.graph.names == ("smoke", "lung", "either")
    assert list(scene.distributions) == ["smoke", "lung", "either"]
    assert scene.distributions["either"].shares == tuple(fitted.query("either")["either"].table)
    assert scene.caption == "5 of 8 nodes, more than 1 edge from 'lung', left out"
    assert picture.title.endswith(f"; {scene.caption}")
    gml.draw(fitted, around=["asia", "smoke"])
    assert set(scenes[1][0].graph.names) == {
        *("asia", "tub", "either"),
        *("smoke", "lung", "bronc", "dysp"),
    }


def test_around_with_evidence_beyond_it(scenes, fitted):
    gml.draw(fitted, around="smoke", radius=1, evidence={"xray": "yes"})
    shown = scenes[0][0].distributions
    assert list(shown) == ["smoke", "lung", "bronc"]
    assert shown["lung"].shares == tuple(fitted.query("lung", {"xray": "yes"})["lung"].table)
    gml.draw(fitted, around="xray", radius=0, evidence={"xray": "yes"})
    assert scenes[1][0].distributions["xray"].observed == 1


def test_around_follows_the_edges_of_both_graphs(scenes):
    other = Graph.from_edges("abcde", [("a", "-->", "e")])
    gml.draw(CHAIN, against=other, around="a", radius=1)
    scene = scenes[0][0]
    assert scene.graph.names == ("a", "b", "e")
    assert scene.against.names == ("a", "b", "e")
    assert [(e.source, e.target) for e in scene.against.edges] == [("a", "e")]


def test_around_what_is_not_there():
    with pytest.raises(UsageError, match="`around`: node 'luung' not found; did you mean 'lung'"):
        gml.draw(GRAPH, around="luung")
    with pytest.raises(UsageError, match="`radius` belongs to `around`"):
        gml.draw(GRAPH, radius=3)
    with pytest.raises(UsageError, match="`radius` must be"):
        gml.draw(GRAPH, around="lung", radius=-1)


def test_tiers_of_keywords_and_of_knowledge(scenes):
    gml.draw(CHAIN, tiers=["a", ["b", "c"]])
    assert scenes[0][0].tiers == [["a"], ["b", "c"]]
    gml.draw(CHAIN, knowledge=gml.Knowledge(tiers=(("a", "e"), ("b",))), around="a", radius=1)
    assert scenes[1][0].tiers == [["a"], ["b"]]
    with pytest.raises(UsageError, match="'z' not found"):
        gml.draw(CHAIN, tiers=["z"])


def test_a_part_is_compared_as_in_the_whole_graph():
    dag = Graph.from_edges("abc", [("a", "-->", "b"), ("c", "-->", "b")])
    cpdag = replace(dag, kind="cpdag")
    svg = gml.draw(dag, against=cpdag, around="a", radius=1).svg
    # Without c, the arrow of a DAG would stand for a line.
    assert 'data-difference="in both"' in svg
    assert 'data-difference="other mark"' not in svg


def test_a_pag_against_another_graph(tmp_path):
    pag = Graph.from_edges("ab", [("a", "o->", "b")])
    gml.write_graph(pag, tmp_path / "pag.json")
    with pytest.raises(GraphError, match=r"pag.json and the reference: a PAG can be compared with"):
        gml.draw(tmp_path / "pag.json", against=Graph.from_edges("ab", [("a", "-->", "b")]))


def test_against_keeps_the_reference_as_it_is(scenes, fitted):
    gml.draw(fitted, against=GRAPH, bars=False)
    assert scenes[0][0].against == gml.read_graph(GRAPH)
    assert scenes[0][0].title == "a dag, 8 nodes, 8 edges; against asia.dot"
    assert scenes[0][0].against_name == "asia.dot"
    gml.draw(CHAIN, against=CHAIN)
    assert scenes[1][0].against_name == "the reference"


def test_themes_and_layouts(scenes, monkeypatch):
    placed = types.ModuleType("gml.pictures.layout.graphviz")
    placed.dot_layout = object()
    monkeypatch.setitem(sys.modules, placed.__name__, placed)
    assert gml.draw(CHAIN, theme="dark", layout="dot").background == DARK.background
    assert scenes[0][1:] == (DARK, placed.dot_layout)
    with pytest.raises(UsageError, match="`theme`: theme 'drak' not found; did you mean 'dark'"):
        gml.draw(CHAIN, theme="drak")
    with pytest.raises(UsageError, match="`layout` must be"):
        gml.draw(CHAIN, layout="neato")


# ---------------------------------------------------------------------- weights of edges


def test_the_weight_that_the_edges_have(scenes):
    gml.draw(CHAIN)
    gml.draw(CHAIN, weight="mi")
    gml.draw(CHAIN, weight="none")
    gml.draw(Graph.from_edges("ab", [("a", "-->", "b")]))
    assert [scene.weight for scene, _, _ in scenes] == ["strength", "mi", None, None]


def test_a_weight_that_the_edges_lack():
    with pytest.raises(
        UsageError, match="numeric attribute 'strenght' not found; did you mean 'strength'"
    ):
        gml.draw(CHAIN, weight="strenght")
    with pytest.raises(UsageError, match="numeric attribute 'mi' not found.*; `data` gives it"):
        gml.draw(GRAPH, weight="mi")


def test_a_weight_that_is_no_number():
    graph = Graph.from_edges("abc", [("a", "-->", "b", {"note": "x", "sure": True, "w": 2})])
    for name in ("note", "sure"):
        with pytest.raises(UsageError, match=f"numeric attribute '{name}' not found.* 'w'"):
            gml.draw(graph, weight=name)
    gml.draw(graph, weight="w")


def test_coefficients_of_a_model_of_numbers(scenes, line):
    model, _ = line
    gml.draw(model)
    scene = scenes[0][0]
    assert scene.weight == "coefficient"
    found = {(e.source, e.target): e.attributes["coefficient"] for e in scene.graph.edges}
    assert found == {
        ("a", "b"): model.cpd("b").coefficients[0],
        ("b", "c"): model.cpd("c").coefficients[0],
    }


def test_information_of_a_model_is_that_of_its_joint_table(scenes):
    random = random_net(np.random.default_rng(3), 4, p=0.9)
    gml.draw(random, weight="mi")
    joint = joint_of(random)
    edges = list(scenes[0][0].graph.edges)
    assert len(edges) > 3
    for edge in edges:
        p = marginal(joint, scenes[0][0].graph.pair(edge))
        q = np.outer(p.sum(axis=1), p.sum(axis=0))
        assert edge.attributes["mi"] == pytest.approx(float((p * np.log(p / q)).sum()), abs=1e-12)


def test_information_of_a_model_of_numbers(scenes, line):
    model, _ = line
    gml.draw(model, weight="mi")
    edge = scenes[0][0].graph.edges[0]
    slope, sd = model.cpd("b").coefficients[0], model.cpd("b").sd
    explained = slope**2 * model.cpd("a").sd ** 2
    assert edge.attributes["mi"] == pytest.approx(0.5 * math.log(1 + explained / sd**2))


def test_information_from_data_is_that_of_the_tests(scenes, line):
    gml.draw(GRAPH, weight="mi", data=ASIA)
    graph = scenes[0][0].graph
    for edge in graph.edges:
        test = gml.indtest(ASIA, edge.source, edge.target)
        assert edge.attributes["mi"] == pytest.approx(test[0]["mi"], rel=1e-12)
    model, data = line
    gml.draw(model, weight="mi", data=data)
    for edge in scenes[1][0].graph.edges:
        test = gml.indtest(data, edge.source, edge.target, test="fisher-z")
        assert edge.attributes["mi"] == pytest.approx(test[0]["mi"], rel=1e-9)


def test_infinite_information_is_the_most_there_is(scenes):
    column = np.array([0.0, 1.0, 3.0])
    variables = tuple(gml.Variable(name, None) for name in "ab")
    data = gml.Dataset(variables, (column, 2 * column))
    gml.draw(Graph.from_edges("ab", [("a", "-->", "b")]), weight="mi", data=data)
    assert [edge.attributes for edge in scenes[0][0].graph.edges] == [{"mi": math.inf}]


def test_information_of_columns_without_a_common_row_is_not_known(scenes):
    import pandas as pd

    frame = pd.DataFrame({"a": ["x", "y", None, None], "b": [None, None, "u", "v"]})
    graph = Graph.from_edges("ab", [("a", "-->", "b")])
    gml.draw(graph, weight="mi", data=frame, missing="available")
    assert [edge.attributes for edge in scenes[0][0].graph.edges] == [{}]


def test_data_that_nothing_needs():
    with pytest.raises(UsageError, match="`data` is for `weight='mi'`, not for none"):
        gml.draw(GRAPH, data=ASIA, weight="none")
    with pytest.raises(UsageError, match="`bins` is about reading a table, and none is read here"):
        gml.draw(GRAPH, bins=3)


# ---------------------------------------------------------------------- sources


def test_a_learners_result_and_a_file_of_each_kind(scenes, fitted, tmp_path):
    gml.draw(gml.chow_liu(ASIA))
    assert scenes[0][0].weight == "mi"
    fitted.to_file(tmp_path / "m.bif")
    gml.draw(tmp_path / "m.bif")
    assert scenes[1][0].title == "m.bif: a dag, 8 nodes, 8 edges"
    assert len(scenes[1][0].distributions) == 8


def test_a_table_in_place_of_a_graph():
    with pytest.raises(GraphError, match="is a table, where a graph or model is wanted; learn"):
        gml.draw(ASIA)


def test_more_than_one_graph():
    with pytest.raises(UsageError, match="one graph is drawn, not 2; compare two by `against`"):
        gml.draw(GRAPH, GRAPH)


def test_misspelt_keywords():
    with pytest.raises(UsageError, match="parameter 'arround' not found; did you mean 'around'"):
        gml.draw(GRAPH, arround="lung")
    with pytest.raises(UsageError, match="`kind` must be"):
        gml.draw(GRAPH, kind="pie")


@pytest.mark.parametrize(
    ("kind", "keywords", "said"),
    [
        ("matrix", {"evidence": {"a": "x"}}, "`evidence` is for `kind='graph'`, not for matrix"),
        ("trace", {"data": ASIA}, "`data` is for `kind='graph'` and `kind='matrix'`, not for"),
        ("graph", {"node": "a"}, "`node` is for `kind='cpt'` and `kind='classes'`, not for graph"),
        ("cpt", {"threshold": 0.5}, "`threshold` is for `kind='strengths'`, not for cpt"),
        ("graph", {"folds": 3}, "`folds` is for `kind='losses'`, not for graph"),
        ("losses", {"bars": False}, "`bars` is for `kind='graph'`, not for losses"),
    ],
)
def test_what_is_pointless_for_a_kind(kind, keywords, said):
    with pytest.raises(UsageError, match="^" + said.replace("(", "\\(")):
        gml.draw(GRAPH, kind=kind, **keywords)


# ---------------------------------------------------------------------- many nodes


def test_many_nodes_are_drawn_with_a_hint(scenes, capsys):
    from gml.progress import StderrReporter, reporting_to

    names = [f"n{k}" for k in range(201)]
    with reporting_to(StderrReporter()):
        gml.draw(Graph.from_edges(names, []))
        gml.draw(Graph.from_edges(names[:200], []))
        gml.draw(Graph.from_edges(names, []), around="n7")
    assert [len(scene.graph.names) for scene, _, _ in scenes] == [201, 200, 1]
    assert capsys.readouterr().err.splitlines() == [
        "gml: 201 nodes are hard to read; --around NAME --radius 2 draws those near one, --kind "
        "matrix a heat map",
        "gml: 200 of 201 nodes, more than 2 edges from 'n7', left out",
    ]


# ---------------------------------------------------------------------- plots


@pytest.fixture
def plots(monkeypatch):
    """What each plot is asked for: modules in place of those that draw them."""
    asked = []

    def stand_in(name, *functions, **others):
        module = types.ModuleType(name)
        for function in functions:

            def draw(*args, of=function, **keywords):
                asked.append((of, args, keywords))
                return Picture("<svg/>", 10, 10, of)

            setattr(module, function, draw)
        for key, value in others.items():
            setattr(module, key, value)
        monkeypatch.setitem(sys.modules, name, module)

    base = "gml.pictures.plots"
    stand_in(f"{base}.matrix", "heat_map", strength_matrix=lambda graph: graph.names)
    stand_in(f"{base}.strengths", "edge_strengths")
    stand_in(f"{base}.cpt", "cpt_intervals")
    stand_in(f"{base}.losses", "held_out_losses", loss_rows=list)
    stand_in(f"{base}.trace", "score_trace")
    return asked


def test_a_matrix_of_a_table(plots):
    picture = gml.draw(ASIA, kind="matrix", columns=["smoke", "lung"], theme="dark")
    _, (names, values), keywords = plots[0]
    assert list(names) == ["smoke", "lung"]
    mi = gml.indtest(ASIA, "smoke", "lung")[0]["mi"]
    assert values.tolist() == [[0.0, pytest.approx(mi)], [pytest.approx(mi), 0.0]]
    assert keywords == {"quantity": "mutual information", "unit": "nats", "theme": DARK}
    assert picture.background == DARK.background


def test_a_matrix_of_a_frame(plots):
    import pandas as pd

    gml.draw(pd.DataFrame({"a": ["x", "y", "x"], "b": ["u", "v", "u"]}), kind="matrix")
    _, (names, values), _ = plots[0]
    assert list(names) == ["a", "b"]
    assert values[0, 1] == pytest.approx(math.log(3) - 2 / 3 * math.log(2))


def test_a_matrix_of_strengths(plots, tmp_path):
    gml.write_graph(CHAIN, tmp_path / "g.json")
    gml.draw(tmp_path / "g.json", kind="matrix")
    assert plots[0][1:] == (
        (CHAIN.names, CHAIN.names),
        {"quantity": "strength", "theme": LIGHT, "shares": True},
    )
    with pytest.raises(GraphError, match="no edge has a strength, as gml average gives it"):
        gml.draw(GRAPH, kind="matrix")


def test_a_matrix_of_the_nodes_of_a_graph(plots, tmp_path):
    part = Graph.from_edges(["lung", "smoke"], [])
    with pytest.warns(GmlWarning, match="not in the graph, ignored"):
        gml.draw(part, kind="matrix", data=ASIA)
    assert list(plots[0][1][0]) == ["lung", "smoke"]


def test_strengths(plots):
    gml.draw(CHAIN, kind="strengths", threshold=0.55)
    assert plots[0] == ("edge_strengths", (CHAIN,), {"threshold": 0.55, "theme": LIGHT})


def test_the_table_of_a_node(plots, fitted, line):
    gml.draw(fitted, kind="cpt", node="lung")
    assert plots[0] == ("cpt_intervals", (fitted.cpd("lung"), LIGHT), {"level": None})
    gml.draw(gml.fit(ASIA, GRAPH, intervals=0.9), kind="cpt", node="lung")
    assert plots.pop(1)[2] == {"level": 0.9}
    gml.draw(line[0], kind="cpt", node="b")
    assert plots[1][1][0] == line[0].cpd("b")
    with pytest.raises(UsageError, match="`kind='cpt'` needs `node`"):
        gml.draw(fitted, kind="cpt")
    with pytest.raises(UsageError, match="`node`: node 'lugn' not found; did you mean 'lung'"):
        gml.draw(fitted, kind="cpt", node="lugn")
    with pytest.raises(UsageError, match="`kind='cpt'` needs a model, and this is a graph"):
        gml.draw(GRAPH, kind="cpt", node="lung")


def test_losses_of_graphs(plots):
    tree = gml.chow_liu(ASIA).graph
    gml.draw(ASIA, GRAPH, tree, kind="losses", folds=3, seed=5, exclude=[])
    found = gml.score(ASIA, [GRAPH, tree], folds=3, seed=5)
    of, (rows,), keywords = plots[0]
    assert (of, keywords) == ("held_out_losses", {"theme": LIGHT})
    assert [row.heldout for row in rows] == [one.heldout for one in found]
    assert [row.graph for row in rows] == ["asia.dot", "graph 2"]


def test_losses_of_files_of_one_name_keep_their_folders(plots, tmp_path):
    for folder in "ab":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "g.dot").write_bytes(GRAPH.read_bytes())
    graphs = [tmp_path / "a" / "g.dot", tmp_path / "b" / "g.dot"]
    gml.draw(ASIA, *graphs, kind="losses", folds=3)
    assert [row.graph for row in plots[0][1][0]] == [str(graph) for graph in graphs]


def test_losses_need_graphs():
    with pytest.raises(UsageError, match="needs a table and at least one graph"):
        gml.draw(ASIA, kind="losses")


def test_a_trace_needs_a_path():
    with pytest.raises(UsageError, match="needs the path of a trace"):
        gml.draw(CHAIN, kind="trace")
    with pytest.raises(DataError):
        gml.draw(ROOT / "nowhere.csv", kind="trace")
