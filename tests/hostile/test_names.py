"""Names that steer terminals, build servers and spreadsheets, through every kind of output."""

from __future__ import annotations

import csv
import io
import json
import os

import pytest

NAMES = ("A\x1b[31m", "::error::B\nC", "=1+1", "rtl\u202e\u2028", "del\x7f\x9b")
ROWS = [("x\x1b]0;t\x07", "::warning::y", "=cmd", "-1.5", "a"), ("z", "y", "@f", "2", "＋b")]


@pytest.fixture
def learned(tmp_path, watched):
    """A table evil.csv with a graph, a model and a log of PC."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([NAMES, *ROWS * 20, *ROWS[:1] * 3])
    (tmp_path / "evil.csv").write_bytes(text.getvalue().encode())
    assert watched("chowliu", "evil.csv", "-o", "graph.json").code == 0
    done = watched("fit-params", "evil.csv", "graph.json", "-o", "model.json")
    assert done.code == 0
    done = watched("pc", "evil.csv", "--test-log", "log.jsonl", "-f", "text")
    assert done.code == 0
    for_people(done.stdout)


def for_people(output):
    """Nothing but visible characters and ends of lines, and no command for a build server."""
    lines = output.decode().split("\n")
    assert all(line.isprintable() for line in lines), lines
    assert not any(line.lstrip().startswith(("::", "##[")) for line in lines), lines


def test_text_for_people_shows_what_names_hide(tmp_path, watched, learned):
    for args in (
        ("explain", "log.jsonl", NAMES[1], NAMES[0]),
        ("convert", "graph.json", "-", "-f", "text"),
        ("convert", "model.json", "-", "-f", "text"),
        ("profile", "evil.csv", "-f", "text"),
        ("profile", "evil.csv", "-f", "markdown"),
        ("indtest", "evil.csv", "--all-pairs"),
        ("indtest", "evil.csv", "--all-pairs", "-f", "markdown"),
        ("score", "evil.csv", "graph.json", "--per-node", "-v"),
        ("compare", "graph.json", "model.json"),
        ("query", "model.json", "--target", NAMES[2], "--evidence", f"{NAMES[0]}=z"),
    ):
        done = watched(*args)
        assert done.code == 0, done.stderr
        assert done.stdout
        for_people(done.stdout)
        for_people(done.stderr)


def test_a_check_for_people(tmp_path, watched, learned):
    text = (tmp_path / "evil.csv").read_bytes().decode()
    name = "new ::error::\n\x1b[1m.csv"
    (tmp_path / name).write_bytes(text.replace("＋b", "=new ::stop\x1b").encode())
    done = watched("check", name, "model.json", "--report", "github=out", "--report", "markdown=md")
    assert (done.code, done.stderr) == (1, b"")
    for_people(done.stdout)
    for_people((tmp_path / "md").read_bytes())
    lines = (tmp_path / "out").read_text().split("\n")
    assert all(line.isprintable() for line in lines)
    assert {line.partition(" ")[0] for line in lines if line} <= {
        "::error",
        "::warning",
        "::notice",
    }
    machine = json.loads(watched("check", name, "model.json", "-f", "json").stdout)
    assert machine["data"] == name
    assert NAMES[1] in {name for check in machine["checks"] for name in check["variables"]}


def test_messages_are_one_visible_line(tmp_path, watched):
    name = "no\n::error::\x1b[2J\u2028\x85" + os.fsdecode(b"\xff")
    for args in (
        ("chowliu", name),
        ("chowliu", name, "--debug"),
        ("check", "d.csv", name),
        ("check", "d.csv", "m.json", "--config", name),
        ("convert", name, "-", "-f", "text"),
        ("chowliu", "d.csv", f"--{name}"),
        (name,),
    ):
        done = watched(*args)
        assert done.code in (2, 3)
        for_people(done.stderr)
        assert done.error.startswith("gml: error: ")
        assert "--debug" in args or done.stderr.count(b"\n") == 1
    (tmp_path / "one\n\x1b.csv").write_text("A,B\nx,1\nx,2\n")
    done = watched("chowliu", "one\n\x1b.csv", "-v")
    assert done.code == 0
    for_people(done.stderr)


def test_machine_formats_keep_names(tmp_path, watched, learned):
    graph = json.loads((tmp_path / "graph.json").read_text())
    assert tuple(node["id"] for node in graph["nodes"]) == NAMES
    rows = watched("sample", "model.json", "-n", "50").stdout.decode()
    header, *drawn = csv.reader(io.StringIO(rows, newline=""))
    assert tuple(header) == NAMES
    assert {row[2] for row in drawn} <= {"=cmd", "@f"}


def cells(text):
    return {cell for row in csv.reader(io.StringIO(text.decode(), newline="")) for cell in row}


def test_safe_csv(tmp_path, watched, learned):
    watched("fit-params", "evil.csv", "graph.json", "--cpt-dir", "t", "--safe-csv", "-o", "m.json")
    assert (tmp_path / "m.json").read_bytes() == (tmp_path / "model.json").read_bytes()
    tables = b"".join(path.read_bytes() for path in (tmp_path / "t").iterdir())
    average = ("average", "evil.csv", "--by", "hc", "--bootstrap", "2")
    assert watched(*average, "--probabilities", "p.csv", "--safe-csv", "-o", "g.dot").code == 0
    assert watched("hc", "evil.csv", "--trace", "t.csv", "--safe-csv").code == 0
    outputs = [tables, (tmp_path / "p.csv").read_bytes(), (tmp_path / "t.csv").read_bytes()]
    for args in (
        ("sample", "model.json", "-n", "50"),
        ("query", "model.json", "--target", NAMES[2], "-f", "csv"),
        ("query", "model.json", "--target", NAMES[2], "--batch", "evil.csv"),
        ("profile", "evil.csv", "-f", "csv"),
        ("indtest", "evil.csv", "--all-pairs", "-f", "csv"),
        ("score", "evil.csv", "graph.json", "--per-node", "-f", "csv"),
    ):
        safe = watched(*args, "--safe-csv")
        assert safe.code == 0, safe.stderr
        assert "'=1+1" in cells(safe.stdout)
        outputs.append(safe.stdout)
    found = set().union(*map(cells, outputs))
    assert {"'=1+1", "'=cmd", "'@f", "-1.5", "'＋b"} <= found
    risky = {cell for cell in found if cell.startswith(tuple("=+-@\t\r\n＝＋－＠"))}
    assert all(float(cell) < 0 for cell in risky)
