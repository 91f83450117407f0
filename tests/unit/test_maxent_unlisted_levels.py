"""Levels that constraints name beside a margin that makes them impossible."""

import re

import pytest

import gml
from gml.errors import DataError

SEX = {"margin": ["sex"], "probabilities": {"M": 0.49, "F": 0.51}}
VOTE = {"vote": ["N", "Y"]}


def solved(*constraints, **variables):
    return gml.maxent({"variables": {**VOTE, **variables}, "constraints": list(constraints)})


def given(sex):
    return {"probability": {"vote": "Y"}, "given": {"sex": sex}, "at_least": 0.55}


@pytest.mark.parametrize(("level", "hint"), [("W", ""), ("f", "did you mean 'F'? ")])
def test_a_condition_on_a_level_that_a_margin_lacks_is_refused(level, hint):
    told = (
        f"the constraints: constraint 2 (P(vote='Y' | sex='{level}')): constraint 1 (the margin of "
        f"'sex') has no level '{level}', so that it is impossible and nothing is said of it; {hint}"
        "it has 'M', 'F'; if it is meant, list it there with 0"
    )
    with pytest.raises(DataError, match=f"^{re.escape(told)}$"):
        solved(SEX, given(level))


@pytest.mark.parametrize(
    "other",
    [
        {"probability": {"sex": "m"}, "at_most": 0.5},
        {"expectation": {"sex": {"m": 1}}, "at_most": 0.5},
    ],
)
def test_another_constraint_on_such_a_level_is_warned_of(other):
    told = "has no level 'm', so that its probability is 0; did you mean 'M'? it has 'M', 'F'"
    with pytest.warns(gml.GmlWarning, match=re.escape(told)):
        net = solved(SEX, other)
    assert net.query("sex")["sex"]["m"] == 0


def test_a_level_that_is_meant_is_only_said_to_be_impossible():
    listed = {"margin": ["sex"], "probabilities": {"M": 0.49, "F": 0.51, "W": 0}}
    for items, levels in (((listed,), {}), ((SEX,), {"sex": ["M", "F", "W"]})):
        with pytest.warns(gml.GmlWarning, match="makes what is given impossible, so that this"):
            net = solved(*items, given("W"), **levels)
        assert net.query("sex")["sex"]["W"] == 0
        assert net.query("vote")["vote"]["Y"] == pytest.approx(0.5)


def test_a_condition_that_is_made_impossible_by_its_own_constraint_says_something():
    net = solved(
        {"probability": {"vote": "Y"}, "given": {"sex": "M"}, "equals": 0.5},
        {"probability": {"vote": "Y", "sex": "M"}, "equals": 0},
        sex=["M", "F"],
    )
    assert net.query("sex")["sex"]["M"] == 0
