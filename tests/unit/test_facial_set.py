"""Maxima of likelihoods at infinity: which cells they make impossible."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog

from gml.counts.memory import MemoryCounter
from gml.data.dataset import Dataset, Variable
from gml.errors import CannotAnswer
from gml.model.undirected.boundary.cliques_of_cells import excluded_cells
from gml.model.undirected.boundary.facial_set import facial_set
from gml.model.undirected.exact.fit_exact import fit_exact
from gml.model.undirected.observed import tables_over
from gml.model.undirected.terms import Terms
from gml.progress import Deadline
from tests.log_linear_fits import counter_of_table, possible_cells, supports_of

BOUNDARY = [0, 5, 7, 3, 4, 6, 8, 0]
"""All pair margins are positive, and yet the first and the last cell are fitted by 0."""


def by_definition(table, terms):
    """The cells where no sum of tables that is 0 on observed cells and never negative is positive.

    One programme over the cells of the joint table: the largest Σ z with z ≤ f and z ≤ 1.
    """
    cells = np.argwhere(np.ones(table.shape))
    design = np.concatenate(
        [
            np.eye(int(np.prod(terms.shape(scope))))[
                np.ravel_multi_index(tuple(cells[:, list(scope)].T), terms.shape(scope))
            ]
            for scope in terms.generators
        ],
        axis=1,
    )
    seen = table.reshape(-1) > 0
    n_open, n_columns = np.count_nonzero(~seen), design.shape[1]
    found = linprog(
        np.repeat([0.0, -1.0], [n_columns, n_open]),
        A_ub=np.hstack([-design[~seen], np.eye(n_open)]),
        b_ub=np.zeros(n_open),
        A_eq=np.hstack([design[seen], np.zeros((np.count_nonzero(seen), n_open))]),
        b_eq=np.zeros(np.count_nonzero(seen)),
        bounds=[(None, None)] * n_columns + [(0, 1)] * n_open,
    )
    left = seen.copy()
    left[~seen] = found.x[n_columns:] < 0.5
    return left.reshape(table.shape)


def all_pairs(variables):
    return Terms.of(variables, combinations([variable.name for variable in variables], 2))


def test_a_boundary_behind_positive_margins():
    counter = counter_of_table(np.array(BOUNDARY).reshape(2, 2, 2))
    terms = all_pairs(counter.variables)
    (support,) = supports_of(counter, terms)
    assert support.scope == (0, 1, 2)
    assert np.argwhere(~support.possible).tolist() == [[0, 0, 0], [1, 1, 1]]
    assert list(excluded_cells(terms, [support])) == [
        {"A": "0", "B": "0", "C": "0"},
        {"A": "1", "B": "1", "C": "1"},
    ]


@pytest.mark.parametrize("high", range(16))
def test_every_pattern_of_zeros_of_a_cube(high):
    for bits in range(max(1, 16 * high), 16 * high + 16):
        table = (bits >> np.arange(8) & 1).reshape(2, 2, 2)
        counter = counter_of_table(table)
        terms = all_pairs(counter.variables)
        found = possible_cells(terms, supports_of(counter, terms))
        np.testing.assert_array_equal(found, by_definition(table, terms), err_msg=f"{bits:08b}")


MODELS = {
    "square": ["AB", "BC", "CD", "AD"],
    "square with a tail": ["AB", "BC", "CD", "AD", "DE"],
    "two squares": ["AB", "BC", "CD", "AD", "CE", "AE"],
    "a triangle of pairs": ["AB", "BC", "AC", "CD"],
    "triples": ["ABC", "BCD", "AD"],
    "all triples": ["ABC", "ABD", "ACD", "BCD"],
    "two parts": ["AB", "BC", "AC", "D"],
    "chain": ["AB", "BC", "CD"],
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", range(6))
def test_sparse_tables_against_the_definition(model, seed):
    rng = np.random.default_rng([seed, *model.encode()])
    letters = sorted({*"".join(MODELS[model])})
    sizes = rng.integers(2, 4, len(letters))
    table = rng.multinomial(rng.integers(4, 40), rng.dirichlet(np.full(sizes.prod(), 0.3)))
    table = table.reshape(sizes)
    counter = counter_of_table(table)
    terms = Terms.of(counter.variables, MODELS[model])
    found = possible_cells(terms, supports_of(counter, terms))
    np.testing.assert_array_equal(found, by_definition(table, terms))


def test_each_support_adds_to_those_before_it():
    rng = np.random.default_rng(5)
    for _ in range(20):
        table = rng.multinomial(9, np.full(48, 1 / 48)).reshape(2, 3, 2, 2, 2)
        counter = counter_of_table(table)
        terms = Terms.of(counter.variables, MODELS["two squares"])
        supports = supports_of(counter, terms)
        for k in range(len(supports)):
            before = possible_cells(terms, supports[:k])
            assert (before & ~possible_cells(terms, supports[k : k + 1])).any()


def test_a_decomposable_model_excludes_the_zeros_of_its_margins():
    rng = np.random.default_rng(1)
    table = rng.multinomial(25, np.full(81, 1 / 81)).reshape(3, 3, 3, 3)
    counter = counter_of_table(table)
    terms = Terms.of(counter.variables, ["ABC", "CD"])
    margins = tables_over(counter, terms, terms.generators)
    left = (margins[1] > 0)[..., None] & (margins[0] > 0)[None, None]
    found = possible_cells(terms, supports_of(counter, terms))
    np.testing.assert_array_equal(found, left)


def test_an_unobserved_level_is_one_cell():
    table = np.ones((2, 3, 2), dtype=int)
    table[:, 1] = 0
    counter = counter_of_table(table)
    (support,) = supports_of(counter, all_pairs(counter.variables))
    assert (support.scope, support.possible.tolist()) == ((1,), [True, False, True])


def test_a_zero_of_a_pair_is_said_of_the_pair():
    table = np.ones((2, 3, 2), dtype=int)
    table[1, 2] = 0
    counter = counter_of_table(table)
    (support,) = supports_of(counter, all_pairs(counter.variables))
    assert (support.scope, np.argwhere(~support.possible).tolist()) == ((0, 1), [[1, 2]])


def test_a_finite_maximum_has_no_support():
    table = np.array([0, 5, 7, 3, 4, 6, 8, 1]).reshape(2, 2, 2)
    counter = counter_of_table(table)
    assert supports_of(counter, all_pairs(counter.variables)) == ()


def test_a_variable_of_one_level_changes_nothing():
    counter = counter_of_table(np.array(BOUNDARY).reshape(2, 2, 1, 2))
    (support,) = supports_of(counter, all_pairs(counter.variables))
    assert support.scope == (0, 1, 3)


def test_neither_order_shows():
    rng = np.random.default_rng(3)
    table = rng.multinomial(12, np.full(32, 1 / 32)).reshape(2, 2, 2, 2, 2)
    counter = counter_of_table(table)
    terms = Terms.of(counter.variables, MODELS["two squares"])
    data = counter.rows()
    order = rng.permutation(data.n_rows)
    turned = Dataset(
        data.variables[::-1],
        tuple(column[order] for column in data.columns[::-1]),
        data.weights[order],
    )
    for one, other in zip(
        supports_of(counter, terms), supports_of(MemoryCounter(turned), terms), strict=True
    ):
        assert one.scope == other.scope
        np.testing.assert_array_equal(one.possible, other.possible)


def test_a_budget_refuses_the_search():
    variables = [Variable(name, ("n", "y")) for name in "ABC"]
    counter = counter_of_table(np.ones((2, 2, 2), dtype=int))
    with pytest.raises(CannotAnswer, match="the search for a maximum at infinity would take"):
        facial_set(counter, all_pairs(variables), [(0, 1, 2)], max_memory=1000)


def test_a_deadline_ends_the_search_with_what_is_known(monkeypatch):
    table = np.array(BOUNDARY).reshape(2, 2, 2)
    counter = counter_of_table(table)
    terms = all_pairs(counter.variables)
    assert facial_set(counter, terms, [(0, 1, 2)], deadline=Deadline(0)) == ()
    assert not fit_exact(counter, terms, deadline=Deadline(0)).converged
    limits = []

    def recorded(*args, options, **others):
        limits.append(options["time_limit"])
        return linprog(*args, options=options, **others)

    monkeypatch.setattr("scipy.optimize.linprog", recorded)
    assert len(facial_set(counter, terms, [(0, 1, 2)], deadline=Deadline(100))) == 1
    assert len(facial_set(counter, terms, [(0, 1, 2)])) == 1
    assert 0 < limits[0] <= 100 and limits[1] == math.inf


def test_zeros_of_margins_need_no_time():
    table = np.array(BOUNDARY).reshape(2, 2, 2) + 1
    table[0, 1] = 0
    counter = counter_of_table(table)
    (found,) = facial_set(counter, all_pairs(counter.variables), [(0, 1, 2)], deadline=Deadline(0))
    assert found.scope == (0, 1) and found.possible.tolist() == [[True, False], [True, True]]
