"""Constraint files of maximum entropy and raking, and what is refused in them."""

from __future__ import annotations

import json
import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

from gml.errors import DataError
from gml.formats.constraints import constraints_of, read_constraints, read_margins
from gml.kernel.layout import MOST_AXES
from gml.model.entropy.constraints import (
    Conditional,
    Constraints,
    Expectation,
    Margin,
    NumericMoments,
    require_agreement,
)


@pytest.fixture
def written(tmp_path):
    def write(content, name="known.json"):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write


def constraint(**keys):
    return {"constraints": [keys]}


def test_every_kind_in_json(written):
    found = read_constraints(
        written(
            {
                "variables": {"A": ["y", "n"], "C": ["1", "2"]},
                "constraints": [
                    {"margin": ["A", "B"], "probabilities": {"n": {"x": 0.25}, "y": {"z": 0.75}}},
                    {"margin": "A", "counts": [6, 2]},
                    {"expectation": {"A": {"y": 1}, "C": [3, -1]}, "at_most": 1.5, "name": "cost"},
                    {"probability": {"A": "y"}, "given": {"B": "z"}, "at_least": 1},
                    {"probability": {"C": "1"}, "equals": 0.5},
                ],
            }
        )
    )
    assert found.items == (
        Margin(("A", "B"), {("n", "x"): 0.25, ("y", "z"): 0.75}, "", "constraint 1"),
        Margin(("A",), {("y",): 0.75, ("n",): 0.25}, "", "constraint 2"),
        Expectation({"A": {"y": 1}, "C": {"1": 3, "2": -1}}, "<=", 1.5, "cost", "constraint 3"),
        Conditional({"A": "y"}, {"B": "z"}, ">=", 1.0, "", "constraint 4"),
        Conditional({"C": "1"}, {}, "=", 0.5, "", "constraint 5"),
    )
    assert found.levels == {"A": ("y", "n"), "C": ("1", "2"), "B": ("x", "z")}
    assert found.total == 8
    assert [item.title for item in found.items] == [
        "constraint 1 (the margin of 'A', 'B')",
        "constraint 2 (the margin of 'A')",
        "'cost'",
        "constraint 4 (P(A='y' | B='z'))",
        "constraint 5 (P(C='1'))",
    ]


def test_margins_and_conditionals_in_csv(written):
    text = (
        "sex,age,given,probability\n"
        "m,old,sex,0.25\n"
        "m,,,.5\n"
        "\n"
        ',"young, or so",,0.3\n'
        "f,,, 5e-1 \n"
        ",old,,0.7\n"
    )
    found = read_constraints(written(text, "known.csv"))
    assert found.items == (
        Conditional({"age": "old"}, {"sex": "m"}, "=", 0.25, "", "line 2"),
        Margin(("sex",), {("m",): 0.5, ("f",): 0.5}, "", "line 3"),
        Margin(("age",), {("young, or so",): 0.3, ("old",): 0.7}, "", "line 5"),
    )
    assert found.total is None
    assert (
        read_constraints(written(text.replace(",", "\t"), "known.tsv")).items[1] == found.items[1]
    )


def test_counts_in_csv_and_the_missing_cell_is_none(written):
    path = written("sex,age,count\nm,young,1\nf,old,3\n", "known.csv")
    found = read_margins(path)
    assert found.items[0].cells == {("m", "young"): 0.25, ("f", "old"): 0.75}
    assert found.total == 4


def test_expectations_in_csv(written):
    text = (
        "constraint,variable,level,number,relation,value\n"
        "mean,die,1,1,=,1.5\n"
        "mean,die,2,2,,\n"
        "cost,die,2,1,<=,0.75\n"
        "cost,coin,h,2,<=,0.75\n"
    )
    assert read_constraints(written(text, "known.csv")).items == (
        Expectation({"die": {"1": 1, "2": 2}}, "=", 1.5, "mean", "line 2"),
        Expectation({"die": {"2": 1}, "coin": {"h": 2}}, "<=", 0.75, "cost", "line 4"),
    )


def test_numeric(written):
    given = {"name": "wait", "support": [0, None], "mean": 2, "variance": 1.5, "moments": {"3": 9}}
    assert read_constraints(written({"numeric": given})) == NumericMoments(
        "wait", (0.0, math.inf), {1: 2.0, 2: 5.5, 3: 9.0}, 1.5
    )
    assert read_constraints(written({"numeric": {}})) == NumericMoments(
        "x", (-math.inf, math.inf), {}
    )


def test_normalising_scales_every_margin(written):
    text = "A,B,count\nn,,1\ny,,3\n,x,10\n,z,10\n"
    path = written(text, "known.csv")
    with pytest.raises(DataError) as raised:
        read_constraints(path)
    assert str(raised.value) == (
        f"{path}: line 4 (the margin of 'B'): the counts add up to 20, which is 16 more than 4, "
        "those of line 2 (the margin of 'A'); `normalise` scales every margin to 1"
    )
    found = read_constraints(path, normalise=True)
    assert [list(item.cells.values()) for item in found.items] == [[0.25, 0.75], [0.5, 0.5]]
    assert found.total is None


def test_rounding_of_sums_is_no_difference(written):
    third = 0.3333333333
    found = constraints_of(
        constraint(margin="A", probabilities={"a": third, "b": third, "c": third}), "here"
    )
    assert math.fsum(found.items[0].cells.values()) == pytest.approx(1, abs=1e-15)
    with pytest.raises(DataError, match=r"add up to 0.999999, which is 1e-06 less than 1"):
        constraints_of(constraint(margin="A", probabilities=dict.fromkeys("abc", 0.333333)), "here")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty: there are no constraints"),
        ("[]", 'not an object with "constraints" or "numeric"'),
        ("{}", '"constraints" must be a list of at least one'),
        ({"constraints": []}, "at least one constraint"),
        ({"constraint": []}, "unknown key 'constraint'; did you mean 'constraints'? the keys are"),
        (
            {"sex": [49, 51]},
            "'sex': a list of numbers needs the levels, in \"variables\"; or write",
        ),
        (
            constraint(margin="A", percent={"a": 36, "b": 65}),
            "add up to 101, which is 1 more than 100",
        ),
        (constraint(margin="A", percent={"a": "36%"}), "not '36%'; write it without quotes and %"),
        ({"constraints": [1]}, "constraint 1 is not an object"),
        ({"constraints": [{}]}, "constraint 1 must have one of 'margin', 'expectation'"),
        (constraint(margin="A", expectation={}), "not 'margin', 'expectation'"),
        (constraint(margin="A"), 'needs one of "probabilities", "counts" or "percent"'),
        (constraint(margin="A", counts={}, probabilities={}), "needs one of"),
        (constraint(margin=["A", "A"], counts={}), "has 'A' twice"),
        (constraint(margin=[], counts={}), "must be a list of variables"),
        (constraint(margin=[1], counts={}), "must be text, not 1"),
        (constraint(margin="A", counts={}), "no level of 'A' has a number"),
        (constraint(margin="A", counts=[1, 2]), "needs the levels of 'A' in their order"),
        (constraint(margin="A", counts={"a": -1, "b": 2}), "A='a' is -1; it must not be negative"),
        (constraint(margin="A", counts={"a": "1"}), "A='a' must be a number, not '1'"),
        (constraint(margin="A", counts={"a": True}), "must be a number, not True"),
        (constraint(margin="A", counts={"a": None}), "must be a number, not None"),
        (constraint(margin="A", counts={"a": 0}), "the counts are all 0"),
        (constraint(margin="A", counts={"a": 1e308, "b": 1e308}), "more than 1.8e308"),
        (constraint(margin="A", counts={"a": {"b": 1}}), "more levels than variables below 'a'"),
        (constraint(margin=["A", "B"], counts={"a": 1}), "below 'a' there must be an object"),
        (
            constraint(margin="A", counts={"a": 1}, equals=1),
            "unknown key 'equals'; the keys are 'margin', 'probabilities', 'counts', 'percent', 'name'",
        ),
        (constraint(expectation={"A": {"a": 1}}), "must have one of 'equals', 'at_most'"),
        (constraint(expectation={"A": {"a": 1}}, equals=1, at_most=2), "must have one of"),
        (constraint(expectation={}, equals=1), "names no variable"),
        (constraint(expectation=3, equals=1), "object of numbers by variable"),
        (constraint(expectation={"A": 3}, equals=1), "must be an object by level, or a list"),
        (constraint(expectation={"A": {"a": 1}}, equals="1"), "must be a number, not '1'"),
        (constraint(expectation={"A": {"a": 1e200}}, equals=1), "between -1e+100 and 1e+100"),
        (constraint(probability={}, equals=0.5), "names no level"),
        (constraint(probability={"A": 1}, equals=0.5), "level of 'A' must be text, not 1"),
        (constraint(probability={"A": "a"}, equals=1.5), "between 0 and 1, not 1.5"),
        (
            constraint(probability={"A": "a"}, given={"A": "b"}, equals=1),
            "'A' is in the event and in what is given",
        ),
        ('{"constraints": [{"margin": "A", "counts": {"a": 1, "a": 2}}]}', "'a' is there twice"),
        ('{"constraints": [{"margin": "A", "counts": {"a": NaN}}]}', "NaN is not a number"),
        ({"variables": []}, '"variables" must be an object'),
        ({"variables": {"A": []}}, "'A' must be a list of levels"),
        ({"variables": {"A": ["a", "a"]}}, "'A' has a level twice"),
        ({"variables": {"A": [1]}}, "must be text, not 1"),
        (
            {"variables": {"A": ["a", "b"]}, **constraint(margin="A", counts=[1])},
            "1 numbers for the 2 cells",
        ),
        (
            {"variables": {"A": ["no", "yes"]}, **constraint(margin="A", counts={"yess": 1})},
            "'A' has no level 'yess'; did you mean 'yes'",
        ),
        ({"numeric": 1}, '"numeric" must be an object'),
        ({"numeric": {}, "constraints": []}, "one variable alone"),
        (
            {"numeric": {"sd": 1}},
            "unknown key 'sd': give its square as the \"variance\"; the keys are 'name', 's",
        ),
        ({"numeric": {"name": 1}}, '"name" must be text'),
        ({"numeric": {"support": [1, 0]}}, "ends at 0, which is not above 1"),
        ({"numeric": {"support": [0]}}, "two ends"),
        ({"numeric": {"variance": 1}}, 'needs the "mean"'),
        ({"numeric": {"mean": 1, "variance": -1}}, "must not be negative"),
        ({"numeric": {"mean": 1, "moments": {"1": 2}}}, "give one of them"),
        ({"numeric": {"moments": {"0": 2}}}, "a whole number from 1 to 12, not '0'"),
        ({"numeric": {"moments": {"1.5": 2}}}, "not '1.5'"),
        ({"numeric": {"moments": 3}}, '"moments" must be an object'),
    ],
)
def test_bad_json(written, content, message):
    path = written(content)
    with pytest.raises(DataError) as raised:
        read_constraints(path)
    assert str(raised.value).startswith(f"{path}: ")
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A,B\nn,y\n", "no column of values; margins have one that is called probability or count (or share"),
        ("A,count,probability\nn,1,1\n", "'count', 'probability' could all be the values"),
        ("A,count,Percent\nn,1,25\ny,3,75\n", "two columns of values, 'count', 'Percent'; leave one"),
        ("A,percent\nn,36%\n", "line 2: the percent must be a number, not '36%'; write it without %"),
        ("A;count\nn;1\n", "line 1: the header is one column, 'A;count'"),
        ("A,A,count\nn,n,1\n", "line 1: column 'A' appears twice"),
        ("A,,count\nn,n,1\n", "line 1: a column has no name"),
        ("count,given\n1,\n", "the header names no variable"),
        ("A,count\n", "no constraints below the header"),
        ("A,count\nn,1\ny\n", "line 3: 1 field, but the header has 2"),
        ("A,count\nn,1\n,1\n", "line 3: every variable is empty"),
        ("A,count\nn,1\ny,\n", "line 3: the count is missing"),
        ("A,count\nn,1\ny,nan\n", "line 3: the count must be a number, not 'nan'"),
        ("A,count\nn,1\ny,1_0\n", "line 3: the count must be a number, not '1_0'"),
        ("A,count\nn,2\ny,-1\n", "line 3: -1 of the counts must not be negative"),
        ("A,count\nn,2\ny,1\nn,3\n", "line 4: 'n' of 'A' appears twice, on line 2 too"),
        ("A,probability\nn,0.2\ny,0.7\n", "line 2 (the margin of 'A'): the probabilities add up to 0.9"),
        ("A,given,count\nn,A,2\n", "line 2: a count with 'given'"),
        ("A,given,probability\nn,B,1\n", "line 2: given: column 'B' not found"),
        ("A,B,given,probability\nn,,B,1\n", "line 2: 'B' is given, but has no level here"),
        ("A,given,probability\nn,A,1\n", "it names no level"),
        ('A,count\n"n,1\n', "line 2: unexpected end of data"),
        ("constraint,variable,level,number,relation,value\n,a,b,1,=,1\n", "line 2: the constraint is missing"),
        ("constraint,variable,level,number,relation,value\nc,a,b,,=,1\n", "line 2: the number is missing"),
        ("constraint,variable,level,number,relation,value\nc,a,b,1,=,\n", "line 2: 'c' has no value in any row"),
        ("constraint,variable,level,number,relation,value\nc,a,b,1,<,1\n", "line 2: the relation must be one of"),
        ("constraint,variable,level,number,relation,value\nc,a,b,1,=,1\nc,a,d,1,=,2\n", "line 3: 'c' has another value above"),
        ("constraint,variable,level,number,relation,value\nc,a,b,1,=,1\nc,a,b,1,,\n", "line 3: 'b' of 'a' appears twice"),
    ],
)  # fmt: skip
def test_bad_csv(written, text, message):
    path = written(text, "known.csv")
    with pytest.raises(DataError) as raised:
        read_constraints(path)
    assert str(raised.value).startswith(f"{path}: ")
    assert message in str(raised.value)


def test_only_margins_for_raking(written):
    with pytest.raises(DataError, match="constraint 1 .*: not a margin; only margins"):
        read_margins(written(constraint(probability={"A": "a"}, equals=1)))
    with pytest.raises(DataError, match="a numeric variable; only margins"):
        read_margins(written({"numeric": {}}))


def test_levels_of_a_model(written):
    model = {"A": ("n", "y"), "B": ("x", "z")}
    flat = constraint(margin=["A", "B"], counts=[1, 2, 3, 4])
    found = read_constraints(written(flat), levels=model)
    assert found.items[0].cells == {
        ("n", "x"): 0.1, ("n", "z"): 0.2, ("y", "x"): 0.3, ("y", "z"): 0.4
    }  # fmt: skip
    for content, message in (
        (constraint(margin="C", counts={"a": 1}), "variable 'C' not found"),
        (constraint(margin="A", counts={"a": 1}), "'A' has no level 'a'"),
        ({"variables": {"C": ["a"]}, **flat}, "variable 'C' not found"),
        ({"variables": {"A": ["n", "m"]}, **flat}, "'n', 'm', but 'n', 'y' in the model"),
    ):
        with pytest.raises(DataError, match=message):
            read_constraints(written(content), levels=model)
    with pytest.raises(DataError, match="line 2 .*: 'B' has no level 'w'"):
        read_constraints(written("A,B,count\nn,w,3\n", "known.csv"), levels=model)


def test_objects_of_python():
    expected = Expectation({"A": {"a": np.float64(2)}}, ">=", 1)
    found = constraints_of(
        {"constraints": [expected, {"margin": ("A",), "counts": {"a": np.int64(3)}}]}, "here"
    )
    assert isinstance(found, Constraints)
    assert found.items[0] is expected
    assert found.items[1].cells == {("a",): 1.0}


@pytest.mark.parametrize(
    "number",
    [10**400, -(10**400), 10**5000, Fraction(10**400, 3)],
    ids=["large", "negative", "unwritable", "fraction"],
)
def test_numbers_of_python_beyond_doubles(number):
    message = "must be a number of at most 1.8e308, not one beyond"
    for content in (
        constraint(margin="A", counts={"a": number}),
        constraint(expectation={"A": {"a": number}}, equals=1),
        constraint(expectation={"A": {"a": 1}}, equals=number),
        {"numeric": {"mean": number}},
        {"numeric": {"support": [0, number]}},
    ):
        with pytest.raises(DataError, match=message):
            constraints_of(content, "here")
    with pytest.raises(DataError, match=message):
        Expectation({"A": {"a": number}}, "=", 1.0)


def test_cells_are_counted_before_they_are_listed():
    levels = {f"v{k}": ["a", "b"] for k in range(24)}
    content = {"variables": levels, **constraint(margin=list(levels), counts=[1, 2])}
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match="2 numbers for the 16777216 cells of 'v0'"):
            constraints_of(content, "here")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20


def test_a_margin_of_too_many_variables_is_refused_as_it_is_read():
    names = [f"v{k}" for k in range(MOST_AXES + 1)]
    content = {
        "variables": {name: ["a"] for name in names},
        **constraint(margin=names, counts=[1]),
    }
    message = f'the "margin" has {MOST_AXES + 1} variables; the limit is {MOST_AXES}'
    with pytest.raises(DataError, match=message):
        constraints_of(content, "here")


def test_margins_agree_where_they_overlap():
    cells = {("n", "x"): 0.25, ("y", "x"): 0.5, ("y", "z"): 0.25}
    pair = Margin(("A", "B"), cells)
    swapped = Margin(("B", "A"), {(b, a): value for (a, b), value in cells.items()})
    single = Margin(("B",), {("x",): 0.75 + 1e-12, ("z",): 0.25 - 1e-12})
    require_agreement([pair, swapped, single], "here")
    shifted = Margin(("B", "C"), {("x", "c"): 0.75, ("z", "c"): 0.2, ("w", "c"): 0.05}, "census")
    with pytest.raises(DataError) as raised:
        require_agreement([pair, shifted], "here")
    assert str(raised.value) == (
        "here: 'census': P(B='w') = 0.05, which is 0.05 more than the 0 of the margin of 'A', 'B'"
    )


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("Count", (49, 51)),
        ("N", (490, 510)),
        ("share", (0.49, 0.51)),
        ("Proportion", (0.49, 0.51)),
        ("PERCENT", (49, 51)),
        ("Probability", (0.49, 0.51)),
    ],
)
def test_other_names_of_the_values_in_csv(written, column, values):
    path = written(f"sex,{column}\nm,{values[0]}\nf,{values[1]}\n", "known.csv")
    (margin,) = read_margins(path).margins
    assert margin.names == ("sex",)
    assert margin.cells == pytest.approx({("m",): 0.49, ("f",): 0.51})


def test_plain_names_leave_the_others_to_variables(written):
    path = written("n,share,count\na,,1\nb,,3\n,x,4\n", "known.csv")
    assert [margin.names for margin in read_margins(path).margins] == [("n",), ("share",)]


def test_percentages_add_up_to_100(written):
    path = written("sex,percent\nm,49\nf,50\n", "known.csv")
    with pytest.raises(DataError, match="the percentages add up to 99, which is 1 less than 100"):
        read_margins(path)


def test_a_conditional_percentage(written):
    text = "rain,clouds,given,percent\nyes,no,clouds,10\n,no,,40\n,yes,,60\n"
    assert read_constraints(written(text, "known.csv")).items[0].value == pytest.approx(0.1)


def test_percent_in_json(written):
    path = written(constraint(margin="A", percent={"a": 36, "b": 64}))
    assert read_margins(path).margins[0].cells == {("a",): 0.36, ("b",): 0.64}


def test_a_variable_may_be_called_like_shares_if_it_has_labels(written):
    found = read_margins(written("share,count\nlow,1\nhigh,3\n", "known.csv"))
    assert found.margins[0].names == ("share",)


def test_two_columns_of_values_are_too_many(written):
    with pytest.raises(DataError, match="'Count', 'N' could all be the values of the margins"):
        read_margins(written("sex,Count,N\nm,1,2\n", "known.csv"))


def test_margins_by_name_in_a_file(written):
    path = written({"sex": {"m": 490, "f": 510}, "age": {"young": 0.3e3, "old": 700}})
    found = read_constraints(path)
    assert [margin.cells for margin in found.margins] == [
        {("m",): 0.49, ("f",): 0.51},
        {("young",): 0.3, ("old",): 0.7},
    ]
    assert found.total == 1000
    with pytest.raises(DataError, match="the margin of 'age': the counts add up to 3"):
        read_constraints(written({"sex": {"m": 1, "f": 1}, "age": {"young": 3}}))
    with pytest.raises(DataError, match="'sex'.* must be a number, not 'many'"):
        read_constraints(written({"sex": {"m": "many"}}))
    with pytest.raises(DataError, match="unknown key 'numerik'; did you mean 'numeric'"):
        read_constraints(written({"numerik": {"mean": 1}}))
