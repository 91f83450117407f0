"""What commands say about the tables they are given."""

from __future__ import annotations

import pytest

from tests.command_line import error_line

COMMANDS = {
    "pc": ("pc", "d.csv"),
    "hc": ("hc", "d.csv"),
    "chowliu": ("chowliu", "d.csv"),
    "indtest": ("indtest", "d.csv", "a", "b"),
    "count": ("count", "d.csv", "--pairs", "-o", "c.parquet"),
    "score": ("score", "d.csv", "g.dot"),
    "fit-params": ("fit-params", "d.csv", "g.dot"),
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_rows_dropped_are_always_told(gml, tmp_path, command):
    (tmp_path / "g.dot").write_text("digraph { a -> b }")
    (tmp_path / "d.csv").write_text("a,b\n" + "x,u\ny,v\nx,v\ny,u\n" * 12 + "NA,u\n,v\n")
    said = b"gml: 2 of 50 rows dropped for missing values (4%), 2 of them missing 'a'\n"
    done = gml(*command, "--missing", "drop")
    assert done.returncode == 0
    assert done.stderr == said
    assert gml(*command, "--missing", "drop", "-q").stderr == b""


def test_one_row_has(gml, tmp_path):
    (tmp_path / "d.csv").write_text("a,b,c\n" + "x,u,1\n" * 10 + "y,v,2\n" * 10)
    (tmp_path / "g.dot").write_text("digraph { a -> b; c }")
    (tmp_path / "new.csv").write_text("a,b\nx,v\n")
    gml("fit-params", "d.csv", "g.dot", "-o", "m.json")
    done = gml("query", "m.json", "--batch", "new.csv", "--target", "c")
    assert b"1 row of evidence of probability 0 has no answer" in done.stderr
