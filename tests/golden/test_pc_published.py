"""PC on the data of bnlearn's and pcalg's documentation, where a checkout has them beside it."""

from __future__ import annotations

import gml
from gml.learners.pc import pc

from ..graphs import named_edges


def skeleton_of(graph):
    return {frozenset((source, target)) for source, _, target in named_edges(graph)}


def test_learning_test(shared):
    """bnlearn.com: PC-stable on learning.test; A - B may be directed either way."""
    data = gml.read(shared / "data/simulated/learning.test.csv")
    for test in (
        gml.TESTS["g"](gml.MemoryCounter(data)),
        gml.TESTS["auto"](gml.MemoryCounter(data)),
    ):
        found = pc(test, alpha=0.05).graph
        assert named_edges(found) == {
            ("A", "---", "B"),
            ("A", "-->", "D"),
            ("C", "-->", "D"),
            ("B", "-->", "E"),
            ("F", "-->", "E"),
        }


def test_gaussian_eight(shared):
    """pcalg's gmG8 by Fisher's z at 0.01: exactly the true skeleton."""
    data = gml.read(shared / "data/simulated/gmG8.csv", undeclared="numbers")
    found = pc(gml.TESTS["fisher-z"](gml.MemoryCounter(data)), alpha=0.01).graph
    assert skeleton_of(found) == {
        frozenset(pair.split("-"))
        for pair in (
            *("Author-Bar", "Author-V6", "Author-V8", "Bar-Ctrl"),
            *("Bar-V5", "V5-V6", "V5-V8", "V6-V7"),
        )
    }


def test_discrete_five(shared):
    """pcalg's discrete example: X1 -> X3 <- X2, and X4 with X2 and X5 as its test file says."""
    data = gml.read(shared / "data/simulated/discr100k.csv.gz")
    found = pc(gml.TESTS["g"](gml.MemoryCounter(data)), alpha=0.01).graph
    assert named_edges(found) == {
        ("X1", "-->", "X3"),
        ("X2", "-->", "X3"),
        ("X2", "-->", "X4"),
        ("X5", "-->", "X4"),
    }
