"""gml glasso and gml notears as users run them."""

from __future__ import annotations

import json
import signal
import subprocess
import time

import numpy as np
import pytest

import gml as library
from gml.pictures.plots.axes import figure
from tests.command_line import GML, error_line
from tests.gaussian_tables import named

COMMANDS = ("glasso", "notears")


@pytest.fixture
def crops(sample_data):
    return sample_data / "crops.csv"


def test_graphs_go_to_standard_output(gml, crops):
    done = gml("glasso", crops)
    assert done.returncode == 0
    assert done.stdout.startswith(b"digraph")
    assert b"partial_correlation" in done.stdout
    assert b"gml: l1 0.107976 of 52 looked at: 10 edges, eBIC 20812.338438" in done.stderr
    assert gml("glasso", crops, "-q").stderr == b""


def test_the_precision_matrix_is_in_the_file(gml, crops):
    content = json.loads(gml("glasso", crops, "-f", "json").stdout)
    learning = content["graph"]["learning"]
    names = [node["id"] for node in content["nodes"]]
    matrix = np.diag([learning["precision_diagonal"][name] for name in names])
    for edge in content["edges"]:
        i, j = names.index(edge["source"]), names.index(edge["target"])
        matrix[i, j] = matrix[j, i] = edge["precision"]
    assert np.array_equal(matrix, library.glasso(crops).precision)
    assert content["graph"]["kind"] == "undirected"
    assert content["directed"] is False
    assert len(learning["path"]["l1"]) == len(learning["path"]["ebic"]) == 52


@pytest.mark.filterwarnings("ignore::gml.GmlWarning")
def test_files_are_read_back(gml, crops, tmp_path):
    for command, suffix in (("glasso", "json"), ("notears", "dot"), ("glasso", "graphml")):
        path = tmp_path / f"{command}.{suffix}"
        assert gml(command, crops, "-q", "-o", path).returncode == 0
        graph, found = library.read_graph(path), getattr(library, command)(crops).graph
        assert (graph.kind, graph.n_edges) == (found.kind, found.n_edges)
        for edge, expected in zip(graph.edges, found.edges, strict=True):
            assert dict(edge.attributes) == pytest.approx(dict(expected.attributes))


def test_pictures_show_the_sign(gml, crops, tmp_path):
    assert gml("glasso", crops, "-o", "g.svg").returncode == 0
    assert gml("notears", crops, "-q", "-o", "n.svg").returncode == 0
    assert b"partial correlation" in (tmp_path / "g.svg").read_bytes()
    for name in ("g.svg", "n.svg"):
        assert b"stroke-dasharray" in (tmp_path / name).read_bytes()


def test_a_heat_map_of_partial_correlations(gml, crops, tmp_path):
    assert gml("glasso", crops, "-q", "-o", "g.json").returncode == 0
    done = gml("draw", "--kind", "matrix", "g.json")
    assert (done.returncode, done.stderr) == (0, b"")
    graph = library.read_graph(tmp_path / "g.json")
    edge = graph.edges[0]
    ends = ", ".join(sorted([edge.source, edge.target]))
    assert b"Partial correlation between" in done.stdout
    shown = figure(edge.attributes["partial_correlation"])
    assert f"<title>{ends}: {shown}<" in done.stdout.decode()


def test_notears_prints_varsortability(gml, crops):
    done = gml("notears", crops, "-f", "text")
    assert done.returncode == 0
    assert b"gml: warning: varsortability 0.917" in done.stderr
    assert b"(--raw leaves them)" in done.stderr
    assert b"weight" in done.stdout
    assert b"artefact of units" in gml("notears", crops, "--raw").stderr


def test_a_raised_threshold_is_said(gml, crops):
    done = gml("notears", crops, "--threshold", "0", "-f", "json")
    assert done.returncode == 0
    assert b"weights from 0 on have a cycle: only those above" in done.stderr
    learning = json.loads(done.stdout)["graph"]["learning"]
    assert learning["threshold"] > learning["settings"]["threshold"] == 0


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["-c", "crop,wieght"], 2, "did you mean 'weight'"),
        (["--exclude", "nobody"], 2, "nobody"),
        (["--missing", "level"], 2, "--missing level is for labels"),
        (["--missing", "available"], 2, "use drop or error"),
        (["--l1", "-1"], 2, "--l1"),
        (["--max-seconds", "-1"], 2, "--max-seconds"),
        (["-o", "graph.xyz"], 2, "graph.xyz"),
    ],
)
def test_wrong_options(gml, crops, command, options, code, words):
    assert words in error_line(gml(command, crops, *options), code)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--l1", "0.1", "--gamma", "1"], "--gamma is about choosing a penalty, and --l1 is one"),
        (["--gamma", "1", "--folds", "3"], "--gamma belongs to --criterion ebic"),
        (["--seed", "1"], "--seed belongs to --criterion folds"),
        (["--raw", "--transform", "rank"], "--raw and --transform rank contradict each other"),
        (["--folds", "1"], "--folds"),
        (["--transform", "log"], "'log' is not one of"),
    ],
)
def test_options_that_contradict(gml, crops, options, words):
    assert words in error_line(gml("glasso", crops, *options), 2)


@pytest.mark.parametrize("command", COMMANDS)
def test_bad_files(gml, tmp_path, command):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "header.csv").write_text("a,b\n")
    (tmp_path / "text.csv").write_text("a,b\n1,2\n2,red\n3,blue\n")
    (tmp_path / "one.csv").write_text("a,b\n1,2\n")
    (tmp_path / "same.csv").write_text("a,b\n1,2\n1,3\n1,5\n")
    (tmp_path / "holes.csv").write_text("a,b\n1,2\n,3\n4,1\n")
    (tmp_path / "infinite.csv").write_text("a,b\n1,2\ninf,3\n4,1\n")
    for name, code, words in (
        ("empty.csv", 3, "empty"),
        ("header.csv", 4, "no rows"),
        ("text.csv", 3, "line 3: column 'b': 'red' is not a number"),
        ("one.csv", 4, "one row"),
        ("same.csv", 3, "column 'a' has only one value"),
        ("holes.csv", 3, "'a'"),
        ("infinite.csv", 3, "'inf'"),
    ):
        assert words in error_line(gml(command, name), code), name
    assert gml(command, "holes.csv", "--missing", "drop", "-q").returncode == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_labels_are_refused_with_a_hint(gml, shared, command):
    done = gml(command, shared / "data" / "real" / "penguins.csv")
    assert "leave them out (--exclude 'species,island,sex')" in error_line(done, 3)


def test_time_is_up(gml, crops):
    done = gml("glasso", crops, "--max-seconds", "0", "-f", "json")
    assert done.returncode == 5
    assert b"stopped by --max-seconds: this is the best of 1 graph" in done.stderr
    assert json.loads(done.stdout)["edges"] == []
    done = gml("glasso", crops, "--max-seconds", "0", "--l1", "0.01")
    assert "--max-seconds ran out before the first penalty" in error_line(done, 4)
    done = gml("notears", crops, "--max-seconds", "0", "-f", "json")
    assert done.returncode == 5
    assert b"stopped by --max-seconds: these are the weights so far" in done.stderr
    assert json.loads(done.stdout)["graph"]["learning"]["complete"] is False


def test_count_files_have_no_numbers(gml, tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "d.csv").write_text("a,b\nx,y\nx,z\nw,z\n")
    assert gml("count", "d.csv", "--pairs", "-o", "c.parquet").returncode == 0
    for command in COMMANDS:
        done = gml(command, "c.parquet")
        assert done.returncode in (2, 3, 4)
        assert b"Traceback" not in done.stderr


def test_a_pipe_that_ends_early_is_no_error(shell, crops):
    for command in COMMANDS:
        done = shell(f"G {command} - < {crops} | head -n 1; echo ${{PIPESTATUS[0]}}")
        assert done.stdout.splitlines()[-1] == b"0"
        assert done.stdout.startswith(b"digraph")


def test_hash_seeds_and_threads_change_no_byte(gml_process, crops):
    for command in (("glasso", "--folds", "3"), ("notears",)):
        runs = {
            gml_process(
                command[0], crops, *command[1:], "--threads", n, "-f", "json",
                env={"PYTHONHASHSEED": seed},
            ).stdout
            for n, seed in (("1", "0"), ("2", "1"), ("2", "7"))
        }  # fmt: skip
        assert len(runs) == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_an_interrupt_leaves_no_file(tmp_path, command):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(150, 150)) @ rng.normal(size=(150, 150))
    named(rows).to_csv(tmp_path / "wide.csv", index=False)
    options = ["--folds", "10", "--n-penalties", "2000"] if command == "glasso" else []
    process = subprocess.Popen(
        [*GML, command, "wide.csv", "-o", "out.json", "-v", *options],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
    )
    assert b"150 columns" in process.stderr.readline()
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stderr.endswith(b"gml: error: interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["wide.csv"]
