"""No output replaces an input or another output, whichever options name them and in which order."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import click
import pytest

from gml.atomic import write_whole
from gml.cli.main import COMMANDS, cli, run
from gml.cli.shared.parameter_types import OutputFile
from gml.errors import OutputError
from gml.ledger import Ledger, RunPath

# Each command with all that it can read, by its name in the folder, and the options that write.
GRAPH = {"-o": "out.json", "--depfile": "out.d"}
REPORT = {"-o": "out.csv", "--depfile": "out.d"}
TRACED = {**GRAPH, "--trace": "out.csv"}
CALLS = {
    "average": (
        "d.csv --by hc --bootstrap 2 --levels schema.json --knowledge known.json",
        {**GRAPH, "--probabilities": "out.csv"},
    ),
    "check": (
        "d.csv model.json --levels schema.json --baseline known-base.json --config set.toml",
        {**GRAPH, "--report": "json=out.json", "--write-baseline": "out.json"},
    ),
    "chowliu": ("d.csv --levels schema.json", GRAPH),
    "compare": ("g.dot h.dot", REPORT),
    "completion": ("bash", {**REPORT, "-o": "out.txt"}),
    "convert": ("g.dot", {"": "out.json", "--depfile": "out.d"}),
    "count": ("d.csv --graph g.dot --implied h.dot --sets sets.txt", {**REPORT, "-o": "out.pq"}),
    "crf": ("d.csv g.dot --target a --holdout rows.csv --levels schema.json", GRAPH),
    "draw": (
        "g.dot --against h.dot --knowledge known.json --weight mi --data d.csv --levels schema.json",
        {"-o": "out.svg", "--depfile": "out.d"},
    ),
    "exact": ("d.csv --against g.dot --knowledge known.json", GRAPH),
    "explain": ("log.jsonl a b", {**REPORT, "-o": "out.txt"}),
    "fit-params": ("d.csv g.dot --levels schema.json", {**GRAPH, "--cpt-dir": "tables"}),
    "ges": ("d.csv --knowledge known.json", TRACED),
    "glasso": ("d.csv", GRAPH),
    "hc": ("d.csv --start g.dot --knowledge known.json", TRACED),
    "help": ("tests", {**REPORT, "-o": "out.txt"}),
    "imap": ("d.csv --order a,b,c --knowledge known.json", GRAPH),
    "impute": ("rows.csv model.json", {**REPORT, "--cells": "out_cells.csv"}),
    "indtest": ("d.csv --implied g.dot --levels schema.json", REPORT),
    "maxent": ("known.csv --reference model.json", GRAPH),
    "mixture": ("d.csv --components 2 --em-restarts 2 --levels schema.json", GRAPH),
    "merge": ("one.pq two.pq", {**REPORT, "-o": "out.pq"}),
    "mrf": ("d.csv g.dot --levels schema.json --method pcd", TRACED),
    "notears": ("d.csv", GRAPH),
    "pc": (
        "d.csv --levels schema.json --knowledge known.json",
        {**GRAPH, "--sepsets": "out.csv", "--test-log": "out.jsonl"},
    ),
    "plan": ("pc d.csv --levels schema.json", REPORT),
    "profile": ("d.csv --levels schema.json", GRAPH),
    "query": ("model.json --batch rows.csv --predict a", {**REPORT, "--metrics": "out.json"}),
    "rake": (
        "d.csv --targets known.csv --levels schema.json",
        {**REPORT, "--report": "out.json"},
    ),
    "report": (
        "d.csv model.json --levels schema.json --test-log log.jsonl --strengths avg.json --baseline known-base.json",
        {**REPORT, "-o": "out.html"},
    ),
    "sample": ("model.json -n 3", REPORT),
    "score": ("d.csv g.dot --holdout rows.csv --compare-to h.dot", REPORT),
    "verify": ("model.json --input d.csv", REPORT),
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Files of all kinds, valid ones, so that nothing else is refused."""
    folder = tmp_path_factory.mktemp("inputs")
    draw = random.Random(1)
    rows = ["".join(draw.choice("01") for _ in range(3)) for _ in range(200)]
    text = "a,b,c\n" + "".join(",".join(row) + "\n" for row in rows)
    (folder / "d.csv").write_text(text)
    (folder / "rows.csv").write_text(text)
    (folder / "g.dot").write_text("digraph { a -> b; c }")
    (folder / "h.dot").write_text("digraph { a -> c; b }")
    (folder / "known.json").write_text('{"forbid": [["c", "a"]]}')
    (folder / "avg.json").write_text(
        '{"directed": true, "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "edges": '
        '[{"source": "a", "target": "b", "type": "-->", "strength": 0.9, "direction": 0.5}]}'
    )
    (folder / "sets.txt").write_text("a,b\n")
    (folder / "known.csv").write_text("a,count\n0,1\n1,1\n")
    (folder / "set.toml").write_text("[check]\nalpha = 0.01\n")
    here = os.getcwd()
    os.chdir(folder)
    try:
        for made in (
            "profile d.csv -o schema.json",
            "fit-params d.csv g.dot -o model.json",
            "check d.csv model.json -o /dev/null --write-baseline known-base.json",
            "pc d.csv -o /dev/null --test-log log.jsonl",
            "count d.csv --pairs -o one.pq",
            "count rows.csv --pairs -o two.pq",
        ):
            assert run(made.split()) == 0, made
    finally:
        os.chdir(here)
    return folder


@pytest.fixture
def place(inputs, tmp_path, monkeypatch):
    for path in inputs.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def flags(parameter):
    return "" if isinstance(parameter, click.Argument) else parameter.opts[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_that_writes_is_tried(command):
    found = {flags(p) for p in cli.get_command(None, command).params if type(p.type) is OutputFile}
    # A check's report has a type of its own, as it names formats, too.
    assert found - {"--report"} == set(CALLS[command][1]) - {"--report"}


# What may be brought up to date in place: the first of the files to add up.
REPLACEABLE = {("merge", "one.pq")}


@pytest.mark.parametrize("command", COMMANDS)
def test_an_input_is_never_replaced(place, capfd, command):
    """By the name of a hard link, with the suffix of an output, before or behind the input."""
    call, outputs = CALLS[command]
    for option, path in outputs.items():
        extra = []
        if option not in ("-o", ""):
            main = "-o" if "-o" in outputs else ""
            extra = [*filter(None, [main]), "other" + os.path.splitext(outputs[main])[1]]
        for name in (word for word in call.split() if os.path.isfile(word)):
            if (command, name) in REPLACEABLE and option == "-o":
                continue
            link = path.removeprefix("json=")
            if option == "--cpt-dir":
                os.mkdir(link)
                link = f"{link}/b.csv"
            os.link(name, link)
            before = contents(place)
            named = [option, path] if option else []
            args = [*named, *call.split(), *extra] + ([path] if not option else [])
            if name != "known-base.json" or option != "--write-baseline":
                assert run([command, *args]) == 2, (args, name)
                said = capfd.readouterr().err
                assert "is an input; write somewhere else" in said, (args, name, said)
                assert said.count("\n") == 1
            assert contents(place) == before
            os.unlink(link)
            if option == "--cpt-dir":
                os.rmdir(path)


@pytest.mark.parametrize("command", COMMANDS)
def test_two_outputs_never_share_a_file(place, capfd, command):
    call, outputs = CALLS[command]
    # Beside one another, by another spelling; none of them is there yet.
    for option in set(outputs) - {"-o", "", "--cpt-dir"}:
        path = outputs[option].removeprefix("json=")
        first = ["-o", path] if "-o" in outputs else [path]
        prefix = "json=" if outputs[option].startswith("json=") else ""
        args = [*call.split(), *first, option, f"{prefix}./{path}"]
        before = contents(place)
        assert run([command, *args]) == 2, args
        said = capfd.readouterr().err
        assert "the same file" in said, said
        assert contents(place) == before


def test_tables_are_known_before_anything_is_written(watched, tmp_path, sample_data):
    for name in ("asia.csv", "asia.dot"):
        (tmp_path / name).write_bytes((sample_data / name).read_bytes())
    (tmp_path / "tub.csv").write_bytes((sample_data / "asia.dot").read_bytes())
    before = contents(tmp_path)
    for args, said in (
        (
            ["asia.csv", "asia.dot", "-o", "model.json"],
            "'asia.csv' (--cpt-dir, the table of 'asia') is an input",
        ),
        (
            ["./asia.csv", "asia.dot", "-o", "model.json"],
            "'asia.csv' (--cpt-dir, the table of 'asia') is an input",
        ),
        (
            ["-", "tub.csv", "-o", "model.json"],
            "'tub.csv' (--cpt-dir, the table of 'tub') is an input",
        ),
        (["-", "asia.dot", "-o", "lung.csv", "-f", "json"], "two outputs would go to 'lung.csv'"),
        (["-", "asia.dot", "-o", "m.json", "--depfile", "lung.csv"], "two outputs would go to"),
    ):
        done = watched("fit-params", *args, "--cpt-dir", ".", stdin=before[tmp_path / "asia.csv"])
        assert done.code == 2, args
        assert said in done.error
        assert contents(tmp_path) == before


def test_nothing_is_written_into_a_folder_that_is_read(place, capfd):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pytest.importorskip("pyarrow.csv").read_csv("d.csv")
    (place / "pq/deep").mkdir(parents=True)
    parquet.write_table(table.cast(strings(table)), place / "pq/part0.parquet")
    os.symlink("pq", "other")
    before = contents(place)
    for out in ("pq/part0.parquet", "pq/new.parquet", "other/new.parquet", "pq/deep/x.parquet"):
        assert run(["count", "-o", out, "pq", "--pairs"]) == 2
        assert "write somewhere else" in capfd.readouterr().err
        assert run(["fit-params", "pq", "g.dot", "--cpt-dir", out, "-o", "m.json"]) == 2
        assert run(["chowliu", "./pq", "-o", "tree.json", "--depfile", out]) == 2
        assert contents(place) == before
        capfd.readouterr()
    # A link out of the folder is read as well.
    os.link("pq/part0.parquet", "outside.parquet")
    assert run(["count", "pq", "--pairs", "-o", "outside.parquet"]) == 2
    assert run(["count", "pq", "--pairs", "-o", "pq.parquet"]) == 0


def strings(table):
    import pyarrow

    return pyarrow.schema([(name, pyarrow.string()) for name in table.column_names])


def test_standard_streams_are_files_too(place):
    data = (place / "d.csv").read_bytes()
    with open("d.csv", "rb") as given:
        assert shell("profile - -o d.csv -f json", stdin=given) == 2
    with open("d.csv", "ab") as more:
        assert shell("pc d.csv", stdout=more) == 2
        assert shell("pc d.csv -o /dev/fd/1", stdout=more) == 2
    assert (place / "d.csv").read_bytes() == data
    with open("s.csv", "wb") as out:
        assert shell("pc d.csv --sepsets s.csv", stdout=out) == 2
        assert shell("pc d.csv --sepsets s.csv -o g.json", stdout=out) == 0


def shell(call, **streams):
    return subprocess.run([sys.executable, "-m", "gml.cli", *call.split()], **streams).returncode


@pytest.mark.parametrize(
    "args",
    [
        ["pc", "d.csv", "--sepsets", "/dev/stdout"],
        ["pc", "d.csv", "-o", "/dev/fd/1", "--sepsets", "/dev/stdout"],
        ["check", "d.csv", "model.json", "--write-baseline", "/dev/stdout"],
        ["check", "d.csv", "model.json", "-o", "pipe", "--report", "json=pipe"],
    ],
)
def test_two_results_are_not_mixed_up(place, capfd, args):
    os.mkfifo("pipe")
    assert run(args) == 2
    said = capfd.readouterr()
    assert said.out == ""
    assert "two outputs would go to" in said.err


def test_devices_can_be_named_twice(place):
    assert (
        run(["check", "d.csv", "model.json", "-o", "/dev/null", "--report", "json=/dev/null"]) == 0
    )


def test_the_summary_of_a_step_is_an_output(place, capfd, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "d.csv")
    assert run(["check", "d.csv", "model.json", "-f", "github"]) == 2
    assert "'d.csv' (GITHUB_STEP_SUMMARY) is an input" in capfd.readouterr().err


def test_names_that_turn_out_to_be_one_file(tmp_path):
    """As where a file system takes `A` for `a`, which it shows once one of them is there."""
    kept = Ledger()
    first, second = (RunPath(str(tmp_path / name), kept) for name in ("a", "A"))
    for path in (first, second):
        kept.plan(path, "--output")
    write_whole(first, b"first")
    os.link(first, second)
    with pytest.raises(OutputError, match="which was just written"):
        write_whole(second, b"second")
    assert (tmp_path / "a").read_bytes() == b"first"
