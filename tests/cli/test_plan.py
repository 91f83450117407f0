"""gml plan and --dry-run as users run them."""

from __future__ import annotations

import csv
import io
import json

import pytest

from gml.cli.main import COMMANDS, cli
from gml.verbs.plan import PLANNED
from tests.command_line import error_line, files_in

CALLS = {
    "average": "average asia.csv --by hc --bootstrap 20",
    "check": "check asia.csv model.json",
    "chowliu": "chowliu asia.csv",
    "count": "count asia.csv --pairs -o counts.parquet",
    "exact": "exact asia.csv",
    "fit-params": "fit-params asia.csv asia.dot",
    "ges": "ges asia.csv --trace steps.csv",
    "hc": "hc asia.csv --trace steps.csv --depfile graph.d -o graph.dot",
    "imap": "imap asia.csv --order smoke,lung,bronc,dysp -c smoke,lung,bronc,dysp",
    "indtest": "indtest asia.csv smoke lung --given bronc",
    "pc": "pc asia.csv --test-log log.jsonl --sepsets sepsets.csv -o graph.json",
    "score": "score asia.csv asia.dot",
}


@pytest.fixture
def folder(tmp_path, sample_data, monkeypatch, gml):
    for name in ("asia.csv", "asia.dot"):
        (tmp_path / name).write_bytes((sample_data / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    assert gml("fit-params", "asia.csv", "asia.dot", "-o", "model.json").returncode == 0
    return tmp_path


def names_of_lines(text):
    return [line.split()[0] for line in text.decode().splitlines()]


def test_every_planned_command_is_tried():
    assert set(CALLS) == set(PLANNED)


@pytest.mark.parametrize("command", PLANNED)
def test_a_plan_writes_nothing_else(gml, folder, command):
    before = files_in(folder)
    planned = gml("plan", *CALLS[command].split())
    assert planned.returncode == 0, planned.stderr
    assert planned.stderr == b""
    assert files_in(folder) == before
    lines = names_of_lines(planned.stdout)
    assert lines[:2] == ["command", "table"]
    assert planned.stdout.startswith(b"command")
    assert f"gml {command}".encode() in planned.stdout
    dry = gml(*CALLS[command].split(), "--dry-run")
    assert (dry.returncode, dry.stderr) == (0, b"")
    assert names_of_lines(dry.stdout) == lines
    assert files_in(folder) == before


def test_only_planned_commands_have_dry_run():
    for name in COMMANDS:
        options = [o for p in cli.get_command(None, name).params for o in p.opts]
        assert ("--dry-run" in options) == (name in PLANNED), name


def test_formats(gml, folder):
    done = gml("plan", "-f", "json", "chowliu", "asia.csv")
    plan = json.loads(done.stdout)
    assert plan["schema"] == "gml/1"
    assert plan["table"]["rows"] == 5000
    assert plan["table"]["levels"]["smoke"] == 2
    assert plan["work"] == [{"kind": "tests", "size": 0, "low": 28, "likely": 28, "high": 28}]
    assert plan["passes"] == {"low": 1, "likely": 1, "high": 1}
    assert plan["memory"]["codes"] == 40_000
    assert plan["refused"] == []
    assert set(plan["seconds"]) == {"reading", "counting", "other", "elapsed"}
    rows = list(
        csv.DictReader(io.StringIO(gml("plan", "-f", "csv", "pc", "asia.csv").stdout.decode()))
    )
    assert rows[0] == {
        "quantity": "rows", "of": "", "low": "5000", "likely": "5000", "high": "5000", "unit": "rows",
    }  # fmt: skip
    assert {"tests", "passes", "memory", "seconds"} <= {row["quantity"] for row in rows}
    lines = gml("plan", "-f", "jsonl", "pc", "asia.csv").stdout.splitlines()
    assert json.loads(lines[1]) == {
        "quantity": "columns", "of": "", "low": 8, "likely": 8, "high": 8, "unit": "columns",
    }  # fmt: skip
    assert gml("plan", "-f", "markdown", "pc", "asia.csv").stdout.startswith(b"| quantity | of |")


def test_output_files(gml, folder):
    assert gml("plan", "-o", "plan.json", "pc", "asia.csv", "-o", "graph.svg").returncode == 0
    assert json.loads((folder / "plan.json").read_text())["command"] == "pc"
    assert not (folder / "graph.svg").exists()
    before = (folder / "asia.csv").read_bytes()
    (folder / "link.json").hardlink_to(folder / "asia.csv")
    done = gml("plan", "-o", "link.json", "pc", "asia.csv")
    assert "is an input" in error_line(done, 2)
    assert (folder / "asia.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        ("plan", 2, "Missing argument 'COMMAND'"),
        ("plan sample model.json", 2, "gml sample has no plan; there are plans of average, check"),
        ("plan chowlui asia.csv", 2, "command 'chowlui' not found; did you mean 'chowliu'?"),
        ("plan pc", 2, "Missing argument 'DATA'. (see gml pc --help)"),
        ("plan pc -", 2, "standard input cannot be planned: it can be read only once"),
        ("pc - --dry-run", 2, "standard input cannot be planned"),
        ("plan pc none.csv", 3, "none.csv: No such file or directory"),
        ("plan pc asia.csv --alhpa 1", 2, "there is no option --alhpa; did you mean --alpha?"),
        ("plan pc asia.csv -c smoke,nose", 2, "column 'nose' not found"),
        ("plan score asia.csv none.dot", 3, "none.dot: No such file or directory"),
        ("plan pc asia.csv --engine spark", 2, "not of those on Spark"),
        ("plan check asia.csv asia.csv model.json", 2, "a plan is for one table, not for 2 tables"),
        ("pc asia.csv --max-cond -1 --dry-run", 2, "max-cond"),
    ],
)
def test_errors(gml, folder, args, code, said):
    done = gml(*args.split())
    assert said in error_line(done, code)
    assert done.stdout == b""


def test_count_files_need_no_plan(gml, folder):
    assert gml("count", "asia.csv", "--pairs", "-o", "counts.parquet").returncode == 0
    done = gml("plan", "chowliu", "counts.parquet")
    assert "counts.parquet is a count file" in error_line(done, 2)


def test_what_would_be_refused_is_part_of_the_plan(gml, folder):
    (folder / "holes.csv").write_text("a,b\n" + "x,y\nx,\nz,y\n" * 50)
    done = gml("plan", "pc", "holes.csv")
    assert done.returncode == 0
    last = done.stdout.decode().splitlines()[-1]
    assert last.startswith("refused  exit code 3: holes.csv: missing values: 'b' 50; choose")
    assert "--missing drop" in last
    plan = json.loads(gml("plan", "-f", "json", "pc", "holes.csv").stdout)
    assert plan["refused"][0]["exit_code"] == 3
    assert plan["seconds"] is None
    assert gml("pc", "holes.csv").returncode == 3


def test_settings_of_a_check_are_used(gml, folder):
    (folder / "gml.toml").write_text('[check]\ndata = "asia.csv"\nmodel = "model.json"\n')
    (folder / "gml.toml").chmod(0o600)
    done = gml("plan", "check")
    assert done.returncode == 0, done.stderr
    assert b"5,000 rows" in done.stdout


def test_options_before_the_command(gml, folder):
    plan = json.loads(gml("--max-memory", "50M", "plan", "-f", "json", "pc", "asia.csv").stdout)
    assert plan["memory"]["budget"] == 50 << 20
    plan = json.loads(gml("plan", "-f", "json", "pc", "asia.csv", "--max-memory", "60M").stdout)
    assert plan["memory"]["budget"] == 60 << 20
    plan = json.loads(gml("plan", "-f", "json", "pc", "asia.csv", "--threads", "1").stdout)
    assert plan["threads"] == 1


def test_a_check_has_numbers_where_its_model_has(gml, sample_data, tmp_path):
    rows, graph = sample_data / "flats.csv", tmp_path / "g.dot"
    graph.write_text("digraph { size -> rent }")
    model = tmp_path / "model.json"
    words = ["fit-params", rows, graph, "--numeric", "size,rent", "-o", model]
    assert gml(*words).returncode == 0
    plan = gml("plan", "check", rows, model).stdout.decode()
    assert "2 of numbers" in plan and "--max-levels" not in plan
