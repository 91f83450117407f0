"""Graphs and data in a wrong order are recognised by every verb that takes both."""

from __future__ import annotations

import gzip
from dataclasses import replace

import pytest

import gml
from gml.formats.recognition import begins_like_table, graph_kind
from gml.verbs.shared.swapped import SwappedArguments

ASIA = "sample_data/asia.csv"
GRAPH = "sample_data/asia.dot"
ORDER = rf"'{GRAPH}' is a DOT graph, and '{ASIA}' is a table: data come first"


@pytest.mark.parametrize(
    "call",
    [
        lambda: gml.fit(GRAPH, ASIA),
        lambda: gml.check(GRAPH, ASIA),
        lambda: gml.check([ASIA, GRAPH], ASIA),
        lambda: gml.score(GRAPH, ASIA),
        lambda: gml.score(GRAPH, [GRAPH, ASIA]),
        lambda: gml.indtest(GRAPH, implied=ASIA),
        lambda: gml.hc(GRAPH, start=ASIA),
        lambda: gml.count(GRAPH, graph=ASIA),
        lambda: gml.exact(GRAPH, against=[ASIA]),
    ],
)
def test_every_verb_recognises_swapped_paths(call):
    with pytest.raises(SwappedArguments, match=ORDER) as raised:
        call()
    assert raised.value.exit_code == 2


def test_other_rejections_stay(tmp_path):
    with pytest.raises(gml.DataError, match="this is a DOT graph, not a table$"):
        gml.fit(GRAPH, GRAPH)
    with pytest.raises(gml.DataError, match="this is a DOT graph, not a table$"):
        gml.pc(GRAPH)
    with pytest.raises(gml.GraphError, match="not a graph file"):
        gml.fit(ASIA, ASIA)


def test_models_and_tables_are_told_apart(tmp_path):
    net = gml.fit(ASIA, GRAPH)
    gml.write_model(net, tmp_path / "m.json")
    gml.write_model(replace(net, baseline=None), tmp_path / "m.bif")
    (tmp_path / "m.bif.gz").write_bytes(gzip.compress((tmp_path / "m.bif").read_bytes()))
    (tmp_path / "t.csv").write_text("node,net\n1,2\n")
    gml.read(ASIA).to_frame().to_parquet(tmp_path / "t.parquet")
    kinds = ["a JSON file", "a BIF model", "a BIF model", None, None, None]
    names = ["m.json", "m.bif", "m.bif.gz", "t.csv", "t.parquet", "none"]
    assert [graph_kind(tmp_path / name) for name in names] == kinds
    tables = [False, False, False, True, True, False]
    assert [begins_like_table(tmp_path / name) for name in names] == tables
    with pytest.raises(SwappedArguments, match=r"m\.bif\.gz' is a BIF model, and .*t\.parquet'"):
        gml.check(tmp_path / "m.bif.gz", tmp_path / "t.parquet")
