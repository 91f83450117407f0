"""Labels that steer a terminal: every report for people shows them, and none obeys them."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest

from tests.command_line import run_here
from tests.terminal import on_terminal

NAMES = ("esc\x1b[31m", "li\nne", "rtl\u202e", "csi\x9b")
LEVELS = (("\x1b[2Jy", "n"), ("u\nv", "w\rx"), ("\u202eab", "cd"), ("\x9b31m", "k\x07"))
FILE = "\x1b]0;t\x07\u202e.csv"
FORMATS = ("text", "markdown")


def write(path, seed, flip):
    """A table in which each column follows the one before, the first the other way round or not."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, size=(300, 1)) ^ np.cumsum(rng.random((300, 4)) < 0.15, axis=1) % 2
    codes[:, 0] ^= flip
    rows = [[LEVELS[j][code] for j, code in enumerate(row)] for row in codes.tolist()]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([NAMES, *rows])


def write_graph(path, edges):
    found = {
        "directed": True,
        "multigraph": False,
        "graph": {"schema": "gml/1", "kind": "dag"},
        "nodes": [{"id": name} for name in NAMES],
        "edges": [{"source": NAMES[i], "target": NAMES[j], "type": "-->"} for i, j in edges],
    }
    path.write_text(json.dumps(found))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("labels")
    write(place / "d.csv", 1, flip=0)
    write(place / FILE, 2, flip=1)
    write_graph(place / "g.json", [(0, 1), (1, 2)])
    write_graph(place / "h.json", [(0, 3), (2, 1)])
    for graph, model in (("g.json", "m.json"), ("h.json", "n.json")):
        assert run_here(["fit-params", "d.csv", graph, "-o", model], place).returncode == 0
    done = run_here(["pc", "d.csv", "--test-log", "log.jsonl", "-o", "pc.json"], place)
    assert done.returncode == 0
    return place


REPORTS = (
    ["indtest", "d.csv", "--all-pairs"],
    ["score", "d.csv", "g.json", "h.json"],
    ["score", "d.csv", "g.json", "--per-node"],
    ["compare", "m.json", "n.json"],
    ["profile", "d.csv"],
    ["query", "m.json"],
    ["query", "m.json", "--mpe"],
    ["query", "m.json", "--target", "csi\x9b", "--evidence", "esc\x1b[31m=n,rtl\u202e=\u202eab"],
    ["check", FILE, "m.json"],
    ["check", "d.csv", FILE, "m.json"],
    ["verify", "m.json", "pc.json"],
)
TEXTS = (
    *(["explain", "log.jsonl", NAMES[i], NAMES[j]] for i, j in ((0, 1), (0, 3), (1, 2))),
    *([learner, FILE, "-f", "text", "-v"] for learner in ("pc", "hc", "ges", "chowliu", "exact")),
    ["average", "d.csv", "--by", "hc", "--bootstrap", "4", "-f", "text"],
    ["fit-params", "d.csv", "g.json", "-f", "text", "--intervals", "0.9"],
    ["convert", "m.json", "-", "-f", "text"],
    ["convert", "g.json", "-", "-f", "text"],
)
WRONG = (
    ["indtest", "d.csv", "\x1b[31mz", NAMES[0]],
    ["query", "m.json", "--evidence", "esc\x1b[31m=\u202e"],
    ["explain", "log.jsonl", "\x9b", "x"],
    ["score", "\x1b[31m\u202e", "g.json"],
    ["pc", "d.csv", "--test", "\x1b[31m"],
    ["pc", "d.csv", "-o", "\x1b[31m/\x9b.dot"],
    ["\x1b[31m"],
)


def require_visible(output):
    text = output.decode()
    assert all(line.isprintable() for line in text.split("\n")), text
    # Half of a label that was broken in two.
    assert not re.search(r"^(ne|v)\b", text, re.MULTILINE), text


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("args", REPORTS, ids=lambda args: " ".join(args[:1]))
def test_reports_show_what_labels_hide(folder, args, form):
    done = run_here([*args, "-f", form], folder)
    assert done.returncode in (0, 1), done.stderr
    assert done.stdout
    require_visible(done.stdout)
    require_visible(done.stderr)


@pytest.mark.parametrize("args", TEXTS, ids=lambda args: " ".join(args[:1]))
def test_texts_show_what_labels_hide(folder, args):
    done = run_here(args, folder)
    assert done.returncode == 0, done.stderr
    assert b"\\x1b[31m" in done.stdout or args[0] == "explain"
    require_visible(done.stdout)
    require_visible(done.stderr)


@pytest.mark.parametrize("args", WRONG, ids=lambda args: ascii(args[0]))
def test_messages_show_what_labels_hide(folder, args):
    done = run_here(args, folder)
    assert done.returncode in (2, 3)
    assert done.stderr.count(b"\n") == 1
    require_visible(done.stderr)


@pytest.mark.parametrize("name", ["metrics.txt", "metrics.md"])
def test_metrics_show_what_labels_hide(folder, name):
    predict = ["query", "m.json", "--predict", NAMES[1], "--batch", "d.csv", "-o", "/dev/null"]
    assert run_here([*predict, "--metrics", name], folder).returncode == 0
    require_visible((folder / name).read_bytes())


def test_on_a_terminal_only_colours_are_obeyed(folder):
    for args in (["check", FILE, "m.json"], ["indtest", "d.csv", "--all-pairs"], WRONG[0]):
        require_visible(re.sub(rb"\x1b\[[0-9;]*m", b"", on_terminal(args, folder)))
