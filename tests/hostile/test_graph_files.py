"""Graph and model files that say much in few words, or whose reading could take for ever."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gml.cli.main import run
from tests.hostile.conftest import MIB

GRAPHML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'


def refused(done, code, *words):
    """Check for the one line of an error."""
    assert done.code == code, done.stderr[-500:]
    assert done.stderr.count(b"\n") == 1
    assert done.error.startswith("gml: error: ")
    for word in words:
        assert word in done.error
    return done


def bif(n_parents, n_children=1):
    """Tables of 2^n_parents rows each, every row the default."""
    parents = [f"p{i}" for i in range(n_parents)]
    children = [f"c{i}" for i in range(n_children)]
    variables = (
        f"variable {n} {{ type discrete [ 2 ] {{ a, b }}; }}\n" for n in parents + children
    )
    given = ", ".join(parents)
    return "".join(
        [
            "network x { }\n",
            *variables,
            *(f"probability ( {p} ) {{ table 0.5, 0.5; }}\n" for p in parents),
            *(f"probability ( {c} | {given} ) {{ default 0.5, 0.5; }}\n" for c in children),
        ]
    )


# ---------------------------------------------------------------------- tables


@pytest.mark.parametrize(
    "command", [["convert", "m.bif", "out.json"], ["sample", "m.bif", "-n", "1"]]
)
def test_a_table_by_default_is_asked_for(watched, tmp_path, command):
    (tmp_path / "m.bif").write_text(bif(26))
    done = watched(*command, "--max-memory", "100M")
    refused(done, 4, "m.bif: line 55: the table of 'c0' would take 4.5 GiB", "(100 MiB)")
    assert done.peak < 150 * MIB
    assert not (tmp_path / "out.json").exists()


def test_tables_are_asked_for_together(watched, tmp_path):
    (tmp_path / "m.bif").write_text(bif(17, 20))
    done = refused(watched("convert", "m.bif", "o.dot", "--max-memory", "100M"), 4, "those before")
    assert done.peak < 200 * MIB


def test_a_table_of_more_rows_than_a_message_can_hold(watched, tmp_path):
    (tmp_path / "m.bif").write_text(bif(15_000))
    refused(watched("convert", "m.bif", "o.json"), 4, "would take over 2^")


def small_net(n_parents):
    names = [f"p{i}" for i in range(n_parents)]
    nodes = "".join(f'node {n} {{ states = ("a" "b"); }}\n' for n in [*names, "c"])
    tables = "".join(f"potential ( {n} ) {{ data = (0.5 0.5); }}\n" for n in names)
    return f"net {{ }}\n{nodes}{tables}potential ( c | {' '.join(names)} ) {{ data = (1 0); }}\n"


def small_xmlbif(n_parents):
    names = [f"p{i}" for i in range(n_parents)]
    levels = "<OUTCOME>a</OUTCOME><OUTCOME>b</OUTCOME>"
    variables = "".join(f"<VARIABLE><NAME>{n}</NAME>{levels}</VARIABLE>" for n in [*names, "c"])
    given = "".join(f"<GIVEN>{n}</GIVEN>" for n in names)
    tables = "".join(
        f"<DEFINITION><FOR>{n}</FOR><TABLE>0.5 0.5</TABLE></DEFINITION>" for n in names
    )
    own = f"<DEFINITION><FOR>c</FOR>{given}<TABLE>1 0</TABLE></DEFINITION>"
    return f'<BIF VERSION="0.3"><NETWORK>{variables}{tables}{own}</NETWORK></BIF>'


def small_json(n_parents):
    names = [f"p{i}" for i in range(n_parents)]
    levels = ["a", "b"]
    nodes = [{"id": n, "levels": levels, "parents": [], "cpt": [[0.5, 0.5]]} for n in names]
    nodes.append({"id": "c", "levels": levels, "parents": names, "cpt": [[1, 0]]})
    return json.dumps({"nodes": nodes, "edges": [{"source": n, "target": "c"} for n in names]})


@pytest.mark.parametrize(
    "text", [small_net, small_xmlbif, small_json], ids=["net", "xmlbif", "json"]
)
def test_every_format_asks_for_what_is_declared(watched, tmp_path, text):
    (tmp_path / "m").write_text(text(40))
    refused(watched("convert", "m", "o.json"), 4, "m: ", "the table of 'c' would take 72 TiB")


@pytest.mark.parametrize(
    "suffix,words", [("json", "JSON"), ("bif", "BIF"), ("xmlbif", "XMLBIF"), ("net", "NET"), ("txt", "text")]
)  # fmt: skip
def test_text_is_asked_for_before_it_is_made(watched, tmp_path, suffix, words):
    (tmp_path / "m.bif").write_text(bif(18))
    done = watched("convert", "m.bif", f"o.{suffix}", "--max-memory", "30M")
    refused(done, 4, f"writing {words} of tables of 524324 cells")
    assert done.peak < 100 * MIB
    assert not (tmp_path / f"o.{suffix}").exists()


# ---------------------------------------------------------------------- graphs


def groups(n):
    some, others = (" ".join(f"{letter}{i}" for i in range(n)) for letter in "ab")
    return f"digraph {{ {{{some}}} -> {{{others}}} }}"


def test_edges_of_groups_are_counted_first(watched, tmp_path):
    (tmp_path / "g.dot").write_text(groups(2000))
    done = watched("convert", "g.dot", "o.json", "--max-memory", "100M")
    refused(done, 4, "g.dot: reading 4000000 edges would take 610 MiB")
    assert done.peak < 100 * MIB


def test_groups_are_the_edges_written_out(watched, tmp_path):
    (tmp_path / "g.dot").write_text("digraph { {a b} -> {c d} [w=1]; c -> {a b} [v=2]; a, d -> e }")
    edges = "a->c [w=1]; a->d [w=1]; b->c [w=1]; b->d [w=1]; c->a [v=2]; c->b [v=2]; a->e; d->e"
    (tmp_path / "h.dot").write_text(f"digraph {{ a; b; c; d; {edges} }}")
    one, two = (watched("convert", name, "-", "-f", "dot") for name in ("g.dot", "h.dot"))
    assert one.code == 0
    assert one.stdout == two.stdout
    assert b'"a" -> "c" [dir=none, w=1, v=2];' in one.stdout


def test_many_edges_take_little(watched, tmp_path):
    (tmp_path / "g.dot").write_text(groups(500))
    done = watched("convert", "g.dot", "o.dot")
    assert (done.code, done.stderr) == (0, b"")
    assert done.peak < 150 * MIB


def test_many_nodes_are_asked_for(watched, tmp_path):
    nodes = [{"id": str(i)} for i in range(40_000)]
    (tmp_path / "g.json").write_text(json.dumps({"nodes": nodes, "edges": []}))
    done = refused(
        watched("convert", "g.json", "o.dot", "--max-memory", "1G"), 4, "a graph of 40000 nodes", "1.49 GiB"
    )  # fmt: skip
    assert done.peak < 150 * MIB


def test_a_graph_without_many_edges_is_not_filled(watched, tmp_path):
    nodes = [{"id": str(i)} for i in range(12_000)]
    (tmp_path / "g.json").write_text(json.dumps({"nodes": nodes, "edges": []}))
    done = watched("convert", "g.json", "o.dot", "--max-memory", "200M")
    assert (done.code, done.stderr) == (0, b"")
    assert done.peak < 250 * MIB


def test_defaults_that_every_edge_takes_over(watched, tmp_path):
    defaults = " ".join(f"k{i}=1" for i in range(10_000))
    edges = "".join(f"a -> b{i} [z=1];" for i in range(10_000))
    (tmp_path / "g.dot").write_text(f"digraph {{ edge [{defaults}]; {edges} }}")
    done = watched("convert", "g.dot", "o.dot", "--max-memory", "200M")
    refused(done, 4, "g.dot: the attributes of the edges")
    assert done.peak < 250 * MIB


@pytest.mark.parametrize("format", ["dot", "text"])
def test_a_long_name_at_many_edges(watched, tmp_path, format):
    # In text, names are padded to the longest of them.
    name = "y" if format == "text" else "x" * 100_000
    targets = " ".join(f"b{i}" for i in range(4999))
    edges = f"{name} -> {{ {targets} }} {'x' * 100_000} -> b9999"
    (tmp_path / "g.dot").write_text(f"digraph {{ {edges} }}")
    done = watched("convert", "g.dot", "-", "-f", format, "--max-memory", "200M")
    refused(done, 4, "of a graph of 5000 edges")
    assert done.stdout == b""
    assert done.peak < 150 * MIB


@pytest.mark.parametrize(
    "line", ["forbiddengroup\n{0}\n{1}", "requiredgroup\n{0}\n{1}", "addtemporal\n1* {0}"]
)
def test_pairs_of_knowledge_are_counted_first(watched, tmp_path, line):
    some, others = (" ".join(f"{letter}{i}" for i in range(4000)) for letter in "ab")
    (tmp_path / "k.txt").write_text("/knowledge\n" + line.format(some, others) + "\n")
    (tmp_path / "d.csv").write_text("a0,b0\n0,0\n1,1\n")
    done = watched("pc", "d.csv", "--knowledge", "k.txt", "--max-memory", "100M")
    refused(done, 4, "k.txt: line ", "16000000 edges")
    assert done.peak < 150 * MIB


def test_a_star_has_a_class_without_all_its_pairs(watched, tmp_path):
    edges = "".join(f"n{i} -> c;" for i in range(3000))
    (tmp_path / "g.dot").write_text(f"digraph {{ {edges} }}")
    done = watched("compare", "g.dot", "g.dot")
    assert done.code == 0
    assert done.peak < 250 * MIB


def test_pairs_of_neighbours_are_asked_for(watched, tmp_path):
    edges = "".join(f"c -- n{i};" for i in range(5000))
    (tmp_path / "g.dot").write_text(f"graph {{ kind=cpdag; {edges} }}")
    done = watched("compare", "g.dot", "g.dot", "--max-memory", "1G")
    refused(done, 4, "12497500 pairs of neighbours")
    assert done.peak < 400 * MIB


# ---------------------------------------------------------------------- time

HUNDRED_THOUSAND = 10**5
LEVELS = ", ".join([*(f"l{i}" for i in range(150_000)), "l149999"])
VARIABLE = "network x { }\nvariable a { type discrete [ 2 ] { x, y }; }\n"
LINEAR = {
    "comments.bif": ("network x { }\n" + "/* " * 200_000, 3),
    "comments.net": ("net { }\n" + "/* " * 200_000, 3),
    "levels.bif": (f"network x {{ }}\nvariable a {{ type discrete {{ {LEVELS} }}; }}\n", 3),
    "html.dot": ("digraph { " + "<a>;" * 30_000 + "/*" + "-" * 30_000_000 + "*/ }", 0),
    "chain.dot": ("digraph {" + "->".join(f"n{i}" for i in range(12_000)) + "}", 0),
    "name.bif": (
        "network x { }\n"
        + "".join(f"variable {'ab' * 90}{i} {{ type discrete {{ x }}; }}\n" for i in range(20_000))
        + f"probability ( {'ba' * 90} ) {{ table 1; }}\n",
        3,
    ),
    "subgraphs.dot": (
        "digraph { edge ["
        + " ".join(f"k{i}=1" for i in range(50_000))
        + "];"
        + "{}" * 50_000
        + "}",
        0,
    ),
    "backslashes.dot": ('digraph { "' + "\\\\" * 10**6, 3),
}


@pytest.mark.parametrize("name", LINEAR)
def test_reading_takes_linear_time(watched, tmp_path, name):
    text, code = LINEAR[name]
    (tmp_path / name).write_text(text)
    done = watched("convert", name, "o.dot", seconds=45)
    assert done.code == code, done.stderr[-300:]
    if code:
        refused(done, code)


# ---------------------------------------------------------------------- depth, entities

LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
LAUGHING = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY l0 "{"lol" * 10}">{LAUGHS}]>'
OUTSIDE = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY l9 SYSTEM "secret">]>'
BIF_NAME = (
    "<BIF><NETWORK><VARIABLE><NAME>&l9;</NAME><OUTCOME>a</OUTCOME></VARIABLE></NETWORK></BIF>"
)
DEEP = {
    "braces.dot": "digraph " + "{" * HUNDRED_THOUSAND,
    "brackets.dot": "digraph { a " + "[" * HUNDRED_THOUSAND,
    "html.dot": "digraph { " + "<" * HUNDRED_THOUSAND,
    "graphs.graphml": GRAPHML + "<graph>" * HUNDRED_THOUSAND,
    "networks.xmlbif": "<BIF>" + "<NETWORK>" * HUNDRED_THOUSAND,
    "variables.xmlbif": "<BIF><NETWORK>" + "<VARIABLE>" * 9**5 + "</VARIABLE>" * 9**5 + "</NETWORK></BIF>",
    "braces.bif": "network x " + "{" * HUNDRED_THOUSAND,
    "rows.bif": VARIABLE + "probability ( a ) { " + "(" * HUNDRED_THOUSAND + ");}",
    "braces.net": "net " + "{" * HUNDRED_THOUSAND,
    "states.net": "net { } node a { states = (" + "(" * HUNDRED_THOUSAND + "); }",
    "nodes.json": '{"nodes": ' + "[" * HUNDRED_THOUSAND,
    "laughs.graphml": f'{LAUGHING}{GRAPHML}<graph edgedefault="directed"><node id="&l9;"/></graph></graphml>',
    "laughs.xmlbif": LAUGHING + BIF_NAME,
    "outside.graphml": f'{OUTSIDE}{GRAPHML}<graph edgedefault="directed"><node id="&l9;"/></graph></graphml>',
    "outside.xmlbif": OUTSIDE + BIF_NAME,
}  # fmt: skip


@pytest.mark.parametrize("name", DEEP)
def test_depth_and_entities_are_refused(tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(DEEP[name])
    (tmp_path / "secret").write_text("SECRET")
    assert run(["convert", name, "o.dot"]) == 3
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "SECRET" not in said


def test_intervals_are_no_deeper_than_a_table(watched, tmp_path):
    node = '{"id": "a", "levels": ["x"], "cpt": [[1]], "intervals": ' + "[" * 900 + "]" * 900 + "}"
    (tmp_path / "m.json").write_text(f'{{"nodes": [{node}]}}')
    refused(watched("convert", "m.json", "o.dot"), 3, "m.json: nested too deeply")


# ---------------------------------------------------------------------- damage

WHOLE = {
    "dot": 'digraph { subgraph s { a; b } -> c [mi=0.5, x="q\\"r"]; a -> b [dir=none]; /* c */ '
    "d:p -> c // e\n edge [w=1]; d -> e [label=<b<i>>] }",
    "graphml": GRAPHML + '<key id="d0" for="edge" attr.name="mark_target" attr.type="string"/>'
    '<graph edgedefault="directed"><node id="a"/><node id="b"/><edge source="a" target="b">'
    '<data key="d0">arrow</data></edge></graph></graphml>',
    "json": '{"graph": {"kind": "dag"}, "nodes": [{"id": "a", "levels": ["x", "y"], "cpt": [[0.5, '
    '0.5]]}, {"id": "b", "levels": ["u"], "parents": ["a"], "cpt": [[1], [1]], "counts": [[3], [0]], '
    '"intervals": [[[0, 1]], [[0, null]]]}], "edges": [{"source": "a", "target": "b"}]}',
    "bif": "network n {\n}\nvariable a { type discrete [ 2 ] { x, y }; }\nvariable b { type discrete "
    "[ 2 ] { u, v }; }\nprobability ( a ) { table 0.2, 0.8; }\nprobability ( b | a ) { (x) 0.5, 0.5; "
    "default 1, 0; } // c\n",
    "net": 'net {\n}\nnode a { states = ("x" "y"); }\nnode b { states = ("u" "v"); } % c\npotential '
    "( a ) { data = (0.2 0.8); }\npotential ( b | a ) { data = ((0.5 0.5) (1 0)); }\n",
    "xmlbif": '<?xml version="1.0"?>\n<BIF VERSION="0.3"><NETWORK><VARIABLE TYPE="nature"><NAME>a'
    "</NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE><DEFINITION><FOR>a</FOR><TABLE>0.2 "
    "0.8</TABLE></DEFINITION></NETWORK></BIF>",
}  # fmt: skip


@pytest.mark.parametrize("format", WHOLE)
def test_a_damaged_file_is_read_or_refused(tmp_path, monkeypatch, capsys, format):
    """Cut off at every byte, and with every byte replaced by another one that means something."""
    monkeypatch.chdir(tmp_path)
    whole = WHOLE[format].encode()
    others = np.random.default_rng(0).choice(list(b'\0"(<[{}>;=0-\xff'), len(whole)).tolist()
    cut = [whole[:k] for k in range(len(whole) + 1)]
    changed = [whole[:k] + bytes([other]) + whole[k + 1 :] for k, other in enumerate(others)]
    codes = set()
    for content in cut + changed:
        (tmp_path / "in").write_bytes(content)
        code = run(["convert", "in", "out.json"])
        said = capsys.readouterr().err
        assert code in (0, 3), (content, said)
        assert said.count("gml: error: ") == (code != 0), content
        codes.add(code)
    assert codes == {0, 3}
