"""gml pc and gml explain on the command line."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from tests.command_line import GML, error_line


def write(path, columns, names=None):
    names = names or [f"x{j}" for j in range(len(columns))]
    lines = [",".join(names)]
    lines += [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="session")
def wide(tmp_path_factory):
    """Ten columns in a noisy web: some levels of tests, some conflicts."""
    rng = np.random.default_rng(7)
    columns = [rng.integers(0, 3, 800)]
    for _ in range(9):
        source = columns[int(rng.integers(len(columns)))]
        noise = rng.random(800) < rng.uniform(0.3, 0.7)
        columns.append(np.where(noise, rng.integers(0, 3, 800), source))
    return write(tmp_path_factory.mktemp("pc") / "wide.csv", [c.tolist() for c in columns])


def test_bytes_of_a_small_graph(gml, tmp_path):
    """Every combination of a, b and noise twenty times: c is a or b, d a noisy copy of c."""
    rows = [
        (a, b, a | b, (a | b) ^ (noise == 0))
        for a, b, noise in itertools.product((0, 1), (0, 1), range(8))
    ] * 20
    write(tmp_path / "abcd.csv", list(zip(*rows, strict=True)), list("abcd"))
    done = gml("pc", "abcd.csv", "-f", "text")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"cpdag, 4 nodes, 3 edges\na --> c\nb --> c\nc --> d\n"
    nodes = "".join(f'  "{name}" [levels="[\\"0\\", \\"1\\"]"];\n' for name in "abcd")
    assert gml("pc", "abcd.csv").stdout.decode() == (
        f'digraph {{\n  graph [kind="cpdag"];\n{nodes}'
        '  "a" -> "c";\n  "b" -> "c";\n  "c" -> "d";\n}\n'
    )


def test_json_records_the_run(gml, wide):
    done = gml("pc", wide, "-f", "json", "--alpha", "0.05", "--tiers", "x0 < x1", "--max-cond", "2")
    content = json.loads(done.stdout)
    learning = content["graph"]["learning"]
    assert content["graph"]["kind"] == "pdag"
    assert learning["options"] == {"alpha": 0.05, "max_cond": 2, "tiers": "x0 < x1"}
    assert learning["settings"] == {
        "test": "auto", "alpha": 0.05, "colliders": "max-p", "on_insufficient": "auto", "max_cond": 2,
    }  # fmt: skip
    assert learning["knowledge"] == {"require": [], "forbid": [], "tiers": [["x0"], ["x1"]]}
    assert learning["tests"] == sum(learning["tests_by_level"])
    assert len(learning["tests_by_level"]) <= 3
    assert learning["collider_tests"] > 0
    assert "complete" not in learning
    assert content["nodes"][0]["levels"] == ["0", "1", "2"]


def test_same_bytes_for_hash_seeds_threads_and_kernels(gml, wide, tmp_path):
    found = set()
    for seed, threads in itertools.product("012", "124"):
        log, sepsets = tmp_path / f"{seed}{threads}.jsonl", tmp_path / f"{seed}{threads}.csv"
        done = gml(
            "pc", wide, "-f", "json", "--threads", threads, "--test-log", log, "--sepsets", sepsets,
            env={"PYTHONHASHSEED": seed},
        )  # fmt: skip
        assert done.returncode == 0
        found.add((done.stdout, done.stderr, log.read_bytes(), sepsets.read_bytes()))
    assert len(found) == 1
    for args in (("--test", "bayes"), ("--test", "permutation", "--permutations", "199")):
        few = ("--max-cond", "1", "--threads")
        assert gml("pc", wide, *args, *few, "1").stdout == gml("pc", wide, *args, *few, "3").stdout


def test_the_reference_kernel_finds_the_same_graph(gml, wide):
    done = [gml("pc", wide, env={"GML_KERNEL": kernel}) for kernel in ("", "portable", "reference")]
    assert done[0].stdout == done[1].stdout == done[2].stdout
    assert done[0].stderr == done[1].stderr == done[2].stderr


def test_shuffled_rows_and_columns(gml, wide, tmp_path):
    header, *rows = [line.split(",") for line in wide.read_text().splitlines()]
    rng = np.random.default_rng(1)
    order = rng.permutation(len(header))
    mixed = [[row[j] for j in order] for row in (rows[i] for i in rng.permutation(len(rows)))]
    write(tmp_path / "mixed.csv", list(zip(*mixed, strict=True)), [header[j] for j in order])

    def edges(path):
        content = json.loads(gml("pc", path, "-f", "json").stdout)
        return sorted(
            (*sorted((e["source"], e["target"])), e["type"], e["type"] == "---" or e["source"])
            for e in content["edges"]
        )

    assert edges(wide) == edges(tmp_path / "mixed.csv")


@pytest.mark.parametrize("test", ["auto", "g", "chi2", "mi-threshold", "bayes", "permutation"])
def test_every_test(gml, sample_data, test):
    done = gml("pc", sample_data / "cancer.csv", "--test", test, "-f", "text")
    assert done.returncode == 0
    assert done.stdout.startswith(b"cpdag, 5 nodes")


def test_fisher_z(gml, tmp_path):
    rng = np.random.default_rng(0)
    a, b, noise = rng.normal(size=(3, 500))
    write(tmp_path / "n.csv", [x.tolist() for x in (a, b, a + b + noise)], ["a", "b", "c"])
    done = gml("pc", "n.csv", "--test", "fisher-z", "-f", "text")
    assert done.stdout == b"cpdag, 3 nodes, 2 edges\na --> c\nb --> c\n"
    dag = gml("pc", "n.csv", "--test", "fisher-z", "--dag", "-f", "text")
    lines = ["dag, 3 nodes, 2 edges", "a --> c  compelled true", "b --> c  compelled true"]
    assert dag.stdout.decode().splitlines() == lines


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["--alpha", "0"], 2, "not between 0 and 1"),
        (["--test", "auto", "--df", "full"], 2, "--df does not go with --test auto"),
        (["--seed", "1"], 2, "--seed does not go with --test auto"),
        (["--threshold", "0.5"], 2, "--threshold belongs to --bootstrap"),
        (["--bootstrap", "4", "--test-log", "l.jsonl"], 2, "leave out --bootstrap"),
        (["--test-log", "-"], 2, "needs a file"),
        (["--sepsets", "s.xyz"], 2, "does not tell its format"),
        (["--sepsets", "a.csv", "-o", "a.csv", "-f", "dot"], 2, "same file"),
        (["--test", "permutation", "--permutations", "50"], 2, "use 99 or more"),
        (["--require", "x0"], 2, "write A->B"),
        (["--require", "x0->X1"], 2, "did you mean 'x1'?"),
        (["--tiers", "x0 < typo"], 2, "column 'typo' not found"),
        (["--require", "x0->x1,x1->x0"], 3, "its reverse are both required"),
        (["--require", "x0->x1", "--forbid", "x0->x1"], 3, "both required and forbidden"),
        (["--knowledge", "missing.json"], 3, "missing.json: No such file"),
        (["--max-cond", "-1"], 2, "--max-cond"),
        (["--bootstrap", "1"], 2, "--bootstrap"),
    ],
)
def test_errors(gml, wide, tmp_path, args, code, message):
    assert message in error_line(gml("pc", wide, *args), code)
    assert not list(tmp_path.iterdir())


def test_knowledge_files(gml, wide, tmp_path):
    (tmp_path / "k.json").write_text('{"forbid": [["x0", "x1"], ["x1", "x0"]]}')
    done = gml("pc", wide, "--knowledge", "k.json", "-f", "json")
    assert {("x0", "x1"), ("x1", "x0")}.isdisjoint(
        (e["source"], e["target"]) for e in json.loads(done.stdout)["edges"]
    )
    (tmp_path / "k.json").write_text('{"forbid": [["x0", "y"]]}')
    assert "k.json: column 'y' not found" in error_line(gml("pc", wide, "--knowledge", "k.json"), 3)


def test_conflicts_and_open_triples_are_named_once(gml, tmp_path):
    rows = []
    for a, b, c, d in itertools.product((0, 1), repeat=4):
        rows += [(a, b, c, d)] * (1 + 6 * ((a == b) + (b == c) + (c == d) + (d == a)) ** 2)
    write(tmp_path / "ring.csv", list(zip(*rows, strict=True)), list("abcd"))
    done = gml("pc", "ring.csv", "-f", "text")
    assert done.returncode == 0
    text = done.stderr.decode()
    assert text.startswith("gml: warning: ") and text.count("\n") == text.count("gml: warning: ")
    assert gml("pc", "ring.csv", "-q").stderr == b""


def test_max_seconds_writes_the_best_so_far_and_exits_5(gml, wide, tmp_path):
    done = gml("pc", wide, "--max-seconds", "0", "-f", "json", "--test-log", "l.jsonl")
    assert done.returncode == 5
    assert json.loads(done.stdout)["graph"]["learning"]["complete"] is False
    assert b"stopped by --max-seconds" in done.stderr
    assert b"stopped before its end" in gml("explain", "l.jsonl", "x0", "x1").stdout
    done = gml("pc", wide, "--max-seconds", "0", "--bootstrap", "4")
    assert error_line(done, 4)


def test_bootstrap(gml, wide):
    done = [
        gml("pc", wide, "--bootstrap", "11", "--seed", seed, "--threads", threads, "-f", "json")
        for seed, threads in (("3", "1"), ("3", "2"), ("4", "1"))
    ]
    assert done[0].stdout == done[1].stdout != done[2].stdout
    content = json.loads(done[0].stdout)
    learning = content["graph"]["learning"]
    assert learning["replicates"] == 11
    for edge in content["edges"]:
        assert learning["threshold"] <= edge["strength"] <= 1
        assert 0 <= edge["undirected"] <= 1
        assert edge["undirected"] / 2 <= edge["direction"] <= 1
    strict = json.loads(
        gml("pc", wide, "--bootstrap", "11", "--seed", "3", "--threshold", "1", "-f", "json").stdout
    )
    assert {e["strength"] for e in strict["edges"]} == {1.0}


# ---------------------------------------------------------------------- evidence


def test_explain_every_pair(gml, wide, tmp_path):
    done = gml("pc", wide, "--test-log", "l.jsonl", "-f", "json", "--require", "x0->x9", "-q")
    graph = json.loads(done.stdout)
    learning = graph["graph"]["learning"]
    records = [json.loads(line) for line in (tmp_path / "l.jsonl").read_text().splitlines()]
    tests = [r for r in records if r["record"] == "test"]
    assert len(tests) == learning["tests"] + learning["collider_tests"]
    assert (records[0]["record"], records[-1]["record"]) == ("run", "end")

    from gml.learners.explain import explain

    edges = {frozenset((e["source"], e["target"])): e for e in graph["edges"]}
    for a, b in itertools.permutations([node["id"] for node in graph["nodes"]], 2):
        text = " ".join(explain(records, a, b).sentences)
        edge = edges.get(frozenset((a, b)))
        assert ("have no edge" in text) == (edge is None)
        if edge is not None and edge["type"] == "-->":
            assert f"points from {edge['source']} to {edge['target']}" in text
        elif edge is not None:
            assert "direction is open" in text


def test_explain_in_words_and_in_json(gml, sample_data, tmp_path):
    gml("pc", sample_data / "asia.csv", "--test-log", "l.jsonl", "-o", "g.dot")
    done = gml("explain", "l.jsonl", "tub", "lung")
    assert done.stdout.startswith(
        b"tub and lung have no edge: they are independent without conditioning (G = 0.935386, "
        b"df 1, p = 0.333, n = 5000) at level 0.01.\n"
    )
    facts = json.loads(gml("explain", "l.jsonl", "bronc", "dysp", "-f", "json").stdout)
    assert facts["edge"]["reason"] == "collider"
    assert facts["schema"] == "gml/1"
    assert "did you mean 'tub'?" in error_line(gml("explain", "l.jsonl", "Tub", "lung"), 2)
    assert error_line(gml("explain", "l.jsonl", "tub", "tub"), 2)
    with (tmp_path / "l.jsonl").open("rb") as file:
        piped = subprocess.run(
            [*GML, "explain", "-", "tub", "lung"], stdin=file, capture_output=True
        )
    assert piped.stdout == done.stdout


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("max-p", "by a factor of"),
        ("sepset", "The set that separated"),
        ("conservative", "that separates"),
        ("majority", "than half of the sets"),
    ],
)
def test_explain_says_what_the_rule_looked_at(gml, wide, tmp_path, rule, words):
    gml("pc", wide, "--colliders", rule, "--test-log", "l.jsonl", "-o", "g.dot", "-q")
    records = [json.loads(line) for line in (tmp_path / "l.jsonl").read_text().splitlines()]

    from gml.learners.explain import explain

    decided = [r for r in records if r["record"] == "triple" and r["weight"] != 0]
    assert decided
    texts = [" ".join(explain(records, t["x"], t["y"]).sentences) for t in decided]
    assert all(words in text or "orders of magnitude" in text for text in texts)


def test_explain_with_knowledge_and_without_p_values(gml, wide, tmp_path):
    gml(
        "pc", wide, "--test", "bayes", "--require", "x0->x1", "--forbid", "x2->x3,x3->x2",
        "--test-log", "l.jsonl", "-o", "g.dot", "-q",
    )  # fmt: skip
    text = gml("explain", "l.jsonl", "x0", "x1").stdout.decode()
    assert "because knowledge requires it" in text
    assert "It points from x0 to x1 because knowledge rules out x1 -> x0." in text
    text = gml("explain", "l.jsonl", "x2", "x3").stdout.decode()
    assert "knowledge forbids it both ways, so it was not tested" in text
    records = [json.loads(line) for line in (tmp_path / "l.jsonl").read_text().splitlines()]
    names = records[0]["names"]

    from gml.learners.explain import explain

    for a, b in itertools.combinations(names, 2):
        assert " in p" not in " ".join(explain(records, a, b).sentences)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "does not begin with the run"),
        ("x\n", "not a JSON object per line"),
        ("1\n", "not a JSON object per line"),
        ('{"record": "run"}\n', "cut off"),
        ('{"record": "run"}\n{"record": "end"}\n', 'line 1 has no "alpha"'),
        ("[" * 100000 + "\n", "not a JSON object per line"),
    ],
)
def test_explain_refuses_other_files(gml, tmp_path, content, message):
    (tmp_path / "l.jsonl").write_text(content)
    assert message in error_line(gml("explain", "l.jsonl", "A", "B"), 3)


def test_names_with_line_separators_come_back(gml, tmp_path):
    names = ["a\u2028b", "c\x85d", 'say "x->y", <z>']
    rng = np.random.default_rng(0)
    a, b, c = rng.integers(0, 2, (3, 300)).tolist()
    lines = ['"' + name.replace('"', '""') + '"' for name in names]
    rows = "".join(f"{x},{y},{z}\n" for x, y, z in zip(a, b, c, strict=True))
    (tmp_path / "n.csv").write_text(",".join(lines) + "\n" + rows)
    done = gml("pc", "n.csv", "--test-log", "l.jsonl", "--require", f'"{names[0]}"->{lines[2]}')
    assert done.returncode == 0, done.stderr
    done = gml("explain", "l.jsonl", names[0], names[2])
    assert "because knowledge requires it" in done.stdout.decode()


def test_a_column_without_values_has_no_edges(gml, tmp_path):
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 200).tolist()
    half = [str(v) if i % 2 else "" for i, v in enumerate(a)]
    other = ["" if i % 2 else str(v) for i, v in enumerate(a)]
    write(tmp_path / "n.csv", [half, other, [""] * 200], ["a", "b", "d"])
    done = gml("pc", "n.csv", "--missing", "available", "-f", "text")
    assert done.stdout.startswith(b"cpdag, 3 nodes, 0 edges\n")


def test_a_failed_run_leaves_no_file(gml, wide, tmp_path):
    (tmp_path / "g.dot").write_text("old")
    done = gml(
        "pc", wide, "--test-log", "l.jsonl", "--sepsets", "no/such/folder/s.csv", "-o", "g.dot"
    )
    assert done.returncode == 2
    assert b"there is no folder" in done.stderr
    done = gml("pc", wide, "--test-log", "l.jsonl", "-o", "/dev/full")
    assert done.returncode == 4
    assert [path.name for path in tmp_path.iterdir()] == ["g.dot"]
    assert (tmp_path / "g.dot").read_text() == "old"


def test_no_output_replaces_an_input(gml, wide, tmp_path):
    (tmp_path / "mine.csv").write_bytes(wide.read_bytes())
    (tmp_path / "k.json").write_text("{}")
    gml("pc", "mine.csv", "--test-log", "l.jsonl", "-o", "g.dot")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for args in (
        ("pc", "mine.csv", "-o", "./mine.csv", "-f", "dot"),
        ("pc", "mine.csv", "-o", "g.dot", "--sepsets", "mine.csv"),
        ("pc", "mine.csv", "-o", "g.dot", "--test-log", "mine.csv"),
        ("pc", "mine.csv", "--knowledge", "k.json", "-o", "k.json"),
        ("explain", "l.jsonl", "x0", "x1", "-f", "text", "-o", "l.jsonl"),
    ):
        assert "is an input" in error_line(gml(*args), 2)
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir()}


def test_a_missing_folder_is_said_before_the_work(gml, wide):
    text = error_line(gml("pc", wide, "-o", "no/g.dot", "--max-seconds", "0"), 2)
    assert "there is no folder 'no'" in text


def test_continuous_columns_get_a_warning(gml, tmp_path):
    rng = np.random.default_rng(0)
    write(tmp_path / "n.csv", rng.normal(size=(2, 90)).round(3).tolist(), ["a", "b"])
    done = gml("pc", "n.csv", "--kinds", "labels", "-o", os.devnull)
    assert b"too many values for 90 rows" in done.stderr
    assert b"--test fisher-z" in done.stderr


def test_names_with_blanks_at_the_end_are_meant_without_them(gml, tmp_path):
    rng = np.random.default_rng(0)
    write(tmp_path / "n.csv", rng.integers(0, 2, (2, 50)).tolist(), ["a", " b"])
    done = gml("pc", "n.csv", "--require", "a->b", "-f", "text")
    assert done.stdout.startswith(b"pdag, 2 nodes, 1 edge")


def test_interrupt_leaves_no_file(tmp_path, wide):
    process = subprocess.Popen(
        [*GML, "pc", str(wide), "--test", "permutation", "--permutations", "1000000",
         "--test-log", "l.jsonl", "-o", "g.dot"],
        stderr=subprocess.PIPE, cwd=tmp_path,
    )  # fmt: skip
    deadline = time.monotonic() + 30
    while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stderr == b"gml: error: interrupted\n"
    assert not list(tmp_path.iterdir())


def test_the_choices_are_those_of_the_library():
    from gml.cli.main import cli
    from gml.independence.registry import TESTS
    from gml.learners.pc import COLLIDER_RULES
    from gml.learners.skeleton import ON_INSUFFICIENT

    for name in ("pc", "indtest"):
        options = {p.name: p.type for p in cli.get_command(None, name).params}
        assert tuple(options["test"].choices) == tuple(TESTS)
        if name == "pc":
            assert tuple(options["colliders"].choices) == COLLIDER_RULES
            assert tuple(options["on_insufficient"].choices) == ON_INSUFFICIENT


def test_imports_nothing_heavy(wide):
    code = (
        "import sys\nfrom gml.cli.main import run\n"
        f"assert run(['pc', {str(wide)!r}, '-o', {os.devnull!r}]) == 0\n"
        "heavy = {'pandas', 'scipy', 'networkx', 'pyarrow', 'pydot'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_ambiguous_colliders_are_told_and_logged(gml, shared, tmp_path):
    """Two near copies separate lung and bronc as well as smoke does (bnlearn's asia)."""
    log = tmp_path / "log.jsonl"
    run = gml("pc", shared / "data/simulated/asia.csv", "--test-log", log, "-f", "json")
    (line,) = [line for line in run.stderr.decode().splitlines() if "ambiguous" in line]
    assert "--colliders conservative" in line
    assert "warning: ambiguous: B -> S <- L; sets with" in line
    records = [json.loads(text) for text in log.read_text().splitlines()]
    triples = [r for r in records if r["record"] == "triple"]
    assert [(t["x"], t["k"], t["y"]) for t in triples if t["ambiguous"]] == [("B", "S", "L")]
    said = gml("explain", log, "B", "S").stdout.decode()
    assert "but both separate them, so it is ambiguous: taken for B -> S <- L." in said
