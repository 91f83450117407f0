"""gml fit-params --update and --forget: levels that new rows bring, and weights."""

from __future__ import annotations

import itertools
import json

import pytest


def fitted(gml, *args):
    done = gml("fit-params", *args)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("engine", ["memory", "stream"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        # One level is what NumPy would stretch over two.
        ("x,p\nx,q\nx,q\n", "x,p\n,q\n"),
        ("x,p\ny,q\ny,q\n", "x,\n,q\n,\ny,p\n"),
        ("x,p\n,q\ny,q\n", "y,\nx,q\n"),
    ],
)
@pytest.mark.parametrize("how", [[], ["--method", "bayes", "--intervals", "0.9"]])
def test_new_rows_may_be_the_first_with_gaps(gml, tmp_path, engine, old, new, how):
    for name, rows in (("old", old), ("new", new), ("all", old + new)):
        (tmp_path / f"{name}.csv").write_text("a,b\n" + rows)
    (tmp_path / "g.dot").write_text("digraph { a -> b }")
    by_level = ("--missing", "level", "--engine", engine, *how, "-q")
    fitted(gml, "old.csv", "g.dot", *by_level, "-o", "m.json")
    fitted(gml, "new.csv", "m.json", "--update", "--engine", engine, "-q", "-o", "u.json")
    fitted(gml, "all.csv", "g.dot", *by_level, "-o", "all.json")
    after, whole = (json.loads((tmp_path / name).read_text()) for name in ("u.json", "all.json"))
    assert after["nodes"] == whole["nodes"]
    assert after["graph"]["learning"]["missing"] == whole["graph"]["learning"]["missing"]
    done = gml("fit-params", "new.csv", "m.json", "--forget", "--engine", engine, "-q")
    assert (done.returncode, done.stderr.count(b"\n")) == (3, 1)
    # The level stays, with counts of 0.
    fitted(gml, "new.csv", "u.json", "--forget", "--engine", engine, "-q", "-o", "u.json")
    assert counts(tmp_path / "u.json") == counts(tmp_path / "m.json")


def counts(path):
    """The counts of all tables that are not 0, by the levels of the parents and the node's own."""
    nodes = json.loads(path.read_text())["nodes"]
    levels = {node["id"]: node["levels"] for node in nodes}
    return {
        (node["id"], *cell): count
        for node in nodes
        for cell, count in zip(
            itertools.product(*(levels[name] for name in (*node["parents"], node["id"]))),
            itertools.chain(*node["counts"]),
            strict=True,
        )
        if count
    }


def test_weights_that_cannot_be_counted_are_not_added_up(gml, tmp_path):
    (tmp_path / "h.csv").write_text("a,b,w\nx,p,5000000000000000\ny,q,1\n")
    (tmp_path / "g.dot").write_text("digraph { a -> b }")
    fitted(gml, "h.csv", "g.dot", "--weights", "w", "-o", "m.json")
    done = gml("fit-params", "h.csv", "m.json", "--weights", "w", "--update")
    assert (done.returncode, done.stdout) == (3, b"")
    assert b"m.json with the new rows: the weights add up to 2^53 or more" in done.stderr


def test_forgetting_fractions_leaves_no_dust(gml, tmp_path):
    (tmp_path / "g.dot").write_text("digraph { a -> b }")
    parts = {
        "old": "x,p,385.4\n",
        "large": "y,q,50000.1\n,p,50000.1\n",
        "small": "y,q,0.3\nx,p,0.1\n,p,0.3\n",
    }
    for name, rows in parts.items():
        (tmp_path / f"{name}.csv").write_text("a,b,w\n" + rows)
    (tmp_path / "s.json").write_text(
        '{"schema": "gml/1", "columns": {"a": {"levels": ["x", "y"]}, "b": {"levels": ["p", "q"]}}}'
    )
    how = ("--weights-fractional", "w", "--missing", "available", "-q")
    fitted(gml, "old.csv", "g.dot", "--levels", "s.json", *how, "-o", "m.json")
    before = json.loads((tmp_path / "m.json").read_text())
    for name, change in (
        ("large", "--update"),
        ("small", "--update"),
        ("large", "--forget"),
        ("small", "--forget"),
    ):
        fitted(gml, f"{name}.csv", "m.json", change, *how, "-o", "m.json")
    after = json.loads((tmp_path / "m.json").read_text())
    assert after["graph"]["learning"]["rows"] == before["graph"]["learning"]["rows"] == 385.4
    assert after["graph"]["learning"]["missing"]["columns"] == {}
    for one, other in zip(after["nodes"], before["nodes"], strict=True):
        assert one["cpt"] == other["cpt"]
    done = gml("fit-params", "old.csv", "m.json", "--forget", *how)
    assert (done.returncode, b"no rows would be left" in done.stderr) == (4, True)


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_gaps_are_not_counted_as_a_label_of_the_same_name(gml, tmp_path, engine):
    (tmp_path / "old.csv").write_text("a,b\nNA,p\nx,q\n")
    (tmp_path / "new.csv").write_text("a,b\n,p\nx,q\n")
    (tmp_path / "g.dot").write_text("digraph { a -> b }")
    fitted(gml, "old.csv", "g.dot", "--na", "", "--missing", "level", "-o", "m.json")
    done = gml("fit-params", "new.csv", "m.json", "--update", "--engine", engine)
    assert (done.returncode, done.stdout) == (3, b"")
    assert done.stderr == (
        b"gml: error: column 'a': --missing level would add 'NA', which is already a label of "
        b"m.json\n"
    )
