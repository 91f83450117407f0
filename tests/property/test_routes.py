"""Whichever way rows come to a check, it says the same of them, p-values to the last bit."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import routes

pytestmark = pytest.mark.filterwarnings("ignore::gml.errors.GmlWarning")


def same_answers(case, ways):
    model = case.model()
    with tempfile.TemporaryDirectory() as name:
        expected, *others = (routes.answers(way(case, model, Path(name)), case) for way in ways)
    assert len(expected) > 20
    for way, found in zip(ways[1:], others, strict=True):
        assert found.keys() == expected.keys(), way.__doc__
        for name, answer in found.items():
            assert answer == expected[name], way.__doc__


@pytest.mark.parametrize("policy", routes.POLICIES)
@settings(max_examples=6)
@given(data=st.data())
def test_rows(policy, data):
    same_answers(data.draw(routes.cases(policy)), routes.OF_ROWS)


@pytest.mark.parametrize("policy", routes.POLICIES)
@settings(max_examples=6)
@given(data=st.data())
def test_rows_that_were_read_before(policy, data):
    same_answers(data.draw(routes.cases(policy)).for_complete_rows(), routes.OF_COMPLETE_ROWS)


@pytest.mark.parametrize("policy", routes.POLICIES)
@settings(max_examples=6)
@given(data=st.data())
def test_counts(policy, data):
    same_answers(data.draw(routes.cases(policy)).for_counts(), routes.OF_COUNTS)
