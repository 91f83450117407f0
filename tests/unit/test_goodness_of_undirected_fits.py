"""What a fit of an undirected model says: likelihood, G², X², freedom, entropy, ln Z, zeros."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import chi2

from gml.counts.counter import Counter
from gml.errors import GmlWarning
from gml.model.undirected.chains import annealing
from gml.model.undirected.exact.fit_exact import fit_exact
from gml.model.undirected.fitting import Penalty
from gml.model.undirected.quality.goodness import summarise, zeros_in_words
from gml.model.undirected.terms import Terms
from gml.progress import Deadline
from tests.log_linear_fits import NewtonFit, counter_of_table, possible_cells, supports_of

STUDENTS = np.array([911, 3, 44, 2, 538, 43, 456, 279]).reshape(2, 2, 2).transpose(2, 1, 0)
"""Alcohol, cigarettes, marijuana: yes, no of each (Agresti 2013, table 9.3)."""
BOUNDARY = np.array([0, 5, 7, 3, 4, 6, 8, 0]).reshape(2, 2, 2)
LIKELIHOOD = Penalty()


def summary_of(table, scopes, *, penalty=LIKELIHOOD, method="exact", **options):
    counter = counter_of_table(table)
    terms = Terms.of(counter.variables, scopes)
    return summarise(
        counter, terms, NewtonFit(table, terms).fitted(method=method), penalty, **options
    )


@pytest.mark.parametrize(
    ("scopes", "g2", "df"),
    [
        (["A", "B", "C"], 1286.01995442, 4),
        (["AB", "C"], 843.82664367, 3),
        (["AC", "B"], 939.56258595, 3),
        (["BC", "A"], 534.21167138, 3),
        (["AB", "AC"], 497.36927519, 2),
        (["AB", "BC"], 92.01836062, 2),
        (["AC", "BC"], 187.75430291, 2),
        (["AB", "AC", "BC"], 0.37398587, 1),
    ],
)
def test_models_of_the_student_survey(scopes, g2, df):
    found = summary_of(STUDENTS, scopes)
    assert found.g2 == pytest.approx(g2, abs=5e-9)
    assert found.df == df
    assert found.g2_log10_p == pytest.approx(chi2.logsf(g2, df) / math.log(10), rel=1e-8)


def test_all_pairs_of_the_student_survey():
    found = summary_of(STUDENTS, ["AB", "AC", "BC"])
    assert found.x2 == pytest.approx(0.40110052, abs=5e-9)
    assert found.x2_p_value == pytest.approx(chi2.sf(0.40110052, 1), rel=1e-7)
    assert (found.rows, found.dimension, found.n_zeros, found.zeros) == (2276, 6, 0, ())


def random_fit(seed, shape=(2, 3, 2, 2), scopes=("AB", "BC", "CD", "AD")):
    rng = np.random.default_rng(seed)
    table = rng.multinomial(3000, rng.dirichlet(np.full(math.prod(shape), 5.0))).reshape(shape)
    counter = counter_of_table(table)
    terms = Terms.of(counter.variables, scopes)
    return counter, terms, NewtonFit(table, terms)


@pytest.mark.parametrize("seed", range(5))
def test_everything_against_the_joint_table(seed):
    counter, terms, fit = random_fit(seed)
    found = summarise(counter, terms, fit.fitted(), LIKELIHOOD)
    counts, p, n = fit.table.reshape(-1), fit.p, fit.n
    seen = counts > 0
    likelihood = (counts * np.log(p)).sum()
    assert found.log_likelihood == pytest.approx(likelihood, rel=1e-12)
    assert found.aic == pytest.approx(likelihood - terms.dimension, rel=1e-12)
    assert found.bic == pytest.approx(likelihood - terms.dimension * math.log(n) / 2, rel=1e-12)
    g2 = 2 * (counts[seen] * np.log(counts[seen] / (n * p[seen]))).sum()
    assert found.g2 == pytest.approx(g2, rel=1e-9)
    assert found.x2 == pytest.approx(((counts - n * p) ** 2 / (n * p)).sum(), rel=1e-9)
    assert found.entropy == pytest.approx(-(p * np.log(p)).sum(), rel=1e-10)
    assert found.log_z == pytest.approx(math.log(np.exp(fit.design @ fit.beta).sum()), rel=1e-12)
    assert found.df == counts.size - 1 - np.linalg.matrix_rank(fit.covariance)


def on_the_face(table, scopes):
    counter = counter_of_table(table)
    terms = Terms.of(counter.variables, scopes)
    supports = supports_of(counter, terms)
    fit = NewtonFit(table, terms, possible_cells(terms, supports))
    with pytest.warns(GmlWarning, match="the maximum lies at infinity"):
        return fit, summarise(counter, terms, fit.fitted(supports), LIKELIHOOD)


def test_a_boundary_behind_positive_margins():
    _, found = on_the_face(BOUNDARY, ["AB", "BC", "AC"])
    assert (found.g2, found.x2) == pytest.approx((0, 0), abs=1e-12)
    assert (found.df, found.g2_p_value, found.n_zeros) == (0, None, 2)
    assert zeros_in_words(found) == (
        "the maximum lies at infinity: fitted as impossible are 2 combinations of levels: "
        "'A'='0' 'B'='0' 'C'='0', 'A'='1' 'B'='1' 'C'='1'"
    )


@pytest.mark.parametrize("seed", range(8))
def test_freedom_and_fit_on_a_face(seed):
    rng = np.random.default_rng(seed)
    table = rng.multinomial(14, rng.dirichlet(np.full(36, 0.4))).reshape(3, 2, 3, 2)
    fit, found = on_the_face(table, list(map("".join, combinations("ABCD", 2))))
    counts = fit.table[fit.possible]
    centred = np.hstack([np.ones((len(counts), 1)), fit.design])
    assert found.df == len(counts) - np.linalg.matrix_rank(centred)
    seen = counts > 0
    g2 = 2 * (counts[seen] * np.log(counts[seen] / (fit.n * fit.p[seen]))).sum()
    assert found.g2 == pytest.approx(g2, rel=1e-6, abs=1e-9)
    likelihood = (counts[seen] * np.log(fit.p[seen])).sum()
    assert found.log_likelihood == pytest.approx(likelihood, rel=1e-9)
    assert found.entropy == pytest.approx(-(fit.p * np.log(fit.p)).sum(), rel=1e-9)


def test_an_unobserved_level_is_named_once():
    table = np.arange(1, 13).reshape(2, 3, 2)
    table[:, 1] = 0
    _, found = on_the_face(table, ["AB", "BC"])
    assert (found.n_zeros, found.zeros) == (1, ({"B": "1"},))
    assert "fitted as impossible is 1 combination of levels: 'B'='1'" in zeros_in_words(found)


def test_only_the_first_zeros_are_named():
    _, found = on_the_face(np.eye(6, dtype=int) * 9, ["AB"])
    assert (found.n_zeros, len(found.zeros)) == (30, 10)
    assert zeros_in_words(found).endswith(", and 20 more")


@pytest.mark.parametrize("rows", [1, 10_000])
def test_features_that_do_not_vary_on_a_face_are_no_freedom(rows):
    """Of nine cells three are possible, which two features tell apart; six are constant."""
    counter = counter_of_table(np.array([[rows, 0, 0]] * 3))
    terms = Terms.of(counter.variables, ["AB"])
    with pytest.warns(GmlWarning, match="the maximum lies at infinity"):
        found = summarise(counter, terms, fit_exact(counter, terms), LIKELIHOOD)
    assert (found.df, found.g2_p_value, found.x2_p_value) == (0, None, None)


def test_no_p_value_with_more_cells_than_rows():
    found = summary_of(np.ones((2, 2, 2, 2), dtype=int), ["AB", "CD"])
    assert found.g2_p_value is not None
    table = np.ones((2, 2, 2, 2), dtype=int)
    table[0, 0, 0, 0] = 0
    found = summary_of(table, ["AB", "CD"])
    assert (found.df, found.g2_p_value, found.x2_log10_p) == (9, None, None)
    assert found.g2 > 0


@pytest.mark.parametrize(
    ("method", "penalty"),
    [("pl", LIKELIHOOD), ("cd", LIKELIHOOD), ("exact", Penalty(l2=1.0)), ("exact", Penalty(l1=1))],
)
def test_what_is_not_a_maximum_of_the_likelihood_has_no_criteria(method, penalty):
    found = summary_of(STUDENTS, ["AB", "BC"], method=method, penalty=penalty)
    assert (found.aic, found.bic, found.g2_p_value, found.x2_p_value) == (None,) * 4
    assert found.log_likelihood is not None


@pytest.mark.parametrize("method", ["exact", "pcd"])
def test_a_fit_that_did_not_converge_has_no_criteria(method):
    counter = counter_of_table(STUDENTS)
    terms = Terms.of(counter.variables, ["AB", "BC"])
    fitted = NewtonFit(STUDENTS, terms).fitted(method=method)
    assert summarise(counter, terms, fitted, LIKELIHOOD).bic is not None
    found = summarise(counter, terms, replace(fitted, converged=False), LIKELIHOOD)
    assert (found.aic, found.bic, found.g2_p_value, found.x2_p_value) == (None,) * 4
    assert (found.g2_log10_p, found.x2_log10_p) == (None, None)
    assert (found.converged, found.df) == (False, 2)
    assert found.g2 > 0


def test_too_many_cells_have_no_freedom(monkeypatch):
    monkeypatch.setattr("gml.model.undirected.quality.goodness.ENUMERABLE", 7)
    found = summary_of(STUDENTS, ["AB", "BC"])
    assert (found.df, found.g2_p_value) == (None, None)
    assert found.g2 == pytest.approx(92.01836062, abs=5e-9)


class Tables(Counter):
    """An engine that has tables, but no rows."""

    def __init__(self, counter):
        self.inner = counter
        self.variables, self.n = counter.variables, counter.n

    variables = n = None

    def tables(self, sets):
        return self.inner.tables(sets)


@pytest.mark.parametrize(
    ("shape", "scopes"), [((2, 3, 2, 2), ("AB", "BC", "CD", "AD")), ((4,), ("A",))]
)
def test_an_engine_without_rows_counts_the_joint_table(shape, scopes):
    counter, terms, fit = random_fit(0, shape, scopes)
    expected = summarise(counter, terms, fit.fitted(), LIKELIHOOD)
    assert summarise(Tables(counter), terms, fit.fitted(), LIKELIHOOD) == expected


@pytest.mark.parametrize(("samples", "known"), [(500.0, True), (3.0, False)])
def test_annealing_where_the_tree_is_too_large(monkeypatch, samples, known):
    def annealed_log_z(terms, scopes, tables, *, seed, threads, deadline):
        return SimpleNamespace(log_z=7.5, error=0.25, samples=samples)

    monkeypatch.setattr(annealing, "annealed_log_z", annealed_log_z)
    counter, terms, fit = random_fit(1)
    found = summarise(counter, terms, fit.fitted(), LIKELIHOOD, max_memory=10)
    assert (found.entropy, found.log_z_samples) == (None, samples)
    if known:
        assert (found.log_z, found.log_z_error) == (7.5, 0.25)
        exact = summarise(counter, terms, fit.fitted(), LIKELIHOOD)
        difference = found.log_likelihood - exact.log_likelihood
        assert difference == pytest.approx(fit.n * (exact.log_z - 7.5))
    else:
        assert (found.log_z, found.log_z_error, found.log_likelihood, found.g2) == (None,) * 4


def test_annealing_ends_with_the_time_there_is():
    counter, terms, fit = random_fit(1)
    with pytest.warns(GmlWarning, match="ln Z and the log-likelihood are not known"):
        found = summarise(
            counter, terms, fit.fitted(), LIKELIHOOD, max_memory=10, deadline=Deadline(0)
        )
    assert (found.log_z, found.log_likelihood, found.bic, found.g2) == (None,) * 4


def test_weights_that_are_fractions_count_as_rows():
    counter, terms, fit = random_fit(2)
    data = counter.rows()
    halves = type(counter)(replace(data, unit=0.5))
    found, whole = (summarise(each, terms, fit.fitted(), LIKELIHOOD) for each in (halves, counter))
    assert found.g2 == pytest.approx(whole.g2 / 2)
    assert found.log_likelihood == pytest.approx(whole.log_likelihood / 2)
    assert found.rows == whole.rows / 2
