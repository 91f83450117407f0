"""gml score on the command line."""

from __future__ import annotations

import csv
import io
import json
import math

import pytest

from tests.command_line import error_line

ROWS = "a,b,c\n" + "x,u,0\nx,u,1\nx,v,0\ny,v,1\ny,v,0\ny,v,1\nx,u,0\ny,u,1\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data.csv").write_text(ROWS)
    (tmp_path / "ab.dot").write_text("digraph { a -> b; c }")
    (tmp_path / "ba.dot").write_text("digraph { b -> a; c }")
    (tmp_path / "none.dot").write_text("digraph { a; b; c }")
    (tmp_path / "line.dot").write_text(
        "digraph { a -> b [dir=none, arrowhead=none, arrowtail=none]; c }"
    )
    (tmp_path / "full.dot").write_text("digraph { a -> b; a -> c; b -> c }")
    return tmp_path


def result(done):
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""
    return json.loads(done.stdout)


def test_one_graph(gml, folder):
    found = result(gml("score", "data.csv", "ab.dot", "--score", "loglik,bic", "-f", "json"))
    assert found["schema"] == "gml/1"
    assert found["n"] == 8
    (graph,) = found["graphs"]
    # a and c are fair coins; b given a is 3:1 and 1:3
    loglik = 16 * math.log(0.5) + 2 * (3 * math.log(0.75) + math.log(0.25))
    assert graph["graph"] == "ab.dot"
    assert graph["dim"] == 4
    assert graph["scores"]["loglik"] == pytest.approx(loglik, rel=1e-14)
    assert graph["scores"]["bic"] == pytest.approx(loglik - 2 * math.log(8), rel=1e-14)
    assert "nodes" not in graph


def test_text_is_for_people(gml, folder):
    done = gml("score", "data.csv", "ab.dot")
    assert done.stdout == b"graph        bic  dim\nab.dot  -19.7479    4\n"


def test_graphs_are_ranked(gml, folder):
    found = result(
        gml(
            "score",
            "data.csv",
            "full.dot",
            "none.dot",
            "ab.dot",
            "--score",
            "bic,aic,k2",
            "-f",
            "json",
        )
    )
    graphs = found["graphs"]
    scores = [graph["scores"]["bic"] for graph in graphs]
    assert scores == sorted(scores, reverse=True)
    assert graphs[0]["differences"]["bic"] == 0
    last = graphs[-1]
    assert last["differences"]["bic"] == pytest.approx(scores[-1] - scores[0])
    assert last["log10_bayes_factors"]["k2"] == pytest.approx(
        last["differences"]["k2"] / math.log(10)
    )
    assert set(last["log10_bayes_factors"]) == {"bic", "k2"}


def test_per_node(gml, folder):
    found = result(
        gml("score", "data.csv", "ab.dot", "--per-node", "--score", "bdeu", "-f", "json")
    )
    (graph,) = found["graphs"]
    assert list(graph["nodes"]) == ["a", "b", "c"]
    total = sum(node["bdeu"] for node in graph["nodes"].values())
    assert total == pytest.approx(graph["scores"]["bdeu"], rel=1e-14)
    done = gml("score", "data.csv", "ab.dot", "--per-node", "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout.decode())))
    assert [row["node"] for row in rows] == ["a", "b", "c", ""]
    assert [row["parents"] for row in rows] == ["", "a", "", ""]
    assert [row["dim"] for row in rows] == ["1", "2", "1", "4"]
    assert float(rows[-1]["bic"]) == pytest.approx(sum(float(row["bic"]) for row in rows[:-1]))


def test_explain_is_the_likelihood(gml, folder):
    found = result(
        gml("score", "data.csv", "full.dot", "--explain", "--score", "loglik", "-f", "json")
    )
    (graph,) = found["graphs"]
    parts = graph["explain"].values()
    explained = sum(node["information"] - node["entropy"] for node in parts)
    assert 8 * explained == pytest.approx(graph["scores"]["loglik"], rel=1e-13)
    assert graph["explain"]["a"] == {"entropy": pytest.approx(math.log(2)), "information": 0}
    assert b"I(x;pa)" in gml("score", "data.csv", "full.dot", "--explain").stdout


def test_cpdag_through_an_extension(gml, folder):
    whole = gml("score", "data.csv", "ab.dot", "ba.dot", "line.dot", "-f", "json")
    scores = {graph["scores"]["bic"] for graph in result(whole)["graphs"]}
    assert max(scores) - min(scores) < 1e-12
    done = gml("score", "data.csv", "line.dot", "--score", "k2")
    assert done.returncode == 2
    assert b"k2" in done.stderr


def test_fail_under(gml, folder):
    assert gml("score", "data.csv", "ab.dot", "--fail-under", "-19.8").returncode == 0
    done = gml("score", "data.csv", "ab.dot", "--fail-under", "-19.7")
    assert done.returncode == 1
    assert done.stdout
    assert done.stderr == b""


def test_compare_to(gml, folder):
    """Equivalent graphs are as good, whatever their last bits."""
    assert gml("score", "data.csv", "ba.dot", "--compare-to", "ab.dot").returncode == 0
    assert gml("score", "data.csv", "ab.dot", "--compare-to", "ba.dot").returncode == 0
    assert gml("score", "data.csv", "full.dot", "--compare-to", "ab.dot").returncode == 1
    assert gml("score", "data.csv", "ab.dot", "--compare-to", "full.dot").returncode == 0
    assert gml("score", "data.csv", "ab.dot", "full.dot", "--compare-to", "ab.dot").returncode == 1


def test_two_conditions_must_both_hold(gml, folder):
    both = ("score", "data.csv", "ab.dot", "--compare-to", "full.dot", "--fail-under")
    assert gml(*both, "-19.8").returncode == 0
    assert gml(*both, "-19.7").returncode == 1


def test_edge_penalty(gml, folder):
    def bic(*options):
        found = result(gml("score", "data.csv", "full.dot", *options, "-f", "json"))
        return found["graphs"][0]["scores"]["bic"]

    assert bic("--edge-penalty", "2") == pytest.approx(bic() - 6)


def test_folds_and_holdout(gml, folder):
    done = gml(
        "score", "data.csv", "full.dot", "none.dot", "--folds", "4", "--seed", "3", "-f", "json"
    )
    graphs = result(done)["graphs"]
    assert [graph["heldout"] for graph in graphs] == sorted(graph["heldout"] for graph in graphs)
    shuffled = ROWS.splitlines()
    (folder / "shuffled.csv").write_text("\n".join([shuffled[0], *reversed(shuffled[1:])]) + "\n")
    again = gml(
        "score", "shuffled.csv", "full.dot", "none.dot", "--folds", "4", "--seed", "3", "-f", "json"
    )
    assert result(again)["graphs"] == graphs
    (folder / "new.csv").write_text("c,b,a\n0,u,x\n1,w,y\n")
    found = result(gml("score", "data.csv", "none.dot", "--holdout", "new.csv", "-f", "json"))
    # w is a level of the other file only: ½ of 8 + 3/2 rows; u has 4½ of them
    expected = (
        -(2 * math.log(0.5) + 2 * math.log(0.5) + math.log(4.5 / 9.5) + math.log(0.5 / 9.5)) / 2
    )
    assert found["graphs"][0]["heldout"] == pytest.approx(expected, rel=1e-13)


def test_gaussian(gml, folder):
    (folder / "n.csv").write_text("a,b\n1,2.5\n2,3.5\n3,7\n4,8\n6,9.5\n")
    (folder / "g.dot").write_text("digraph { a -> b }")
    found = result(gml("score", "n.csv", "g.dot", "--score", "loglik-g,bic-g,bge", "-f", "json"))
    scores = found["graphs"][0]["scores"]
    assert scores["bic-g"] == pytest.approx(scores["loglik-g"] - 2.5 * math.log(5))
    assert found["graphs"][0]["dim"] == 5


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["nodata.csv", "ab.dot"], 3, "No such file"),
        (["data.csv", "nograph.dot"], 3, "No such file"),
        (["data.csv", "cycle.dot"], 3, "cycle: 'a' -> 'b' -> 'c' -> 'a'"),
        (["data.csv", "typo.dot"], 3, "column 'B' not found; did you mean 'b'?"),
        (["data.csv", "ab.dot", "typo.dot"], 3, "different nodes: 'B', 'b'"),
        (["data.csv", "ab.dot", "--score", "bicc"], 2, "did you mean 'bic'?"),
        (["data.csv", "ab.dot", "--score", "bic,bge"], 2, "do not go together"),
        (["data.csv", "ab.dot", "--ess", "10"], 2, "--ess does not go with --score bic"),
        pytest.param(
            ["data.csv", "ab.dot", "--score", "bdeu", "--ess", "0"],
            2,
            "'--ess': must be between 1e-100 and 1e100, not 0",
            id="args8-2---ess is positive",
        ),
        (["data.csv", "ab.dot", "--missing", "available"], 2, "different rows"),
        (["data.csv", "ab.dot", "--holdout", "data.csv", "--folds", "3"], 2, "exclude"),
        (["data.csv", "ab.dot", "--folds", "3", "--fail-under", "1"], 2, "--compare-to"),
        (["data.csv", "ab.dot", "--folds", "9"], 4, "8 rows cannot be split into 9"),
        (["data.csv", "ab.dot", "--score", "bge"], 3, "is not a number"),
        (["data.csv", "ab.dot", "-o", "ab.dot", "-f", "csv"], 2, "is an input"),
        (["-", "-"], 2, "only one argument can be -"),
        (["data.csv"], 2, "Missing argument"),
    ],
)
def test_errors(gml, folder, args, code, message):
    (folder / "cycle.dot").write_text("digraph { a -> b; b -> c; c -> a }")
    (folder / "typo.dot").write_text("digraph { a -> B; c }")
    done = gml("score", *args)
    assert done.returncode == code
    assert message in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1
    assert done.stdout == b""


def test_a_column_without_a_node_is_ignored_and_said_once(gml, folder):
    (folder / "two.dot").write_text("digraph { a -> b }")
    (folder / "two0.dot").write_text("digraph { a; b }")
    done = gml("score", "data.csv", "two.dot", "two0.dot")
    assert done.returncode == 0
    assert done.stderr == b"gml: warning: not in the graph, ignored: 'c'\n"


def test_levels_of_the_graph_are_declared(gml, folder):
    """Unseen levels count in the dimension; a level that the graph does not know is an error."""
    graph = {
        "directed": True,
        "nodes": [{"id": "a", "levels": ["x", "y", "z"]}, {"id": "b"}, {"id": "c"}],
        "edges": [{"source": "a", "target": "b"}],
    }
    (folder / "g.json").write_text(json.dumps(graph))
    found = result(gml("score", "data.csv", "g.json", "-f", "json"))
    assert found["graphs"][0]["dim"] == 2 + 3 + 1
    graph["nodes"][0]["levels"] = ["x"]
    (folder / "g.json").write_text(json.dumps(graph))
    done = gml("score", "data.csv", "g.json")
    assert done.returncode == 3
    assert b"line 5: column 'a'" in done.stderr


def test_intervals_of_a_learned_graph_are_cut_again(gml, folder):
    rows = "\n".join(f"{i},{i % 7}" for i in range(100))
    (folder / "n.csv").write_text(f"v,w\n{rows}\n")
    learned = gml("chowliu", "n.csv", "--bins", "3", "-o", "tree.json")
    assert learned.returncode == 0
    bare = gml("score", "n.csv", "tree.json", "-f", "json")
    again = gml("score", "n.csv", "tree.json", "--bins", "3", "-f", "json")
    assert result(bare)["graphs"] == result(again)["graphs"]


def test_levels_may_differ_in_order(gml, folder):
    """Learned and true graph of the same nodes, whose files list the levels another way."""
    for name, levels in (("one", ["x", "y"]), ("two", ["y", "x"]), ("three", ["x", "y", "z"])):
        graph = {
            "directed": True,
            "nodes": [{"id": "a", "levels": levels}, {"id": "b"}, {"id": "c"}],
            "edges": [{"source": "a", "target": "b"}],
        }
        (folder / f"{name}.json").write_text(json.dumps(graph))
    graphs = result(gml("score", "data.csv", "one.json", "two.json", "-f", "json"))["graphs"]
    assert graphs[0]["scores"] == graphs[1]["scores"]
    done = gml("score", "data.csv", "one.json", "three.json")
    assert done.returncode == 3
    assert b"'x', 'y' in one.json, but 'x', 'y', 'z' in three.json" in done.stderr


def test_an_output_does_not_replace_the_holdout(gml, folder):
    done = gml("score", "data.csv", "ab.dot", "--holdout", "new.csv", "-o", "new.csv", "-f", "csv")
    assert done.returncode in (2, 3)
    (folder / "new.csv").write_text(ROWS)
    done = gml("score", "data.csv", "ab.dot", "--holdout", "new.csv", "-o", "new.csv", "-f", "csv")
    assert done.returncode == 2
    assert (folder / "new.csv").read_text() == ROWS


def test_intervals_as_labels_and_as_numbers(gml, folder):
    """A holdout file is cut where DATA was; a file of labels of intervals is one of labels."""
    (folder / "n.csv").write_text("v\n" + "\n".join(map(str, range(60))) + "\n")
    (folder / "m.csv").write_text("v\n-5\n17.5\n99\n")
    (folder / "v.dot").write_text("digraph { v }")
    done = gml("score", "n.csv", "v.dot", "--cut", "v=20,40", "--holdout", "m.csv", "-f", "json")
    expected = -math.log(20.5 / 61.5)
    assert result(done)["graphs"][0]["heldout"] == pytest.approx(expected)
    chosen = gml(
        "score", "n.csv", "v.dot", "--cut", "v=quantile:3", "--holdout", "m.csv", "-f", "json"
    )
    assert result(chosen)["graphs"][0]["heldout"] == pytest.approx(expected)
    (folder / "l.csv").write_text('v\n"[0,20)"\n"[20,40)"\n')
    (folder / "k.csv").write_text('v\n"[0,20)"\n"[40,60)"\n')
    assert gml("score", "l.csv", "v.dot", "--holdout", "k.csv").returncode == 0


def test_differences_are_to_the_best_by_each_score(gml, folder):
    done = gml("score", "data.csv", "full.dot", "none.dot", "--score", "loglik,bic", "-f", "json")
    graphs = result(done)["graphs"]
    assert all(value <= 0 for graph in graphs for value in graph["differences"].values())
    assert {graph["differences"]["loglik"] == 0 for graph in graphs} == {True, False}
    done = gml("score", "data.csv", "full.dot", "--compare-to", "none.dot", "-f", "json")
    marked = {graph["graph"]: graph.get("baseline") for graph in json.loads(done.stdout)["graphs"]}
    assert marked == {"full.dot": None, "none.dot": True}


def test_fractional_weights(gml, folder):
    (folder / "w.csv").write_text("a,b,w\nx,u,0.5\ny,v,1.5\nx,v,2\n")
    (folder / "two.dot").write_text("digraph { a -> b }")
    found = result(
        gml(
            "score",
            "w.csv",
            "two.dot",
            "--weights-fractional",
            "w",
            "--score",
            "loglik",
            "-f",
            "json",
        )
    )
    assert found["n"] == 4
    expected = (
        2.5 * math.log(2.5 / 4) + 1.5 * math.log(1.5 / 4) + 0.5 * math.log(0.2) + 2 * math.log(0.8)
    )
    assert found["graphs"][0]["scores"]["loglik"] == pytest.approx(expected, rel=1e-13)


def test_same_bytes_for_threads_and_hash_seeds(gml, folder):
    outputs = {
        gml(
            "score", "data.csv", "full.dot", "ab.dot", "--per-node", "--folds", "2",
            "--score", "bdeu,bic", "-f", "json", "--threads", threads, env={"PYTHONHASHSEED": seed},
        ).stdout
        for threads in ("1", "2")
        for seed in ("0", "1")
    }  # fmt: skip
    assert len(outputs) == 1


def test_a_holdout_is_read_as_the_score_takes_columns(gml, tmp_path):
    """A score of numbers takes few and whole numbers as numbers, in both files."""
    u, v = [0, 1, 2, 3, 4], [1, 3, 4, 8, 8]
    new = [(0, 1), (1, 2), (9, 19)]
    rows = "\n".join(f"{x},{y}" for x, y in zip(u, v, strict=True))
    (tmp_path / "fit.csv").write_text(f"u,v\n{rows}\n")
    (tmp_path / "new.csv").write_text("u,v\n" + "\n".join(f"{x},{y}" for x, y in new) + "\n")
    (tmp_path / "g.dot").write_text("digraph { u -> v }")

    # u: mean 2, variance 2; v: regressed on u
    slope = sum((x - 2) * y for x, y in zip(u, v, strict=True)) / 10
    at_0 = sum(v) / 5 - 2 * slope
    variance = sum((y - at_0 - slope * x) ** 2 for x, y in zip(u, v, strict=True)) / 5

    def loss(error, variance):
        return (math.log(2 * math.pi * variance) + error**2 / variance) / 2

    expected = sum(loss(x - 2, 2.0) + loss(y - at_0 - slope * x, variance) for x, y in new) / 3
    options = ("--score", "bic-g", "--holdout", "new.csv", "-f", "json")
    found = result(gml("score", "fit.csv", "g.dot", *options))
    assert found["graphs"][0]["heldout"] == pytest.approx(expected, rel=1e-12)


def test_undirected_graphs(gml, sample_data, tmp_path):
    """A decomposable one scores as the DAG of its edges, another by its likelihood alone."""
    data = sample_data / "asia.csv"
    edges = "smoke -- lung; lung -- either; either -- xray; smoke -- bronc; asia; tub; dysp"
    (tmp_path / "tree.dot").write_text(f"graph {{ {edges} }}")
    (tmp_path / "dag.dot").write_text(f"digraph {{ {edges.replace('--', '->')} }}")
    (tmp_path / "ring.dot").write_text(f"graph {{ {edges}; bronc -- xray }}")
    done = gml("score", data, "tree.dot", "dag.dot", "--score", "bic,bdeu", "-f", "csv")
    tree, dag = list(csv.DictReader(done.stdout.decode().splitlines()))
    assert tree["dim"] == dag["dim"]
    for name in ("bic", "bdeu"):
        assert float(tree[name]) == pytest.approx(float(dag[name]), abs=1e-8)
    both = gml("score", data, "ring.dot", "tree.dot", "--score", "loglik", "-f", "csv")
    ring, tree = list(csv.DictReader(both.stdout.decode().splitlines()))
    assert [ring["graph"], tree["graph"]] == ["ring.dot", "tree.dot"]
    assert float(ring["loglik"]) > float(tree["loglik"])
    assert int(ring["dim"]) == int(tree["dim"]) + 1
    for option, message in (
        (("--score", "bdeu"), "ring.dot: an undirected graph that is not decomposable"),
        (("--per-node",), "--per-node: ring.dot is undirected and not decomposable"),
        (("--score", "k2"), "tells equivalent DAGs apart"),
    ):
        assert message in error_line(gml("score", data, "ring.dot", *option), 2)
