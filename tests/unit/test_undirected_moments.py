"""Moments of undirected models, their derivatives, and the coordinates that they are taken by."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from gml.data.dataset import Variable
from gml.model.undirected.coefficients import Coefficients
from gml.model.undirected.exact.clique_margins import CliqueMargins
from gml.model.undirected.exact.moment_matching import MomentMatching
from gml.model.undirected.fitting import Support
from gml.model.undirected.gauge import tables_of_terms
from gml.model.undirected.observed import Observed
from gml.model.undirected.terms import Terms
from gml.resources import limited_to
from tests.contingency_tables import random_terms, spread_over_all

BATCHES, PER_BATCH = 20, 100


def random_supports(rng, terms):
    """Two models in three exclude nothing; the first cell is always possible."""
    if rng.random() < 0.67:
        return ()
    scope = terms.generators[int(rng.integers(len(terms.generators)))]
    possible = rng.random(terms.shape(scope)) < 0.7
    possible.flat[0] = True
    return (Support(scope, possible),)


@functools.cache
def contrasts_of_one(size):
    """The contrasts of one variable with so many levels, as columns."""
    coefficients = Coefficients(Terms.of([Variable("v", tuple(map(str, range(size))))], []))
    columns = [coefficients.tables(unit)[0] for unit in np.eye(size - 1)]
    return np.array(columns).reshape(size - 1, size).T


def features(terms):
    """What each coordinate adds to the logarithm of each cell of the joint table."""
    blocks = [np.empty((math.prod(terms.sizes), 0))]
    for scope in terms.all:
        cells = functools.reduce(np.kron, [contrasts_of_one(terms.sizes[k]) for k in scope])
        shape = [terms.sizes[k] if k in scope else 1 for k in range(len(terms.sizes))]
        table = cells.reshape(*shape, cells.shape[1])
        table = np.broadcast_to(table, (*terms.sizes, cells.shape[1]))
        blocks.append(table.reshape(math.prod(terms.sizes), cells.shape[1]))
    return np.hstack(blocks)


def margin_over(joint, scope):
    return joint.sum(axis=tuple(k for k in range(joint.ndim) if k not in scope))


@pytest.fixture(autouse=True)
def budget():
    """One budget for all models: what is free is not asked for thousands of times."""
    with limited_to(1 << 30):
        yield


@pytest.mark.parametrize("batch", range(BATCHES))
def test_log_z_margins_gradient_and_hessian_are_those_of_the_joint(batch):
    rng = np.random.default_rng(batch)
    for _ in range(PER_BATCH):
        terms = random_terms(rng)
        data = rng.dirichlet(np.ones(math.prod(terms.sizes))).reshape(terms.sizes)
        counts = tuple(margin_over(data, scope) for scope in terms.generators)
        supports = random_supports(rng, terms)
        problem = MomentMatching(Observed(terms, 1.0, 0.0, counts), supports=supports)
        design = features(terms)
        w = rng.normal(size=problem.coefficients.size)
        weights = np.exp(design @ w)
        for support in supports:
            weights *= np.broadcast_to(
                spread_over_all(terms, support.scope, support.possible), terms.sizes
            ).reshape(-1)
        joint = weights / weights.sum()
        point = problem.at(w)
        assert point.log_z == pytest.approx(math.log(weights.sum()), abs=1e-12)
        moments = problem.engine.of(
            [
                *problem.coefficients.generators_of(w),
                *(np.where(s.possible, 0.0, -np.inf) for s in supports),
            ]
        )
        expected = [margin_over(joint.reshape(terms.sizes), s) for s in problem.engine.scopes]
        found, wanted = (
            np.concatenate(list(map(np.ravel, s))) for s in (moments.margins, expected)
        )
        np.testing.assert_allclose(found, wanted, atol=1e-14)
        difference = design.T @ (joint - data.reshape(-1))
        np.testing.assert_allclose(point.gradient, difference, atol=1e-13)
        assert point.value == pytest.approx(
            math.log(weights.sum()) - float(data.reshape(-1) @ design @ w), abs=1e-11
        )
        centred = design - joint @ design
        np.testing.assert_allclose(
            problem.hessian(), centred.T @ (joint[:, None] * centred), atol=1e-13
        )


@pytest.mark.parametrize("seed", range(20))
def test_coefficients_are_as_long_as_terms_are_strong_and_give_them_back(seed):
    rng = np.random.default_rng(seed)
    terms = random_terms(rng)
    coefficients = Coefficients(terms)
    assert coefficients.size == terms.dimension
    w = rng.normal(size=coefficients.size)
    tables = coefficients.tables(w)
    for table, at in zip(tables, coefficients.slices, strict=True):
        assert float(np.mean(table**2)) == pytest.approx(float(w[at] @ w[at]))
        for axis in range(table.ndim):
            np.testing.assert_allclose(table.sum(axis=axis), 0.0, atol=1e-13)
    squares = sum(float((table**2).sum()) for table in tables)
    assert float(coefficients.cells @ w**2) == pytest.approx(squares)
    np.testing.assert_allclose(coefficients.vector(tables), w, atol=1e-13)
    for found, expected in zip(
        coefficients.generators_of(w), tables_of_terms(terms, tables), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-13)


@pytest.mark.parametrize("seed", range(20))
def test_no_cell_of_a_margin_differs_by_more_than_the_moments(seed):
    rng = np.random.default_rng(seed)
    terms = random_terms(rng)
    p, q = (rng.dirichlet(np.ones(math.prod(terms.sizes))).reshape(terms.sizes) for _ in "pq")
    differences = [margin_over(p - q, scope) for scope in terms.generators]
    moments = Coefficients(terms).moments_of_generators(differences)
    singles = Coefficients(terms).moments([margin_over(p - q, scope) for scope in terms.all])
    np.testing.assert_allclose(moments, singles, atol=1e-14)
    gap = max(float(np.abs(difference).max()) for difference in differences)
    assert gap <= np.abs(moments).max(initial=0.0) + 1e-15


@pytest.mark.parametrize("seed", range(5))
def test_the_dual_of_the_ising_problem_falls_at_every_step_of_gradient_descent(seed):
    rng = np.random.default_rng(seed)
    names = "ABCDE"
    terms = Terms.of(
        [Variable(name, ("-1", "1")) for name in names],
        [names[i : i + 2] for i in range(4)] + [["A", "E"], ["B", "D"]],
    )
    data = rng.dirichlet(np.full(32, 0.3)).reshape(terms.sizes)
    counts = tuple(margin_over(data, scope) for scope in terms.generators)
    problem = MomentMatching(Observed(terms, 1.0, 0.0, counts))
    # The Hessian is the covariance of features of ±1, whose variances are at most 1: so its largest
    # eigenvalue is at most the number of them.
    largest = float(terms.dimension)
    theta = np.zeros(terms.dimension)
    point = problem.at(theta)
    assert np.linalg.eigvalsh(problem.hessian()).max() <= largest
    for _ in range(200):
        theta = theta - point.gradient / largest
        following = problem.at(theta)
        assert following.value < point.value
        point = following


def test_the_hessian_is_the_same_in_parts(monkeypatch):
    terms = random_terms(np.random.default_rng(3))
    counts = tuple(np.full(terms.shape(scope), 1.0) for scope in terms.generators)
    observed = Observed(terms, 1.0, 0.0, counts)
    w = np.random.default_rng(4).normal(size=terms.dimension)
    whole, parts = MomentMatching(observed), MomentMatching(observed)
    whole.at(w)
    parts.at(w)
    monkeypatch.setattr("gml.model.undirected.exact.margin_derivatives._LARGEST_BATCH", 2)
    np.testing.assert_allclose(parts.hessian(), whole.hessian(), atol=1e-16)


def test_the_reference_kernel_leaves_the_same_margins(monkeypatch):
    from gml import kernel
    from gml.kernel import reference

    terms = random_terms(np.random.default_rng(11))
    logs = [np.random.default_rng(1).normal(size=terms.shape(c)) for c in terms.generators]
    compiled = CliqueMargins(terms, terms.generators).of(logs)
    monkeypatch.setattr(kernel, "_loaded", reference)
    plain = CliqueMargins(terms, terms.generators).of(logs)
    assert compiled.log_z == pytest.approx(plain.log_z, abs=1e-13)
    for a, b in zip(compiled.margins, plain.margins, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-15)
