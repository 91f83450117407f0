"""Maximum entropy within limits: memory that is not asked for in vain, and the time that it has."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest

import gml
from gml.data.dataset import Variable
from gml.errors import CannotAnswer, DataError
from gml.model.entropy import projection
from gml.model.entropy.constraints import Constraints, Expectation
from gml.model.entropy.dual import TreeDual
from gml.model.entropy.polytope import Polytope
from gml.model.entropy.problem import problem_of
from gml.model.entropy.solving import refuse_contradiction
from gml.model.undirected import coefficients
from gml.model.undirected.coefficients import Coefficients
from gml.model.undirected.exact.clique_margins import CliqueMargins, NothingLeft
from gml.model.undirected.fitting import OutOfTime
from gml.model.undirected.terms import Terms
from gml.progress import Deadline

COIN = {"coin": {"heads": 1.0, "tails": 0.0}}


def coins(*values):
    return Constraints(tuple(Expectation(COIN, "=", value, name=str(value)) for value in values))


@pytest.mark.parametrize("has_zero", [False, True])
def test_a_closed_form_takes_no_covariance(has_zero):
    rng = np.random.default_rng(1)
    table = rng.random((60, 60))
    table[3, 5] *= not has_zero
    table /= math.fsum(table.ravel())
    cells = {f"a{i}": {f"b{j}": table[i, j] for j in range(60)} for i in range(60)}
    tracemalloc.start()
    try:
        net = gml.maxent([{"margin": ["A", "B"], "probabilities": cells}], normalise=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # The covariance of 3599 coefficients has 99 MiB.
    assert peak < 40 << 20
    found = net.learning["maxent"]
    held = table[table > 0]
    assert found["algorithm"] == "closed-form"
    assert found["n_zeros"] == has_zero
    assert found["entropy"] == pytest.approx(-float(held @ np.log(held)), abs=1e-9)


def test_wide_tables_have_the_coefficients_of_all_products(monkeypatch):
    levels = {"A": ("x", "y"), "B": ("x", "y", "z"), "C": ("p", "q", "r", "s")}
    terms = Terms.of([Variable(name, own) for name, own in levels.items()], [["A", "B", "C"]])
    found = Coefficients(terms)
    vector = np.random.default_rng(2).normal(size=found.size)
    tables = found.tables(vector)
    squares = found.mean_squares([table**2 for table in tables])
    monkeypatch.setattr(coefficients, "_MOST_PRODUCTS", 0)
    for table, again in zip(tables, found.tables(vector), strict=True):
        np.testing.assert_allclose(again, table, rtol=0, atol=1e-13)
    np.testing.assert_allclose(found.vector(tables), vector, rtol=0, atol=1e-13)
    again = found.mean_squares([table**2 for table in tables])
    np.testing.assert_allclose(again, squares, rtol=1e-12)


def test_a_covariance_heeds_the_deadline():
    dual = TreeDual(problem_of(coins(0.25)), deadline=Deadline(0))
    point = dual.at(np.zeros(dual.size))
    with pytest.raises(OutOfTime, match="`max_seconds` passed while the covariance"):
        dual.hessian(point)


def test_linear_programmes_heed_the_deadline(monkeypatch):
    import scipy.optimize

    asked = []

    def recorded(*arguments, linprog=scipy.optimize.linprog, **keywords):
        asked.append(keywords["options"].get("time_limit"))
        return linprog(*arguments, **keywords)

    monkeypatch.setattr(scipy.optimize, "linprog", recorded)
    polytope = Polytope(problem_of(coins(0.25, 0.5)), [(0,)])
    assert polytope.contradiction(Deadline(1000)) == [0, 1]
    assert all(0 < limit <= 1000 for limit in asked)
    asked.clear()
    assert polytope.contradiction(Deadline()) == [0, 1]
    assert set(asked) == {math.inf}
    with pytest.raises(OutOfTime, match="`max_seconds` passed while linear programmes"):
        polytope.contradiction(Deadline(0))
    with pytest.raises(OutOfTime, match="`max_seconds` passed while linear programmes"):
        polytope.forced_zeros([np.ones(2, dtype=bool)], Deadline(0))


class _PassesLater(Deadline):
    """Time is up after it was asked for so many times."""

    def __init__(self, looks):
        super().__init__()
        self.looks = looks

    @property
    def passed(self):
        self.looks -= 1
        return self.looks < 0


def test_a_contradiction_that_could_not_be_made_smaller_says_so():
    problem = problem_of(coins(0.25, 0.5, 0.75))
    polytope = Polytope(problem, [(0,)])
    with pytest.raises(DataError, match="these 3 constraints contradict .* whether fewer of them"):
        refuse_contradiction(problem, polytope, _PassesLater(1))
    with pytest.raises(DataError, match="these 2 constraints contradict .* the others do not"):
        refuse_contradiction(problem, polytope, Deadline())


@pytest.mark.parametrize("support", [[0, None], [None, 0], [-3, 3]])
def test_a_numeric_variable_heeds_the_deadline(support):
    mean = -1 if support[0] is None else 1
    numeric = {"support": support, "moments": {"1": mean, "2": 1.5}}
    assert gml.maxent({"numeric": numeric}).mean == pytest.approx(mean, abs=1e-8)
    with pytest.raises(CannotAnswer, match="'x': `max_seconds` passed with a residual of"):
        gml.maxent({"numeric": numeric}, max_seconds=1e-9)


@pytest.mark.parametrize(
    "tables",
    [
        [np.zeros(2), np.full(2, -math.inf)],
        [np.array([0.0, -math.inf]), np.array([-math.inf, 0.0])],
    ],
)
def test_factors_that_leave_nothing_have_an_error_of_their_own(tables):
    terms = Terms.of([Variable("A", ("n", "y"))], [["A"]])
    with pytest.raises(NothingLeft, match="the factors exclude everything"):
        CliqueMargins(terms, [(0,), (0,)]).of(tables)


def test_levels_are_gathered_once(monkeypatch):
    asked = []

    def counted(self, levels=Constraints.levels):
        asked.append(self)
        return levels.fget(self)

    monkeypatch.setattr(Constraints, "levels", property(counted))
    problem_of(coins(*[0.5] * 20))
    assert len(asked) == 1


def test_no_more_zeros_are_listed_than_shown(monkeypatch):
    listed = []

    def counted(*arguments, cells=projection.excluded_cells):
        for cell in cells(*arguments):
            listed.append(cell)
            yield cell

    monkeypatch.setattr(projection, "excluded_cells", counted)
    cells = {f"a{i:02}": {f"b{i:02}": 1} for i in range(9)}
    found = gml.maxent([{"margin": ["A", "B"], "counts": cells}]).learning["maxent"]
    assert found["n_zeros"] == 72
    assert found["zeros"] == listed
    assert listed[0] == {"A": "a00", "B": "b01"}
    assert len(listed) == 20
