"""A BIC of any DAG of numbers and labels, and the choice between bic-dg and bic-cg that it makes."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

import gml
from gml.data.dataset import Dataset, Variable
from gml.errors import CannotAnswer, DataError, UsageError
from gml.graph.graph import Graph
from gml.graph.knowledge import Knowledge
from gml.learners.class_members import best_member
from gml.scores.logits import logit_likelihood
from tests.command_line import run_here
from tests.mixed_tables import mixed_data, score_of


def by_groups(n=2000, seed=0):
    """Labels before numbers: a label makes more of what one number does to another, and spreads."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(2, size=n), rng.integers(3, size=n)
    x = rng.normal(size=n)
    y = np.where(a == 1, 1.5, 0.2) * x + np.array([0.3, 1.0, 2.0])[b] * rng.normal(size=n)
    return dataset({"a": a, "b": b, "x": x, "y": y})


def by_logit(n=2000, seed=0):
    """Numbers before labels: two numbers, which are independent, push a label either way."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=n), rng.normal(size=n)
    a = (1.5 * x + 1.5 * y + rng.logistic(size=n) > 0).astype(int)
    b = (rng.random(n) < np.where(a == 1, 0.8, 0.2)).astype(int)
    return dataset({"a": a, "b": b, "x": x, "y": y})


def dataset(columns):
    variables, cells = [], []
    for name, values in columns.items():
        is_label = values.dtype.kind == "i"
        levels = tuple("pqrs"[: values.max() + 1]) if is_label else None
        variables.append(Variable(name, levels))
        cells.append(values.astype(np.uint8 if is_label else float))
    return Dataset(tuple(variables), tuple(cells))


def columns_of(data):
    """The columns of such a dataset, to be changed."""
    return {
        variable.name: np.array(column, dtype=float if variable.is_continuous else int)
        for variable, column in zip(data.variables, data.columns, strict=True)
    }


def same(one, other):
    """Whether two graphs have the same nodes and edges, however they were found."""
    return one.names == other.names and one.kind == other.kind and (one.marks == other.marks).all()


def test_logits_are_where_the_gradient_is_zero():
    """Against ascent by plain steps on the same likelihood."""
    rng = np.random.default_rng(1)
    design = np.column_stack([np.ones(60), rng.normal(size=(60, 2))])
    counts = np.eye(3)[rng.integers(3, size=60)] * rng.integers(1, 4, size=(60, 1))
    slopes = np.zeros((2, 3))

    def logs():
        terms = np.column_stack([np.zeros(60), design @ slopes.T])
        return terms - np.log(np.exp(terms).sum(axis=1, keepdims=True))

    for _ in range(20000):
        expected = counts.sum(axis=1, keepdims=True) * np.exp(logs())
        slopes = slopes + 0.01 * (counts - expected)[:, 1:].T @ design
    assert logit_likelihood(counts, design) == pytest.approx(float((counts * logs()).sum()), 1e-9)


@pytest.mark.parametrize("levels", [2, 5])
def test_both_ways_to_find_newton_steps_agree(monkeypatch, levels):
    rng = np.random.default_rng(levels)
    design = np.column_stack([np.ones(300), rng.normal(size=(300, 4))])
    codes = (design @ rng.normal(size=(5, levels)) + rng.gumbel(size=(300, levels))).argmax(axis=1)
    found = logit_likelihood(np.eye(levels)[codes], design)
    monkeypatch.setattr("gml.scores.logits._MOST_BY_LEVEL", 0)
    assert logit_likelihood(np.eye(levels)[codes], design) == pytest.approx(found, abs=1e-7)


def test_a_label_that_is_told_without_error_has_a_likelihood_near_one():
    x = np.linspace(-1.5, 1.5, 100)
    likelihood = logit_likelihood(np.eye(2)[(x > 0.3).astype(int)], np.column_stack([x * 0 + 1, x]))
    assert -0.05 < likelihood < 0


def test_families_have_the_best_of_their_models():
    data = by_groups(300)
    glm, dg, cg = (score_of(name, data) for name in ("bic-glm", "bic-dg", "bic-cg"))
    a, b, x, y = range(4)
    for family in ((y, (x,)), (y, (a, x)), (x, (b,)), (y, (a, b, x))):
        best = max(dg.local(*family), cg.local(*family))
        assert glm.local(*family) == pytest.approx(best, abs=1e-9)
    assert glm.local(y, (a, x)) == cg.local(y, (a, x)) > dg.local(y, (a, x))
    assert glm.local(b, (a,)) == cg.local(b, (a,))
    assert glm.dimension(b, (a, x)) == 2 * 3
    # A logit with a label alone is its table.
    counts = np.zeros((2, 3))
    np.add.at(counts, (data.columns[a], data.columns[b]), 1.0)
    logit = logit_likelihood(counts, np.array([[1.0, 0.0], [1.0, 1.0]]))
    assert logit - 2 * math.log(300) == pytest.approx(glm.local(b, (a,)), abs=1e-6)


def test_on_numbers_alone_it_is_bic_g():
    data = mixed_data(3, kinds="nnn")
    families = [(0, ()), (1, (0,)), (2, (0, 1))]
    found = score_of("bic-glm", data, penalty=2.0).batch(families)
    np.testing.assert_allclose(found, score_of("bic-g", data, penalty=2.0).batch(families))


@pytest.mark.parametrize("data", [by_logit(300), mixed_data(5)])
def test_neither_rows_nor_columns_have_an_order(data):
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(data.n), rng.permutation(len(data.variables)).tolist()
    other = Dataset(
        tuple(data.variables[j] for j in columns), tuple(data.columns[j][rows] for j in columns)
    )
    at = [columns.index(j) for j in range(len(columns))]
    first, second = score_of("bic-glm", data), score_of("bic-glm", other)
    names = range(len(columns))
    for child in names:
        for parents in itertools.combinations([j for j in names if j != child], 2):
            mirrored = tuple(at[j] for j in reversed(parents))
            assert first.local(child, parents) == second.local(at[child], mirrored)


def test_weights_are_rows():
    data = by_logit(200)
    doubled = Dataset(data.variables, tuple(np.concatenate([c, c]) for c in data.columns))
    weighted = Dataset(data.variables, data.columns, np.full(200, 2))
    for family in ((0, (2, 3)), (0, (1, 2))):
        assert score_of("bic-glm", weighted).local(*family) == pytest.approx(
            score_of("bic-glm", doubled).local(*family), rel=1e-12
        )


def test_count_files_have_no_rows_for_it(tmp_path):
    counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    gml.write_counts(gml.count_sets(counter, [counter.order.names]), tmp_path / "c.parquet")
    with pytest.raises(CannotAnswer, match="rows"):
        gml.hc(tmp_path / "c.parquet", score="bic-glm")


# ---------------------------------------------------------------------- members of classes


def test_the_best_member_is_the_best_of_all_in_small_classes():
    data = by_logit(500)
    score = score_of("bic-glm", data)
    chain = Graph.from_edges("abxy", [("b", "-->", "a"), ("a", "-->", "x")])
    members = [
        [("b", "-->", "a"), ("a", "-->", "x")],
        [("a", "-->", "b"), ("a", "-->", "x")],
        [("x", "-->", "a"), ("a", "-->", "b")],
    ]
    values = [gml.total(score, Graph.from_edges("abxy", edges)) for edges in members]
    found, value = best_member(score, chain)
    assert value == pytest.approx(max(values), rel=1e-15)
    assert value == gml.total(score, found)


def test_the_best_member_obeys_knowledge():
    score = score_of("bic-glm", by_logit(500))
    arc = Graph.from_edges("abxy", [("a", "-->", "x")])
    free, _ = best_member(score, arc)
    assert free == Graph.from_edges("abxy", [("x", "-->", "a")])
    assert best_member(score, arc, Knowledge(require=(("a", "x"),)))[0] == arc
    assert best_member(score, arc, Knowledge(forbid=(("x", "a"),)))[0] == arc


# ---------------------------------------------------------------------- bic-either


@pytest.mark.parametrize("learn", [gml.ges, gml.hc])
@pytest.mark.parametrize(("data", "expected"), [(by_groups(), "bic-cg"), (by_logit(), "bic-dg")])
def test_the_table_chooses_the_score(learn, data, expected):
    found = learn(data, score="bic-either")
    alone = learn(data, score=expected)
    assert same(found.graph, alone.graph) and found.score == alone.score
    learning = found.graph.learning
    assert learning["settings"]["score"] == expected
    judged = learning["chosen_by"]
    assert judged["score"] == "bic-glm"
    other = {"bic-cg": "bic-dg", "bic-dg": "bic-cg"}[expected]
    assert judged[expected] >= judged[other]


def test_options_go_to_the_scores_that_have_them():
    data = by_groups(500)
    found = gml.ges(data, score="bic-either", penalty=3.0, edge_penalty=2.0, ridge=0.01)
    alone = gml.ges(data, score="bic-cg", penalty=3.0, edge_penalty=2.0)
    assert same(found.graph, alone.graph)
    with pytest.raises(UsageError, match="ess"):
        gml.ges(data, score="bic-either", ess=1)


def test_a_tie_goes_to_dg():
    rng = np.random.default_rng(0)
    data = dataset({"a": rng.integers(2, size=300), "x": rng.normal(size=300)})
    found = gml.ges(data, score="bic-either")
    assert found.graph.n_edges == 0 and found.graph.learning["settings"]["score"] == "bic-dg"


def test_one_kind_of_columns_leaves_no_choice():
    labels, numbers = mixed_data(1, kinds="lll"), mixed_data(1, kinds="nnn")
    for data, name in ((labels, "bic"), (numbers, "bic-g")):
        found = gml.ges(data, score="bic-either", penalty=2.0)
        assert same(found.graph, gml.ges(data, score=name, penalty=2.0).graph)
        assert found.graph.learning["settings"]["score"] == name


def test_a_required_edge_from_a_number_to_a_label_leaves_dg():
    found = gml.hc(by_groups(300), score="bic-either", require=[("x", "a")])
    assert found.graph.learning["settings"]["score"] == "bic-dg"
    with pytest.raises(DataError):
        gml.hc(by_groups(300), score="bic-cg", require=[("x", "a")])


def test_steps_say_which_score_they_are_by():
    steps = []
    gml.hc(by_groups(300), score="bic-either", trace=steps.append)
    assert {step.phase.partition(":")[0] for step in steps} == {"bic-dg", "bic-cg"}


def test_it_is_a_choice_and_no_score():
    for learn in (gml.exact, lambda data, score: gml.average(data, "ges", score=score)):
        with pytest.raises(UsageError, match="for gml ges and gml hc alone"):
            learn(by_groups(100), score="bic-either")
    with pytest.raises(UsageError, match="complete rows"):
        gml.ges(by_groups(100), score="bic-either", missing="available")


def test_the_command_line_says_which_score_it_is():
    flats = ("sample_data/flats.csv", "--numeric", "size,rent,heating", "--score", "bic-either")
    done = run_here(["ges", *flats, "-f", "json"], Path.cwd())
    assert done.returncode == 0
    graph = json.loads(done.stdout)["graph"]
    assert graph["kind"] == "pdag" and graph["learning"]["settings"]["score"] == "bic-cg"
    assert set(graph["learning"]["chosen_by"]) == {"score", "bic-dg", "bic-cg"}
    said = b"the score is bic-cg, as bic-glm finds its graph better than that by bic-dg by"
    assert said in done.stderr
    for wrong in (["exact", *flats], ["ges", *flats, "--ess", "2"]):
        assert run_here(wrong, Path.cwd()).returncode == 2


@pytest.mark.parametrize("unit", [1.0, 1e-200, 1e200])
def test_logits_do_not_depend_on_units(unit):
    data = by_logit(300)
    found = dataset({**columns_of(data), "x": columns_of(data)["x"] * unit})
    family = [(data.names.index("a"), (data.names.index("x"),))]
    expected = score_of("bic-glm", data).batch(family)
    assert score_of("bic-glm", found).batch(family) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("far", [1e3, 1e6])
def test_one_number_far_off_leaves_the_logit_of_the_others(far):
    data = by_logit(300)
    columns = columns_of(data)
    columns["x"][0], columns["a"][0] = 60.0, 1
    family = [(data.names.index("a"), (data.names.index("x"),))]
    near = score_of("bic-glm", dataset(columns)).batch(family)
    columns["x"][0] = far
    assert score_of("bic-glm", dataset(columns)).batch(family) == pytest.approx(near, abs=1e-6)
