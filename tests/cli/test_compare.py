"""gml compare on the command line."""

from __future__ import annotations

import csv
import io
import itertools
import json
import subprocess

import numpy as np
import pytest

import gml as library
from tests.command_line import GML, error_line

from ..model_files import random_gaussian
from ..networks import asia, random_net


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "truth.dot").write_text("digraph { a -> b; c -> b; b -> d }")
    (tmp_path / "other.dot").write_text("digraph { d; c; b -> a; c -> b }")
    (tmp_path / "same.dot").write_text("digraph { d; c -> b; b -> d; a -> b }")
    (tmp_path / "line.dot").write_text("graph { a -- b; b -- d; c }")
    (tmp_path / "less.dot").write_text("digraph { a -> b; c -> b }")
    (tmp_path / "pag.dot").write_text("digraph { a -> b [dir=both, arrowtail=odot]; c; d }")
    (tmp_path / "ring.dot").write_text("graph { a -- b; b -- c; c -- d; d -- a }")
    return tmp_path


def pairs(done, code=0):
    assert done.returncode == code, done.stderr.decode()
    assert done.stderr == b""
    found = json.loads(done.stdout)
    assert list(found) == ["schema", "hash", "pairs"]
    assert found["schema"] == "gml/1"
    return found["pairs"]


def test_bytes_for_people(gml, folder):
    done = gml("compare", "truth.dot", "other.dot", "same.dot")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == (
        "other.dot compared with truth.dot, as cpdag\n"
        "shd         3\n"
        "dag_shd     2\n"
        "sid         7\n"
        "skeleton    precision 1  recall 0.666667  f1 0.8\n"
        "arrowheads  precision -  recall        0  f1   0\n"
        "a  -->  ---  b  undirected\n"
        "b  <--  ---  c  undirected\n"
        "b  -->       d  missing\n"
        "\n"
        "same.dot compared with truth.dot, as cpdag\n"
        "shd         0\n"
        "dag_shd     0\n"
        "sid         0\n"
        "skeleton    precision 1  recall 1  f1 1\n"
        "arrowheads  precision 1  recall 1  f1 1\n"
    )


def test_json(gml, folder):
    (pair,) = pairs(gml("compare", "truth.dot", "other.dot", "-f", "json"))
    assert pair == {
        "a": "truth.dot",
        "b": "other.dot",
        "as": "cpdag",
        "shd": 3,
        "dag_shd": 2,
        "skeleton": {"precision": 1.0, "recall": 2 / 3, "f1": 0.8},
        "arrowheads": {"precision": None, "recall": 0.0, "f1": 0.0},
        "sid": {"lower": 7, "upper": 7, "exact": True},
        "kl": None,
        "differences": [
            {"x": "a", "y": "b", "a": "-->", "b": "---", "kind": "undirected"},
            {"x": "b", "y": "c", "a": "<--", "b": "---", "kind": "undirected"},
            {"x": "b", "y": "d", "a": "-->", "b": None, "kind": "missing"},
        ],
    }


def test_as_dag(gml, folder):
    found = pairs(gml("compare", "truth.dot", "other.dot", "line.dot", "--as", "dag", "-f", "json"))
    assert [(pair["shd"], pair["dag_shd"]) for pair in found] == [(3, 2), (3, 3)]
    assert [d["kind"] for d in found[0]["differences"]] == ["reversed", "missing"]
    assert found[0]["arrowheads"] == {"precision": 0.5, "recall": 1 / 3, "f1": 0.4}
    # d -> b -> a, the first by name
    assert [d["b"] for d in found[1]["differences"]] == ["<--", None, "<--"]
    assert found[1]["sid"]["lower"] < found[1]["sid"]["upper"]


def test_rows(gml, folder):
    args = ("compare", "truth.dot", "other.dot", "line.dot")
    rows = list(csv.DictReader(io.StringIO(gml(*args, "-f", "csv").stdout.decode())))
    assert [(row["b"], row["shd"], row["dag_shd"]) for row in rows] == [
        ("other.dot", "3", "2"),
        ("line.dot", "3", ""),
    ]
    assert rows[0]["arrowheads_precision"] == ""
    assert rows[0]["differences"] == "3"
    assert gml(*args, "-f", "markdown").stdout.count(b"\n") == 4
    lines = gml(*args, "-f", "jsonl").stdout.splitlines()
    assert [json.loads(line)["b"] for line in lines] == ["other.dot", "line.dot"]
    done = gml(*args, "-o", "report.json")
    assert (done.returncode, done.stdout) == (0, b"")
    assert len(json.loads((folder / "report.json").read_text())["pairs"]) == 2


def test_exit_codes(gml, folder):
    far = ("compare", "truth.dot", "other.dot")
    assert gml(*far, "--max-shd", "3").returncode == 0
    done = gml(*far, "--max-shd", "2")
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout
    assert gml(*far, "--as", "dag", "--max-shd", "2").returncode == 0
    assert gml(*far, "--fail-on-difference").returncode == 1
    text = error_line(gml(*far, "--fail-on-difference", "--max-shd", "9"), 2)
    assert "give only one of them" in text
    assert gml("compare", "truth.dot", "same.dot", "--fail-on-difference").returncode == 0
    # equivalent DAGs are the same class, and different DAGs
    (folder / "ab.dot").write_text("digraph { a -> b }")
    (folder / "ba.dot").write_text("digraph { b -> a }")
    either = ("compare", "ab.dot", "ba.dot", "--fail-on-difference")
    assert gml(*either).returncode == 0
    assert gml(*either, "--as", "dag").returncode == 1


def test_refusals(gml, folder):
    assert "at least one" in error_line(gml("compare", "truth.dot"), 2)
    text = error_line(gml("compare", "truth.dot", "same.dot", "less.dot"), 3)
    assert "less.dot: node 'd' of truth.dot is missing" in text
    assert "less.dot: node 'd'" in error_line(gml("compare", "less.dot", "truth.dot"), 3)
    assert "PAG" in error_line(gml("compare", "truth.dot", "pag.dot"), 3)
    assert "pag.dot" in error_line(gml("compare", "pag.dot", "pag.dot", "--as", "dag"), 3)
    assert "ring.dot" in error_line(gml("compare", "truth.dot", "ring.dot", "--as", "dag"), 3)
    assert "nothing.dot" in error_line(gml("compare", "truth.dot", "nothing.dot"), 3)
    assert "standard input" in error_line(gml("compare", "-", "-"), 2)
    assert "--as" in error_line(gml("compare", "truth.dot", "same.dot", "--as", "pag"), 2)
    done = gml("compare", "truth.dot", "same.dot", "-f", "text", "-o", "same.dot")
    assert "input" in error_line(done, 2)
    assert gml("compare", "pag.dot", "pag.dot", "--fail-on-difference").returncode == 0


def test_failed_run_leaves_the_old_report(gml, folder):
    (folder / "report.txt").write_text("old")
    assert gml("compare", "truth.dot", "less.dot", "-o", "report.txt").returncode == 3
    assert (folder / "report.txt").read_text() == "old"


def test_standard_input(gml, folder):
    text = (folder / "other.dot").read_bytes()
    (pair,) = pairs(gml("compare", "truth.dot", "-", "-f", "json", stdin=text))
    assert pair["b"] == "standard input"
    (pair,) = pairs(gml("compare", "-", "other.dot", "-f", "json", stdin=text))
    assert pair["shd"] == 0


def test_closed_pipe_keeps_the_answer(folder):
    args = [*GML, "compare", "truth.dot", "other.dot", "--fail-on-difference"]
    child = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder)
    child.stdout.close()
    assert child.wait(timeout=60) == 1
    assert child.stderr.read() == b""
    child.stderr.close()


def test_a_cpdag_that_is_none_is_flagged(gml, folder):
    content = 'digraph { graph [kind="cpdag"]; a -> b; b -> d [dir=none]; c }'
    (folder / "bad.dot").write_text(content)
    done = gml("compare", "truth.dot", "bad.dot", "-f", "json")
    assert done.returncode == 0
    assert b"bad.dot: not the CPDAG of any DAG" in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert json.loads(done.stdout)["pairs"][0]["shd"] == 2


def test_knowledge_makes_a_pdag_more_directed(gml, folder, sample_data):
    tiers = "asia,smoke < tub,lung,bronc,either < xray,dysp"
    data = sample_data / "asia.csv"
    assert gml("pc", data, "--tiers", tiers, "-o", "told.json").returncode == 0
    assert gml("pc", data, "-o", "plain.json").returncode == 0
    done = gml("compare", "plain.json", "told.json", "-f", "json")
    kinds = {d["kind"] for d in json.loads(done.stdout)["pairs"][0]["differences"]}
    assert kinds == {"directed"}


def test_formats_hold_the_same_graph(gml, folder):
    net = asia()
    for name in ("asia.json", "asia.bif", "asia.xmlbif", "asia.net"):
        library.write_model(net, folder / name)
    for name in ("asia.dot", "asia.graphml", "graph.json"):
        library.write_graph(net.graph, folder / name)
    names = ["asia.json", "asia.bif", "asia.xmlbif", "asia.net", "asia.dot", "asia.graphml"]
    found = pairs(gml("compare", *names, "graph.json", "--fail-on-difference", "-f", "json"))
    assert [pair["shd"] for pair in found] == [0] * 6
    assert [pair["kl"] and pair["kl"]["total"] for pair in found] == [0, 0, 0, None, None, None]


def test_models(gml, folder):
    rng = np.random.default_rng(1)
    p, q = (random_net(rng, 5, most_levels=2) for _ in range(2))
    library.write_model(p, folder / "p.json")
    library.write_model(q, folder / "q.json")
    (pair,) = pairs(gml("compare", "p.json", "q.json", "-f", "json"))
    from gml.model.compare import kl_divergence

    expected = kl_divergence(p, q)
    assert pair["kl"] == {"total": expected.total, "nodes": expected.nodes}
    text = gml("compare", "p.json", "q.json").stdout.decode()
    assert f"kl          {expected.total:.6g} nats" in text
    numbers = [random_gaussian(rng, ["x", "y", "z"]) for _ in range(2)]
    for name, net in zip(("g.json", "h.json"), numbers, strict=True):
        library.write_model(net, folder / name)
    (pair,) = pairs(gml("compare", "g.json", "h.json", "-f", "json"))
    assert pair["kl"]["total"] == kl_divergence(*numbers).total > 0


MODEL = """network m {{}}
variable a {{ type discrete [ 2 ] {{ {levels} }}; }}
probability ( a ) {{ table {table}; }}
"""


def test_models_that_exclude_something_or_have_other_levels(gml, folder):
    for name, levels, table in (
        ("half.bif", "x, y", "0.5, 0.5"),
        ("turned.bif", "y, x", "0.75, 0.25"),
        ("sure.bif", "x, y", "1.0, 0.0"),
        ("others.bif", "x, z", "0.5, 0.5"),
    ):
        (folder / name).write_text(MODEL.format(levels=levels, table=table))
    (pair,) = pairs(gml("compare", "half.bif", "turned.bif", "-f", "json"))
    assert pair["kl"]["total"] == pytest.approx(0.5 * np.log(0.5 / 0.25) + 0.5 * np.log(0.5 / 0.75))
    done = gml("compare", "half.bif", "sure.bif", "-f", "json")
    assert done.returncode == 0
    assert b"sure.bif: KL is infinite" in done.stderr
    assert json.loads(done.stdout)["pairs"][0]["kl"] == {"total": None, "nodes": {"a": None}}
    assert b"kl          inf nats" in gml("compare", "half.bif", "sure.bif").stdout
    done = gml("compare", "half.bif", "others.bif", "-f", "json", "--fail-on-difference")
    assert done.returncode == 0
    assert b"warning: no KL of others.bif: node 'a' has the levels" in done.stderr
    assert b"'z'" in done.stderr
    assert done.stderr.count(b"\n") == 1
    (pair,) = json.loads(done.stdout)["pairs"]
    assert (pair["shd"], pair["sid"], pair["kl"]) == (
        0,
        {"lower": 0, "upper": 0, "exact": True},
        None,
    )


def test_too_little_memory_leaves_kl_out(gml, folder):
    library.write_model(asia(), folder / "asia.bif")
    done = gml("compare", "asia.bif", "asia.bif", "--max-memory", "100", "-f", "json")
    assert done.returncode == 0
    assert b"warning: no KL of asia.bif" in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert json.loads(done.stdout)["pairs"][0]["kl"] is None


def test_bytes_do_not_depend_on_hash_seeds(folder):
    library.write_model(asia(), folder / "asia.json")
    library.write_model(
        random_net(np.random.default_rng(3), 8, names=asia().names, most_levels=2),
        folder / "b.json",
    )
    text = (folder / "b.json").read_text().replace('["a", "b"]', '["yes", "no"]')
    (folder / "b.json").write_text(text)
    found = {
        subprocess.run(
            [*GML, "compare", "asia.json", "b.json", "-f", "json"],
            cwd=folder, capture_output=True, check=True, env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in "012"
    }  # fmt: skip
    assert len(found) == 1


def test_published_networks(gml, shared):
    """Every one is 0 from itself, and the graph of one is far from that of another."""
    folder = shared / "data/networks"
    for name in ("asia.bif", "alarm.bif", "insurance.bif"):
        done = gml(
            "compare", folder / name, folder / name, "--fail-on-difference", "-f", "json", "-q"
        )
        assert done.returncode == 0
        (pair,) = json.loads(done.stdout)["pairs"]
        assert pair["kl"]["total"] == 0
        assert pair["sid"] == {"lower": 0, "upper": 0, "exact": True}
    for one, two in itertools.permutations(("cancer.bif", "earthquake.bif"), 2):
        assert gml("compare", folder / one, folder / two).returncode == 3
