"""Exact fits of undirected models: all algorithms agree, and penalties and maxima at infinity."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from gml.data.dataset import Variable
from gml.errors import CannotAnswer, UsageError
from gml.graph.chordal import perfect_sequence
from gml.graph.graph import Graph
from gml.model.undirected.exact import moment_matching
from gml.model.undirected.exact.fit_exact import fit_exact
from gml.model.undirected.fitting import Penalty
from gml.model.undirected.pseudo.likelihood import fit_pseudo
from gml.model.undirected.terms import Terms
from gml.progress import Deadline
from tests.contingency_tables import (
    Contingency,
    contingency,
    hair_eye_color,
    joint_of_fit,
    random_counts,
    random_terms,
    reinis,
    student_survey,
)


def variables_of(sizes):
    return tuple(
        Variable(name, tuple(f"l{i}" for i in range(size)))
        for name, size in zip("ABCDEFGH", sizes, strict=False)
    )


def random_decomposable(rng):
    """The cliques of a random chordal graph over 3 to 5 variables with 2 to 4 levels."""
    while True:
        n = int(rng.integers(3, 6))
        variables = variables_of(rng.integers(2, 5, n))
        names = [variable.name for variable in variables]
        edges = [(a, "---", b) for a, b in itertools.combinations(names, 2) if rng.random() < 0.5]
        graph = Graph.from_edges(names, edges, kind="undirected")
        if perfect_sequence(graph) is not None:
            return variables, Terms.of_graph(variables, graph)


def assert_same_tables(found, expected, atol):
    assert len(found.tables) == len(expected.tables)
    for a, b in zip(found.tables, expected.tables, strict=True):
        np.testing.assert_allclose(a, b, atol=atol)


@pytest.mark.parametrize("seed", range(30))
def test_every_algorithm_finds_the_closed_form(seed):
    """Half of the tables have margins with zeros, where the maximum lies at infinity."""
    rng = np.random.default_rng(seed)
    variables, terms = random_decomposable(rng)
    table = random_counts(rng, variables, 60.0 if seed % 2 else 0.5)
    closed = fit_exact(table.counter(), terms)
    assert closed.algorithm == "closed-form"
    assert closed.gap < 1e-12
    for algorithm in ("newton", "l-bfgs", "ipf"):
        found = fit_exact(table.counter(), terms, algorithm=algorithm)
        assert (found.algorithm, found.method) == (algorithm, "exact")
        assert found.converged
        assert found.gap <= 1e-9
        assert len(found.supports) == len(closed.supports)
        np.testing.assert_allclose(
            joint_of_fit(terms, found), joint_of_fit(terms, closed), atol=2e-9
        )
        assert_same_tables(found, closed, 1e-9 if algorithm == "newton" else 1e-5)


@pytest.mark.parametrize("seed", [*range(24), 369, 418])
def test_algorithms_agree_on_faces_of_any_model(seed):
    """In the last two, features that do not vary seem to, by rounding."""
    rng = np.random.default_rng(seed)
    terms = random_terms(rng)
    rows_per_cell = float(rng.choice([0.05, 0.3, 1, 10, 1000]))
    counter = random_counts(rng, terms.variables, rows_per_cell).counter()
    first = fit_exact(counter, terms, algorithm="newton")
    assert first.converged
    for algorithm in ("l-bfgs", "ipf"):
        found = fit_exact(counter, terms, algorithm=algorithm)
        assert found.converged
        assert_same_tables(found, first, 1e-6)


def test_the_closed_form_is_that_of_cliques_over_separators():
    table = student_survey()
    terms = Terms.of(table.variables, [["A", "C"], ["A", "M"]])
    joint = joint_of_fit(terms, fit_exact(table.counter(), terms))
    counts = table.counts.transpose(2, 1, 0)
    expected = (
        counts.sum(2)[:, :, None] * counts.sum(1)[:, None, :] / counts.sum((1, 2))[:, None, None]
    )
    np.testing.assert_allclose(joint * counts.sum(), expected, rtol=1e-13)


@pytest.mark.parametrize("way", ["closed-form", "newton", "l-bfgs", "ipf", "pl"])
def test_tables_on_a_face_are_the_shortest_of_those_with_the_same_distribution(way):
    """The level a2 never occurs: nothing of it can be told, and no term says anything of it."""
    table = contingency({"A": "a0 a1 a2", "B": "b0 b1"}, "5 9 8 2 0 0")
    terms = Terms.of(table.variables, [["A", "B"]])
    counter = table.counter()
    # Pseudo-likelihood has the same maximum on a saturated model.
    fitted = fit_pseudo(counter, terms) if way == "pl" else fit_exact(counter, terms, algorithm=way)
    close = 1e-13 if way in ("closed-form", "newton", "ipf") else 1e-8
    if fitted.log_z is not None:
        np.testing.assert_allclose(joint_of_fit(terms, fitted), table.counts / 24, atol=close)
    (support,) = fitted.supports
    assert support.possible.tolist() == [[True, True], [True, True], [False, False]]
    # By brute force: the shortest solution of linear equations in the cells of A, B and A × B.
    a, b, ab = np.arange(3), 3 + np.arange(2), 5 + np.arange(6).reshape(3, 2)
    units = np.eye(11)
    cells = np.array([units[a[i]] + units[b[j]] + units[ab[i, j]] for i in (0, 1) for j in (0, 1)])
    logs = np.log(table.counts[:2].reshape(-1))
    sums = [units[a].sum(0), units[b].sum(0), *units[ab].sum(0), *units[ab].sum(1)]
    equations = np.array([*(cells - cells.mean(axis=0)), *sums])
    wanted = np.array([*(logs - logs.mean()), *np.zeros(len(sums))])
    shortest = np.linalg.lstsq(equations, wanted, rcond=None)[0]
    found = np.concatenate([part.reshape(-1) for part in fitted.tables])
    np.testing.assert_allclose(found, shortest, atol=close)


@pytest.mark.parametrize("algorithm", ["closed-form", "ipf"])
@pytest.mark.parametrize(
    ("shape", "counts"),
    [
        ((3, 2), "0 1 1 1 0 1"),
        ((3, 3), "0 0 0 1000 0 1000 1000 1000 1000"),
        ((3, 3), "1 0 0 1 0 0 0 1 0"),
        ((3, 3), "1 0 0 0 0 0 0 0 0"),
        ((7, 2), "10 0 10 0 0 10 0 10 10 0 10 0 10 0"),
    ],
)
def test_terms_of_equal_counts_with_zeros_are_nothing(algorithm, shape, counts):
    """A uniform distribution on what is possible needs no terms, in any order of levels."""
    variables = variables_of(shape)
    table = Contingency(variables, np.array(counts.split(), dtype=np.int64).reshape(shape))
    terms = Terms.of(variables, [["A", "B"]])
    fitted = fit_exact(table.counter(), terms, algorithm=algorithm)
    assert fitted.converged
    assert fitted.gap < 1e-15
    for part in fitted.tables:
        np.testing.assert_allclose(part, 0.0, atol=1e-15)


@pytest.mark.parametrize("seed", range(6))
def test_algorithms_agree_where_all_that_is_possible_is_equally_frequent(seed):
    """Residuals may be rounding from the start, in models with a closed form and without."""
    rng = np.random.default_rng(seed)
    terms = random_terms(rng)
    counts = random_counts(rng, terms.variables, 0.5).counts
    counter = Contingency(terms.variables, 1000 * (counts > 0)).counter()
    first = fit_exact(counter, terms, algorithm="newton")
    assert first.converged
    for algorithm in ("ipf", "auto"):
        found = fit_exact(counter, terms, algorithm=algorithm)
        assert found.converged
        assert_same_tables(found, first, 1e-7)


def test_rounding_never_takes_a_maximum_for_its_shortest_terms(monkeypatch):
    """Terms that would be another distribution are not taken: the long ones are."""
    table = contingency({"A": "a0 a1 a2", "B": "b0 b1"}, "5 9 8 2 0 4")
    terms = Terms.of(table.variables, [["A", "B"]])
    monkeypatch.setattr(moment_matching, "without_flat_part", lambda _, vector, __: 2 * vector)
    fitted = fit_exact(table.counter(), terms)
    assert fitted.converged
    np.testing.assert_allclose(joint_of_fit(terms, fitted), table.counts / 28, atol=1e-15)


def test_second_derivatives_that_are_no_numbers_end_the_fit(monkeypatch):
    """No damping helps, so that trying ever more of it would never end."""

    def broken(problem):
        return np.full((problem.coefficients.size,) * 2, math.nan)

    monkeypatch.setattr(moment_matching.MomentMatching, "hessian", broken)
    table = student_survey()
    with pytest.raises(CannotAnswer, match="the fit broke down"):
        fit_exact(table.counter(), Terms.of(table.variables, table.pairs), algorithm="newton")


def test_a_boundary_fit_with_positive_margins_has_its_zeros():
    table = contingency({"A": "0 1", "B": "0 1", "C": "0 1"}, "0 5 7 3 4 6 8 0")
    terms = Terms.of(table.variables, table.pairs)
    fits = [
        fit_exact(table.counter(), terms, algorithm=name) for name in ("newton", "l-bfgs", "ipf")
    ]
    for fitted in fits:
        assert fitted.converged
        np.testing.assert_allclose(
            joint_of_fit(terms, fitted), table.counts / table.counts.sum(), atol=1e-8
        )
        assert_same_tables(fitted, fits[0], 1e-7)


@pytest.mark.parametrize("algorithm", ["newton", "ipf"])
def test_smoothing_keeps_every_cell_possible(algorithm):
    table = contingency({"A": "0 1", "B": "0 1", "C": "0 1"}, "0 5 7 3 4 6 8 0")
    terms = Terms.of(table.variables, table.pairs)
    smoothed = fit_exact(
        table.counter(), terms, penalty=Penalty(smoothing=2.0), algorithm=algorithm
    )
    assert smoothed.supports == ()
    joint = joint_of_fit(terms, smoothed)
    wanted = (table.counts + 2 / 8) / 35
    for axis in range(3):
        np.testing.assert_allclose(joint.sum(axis=axis), wanted.sum(axis=axis), atol=1e-9)


def pulls(terms, joint, counts):
    """Observed less fitted margins of each term, in rows, less what smaller terms explain."""
    n = counts.ndim
    found = []
    for scope in terms.all:
        others = tuple(k for k in range(n) if k not in scope)
        difference = counts.sum(axis=others) - counts.sum() * joint.sum(axis=others)
        for axis in range(len(scope)):
            difference = difference - difference.mean(axis=axis, keepdims=True)
        found.append(difference)
    return found


PENALTIES = [
    Penalty(l2=3.0),
    Penalty(l1=20.0),
    Penalty(l1=5.0, l2=2.0),
    Penalty(l1=8.0, smoothing=4.0),
    Penalty(l1=1e6),
    Penalty(l2=1e6),
]


@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
@pytest.mark.parametrize("make", [hair_eye_color, reinis], ids=["hair", "reinis"])
def test_penalised_fits_satisfy_the_conditions_of_a_maximum(penalty, make):
    table = make()
    terms = Terms.of(table.variables, table.pairs)
    counts = table.counts.transpose([table.names.index(name) for name in terms.names])
    counts = counts + penalty.smoothing / counts.size
    fitted = fit_exact(table.counter(), terms, penalty=penalty)
    assert fitted.converged
    joint = joint_of_fit(terms, fitted)
    n_zero = 0
    for scope, term, pull in zip(
        terms.all, fitted.tables, pulls(terms, joint, counts), strict=True
    ):
        if len(scope) == 1:
            np.testing.assert_allclose(pull, 0.0, atol=1e-8 * counts.sum())
            continue
        strength = math.sqrt(float(np.mean(term**2)))
        if strength == 0:
            n_zero += 1
            assert float(np.linalg.norm(pull)) <= penalty.l1 / math.sqrt(term.size) + 1e-5
            continue
        # The derivatives of l1·s and l2·s², s the root mean square of the term.
        back = 2 * penalty.l2 * term / term.size + penalty.l1 * term / (term.size * strength)
        np.testing.assert_allclose(pull, back, atol=2e-9 * counts.sum())
    if penalty.l1 == 1e6:
        assert n_zero == len(table.pairs)
    if penalty.l1 == 0:
        assert n_zero == 0


def test_an_l1_penalty_drops_some_terms_of_reinis_and_keeps_others():
    table = reinis()
    terms = Terms.of(table.variables, table.pairs)
    fitted = fit_exact(table.counter(), terms, penalty=Penalty(l1=150.0))
    kept = {
        tuple(terms.names[k] for k in scope)
        for scope, term in zip(terms.all, fitted.tables, strict=True)
        if len(scope) == 2 and term.any()
    }
    assert ("mental", "phys") in kept
    assert 0 < len(kept) < len(table.pairs)


@pytest.mark.parametrize("penalty", [Penalty(l2=1.0), Penalty(l1=3.0), Penalty(l1=1.0, l2=1.0)])
def test_a_level_without_rows_is_at_infinity_even_with_penalties(penalty):
    table = contingency({"A": "a0 a1 a2", "B": "b0 b1"}, "5 9 12 2 0 0")
    terms = Terms.of(table.variables, [["A", "B"]])
    fitted = fit_exact(table.counter(), terms, penalty=penalty)
    assert fitted.converged
    (support,) = fitted.supports
    assert (support.scope, support.possible.tolist()) == ((0,), [True, True, False])
    joint = joint_of_fit(terms, fitted)
    assert not joint[2].any()
    np.testing.assert_allclose(joint.sum(axis=1), table.counts.sum(axis=1) / 28, atol=1e-9)
    # Nothing is known of the level, so that its own term is 0.
    assert abs(fitted.tables[0][2]) < 1e-12
    # A pair with a zero but no empty level is finite.
    other = contingency({"A": "a0 a1 a2", "B": "b0 b1"}, "5 9 12 2 0 3")
    finite = fit_exact(other.counter(), terms, penalty=penalty)
    assert finite.converged
    assert finite.supports == ()


def test_l_bfgs_finds_the_ridge_that_newton_finds():
    table = hair_eye_color()
    terms = Terms.of(table.variables, table.pairs)
    fits = [
        fit_exact(table.counter(), terms, penalty=Penalty(l2=5.0), algorithm=name)
        for name in ("newton", "l-bfgs")
    ]
    assert [fitted.converged for fitted in fits] == [True, True]
    assert_same_tables(fits[1], fits[0], 1e-7)


def test_fractional_weights_are_rows():
    """A quarter of every count: the same distribution, and penalties that count four times."""
    table = hair_eye_color()
    terms = Terms.of(table.variables, table.pairs)
    quarter = table._replace(counts=table.counts / 4)
    whole = fit_exact(table.counter(), terms, penalty=Penalty(l2=4.0))
    assert quarter.counter(0.25).unit == 0.25
    found = fit_exact(quarter.counter(0.25), terms, penalty=Penalty(l2=1.0))
    assert_same_tables(found, whole, 1e-12)


@pytest.mark.parametrize("algorithm", ["newton", "l-bfgs", "ipf"])
def test_a_fit_that_runs_out_of_time_says_so(algorithm):
    table = hair_eye_color()
    terms = Terms.of(table.variables, table.pairs)
    fitted = fit_exact(table.counter(), terms, algorithm=algorithm, deadline=Deadline(0))
    assert (fitted.converged, fitted.iterations) == (False, 0)
    assert fitted.gap > 0.01


def test_a_lasso_that_runs_out_of_time_says_so():
    table = hair_eye_color()
    terms = Terms.of(table.variables, table.pairs)
    fitted = fit_exact(table.counter(), terms, penalty=Penalty(l1=1.0), deadline=Deadline(0))
    assert (fitted.converged, fitted.iterations) == (False, 0)


REFUSED = [
    ("closed-form", Penalty(), "`algorithm='closed-form'` needs a decomposable model"),
    ("ipf", Penalty(l2=1.0), "`algorithm='ipf'` maximises the likelihood alone; with `l2`"),
    ("closed-form", Penalty(l1=1.0), "maximises the likelihood alone; with `l1`, use newton"),
    ("l-bfgs", Penalty(l1=1.0), "`algorithm='l-bfgs'` needs a smooth penalty; with `l1`"),
    ("simplex", Penalty(), "`algorithm` must be one of auto, closed-form, ipf, l-bfgs, newton"),
]


@pytest.mark.parametrize(("algorithm", "penalty", "message"), REFUSED)
def test_algorithms_that_cannot_do_what_is_asked_for(algorithm, penalty, message):
    table = student_survey()
    terms = Terms.of(table.variables, table.pairs)
    with pytest.raises(UsageError) as caught:
        fit_exact(table.counter(), terms, algorithm=algorithm, penalty=penalty)
    assert message in str(caught.value)


def test_a_treewidth_over_the_budget_is_refused():
    table = reinis()
    terms = Terms.of(table.variables, table.pairs)
    with pytest.raises(CannotAnswer) as caught:
        fit_exact(table.counter(), terms, max_memory=600)
    assert "more than `max_memory` allows (600 bytes): the treewidth is 5" in str(caught.value)


def test_the_order_of_columns_does_not_show():
    table = hair_eye_color()
    turned = Contingency(table.variables[::-1], table.counts.transpose())
    for algorithm in ("newton", "l-bfgs", "ipf"):
        a, b = (
            fit_exact(t.counter(), Terms.of(t.variables, t.pairs), algorithm=algorithm)
            for t in (table, turned)
        )
        for x, y in zip(a.tables, b.tables, strict=True):
            assert x.tobytes() == y.tobytes()


def test_a_variable_of_one_level_has_a_term_of_nothing():
    table = contingency({"A": "0 1", "B": "only", "C": "0 1"}, "3 4 5 9")
    terms = Terms.of(table.variables, table.pairs)
    for algorithm in ("newton", "l-bfgs", "ipf"):
        fitted = fit_exact(table.counter(), terms, algorithm=algorithm)
        assert fitted.converged
        np.testing.assert_allclose(joint_of_fit(terms, fitted), table.counts / 21, atol=1e-9)
        assert fitted.tables[1].tolist() == [0.0]


def test_pairs_of_a_decomposable_graph_have_no_closed_form():
    """Three pairs make the graph of a clique, and are a smaller model."""
    table = student_survey()
    fitted = fit_exact(table.counter(), Terms.of(table.variables, table.pairs))
    assert fitted.algorithm == "newton"
    saturated = fit_exact(table.counter(), Terms.of(table.variables, ["ACM"]))
    assert saturated.algorithm == "closed-form"
    assert saturated.iterations == 0


@pytest.mark.parametrize("limit", ["_MOST_PARAMETERS", "_MOST_PRODUCTS"])
def test_a_model_whose_hessian_is_too_dear_is_fitted_by_gradients(monkeypatch, limit):
    monkeypatch.setattr(f"gml.model.undirected.exact.fit_exact.{limit}", 5)
    table = student_survey()
    terms = Terms.of(table.variables, table.pairs)
    assert fit_exact(table.counter(), terms).algorithm == "l-bfgs"
    assert fit_exact(table.counter(), terms, algorithm="newton").algorithm == "newton"
    assert fit_exact(table.counter(), terms, penalty=Penalty(l1=1.0)).algorithm == "newton"
