"""Exact inference in conditional fields, for many rows at once, against enumeration."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gml
from gml.errors import CannotAnswer
from gml.model.conditional import row_elimination
from gml.model.conditional.field import ConditionalField
from gml.model.conditional.gauge import in_sum_to_zero_gauge
from gml.model.conditional.likelihood import PartLikelihood
from gml.model.conditional.prediction import FieldPredictor
from gml.model.conditional.row_elimination import RowElimination
from gml.model.conditional.rows import FieldRows
from gml.model.conditional.second_derivatives import curvature, is_small
from gml.model.conditional.terms import FieldTerms
from gml.resources import limited_to
from tests.conditional import (
    conditional,
    expected_counts,
    log_likelihood,
    loopy_terms,
    random_rows,
    variable,
)


@pytest.fixture(scope="module")
def loopy():
    return terms_and_tables(numbers=False)


def terms_and_tables(*, numbers):
    terms = loopy_terms(numbers=numbers)
    weights = np.random.default_rng(5).normal(0, 1.5, terms.size)
    return terms, terms.tables(weights)


@pytest.fixture(scope="module", params=[False, True], ids=["levels", "numbers"])
def either(request):
    """A field whose inputs have levels, and one with numeric inputs besides."""
    return terms_and_tables(numbers=request.param)


INPUTS = np.array([[0, 0], [2, 1], [1, 1], [-1, 0], [0, -1], [-1, -1], [2, 1]])
T, Y = [0.5, -3.0, np.nan, 4.25, 0.0, np.nan, -3.0], [1.0, -1.0, -2.0, np.nan, 0.25, np.nan, -1.0]


def inputs_of(terms):
    """Rows of inputs; those of numbers stand where their names do: t, x, y, z."""
    if not terms.scales:
        return INPUTS
    return np.column_stack([T, INPUTS[:, 0], Y, INPUTS[:, 1]])


def codes_in(terms, inputs):
    """The same as codes, and numbers."""
    for x in inputs.tolist():
        yield [z if v.is_continuous else int(z) for v, z in zip(terms.inputs, x, strict=True)]


def test_posteriors_by_enumeration(either):
    terms, tables = either
    inputs = inputs_of(terms)
    found = FieldPredictor(terms, tables).posteriors(inputs)
    for row, x in enumerate(codes_in(terms, inputs)):
        p = conditional(terms, tables, x)
        for t, table in enumerate(found.targets):
            others = tuple(k for k in range(p.ndim) if k != t)
            assert table[row] == pytest.approx(p.sum(axis=others), abs=1e-14)
    assert found.log_evidence.tolist() == [0.0] * len(inputs)


OBSERVED = np.array(
    [
        [-1, -1, -1, -1, -1],
        [1, -1, -1, -1, -1],
        [-1, 2, 0, -1, -1],
        [-1, -1, -1, -1, 1],
        [0, 1, 1, 0, 2],
        [1, -1, 0, -1, 0],
        [-1, -1, -1, 1, -1],
    ]
)


def given_observed(p, observed):
    """p(y | x) where some targets are observed, not normalised."""
    kept = p.copy()
    for t, code in enumerate(observed):
        if code >= 0:
            others = [k for k in range(p.shape[t]) if k != code]
            kept[(slice(None),) * t + (others,)] = 0
    return kept


def test_observed_targets_by_enumeration(either):
    terms, tables = either
    inputs = inputs_of(terms)
    found = FieldPredictor(terms, tables).posteriors(inputs, OBSERVED)
    codes = codes_in(terms, inputs)
    for row, (x, observed) in enumerate(zip(codes, OBSERVED.tolist(), strict=True)):
        p = given_observed(conditional(terms, tables, x), observed)
        assert found.log_evidence[row] == pytest.approx(np.log(p.sum()), abs=1e-13)
        for t, table in enumerate(found.targets):
            others = tuple(k for k in range(p.ndim) if k != t)
            assert table[row] == pytest.approx(p.sum(axis=others) / p.sum(), abs=1e-13)


def test_most_probable_values_by_enumeration(either):
    terms, tables = either
    inputs = inputs_of(terms)
    found = FieldPredictor(terms, tables).best(inputs, OBSERVED)
    codes = codes_in(terms, inputs)
    for row, (x, observed) in enumerate(zip(codes, OBSERVED.tolist(), strict=True)):
        p = given_observed(conditional(terms, tables, x), observed)
        assert tuple(found.levels[row]) == np.unravel_index(p.argmax(), p.shape)
        assert found.log_probability[row] == pytest.approx(np.log(p.max() / p.sum()), abs=1e-13)


def test_ties_go_to_the_first_levels():
    terms = FieldTerms.complete([variable("a", 3), variable("b", 2)], [variable("x", 2)])
    found = FieldPredictor(terms, terms.tables(np.zeros(terms.size))).best(np.array([[0]]))
    assert found.levels.tolist() == [[0, 0]]
    assert found.log_probability[0] == pytest.approx(-np.log(6))


def test_weights_beyond_the_range_of_doubles(loopy):
    """Where exponentials overflow or vanish, the answer is that of the logarithms."""
    terms, tables = loopy
    far = {scope: 2000 * table for scope, table in tables.items()}
    found = FieldPredictor(terms, far).posteriors(INPUTS)
    for table in found.targets:
        assert np.isfinite(table).all()
        assert table.sum(axis=1) == pytest.approx(1.0)
    best = FieldPredictor(terms, far).best(INPUTS)
    for row, x in enumerate(INPUTS.tolist()):
        p = conditional(terms, tables, x)
        assert tuple(best.levels[row]) == np.unravel_index(p.argmax(), p.shape)


def test_blocks_change_nothing_but_rounding(loopy, monkeypatch):
    terms, tables = loopy
    inputs = np.random.default_rng(0).integers(-1, 2, (50, 2))
    whole = FieldPredictor(terms, tables).posteriors(inputs)
    monkeypatch.setattr(row_elimination, "_BLOCK_BYTES", 1)
    assert RowElimination(terms).block_rows == 1
    single = FieldPredictor(terms, tables).posteriors(inputs)
    for a, b in zip(whole.targets, single.targets, strict=True):
        assert a == pytest.approx(b, abs=1e-15)


def test_memory_is_asked_for_before():
    many = [variable(f"y{k:02d}", 4) for k in range(30)]
    with pytest.raises(CannotAnswer, match=r"the treewidth is 29 .*fewer targets"):
        RowElimination(FieldTerms.complete(many, []))
    with limited_to(100), pytest.raises(CannotAnswer, match="more than `max_memory` allows"):
        RowElimination(FieldTerms.complete(many[:3], []))


# ---------------------------------------------------------------------- likelihood


def likelihood_of(terms, data):
    rows = FieldRows.of(terms, data)
    seen = rows.seen_by(terms)
    return PartLikelihood(seen, RowElimination(terms)), seen.counted(rows)


def test_log_likelihood_by_enumeration(either):
    terms, tables = either
    data = random_rows(terms, 60, seed=1)
    likelihood, counted = likelihood_of(terms, data)
    value, _ = likelihood.value_and_gradient(terms.vector(tables), counted)
    assert value == pytest.approx(log_likelihood(terms, tables, data), rel=1e-13)


def test_gradient_by_differences(either):
    terms, tables = either
    likelihood, counted = likelihood_of(terms, random_rows(terms, 60, seed=1))
    weights = terms.vector(tables)
    _, gradient = likelihood.value_and_gradient(weights, counted)
    step = 1e-4
    for k in range(terms.size):
        moved = np.zeros(terms.size)
        moved[k] = step
        values = [
            likelihood.value_and_gradient(weights + times * moved, counted)[0]
            for times in (-2, -1, 1, 2)
        ]
        slope = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)
        assert gradient[k] == pytest.approx(slope, abs=1e-8)


def test_curvature_by_differences(either):
    terms, tables = either
    rows = FieldRows.of(terms, random_rows(terms, 60, seed=1))
    seen = rows.seen_by(terms)
    counted = seen.counted(rows)
    likelihood = PartLikelihood(seen, RowElimination(terms))
    weights = terms.vector(tables)
    found = curvature(seen, counted, weights)
    assert is_small(seen)
    step = 1e-4
    for k in range(terms.size):
        moved = np.zeros(terms.size)
        moved[k] = step
        above, below = (
            likelihood.value_and_gradient(weights + way * moved, counted)[1] for way in (1, -1)
        )
        assert found[k] == pytest.approx((below - above) / (2 * step), abs=2e-7)


def test_gradient_is_seen_less_expected(either):
    terms, tables = either
    data = random_rows(terms, 40, seed=2)
    likelihood, counted = likelihood_of(terms, data)
    _, gradient = likelihood.value_and_gradient(terms.vector(tables), counted)
    expected, seen = expected_counts(terms, tables, data)
    for scope, table in terms.tables(gradient).items():
        assert table == pytest.approx(seen[scope] - expected[scope], abs=1e-11)


# ---------------------------------------------------------------------- the field


def test_the_gauge_changes_no_probability(loopy):
    terms, tables = loopy
    gauged = in_sum_to_zero_gauge(terms, tables)
    for scope, table in gauged.items():
        for axis in range(len(scope)):
            assert np.abs(table.sum(axis=axis)).max() < 1e-12
    for x in ([0, 0], [2, 1]):
        assert conditional(terms, gauged, x) == pytest.approx(conditional(terms, tables, x))


@pytest.fixture
def field(loopy):
    terms, tables = loopy
    return ConditionalField.of_tables(terms.targets[::-1], terms.inputs[::-1], tables)


def test_given_all_inputs_it_is_an_undirected_model(loopy, field):
    terms, tables = loopy
    net = field.given({"x": "x1", "z": "z0"})
    p = conditional(terms, tables, [1, 0])
    assert [variable.name for variable in net.variables] == list("edcba")
    answer = net.query(list("abcde"))
    assert answer.table == pytest.approx(p, abs=1e-14)
    assert {tuple(sorted(potential.names)) for potential in net.potentials if len(potential.scope) == 2} == {
        ("a", "b"), ("b", "c"), ("c", "d"), ("a", "d"), ("d", "e"),
    }  # fmt: skip


def test_queries_by_enumeration(loopy, field):
    terms, tables = loopy
    evidence = {"x": "x2", "z": "z1", "b": "b2"}
    p = conditional(terms, tables, [2, 1])[:, 2]
    answer = field.query("d", evidence)
    assert answer["d"].table == pytest.approx(p.sum(axis=(0, 1, 3)) / p.sum())
    assert np.exp(answer.log_evidence) == pytest.approx(p.sum())
    assert dict(answer.given) == {"x": "x2", "z": "z1"}
    assert dict(answer.evidence) == {"b": "b2"}
    joint = field.query(["a", "e"], evidence)
    assert joint.table == pytest.approx(p.sum(axis=(1, 2)) / p.sum())
    best = field.mpe(evidence)
    a, c, d, e = np.unravel_index(p.argmax(), p.shape)
    assert {name: best[name] for name in "acde"} == {
        "a": f"a{a}",
        "c": f"c{c}",
        "d": f"d{d}",
        "e": f"e{e}",
    }
    assert np.exp(best.log_probability) == pytest.approx(p.max() / p.sum())
    some = field.map(["a", "c"], evidence)
    margin = p.sum(axis=(2, 3))
    assert (some["a"], some["c"]) == tuple(
        f"{name}{code}" for name, code in zip("ac", np.unravel_index(margin.argmax(), margin.shape), strict=True)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("target", "evidence", "said"),
    [
        ("a", {"x": "x1"}, "'z' has no value"),
        ("a", {}, "'z', 'x' have no value"),
        ("x", {"x": "x1", "z": "z0"}, "'x' is an input of the conditional field"),
        ("q", {"x": "x1", "z": "z0"}, "node 'q' not found"),
        ("a", {"x": "x9", "z": "z0"}, "'x' has no level 'x9'"),
        ("a", {"x": "x1", "z": "z0", "a": "a0"}, "'a' is both observed and asked for"),
    ],
)
def test_questions_that_are_refused(field, target, evidence, said):
    with pytest.raises(gml.UsageError, match=said):
        field.query(target, evidence)


def test_one_target_is_predicted_and_the_others_are_evidence(field):
    rows = pd.DataFrame({"x": ["x0", "x1"], "z": ["z0", "z1"], "b": ["b0", "b2"]})
    with pytest.warns(gml.GmlWarning, match="'b' is known in data, and so evidence for the other"):
        found = field.predict(rows, "a")
    for row, p in zip(rows.to_dict("records"), found.table, strict=True):
        assert p == pytest.approx(field.query("a", row)["a"].table)
    for several in (["a", "b"], ("a", "b")):
        with pytest.raises(gml.UsageError, match="predict takes one target, not a .*; decode "):
            field.predict(rows, several)
    with pytest.raises(gml.UsageError, match="`mpe` predicts all targets together"):
        gml.query(field, batch=rows, predict=["a", "b"])


def test_a_target_is_no_input(field):
    with pytest.raises(gml.UsageError, match="'a' is a target, not an input"):
        field.given({"x": "x0", "z": "z0", "a": "a0"})


def test_it_has_no_factors(field):
    with pytest.raises(gml.GraphError, match="no joint distribution"):
        gml.Inference(field)
