"""Cuts in which other columns have a say: for a class (mdlp), and for one another (hartemink)."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gml
from gml.data.entropy_cuts import entropy_cuts
from gml.data.joint_cuts import joint_cuts
from gml.errors import GmlWarning, UsageError
from tests.golden.iris import COLUMNS, iris


def entropy(labels):
    """In bits, by its definition."""
    counts = [labels.count(label) for label in set(labels)]
    return -sum(c / len(labels) * math.log2(c / len(labels)) for c in counts)


def cuts_by_definition(pairs):
    """Fayyad and Irani's recursion, cut by cut."""
    pairs = sorted(pairs)
    labels = [label for _, label in pairs]
    values = sorted({value for value, _ in pairs})
    best = None
    for low, high in itertools.pairwise(values):
        left = [label for value, label in pairs if value <= low]
        right = [label for value, label in pairs if value >= high]
        within = (len(left) * entropy(left) + len(right) * entropy(right)) / len(pairs)
        if best is None or within < best[0] - 1e-12:
            best = (within, (low + high) / 2, left, right)
    if best is None:
        return []
    within, cut, left, right = best
    k, k1, k2 = (len(set(part)) for part in (labels, left, right))
    delta = math.log2(3**k - 2)
    delta -= k * entropy(labels) - k1 * entropy(left) - k2 * entropy(right)
    if not entropy(labels) - within > (math.log2(len(pairs) - 1) + delta) / len(pairs) + 1e-12:
        return []
    below = [pair for pair in pairs if pair[0] < cut]
    above = [pair for pair in pairs if pair[0] >= cut]
    return [*cuts_by_definition(below), cut, *cuts_by_definition(above)]


ROWS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2)), min_size=2, max_size=60)


@given(ROWS, st.booleans())
def test_cuts_for_a_class_are_those_of_the_definition(rows, is_related):
    # Unrelated classes are hardly ever cut, so half of the tables have related ones.
    pairs = [(float(x), x // 5 if is_related and label else label) for x, label in rows]
    numbers = np.array([x for x, _ in pairs])
    classes = np.array([label for _, label in pairs])
    assert list(entropy_cuts(numbers, classes, 3)) == cuts_by_definition(pairs)


@given(ROWS, st.randoms(use_true_random=False))
def test_weights_count_rows_and_their_order_does_not(rows, random):
    numbers, classes = (np.array(column) for column in zip(*rows, strict=True))
    weights = np.array([random.randint(0, 3) for _ in rows])
    repeated = np.repeat(np.arange(len(rows)), weights)
    order = np.array(random.sample(range(len(rows)), len(rows)))
    if not len(repeated):
        return
    kept = order[weights[order] > 0]
    found = entropy_cuts(numbers[kept].astype(float), classes[kept], 3, weights[kept])
    assert found == entropy_cuts(numbers[repeated].astype(float), classes[repeated], 3)


def test_cuts_of_iris_are_the_published_ones():
    # As R's package discretization 1.0 has them: mdlp(iris)$cutp.
    data = gml.read(iris(), discretize="mdlp", discretize_class="Species")
    assert {name: data.origin.cuts[name] for name in COLUMNS} == {
        "Sepal.Length": (5.55, 6.15),
        "Sepal.Width": (2.95, 3.35),
        "Petal.Length": (2.45, 4.75),
        "Petal.Width": (0.8, 1.75),
    }


def test_a_number_without_information_keeps_one_interval_and_is_named():
    frame = pd.DataFrame({"x": np.arange(40.0), "y": ["a", "b"] * 20})
    with pytest.warns(GmlWarning, match="mdlp finds no cut that says enough about 'y'.*'x'"):
        data = gml.read(frame, discretize="mdlp", discretize_class="y")
    assert data.variables[0].levels == ("[-inf,inf)",)


def information(x, y):
    n = len(x)
    return sum(
        c / n * math.log(c * n / (x.count(a) * y.count(b)))
        for a, b in {*zip(x, y, strict=True)}
        for c in [list(zip(x, y, strict=True)).count((a, b))]
    )


def joined_by_definition(columns, numbers, bins):
    """Hartemink's rounds: in each, every number joins the two levels that cost least."""
    while any(len(set(columns[name])) > bins for name in numbers):
        joins = {}
        for name in numbers:
            levels = sorted(set(columns[name]))
            if len(levels) <= bins:
                continue
            kept = []
            for low, high in itertools.pairwise(levels):
                one = [low if value == high else value for value in columns[name]]
                others = [other for other in columns if other != name]
                kept.append(sum(information(one, columns[other]) for other in others))
            place = max(range(len(kept)), key=lambda k: (round(kept[k], 9), -k))
            joins[name] = (levels[place], levels[place + 1])
        for name, (low, high) in joins.items():
            columns[name] = [low if value == high else value for value in columns[name]]
    return {name: tuple(sorted(set(columns[name]))[1:]) for name in numbers}


@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 5), st.integers(0, 2)), min_size=4, max_size=30
    ),
    st.integers(2, 4),
)
def test_joint_cuts_are_those_of_the_definition(rows, bins):
    x, y, label = (list(column) for column in zip(*rows, strict=True))
    numbers = {"x": np.array(x, dtype=float), "y": np.array(y, dtype=float)}
    found = joint_cuts(numbers, {"c": (np.array(label), 3)}, bins)
    wanted = joined_by_definition({"x": x, "y": y, "c": label}, ["x", "y"], bins)
    assert found == wanted


def test_joint_cuts_depend_neither_on_the_order_of_rows_nor_of_columns():
    table = iris()
    shuffled = table.sample(frac=1, random_state=3)[list(table.columns[::-1])]
    cuts = [
        gml.read(frame, discretize="hartemink", bins=3).origin.cuts for frame in (table, shuffled)
    ]
    assert cuts[0] == cuts[1]
    assert {len(found) for found in cuts[0].values()} == {2}


def test_joint_cuts_keep_more_information_than_quantiles():
    kept = {
        how: [
            column.information["after"]
            for column in gml.profile(iris(), bins=3, discretize=how).columns
            if column.information
        ]
        for how in ("quantile", "hartemink")
    }
    assert sum(kept["hartemink"]) > sum(kept["quantile"])


def test_a_profile_says_what_cutting_loses():
    table = iris()
    columns = gml.profile(table, cut={"Petal.Width": [0.8, 1.75]}, exclude=COLUMNS[:3]).columns
    found = columns[0].information
    # 50 flowers below the first cut, all setosa; above, 49 + 1 versicolor and 5 + 45 virginica.
    cells = {"below": [50], "middle": [49, 5], "above": [1, 45]}
    n, both = 150, [count for counts in cells.values() for count in counts]
    rows = [sum(counts) for counts in cells.values()]
    plain = sum(c / n * math.log(c / n) for c in both)
    plain -= sum(c / n * math.log(c / n) for c in rows) + 3 * (1 / 3) * math.log(1 / 3)
    assert found["after"] == pytest.approx(plain - (5 - 3 - 3 + 1) / (2 * n), abs=1e-12)
    assert found["lost"] == pytest.approx(1 - found["after"] / found["before"])
    assert columns[1].information is None


def test_a_class_has_its_own_figures():
    found = gml.profile(iris(), discretize="mdlp", discretize_class="Species").columns[3]
    assert found.information["class"]["after"] < found.information["after"]
    assert -0.05 < found.information["class"]["lost"] < 0.05 < found.information["lost"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"discretize": "mdlp"}, "mdlp cuts numbers for a class"),
        ({"discretize_class": "Species"}, "`discretize_class` goes with `discretize='mdlp'`"),
        ({"discretize": "hartemink"}, "needs `bins`"),
        (
            {"discretize": "mdlp", "discretize_class": "Petal.Width"},
            "is itself a column of numbers",
        ),
        ({"discretize": "mdlp", "discretize_class": "Specie"}, "did you mean 'Species'"),
        (
            {"discretize": "mdlp", "discretize_class": "Species", "exclude": ["Species"]},
            "is not among the columns in use",
        ),
        ({"cut": {"Petal.Width": "mdlp"}}, "mdlp cuts numbers for a class"),
        ({"cut": {"Petal.Width": "hartemink:3"}}, "is not a way to cut"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(options, message):
    with pytest.raises(UsageError, match=message):
        gml.read(iris(), **options)


def test_one_column_may_be_cut_for_a_class():
    data = gml.read(
        iris(),
        cut={"Petal.Width": "mdlp", "Sepal.Width": [3.0]},
        discretize_class="Species",
        exclude=["Sepal.Length", "Petal.Length"],
    )
    assert data.origin.cuts == {"Petal.Width": (0.8, 1.75), "Sepal.Width": (3.0,)}


def test_rows_without_class_or_number_say_nothing():
    table = iris().astype({"Petal.Width": "object", "Species": "object"})
    more = pd.DataFrame({"Petal.Width": [None, 9.9, -7.0], "Species": ["setosa", None, None]})
    both = pd.concat([table[["Petal.Width", "Species"]], more])
    data = gml.read(both, discretize="mdlp", discretize_class="Species", missing="drop")
    assert data.origin.cuts["Petal.Width"] == (0.8, 1.75)
