"""What is different on a terminal: colours, which never say more than the words."""

from __future__ import annotations

import re

import pytest

from tests.command_line import run_here
from tests.terminal import on_terminal

COLOUR = re.compile(rb"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two columns that hang together, with a model of them, and rows of which it is not true."""
    place = tmp_path_factory.mktemp("terminal")
    (place / "d.csv").write_text("a,b\n" + "x,0\n" * 300 + "y,1\n" * 300)
    (place / "bad.csv").write_text("a,b\n" + "x,1\n" * 300 + "y,0\n" * 300)
    (place / "g.dot").write_text("digraph { a -> b }")
    assert run_here(["fit-params", "d.csv", "g.dot", "-o", "m.json"], place).returncode == 0
    return place


COMMANDS = {
    "indtest": (["indtest", "d.csv", "a", "b"], b"\x1b[1mdependent\x1b[0m"),
    "score": (["score", "d.csv", "g.dot"], b"\x1b[1mgraph"),
    "profile": (["profile", "d.csv", "-f", "text"], b"\x1b[1mcolumn"),
    "compare": (
        ["compare", "g.dot", "g.dot"],
        b"\x1b[1mg.dot compared with g.dot, as cpdag\x1b[0m",
    ),
    "query": (["query", "m.json", "--target", "b", "--evidence", "a=x"], b"\x1b[1mP(a=x) = "),
    "fails": (["check", "bad.csv", "m.json"], b"\x1b[1;31mFAIL\x1b[0m  "),
    "passes": (["check", "d.csv", "m.json"], b"\x1b[1;32mPASS\x1b[0m  "),
    "model": (["fit-params", "d.csv", "g.dot", "-f", "text"], b"\x1b[1mb given a\x1b[0m\n  a"),
    "help": (["help", "exit-codes"], b"\x1b[1mExit codes\x1b[0m"),
    "error": (["score", "d.csv", "none.dot"], b"gml: \x1b[1;31merror:\x1b[0m "),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_colours_are_for_terminals_and_only_paint_the_words(folder, name):
    args, painted = COMMANDS[name]
    seen = on_terminal(args, folder)
    assert painted in seen
    plain = run_here(args, folder)
    assert b"\x1b" not in plain.stdout + plain.stderr
    assert COLOUR.sub(b"", seen) == plain.stderr + plain.stdout


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"NO_COLOR": "0"}, {"TERM": "dumb"}])
def test_no_colours_for_those_who_want_none(folder, env):
    for args in (["check", "bad.csv", "m.json"], ["score", "d.csv", "none.dot"]):
        assert b"\x1b" not in on_terminal(args, folder, env)


def test_each_stream_goes_by_what_it_leads_to(folder):
    args = ["check", "bad.csv", "m.json", "-f", "markdown", "--report", "text=r.txt"]
    assert b"\x1b" not in on_terminal(args, folder, streams=["stdout"])
    assert b"\x1b" not in (folder / "r.txt").read_bytes()
    assert b"\x1b[1;31merror" in on_terminal(
        ["score", "d.csv", "none.dot"], folder, streams=["stderr"]
    )
