"""The hash in JSON files: of the content, whatever the layout, and of the inputs."""

from __future__ import annotations

import copy
import hashlib
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gml
from gml.errors import GmlWarning
from gml.formats.content_hash import content_hash, is_changed, recorded_hash
from gml.formats.graphs import parse_graph
from gml.formats.json_document import SCHEMA, document_pieces, document_text
from gml.formats.json_graph import dump_json
from gml.formats.json_model import dump_json_model
from gml.formats.reports.checks.sarif import as_sarif
from gml.graph.graph import Graph
from gml.ledger import Input, Ledger
from tests.model_files import random_network
from tests.unit.test_check_reports import check, report

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"))
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text("abé "), inner), max_leaves=20
)
DOCUMENTS = st.dictionaries(
    st.text("abcdé").filter(lambda key: key != "hash"), VALUES, max_size=4
).map(lambda content: {"schema": SCHEMA, **content})


def test_the_hash_is_that_of_the_canonical_form():
    found = json.loads(document_text({"schema": SCHEMA, "b": 1.0, "a": "é"}))
    plain = '{"a":"é","b":1.0,"hash":{"inputs":{}},"schema":"gml/1"}'
    digest = hashlib.sha256(plain.encode()).hexdigest()
    assert found["hash"] == {"content": f"sha256:{digest}", "inputs": {}}


@given(DOCUMENTS)
def test_what_is_written_verifies_in_any_layout(document):
    text = document_text(document)
    found = json.loads(text)
    assert list(found)[:2] == ["schema", "hash"]
    assert {key: value for key, value in found.items() if key != "hash"} == document
    assert not is_changed(found)
    turned = dict(reversed(found.items()))
    assert not is_changed(json.loads(json.dumps(turned, indent=3)))


def places(value, path=()):
    """Where the values of a document are."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if isinstance(item, dict | list):
            yield from places(item, (*path, key))
        if not (isinstance(item, dict | list) and item):
            yield (*path, key)


def flipped(value):
    """Another value."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int | float):
        return np.nextafter(float(value), np.inf) if isinstance(value, float) else value + 1
    return value + "x" if isinstance(value, str) else 0


def test_any_value_that_is_flipped_shows():
    net = random_network(np.random.default_rng(3), ["a", "b", "c"], ["x", "y"])
    inputs = {"data": "sha256:12"}
    results = {"schema": SCHEMA, "results": [{"x": 1, "p": None, "given": []}]}
    texts = [
        dump_json_model(net, inputs=inputs),
        dump_json(Graph.from_edges("AB", [("A", "-->", "B", {"mi": 0.5})]), inputs=inputs),
        document_text(results, inputs),
        as_sarif(report(check()), inputs=inputs),
    ]
    for text in texts:
        document = json.loads(text)
        assert not is_changed(document)
        for path in list(places(document)):
            changed = copy.deepcopy(document)
            inner = changed
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = flipped(inner[path[-1]])
            assert is_changed(changed), path
            del inner[path[-1]]
            assert is_changed(changed) or recorded_hash(changed) is None, path


def test_inputs_are_those_of_the_run_alone():
    kept = Ledger(
        [
            Input("data", "-"),
            Input("graph", "a", several=True),
            Input("graph", "b", several=True),
            Input("levels", "never read"),
        ]
    )
    kept.digests |= {"-": "1", "a": "2", "b": "3"}
    found = json.loads(document_text({"schema": SCHEMA}, kept.input_hashes()))
    inputs = {"data": "sha256:1", "graph": ["sha256:2", "sha256:3"]}
    assert found["hash"]["inputs"] == inputs
    assert list(recorded_hash(found).of_inputs()) == [
        ("data", "sha256:1"), ("graph", "sha256:2"), ("graph", "sha256:3"),
    ]  # fmt: skip
    assert json.loads(document_text({"schema": SCHEMA}))["hash"]["inputs"] == {}


def test_reading_warns_of_a_change_and_goes_on(tmp_path):
    graph = Graph.from_edges("AB", [("A", "-->", "B", {"mi": 0.5})])
    text = dump_json(graph)
    assert parse_graph(text, "g.json") == graph
    with pytest.warns(GmlWarning, match=r"g.json: changed since it was written \(its hash differs"):
        assert parse_graph(text.replace("0.5", "0.25"), "g.json").n_edges == 1
    path = tmp_path / "model.json"
    net = random_network(np.random.default_rng(3), ["a", "b"], ["x", "y"])
    gml.write_model(net, path)
    assert recorded_hash(json.loads(path.read_text())).inputs == {}
    path.write_text(path.read_text().replace('"id": "a"', '"id": "a", "note": 1'))
    with pytest.warns(GmlWarning) as caught:
        assert gml.read_model(path).names == net.names
        assert gml.read_graph(path).names == net.names
    assert len(caught) == 2


def test_sarif_of_others_has_no_hash():
    for properties in ({}, {"properties": {}}, {"properties": None}, {"hash": {"content": "x"}}):
        document = {"$schema": "s", "version": "2.1.0", "runs": [], **properties}
        assert recorded_hash(document) is None
        assert not is_changed(document)


@pytest.mark.parametrize("held", [None, 1, {}, {"content": 1}, {"content": None, "inputs": {}}])
def test_what_is_no_hash_is_none(held):
    document = {"graph": {"hash": held}, "nodes": [], "edges": []}
    assert recorded_hash(document) is None
    assert not is_changed(document)
    assert not parse_graph(json.dumps(document), "t").names


def test_layout_has_an_item_a_line():
    text = document_text({"schema": SCHEMA, "n": 1, "results": [{"a": 1}, {"a": 2}], "none": []})
    lines = text.splitlines()
    assert lines[0] == '{"schema": "gml/1",'
    assert lines[1].startswith('"hash": {"content": "sha256:')
    assert lines[1].endswith('"inputs": {}},')
    assert lines[2:] == ['"n": 1,', '"results": [', '{"a": 1},', '{"a": 2}', "],", '"none": []}']
    by_name = document_text({"columns": {"A": {"x": 1}, "B": {}}})
    assert by_name.endswith('"columns": {\n"A": {"x": 1},\n"B": {}\n}}\n')


def test_content_hash_of_deep_or_odd_files():
    odd = json.loads('{"a": 1e999, "b": "\\ud800", "hash": {"content": "x"}}')
    assert content_hash(odd).startswith("sha256:")
    assert is_changed(odd)


@pytest.mark.parametrize(
    "items", [[], [{"b": 1.5, "a": [None, "é"]}], [{"a": k} for k in range(3)]]
)
def test_a_streamed_document_is_the_document(items):
    whole = document_text({"schema": "gml/1", "results": items})
    assert "".join(document_pieces({"schema": "gml/1"}, "results", items)) == whole
    assert not is_changed(json.loads(whole))
