"""gml exact on the command line."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys

import numpy as np
import pytest

ROWS = "b,a,c\n" + "x,u,0\nx,u,1\nx,v,0\ny,v,1\ny,v,0\ny,v,1\nx,u,0\ny,u,1\n" * 4


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data.csv").write_text(ROWS)
    (tmp_path / "ab.dot").write_text("digraph { a -> b; c }")
    (tmp_path / "none.dot").write_text("digraph { a; b; c }")
    (tmp_path / "line.json").write_text(
        json.dumps(
            {
                "directed": True,
                "multigraph": False,
                "graph": {"schema": "gml/1", "kind": "cpdag"},
                "nodes": [{"id": name} for name in "abc"],
                "edges": [{"source": "a", "target": "b", "type": "---"}],
            }
        )
    )
    return tmp_path


def test_dag_on_standard_output(gml, folder):
    done = gml("exact", "data.csv")
    assert (done.returncode, done.stderr) == (0, b"")
    nodes = "".join(
        f'  "{name}" [levels="[\\"{low}\\", \\"{high}\\"]"];\n'
        for name, low, high in ("bxy", "auv", "c01")
    )
    assert done.stdout.decode() == (
        f'digraph {{\n  graph [kind="dag"];\n{nodes}  "a" -> "b" [compelled=true];\n'
        '  "c" -> "b" [compelled=true];\n}\n'
    )


def test_cpdag(gml, folder):
    done = gml("exact", "data.csv", "-c", "a,b", "--cpdag", "-f", "json")
    found = json.loads(done.stdout)
    assert found["graph"]["kind"] == "cpdag"
    assert {edge["type"] for edge in found["edges"]} == {"---"}
    learning = found["graph"]["learning"]
    assert learning["command"] == "exact"
    assert learning["components"] == [2]
    assert learning["options"]["cpdag"] is True
    told = gml("exact", "data.csv", "-c", "a,b", "--cpdag", "-f", "json", "--require", "a->b")
    assert json.loads(told.stdout)["graph"]["kind"] == "pdag"
    assert {edge["type"] for edge in json.loads(told.stdout)["edges"]} == {"-->"}


@pytest.mark.parametrize("zeros", [10, 11])
def test_rows_without_number(gml, folder, zeros):
    rows = [f"{a},{b},{4 if a == b else 1}{'0' * zeros}\n" for a in "01" for b in "01"]
    (folder / "big.csv").write_text("a,b,w\n" + "".join(rows))
    done = gml("exact", "big.csv", "--weights", "w", "--max-seconds", "60", "-f", "text")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"dag, 2 nodes, 1 edge\nb --> a  compelled false\n"


def test_knowledge_and_limits_are_kept(gml, folder):
    done = gml("exact", "data.csv", "--tiers", "c < a,b", "--forbid", "b->a", "-f", "json")
    edges = {(e["source"], e["target"]) for e in json.loads(done.stdout)["edges"]}
    assert edges == {("a", "b"), ("c", "b")}
    done = gml("exact", "data.csv", "--max-parents", "0", "-f", "json")
    assert json.loads(done.stdout)["edges"] == []


def test_against(gml, folder):
    done = gml("exact", "data.csv", "--against", "none.dot", "--against", "ab.dot")
    assert (done.returncode, done.stderr) == (0, b"")
    lines = [line.split() for line in done.stdout.decode().splitlines()]
    assert lines[0] == ["graph", "score", "gap"]
    assert [line[0] for line in lines[1:]] == ["optimum", "ab.dot", "none.dot"]
    best, ab, none = (float(line[1]) for line in lines[1:])
    assert lines[1][2] == "0"
    assert float(lines[2][2]) == pytest.approx(best - ab, abs=1e-3)
    assert float(lines[3][2]) == pytest.approx(best - none, abs=1e-3)


def test_against_is_the_score_of_gml_score(gml, folder):
    arguments = ("--against", "line.json", "--score", "bdeu", "--ess", "3")
    done = gml("exact", "data.csv", *arguments, "-f", "csv", "-o", "best.dot")
    rows = list(csv.DictReader(io.StringIO(done.stdout.decode())))
    scored = gml(
        *(
            "score",
            "data.csv",
            "best.dot",
            "line.json",
            "--score",
            "bdeu",
            "--ess",
            "3",
            "-f",
            "json",
        )
    )
    expected = {g["graph"]: g["scores"]["bdeu"] for g in json.loads(scored.stdout)["graphs"]}
    assert float(rows[0]["score"]) == expected["best.dot"]
    assert float(rows[1]["score"]) == expected["line.json"]
    assert rows[1]["gap"] == rows[1]["gap"].strip()
    gap = expected["best.dot"] - expected["line.json"]
    assert float(rows[1]["gap"]) == pytest.approx(gap, abs=2**-20)


def test_json_report(gml, folder):
    found = json.loads(gml("exact", "data.csv", "--against", "ab.dot", "-f", "json").stdout)
    assert found["schema"] == "gml/1"
    assert [list(row) for row in found["results"]] == [["graph", "score", "gap"]] * 2
    assert found["results"][0]["gap"] == 0


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("--score", "k2", "--cpdag"), "tells equivalent DAGs apart"),
        (("--score", "k2", "--against", "line.json"), "tells equivalent DAGs apart"),
        (("--score", "bic,k2"), "one score"),
        (("--against", "ab.dot", "-f", "dot"), "the result is a report"),
        (("--against", "ab.dot", "-o", "-"), "standard output is for the report"),
        (("-f", "csv"), "the result is a graph"),
        (("-o", "graph.xyz"), "does not tell its format"),
        (("-o", "graph.gif"), "pictures are svg, png, pdf or html, not gif"),
        (("--against", "ab.dot", "-f", "svg"), "--format svg is for graphs"),
        (("-o", "data.csv"), "is an input"),
        (("--against", "ab.dot", "-o", "ab.dot"), "is an input"),
        (("--max-parents", "1", "--require", "a->b,c->b"), "2 parents are required"),
        (("--max-parents", "-1"), "--max-parents"),
        (("--require", "a->z"), "not found"),
    ],
)
def test_usage(gml, folder, arguments, message):
    done = gml("exact", "data.csv", *arguments)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1
    assert done.stdout == b""


@pytest.mark.parametrize(
    "graph, message",
    [
        ("digraph { a -> b }", "no node for the columns 'c'"),
        ("digraph { a -> b; c; d }", "column 'd' not found"),
        ("digraph { a -> b; b -> c; c -> a }", "cycle"),
    ],
)
def test_rejected_graphs(gml, folder, graph, message):
    (folder / "bad.dot").write_text(graph)
    done = gml("exact", "data.csv", "--against", "bad.dot", "-o", "out.dot")
    assert done.returncode == 3
    assert message in done.stderr.decode()
    assert not (folder / "out.dot").exists()


def test_too_large_leaves_the_old_file(gml, tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (40, 30))
    text = ",".join(f"v{j}" for j in range(30)) + "\n"
    (tmp_path / "wide.csv").write_text(text + "".join(",".join(map(str, r)) + "\n" for r in rows))
    (tmp_path / "out.dot").write_text("old")
    done = gml("exact", "wide.csv", "--score", "qnml", "--max-memory", "500M", "-o", "out.dot")
    assert done.returncode == 4
    assert b"--max-parents" in done.stderr
    assert b"gml ges" in done.stderr
    assert (tmp_path / "out.dot").read_text() == "old"
    many = ",".join(f"v{j}" for j in range(70)) + "\n" + ",".join("01" * 35) + "\n"
    (tmp_path / "many.csv").write_text(many + ",".join("10" * 35) + "\n")
    done = gml("exact", "many.csv")
    assert done.returncode == 4
    assert b"at most 64" in done.stderr


def test_out_of_time(gml, folder):
    done = gml("exact", "data.csv", "--max-seconds", "0", "-o", "out.json")
    assert done.returncode == 5
    assert b"best graph so far" in done.stderr
    found = json.loads((folder / "out.json").read_text())
    assert found["graph"]["learning"]["complete"] is False
    done = gml("exact", "data.csv", "--max-seconds", "0", "--against", "none.dot", "-f", "csv")
    assert done.returncode == 5
    assert done.stdout.startswith(b"graph,score,gap\nbest so far,")


def test_one_column_and_constant_columns(gml, tmp_path):
    (tmp_path / "one.csv").write_text("a\nx\ny\n")
    assert b'  "a" [levels="[\\"x\\", \\"y\\"]"];\n' in gml("exact", "one.csv").stdout
    (tmp_path / "constant.csv").write_text("a,b,c\n" + "x,k,u\ny,k,v\n" * 20)
    done = gml("exact", "constant.csv", "-f", "json")
    assert {(e["source"], e["target"]) for e in json.loads(done.stdout)["edges"]} == {("c", "a")}
    assert b"only one value" in done.stderr


def test_numbers(gml, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=80)
    rows = np.column_stack([x, x + rng.normal(size=80), rng.normal(size=80)])
    np.savetxt(tmp_path / "n.csv", rows, delimiter=",", header="x,y,z", comments="")
    for score in ("bge", "bic-g"):
        done = gml("exact", "n.csv", "--score", score, "--cpdag", "-f", "json")
        edges = json.loads(done.stdout)["edges"]
        assert [(e["source"], e["target"], e["type"]) for e in edges] == [("x", "y", "---")]


def test_same_bytes_everywhere(gml, sample_data):
    outputs = set()
    for seed, threads, kernel in (("0", "1", ""), ("1", "2", "reference"), ("2", "1", "portable")):
        done = gml(
            *("exact", sample_data / "asia.csv", "--score", "bdeu", "-f", "json"),
            *("--threads", threads),
            env={"PYTHONHASHSEED": seed, "GML_KERNEL": kernel},
        )
        assert done.returncode == 0
        outputs.add(done.stdout)
    edges = {json.dumps(json.loads(output)["edges"]) for output in outputs}
    assert len(edges) == 1


def test_verbose_counts(gml, folder):
    done = gml("exact", "data.csv", "-v", "-q")
    assert done.stderr == b""
    done = gml("exact", "data.csv", "-v")
    assert b"sets of parents worth having; parts of 3 variables" in done.stderr
    assert b"local scores" in done.stderr


def test_memory_stays_within_what_was_asked_for(folder):
    """Every set of parents is worth having."""
    rng = np.random.default_rng(3)
    names = ",".join(f"v{j:02d}" for j in range(16))
    rows = "\n".join(",".join(row) for row in rng.integers(0, 2, (500, 16)).astype(str))
    (folder / "many.csv").write_text(f"{names}\n{rows}\n")
    code = (
        "import resource, sys; from gml.cli.main import run; code = run(sys.argv[1:]);"
        "sys.stderr.write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)); sys.exit(code)"
    )

    def run(*args):
        return subprocess.run(
            [sys.executable, "-c", code, "exact", "many.csv", "--score", "loglik", *args],
            cwd=folder, capture_output=True, timeout=120,
        )  # fmt: skip

    least = run("--max-parents", "1")
    refused = run("--max-memory", "25M")
    assert refused.returncode == 4, refused.stderr
    assert b"--max-memory" in refused.stderr
    done = run("--max-memory", "60M")
    assert done.returncode == 0, done.stderr
    assert int(done.stderr) - int(least.stderr) < 60 * 1024
