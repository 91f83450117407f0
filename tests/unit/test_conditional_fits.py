"""Fits of conditional fields: where the maximum is, penalties, folds, and maxima at infinity."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import gml
from gml.data.dataset import Dataset, Variable
from gml.model.conditional import second_derivatives
from gml.model.conditional.curvature import diagonal_steps
from gml.model.conditional.estimation import FieldTrials, estimate_field
from gml.model.conditional.fit import FieldFitter, FieldPenalty
from gml.model.conditional.folds import L2_GRID, judged_by_folds
from gml.model.conditional.likelihood import PartLikelihood
from gml.model.conditional.numeric_inputs import Scale
from gml.model.conditional.row_elimination import RowElimination
from gml.model.conditional.rows import FieldRows
from gml.model.conditional.terms import FieldTerms
from gml.progress import Deadline
from tests.conditional import (
    conditional,
    expected_counts,
    log_likelihood,
    loopy_terms,
    random_rows,
    rows_of,
    variable,
)


def fitted(terms, data, **how):
    rows = FieldRows.of(terms, data)
    return FieldFitter(rows).fit(rows, FieldPenalty(**how))


def newton(x, y, levels, l2):
    """Multinomial logistic regression with l2·Σw² by Newton's method; x is rows × features."""
    k = x.shape[1]
    w = np.zeros((levels, k))
    truth = np.eye(levels)[y]
    for _ in range(100):
        logs = x @ w.T
        p = np.exp(logs - logs.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        gradient = ((truth - p).T @ x - 2 * l2 * w).reshape(-1)
        hessian = np.zeros((levels * k, levels * k))
        for a, b in itertools.product(range(levels), repeat=2):
            bends = p[:, a] * ((a == b) - p[:, b])
            hessian[a * k : (a + 1) * k, b * k : (b + 1) * k] = x.T @ (x * bends[:, None])
        step = np.linalg.solve(hessian + 2 * l2 * np.eye(levels * k), gradient)
        w += step.reshape(w.shape)
        if np.abs(step).max() < 1e-13:
            return w
    raise AssertionError("Newton's method did not converge")


BOTH = pytest.mark.parametrize("numbers", [False, True], ids=["levels", "numbers"])


@BOTH
@pytest.mark.parametrize("block_rows", [1, 3, 1000])
def test_the_diagonal_of_the_curvature_is_summed_block_by_block(block_rows, numbers):
    terms = loopy_terms(numbers=numbers)
    data = random_rows(terms, 60, seed=4)
    rows = FieldRows.of(terms, data)
    (part,) = terms.parts
    seen, tree = rows.seen_by(part), RowElimination(part)
    tree.block_rows = block_rows
    weights = np.random.default_rng(1).normal(size=part.size)
    counted, likelihood = seen.counted(rows), PartLikelihood(seen, tree)
    sizes = [block.stop - block.start for block, _ in likelihood.posteriors(weights)]
    assert sum(sizes) == seen.n_distinct and max(sizes) <= block_rows
    found = diagonal_steps(seen, counted, likelihood.posteriors(weights), l2=0.5)
    bends = part.tables(60 / found(np.ones(part.size)) - 1)
    expected = {scope: np.zeros_like(table) for scope, table in bends.items()}
    place = {target.name: t for t, target in enumerate(part.targets)}
    reads = {variable.name: k for k, variable in enumerate(part.inputs)}
    tables = part.tables(weights)
    # Numbers are standardised already.
    as_they_are = replace(part, scales=dict.fromkeys(part.scales, Scale(0.0, 1.0)))
    for x, times in zip(seen.inputs.T.tolist(), counted.times.tolist(), strict=True):
        x = [z if v.is_continuous else int(z) for v, z in zip(part.inputs, x, strict=True)]
        joint = conditional(as_they_are, tables, x)
        own = [
            joint.sum(axis=tuple(a for a in range(joint.ndim) if a != t)) for t in place.values()
        ]
        for scope, table in expected.items():
            p = own[place[scope[0]]]
            if len(scope) == 1:
                table += times * p * (1 - p)
            elif scope[1] in part.scales:
                table[:, 0] += times * p * (1 - p) * x[reads[scope[1]]] ** 2
            elif scope[1] in reads:
                table[:, x[reads[scope[1]]]] += times * p * (1 - p)
            else:
                table += times * np.outer(p, own[place[scope[1]]])
    for scope, table in expected.items():
        if len(scope) == 2 and scope[1] in place:
            table *= 1 - table / 60
        np.testing.assert_allclose(bends[scope], table, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("l2", [10.0, 1.0, 0.01])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_one_target_is_multinomial_regression(size, l2):
    terms = FieldTerms.complete([variable("y", size)], [variable("a", 3), variable("b", 2)])
    data = random_rows(terms, 200, seed=size)
    found = fitted(terms, data, l2=l2)
    assert found.converged
    columns = dict(zip(data.names, data.columns, strict=True))
    x = np.hstack([np.ones((200, 1)), np.eye(3)[columns["a"]], np.eye(2)[columns["b"]]])
    w = newton(x, columns["y"], size, l2)
    assert found.tables["y",] == pytest.approx(w[:, 0], abs=1e-7)
    assert found.tables["y", "a"] == pytest.approx(w[:, 1:4], abs=1e-7)
    assert found.tables["y", "b"] == pytest.approx(w[:, 4:], abs=1e-7)


@BOTH
def test_large_parts_have_the_same_maximum(monkeypatch, numbers):
    """Where the matrix of second derivatives is too large, its diagonal leads there too."""
    terms = loopy_terms(numbers=numbers)
    data = random_rows(terms, 150, seed=3)
    by_newton = fitted(terms, data)
    monkeypatch.setattr(second_derivatives, "_MOST_WEIGHTS", 1)
    by_diagonal = fitted(terms, data)
    assert by_diagonal.converged
    assert by_diagonal.iterations > by_newton.iterations
    for scope, table in by_newton.tables.items():
        assert by_diagonal.tables[scope] == pytest.approx(table, abs=1e-7)


@BOTH
@pytest.mark.parametrize("l2", [1.0, 0.05])
def test_where_targets_meet_the_derivatives_are_zero(l2, numbers):
    terms = loopy_terms(numbers=numbers)
    data = random_rows(terms, 150, seed=3)
    found = fitted(terms, data, l2=l2)
    assert found.converged
    expected, seen = expected_counts(terms, found.tables, data)
    for scope, table in found.tables.items():
        assert seen[scope] - expected[scope] - 2 * l2 * table == pytest.approx(0.0, abs=2e-7)
    squares = sum(float((table**2).sum()) for table in found.tables.values())
    likelihood = log_likelihood(terms, found.tables, data)
    assert found.log_likelihood == pytest.approx(likelihood, rel=1e-12)
    assert found.objective == pytest.approx(likelihood - l2 * squares, rel=1e-12)


@BOTH
def test_sparse_weights_meet_the_conditions_of_the_lasso(numbers):
    terms = loopy_terms(numbers=numbers)
    data = random_rows(terms, 150, seed=3)
    l1, l2 = 3.0, 0.5
    found = fitted(terms, data, l1=l1, l2=l2)
    assert found.converged
    expected, seen = expected_counts(terms, found.tables, data)
    n_zeros = 0
    for scope, table in found.tables.items():
        slope = seen[scope] - expected[scope] - 2 * l2 * table
        zero = table == 0
        n_zeros += int(zero.sum())
        assert (np.abs(slope[zero]) <= l1 + 1e-6).all()
        assert slope[~zero] == pytest.approx(l1 * np.sign(table[~zero]), abs=1e-6)
    assert 10 < n_zeros < terms.size - 10


def test_a_large_l1_leaves_nothing():
    terms = loopy_terms()
    found = fitted(terms, random_rows(terms, 50, seed=0), l1=100.0, l2=0.0)
    assert all(not table.any() for table in found.tables.values())


def test_targets_without_edges_are_fitted_as_if_alone():
    a, b, x = variable("a", 2), variable("b", 3), variable("x", 3)
    apart = FieldTerms.of_scopes([a, b], [x], [("a", "x"), ("b", "x")])
    data = random_rows(apart, 80, seed=4)
    together = fitted(apart, data)
    for target in (a, b):
        alone = fitted(FieldTerms.complete([target], [x]), data)
        for scope, table in alone.tables.items():
            assert np.array_equal(together.tables[scope], table)


@BOTH
def test_the_order_of_rows_and_columns_changes_no_bit(numbers):
    terms = loopy_terms(numbers=numbers)
    data = random_rows(terms, 120, seed=6)
    found = fitted(terms, data)
    rng = np.random.default_rng(0)
    order = rng.permutation(120)
    columns = rng.permutation(len(data.columns))
    turned = Dataset(
        tuple(data.variables[k] for k in columns),
        tuple(np.ascontiguousarray(data.columns[k][order]) for k in columns),
    )
    again = FieldTerms.of_scopes(
        terms.targets[::-1], terms.inputs[::-1], terms.scopes[::-1], terms.scales
    )
    other = fitted(again, turned)
    for scope, table in found.tables.items():
        assert np.array_equal(other.tables[scope], table)


@BOTH
def test_weights_stand_for_rows(numbers):
    inputs, scales = [variable("x", 2)], {}
    if numbers:
        inputs, scales = [*inputs, Variable("z", None)], {"z": Scale(0.1, 1.4)}
    terms = FieldTerms.complete([variable("y", 3)], inputs, scales)
    data = random_rows(terms, 40, seed=7)
    times = np.random.default_rng(1).integers(0, 4, 40)
    weighted = fitted(terms, replace(data, weights=times))
    repeated = Dataset(data.variables, tuple(np.repeat(column, times) for column in data.columns))
    expected = fitted(terms, repeated)
    half = fitted(terms, replace(data, weights=2 * times, unit=0.5))
    for scope, table in expected.tables.items():
        assert np.array_equal(weighted.tables[scope], table)
        assert half.tables[scope] == pytest.approx(table, abs=1e-9)


def test_a_level_that_no_row_has():
    """Its weights beside the bias are 0 where it is an input, and small where it is a target."""
    terms = FieldTerms.complete([variable("y", 3)], [variable("x", 3)])
    data = random_rows(terms, 60, seed=8)
    data = data.rows((data.columns[0] != 2) & (data.columns[1] != 2))
    found = fitted(terms, data)
    assert found.converged
    assert not found.tables["y", "x"][:, 2].any()
    assert found.tables["y",][2] < -0.5


# ---------------------------------------------------------------------- maxima at infinity


def field_of(columns, **how):
    names = list(columns)
    variables = tuple(variable(name, max(column) + 1) for name, column in columns.items())
    data = Dataset(variables, tuple(np.array(c, dtype=np.uint8) for c in columns.values()))
    targets = [name for name in names if name.startswith("y")]
    return gml.crf(data, target=targets, **how)


def test_a_level_never_seen_with_another_is_refused_without_a_penalty():
    columns = {"y": [0, 0, 1, 0], "x": [0, 1, 1, 1]}
    with pytest.raises(gml.CannotAnswer, match="no row has 'y=y1 with x=x0'.*`l2` above 0"):
        field_of(columns, l2=0)
    assert field_of(columns, l2=1e-3).summary.converged
    assert field_of(columns, l2=0, l1=0.1).summary.converged


# y is 1 where two of three inputs are, yet every pair of levels occurs.
MAJORITY = list(itertools.product((0, 1), repeat=3))
SEPARATED = {
    "y": [int(sum(row) >= 2) for row in MAJORITY],
    **{f"x{k}": [row[k] for row in MAJORITY] for k in range(3)},
}


def test_separation_without_zeros_is_refused():
    with pytest.raises(gml.CannotAnswer, match="tell levels of 'y' apart perfectly"):
        field_of(SEPARATED, l2=0)


def test_one_row_that_contradicts_makes_the_maximum_finite():
    columns = {name: [*column, *column] for name, column in SEPARATED.items()}
    columns["y"] = [*SEPARATED["y"], *(1 - y for y in SEPARATED["y"])]
    assert field_of(columns, l2=0).summary.converged
    once = {name: [*column, 1] for name, column in SEPARATED.items()}
    once["y"][-1] = 0
    found = field_of(once, l2=0)
    assert found.summary.converged
    assert all(
        np.isfinite(table).all() and np.abs(table).max() < 30 for table in found.tables.values()
    )


def seen(cells):
    """Columns y, x and z of rows, by which y were seen with each x and z."""
    rows = [(y, x, z) for (x, z), ys in cells.items() for y in ys]
    return {name: [row[k] for row in rows] for k, name in enumerate("yxz")}


def test_separation_of_some_rows():
    """y rises along z − x, which leaves the rows with x = z as they are; all pairs occur."""
    some = {(0, 0): (0, 1), (0, 1): (1,), (1, 0): (0,), (1, 1): (0, 1)}
    with pytest.raises(gml.CannotAnswer, match="apart perfectly"):
        field_of(seen(some), l2=0)


def test_rows_of_one_value_need_not_be_separated():
    """x = 1 would have to lower y and z to raise it, but with x = 0 both values of y occur."""
    some = {(0, 0): (0, 1), (0, 1): (0, 1), (1, 0): (0,), (1, 1): (1,)}
    assert field_of(seen(some), l2=0).summary.converged


def test_separation_among_several_targets():
    """Three targets by pairs: all pairs occur, but three cells of one parity do not."""
    even = [row for row in itertools.product((0, 1), repeat=3) if sum(row) not in (0, 3)]
    columns = {f"y{k}": [row[k] for row in even] * 2 for k in range(3)}
    columns["x"] = [0] * len(even) + [1] * len(even)
    with pytest.raises(gml.CannotAnswer, match="tell levels of 'y0', 'y1', 'y2' apart perfectly"):
        field_of(columns, l2=0)
    every = list(itertools.product((0, 1), repeat=4))
    full = {name: [row[k] for row in every] for k, name in enumerate(["y0", "y1", "y2", "x"])}
    assert field_of(full, l2=0).summary.converged


@BOTH
def test_without_a_penalty_the_margins_of_features_are_matched(numbers):
    terms = loopy_terms(numbers=numbers)
    data = random_rows(terms, 400, seed=9)
    found = fitted(terms, data, l2=0.0)
    assert found.converged
    expected, seen = expected_counts(terms, found.tables, data)
    for scope in found.tables:
        assert expected[scope] == pytest.approx(seen[scope], abs=2e-7)


# ---------------------------------------------------------------------- folds and figures


@pytest.fixture(scope="module")
def small():
    terms = FieldTerms.complete(
        [variable("a", 2), variable("b", 3)], [variable("x", 3), variable("z", 2)]
    )
    return terms, random_rows(terms, 90, seed=10)


def expanded(rows):
    """Rows as a table, each as often as it counts."""
    times = rows.counts
    columns = [*rows.targets.T, *rows.inputs.T]
    variables = (*rows.terms.targets, *rows.terms.inputs)
    return Dataset(variables, tuple(np.repeat(c, times).astype(np.uint8) for c in columns))


def test_folds_judge_by_rows_that_were_not_fitted(small):
    terms, data = small
    rows = FieldRows.of(terms, data)
    found = judged_by_folds(FieldTrials(FieldFitter(rows), rows, seed=3), (0.1, 1.0), 4)
    for l2, loss in found.path:
        total = 0.0
        for rest, fold in rows.folds(4, seed=3):
            tables = fitted(terms, expanded(rest), l2=l2).tables
            total -= log_likelihood(terms, tables, expanded(fold))
        assert loss == pytest.approx(total / 90, abs=1e-6)
    assert found.l2 == min(found.path, key=lambda step: step[1])[0]


def test_equal_losses_choose_the_larger_penalty():
    """Inputs and targets of which every combination occurs as often leave nothing to learn."""
    terms = FieldTerms.complete([variable("y", 2)], [variable("x", 2)])
    cells = np.array(list(itertools.product((0, 1), repeat=2)) * 8, dtype=np.uint8)
    data = Dataset((*terms.inputs, *terms.targets), (cells[:, 0].copy(), cells[:, 1].copy()))
    rows = FieldRows.of(terms, data)

    class Flat(FieldFitter):
        def fit(self, rows, penalty, **how):
            return super().fit(rows, FieldPenalty(l2=1.0), **how)

    found = judged_by_folds(FieldTrials(Flat(rows), rows), (1.0, 10.0, 0.1), 2)
    assert len({loss for _, loss in found.path}) == 1
    assert found.l2 == 10.0
    assert [l2 for l2, _ in found.path] == [0.1, 1.0, 10.0]


def test_auto_chooses_from_the_grid(small):
    terms, data = small
    found = estimate_field(FieldRows.of(terms, data), l2="auto", folds=3)
    path = dict(found.summary.path)
    assert list(path) == list(L2_GRID)
    assert L2_GRID[0] == pytest.approx(1e-3) and L2_GRID[-1] == pytest.approx(100)
    assert found.summary.l2 == min(path, key=path.get)
    assert found.summary.heldout.log_loss == path[found.summary.l2]
    assert found.summary.folds == 3


def test_figures_by_enumeration(small):
    terms, data = small
    found = estimate_field(FieldRows.of(terms, data))
    figures = found.summary.training
    together, wrong, loss = 0, 0, 0.0
    own = [[0, 0.0], [0, 0.0]]
    for y, x in rows_of(terms, data):
        p = conditional(terms, found.tables, x)
        together += y == np.unravel_index(p.argmax(), p.shape)
        loss -= np.log(p[y])
        for t in range(2):
            margin = p.sum(axis=1 - t)
            own[t][0] += int(margin.argmax() == y[t])
            own[t][1] -= np.log(margin[y[t]])
            wrong += int(margin.argmax() != y[t])
    assert figures.rows == 90
    assert figures.accuracy == pytest.approx(together / 90)
    assert figures.log_loss == pytest.approx(loss / 90)
    assert figures.hamming_loss == pytest.approx(wrong / 180)
    for t, one in enumerate(figures.targets):
        counts = np.bincount(data.columns[data.index(one.target)])
        assert one.accuracy == pytest.approx(own[t][0] / 90)
        assert one.log_loss == pytest.approx(own[t][1] / 90)
        assert one.majority == pytest.approx(counts.max() / 90)


def test_held_out_figures_are_of_the_other_rows(small):
    terms, data = small
    others = random_rows(terms, 30, seed=11)
    found = estimate_field(FieldRows.of(terms, data), holdout=FieldRows.of(terms, others))
    assert found.summary.heldout.rows == 30
    expected = -log_likelihood(terms, found.tables, others) / 30
    assert found.summary.heldout.log_loss == pytest.approx(expected)
    assert found.summary.heldout_by == "holdout"


def test_time_that_is_up(small):
    terms, data = small
    found = estimate_field(FieldRows.of(terms, data), l2="auto", deadline=Deadline(0))
    assert not found.complete
    assert found.summary.l2 == 1.0 and found.summary.heldout is None and not found.summary.path
