"""Graph files: identity of write and read, nasty names, foreign files."""

from __future__ import annotations

import io
import itertools
import json
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gml
from gml.errors import GraphError, UsageError
from gml.formats.dot import dump_dot, load_dot
from gml.formats.graphml import dump_graphml, load_graphml
from gml.formats.graphs import parse_graph, read_graph, write_graph
from gml.formats.json_graph import dump_json
from gml.formats.pydot_graph import from_pydot, to_pydot
from gml.formats.text_graph import dump_text
from gml.graph.edges import EDGE_TYPES
from gml.graph.graph import Graph
from gml.graph.provenance import Provenance

from ..graphs import named_edges

NASTY = [
    'a"b', "a:b", "<b>", "", "two\nlines", "é日🌳", "x" * 10_000, "back\\slash", "ends\\", '\\"', "a,b",
    "a->b", "node", "graph", "{", "}", " ", "-1", "1e5", "&amp;", "]]>", "tab\there", "cr\rhere", "\\n", "%s",
    "//", "/*", "#", "'",
]  # fmt: skip


def random_levels(rng, name):
    some = [*NASTY, "\0", "\x1b", "\x7f", "\ufffe", "[-inf,0)", "[0,2.5e-07)", '["a"]', "\\u0041"]
    return tuple(dict.fromkeys([name, *rng.choice(some, size=4)]))


def random_graph(rng, names):
    kind = rng.choice(["dag", "undirected", "pdag", "pag"])
    types = {"dag": ["-->"], "undirected": ["---"], "pdag": ["-->", "---"], "pag": list(EDGE_TYPES)}
    edges = []
    for i in range(len(names)):
        for j in range(i + 1, len(names)):
            if rng.random() < 0.4:
                extra = {"mi": float(rng.normal())} if rng.random() < 0.7 else {}
                if rng.random() < 0.2:
                    extra["count"] = int(rng.integers(100))
                edges.append((names[i], str(rng.choice(types[kind])), names[j], extra))
    used = {edge[1] for edge in edges}
    if kind == "pdag" and used <= {"---"}:
        kind = "cpdag"
    if not edges:
        kind = "dag"
    levels = {name: random_levels(rng, name) for name in names if rng.random() < 0.5}
    numeric = [name for name in names if name not in levels and rng.random() < 0.5]
    hidden = [name for name in names if rng.random() < 0.2]
    learning = Provenance(
        {"command": "test", "rows": 5, "options": {"root": names[0]}} if rng.random() < 0.5 else {}
    )
    return Graph.from_edges(
        names,
        edges,
        kind=str(kind),
        levels=levels,
        learning=learning,
        numeric=numeric,
        hidden=hidden,
    )


NAMES = st.lists(
    st.one_of(st.sampled_from(NASTY), st.text(alphabet=st.characters(codec="utf-8"), max_size=12)),
    min_size=1, max_size=7, unique=True,
)  # fmt: skip


@settings(max_examples=200)
@given(st.integers(0, 2**32 - 1), NAMES)
def test_json_identity(seed, names):
    graph = random_graph(np.random.default_rng(seed), names)
    assert parse_graph(dump_json(graph), "t") == graph


@settings(max_examples=200)
@given(st.integers(0, 2**32 - 1), NAMES)
def test_dot_identity(seed, names):
    graph = random_graph(np.random.default_rng(seed), names)
    if any("\0" in name for name in names):
        with pytest.raises(GraphError, match="null character"):
            dump_dot(graph)
        return
    assert parse_graph(dump_dot(graph), "t") == replace(graph, learning=Provenance())


@settings(max_examples=200)
@given(st.integers(0, 2**32 - 1), NAMES)
def test_graphml_identity(seed, names):
    graph = random_graph(np.random.default_rng(seed), names)
    try:
        text = dump_graphml(graph)
    except GraphError as error:
        assert "control character" in str(error)
        assert any(ord(c) < 32 or c in "\ufffe\uffff" for name in names for c in name)
        return
    assert parse_graph(text, "t") == graph


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), NAMES)
def test_pydot_identity(seed, names):
    graph = random_graph(np.random.default_rng(seed), names)
    if any("\0" in name for name in names):
        with pytest.raises(GraphError, match="null character"):
            to_pydot(graph)
        return
    assert from_pydot(to_pydot(graph)) == replace(graph, learning=Provenance())


def test_graphs_of_the_package_have_pydot():
    graph = gml.Graph.from_edges("AB", [("A", "-->", "B")])
    assert gml.Graph.from_pydot(graph.to_pydot()) == graph


def test_nasty_names_all_at_once(tmp_path):
    edges = [(a, "-->", b) for a, b in itertools.pairwise(NASTY)]
    levels = {name: tuple(NASTY) for name in NASTY[::2]}
    graph = Graph.from_edges(NASTY, edges, levels=levels, numeric=NASTY[1::2])
    for suffix in ("dot", "json", "graphml"):
        write_graph(graph, tmp_path / f"g.{suffix}")
        assert read_graph(tmp_path / f"g.{suffix}") == graph


@pytest.mark.parametrize("name", ["\x01", "\x1b", "\x00", "\ufffe"])
def test_graphml_refuses_what_xml_cannot_hold(name):
    with pytest.raises(GraphError, match="control character"):
        dump_graphml(Graph.from_edges([name], []))


# pydot calls what pyparsing has deprecated.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_levels_of_dot_come_through_pydot_and_networkx():
    import networkx as nx
    import pydot

    many = tuple(map(str, range(3000)))
    levels = {
        "A": ("[-inf,9.6)", "[9.6,inf)"),
        "B": ('q"', "back\\", '\\"', "two\nlines"),
        "C": many,
    }
    edges = [("A", "-->", "B"), ("C", "-->", "B")]
    graph = Graph.from_edges("ABCD", edges, levels=levels, numeric="D")
    (drawn,) = pydot.graph_from_dot_data(dump_dot(graph))
    assert from_pydot(drawn) == graph
    back = nx.nx_pydot.to_pydot(nx.nx_pydot.from_pydot(drawn)).to_string()
    found = load_dot(back, "t")
    assert (found.levels, found.numeric) == (graph.levels, graph.numeric)
    (told,) = [node for node in drawn.get_nodes() if node.get_name() == '"A"']
    assert json.loads(json.loads(told.get("levels"))) == list(levels["A"])


def test_levels_of_graphml_come_through_networkx():
    import networkx as nx

    graph = Graph.from_edges("AB", [("A", "-->", "B")], levels={"A": ("é", 'q"\n')}, numeric="B")
    there = nx.parse_graphml(dump_graphml(graph))
    assert json.loads(there.nodes["A"]["levels"]) == ["é", 'q"\n']
    assert parse_graph("\n".join(nx.generate_graphml(there)), "t") == graph


def test_levels_that_are_no_list_are_somebody_elses():
    graph = load_dot('digraph { a [levels=3, type="box"]; b [levels="high"] }', "t")
    assert (graph.levels, graph.numeric) == ({}, ())


@pytest.mark.parametrize("said", ["[no, yes]", "[1, 2]", '[\\"a\\"', "[[]]"])
def test_damaged_levels_are_not_lost_in_silence(said):
    assert load_dot(f'digraph {{ a [levels="{said}"] }}', "t").levels == {}
    text = f'digraph {{ graph [kind="dag"]; a [levels="{said}"] }}'
    with pytest.raises(GraphError, match="levels of 'a' are not a JSON list of strings"):
        load_dot(text, "t")
    plain = said.replace("\\", "")
    assert parse_graph(nx_graphml_of({"levels": plain}), "t").levels == {}
    source = nx_graphml_of({"levels": plain}, schema="gml/1")
    with pytest.raises(GraphError, match="levels of 'a' are not a JSON list of strings"):
        parse_graph(source, "t")


def nx_graphml_of(attributes, **about):
    import networkx as nx

    graph = nx.DiGraph(**about)
    graph.add_node("a", **attributes)
    return "\n".join(nx.generate_graphml(graph))


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_reads_our_dot():
    edges = [(a, "o->", b, {"mi": 1e-7}) for a, b in itertools.pairwise(NASTY)]
    text = dump_dot(Graph.from_edges(NASTY, edges, levels={name: tuple(NASTY) for name in NASTY}))
    done = subprocess.run(["dot", "-Tdot"], input=text.encode(), capture_output=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""


def test_dot_text():
    graph = Graph.from_edges(
        ["A", 'b"'],
        [("A", "-->", 'b"', {"mi": 0.25})],
    )
    assert dump_dot(graph) == (
        'digraph {\n  graph [kind="dag"];\n  "A";\n  "b\\"";\n  "A" -> "b\\"" [mi=0.25];\n}\n'
    )


@pytest.mark.parametrize(
    "text,edges",
    [
        ("digraph { a -> b -> c }", {("a", "-->", "b"), ("b", "-->", "c")}),
        ("digraph G { a -> {b c} }", {("a", "-->", "b"), ("a", "-->", "c")}),
        ("digraph { {a b} -> subgraph s { c; d } }",
         {("a", "-->", "c"), ("a", "-->", "d"), ("b", "-->", "c"), ("b", "-->", "d")}),
        ("strict DiGraph \"x\" { a -> b; a -> b }", {("a", "-->", "b")}),
        ("graph { a -- b -- c }", {("a", "---", "b"), ("b", "---", "c")}),
        ("digraph { a -> b; b -> a }", {("a", "---", "b")}),
        ("digraph { a:port:ne -> b:s [label=<x <b>y</b> z>, weight=2]; }", {("a", "-->", "b")}),
        ("// c\n# line\ndigraph { /* x -> y */ a -> b // tail\n }", {("a", "-->", "b")}),
        ("digraph { node [shape=box]; edge [dir=none]; a -> b; c -> d [dir=forward] }",
         {("a", "---", "b"), ("c", "-->", "d")}),
        ("digraph { subgraph { edge [dir=back]; a -> b } c -> d }", {("b", "-->", "a"), ("c", "-->", "d")}),
        ("digraph { a -> b [dir=both, arrowtail=odot] }", {("a", "o->", "b")}),
        ("digraph { a -> b [dir=both arrowtail=odot arrowhead=odot]; }", {("a", "o-o", "b")}),
        ("digraph { a -> b [dir=both arrowtail=odot arrowhead=none]; }", {("a", "o--", "b")}),
        ("digraph { a -> b [dir=both] }", {("a", "<->", "b")}),
        ("digraph { a -> b [arrowhead=vee] }", {("a", "-->", "b")}),
        ('digraph { "a" + "b" -> "c\\\nd" }', {("ab", "-->", "cd")}),
        ("digraph { rankdir=LR; size=\"4,4\"; 1 -> -.5 -> é_1 }", {("1", "-->", "-.5"), ("-.5", "-->", "é_1")}),
        ("digraph { \"a\\nb\" -> c }", {("a\\nb", "-->", "c")}),
        ("\ufeffdigraph{a->b}", {("a", "-->", "b")}),
    ],
)  # fmt: skip
def test_dot_as_people_write_it(text, edges, tmp_path):
    path = tmp_path / "g.txt"
    path.write_text(text, encoding="utf-8")
    assert named_edges(read_graph(path)) == edges


def test_dot_kind_and_attributes():
    assert load_dot("graph { a; b; c }", "t").kind == "undirected"
    graph = load_dot('digraph { a -> b [mi="1e-05", note="x y"] }', "t")
    assert graph.attributes[0, 1] == {"mi": 1e-05, "note": "x y"}


@pytest.mark.parametrize(
    "text,message",
    [
        ("digraph { a -> }", "line 1: '}' where a node should be"),
        ("digraph { a -- b }", "'--' where '->' of a digraph should be"),
        ("digraph {\n a -> b\n", "the file ends where '}' should be"),
        ("digraph { a -> b } trailing", "where the end of the file should be"),
        ("digraph { a [x= }", "where a value should be"),
        ("digraph { a -> b; b -> c; c -> a }", "cycle: 'a' -> 'b' -> 'c' -> 'a'"),
        ("digraph { a -> a }", "edge to itself"),
        ('digraph { "a }', "cannot read"),
        ("digraph { a [label=<b }", "HTML string is never closed"),
        ("digraph " + "{" * 300, "nested more than 200 deep"),
        ("", "the file is empty"),
        ("hello", "not a graph file"),
        ("network unknown {\n}", "no variables"),
        ("net\n{\n}", "no variables"),
        ("<?xml version='1.0'?><BIF></BIF>", "no <BIF> with a <NETWORK>"),
        ("<html></html>", "neither GraphML nor XMLBIF"),
        ("<graphml><graph>", "cannot be read as GraphML"),
        ("{", "not a JSON file"),
        ("[]", "not a graph file"),
        ("{}", '"nodes" is missing'),
        ('{"nodes": [{}]}', 'a node has no "id"'),
        ('{"nodes": [{"id": "a"}], "edges": [{}]}', 'an edge has no "source"'),
        ('{"nodes": [{"id": "a"}], "edges": [{"source": "a", "target": "z"}]}', "node 'z' not found"),
        ('{"nodes": [{"id": "a", "levels": "x"}]}', "levels of 'a'"),
        ('{"nodes": 3}', '"nodes" is missing'),
        ('{"nodes": [], "graph": 1}', '"graph" is not an object'),
        ('{"nodes": [], "edges": 1}', '"edges" is not a list'),
    ],
)  # fmt: skip
def test_bad_files(text, message):
    with pytest.raises(GraphError) as caught:
        parse_graph(text, "file")
    assert message in str(caught.value)
    assert str(caught.value).startswith("file: ")


def test_json_is_what_networkx_reads(sample_data):
    import networkx as nx

    graph = Graph.from_edges("AB", [("A", "-->", "B", {"mi": 0.5})], levels={"A": ("x",)})
    content = json.loads(dump_json(graph))
    other = nx.node_link_graph(content, edges="edges")
    assert other.is_directed()
    assert other.edges["A", "B"] == {"type": "-->", "mi": 0.5}
    assert list(content["graph"]) == ["schema", "kind", "hash"]
    assert (content["graph"]["schema"], content["graph"]["kind"]) == ("gml/1", "dag")
    assert other.graph["hash"]["inputs"] == {}
    undirected = json.loads(dump_json(Graph.from_edges("AB", [("A", "---", "B")])))
    assert undirected["directed"] is False


@pytest.mark.parametrize("key", ["edges", "links"])
def test_json_as_networkx_writes_it(key):
    import networkx as nx

    other = nx.DiGraph([("x", "y"), ("y", 3)])
    text = json.dumps(nx.node_link_data(other, edges=key))
    graph = parse_graph(text, "t")
    assert named_edges(graph) == {("x", "-->", "y"), ("y", "-->", "3")}
    text = json.dumps(nx.node_link_data(nx.Graph([("x", "y")]), edges=key))
    assert parse_graph(text, "t").kind == "undirected"


def test_a_model_is_accepted_as_a_graph():
    text = json.dumps(
        {
            "directed": True,
            "multigraph": False,
            "graph": {"schema": "gml/1", "kind": "dag"},
            "nodes": [
                {"id": "A", "levels": ["x", "y"], "parents": [], "cpt": [[0.5, 0.5]]},
                {"id": "B", "levels": ["x", "y"], "parents": ["A"], "cpt": [[1, 0], [0, 1]]},
            ],
            "edges": [{"source": "A", "target": "B", "type": "-->"}],
        }
    )
    assert named_edges(parse_graph(text, "t")) == {("A", "-->", "B")}


YED = """<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
  <key for="node" id="d6" yfiles.type="nodegraphics"/>
  <key for="edge" id="d10" yfiles.type="edgegraphics"/>
  <graph edgedefault="directed" id="G">
    <node id="n0"><data key="d6"><y:ShapeNode><y:NodeLabel>Rain</y:NodeLabel></y:ShapeNode></data></node>
    <node id="n1"><data key="d6"><y:ShapeNode><y:NodeLabel>Wet grass</y:NodeLabel></y:ShapeNode></data></node>
    <edge id="e0" source="n0" target="n1"><data key="d10"><y:PolyLineEdge>
      <y:Arrows source="none" target="standard"/></y:PolyLineEdge></data></edge>
  </graph>
</graphml>
"""

IGRAPH = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<!-- Created by igraph -->
  <key id="v_name" for="node" attr.name="name" attr.type="string"/>
  <key id="e_weight" for="edge" attr.name="weight" attr.type="double"/>
  <graph id="G" edgedefault="undirected">
    <node id="n0"><data key="v_name">smoke</data></node>
    <node id="n1"><data key="v_name">lung</data></node>
    <edge source="n0" target="n1"><data key="e_weight">0.5</data></edge>
  </graph>
</graphml>
"""


def test_graphml_from_yed_and_igraph():
    assert named_edges(parse_graph(YED, "t")) == {("Rain", "-->", "Wet grass")}
    graph = parse_graph(IGRAPH, "t")
    assert named_edges(graph) == {("smoke", "---", "lung")}
    assert graph.kind == "undirected"
    assert graph.attributes[0, 1] == {"weight": 0.5}


def test_graphml_from_networkx():
    import networkx as nx

    out = io.BytesIO()
    nx.write_graphml(nx.DiGraph([("a", "b"), ("b", "a"), ("b", "c")]), out)
    assert named_edges(parse_graph(out.getvalue().decode(), "t")) == {
        ("a", "---", "b"),
        ("b", "-->", "c"),
    }


@pytest.mark.parametrize("format_", ["dot", "json", "graphml"])
def test_a_thousand_nodes(format_, tmp_path):
    rng = np.random.default_rng(0)
    names = [f"node {i}" for i in range(1000)]
    pairs = {tuple(sorted(rng.integers(0, 1000, 2).tolist())) for _ in range(3050)}
    edges = [(names[a], "-->", names[b]) for a, b in sorted(pairs) if a != b][:3000]
    graph = Graph.from_edges(names, edges)
    write_graph(graph, tmp_path / f"g.{format_}")
    assert read_graph(tmp_path / f"g.{format_}") == graph


def test_text():
    graph = Graph.from_edges("ABC", [("A", "-->", "B", {"mi": 0.123456789})])
    assert dump_text(graph) == "dag, 3 nodes, 1 edge\nA --> B  mi 0.123457\nC  (no edges)\n"


def test_suffix_picks_the_format(tmp_path):
    graph = Graph.from_edges("A", [])
    with pytest.raises(UsageError, match="does not tell its format"):
        write_graph(graph, tmp_path / "g.foo")
    write_graph(graph, tmp_path / "g.foo", format="json")
    assert read_graph(tmp_path / "g.foo") == graph
    with pytest.raises(GraphError, match="No such file"):
        read_graph(tmp_path / "none")


def test_latin1_xml(tmp_path):
    text = IGRAPH.replace("UTF-8", "ISO-8859-1").replace("smoke", "fumée")
    (tmp_path / "g.xml").write_bytes(text.encode("latin-1"))
    assert "fumée" in read_graph(tmp_path / "g.xml").names


def test_load_graphml_bad_marks_fall_back():
    text = dump_graphml(Graph.from_edges("AB", [("A", "-->", "B")])).replace(">arrow<", ">spear<")
    assert named_edges(load_graphml(text, "t")) == {("A", "-->", "B")}


def yed_file(arrows, more="", plain=""):
    """GraphML as yEd writes it: labels and arrows within its own elements."""
    nodes = "".join(
        f'<node id="n{i}"><data key="d0"><y:ShapeNode><y:NodeLabel>{name}</y:NodeLabel>'
        "</y:ShapeNode></data></node>"
        for i, name in enumerate("ABCDEF")
    )
    edges = "".join(
        f'<edge id="e{i}" source="n{i}" target="n{i + 1}"><data key="d1"><y:PolyLineEdge>'
        f'<y:LineStyle color="#000000"/>{drawn}</y:PolyLineEdge></data>{plain}</edge>'
        for i, drawn in enumerate(arrows)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n'
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns" '
        'xmlns:y="http://www.yworks.com/xml/graphml">\n'
        f'<key for="node" id="d0" yfiles.type="nodegraphics"/>{more}'
        '<key for="edge" id="d1" yfiles.type="edgegraphics"/>'
        f'<graph edgedefault="directed" id="G">{nodes}{edges}</graph></graphml>'
    )


def arrows(source, target):
    return f'<y:Arrows source="{source}" target="{target}"/>'


def test_arrows_of_yed_are_read():
    drawn = [
        arrows("none", "standard"),
        arrows("none", "none"),
        arrows("delta", "none"),
        arrows("standard", "white_delta"),
        arrows("transparent_circle", "short"),
    ]
    graph = parse_graph(yed_file(drawn), "t")
    assert named_edges(graph) == {
        ("A", "-->", "B"),
        ("B", "---", "C"),
        ("D", "-->", "C"),
        ("D", "<->", "E"),
        ("E", "o->", "F"),
    }
    assert not any(edge.attributes for edge in graph.edges)


def test_undirected_edges_of_yed_make_a_pdag():
    graph = parse_graph(yed_file([arrows("none", "none"), arrows("none", "standard"), ""]), "t")
    assert graph.kind == "pdag"
    assert named_edges(graph) == {("A", "---", "B"), ("B", "-->", "C"), ("C", "-->", "D")}
    reversed_all = parse_graph(yed_file([arrows("standard", "none")] * 2), "t")
    assert named_edges(reversed_all) == {("B", "-->", "A"), ("C", "-->", "B")}


def test_marks_of_gml_outlive_yed():
    keys = '<key id="m" for="edge" attr.name="mark_target" attr.type="string"/>'
    text = yed_file([arrows("none", "standard")], keys, '<data key="m">tail</data>')
    assert named_edges(parse_graph(text, "t")) == {("A", "---", "B")}


def test_swapped_arguments_and_other_things_than_paths(tmp_path):
    graph = Graph.from_edges("AB", [("A", "-->", "B")])
    with pytest.raises(UsageError, match="a Graph is needed, not a str; the graph comes first"):
        write_graph(str(tmp_path / "g.dot"), graph)
    for wrong in (lambda: write_graph(graph, 5), lambda: read_graph(5), lambda: gml.read_model(5)):
        with pytest.raises(UsageError, match="`path` must be a path, not an int"):
            wrong()
    net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
    with pytest.raises(UsageError, match="not a str; the model comes first, then the path"):
        gml.write_model(str(tmp_path / "m.json"), net)
    assert not any(tmp_path.iterdir())


def test_pictures_are_drawn_by_another_function(tmp_path):
    graph = Graph.from_edges("AB", [("A", "-->", "B")])
    net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
    for write in (write_graph, gml.write_model):
        with pytest.raises(UsageError) as raised:
            write(graph if write is write_graph else net, tmp_path / "my g.svg")
        assert str(raised.value) == (
            f"'{tmp_path}/my g.svg' is a picture, which gml draw (in Python, "
            f"gml.draw(…).to_file('{tmp_path}/my g.svg')) makes"
        )
    assert not any(tmp_path.iterdir())
