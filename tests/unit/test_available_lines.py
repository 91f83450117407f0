"""Regressions by EM keep those of available rows beside them, and a check compares these."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import gml
from gml.errors import GmlWarning, GraphError
from gml.graph.graph import Graph
from gml.model.em.available_lines import with_lines_of_available_rows

GRAPH = Graph.from_edges("sxy", [("s", "-->", "x"), ("s", "-->", "y"), ("x", "-->", "y")])
EM = {"missing": "em", "numeric": ["x", "y"], "em_restarts": 1}


def rows(seed: int, n: int, slope: float = 2.0) -> pd.DataFrame:
    """Two numbers and a label; y is missing by the label, and x by chance."""
    rng = np.random.default_rng(seed)
    s = rng.random(n) < 0.5
    x = rng.normal(size=n) + s
    y = slope * x + s + rng.normal(size=n)
    x[rng.random(n) < 0.2] = np.nan
    y[(rng.random(n) < 0.5) & s] = np.nan
    return pd.DataFrame({"s": np.where(s, "u", "v"), "x": x, "y": y})


@pytest.fixture(scope="module")
def net():
    return gml.fit(rows(1, 800), GRAPH, **EM)


def test_they_are_those_of_an_ordinary_fit_to_available_rows(net):
    plain = gml.fit(rows(1, 800), GRAPH, missing="available", numeric=["x", "y"])
    seen = with_lines_of_available_rows(net)
    for name in "xy":
        assert seen.cpd(name) == plain.cpd(name)
        assert all(line.rows is not None for line in seen.cpd(name).regressions)
        assert [line.n for line in net.cpd(name).regressions] == [
            line.n for line in plain.cpd(name).regressions
        ]


def test_they_are_read_as_they_were_written(net, tmp_path):
    path = tmp_path / "net.json"
    net.to_file(path)
    again = gml.BayesNet.from_file(path)
    assert again.cpds[2] == net.cpds[2]
    found = json.loads(path.read_text())
    regression = found["nodes"][2]["regressions"][0]
    regression["available"]["available"] = dict(regression["available"])
    path.write_text(json.dumps(found))
    with (
        pytest.warns(GmlWarning, match="its hash differs"),
        pytest.raises(GraphError, match='"available" within "available"'),
    ):
        gml.BayesNet.from_file(path)


def test_a_check_compares_them(net):
    same = gml.check(rows(2, 500), net, missing="available")
    asked = [c for c in same.checks if c.family == "tables" and c.variables[0] == "y"]
    assert not same.failed and any(c.status == "pass" for c in asked)
    other = gml.check(rows(3, 500, slope=2.6), net, missing="available")
    assert other.failed
    assert {c.variables[0] for c in other.checks if c.status == "fail"} == {"y"}


def test_families_that_are_never_whole_keep_none():
    frame = rows(4, 300)
    # No row has both numbers.
    even = np.arange(300) % 2 == 0
    frame.loc[even, "x"], frame.loc[~even, "y"] = np.nan, np.nan
    net = gml.fit(frame, GRAPH, method="bayes", **EM)
    assert all(line.available is None for line in net.cpd("y").regressions)
    assert all(line.available is not None for line in net.cpd("x").regressions)
    notes = " ".join(map(str, gml.check(frame, net, missing="available").notes))
    assert "the model keeps no rows" in notes
