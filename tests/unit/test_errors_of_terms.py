"""Standard errors of the terms of undirected models."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from gml.data.dataset import Variable
from gml.errors import CannotAnswer, GmlWarning, UsageError
from gml.model.undirected.chains.moments import ChainMoments
from gml.model.undirected.coefficients import Coefficients, contrasts_of
from gml.model.undirected.exact.clique_margins import CliqueMargins
from gml.model.undirected.exact.fit_exact import fit_exact
from gml.model.undirected.fitting import Penalty
from gml.model.undirected.pseudo.information import pseudo_information
from gml.model.undirected.pseudo.likelihood import fit_pseudo
from gml.model.undirected.quality import errors_of_terms
from gml.model.undirected.quality.errors_of_terms import intervals, standard_errors
from gml.model.undirected.quality.information import (
    feature_covariance,
    log_tables,
    sampled_covariance,
)
from gml.model.undirected.terms import Terms
from gml.progress import Deadline
from tests.log_linear_fits import NewtonFit, counter_of_table, possible_cells, supports_of

STUDENTS = np.array([911, 3, 44, 2, 538, 43, 456, 279]).reshape(2, 2, 2).transpose(2, 1, 0)
BOUNDARY = np.array([0, 5, 7, 3, 4, 6, 8, 0]).reshape(2, 2, 2)
SHAPE = (2, 3, 2, 2)


def newton(table, scopes):
    counter = counter_of_table(table)
    terms = Terms.of(counter.variables, scopes)
    return counter, terms, NewtonFit(table, terms)


def drawn(seed, scopes=("AB", "BC", "CD", "AD"), n=3000, shape=SHAPE):
    rng = np.random.default_rng(seed)
    table = rng.multinomial(n, rng.dirichlet(np.full(math.prod(shape), 5.0))).reshape(shape)
    return newton(table, scopes)


def test_the_student_survey():
    """Errors of log odds ratios as a Poisson regression of the counts has them (R's glm)."""
    counter, terms, fit = newton(STUDENTS, ["AB", "AC", "BC"])
    errors = standard_errors(counter, terms, fit.fitted(), Penalty(), coding="01")
    pairs = {terms.all[k]: errors[k][1, 1] for k in range(3, 6)}
    assert pairs[0, 1] == pytest.approx(0.17406, abs=5e-6)
    assert pairs[0, 2] == pytest.approx(0.46468, abs=5e-6)
    assert pairs[1, 2] == pytest.approx(0.16384, abs=5e-6)


@pytest.mark.parametrize("scopes", [("AB", "BC", "CD", "AD"), ("ABC", "CD"), ("ABD", "BCD", "AC")])
def test_against_the_information_of_the_joint_table(scopes):
    counter, terms, fit = drawn(1, scopes)
    found = standard_errors(counter, terms, fit.fitted(), Penalty())
    for one, other in zip(found, fit.errors(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_a_saturated_model_by_the_delta_method():
    table = np.array([[11, 24, 7], [35, 6, 50]])
    counter, terms, fit = newton(table, ["AB"])
    found = standard_errors(counter, terms, fit.fitted(), Penalty())
    weights = np.kron(np.eye(2) - 0.5, np.eye(3) - 1 / 3)
    expected = np.sqrt((weights**2 / table.reshape(-1)).sum(axis=1)).reshape(2, 3)
    np.testing.assert_allclose(found[-1], expected, rtol=1e-10)


def test_smoothing_has_the_errors_of_the_smoothed_estimate():
    """Twice the rows of smoothing as of data: a third of the error of so many rows."""
    counter, terms, fit = drawn(2)
    fitted = fit.fitted()
    plain = standard_errors(counter, terms, fitted, Penalty())
    smoothed = standard_errors(counter, terms, fitted, Penalty(smoothing=2.0 * counter.n))
    for one, other in zip(plain, smoothed, strict=True):
        np.testing.assert_allclose(other, one / 3, rtol=1e-12)


def test_the_coding_01_against_the_same_model_of_indicators():
    counter, terms, fit = drawn(3, ("ABC", "BCD"), shape=(2, 2, 2, 2))
    found = standard_errors(counter, terms, fit.fitted(), Penalty(), coding="01")
    cells = np.indices((2, 2, 2, 2)).reshape(4, -1)
    design = np.stack([cells[list(scope)].prod(axis=0) for scope in terms.all], axis=1)
    centred = design - fit.p @ design
    variances = np.diag(np.linalg.inv(fit.n * (centred * fit.p[:, None]).T @ centred))
    assert [table.flat[-1] for table in found] == pytest.approx(np.sqrt(variances), rel=1e-9)
    assert all(not table.reshape(-1)[:-1].any() for table in found)


def test_the_coding_01_is_for_two_levels():
    counter, terms, fit = drawn(3)
    with pytest.raises(UsageError, match="is for two levels each"):
        standard_errors(counter, terms, fit.fitted(), Penalty(), coding="01")


def on_the_face(table, scopes):
    counter = counter_of_table(table)
    terms = Terms.of(counter.variables, scopes)
    supports = supports_of(counter, terms)
    fit = NewtonFit(table, terms, possible_cells(terms, supports))
    return terms, fit, standard_errors(counter, terms, fit.fitted(supports), Penalty())


def test_on_a_face_only_what_the_data_tell_has_errors():
    """Fitted zeros at 000 and 111 leave six cells, and each term moves with the direction."""
    terms, _, found = on_the_face(BOUNDARY, ["AB", "BC", "AC"])
    assert [np.isnan(table).all() for table in found] == [False] * 3 + [True] * 3
    assert terms.dimension == 6


def test_an_unobserved_level_leaves_the_errors_of_other_terms():
    """Terms without the variable have the errors of a table without the level."""
    rng = np.random.default_rng(4)
    table = rng.integers(5, 50, (2, 3, 2))
    table[:, 1] = 0
    _, _, found = on_the_face(table, ["AC", "B"])
    counter, terms, fit = newton(table[:, [0, 2]], ["AC", "B"])
    expected = dict(
        zip(terms.all, standard_errors(counter, terms, fit.fitted(), Penalty()), strict=True)
    )
    for scope, errors in zip(terms.all, found, strict=True):
        if scope == (1,):
            assert np.isnan(errors).all()
        else:
            np.testing.assert_allclose(errors, expected[scope], rtol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_errors_on_a_face_are_those_of_any_generalised_inverse(seed):
    rng = np.random.default_rng(seed)
    table = rng.multinomial(14, rng.dirichlet(np.full(36, 0.4))).reshape(3, 2, 3, 2)
    _, fit, found = on_the_face(table, list(map("".join, combinations("ABCD", 2))))
    inverse = np.linalg.pinv(fit.n * fit.covariance, rcond=1e-9)
    starts = [0, *fit.ends]
    for block, start, errors in zip(fit.blocks, starts, found, strict=True):
        rows = np.zeros((len(block), len(fit.beta)))
        rows[:, start : start + block.shape[1]] = block
        known = np.abs(rows @ inverse @ (fit.n * fit.covariance) - rows).max(axis=1) < 1e-6
        expected = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", rows, inverse, rows), 0))
        flat = errors.reshape(-1)
        np.testing.assert_array_equal(np.isnan(flat), ~known)
        np.testing.assert_allclose(flat[known], expected[known], rtol=1e-6)


@pytest.mark.parametrize(
    ("method", "penalty", "why"),
    [
        ("exact", Penalty(l2=1.0), "penalised"),
        ("pl", Penalty(l1=1.0), "penalised"),
        ("pl", Penalty(smoothing=1.0), "smoothed pseudo-likelihood"),
        ("cd", Penalty(), "not a maximum of the likelihood"),
    ],
)
def test_estimates_without_errors(method, penalty, why):
    counter, terms, fit = drawn(0)
    with pytest.warns(GmlWarning, match=why):
        found = standard_errors(counter, terms, fit.fitted(method=method), penalty)
    assert all(np.isnan(table).all() for table in found)


@pytest.mark.parametrize("method", ["exact", "pl", "pcd"])
def test_a_fit_that_did_not_converge_has_no_errors(method):
    counter, terms, fit = drawn(0)
    fitted = replace(fit.fitted(method=method), converged=False)
    with pytest.warns(GmlWarning, match="no standard errors: the fit did not converge"):
        found = standard_errors(counter, terms, fitted, Penalty())
    assert all(np.isnan(table).all() for table in found)


@pytest.mark.parametrize("fit", [fit_exact, fit_pseudo])
def test_what_varies_by_rounding_alone_has_no_error(fit):
    """Levels that no row has leave the others' terms open, and nothing seems to hold them."""
    table = np.zeros((4, 4), dtype=int)
    table[[1, 2, 3], [0, 1, 2]] = 1
    counter = counter_of_table(table)
    terms = Terms.of(counter.variables, ["A", "B"])
    fitted = fit(counter, terms)
    assert fitted.converged
    for errors in standard_errors(counter, terms, fitted, Penalty()):
        assert np.isnan(errors).all()


def test_the_covariance_of_features_is_that_of_the_joint_table():
    _, terms, fit = drawn(6)
    found = feature_covariance(terms, *log_tables(terms, fit.fitted()))
    features = ChainMoments(Coefficients(terms)).each(np.indices(SHAPE).reshape(4, -1))
    centred = features - fit.p @ features
    np.testing.assert_allclose(found, (centred * fit.p[:, None]).T @ centred, atol=1e-13)


def test_samples_stand_in_for_a_tree_that_is_too_large():
    """The standard error of a correlation among 40 000 nearly independent rows is 0.005."""
    _, terms, fit = drawn(7)
    scopes, tables = log_tables(terms, fit.fitted())
    exact = feature_covariance(terms, scopes, tables)
    sampled = sampled_covariance(terms, scopes, tables, seed=1)
    deviations = np.sqrt(np.diag(exact))
    assert (np.abs(sampled - exact) / np.outer(deviations, deviations)).max() < 0.025


def test_samples_end_with_the_time_there_is(monkeypatch):
    def too_large(*_, **__):
        raise CannotAnswer("no room")

    monkeypatch.setattr(errors_of_terms, "feature_covariance", too_large)
    counter, terms, fit = drawn(7)
    fitted = fit.fitted(method="pcd")
    with pytest.warns(GmlWarning, match="no standard errors: .*max_seconds.* passed"):
        found = standard_errors(counter, terms, fitted, Penalty(), deadline=Deadline(0))
    assert all(np.isnan(table).all() for table in found)


def pseudo_derivatives(terms, beta, codes):
    """The derivative of the pseudo-log-likelihood by each row, from its definition."""
    features = ChainMoments(Coefficients(terms)).each
    tables = Coefficients(terms).tables(beta)

    def log_p(rows):
        return sum(
            table[tuple(rows[k] for k in scope)]
            for scope, table in zip(terms.all, tables, strict=True)
        )

    found = np.zeros((codes.shape[1], len(beta)))
    for k, size in enumerate(terms.sizes):
        moved = [
            np.concatenate([codes[:k], np.full_like(codes[:1], v), codes[k + 1 :]])
            for v in range(size)
        ]
        logs = np.stack([log_p(rows) for rows in moved])
        shares = np.exp(logs) / np.exp(logs).sum(axis=0)
        found += features(codes)
        for share, rows in zip(shares, moved, strict=True):
            found -= share[:, None] * features(rows)
    return found


def test_the_sandwich_of_a_pseudo_likelihood():
    """H from differences of the derivative, J from the derivatives of rows."""
    counter, terms, fit = drawn(8, n=400)
    fitted = fit.fitted(method="pl")
    found = standard_errors(counter, terms, fitted, Penalty())
    coefficients = Coefficients(terms)
    beta, d = coefficients.vector(fitted.tables), coefficients.size
    codes, weights = np.indices(SHAPE).reshape(4, -1), fit.table.reshape(-1)
    scores = pseudo_derivatives(terms, beta, codes)
    step = 1e-5
    curvature = np.empty((d, d))
    for k in range(d):
        ahead, behind = (
            weights @ pseudo_derivatives(terms, beta + sign * step * np.eye(d)[k], codes)
            for sign in (1, -1)
        )
        curvature[k] = -(ahead - behind) / (2 * step)
    inverse = np.linalg.inv(curvature)
    covariance = inverse @ (scores * weights[:, None]).T @ scores @ inverse
    for scope, part, errors in zip(terms.all, coefficients.slices, found, strict=True):
        contrasts = contrasts_of(terms.shape(scope))
        variances = np.diag(contrasts @ covariance[part, part] @ contrasts.T)
        np.testing.assert_allclose(errors.reshape(-1), np.sqrt(variances), rtol=1e-6)


def test_the_sandwich_of_independent_variables_is_the_information():
    """Pseudo-likelihood is the likelihood where nothing depends on anything."""
    rng = np.random.default_rng(9)
    counter, terms, fit = newton(rng.integers(1, 60, (4,)), ["A"])
    one, other = (
        standard_errors(counter, terms, fit.fitted(method=method), Penalty())
        for method in ("pl", "exact")
    )
    np.testing.assert_allclose(one[0], other[0], rtol=1e-9)


def test_a_budget_refuses_the_information():
    counter, terms, fit = drawn(0)
    with pytest.raises(CannotAnswer, match="the covariance of the model's terms would take"):
        standard_errors(counter, terms, fit.fitted(), Penalty(), max_memory=1000)


def test_intervals_are_symmetric_and_unknown_where_errors_are():
    found = intervals(np.array([1.0, 0.0]), np.array([0.5, np.nan]), 0.9)
    np.testing.assert_allclose(found[0], [1 - 0.5 * 1.644853627, 1 + 0.5 * 1.644853627], rtol=1e-9)
    assert np.isnan(found[1]).all()


def test_a_margin_of_one_level_has_no_parameters():
    table = np.array([[[3], [4]], [[5], [9]]])
    counter, terms, fit = newton(table, ["AB", "BC"])
    found = dict(
        zip(terms.all, standard_errors(counter, terms, fit.fitted(), Penalty()), strict=True)
    )
    assert found[2,].tolist() == [0.0]
    assert CliqueMargins(terms, terms.generators).cliques
    assert found[0, 1][0, 0] == pytest.approx(math.sqrt((1 / table).sum()) / 4, rel=1e-9)


def test_a_pseudo_likelihood_on_a_face_has_errors_of_what_the_rows_tell():
    """A level that no row has, and terms without it, which have the errors they had before."""
    rng = np.random.default_rng(11)
    table = rng.integers(5, 50, (2, 3, 2))
    table[:, 1] = 0
    counter = counter_of_table(table)
    terms = Terms.of(counter.variables, ["AC", "B"])
    supports = supports_of(counter, terms)
    fit = NewtonFit(table, terms, possible_cells(terms, supports))
    found = standard_errors(counter, terms, fit.fitted(supports, "pl"), Penalty())
    smaller, fewer, other = newton(table[:, [0, 2]], ["AC", "B"])
    expected = standard_errors(smaller, fewer, other.fitted(method="pl"), Penalty())
    for scope, errors, known in zip(terms.all, found, expected, strict=True):
        if scope == (1,):
            assert np.isnan(errors).all()
        else:
            np.testing.assert_allclose(errors, known, rtol=1e-7)


def test_persistent_contrastive_divergence_samples_what_it_cannot_compute(monkeypatch):
    """40 000 draws tell a standard deviation, and so an error, to about half a percent."""
    counter, terms, fit = drawn(7)
    exact = standard_errors(counter, terms, fit.fitted(), Penalty())

    def refuse(*_args, **_options):
        raise CannotAnswer("the tree would take more than there is")

    monkeypatch.setattr("gml.model.undirected.quality.errors_of_terms.feature_covariance", refuse)
    with pytest.raises(CannotAnswer, match="the tree would take"):
        standard_errors(counter, terms, fit.fitted(), Penalty())
    sampled = standard_errors(counter, terms, fit.fitted(method="pcd"), Penalty())
    for one, other in zip(sampled, exact, strict=True):
        np.testing.assert_allclose(one, other, rtol=0.05)


def test_rows_are_told_apart_however_many_configurations_there_are():
    """45 variables around one. Without any dependence H is Σ φ φᵀ times the variables shared."""
    rng = np.random.default_rng(12)
    variables = [Variable(f"v{k:02}", ("n", "y")) for k in range(46)]
    star = Terms.of(variables, [["v00", variable.name] for variable in variables[1:]])
    codes = rng.integers(0, 2, (46, 300))
    tables = [np.zeros(star.shape(scope)) for scope in star.generators]
    curvature, squares = pseudo_information(star, star.generators, tables, codes, np.ones(300))
    features = ChainMoments(Coefficients(star)).each(codes)
    shared = np.array([[len({*one} & {*other}) for other in star.all] for one in star.all])
    np.testing.assert_allclose(curvature, features.T @ features * shared, atol=1e-9)
    scores = pseudo_derivatives(star, np.zeros(star.dimension), codes)
    np.testing.assert_allclose(squares, scores.T @ scores, atol=1e-9)
