"""Pseudo-likelihood: what its maximum is, from counts and from rows, and where there is none."""

import math
from itertools import combinations, product

import numpy as np
import pytest

import gml
from gml.counts.count_file_engine import CountFileCounter
from gml.data.dataset import Dataset, Variable
from gml.errors import CannotAnswer
from gml.kernel import blas
from gml.model.undirected.coefficients import Coefficients
from gml.model.undirected.fitting import Penalty
from gml.model.undirected.pseudo import families, likelihood, rows
from gml.model.undirected.pseudo.families import FamilyObjective
from gml.model.undirected.pseudo.likelihood import fit_pseudo
from gml.model.undirected.pseudo.rows import PairLayout, RowObjective
from gml.model.undirected.terms import Terms
from gml.progress import Deadline
from gml.resources import limited_to


def table_of(sizes, n, seed, *, weights=False):
    """Rows of some labels that depend on one another."""
    rng = np.random.default_rng(seed)
    hidden = rng.random(n)
    columns = tuple(
        np.minimum((hidden + rng.random(n)) / 2 * size, size - 1).astype(np.uint8) for size in sizes
    )
    variables = tuple(Variable(f"x{k}", tuple("abcdef"[:size])) for k, size in enumerate(sizes))
    return Dataset(variables, columns, rng.integers(0, 4, n) if weights else None)


def definition(data, terms, tables):
    """The pseudo-log-likelihood, as it is written."""
    names, total = terms.names, 0.0
    weights = np.ones(data.n_rows) if data.weights is None else data.weights
    columns = [data.columns[data.index(name)] for name in names]
    for row, weight in zip(np.array(columns).T.tolist(), weights, strict=True):
        for k, size in enumerate(terms.sizes):
            logs = []
            for level in range(size):
                cell = [*row[:k], level, *row[k + 1 :]]
                logs.append(
                    sum(
                        float(table[tuple(cell[j] for j in scope)])
                        for scope, table in zip(terms.all, tables, strict=True)
                    )
                )
            total += weight * (logs[row[k]] - math.log(sum(map(math.exp, logs))))
    return total


def flat(tables):
    return np.concatenate([table.reshape(-1) for table in tables])


SIZES = [(2, 2, 2, 2), (2, 3, 2, 4), (3, 3, 2)]


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("generators", ["pairs", "triples"])
def test_value_and_gradient_are_those_of_the_definition(sizes, generators):
    data = table_of(sizes, 60, seed=len(sizes), weights=True)
    size = 2 if generators == "pairs" else 3
    terms = Terms.of(data.variables, combinations(data.names, size))
    coefficients = Coefficients(terms)
    vector = np.random.default_rng(5).normal(0, 0.4, coefficients.size)
    objectives = [FamilyObjective(gml.MemoryCounter(data), coefficients)]
    if size == 2:
        objectives.append(RowObjective(data, coefficients))
    wanted = definition(data, terms, coefficients.tables(vector)) / data.n
    for objective in objectives:
        value, gradient = objective(vector)
        assert -value == pytest.approx(wanted, rel=1e-13)
        for k in range(len(vector)):
            step = np.zeros(len(vector))
            step[k] = 1e-5
            slope = (objective(vector + step)[0] - objective(vector - step)[0]) / 2e-5
            assert slope == pytest.approx(gradient[k], abs=1e-9)


@pytest.mark.parametrize("sizes", [(2, 2, 2, 2, 2), (2, 3, 4, 2)])
@pytest.mark.parametrize(
    "penalty", [Penalty(), Penalty(l2=3.0), Penalty(l1=20.0)], ids=["none", "l2", "l1"]
)
def test_rows_and_counts_have_the_same_maximum(sizes, penalty, monkeypatch):
    data = table_of(sizes, 800, seed=1, weights=True)
    terms = Terms.of(data.variables, combinations(data.names, 2))
    counter = gml.MemoryCounter(data)
    from_counts = fit_pseudo(counter, terms, penalty=penalty)
    monkeypatch.setattr(likelihood, "_FEW_NUMBERS", 0)
    from_rows = fit_pseudo(counter, terms, penalty=penalty)
    assert (from_counts.algorithm, from_rows.algorithm) == ("l-bfgs on counts", "l-bfgs on rows")
    assert from_counts.converged and from_rows.converged
    assert np.abs(flat(from_counts.tables) - flat(from_rows.tables)).max() < 1e-7
    # A penalised fit is no maximum of this, so that it has fewer digits.
    digits = 1e-12 if penalty.is_likelihood else 1e-9
    assert from_counts.pseudo_log_likelihood == pytest.approx(
        from_rows.pseudo_log_likelihood, rel=digits
    )


def test_objectives_from_rows_and_from_counts_agree_to_the_last_digits():
    data = table_of((2, 3, 2, 4, 2), 700, seed=3)
    terms = Terms.of(data.variables, combinations(data.names, 2))
    coefficients = Coefficients(terms)
    zero = np.zeros((2, 3), dtype=bool)
    zero[1, 0] = True
    keep = ~((data.columns[0] == 1) & (data.columns[1] == 0))
    data = data.rows(keep)
    for zeros in ({}, {(0, 1): zero}):
        from_counts = FamilyObjective(gml.MemoryCounter(data), coefficients, zeros=zeros)
        from_rows = RowObjective(data, coefficients, zeros=zeros)
        for seed in range(3):
            vector = np.random.default_rng(seed).normal(0, 0.5, coefficients.size)
            a, b = from_counts(vector), from_rows(vector)
            assert a[0] == pytest.approx(b[0], rel=1e-13)
            assert np.abs(a[1] - b[1]).max() < 1e-14


def test_blocks_and_threads_change_nothing(monkeypatch):
    data = table_of((2, 3, 2, 4, 2), 700, seed=3)
    terms = Terms.of(data.variables, combinations(data.names, 2))
    coefficients = Coefficients(terms)
    vector = np.random.default_rng(0).normal(0, 0.5, coefficients.size)
    monkeypatch.setattr("gml.model.undirected.pseudo.rows._BLOCK_BYTES", 8 * 8 * 50)
    one, two = (RowObjective(data, coefficients, threads=t)(vector) for t in (1, 2))
    assert one[0] == two[0] and (one[1] == two[1]).all()


def test_products_have_no_threads_within_the_threads_of_blocks(monkeypatch):
    """The number of OpenBLAS is 1 while blocks are worked on, and then as it was."""
    data = table_of((2,) * 6, 3000, seed=1)
    coefficients = Coefficients(
        Terms.of(data.variables, [list(p) for p in combinations(data.names, 2)])
    )
    monkeypatch.setattr(rows, "_BLOCK_BYTES", 8 * 6 * 20)
    now, inside = [7], []
    monkeypatch.setattr(
        blas, "thread_functions", lambda: (lambda: now[0], lambda n: now.__setitem__(0, n))
    )
    encoded = PairLayout.encoded
    monkeypatch.setattr(
        PairLayout, "encoded", lambda self, codes: inside.append(now[0]) or encoded(self, codes)
    )
    objective = RowObjective(data, coefficients, threads=2)
    objective.inverse()
    first = objective(np.zeros(coefficients.size))
    assert len(inside) > 2 and {*inside} == {1} and now == [7]
    # With another library, whose threads cannot be told, blocks have none.
    monkeypatch.setattr(blas, "thread_functions", lambda: None)
    threads = []
    monkeypatch.setattr(
        rows, "in_order", lambda work, items, n: threads.append(n) or map(work, items)
    )
    second = objective(np.zeros(coefficients.size))
    assert threads == [1] and first[0] == second[0] and (first[1] == second[1]).all()


def test_the_threads_of_products_are_those_of_the_library():
    functions = blas.thread_functions()
    if functions is not None:
        before = functions[0]()
        with blas.one_blas_thread() as outer, blas.one_blas_thread() as inner:
            assert outer and inner and functions[0]() == 1
        assert functions[0]() == before


def test_saturated_models_reproduce_the_table():
    data = table_of((2, 3, 2), 2000, seed=2)
    terms = Terms.of(data.variables, [data.names])
    found = fit_pseudo(gml.MemoryCounter(data), terms)
    counts = np.zeros((2, 3, 2))
    np.add.at(counts, data.columns, 1)
    assert counts.min() > 0
    logs = np.zeros((2, 3, 2))
    for scope, table in zip(terms.all, found.tables, strict=True):
        logs += table.reshape([terms.sizes[k] if k in scope else 1 for k in range(3)])
    fitted = np.exp(logs) / np.exp(logs).sum() * 2000
    assert np.abs(fitted - counts).max() < 1e-4


def test_a_tree_has_another_maximum_than_the_likelihood():
    # On data that do not fit a chain exactly the two differ, if by little.
    data = table_of((2, 2, 2), 500, seed=7)
    terms = Terms.of(data.variables, [data.names[:2], data.names[1:]])
    found = fit_pseudo(gml.MemoryCounter(data), terms)
    pair = np.zeros((2, 2))
    np.add.at(pair, data.columns[:2], 1)
    likelihood = math.log(pair[0, 0] * pair[1, 1] / (pair[0, 1] * pair[1, 0])) / 4
    difference = abs(float(found.tables[3][1, 1]) - likelihood)
    assert 1e-4 < difference < 0.1


def test_exact_data_of_a_model_give_its_terms():
    # Expected counts of a model as weights: every consistent method finds the model itself.
    variables = tuple(Variable(name, ("n", "y")) for name in "ABCD")
    terms = Terms.of(variables, [["A", "B"], ["B", "C"], ["C", "D"], ["A", "D"]])
    rng = np.random.default_rng(0)
    vector = rng.normal(0, 0.4, Coefficients(terms).size)
    tables = Coefficients(terms).tables(vector)
    cells = list(product((0, 1), repeat=4))
    logs = [
        sum(float(t[tuple(cell[k] for k in s)]) for s, t in zip(terms.all, tables, strict=True))
        for cell in cells
    ]
    weights = np.round(np.exp(logs) / np.exp(logs).sum() * 1e15).astype(np.int64)
    columns = tuple(np.array(column, dtype=np.uint8) for column in zip(*cells, strict=True))
    found = fit_pseudo(gml.MemoryCounter(Dataset(variables, columns, weights)), terms)
    assert np.abs(flat(found.tables) - flat(tables)).max() < 1e-7


def test_order_of_rows_and_columns_changes_nothing(monkeypatch):
    data = table_of((2, 3, 2, 2), 300, seed=4)
    shuffled = np.random.default_rng(0).permutation(data.n_rows)
    other = Dataset(data.variables[::-1], tuple(c[shuffled] for c in data.columns[::-1]))
    for few in (10**9, 0):
        monkeypatch.setattr(likelihood, "_FEW_NUMBERS", few)
        one, two = (
            fit_pseudo(gml.MemoryCounter(d), Terms.of(d.variables, combinations(d.names, 2)))
            for d in (data, other)
        )
        assert (flat(one.tables) == flat(two.tables)).all()


def test_weights_are_repeated_rows():
    data = table_of((2, 3, 2), 200, seed=6, weights=True)
    repeated = Dataset(data.variables, tuple(np.repeat(c, data.weights) for c in data.columns))
    terms = Terms.of(data.variables, combinations(data.names, 2))
    one, two = (fit_pseudo(gml.MemoryCounter(d), terms) for d in (data, repeated))
    assert (flat(one.tables) == flat(two.tables)).all()
    assert one.pseudo_log_likelihood == two.pseudo_log_likelihood


def test_l1_sets_terms_to_zero_and_meets_the_conditions_of_a_maximum():
    data = table_of((2, 3, 2, 2, 3), 400, seed=8)
    terms = Terms.of(data.variables, combinations(data.names, 2))
    coefficients = Coefficients(terms)
    counter = gml.MemoryCounter(data)
    smooth = FamilyObjective(counter, coefficients)
    sizes = []
    for l1 in (5.0, 25.0, 60.0, 400.0):
        found = fit_pseudo(counter, terms, penalty=Penalty(l1=l1))
        assert found.converged
        gradient = -400 * smooth(coefficients.vector(found.tables))[1]
        n_zero = 0
        for t, (scope, table) in enumerate(zip(terms.all, found.tables, strict=True)):
            part = gradient[coefficients.of(t).reshape(-1)]
            own = coefficients.vector(found.tables)[coefficients.of(t).reshape(-1)]
            if len(scope) == 1:
                assert np.abs(part).max() < 1e-6
            elif (table == 0).all():
                n_zero += 1
                assert np.linalg.norm(part) <= l1 * (1 + 1e-9)
            else:
                assert np.abs(part - l1 * own / np.linalg.norm(own)).max() < 1e-6
        sizes.append(n_zero)
    assert sizes == sorted(sizes) and sizes[0] < 10 and sizes[-1] == 10


@pytest.mark.parametrize("scopes", [[(0, 1), (0, 2), (1, 2)], [(0, 1)], [(1, 2)], []])
def test_smoothing_is_rows_spread_over_the_joint_table(scopes):
    data = table_of((2, 3, 2), 100, seed=9)
    terms = Terms.of(data.variables, [[data.names[k] for k in scope] for scope in scopes])
    found = fit_pseudo(gml.MemoryCounter(data), terms, penalty=Penalty(smoothing=12.0))
    cells = np.indices((2, 3, 2)).reshape(3, -1)
    columns = tuple(
        np.concatenate([column, cells[k]]).astype(np.uint8) for k, column in enumerate(data.columns)
    )
    same = fit_pseudo(gml.MemoryCounter(Dataset(data.variables, columns)), terms)
    assert np.abs(flat(found.tables) - flat(same.tables)).max() < 1e-8


def test_smoothing_is_refused_where_it_is_spread_too_thin():
    data = table_of((2,) * 20, 50, seed=9)
    terms = Terms.of(data.variables, combinations(data.names, 2))
    with pytest.raises(CannotAnswer, match="smoothing.*neighbours of 'x0'.*l2"):
        fit_pseudo(gml.MemoryCounter(data), terms, penalty=Penalty(smoothing=1.0), max_memory=10**6)


def test_a_cell_without_rows_is_impossible_and_the_rest_is_its_limit():
    data = table_of((2, 2, 2), 400, seed=10)
    data = data.rows(~((data.columns[0] == 1) & (data.columns[1] == 0)))
    terms = Terms.of(data.variables, combinations(data.names, 2))
    counter = gml.MemoryCounter(data)
    found = fit_pseudo(counter, terms)
    assert found.converged and len(found.supports) == 1
    assert found.supports[0].scope == (0, 1)
    assert found.supports[0].possible.tolist() == [[True, True], [False, True]]
    # Ridges that vanish tend to the same value, and never get beyond it.
    limits = [
        fit_pseudo(counter, terms, penalty=Penalty(l2=l2)).pseudo_log_likelihood
        for l2 in (1e-1, 1e-2, 1e-3)
    ]
    assert limits == sorted(limits) and limits[-1] < found.pseudo_log_likelihood
    assert found.pseudo_log_likelihood - limits[-1] < 0.5


def test_a_level_that_never_occurs_is_impossible_with_a_penalty_too():
    data = table_of((2, 2), 100, seed=11)
    data = gml.MemoryCounter(data).with_levels({"x0": ("a", "b", "z")})
    terms = Terms.of(data.variables, [["x0", "x1"]])
    for penalty in (Penalty(), Penalty(l2=1.0), Penalty(l1=1.0)):
        found = fit_pseudo(data, terms, penalty=penalty)
        assert found.converged and np.isfinite(flat(found.tables)).all()
        assert not found.supports[0].possible[2].any()


def _refuses(counter, terms):
    try:
        fit_pseudo(counter, terms)
    except CannotAnswer:
        return True
    return False


def test_small_and_large_models_are_refused_alike(monkeypatch):
    rng = np.random.default_rng(12)
    seen = []
    for _ in range(60):
        sizes = rng.integers(2, 4, rng.integers(2, 5))
        counts = rng.integers(1, 9, sizes.prod()) * (rng.random(sizes.prod()) < 0.45)
        if not counts.any():
            continue
        variables = tuple(Variable(f"x{k}", tuple("abc"[:size])) for k, size in enumerate(sizes))
        columns = tuple(c.reshape(-1).astype(np.uint8) for c in np.indices(sizes))
        counter = gml.MemoryCounter(Dataset(variables, columns, counts))
        terms = Terms.of(variables, combinations([v.name for v in variables], 2))
        with monkeypatch.context() as patch:
            by_matrix = _refuses(counter, terms)
            patch.setattr(likelihood, "_FEW_COEFFICIENTS", 0)
            on_counts = _refuses(counter, terms)
            patch.setattr(likelihood, "_FEW_NUMBERS", -1)
            on_rows = _refuses(counter, terms)
        assert by_matrix == on_counts == on_rows, (sizes, counts)
        seen.append(by_matrix)
    assert 10 < sum(seen) < len(seen) - 10


def test_copies_of_a_column_say_nothing_about_its_share(monkeypatch):
    data = table_of((2, 2, 2), 500, seed=13)
    twin = Variable("twin", data.variables[0].levels)
    data = Dataset((*data.variables, twin), (*data.columns, data.columns[0]))
    terms = Terms.of(data.variables, [[data.names[0], "twin"], list(data.names[1:3])])
    monkeypatch.setattr(likelihood, "_FEW_NUMBERS", -1)
    with pytest.raises(CannotAnswer, match="no row holds back the term of 'twin'|of 'x0'"):
        fit_pseudo(gml.MemoryCounter(data), terms)


@pytest.mark.parametrize("large", ["", "counts", "rows"])
def test_separated_rows_are_refused_by_name(large, monkeypatch):
    # The last two are how models too large for a matrix of second derivatives are looked at.
    if large:
        monkeypatch.setattr(likelihood, "_FEW_COEFFICIENTS", 0)
    if large == "rows":
        monkeypatch.setattr(likelihood, "_FEW_NUMBERS", 0)
    # Boundary with positive margins: 2 x 2 x 2 with counts 0 5 7 3 4 6 8 0, all pairs.
    variables = tuple(Variable(name, ("n", "y")) for name in "ABC")
    cells = np.indices((2, 2, 2)).reshape(3, -1)
    columns = tuple(row.astype(np.uint8) for row in cells)
    data = Dataset(variables, columns, np.array([0, 5, 7, 3, 4, 6, 8, 0]))
    terms = Terms.of(variables, combinations("ABC", 2))
    counter = gml.MemoryCounter(data)
    with pytest.raises(CannotAnswer, match="no maximum.*term of '[ABC]', '[ABC]'.*l2"):
        fit_pseudo(counter, terms)
    assert fit_pseudo(counter, terms, penalty=Penalty(l2=0.01)).converged
    assert fit_pseudo(counter, terms, penalty=Penalty(smoothing=1.0)).converged


def test_variables_of_one_level_and_lone_variables():
    data = table_of((1, 2, 3), 100, seed=12)
    terms = Terms.of(data.variables, [["x0", "x1"]])
    found = fit_pseudo(gml.MemoryCounter(data), terms)
    shares = np.bincount(data.columns[2]) / 100
    fitted = np.exp(found.tables[2])
    assert fitted / fitted.sum() == pytest.approx(shares, abs=1e-8)
    assert found.tables[0].tolist() == [0.0]


@pytest.mark.parametrize("sizes", [(2, 2, 2, 2), (2, 3, 2, 4)])
def test_second_derivatives_are_those_of_the_gradient(sizes):
    data = table_of(sizes, 300, seed=15)
    data = data.rows(~((data.columns[0] == 1) & (data.columns[1] == 0)))
    terms = Terms.of(data.variables, combinations(data.names, 2))
    coefficients = Coefficients(terms)
    zero = np.zeros(sizes[:2], dtype=bool)
    zero[1, 0] = True
    from_counts = FamilyObjective(gml.MemoryCounter(data), coefficients, zeros={(0, 1): zero})
    from_rows = RowObjective(data, coefficients, zeros={(0, 1): zero})
    rng = np.random.default_rng(0)
    vector, direction = rng.normal(0, 0.3, (2, coefficients.size))
    step = 1e-6 * direction
    slopes = (from_counts(vector + step)[1] - from_counts(vector - step)[1]) / 2e-6
    assert from_counts.change(vector, direction) == pytest.approx(slopes, abs=1e-8)
    for found in (
        from_rows.change(vector, direction),
        from_counts.curvature(vector) @ direction,
    ):
        assert found == pytest.approx(from_counts.change(vector, direction), abs=1e-13)


def test_second_derivatives_are_summed_over_blocks_of_cases(monkeypatch):
    data = table_of((2, 3, 2, 4), 300, seed=15)
    coefficients = Coefficients(Terms.of(data.variables, combinations(data.names, 2)))
    vector = np.random.default_rng(0).normal(0, 0.3, coefficients.size)
    objective = FamilyObjective(gml.MemoryCounter(data), coefficients)
    at_once = objective.curvature(vector)
    for numbers in (1, 100):
        monkeypatch.setattr(families, "_FACTOR_NUMBERS", numbers)
        assert objective.curvature(vector) == pytest.approx(at_once, abs=1e-15)


def test_second_derivatives_keep_to_the_budget():
    data = table_of((2, 3, 2, 4), 300, seed=15)
    coefficients = Coefficients(Terms.of(data.variables, combinations(data.names, 2)))
    objective = FamilyObjective(gml.MemoryCounter(data), coefficients)
    with limited_to(10_000), pytest.raises(CannotAnswer, match="the second derivatives would take"):
        objective.curvature(np.zeros(coefficients.size))


def test_terms_that_rows_say_nothing_about_are_refused():
    # Where A and B are always equal, no conditional distribution says how often they are 1.
    data = table_of((2, 2), 100, seed=16)
    columns = (data.columns[0], data.columns[0].copy(), data.columns[1])
    variables = tuple(Variable(name, ("n", "y")) for name in "ABC")
    terms = Terms.of(variables, combinations("ABC", 2))
    with pytest.raises(CannotAnswer, match="more than one"):
        fit_pseudo(gml.MemoryCounter(Dataset(variables, columns)), terms)


def test_a_deadline_leaves_a_fit_that_says_so():
    data = table_of((2, 3, 2), 200, seed=13)
    terms = Terms.of(data.variables, combinations(data.names, 2))
    found = fit_pseudo(gml.MemoryCounter(data), terms, deadline=Deadline(0))
    assert not found.converged and "derivative per row" in found.notes[0]


def test_count_files_serve():
    data = table_of((2, 3, 2), 200, seed=14)
    terms = Terms.of(data.variables, combinations(data.names, 2))
    counter = CountFileCounter(gml.count(data, sets=[list(data.names)]))
    assert counter.rows() is None
    one, two = fit_pseudo(counter, terms), fit_pseudo(gml.MemoryCounter(data), terms)
    assert (flat(one.tables) == flat(two.tables)).all()
