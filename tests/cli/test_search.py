"""gml hc and gml ges on the command line."""

from __future__ import annotations

import csv
import io
import json
import random

import pytest


def text_of(done, code=0):
    assert done.returncode == code, done.stderr.decode()
    return done.stdout.decode()


def graph_of(done, code=0):
    return json.loads(text_of(done, code))


def edges_of(graph):
    return {(e["source"], e["type"], e["target"]) for e in graph["edges"]}


@pytest.mark.parametrize(("command", "kind"), [("hc", "dag"), ("ges", "cpdag")])
def test_json_says_what_was_done(gml, asia, command, kind):
    done = gml(command, asia, "-f", "json")
    graph = graph_of(done)
    assert done.stderr == b""
    about = graph["graph"]
    assert about["kind"] == kind
    learning = about["learning"]
    assert learning["command"] == command
    assert learning["settings"] == {"score": "bic", "max_parents": None}
    assert learning["rows"] == 5000
    assert learning["steps"] > 0
    assert learning["scores_computed"] > 0
    assert len(learning["data"]) == 64
    scored = gml("score", asia, "-", "-f", "json", stdin=done.stdout)
    (only,) = json.loads(scored.stdout)["graphs"]
    assert only["scores"]["bic"] == pytest.approx(learning["score"], rel=1e-12)


@pytest.mark.parametrize("command", ["hc", "ges"])
def test_dot_by_default_and_text(gml, asia, command):
    assert text_of(gml(command, asia)).startswith("digraph {")
    assert text_of(gml(command, asia, "-f", "text")).splitlines()[0].endswith("8 nodes, 7 edges")


def test_forms_of_the_result(gml, asia):
    climbed = graph_of(gml("hc", asia, "--cpdag", "--tabu", "15", "--restarts", "5", "-f", "json"))
    searched = graph_of(gml("ges", asia, "-f", "json"))
    assert climbed["graph"]["kind"] == "cpdag"
    assert edges_of(climbed) == edges_of(searched)
    dag = graph_of(gml("ges", asia, "--dag", "-f", "json"))
    assert dag["graph"]["kind"] == "dag"
    assert {frozenset(e[::2]) for e in edges_of(dag)} == {
        frozenset(e[::2]) for e in edges_of(searched)
    }


@pytest.mark.parametrize("command", ["hc", "ges"])
def test_same_bytes_whatever_the_seed_of_hashes_and_the_threads(gml, asia, command):
    outputs = {
        text_of(
            gml(
                *(command, asia, "--restarts", "3", "-f", "json", "--threads", str(threads)),
                env={"PYTHONHASHSEED": str(seed)},
            )
        )
        for seed, threads in ((0, 1), (1, 2), (2, 3))
    }
    assert len(outputs) == 1


@pytest.mark.parametrize("command", ["hc", "ges"])
def test_order_of_rows_and_columns_does_not_matter(gml, asia, tmp_path, command):
    rows = list(csv.reader(asia.read_text().splitlines()))
    shuffled = random.Random(4)
    order = list(range(len(rows[0])))
    shuffled.shuffle(order)
    body = rows[1:]
    shuffled.shuffle(body)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        [[row[j] for j in order] for row in (rows[0], *body)]
    )
    (tmp_path / "shuffled.csv").write_text(text.getvalue())
    one = graph_of(gml(command, asia, "--restarts", "3", "-f", "json"))
    other = graph_of(gml(command, "shuffled.csv", "--restarts", "3", "-f", "json"))
    undirected = {frozenset(e[::2]) for e in edges_of(one) if e[1] == "---"}
    assert undirected == {frozenset(e[::2]) for e in edges_of(other) if e[1] == "---"}
    arrows = {e for e in edges_of(one) if e[1] == "-->"}
    assert arrows == {e for e in edges_of(other) if e[1] == "-->"}
    assert one["graph"]["learning"]["score"] == other["graph"]["learning"]["score"]


@pytest.mark.parametrize("command", ["hc", "ges"])
def test_trace_adds_up(gml, asia, tmp_path, command):
    done = gml(command, asia, "--restarts", "2", "--trace", "steps.csv", "-f", "json")
    score = graph_of(done)["graph"]["learning"]["score"]
    steps = list(csv.DictReader((tmp_path / "steps.csv").read_text().splitlines()))
    assert list(steps[0]) == [
        *("step", "phase", "move", "source", "target", "others", "gain", "score")
    ]
    assert [int(step["step"]) for step in steps] == list(range(1, len(steps) + 1))
    before = None
    for step in steps:
        if before is not None and step["move"] != "perturb":
            assert float(step["score"]) == pytest.approx(before + float(step["gain"]), abs=1e-5)
        before = float(step["score"])
    assert max(float(step["score"]) for step in steps) == pytest.approx(score, abs=1e-5)
    assert sum(step["move"] == "perturb" for step in steps) == 2


@pytest.mark.parametrize("command", ["hc", "ges"])
def test_knowledge(gml, asia, command):
    done = gml(
        *(command, asia, "-f", "json", "--require", "asia->xray", "--forbid", "smoke->lung"),
        *("--tiers", "asia,smoke < tub,lung,bronc < either < xray,dysp"),
    )
    graph = graph_of(done)
    arrows = {(s, t) for s, type_, t in edges_of(graph) if type_ == "-->"}
    assert ("asia", "xray") in arrows
    assert ("smoke", "lung") not in arrows
    tier = dict.fromkeys(("asia", "smoke"), 0) | dict.fromkeys(("tub", "lung", "bronc"), 1)
    tier |= {"either": 2, "xray": 3, "dysp": 3}
    assert all(tier[s] <= tier[t] for s, t in arrows)
    assert graph["graph"]["kind"] == ("dag" if command == "hc" else "pdag")
    assert graph["graph"]["learning"]["knowledge"]["require"] == [["asia", "xray"]]
    bad = gml(command, asia, "--require", "asia->xray", "--forbid", "asia->xray")
    assert bad.returncode == 3
    assert bad.stderr.count(b"\n") == 1


def test_start(gml, asia, tmp_path):
    (tmp_path / "start.dot").write_text(
        "digraph { asia -> tub; smoke; lung; bronc; either; xray; dysp }"
    )
    started = text_of(gml("hc", asia, "--start", "start.dot", "-f", "text"))
    assert started.startswith("dag")
    (tmp_path / "few.dot").write_text("digraph { asia -> tub }")
    done = gml("hc", asia, "--start", "few.dot")
    assert done.returncode == 3
    assert b"no node for the columns 'smoke', 'lung'" in done.stderr
    done = gml("hc", asia, "--start", "start.dot", "--forbid", "asia->tub")
    assert done.returncode == 3
    assert b"'asia' -> 'tub'" in done.stderr


@pytest.mark.parametrize("command", ["hc", "ges"])
def test_max_parents(gml, asia, command):
    done = gml(command, asia, "--max-parents", "1", "-f", "json")
    arrows = [t for _, type_, t in edges_of(graph_of(done)) if type_ == "-->"]
    assert len(arrows) == len(set(arrows))
    assert (b"warning" in done.stderr) == (command == "ges")


@pytest.mark.parametrize("command", ["hc", "ges"])
def test_out_of_time_writes_the_best_so_far(gml, asia, tmp_path, command):
    done = gml(command, asia, "--max-seconds", "0", "-o", "graph.json", "--restarts", "5")
    assert done.returncode == 5
    assert done.stderr == (
        b"gml: warning: stopped by --max-seconds: this is the best graph so far\n"
    )
    graph = json.loads((tmp_path / "graph.json").read_text())
    assert graph["graph"]["learning"]["complete"] is False
    assert graph["edges"] == []


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("ges", "--score", "k2"), "score-equivalent"),
        (("ges", "--phases", "forward,sideways"), "phase 'sideways'"),
        pytest.param(
            ("ges", "--phases", "forward,forward"), "lists 'forward' twice", id="args2-different"
        ),
        (("hc", "--score", "bic,aic"), "one score"),
        (("hc", "--score", "bick"), "'bick'"),
        (("hc", "--cpdag", "--score", "k2"), "score-equivalent"),
        (("hc", "--seed", "3"), "--restarts"),
        (("hc", "--max-parents", "0", "--require", "asia->tub"), "--max-parents is 0"),
        (("hc", "--perturb", "3"), "--restarts"),
        (("hc", "--missing", "available"), "--missing available"),
        (("hc", "--trace", "-"), "needs a file"),
        (("hc", "--require", "asja->tub"), "'asja'"),
        (("hc", "-c", "asia,tubb"), "'tubb'"),
        (("hc", "--start", "nowhere.dot"), "nowhere.dot"),
    ],
)
def test_wrong_usage(gml, asia, args, said):
    command, *rest = args
    done = gml(command, asia, *rest)
    assert done.returncode in (2, 3)
    assert done.stdout == b""
    assert done.stderr.count(b"\n") == 1
    assert said in done.stderr.decode()


@pytest.mark.parametrize("command", ["hc", "ges"])
def test_few_and_constant_columns(gml, tmp_path, command):
    (tmp_path / "one.csv").write_text("a\nx\ny\n")
    assert "1 node, 0 edges" in text_of(gml(command, "one.csv", "-f", "text"))
    (tmp_path / "constant.csv").write_text("a,b,c\n" + "x,u,k\ny,v,k\n" * 50)
    done = gml(command, "constant.csv", "-f", "json")
    assert {frozenset(e[::2]) for e in edges_of(graph_of(done))} == {frozenset("ab")}
    (tmp_path / "empty.csv").write_text("a,b\n")
    assert gml(command, "empty.csv").returncode == 4
    (tmp_path / "nothing.csv").write_text("")
    assert gml(command, "nothing.csv").returncode == 3


@pytest.mark.parametrize("score", ["bic-g", "bge"])
def test_numbers(gml, tmp_path, score):
    rng = random.Random(2)
    lines = ["x,y,z"]
    for _ in range(300):
        x, z = rng.gauss(0, 1), rng.gauss(0, 1)
        lines.append(f"{x},{x + z + rng.gauss(0, 0.5)},{z}")
    (tmp_path / "numbers.csv").write_text("\n".join(lines) + "\n")
    graph = graph_of(gml("ges", "numbers.csv", "--score", score, "-f", "json"))
    assert edges_of(graph) == {("x", "-->", "y"), ("z", "-->", "y")}
    assert "dag, 3 nodes, 2 edges" in text_of(
        gml("hc", "numbers.csv", "--score", score, "-f", "text")
    )


def test_a_failed_run_leaves_the_old_files(gml, asia, tmp_path):
    (tmp_path / "graph.json").write_text("old")
    (tmp_path / "steps.csv").write_text("old")
    done = gml("hc", asia, "-c", "asia,nope", "-o", "graph.json", "--trace", "steps.csv")
    assert done.returncode == 2
    assert (tmp_path / "graph.json").read_text() == "old"
    assert (tmp_path / "steps.csv").read_text() == "old"
    done = gml("hc", asia, "-o", "same.csv", "-f", "json", "--trace", "./same.csv")
    assert done.returncode == 2
    # XML cannot hold the name: no graph, so the trace stays as it was, too.
    (tmp_path / "control.csv").write_bytes(b"a\x01,b\n" + b"x,u\ny,v\n" * 30)
    done = gml("hc", "control.csv", "-o", "graph.graphml", "--trace", "steps.csv")
    assert done.returncode == 3
    assert (tmp_path / "steps.csv").read_text() == "old"


@pytest.mark.parametrize("command", ["hc", "ges", "exact"])
def test_rows_may_count_in_part(gml, tmp_path, command):
    (tmp_path / "parts.csv").write_text("a,b,w\nx,u,20.5\nx,v,2.25\ny,u,1.5\ny,v,30\n")
    graph = graph_of(gml(command, "parts.csv", "--weights-fractional", "w", "-f", "json"))
    assert {frozenset(e[::2]) for e in edges_of(graph)} == {frozenset("ab")}
    assert graph["graph"]["learning"]["rows"] == 54.25
