"""Values of nodes in options."""

from __future__ import annotations

import pytest

from gml.cli.shared.assignments import resolve_assignments, split_assignments
from gml.data.dataset import Variable
from gml.errors import UsageError

VARIABLES = [
    Variable("A", ("x", "b=x", "")),
    Variable("A=b", ("x", "y")),
    Variable("n", None),
]


def resolved(text):
    return resolve_assignments(split_assignments(text), VARIABLES, "--do")


def test_ways_to_cut():
    assert resolved("A=x,A=b=y") == {"A": "x", "A=b": "y"}
    assert resolved("A=,n=-1.5e3") == {"A": "", "n": -1500.0}
    with pytest.raises(UsageError, match="could mean 'A' = 'b=x' or 'A=b' = 'x'"):
        resolved("A=b=x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A", "NODE=VALUE"), ("", "NODE=VALUE"), ("A=x,", "NODE=VALUE"), ("=x", "node '' not found"),
        ("B=x", "node 'B' not found"), ("A=z", "'A' has no level 'z'"), ("A=x,A=x", "twice"),
        ("n=high", "numbers"), ("n=nan", "numbers"), ("n=1e999", "numbers"), ('"A=x', "not closed"),
    ],
)  # fmt: skip
def test_errors(text, message):
    with pytest.raises(UsageError, match=message):
        resolved(text)


def test_quotes():
    assert split_assignments('"a,b"="c,d","e=f"') == ["a,b=c,d", "e=f"]
    assert split_assignments('a="",b=c"d"') == ["a=", 'b=c"d"']
