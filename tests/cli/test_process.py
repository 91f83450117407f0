"""The command as a process: bytes, streams, exit codes, determinism, start-up."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import time

import mpmath
import pytest

from tests.command_line import GML, error_line

ASIA = "sample_data/asia.csv"


def imported(code):
    """Top-level packages that a run of some code imports."""
    program = f"import sys\n{code}\nprint(*sorted({{m.split('.')[0] for m in sys.modules}}), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    return set(done.stderr.decode().splitlines()[-1].split())


def test_help_imports_nothing_heavy():
    found = imported("from gml.cli.main import run\nrun(['--help'])")
    assert not found & {"numpy", "pandas", "scipy", "networkx", "pyarrow", "pydot"}


def test_help_of_every_command_imports_nothing_that_computes():
    code = "from gml.cli.main import COMMANDS, run\nfor name in COMMANDS: run([name, '--help'])"
    assert not imported(code) & {"numpy", "pandas", "scipy", "networkx", "pyarrow", "pydot"}


def test_usage_errors_import_nothing_that_computes():
    wrong = (
        ["chowlu", "d.csv"],
        ["pc"],
        ["pc", "d.csv", "--wrong"],
        ["pc", "d.csv", "--alpha", "2"],
        ["pc", "d.csv", "--test", "gg"],
        ["pc", "d.csv", "--test", "bayes", "--df", "full"],
        ["indtest", "d.csv", "a", "b", "--test", "mi-threshold", "--alpha", "0.1"],
        ["imap", "d.csv"],
        ["average", "d.csv", "--by", "luck"],
        ["score", "d.csv"],
        ["score", "d.csv", "g.dot", "--score", "bicc"],
        ["hc", "d.csv", "--score", "bic,bdeu"],
        ["ges", "d.csv", "--score", "bic", "--ess", "3"],
        ["exact", "d.csv", "--ess", "0"],
        ["chowliu", "d.csv", "-o", "g.gif"],
        ["draw", "g.dot", "-f", "gif"],
        ["draw", "g.dot", "--kind", "pie"],
    )
    code = f"from gml.cli.main import run\nfor args in {wrong!r}: assert run(args) == 2, args"
    assert not imported(code) & {"numpy", "pandas", "scipy"}


def test_commands_import_what_they_use(tmp_path, sample_data):
    lines = (sample_data / "asia.csv").read_text().splitlines()[:501]
    (tmp_path / "small.csv").write_text("\n".join(lines) + "\n")
    path = str(tmp_path / "small.csv")
    heavy = {"pandas", "scipy", "networkx", "pyarrow", "pydot", "zstandard", "vl_convert"}
    for args in (
        ["indtest", path, "smoke", "lung"],
        ["chowliu", path],
        ["chowliu", path, "-f", "json"],
        ["chowliu", path, "-f", "svg"],
        ["draw", str(sample_data / "asia.dot")],
    ):
        found = imported(f"from gml.cli.main import run\nassert run({args!r}) == 0")
        assert "numpy" in found
        assert not found & heavy, args


def test_commands_that_are_run_import_nothing_of_plans(sample_data):
    args = ["chowliu", str(sample_data / "asia.csv"), "-f", "json"]
    gone = "import sys\nsys.modules['gml.planning'] = None\n"
    imported(f"{gone}from gml.cli.main import run\nassert run({args!r}) == 0")


def test_help_of_every_command(gml):
    from gml.cli.main import COMMANDS

    done = gml("--help")
    assert done.returncode == 0
    assert done.stderr == b""
    for name in COMMANDS:
        assert name.encode() in done.stdout
        help_ = gml(name, "--help")
        assert help_.returncode == 0
        assert b"Examples:" in help_.stdout
    assert gml().returncode == 2


def test_version_names_the_kernel(gml):
    assert b"kernel: " in gml("--version").stdout
    without = gml("--version", env={"GML_KERNEL": "reference"})
    assert b"kernel: NumPy" in without.stdout
    portable = gml("--version", env={"GML_KERNEL": "portable"}).stdout
    assert b"portable" in portable or b"NumPy" in portable


def test_unknown_command_and_option(gml):
    assert "did you mean 'chowliu'?" in error_line(gml("chowlu", "x.csv"), 2)
    assert "--wrong" in error_line(gml("chowliu", "x.csv", "--wrong"), 2)
    assert "DATA" in error_line(gml("chowliu"), 2)


@pytest.mark.parametrize("command", ["chowliu", "indtest"])
@pytest.mark.parametrize(
    "content,code",
    [
        (b"", 3),
        (b"\n", 3),
        (b"smoke,lung\n", 4),
        (b"smoke,lung\nyes\n", 3),
        (b"smoke,lung\nyes,\xff\n", 3),
    ],
    ids=["empty", "blank", "header only", "ragged", "bytes"],
)
@pytest.mark.parametrize("way", ["file", "stdin"])
def test_broken_input(gml, tmp_path, command, content, code, way):
    extra = ["smoke", "lung"] if command == "indtest" else []
    if way == "file":
        (tmp_path / "d.csv").write_bytes(content)
        done = gml(command, "d.csv", *extra)
    else:
        done = gml(command, "-", *extra, stdin=content)
    text = error_line(done, code)
    if b"\xff" in content or content.endswith(b"yes\n"):
        assert "line 2" in text
    if code == 3:
        assert ("standard input" if way == "stdin" else "d.csv") in text


def test_missing_file(gml):
    assert "No such file" in error_line(gml("chowliu", "nowhere.csv"), 3)


def test_wrong_column_names_suggest_the_right_one(gml, sample_data):
    data = sample_data / "asia.csv"
    for args in (
        ["indtest", data, "smok", "lung"],
        ["indtest", data, "lung", "xray", "-z", "smok"],
        ["chowliu", data, "--root", "smok"],
        ["chowliu", data, "--class", "smok"],
        ["chowliu", data, "-c", "lung,smok"],
        ["chowliu", data, "--exclude", "smok"],
        ["chowliu", data, "--weights", "smok"],
        ["chowliu", data, "--cut", "smok=1,2"],
        ["indtest", data, "--all-pairs", "-z", "smok"],
    ):
        assert "'smoke'" in error_line(gml(*args), 2), args


@pytest.mark.parametrize(
    "args",
    [
        ["indtest", ASIA, "smoke"],
        ["indtest", ASIA],
        ["indtest", ASIA, "smoke", "smoke"],
        ["indtest", ASIA, "smoke", "lung", "-z", "smoke"],
        ["indtest", ASIA, "smoke", "lung", "--all-pairs"],
        ["indtest", ASIA, "--all-pairs", "-z", "tub", "-z", "tub"],
        ["indtest", ASIA, "--implied", "sample_data/asia.dot", "--all-pairs"],
        ["indtest", ASIA, "--implied", "sample_data/asia.dot", "-z", "lung"],
        ["indtest", "-", "--implied", "-"],
        ["indtest", ASIA, "smoke", "lung", "--test", "bayes", "--alpha", "0.1"],
        ["indtest", ASIA, "smoke", "lung", "--test", "mi-threshold", "--adjust", "bh"],
        ["indtest", ASIA, "smoke", "lung", "--test", "mi-threshold", "--df", "adjusted"],
        ["indtest", ASIA, "smoke", "lung", "--permutations", "10"],
        ["indtest", ASIA, "smoke", "lung", "--alpha", "0"],
        ["indtest", ASIA, "smoke", "lung", "--alpha", "2"],
        ["indtest", ASIA, "smoke", "lung", "--alpha", "nan"],
        ["indtest", ASIA, "smoke", "lung", "-c", "asia"],
        ["indtest", ASIA, "smoke", "lung", "-o", "result.foo"],
        ["chowliu", ASIA, "--alpha", "0.1"],
        ["chowliu", ASIA, "--undirected", "--root", "lung"],
        ["chowliu", ASIA, "--undirected", "--class", "lung"],
        ["chowliu", ASIA, "--root", "lung", "--class", "lung"],
        ["chowliu", ASIA, "--missing", "available"],
        ["chowliu", ASIA, "--threads", "0"],
        ["chowliu", ASIA, "--max-memory", "lots"],
        ["chowliu", ASIA, "--bins", "1"],
        ["chowliu", ASIA, "--cut", "smoke"],
        ["chowliu", ASIA, "--cut", "smoke=many"],
        ["chowliu", ASIA, "-d", "ab"],
        ["chowliu", ASIA, "-d", "\n"],
        ["chowliu", ASIA, "-c", '"a'],
        ["chowliu", ASIA, "-o", "no/such/folder/tree.dot"],
    ],
    ids=" ".join,
)
def test_usage_errors(gml, args):
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    args = [os.path.join(root, arg) if arg.startswith("sample_data/") else arg for arg in args]
    error_line(gml(*args, stdin=b"smoke,lung\nyes,no\n"), 2)


def test_missing_values_are_counted_and_the_choices_named(gml, sample_data):
    text = error_line(gml("chowliu", sample_data / "survey_missing.csv"), 3)
    assert "'Age' " in text
    assert "--missing drop" in text
    assert gml("chowliu", sample_data / "survey_missing.csv", "--missing", "level").returncode == 0


def test_chowliu_dot_bytes(gml, tmp_path):
    (tmp_path / "d.csv").write_text("B,A,C\n0,0,x\n0,0,y\n1,1,x\n1,1,y\n")
    done = gml("chowliu", "d.csv")
    before, number, after = re.split(rb"mi=(\d\.\d+)", done.stdout, maxsplit=1)
    assert before == (
        b'digraph {\n  graph [kind="dag"];\n'
        b'  "B" [levels="[\\"0\\", \\"1\\"]"];\n'
        b'  "A" [levels="[\\"0\\", \\"1\\"]"];\n'
        b'  "C" [levels="[\\"x\\", \\"y\\"]"];\n'
        b'  "A" -> "B" ['
    )
    assert float(number) == pytest.approx(math.log(2), rel=1e-15)
    assert after == b', compelled=false];\n  "A" -> "C" [mi=0.0, compelled=false];\n}\n'
    assert done.stderr == b""
    assert done.returncode == 0


def test_chowliu_json(gml, sample_data):
    import hashlib

    done = gml(
        "chowliu", sample_data / "asia.csv", "-f", "json", "--root", "lung", "--threads", "1"
    )
    content = json.loads(done.stdout)
    assert content["directed"] is True
    assert content["multigraph"] is False
    learning = content["graph"].pop("learning")
    assert content["graph"].pop("hash")["inputs"] == {"data": f"sha256:{learning['data']}"}
    assert content["graph"] == {"schema": "gml/1", "kind": "dag"}
    assert learning["command"] == "chowliu"
    assert learning["options"] == {"root": "lung"}
    assert learning["rows"] == 5000
    assert learning["pairs"] == 28
    assert learning["data"] == hashlib.sha256((sample_data / "asia.csv").read_bytes()).hexdigest()
    assert content["nodes"][0] == {"id": "asia", "levels": ["no", "yes"]}
    assert len(content["edges"]) == 7
    assert all(edge["type"] == "-->" and edge["mi"] > 0 for edge in content["edges"])
    order = [node["id"] for node in content["nodes"]]
    places = [(order.index(e["source"]), order.index(e["target"])) for e in content["edges"]]
    assert places == sorted(places)
    assert str(sample_data) not in done.stdout.decode()


def test_output_formats_agree(gml, tmp_path, sample_data):
    from gml.formats.graphs import read_graph

    graphs = []
    for suffix in ("dot", "json", "graphml"):
        done = gml("chowliu", sample_data / "asia.csv", "-o", f"tree.{suffix}")
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        graphs.append(read_graph(tmp_path / f"tree.{suffix}"))
    for graph in graphs[1:]:
        assert graph.names == graphs[0].names
        assert (graph.marks == graphs[0].marks).all()
        assert graph.attributes == graphs[0].attributes
    assert graphs[1].learning == graphs[2].learning
    assert b"7 edges" in gml("chowliu", sample_data / "asia.csv", "-f", "text").stdout


def test_indtest_json(gml, sample_data):
    done = gml("indtest", sample_data / "asia.csv", "xray", "smoke", "-z", "lung", "-f", "json")
    content = json.loads(done.stdout)
    assert content["schema"] == "gml/1"
    (row,) = content["results"]
    assert list(row) == [
        "x", "y", "given", "test", "df_rule", "statistic", "df", "p_value", "log10_p", "p_adjusted", "mi",
        "cramers_v", "n", "alpha", "verdict",
    ]  # fmt: skip
    assert (row["x"], row["y"], row["given"]) == ("xray", "smoke", ["lung"])
    assert (row["df"], row["df_rule"], row["n"], row["alpha"]) == (2, "auto", 5000, 0.05)
    assert row["p_adjusted"] is None
    reverse = gml("indtest", sample_data / "asia.csv", "smoke", "xray", "-z", "lung", "-f", "json")
    (other,) = json.loads(reverse.stdout)["results"]
    assert {k: v for k, v in other.items() if k not in "xy"} == {
        k: v for k, v in row.items() if k not in "xy"
    }


@pytest.mark.parametrize("format_", ["text", "json", "jsonl", "csv", "markdown"])
def test_report_formats(gml, tmp_path, format_):
    (tmp_path / "d.csv").write_text('"a|b","c,d",e\n' + "x,1,p\ny,2,q\nx,1,q\ny,2,p\n" * 5)
    done = gml("indtest", "d.csv", "--all-pairs", "-f", format_, "--adjust", "holm")
    assert done.returncode == 0
    text = done.stdout.decode()
    assert text.endswith("\n")
    if format_ == "csv":
        import csv
        import io

        rows = list(csv.DictReader(io.StringIO(text)))
        assert [row["verdict"] for row in rows] == ["dependent", "independent", "independent"]
        assert rows[0]["y"] == "c,d"
    elif format_ == "jsonl":
        assert len([json.loads(line) for line in text.splitlines()]) == 3
    elif format_ == "markdown":
        assert text.splitlines()[1].startswith("|---|")
        assert "a\\|b" in text
    elif format_ == "text":
        assert text.splitlines()[0].split()[:2] == ["x", "y"]
    suffix = {"text": "txt", "markdown": "md"}.get(format_, format_)
    gml("indtest", "d.csv", "--all-pairs", "-o", f"out.{suffix}", "--adjust", "holm")
    assert (tmp_path / f"out.{suffix}").read_text() == text


@pytest.mark.parametrize("test", ["g", "chi2", "mi-threshold", "bayes", "permutation"])
def test_every_test_from_the_command_line(gml, sample_data, test):
    done = gml(
        "indtest", sample_data / "admissions.csv", "Admit", "Gender", "-z", "Dept",
        "--weights", "Freq", "--test", test, "-f", "json",
    )  # fmt: skip
    (row,) = json.loads(done.stdout)["results"]
    assert row["n"] == 4526
    assert row["test"] == test
    judged_by_p = test in ("g", "chi2", "permutation")
    assert (row["p_value"] is not None) == judged_by_p
    assert (row["alpha"] is not None) == judged_by_p
    assert row["verdict"] in ("dependent", "independent")


def test_fisher_z_from_the_command_line(gml, tmp_path):
    rows = "".join(f"{i},{i * i % 7},{i % 5}\n" for i in range(40))
    (tmp_path / "d.csv").write_text("a,b,c\n" + rows)
    done = gml("indtest", "d.csv", "a", "b", "-z", "c", "--test", "fisher-z", "-f", "json")
    (row,) = json.loads(done.stdout)["results"]
    assert row["df"] is None
    assert row["cramers_v"] is None
    assert row["verdict"] == "independent"
    (tmp_path / "same.csv").write_text("a,b\n" + "".join(f"{i},{2 * i}\n" for i in range(9)))
    assert "'a', 'b'" in error_line(gml("indtest", "same.csv", "a", "b", "--test", "fisher-z"), 3)


def test_tiny_p_values_keep_their_logarithm(gml, tmp_path):
    (tmp_path / "d.csv").write_text("a,b,n\nx,x,100000\ny,y,100000\n")
    done = gml("indtest", "d.csv", "a", "b", "--weights", "n", "-f", "json")
    (row,) = json.loads(done.stdout)["results"]
    assert row["p_value"] == 0.0
    with mpmath.workdps(30):
        # df = 1 and G = 2n ln 2 with n = 200 000
        exact = mpmath.log10(mpmath.erfc(mpmath.sqrt(200_000 * mpmath.log(2))))
    assert row["log10_p"] == pytest.approx(float(exact), rel=1e-10)
    assert row["cramers_v"] == 1.0


@pytest.mark.parametrize(
    "args,code",
    [
        (["smoke", "lung", "--expect", "dependent"], 0),
        (["smoke", "lung", "--expect", "independent"], 1),
        (["tub", "smoke", "--expect", "independent"], 0),
        (["either", "smoke", "-z", "lung,tub", "--expect", "independent"], 4),
        (["either", "smoke", "-z", "lung,tub", "--expect", "dependent"], 4),
        (["either", "smoke", "-z", "lung,tub"], 0),
        (["--all-pairs", "-c", "smoke,lung,tub", "--expect", "dependent"], 1),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_expect(gml, sample_data, args, code):
    done = gml("indtest", sample_data / "asia.csv", *args)
    assert done.returncode == code
    assert done.stdout
    assert done.stderr == b""


def test_implied_by_an_undirected_graph(gml, sample_data, tmp_path):
    (tmp_path / "g.dot").write_text("graph { smoke -- lung; lung -- either; either -- xray }")
    asked = ("--implied", "g.dot", "-f", "jsonl", "-q")
    done = gml("indtest", sample_data / "asia.csv", *asked)
    assert [
        (row["x"], row["y"], row["given"]) for row in map(json.loads, done.stdout.splitlines())
    ] == [
        ("either", "smoke", ["lung"]),
        ("lung", "xray", ["either"]),
        ("smoke", "xray", ["lung"]),
    ]


def test_implied(gml, sample_data, tmp_path):
    done = gml(
        "indtest", sample_data / "asia.csv", "--implied", sample_data / "asia.dot", "-f", "jsonl"
    )
    assert len(done.stdout.splitlines()) == 20
    piped = gml(
        "indtest", sample_data / "asia.csv", "--implied", "-", "-f", "jsonl",
        stdin=(sample_data / "asia.dot").read_bytes(),
    )  # fmt: skip
    assert piped.stdout == done.stdout
    (tmp_path / "g.dot").write_text("digraph { smoke -> lung; tub }")
    less = gml("indtest", sample_data / "asia.csv", "--implied", "g.dot", "-f", "jsonl")
    assert len(less.stdout.splitlines()) == 2
    assert less.stderr.startswith(b"gml: warning: not in the graph, ignored: 'asia'")
    assert less.stderr.count(b"\n") == 1
    (tmp_path / "g.dot").write_text("digraph { smoke -> lungs }")
    text = error_line(gml("indtest", sample_data / "asia.csv", "--implied", "g.dot"), 3)
    assert "did you mean 'lung'" in text
    (tmp_path / "g.dot").write_text("digraph { smoke -> lung; lung -> tub; tub -> smoke }")
    text = error_line(gml("indtest", sample_data / "asia.csv", "--implied", "g.dot"), 3)
    assert "cycle" in text


def test_names_with_commas_and_quotes_in_lists(gml, tmp_path):
    (tmp_path / "d.csv").write_text('"a,b","say ""hi""",c\n' + "x,1,p\ny,2,q\n" * 9)
    done = gml("indtest", "d.csv", "--all-pairs", "-c", '"a,b","say ""hi"""', "-f", "csv")
    assert done.stdout.splitlines()[1].startswith(b'"a,b","say ""hi""",')
    assert gml("indtest", "d.csv", "c", "a,b", "-z", '"say ""hi"""').returncode == 0


def test_same_bytes_for_hash_seeds_threads_and_kernels_of_one_build(gml, sample_data):
    for args in (
        ["chowliu", sample_data / "asia.csv", "-f", "json"],
        ["chowliu", sample_data / "cancer.csv", "--prune", "bic"],
        ["indtest", sample_data / "asia.csv", "--all-pairs", "-f", "json", "--adjust", "bh"],
        ["indtest", sample_data / "asia.csv", "--all-pairs", "-f", "csv", "--test", "permutation",
         "--permutations", "600", "--seed", "3"],
    ):  # fmt: skip
        outputs = {
            gml(*args, "--threads", str(threads), env={"PYTHONHASHSEED": str(seed)}).stdout
            for seed, threads in ((0, 1), (1, 2), (2, 5))
        }
        assert len(outputs) == 1
        assert outputs != {b""}


def test_without_the_compiled_kernel_the_answers_are_the_same(gml, sample_data):
    reference = {"GML_KERNEL": "reference"}
    args = [
        "indtest",
        sample_data / "cancer.csv",
        "--all-pairs",
        "-f",
        "jsonl",
        "--test",
        "permutation",
    ]
    for command in (args, [*args[:-2]]):
        one, two = gml(*command).stdout, gml(*command, env=reference).stdout
        for a, b in zip(one.splitlines(), two.splitlines(), strict=True):
            first, second = json.loads(a), json.loads(b)
            assert first.keys() == second.keys()
            for key, value in first.items():
                if isinstance(value, float):
                    assert second[key] == pytest.approx(value, rel=1e-12)
                else:
                    assert second[key] == value


def test_shuffled_rows_and_columns_give_the_same_tree(gml, tmp_path, sample_data):
    import random

    lines = (sample_data / "asia.csv").read_text().splitlines()
    header, rows = lines[0].split(","), [line.split(",") for line in lines[1:]]
    order = list(range(len(header)))
    rng = random.Random(5)
    rng.shuffle(order)
    rng.shuffle(rows)
    table = [header, *rows]
    (tmp_path / "s.csv").write_text(
        "".join(",".join(row[j] for j in order) + "\n" for row in table)
    )

    def edges(path):
        content = json.loads(gml("chowliu", path, "-f", "json").stdout)
        return sorted(map(json.dumps, content["edges"]))

    assert edges("s.csv") == edges(sample_data / "asia.csv")


def test_stdin_compressed_and_plain(gml_process, sample_data):
    import gzip

    content = (sample_data / "asia.csv").read_bytes()
    expected = gml_process("chowliu", sample_data / "asia.csv").stdout
    assert gml_process("chowliu", "-", stdin=content).stdout == expected
    assert gml_process("chowliu", "-", stdin=gzip.compress(content)).stdout == expected


def test_stdin_is_not_read_unless_asked_for(sample_data):
    read_end, write_end = os.pipe()
    try:
        done = subprocess.run(
            [*GML, "chowliu", str(sample_data / "asia.csv")],
            stdin=read_end,
            capture_output=True,
            timeout=60,
        )
    finally:
        os.close(read_end)
        os.close(write_end)
    assert done.returncode == 0


@pytest.mark.parametrize("expect,code", [(None, 0), ("dependent", 1)])
def test_closed_pipe_ends_quietly_unless_the_answer_is_no(sample_data, expect, code):
    args = [*GML, "indtest", str(sample_data / "asia.csv"), "--all-pairs"]
    args += [] if expect is None else ["--expect", expect]
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(args, stdout=write_end, stderr=subprocess.PIPE, timeout=60)
    os.close(write_end)
    assert done.stderr == b""
    assert done.returncode == code


def test_pipe_into_head(sample_data):
    command = f"{' '.join(GML)} chowliu {sample_data / 'asia.csv'} | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"digraph {\n", b"")


def test_full_disk_on_standard_output(sample_data):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*GML, "chowliu", str(sample_data / "asia.csv")], stdout=full, stderr=subprocess.PIPE
        )
    assert done.returncode == 4
    assert done.stderr == b"gml: error: cannot write to standard output: No space left on device\n"


def test_failed_run_leaves_the_old_file_and_no_other(gml, tmp_path):
    (tmp_path / "tree.dot").write_text("old")
    (tmp_path / "bad.csv").write_text("a,b\n1\n")
    error_line(gml("chowliu", "bad.csv", "-o", "tree.dot"), 3)
    (tmp_path / "ctrl.csv").write_text('"a\x01",b\nx,y\nz,w\n')
    error_line(gml("chowliu", "ctrl.csv", "-f", "graphml", "-o", "tree.dot"), 3)
    assert (tmp_path / "tree.dot").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["bad.csv", "ctrl.csv", "tree.dot"]


@pytest.mark.parametrize(
    "args",
    [
        "check d.csv m.json --report json=x.json",
        "check d.csv m.json --write-baseline x.json",
        "chowliu d.csv -o x.json",
        "chowliu d.csv -o t.json --depfile x.json",
        "pc d.csv --sepsets x.json",
        "sample m.json -n 1 -o x.json",
        "convert m.json x.json",
        "count d.csv --pairs -o x.json",
    ],
)
def test_a_folder_is_refused_before_anything_is_written(gml, tmp_path, args):
    (tmp_path / "d.csv").write_text("a,b\nx,0\ny,1\nx,1\n")
    (tmp_path / "x.json").mkdir()
    if "m.json" in args:
        (tmp_path / "g.dot").write_text("digraph { a -> b }")
        assert gml("fit-params", "d.csv", "g.dot", "-o", "m.json").returncode == 0
    before = sorted(path.name for path in tmp_path.iterdir())
    done = gml(*args.split())
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"gml: error: cannot write 'x.json': it is a folder\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_output_to_devices(gml_process, sample_data):
    assert gml_process("chowliu", sample_data / "asia.csv", "-o", "/dev/null").returncode == 0
    assert gml_process("chowliu", sample_data / "asia.csv", "-o", "/dev/stdout").stdout.startswith(
        b"digraph"
    )
    assert gml_process("chowliu", sample_data / "asia.csv", "-o", "-").stdout.startswith(b"digraph")


def test_huge_tables_are_refused_before_they_are_made(gml, tmp_path):
    rows = "".join(f"a{i},b{i}\n" for i in range(5000))
    (tmp_path / "d.csv").write_text("a,b\n" + rows)
    room = ("--kinds", "labels", "--max-levels", "5000", "--max-memory", "100M")
    done = gml("indtest", "d.csv", "a", "b", *room, "-q")
    assert "would take 191 MiB" in error_line(done, 4)


def test_quiet_and_verbose(gml, tmp_path):
    (tmp_path / "d.tsv").write_text("a,b\n1,2\n2,1\n")
    assert b"did you mean --delimiter" in gml("chowliu", "d.tsv").stderr
    assert gml("chowliu", "d.tsv", "-q").stderr == b""
    assert b"gml: 2 rows, 2 columns used" in gml("chowliu", "d.tsv", "-d", ",", "-v").stderr


def test_debug_shows_the_traceback(gml):
    done = gml("chowliu", "nowhere.csv", "--debug")
    assert done.returncode == 3
    assert b"Traceback" in done.stderr


def test_a_bug_says_so(gml, tmp_path, monkeypatch):
    import gml.cli.main as main_module

    def broken(*args, **kwargs):
        raise RuntimeError("two\nlines")

    def out_of_memory(*args, **kwargs):
        raise MemoryError

    monkeypatch.setattr(main_module.cli, "make_context", broken)
    assert main_module.run(["chowliu"]) == 70
    monkeypatch.setattr(main_module.cli, "make_context", out_of_memory)
    assert main_module.run(["chowliu"]) == 4


def test_interrupt(tmp_path):
    """Ctrl-C while it waits for standard input: 130, no traceback, no partial file."""
    process = subprocess.Popen(
        [*GML, "chowliu", "-", "-o", str(tmp_path / "tree.dot")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    # More than a pipe holds: once it is written, the command is past its start-up and reads.
    process.stdin.write(b"a,b\n" + b"1,2\n" * 500_000)
    process.stdin.flush()
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    # Standard input stays open, so that nothing but the signal ends the waiting.
    assert process.wait(timeout=30) == 130
    _, errors = process.communicate()
    assert errors == b"gml: error: interrupted\n"
    assert os.listdir(tmp_path) == []


def test_weights_equal_repeated_rows(gml, tmp_path, sample_data):
    lines = (sample_data / "admissions.csv").read_text().splitlines()
    expanded = [lines[0].rsplit(",", 1)[0]]
    for line in lines[1:]:
        row, count = line.rsplit(",", 1)
        expanded += [row] * int(count)
    (tmp_path / "rows.csv").write_text("\n".join(expanded) + "\n")
    weighted = gml("chowliu", sample_data / "admissions.csv", "--weights", "Freq")
    assert weighted.stdout == gml("chowliu", "rows.csv").stdout


def test_levels_file(gml, tmp_path):
    (tmp_path / "d.csv").write_text("a,b\nlow,1\nhigh,2\n")
    schema = {"schema": "gml/1", "columns": {"a": {"levels": ["low", "mid", "high"]}}}
    (tmp_path / "s.json").write_text(json.dumps(schema))
    done = gml("chowliu", "d.csv", "--levels", "s.json", "-f", "json")
    assert json.loads(done.stdout)["nodes"][0] == {"id": "a", "levels": ["low", "mid", "high"]}
    (tmp_path / "d.csv").write_text("a,b\nlow,1\nhihg,2\n")
    assert "line 3: column 'a': level 'hihg' not found; did you mean 'high'?" in error_line(
        gml("chowliu", "d.csv", "--levels", "s.json"), 3
    )


def test_list_options_add_up(gml, sample_data):
    done = gml(
        "indtest",
        sample_data / "asia.csv",
        "smoke",
        "xray",
        "-z",
        "lung",
        "-z",
        "tub",
        "-f",
        "json",
    )
    assert json.loads(done.stdout)["results"][0]["given"] == ["lung", "tub"]
    tree = gml("chowliu", sample_data / "asia.csv", "-c", "smoke", "-c", "lung,tub", "-f", "json")
    assert [node["id"] for node in json.loads(tree.stdout)["nodes"]] == ["smoke", "lung", "tub"]
    learning = json.loads(tree.stdout)["graph"]["learning"]
    assert learning["options"] == {"columns": ["smoke", "lung", "tub"]}


def test_warnings_about_doubtful_data(gml, tmp_path, sample_data):
    (tmp_path / "d.csv").write_text("a,b\n1,2\n1,3\n")
    done = gml("indtest", "d.csv", "a", "b")
    assert done.stderr == b"gml: warning: only one value, so independent of everything: 'a'\n"
    (tmp_path / "n.csv").write_text("a,b\n" + "".join(f"{i},{i * 7 % 50}\n" for i in range(50)))
    asked = ("indtest", "n.csv", "a", "b", "--kinds", "labels")
    by_g = gml(*asked, "--test", "g").stderr
    assert b"the table is too sparse for --test g: " in by_g and b"use --test auto" in by_g
    assert b"sparse" not in gml(*asked).stderr
    missing = gml("chowliu", sample_data / "survey_missing.csv").stderr
    assert b"available" not in missing
    assert b"available" in gml("indtest", sample_data / "survey_missing.csv", "Age", "Sex").stderr
    dropped = gml("chowliu", sample_data / "survey_missing.csv", "--missing", "drop").stderr
    assert dropped.startswith(b"gml: warning: ")
    assert b"of 1000 rows dropped for missing values" in dropped


def test_text_shows_p_values_below_the_smallest_float(gml, tmp_path):
    (tmp_path / "d.csv").write_text("a,b,n\nx,x,1000\ny,y,1000\n")
    text = gml("indtest", "d.csv", "a", "b", "--weights", "n").stdout.decode()
    fields = dict(zip(*(line.split() for line in text.splitlines()), strict=True))
    mantissa, exponent = fields["p_value"].split("e")
    assert math.log10(float(mantissa)) + int(exponent) == pytest.approx(
        float(fields["log10_p"]), abs=1e-3
    )
    assert int(exponent) < -308
