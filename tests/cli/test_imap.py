"""gml imap on the command line."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from tests.command_line import error_line

from .test_pc import write

ROWS = ["100", "111", "001", "111", "000", "011", "111", "000", "111", "000"]
ORDER = "smoke,asia,lung,tub,either,bronc,dysp,xray"


@pytest.fixture
def published(tmp_path):
    """Cooper & Herskovits 1992, Machine Learning 9:309, table 1."""
    return write(tmp_path / "ch.csv", list(zip(*ROWS, strict=True)), ["x1", "x2", "x3"])


def test_bytes_by_tests(gml, tmp_path):
    """Every combination of a and b and noise: c is a or b, d a noisy copy of c."""
    rows = [
        (a, b, a | b, (a | b) ^ (noise == 0))
        for a, b, noise in itertools.product((0, 1), (0, 1), range(8))
    ] * 20
    write(tmp_path / "abcd.csv", list(zip(*rows, strict=True)), list("abcd"))
    done = gml("imap", "abcd.csv", "--order", "a,b,c,d")
    assert (done.returncode, done.stderr) == (0, b"")
    nodes = "".join(f'  "{name}" [levels="[\\"0\\", \\"1\\"]"];\n' for name in "abcd")
    assert done.stdout.decode() == (
        f'digraph {{\n  graph [kind="dag"];\n{nodes}'
        '  "a" -> "c";\n  "b" -> "c";\n  "c" -> "d";\n}\n'
    )
    turned = gml("imap", "abcd.csv", "--order", "d,c,b,a", "-f", "text").stdout
    assert turned == b"dag, 4 nodes, 4 edges\nb --> a\nc --> a\nc --> b\nd --> c\n"


def test_published_example_of_k2(gml, published):
    args = ("imap", "ch.csv", "--score", "k2")
    done = gml(*args, "--order", "x1,x2,x3", "-f", "text")
    assert done.stdout == b"dag, 3 nodes, 2 edges\nx1 --> x2\nx2 --> x3\n"
    done = gml(*args, "--order", "x3,x2,x1", "-f", "text")
    assert done.stdout == b"dag, 3 nodes, 2 edges\nx2 --> x1\nx3 --> x2\n"
    # two parents are not allowed, and would not pay
    assert gml(*args, "--order", "x1,x2,x3", "--max-parents", "1", "-f", "text").stdout


def test_published_data(gml, shared):
    data = shared / "data/simulated/cooper_herskovits_1992.csv"
    done = gml("imap", data, "--order", "x1,x2,x3", "--score", "k2", "-f", "json")
    content = json.loads(done.stdout)
    found = [(edge["source"], edge["target"]) for edge in content["edges"]]
    assert found == [("x1", "x2"), ("x2", "x3")]
    assert f"{np.exp(content['graph']['learning']['score']):.2e}" == "2.23e-09"


def test_json_records_the_run(gml, asia):
    done = gml(
        "imap", asia, "--order", ORDER, "--alpha", "0.05", "--max-parents", "2", "-f", "json"
    )
    assert done.stderr == b""
    content = json.loads(done.stdout)
    assert content["graph"]["kind"] == "dag"
    learning = content["graph"]["learning"]
    assert learning["command"] == "imap"
    assert learning["options"] == {"alpha": 0.05, "max_parents": 2, "order": ORDER.split(",")}
    assert learning["settings"] == {
        "order": ORDER.split(","), "max_parents": 2, "test": "auto", "alpha": 0.05,
    }  # fmt: skip
    assert learning["rows"] == 5000
    assert learning["tests"] > 28
    assert len(learning["data"]) == 64
    assert "complete" not in learning
    # nodes stand as in the file, whatever the order
    assert content["nodes"][0] == {"id": "asia", "levels": ["no", "yes"]}
    done = gml("imap", asia, "--order", ORDER, "--score", "bdeu", "--ess", "10", "-f", "json")
    learning = json.loads(done.stdout)["graph"]["learning"]
    assert learning["options"] == {"ess": 10.0, "order": ORDER.split(","), "score": "bdeu"}
    assert learning["settings"]["score"] == "bdeu"
    assert learning["scores"] > 28
    assert learning["score"] < 0
    assert "tests" not in learning


def test_score_is_that_of_gml_score(gml, asia, tmp_path):
    done = gml("imap", asia, "--order", ORDER, "--score", "bic", "-o", "found.json")
    assert (done.returncode, done.stdout) == (0, b"")
    learning = json.loads((tmp_path / "found.json").read_text())["graph"]["learning"]
    scored = json.loads(gml("score", asia, "found.json", "-f", "json").stdout)
    assert learning["score"] == scored["graphs"][0]["scores"]["bic"]


@pytest.mark.parametrize("how", [(), ("--score", "bdeu")])
def test_neither_rows_nor_columns_nor_threads_nor_hashes_matter(gml, asia, tmp_path, how):
    header, *rows = [line.split(",") for line in asia.read_text().splitlines()[:1501]]
    rng = np.random.default_rng(1)
    found = set()
    for k in range(3):
        columns = rng.permutation(len(header)) if k else range(len(header))
        lines = [header, *(rows[i] for i in rng.permutation(len(rows)))]
        (tmp_path / f"{k}.csv").write_text(
            "\n".join(",".join(line[j] for j in columns) for line in lines) + "\n"
        )
        done = gml(
            "imap", f"{k}.csv", "--order", ORDER, "-f", "json", "--threads", str(k + 1), *how,
            env={"PYTHONHASHSEED": str(k)},
        )  # fmt: skip
        content = json.loads(done.stdout)
        learning = content["graph"]["learning"]
        del learning["data"]
        edges = sorted((edge["source"], edge["target"]) for edge in content["edges"])
        found.add(json.dumps([learning, edges]))
    assert len(found) == 1


def test_columns_are_those_of_the_order(gml, asia):
    done = gml("imap", asia, "--order", "smoke,lung", "-f", "text")
    assert (done.stdout, done.stderr) == (b"dag, 2 nodes, 1 edge\nsmoke --> lung\n", b"")
    same = gml("imap", asia, "--order", "smoke,lung", "-c", "lung,smoke", "-f", "text")
    assert same.stdout == done.stdout
    assert b"ignored: 'asia'" in gml("imap", asia, "--order", "smoke,lung", "-v").stderr


def test_refusals_of_the_order(gml, asia):
    assert "did you mean 'lung'?" in error_line(gml("imap", asia, "--order", "smoke,lnug"), 2)
    text = error_line(gml("imap", asia, "--order", "smoke,lung", "-c", "smoke,lung,tub"), 2)
    assert "'tub'" in text
    assert "'tub'" in error_line(gml("imap", asia, "--order", "smoke,tub", "--exclude", "tub"), 2)
    assert "twice" in error_line(gml("imap", asia, "--order", "smoke,lung,smoke"), 2)
    assert "--order" in error_line(gml("imap", asia), 2)
    assert "columns" in error_line(gml("imap", asia, "--order", ""), 2)


@pytest.mark.parametrize(
    "options,flag",
    [
        (["--score", "bic", "--test", "g"], "--test"),
        (["--score", "bic", "--alpha", "0.01"], "--alpha"),
        (["--score", "bic", "--seed", "1"], "--seed"),
        (["--score", "bic", "--ess", "1"], "--ess"),
        (["--score", "bcd"], "'bd'"),
        (["--score", "bic", "--missing", "available"], "--missing"),
        (["--prior-count", "2"], "--prior-count"),
        (["--ess", "2"], "--ess"),
        (["--test", "bayes", "--alpha", "0.1"], "--alpha"),
        (["--test", "permutation", "--permutations", "5"], "--permutations"),
        (["--require", "lung->smoke"], "'smoke' first"),
        (["--tiers", "lung < smoke"], "earlier tier"),
        (["--forbid", "smoke->lnug"], "'lung'"),
        (["--require", "smoke->lung", "--max-parents", "0"], "required"),
    ],
)
def test_refusals_of_options(gml, asia, options, flag):
    assert flag in error_line(gml("imap", asia, "--order", "smoke,lung", *options), 2)


def test_contradictory_knowledge(gml, asia):
    both = ("--require", "smoke->lung", "--forbid", "smoke->lung")
    assert "contradictory" in error_line(gml("imap", asia, "--order", "smoke,lung", *both), 3)


def test_knowledge(gml, asia):
    args = ("imap", asia, "--order", ORDER, "-f", "json")
    told = ("--require", "asia->xray", "--forbid", "smoke->bronc")
    for how in ((), ("--score", "bic")):
        content = json.loads(gml(*args, *told, *how).stdout)
        edges = {(edge["source"], edge["target"]) for edge in content["edges"]}
        assert ("asia", "xray") in edges
        assert ("smoke", "bronc") not in edges
        assert content["graph"]["learning"]["knowledge"]["require"] == [["asia", "xray"]]


def test_out_of_time(gml, asia):
    done = gml("imap", asia, "--order", ORDER, "--max-seconds", "0", "-f", "json")
    assert done.returncode == 5
    assert done.stderr.startswith(b"gml: warning: stopped by --max-seconds")
    content = json.loads(done.stdout)
    assert content["graph"]["learning"]["complete"] is False
    assert content["edges"] == []


def test_columns_of_one_value_have_no_edges(gml, tmp_path):
    """Also where a declared level that nobody has would pay under a score."""
    rng = np.random.default_rng(2)
    a = rng.integers(0, 2, 200)
    b = np.where(rng.random(200) < 0.9, a, 1 - a)
    write(tmp_path / "d.csv", [[0] * 200, a.tolist(), b.tolist()], ["k", "a", "b"])
    schema = {"schema": "gml/1", "columns": {"k": {"levels": ["0", "1"]}}}
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    args = ("imap", "d.csv", "--order", "k,a,b", "--levels", "schema.json", "-f", "text", "-q")
    for how in ((), ("--score", "bdeu", "--ess", "50"), ("--score", "bds"), ("--score", "k2")):
        done = gml(*args, *how)
        assert done.stdout == b"dag, 3 nodes, 1 edge\na --> b\nk  (no edges)\n", how


def test_numbers(gml, tmp_path):
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 300))
    (tmp_path / "n.csv").write_text(
        "a,b,c\n"
        + "".join(f"{x},{y},{x + y + 0.3 * rng.normal()}\n" for x, y in zip(a, b, strict=True))
    )
    for how in (("--test", "fisher-z"), ("--score", "bge")):
        done = gml("imap", "n.csv", "--order", "a,b,c", *how, "-f", "text")
        assert done.stdout == b"dag, 3 nodes, 2 edges\na --> c\nb --> c\n"


def test_weights_and_missing_values(gml, tmp_path, sample_data):
    args = (
        "imap",
        sample_data / "admissions.csv",
        "--weights",
        "Freq",
        "--order",
        "Gender,Dept,Admit",
    )
    lines = gml(*args, "-f", "text").stdout.decode().splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["Dept", "-->", "Admit"],
        ["Gender", "-->", "Dept"],
        ["Gender", "-->", "Admit"],
    ]
    missing = ("imap", sample_data / "survey_missing.csv", "--order", "Age,Sex,Travel")
    assert "missing values" in error_line(gml(*missing), 3)
    for how in (
        ("--missing", "drop"),
        ("--missing", "available"),
        ("--missing", "drop", "--score", "bic"),
    ):
        assert gml(*missing, *how).returncode == 0
