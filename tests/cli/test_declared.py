"""What a graph declares about its columns, and options that say otherwise."""

from __future__ import annotations

import json

import numpy as np
import pytest

import gml as package
from gml.errors import DataError, UsageError
from gml.graph.provenance import Provenance
from tests.command_line import error_line

FORMATS = ("json", "dot", "graphml")
INTERVALS = "the 4 intervals '[-inf,"


@pytest.fixture(scope="module")
def weather(tmp_path_factory):
    """Numbers, a column that is mostly zero, and labels."""
    path = tmp_path_factory.mktemp("weather") / "weather.csv"
    rng = np.random.default_rng(16)
    n = 400
    temp = rng.normal(15, 8, n).round(1)
    hum = (100 - 1.5 * temp + rng.normal(0, 10, n)).round(0)
    rain = np.where(rng.random(n) < 0.8, 0, rng.gamma(2, 3, n).round(1))
    sky = rng.choice(["sun", "cloud"], n)
    rows = (f"{a},{b:.0f},{c},{d}\n" for a, b, c, d in zip(temp, hum, rain, sky, strict=True))
    path.write_text("temp,hum,rain,sky\n" + "".join(rows))
    return path


@pytest.fixture(scope="module")
def graphs(weather):
    """The graph of the intervals, in each format."""
    with pytest.warns(package.GmlWarning, match="fewer intervals than asked for.*'rain' 2, not 4"):
        found = package.pc(weather, bins=4, threads=1)
    for suffix in FORMATS:
        package.write_graph(found.graph, weather.with_name(f"w.{suffix}"))
    return weather.parent


def nodes(path):
    return json.loads(path.read_text())["nodes"]


@pytest.mark.parametrize("more", [(), ("--discretize", "width")])
def test_every_graph_file_is_fitted_as_it_was_learned(gml, weather, tmp_path, more):
    fitted = []
    for suffix in FORMATS:
        graph, model = tmp_path / f"w.{suffix}", tmp_path / f"{suffix}-model.json"
        assert gml("pc", weather, "--bins", 4, *more, "-o", graph).returncode == 0
        assert gml("fit-params", weather, graph, "-o", model).returncode == 0
        fitted.append(nodes(model))
    assert fitted[0] == fitted[1] == fitted[2]
    (temp,) = [node for node in fitted[0] if node["id"] == "temp"]
    assert len(temp["levels"]) == 4 and temp["levels"][0].startswith("[-inf,")


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(
    "options",
    [
        *(["--bins", 5], ["--cut", "temp=0,10"], ["--cut", "temp=quantile:5"]),
        *(["--discretize", "width"], ["--numeric", "temp"], ["--max-levels", 3], ["--gaussian"]),
    ],
    ids=str,
)
def test_what_contradicts_a_graph_is_refused(gml, weather, graphs, suffix, options, tmp_path):
    model = tmp_path / "m.json"
    done = gml("fit-params", weather, graphs / f"w.{suffix}", *options, "-o", model)
    said = error_line(done, 2)
    assert said.startswith(f"gml: error: {options[0]}")
    assert f"w.{suffix}, which" in said
    assert INTERVALS in said and "for column 'temp'" in said
    assert not model.exists()


@pytest.mark.parametrize("suffix", FORMATS)
def test_what_agrees_with_a_graph_is_accepted(gml, weather, graphs, suffix, tmp_path):
    graph = graphs / f"w.{suffix}"
    levels = package.read_graph(graph).levels
    cuts = ",".join(level[1:].split(",")[0] for level in levels["temp"][1:])
    schema = tmp_path / "schema.json"
    columns = {name: {"levels": list(found)} for name, found in levels.items()}
    schema.write_text(json.dumps({"schema": "gml/1", "columns": columns}))
    expected = gml("fit-params", weather, graph, "-o", tmp_path / "expected.json")
    assert expected.returncode == 0
    for options in (
        *(["--bins", 4], ["--cut", f"temp={cuts}"], ["--cut", "temp=quantile:4"]),
        *(["--discretize", "quantile"], ["--max-levels", 4], ["--levels", schema]),
    ):
        done = gml("fit-params", weather, graph, *options, "-o", tmp_path / "m.json")
        assert done.returncode == 0, done.stderr
        assert nodes(tmp_path / "m.json") == nodes(tmp_path / "expected.json")


def test_a_schema_that_contradicts_a_graph_is_refused(gml, weather, graphs, tmp_path):
    schema = tmp_path / "schema.json"
    for column, declared in (
        ("temp", {"cuts": [0, 10]}),
        ("temp", {"type": "numeric"}),
        ("sky", {"levels": ["sun", "rain"]}),
    ):
        schema.write_text(json.dumps({"schema": "gml/1", "columns": {column: declared}}))
        said = error_line(gml("fit-params", weather, graphs / "w.dot", "--levels", schema), 2)
        assert said.startswith("gml: error: --levels") and f"for column '{column}'" in said


@pytest.mark.filterwarnings("ignore:fewer intervals:gml.GmlWarning")
def test_recorded_bins_decide_where_quantiles_collapsed(weather):
    # Most rows have no rain, so that two intervals are left of four.
    graph = package.chow_liu(weather, columns=["rain", "sky"], bins=9, threads=1).graph
    assert len(graph.levels["rain"]) < 9
    net = package.fit(weather, graph, columns=["rain", "sky"], bins=9)
    assert net.graph.levels == graph.levels
    few = len(graph.levels["rain"])
    with pytest.raises(UsageError, match=f"`bins={few}` contradicts the graph"):
        package.fit(weather, graph, columns=["rain", "sky"], bins=few)


def test_numbers_that_were_few_enough_for_the_bins(tmp_path):
    path = tmp_path / "few.csv"
    path.write_text("a,b\n" + "0,1.5\n1,2.5\n2,3.5\n" * 5)
    graph = package.chow_liu(path).graph
    assert package.fit(path, graph, bins=3).graph.levels == graph.levels
    with pytest.raises(UsageError, match="`bins=2` contradicts .* the 3 levels '0', '1', '2'"):
        package.fit(path, graph, bins=2)


@pytest.mark.parametrize(
    "command", [("score", "w.dot"), ("check", "m.json"), ("count", "--graph", "w.dot")]
)
def test_other_commands_refuse_too(gml, weather, graphs, tmp_path, command):
    name, *rest = command
    if name == "check":
        gml("fit-params", weather, graphs / "w.json", "-o", graphs / "m.json")
    output = ["-o", tmp_path / "c.parquet"] if name == "count" else []
    places = [graphs / item if item.startswith(("w.", "m.")) else item for item in rest]
    said = error_line(gml(name, weather, *places, "--bins", 3, *output), 2)
    assert said.startswith("gml: error: --bins 3 contradicts") and INTERVALS in said
    assert gml(name, weather, *places, "--bins", 4, *output).returncode == 0


def test_what_a_graph_implies_is_tested_on_its_intervals(gml, weather, tmp_path):
    graph = tmp_path / "tree.dot"
    assert gml("chowliu", weather, "--bins", 4, "-o", graph).returncode == 0
    found = gml("indtest", weather, "--implied", graph, "-f", "json")
    assert found.returncode == 0, found.stderr
    asked = gml("indtest", weather, "--implied", graph, "--bins", 4, "-f", "json")
    results = json.loads(found.stdout)["results"]
    assert results == json.loads(asked.stdout)["results"]
    assert {result["n"] for result in results} == {400}
    assert max(result["df"] for result in results) <= 9 * 4
    said = error_line(gml("indtest", weather, "--implied", graph, "--bins", 5), 2)
    assert said.startswith("gml: error: --bins 5 contradicts")


def test_a_foreign_graph_on_raw_numbers_is_refused(gml, weather, tmp_path):
    graph = tmp_path / "foreign.dot"
    graph.write_text("digraph { temp -> rain }")
    labels = ["--kinds", "labels"]
    both = ["--columns", "temp,rain", *labels]
    for command in ("fit-params", "score"):
        said = error_line(gml(command, weather, graph, *both), 3)
        assert "foreign.dot declares no levels for it" in said
        assert "different numbers in 400 rows" in said
        assert "--bins 5" in said and "--cut" in said and "--max-levels" in said
        assert gml(command, weather, graph, *both, "--bins", 4).returncode == 0
        assert gml(command, weather, graph, *both, "--max-levels", 255).returncode == 0
    # Twenty numbers, or one for every five rows, are levels like any other.
    small = tmp_path / "small.csv"
    small.write_text("temp,rain\n" + "".join(f"{i % 20},{i % 2}\n" for i in range(40)))
    assert gml("fit-params", small, graph, *labels).returncode == 0
    small.write_text("temp,rain\n" + "".join(f"{i % 21},{i % 2}\n" for i in range(42)))
    said = error_line(gml("fit-params", small, graph, *labels), 3)
    assert "21 different numbers in 42 rows" in said
    small.write_text("temp,rain\n" + "".join(f"x{i % 21},{i % 2}\n" for i in range(42)))
    assert gml("fit-params", small, graph, *labels).returncode == 0


def test_a_frame_is_refused_as_a_file_is(weather):
    import pandas as pd

    frame = pd.read_csv(weather)[["temp", "rain"]]
    graph = package.Graph.from_edges(["temp", "rain"], [("temp", "-->", "rain")])
    with pytest.raises(DataError, match="the graph declares no levels for it"):
        package.fit(frame, graph, kinds="labels")
    with pytest.warns(package.GmlWarning, match="too many values for 400 rows"):
        package.fit(frame, graph, kinds="labels", max_levels=255)


# ---------------------------------------------------------------------- numbers


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(
    "learn", [("hc", "--score", "bic-g"), ("ges", "--score", "bge"), ("pc", "--test", "fisher-z")]
)
def test_a_graph_of_numbers_is_fitted_with_numbers(gml, weather, tmp_path, suffix, learn):
    graph = tmp_path / f"g.{suffix}"
    assert gml(*learn[:1], weather, *learn[1:], "--exclude", "sky", "-o", graph).returncode == 0
    done = gml("fit-params", weather, graph, "-o", tmp_path / "m.json")
    assert done.returncode == 0
    told = [line for line in done.stderr.decode().splitlines() if "learned from numbers" in line]
    assert len(told) == 1 and "regressions fitted" in told[0]
    asked = gml("fit-params", weather, graph, "--gaussian", "-o", tmp_path / "asked.json")
    assert asked.returncode == 0 and b"learned from numbers" not in asked.stderr
    assert nodes(tmp_path / "m.json") == nodes(tmp_path / "asked.json")
    assert all("gaussian" in node for node in nodes(tmp_path / "m.json"))
    assert gml("fit-params", weather, graph, "--method", "bayes").returncode == 0
    for options in (["--bins", 4], ["--cut", "temp=1"], ["--strict"]):
        said = error_line(gml("fit-params", weather, graph, *options), 2)
        assert said.startswith(f"gml: error: {options[0]}")
        assert "declares numbers for column 'temp'" in said


def test_the_provenance_of_an_earlier_version_says_so_too(weather):
    edges = [("temp", "-->", "hum")]
    learning = Provenance({"command": "hc", "settings": {"score": "aic-g"}})
    graph = package.Graph.from_edges(["temp", "hum"], edges, learning=learning)
    with pytest.warns(package.GmlWarning, match="learned from numbers by aic-g"):
        assert package.fit(weather, graph, exclude=["rain", "sky"]).is_gaussian
