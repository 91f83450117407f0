"""Rows of Spark, and count files of them, say in a check what the same rows in memory say."""

from __future__ import annotations

import pytest

from tests import routes

pytestmark = [
    pytest.mark.filterwarnings("ignore::gml.errors.GmlWarning"),
    pytest.mark.usefixtures("local"),
]

GAPS = {"a": 0.02, "b": 0.15, "c": 0.0, "d": 0.02, "x": 0.02}
NEW_GAPS = {"a": 0.15, "b": 0.0, "c": 0.02, "d": 0.02, "x": 0.15}
NONE = dict.fromkeys(GAPS, 0.0)


def case(policy, spelling, *, numeric, weighted):
    """Gaps come and go, in labels and, where the policy takes them, in numbers."""
    whole = NONE if policy == "level" else {}
    return routes.Case(
        policy,
        spelling,
        7,
        NONE if policy == "error" else {**GAPS, "x": whole.get("x", GAPS["x"])},
        {**NEW_GAPS, "x": whole.get("x", NEW_GAPS["x"])},
        n=250,
        strength=0.5,
        numeric=numeric,
        weighted=weighted,
        n_shards=2,
    ).for_complete_rows()


def by_spark(case, model, folder):
    """A file that Spark reads."""
    path = case.written(case.new, folder / "new.csv")
    return routes.of_rows(path, model, case, engine="spark")


def by_counts_of_spark(case, model, folder):
    """A count file of rows that Spark reads."""
    return routes.by_counts(case, model, folder, engine="spark")


@pytest.mark.parametrize("policy", routes.POLICIES)
@pytest.mark.parametrize(("spelling", "numeric"), [("NA", False), ("-", True), ("?", False)])
def test_same_answers(tmp_path, policy, spelling, numeric):
    of = case(policy, spelling, numeric=numeric, weighted=spelling == "-")
    model = of.model()
    expected = routes.answers(routes.by_rows(of, model, tmp_path), of)
    assert routes.answers(by_spark(of, model, tmp_path), of) == expected
    if of.for_counts() == of:
        assert routes.answers(by_counts_of_spark(of, model, tmp_path), of) == expected
