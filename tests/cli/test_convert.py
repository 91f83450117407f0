"""gml convert on the command line: formats, warnings, exit codes, streams."""

from __future__ import annotations

import gzip
import hashlib
import json

import numpy as np
import pytest

from gml.formats.graphs import parse_graph, read_graph
from gml.formats.models import MODEL_WRITERS, parse_model, read_model, write_model
from tests.command_line import error_line
from tests.model_files import assert_same, random_gaussian, random_network

NET = random_network(np.random.default_rng(5), ["a", "b", "c"], ["x", "y", "z"], beside=True)
BARE = parse_model(MODEL_WRITERS["bif"](NET), "t")


@pytest.fixture
def folder(tmp_path):
    """A scratch folder with a model and a graph."""
    write_model(NET, tmp_path / "model.json")
    write_model(BARE, tmp_path / "bare.bif")
    (tmp_path / "graph.dot").write_text("digraph { a -> b }\n")
    (tmp_path / "cpdag.dot").write_text("digraph { a -> b; b -> c [dir=none] }\n")
    return tmp_path


@pytest.mark.parametrize(
    "name,format", [("m.bif", "bif"), ("m.xmlbif", "xmlbif"), ("m.bifxml", "xmlbif"), ("m.xml", "xmlbif"),
                    ("m.net", "net"), ("m.hugin", "net")],
)  # fmt: skip
def test_model_to_model(gml, folder, name, format):
    done = gml("convert", "model.json", name)
    assert done.returncode == 0
    assert done.stdout == b""
    title = {"bif": "BIF", "xmlbif": "XMLBIF", "net": "NET"}[format]
    assert done.stderr.decode() == (
        f"gml: warning: {title} does not hold the counts, the intervals and how it was learned; "
        "JSON does\n"
    )
    written = (folder / name).read_bytes()
    in_node_order = read_model(folder / "model.json")
    assert written.decode() == MODEL_WRITERS[format](in_node_order)
    back = gml("convert", name, "back.json")
    assert (back.returncode, back.stderr) == (0, b"")
    assert_same(read_model(folder / "back.json"), in_node_order)


def test_json_keeps_everything(gml, folder):
    done = gml("convert", "model.json", "copy.json")
    assert (done.returncode, done.stderr) == (0, b"")
    copy = json.loads((folder / "copy.json").read_bytes())
    model = json.loads((folder / "model.json").read_bytes())
    digest = hashlib.sha256((folder / "model.json").read_bytes()).hexdigest()
    assert copy["graph"].pop("hash")["inputs"] == {"in": f"sha256:{digest}"}
    assert model["graph"].pop("hash")["inputs"] == {}
    assert copy == model


def test_streams_and_compression(gml, folder):
    text = (folder / "bare.bif").read_bytes()
    done = gml("convert", "-", "-", "-f", "net", stdin=gzip.compress(text))
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == MODEL_WRITERS["net"](BARE)
    assert_same(parse_model(done.stdout.decode(), "t"), BARE)
    shown = gml("convert", "model.json", "-", "-f", "text")
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert b"given" in shown.stdout


def test_model_to_graph_says_what_is_lost(gml, folder):
    done = gml("convert", "model.json", "g.dot")
    assert done.returncode == 0
    assert done.stderr.decode() == (
        "gml: warning: DOT does not hold the tables, the counts, the intervals and how it was "
        "learned; JSON does\n"
    )
    assert read_graph(folder / "g.dot").levels == NET.graph.levels
    done = gml("convert", "model.json", "g.graphml")
    assert done.stderr.decode() == (
        "gml: warning: GraphML does not hold the tables, the counts and the intervals; JSON does\n"
    )
    assert read_graph(folder / "g.graphml") == NET.graph
    assert gml("convert", "model.json", "g.dot", "-q").stderr == b""


def test_graphs(gml, folder):
    for name in ("g.json", "g.graphml", "g.xml", "g.gv"):
        done = gml("convert", "cpdag.dot", name)
        assert (done.returncode, done.stderr) == (0, b"")
        assert read_graph(folder / name) == read_graph(folder / "cpdag.dot")
    assert b"<graphml" in (folder / "g.xml").read_bytes()
    text = gml("convert", "-", "-f", "json", "-", stdin=b"digraph { a }").stdout
    assert parse_graph(text.decode(), "t").names == ("a",)
    source = b'{"nodes": [{"id": "a", "levels": ["x", "y"]}], "edges": []}'
    done = gml("convert", "-", "-", "-f", "dot", stdin=source)
    assert done.stderr == b""
    assert parse_graph(done.stdout.decode(), "t").levels == {"a": ("x", "y")}


@pytest.mark.parametrize("name", ["m.bif", "m.xmlbif", "m.net"])
def test_a_graph_has_no_tables(gml, folder, name):
    assert "gml fit-params" in error_line(gml("convert", "graph.dot", name), 3)
    assert "this is a pdag without tables" in error_line(gml("convert", "cpdag.dot", name), 3)
    assert not (folder / name).exists()


def test_refused(gml, folder):
    assert "--format" in error_line(gml("convert", "model.json", "-"), 2)
    assert "does not tell its format" in error_line(gml("convert", "model.json", "m.what"), 2)
    assert "is an input" in error_line(gml("convert", "model.json", "./model.json"), 2)
    assert "no folder" in error_line(gml("convert", "model.json", "no/where.bif"), 2)
    assert "No such file" in error_line(gml("convert", "none.json", "m.bif"), 3)
    assert "OUT" in error_line(gml("convert", "model.json"), 2)
    (folder / "cut.bif").write_text((folder / "bare.bif").read_text()[:-20])
    assert "cut.bif: line " in error_line(gml("convert", "cut.bif", "m.json"), 3)
    before = (folder / "bare.bif").read_bytes()
    write_model(random_gaussian(np.random.default_rng(0), ["u", "v"]), folder / "numbers.json")
    text = error_line(gml("convert", "numbers.json", "bare.bif"), 3)
    assert "cannot hold a node of numbers" in text
    assert (folder / "bare.bif").read_bytes() == before


def test_a_name_that_the_format_cannot_hold(gml, folder):
    source = {"nodes": [{"id": "a b", "levels": ["x", "y"], "parents": [], "cpt": [[0.5, 0.5]]}]}
    (folder / "blank.json").write_text(json.dumps(source))
    assert "'a b'" in error_line(gml("convert", "blank.json", "m.bif"), 3)
    assert gml("convert", "blank.json", "m.xmlbif").returncode == 0


@pytest.mark.parametrize("suffix", ["bif", "net", "xmlbif"])
def test_names_are_replaced_on_request_and_come_back(gml, folder, suffix):
    nodes = [
        {"id": "a  b", "levels": ["[0,10)", "[10,inf)"], "parents": [], "cpt": [[0.5, 0.5]]},
        {"id": "é", "levels": ["x y\n", "y"], "parents": ["a  b"], "cpt": [[1.0, 0.0], [0.25, 0.75]]},
    ]  # fmt: skip
    edges = [{"source": "a  b", "target": "é", "type": "-->"}]
    (folder / "odd.json").write_text(json.dumps({"nodes": nodes, "edges": edges}))
    said = error_line(gml("convert", "odd.json", f"m.{suffix}"), 3)
    assert "'a  b'" in said and "gml convert with --sanitize" in said and "JSON can" in said
    done = gml("convert", "odd.json", f"m.{suffix}", "--sanitize")
    assert done.returncode == 0 and b"replaced by others" in done.stderr
    assert gml("convert", f"m.{suffix}", "back.json").returncode == 0
    assert_same(read_model(folder / "back.json"), read_model(folder / "odd.json"))
    asked = gml(
        "query", f"m.{suffix}", "--target", "é", "--evidence", '"a  b=[0,10)"', "-f", "json"
    )
    assert json.loads(asked.stdout)["results"][0]["level"] == "x y\n"
    assert "--sanitize is for" in error_line(gml("convert", "odd.json", "m.json", "--sanitize"), 2)
