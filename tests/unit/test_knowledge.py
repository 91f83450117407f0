"""Knowledge from options and files."""

from __future__ import annotations

import json

import numpy as np
import pytest

import gml
from gml.cli.shared.knowledge_options import parse_arcs, parse_groups
from gml.errors import DataError, UsageError
from gml.graph.knowledge import Knowledge


@pytest.mark.parametrize(
    ("text", "arcs"),
    [
        ("A->B", [("A", "B")]),
        (" A -> B , C->D ", [("A", "B"), ("C", "D")]),
        ('"a,b"->"c->d"', [("a,b", "c->d")]),
        ('"say ""hi"""->x y', [('say "hi"', "x y")]),
        ('" padded "->B', [(" padded ", "B")]),
        ("a-b->c-d", [("a-b", "c-d")]),
        ("ä->→", [("ä", "→")]),
    ],
)
def test_arcs(text, arcs):
    assert parse_arcs(text, "--require") == arcs


@pytest.mark.parametrize(
    "text",
    ["", "A", "A->", "->B", "A->B->C", "A,B->C", "A->B,C", "A-B", '"A->B', 'A"x->B', "A->B,"],
)
def test_malformed_arcs(text):
    with pytest.raises(UsageError, match="--require"):
        parse_arcs(text, "--require")


def test_tiers():
    assert parse_groups('A, B < "x<y" < D', "<", "--tiers") == [["A", "B"], ["x<y"], ["D"]]
    for text in ("A,,B", "A <", "< A", ""):
        with pytest.raises(UsageError):
            parse_groups(text, "<", "--tiers")


def test_json_and_tetrad_say_the_same(tmp_path):
    (tmp_path / "k.json").write_text(
        json.dumps(
            {
                "require": [["a", "b"]],
                "forbid": [["c", "d"], ["d", "c"], ["a", "d"], ["b", "d"]],
                "tiers": [["a"], ["c", "d"]],
            }
        )
    )
    (tmp_path / "k.txt").write_bytes(
        b"/knowledge\r\n\r\naddtemporal\r\n1 a\r\n2* c d\r\n\r\nforbiddengroup\r\na b\r\nd\r\n"
        b"\r\nrequiredirect\r\na\tb\r\n"
    )
    ours, tetrads = (gml.read_knowledge(tmp_path / name) for name in ("k.json", "k.txt"))
    assert ours == Knowledge(
        (("a", "b"),), (("c", "d"), ("d", "c"), ("a", "d"), ("b", "d")), (("a",), ("c", "d"))
    )
    assert ours == tetrads


def test_tetrad_tiers_go_by_their_number(tmp_path):
    path = tmp_path / "k.txt"
    path.write_text("/knowledge\naddtemporal\n10 z\n2 y\n1 x\n1 w\nforbiddirect\nx y\n")
    assert gml.read_knowledge(path) == Knowledge((), (("x", "y"),), (("x", "w"), ("y",), ("z",)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "neither JSON nor Tetrad"),
        ("{", "not a JSON file"),
        ("[1]", "not an object"),
        ('{"requires": []}', "'requires' is not one of"),
        ('{"require": [["a"]]}', r"pairs \[from, to\]"),
        ('{"require": {"a": "b"}}', '"require" is not a list'),
        ('{"tiers": [1]}', "list of lists of names"),
        ("/knowledge\nfoo\na b\n", "line 2: 'foo' is not one of"),
        ("/knowledge\nforbiddirect\na b c\n", "line 3: not two names"),
        ("/knowledge\naddtemporal\n² a\n", "'²' is not the number of a tier"),
        ("/knowledge\nrequiredgroup\na b\n", "no second line"),
    ],
)
def test_bad_files(tmp_path, content, message):
    path = tmp_path / "knowledge"
    path.write_text(content)
    with pytest.raises(DataError, match=message):
        gml.read_knowledge(path)


def test_matrices():
    knowledge = Knowledge((("c", "a"),), (("a", "b"),), (("b",), ("d",)))
    names = ["a", "b", "c", "d"]
    assert np.argwhere(knowledge.required(names)).tolist() == [[2, 0]]
    assert np.argwhere(knowledge.forbidden(names)).tolist() == [[0, 1], [0, 2], [3, 1]]
    assert knowledge.tiers_of(names).tolist() == [-1, 0, -1, 1]


def test_knowledge_adds_up_but_for_tiers():
    one = Knowledge(require=(("a", "b"),), tiers=(("a",), ("b",)))
    assert (one + Knowledge(forbid=(("b", "c"),))).forbid == (("b", "c"),)
    with pytest.raises(DataError, match="tiers are given twice"):
        one + Knowledge(tiers=(("b",), ("a",)))
