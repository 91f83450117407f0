"""What is said where a test of one's own, or a column of text, is not what is needed."""

from __future__ import annotations

import pandas as pd
import pytest

import gml
from gml.errors import DataError, UsageError
from gml.independence.base import CIResult

TEXT = "age,name,pay,town,who\n1,x,2,u,a\n2,y,3,v,b\n3,z,5,w,c\n5,x,8,u,d\n"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda: 0.3, "the test Careless returned a float, and must return a CIResult"),
        (lambda: None, "the test Careless returned None, and must return a CIResult"),
    ],
)
def test_a_test_of_ones_own_must_return_results(answer, said):
    class Careless:
        names = ("a", "b", "c")

        def __call__(self, x, y, given=()):
            return answer()

    with pytest.raises(UsageError, match=said):
        gml.pc(Careless())

    class Batched(Careless):
        def batch(self, triples):
            return [CIResult(0.0, None, 0.0, None, 1)]

    with pytest.raises(UsageError, match="the test Batched returned 1 result for 3 questions"):
        gml.pc(Batched())


def test_columns_of_text_are_all_named_where_numbers_are_needed(tmp_path):
    table, graph = tmp_path / "t.csv", tmp_path / "g.dot"
    table.write_text(TEXT)
    graph.write_text("digraph { age; name; pay; town; who }")
    said = (
        "column 'name': 'x' is not a number; columns 'name', 'town', 'who' hold text: leave them "
        r"out \(`exclude=\['name', 'town', 'who'\]`\), or, to have labels beside numbers, say "
        r"`numeric=\['age', 'pay'\]` in place of a method for numbers alone$"
    )
    for data in (table, pd.read_csv(table)):
        for refused in (
            lambda data=data: gml.pc(data, test="fisher-z"),
            lambda data=data: gml.indtest(data, all_pairs=True, test="fisher-z"),
            lambda data=data: gml.hc(data, score="bic-g"),
            lambda data=data: gml.fit(data, graph, gaussian=True),
        ):
            with pytest.raises(DataError, match=said):
                refused()


def test_a_column_of_numbers_with_a_slip_is_not_called_text(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("a,b\n1,2\n2,3\n3,o\n")
    said = "line 4: column 'b': 'o' is not a number; `na='o'` makes it missing$"
    with pytest.raises(DataError, match=said):
        gml.pc(table, test="fisher-z")
